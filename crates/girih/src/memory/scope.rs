//! Memory scopes, as types: which units an order is a promise to.

/// A scope as a value, for what decides at run time of the host: capability questions and error messages.
///
/// [`Unit`], [`Cube`], [`Cluster`], [`Device`] and [`System`] are the same scopes as types, which is how kernels name
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryScope {
    /// The unit itself.
    Unit,
    /// The units of one cube.
    Cube,
    /// The units of one cluster of cubes.
    Cluster,
    /// The units of one device.
    Device,
    /// Every device, and the host.
    System,
}

/// A scope known at compile time.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a memory scope",
    note = "a scope is `Unit`, `Cube`, `Cluster`, `Device` or `System`"
)]
pub trait KnownScope: 'static + Send + Sync + Copy + core::fmt::Debug {
    /// The scope.
    const SCOPE: MemoryScope;
}

macro_rules! scopes {
    ($($(#[$doc:meta])* $scope:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $scope;
        impl KnownScope for $scope {
            const SCOPE: MemoryScope = MemoryScope::$scope;
        }
    )*};
}
scopes! {
    /// The unit itself: [`MemoryScope::Unit`].
    Unit;
    /// The units of one cube: [`MemoryScope::Cube`].
    Cube;
    /// The units of one cluster of cubes: [`MemoryScope::Cluster`].
    Cluster;
    /// The units of one device: [`MemoryScope::Device`].
    Device;
    /// Every device, and the host: [`MemoryScope::System`].
    System;
}
