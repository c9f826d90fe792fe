//! Where an index points, for kernels that access memory without a view.
// CubeCL's macro writes an undocumented twin of the function.
#![allow(missing_docs)]

use super::bounds::{self, Bounds};
use cubecl::prelude::*;

/// Where in `0..extent` an index points under a rule for its bounds, a comptime value, and whether it does: what a view asks
/// for each entry of a list of indices. Where it does not, the place is any number.
///
/// Under [`Bounds::Assume`] it always does. A report is the caller's to make: [`Bounds::Report`] is as [`Bounds::Mask`] here.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::prelude::*;
/// use girih::view::resolve;
///
/// /// out[n] = list[index[n]], counted from the end where the index is below 0; 0 where there is no such place.
/// #[cube(launch_unchecked)]
/// fn pick(list: &[f32], index: &[i32], out: &mut [f32]) {
///     let unit = UNIT_POS as usize;
///     let (place, is_there) = resolve::<i32>(index[unit], list.len(), Bounds::Wrap);
///     let mut found = 0.0f32;
///     if is_there {
///         found = list[place];
///     }
///     out[unit] = found;
/// }
/// # fn main() {}
/// ```
#[cube]
pub fn resolve<I: Int>(index: I, extent: usize, #[comptime] bounds: Bounds) -> (usize, bool) {
    bounds::resolve::<I>(index, extent, bounds)
}
