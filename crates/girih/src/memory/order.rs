//! Memory orders, as types: what an access promises about the accesses around it.

/// An order as a value, for what decides at run time of the host: capability questions and error messages.
///
/// [`Relaxed`], [`Acquire`], [`Release`], [`AcqRel`] and [`SeqCst`] are the same orders as types, which is how kernels
/// name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemoryOrder {
    /// Not atomic: for memory that no other unit touches at the same time.
    Weak,
    /// Atomic, and nothing more: other accesses may move across it.
    Relaxed,
    /// No later access moves before it, and it sees what was written before the release that it reads from.
    Acquire,
    /// No earlier access moves after it.
    Release,
    /// Both [`Acquire`](Self::Acquire) and [`Release`](Self::Release).
    AcqRel,
    /// [`AcqRel`](Self::AcqRel), and all such accesses have one order that every unit agrees on.
    SeqCst,
}

impl MemoryOrder {
    /// Whether later accesses stay after it.
    pub fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    /// Whether earlier accesses stay before it.
    pub fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }
}

/// An order known at compile time.
pub trait KnownOrder: 'static + Send + Sync + Copy + core::fmt::Debug {
    /// The order.
    const ORDER: MemoryOrder;
}

/// An order that a load can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an order of a load",
    note = "a load takes `Relaxed`, `Acquire` or `SeqCst`"
)]
pub trait LoadOrder: KnownOrder {}

/// An order that a store can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an order of a store",
    note = "a store takes `Relaxed`, `Release` or `SeqCst`"
)]
pub trait StoreOrder: KnownOrder {}

/// An order that a read-modify-write can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an order of a read-modify-write",
    note = "a read-modify-write takes `Relaxed`, `Acquire`, `Release`, `AcqRel` or `SeqCst`"
)]
pub trait UpdateOrder: KnownOrder {}

/// An order that a fence can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an order of a fence",
    note = "a fence takes `Acquire`, `Release`, `AcqRel` or `SeqCst`"
)]
pub trait FenceOrder: KnownOrder {}

macro_rules! orders {
    ($($(#[$doc:meta])* $order:ident: $($role:ident),*;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $order;
        impl KnownOrder for $order {
            const ORDER: MemoryOrder = MemoryOrder::$order;
        }
        $(impl $role for $order {})*
    )*};
}
orders! {
    /// Atomic, and nothing more: [`MemoryOrder::Relaxed`].
    Relaxed: LoadOrder, StoreOrder, UpdateOrder;
    /// Later accesses stay after it: [`MemoryOrder::Acquire`].
    Acquire: LoadOrder, UpdateOrder, FenceOrder;
    /// Earlier accesses stay before it: [`MemoryOrder::Release`].
    Release: StoreOrder, UpdateOrder, FenceOrder;
    /// Both at once: [`MemoryOrder::AcqRel`].
    AcqRel: UpdateOrder, FenceOrder;
    /// One order for all: [`MemoryOrder::SeqCst`].
    SeqCst: LoadOrder, StoreOrder, UpdateOrder, FenceOrder;
}
