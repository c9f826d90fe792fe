//! What CubeCL asks of an expand type that is a handle known while the kernel is expanded.

/// Implements CubeCL's expand-side traits for a type that is only ever cloned and passed on.
macro_rules! comptime_handle {
    ([$($generics:tt)*] $ty:ty) => {
        impl<$($generics)*> cubecl::prelude::IntoExpand for $ty {
            type Expand = Self;
            fn into_expand(self, _: &cubecl::prelude::Scope) -> Self {
                self
            }
        }
        impl<$($generics)*> cubecl::prelude::ExpandTypeClone for $ty {
            fn clone_unchecked(&self) -> Self {
                self.clone()
            }
        }
        impl<$($generics)*> cubecl::prelude::IntoMut for $ty {
            fn into_mut(self, _: &cubecl::prelude::Scope) -> Self {
                self
            }
        }
        impl<$($generics)*> cubecl::prelude::CubeDebug for $ty {}
        impl<$($generics)*> cubecl::prelude::AsRefExpand for $ty {
            fn __expand_ref_method(&self, _: &cubecl::prelude::Scope) -> &Self {
                self
            }
        }
        impl<$($generics)*> cubecl::prelude::AsMutExpand for $ty {
            fn __expand_ref_mut_method(&mut self, _: &cubecl::prelude::Scope) -> &mut Self {
                self
            }
        }
    };
}
pub(crate) use comptime_handle;
