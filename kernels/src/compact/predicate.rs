//! What a compaction keeps.
// CubeCL's macro writes undocumented twins of the trait's functions.
#![allow(missing_docs)]

use cubecl::prelude::*;

/// Which elements [`select_by`](crate::select_by) keeps, written once for every element type.
///
/// ```
/// use cubecl::prelude::*;
/// use girih_kernels::Predicate;
///
/// /// Numbers above 1.
/// struct AboveOne;
///
/// #[cube]
/// impl Predicate for AboveOne {
///     fn holds<E: Numeric>(value: E) -> bool {
///         value > E::from_int(1)
///     }
/// }
/// # fn main() {}
/// ```
#[cube]
pub trait Predicate: 'static + Send + Sync {
    /// Whether an element is kept.
    fn holds<E: Numeric>(value: E) -> bool;
}

/// Every number but 0 and -0; a NaN is none of them.
pub struct NonZero;

#[cube]
impl Predicate for NonZero {
    fn holds<E: Numeric>(value: E) -> bool {
        !(value == E::from_int(0))
    }
}
