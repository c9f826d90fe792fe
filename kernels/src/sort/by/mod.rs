//! Sort by an order of the caller's own: rows are merged, tile by tile.
// CubeCL's macro writes undocumented twins of the trait's functions.
#![allow(missing_docs)]

mod launch;
mod merge;
mod moves;
mod tile;

/// What tests compile without the launcher.
pub mod raw {
    pub use super::merge::merge_kernel;
    pub use super::tile::{MergeTile, tile_kernel};
}

use super::turns::Carried;
use super::{Rows, places_of};
use crate::check;
use cubecl::client::Client;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Error, Result};

/// An order that [`sort_by`] sorts by, written once for every element type.
///
/// It must be a strict weak order: no element comes before itself, of two at most one comes before the other, and what neither
/// comes before nor after is in classes: if `a` is so with `b` and `b` with `c`, then `a` is with `c`. `<` of floats is none where
/// there are NaNs. By an order that is none the elements come in some order, some of them perhaps twice and others not at all.
/// Elements of f16 and bf16 are compared as f32.
///
/// ```
/// use cubecl::prelude::*;
/// use girih_kernels::SortOrder;
///
/// /// Even numbers before odd ones.
/// struct EvenFirst;
///
/// #[cube]
/// impl SortOrder for EvenFirst {
///     fn is_before<A: Numeric>(first: A, second: A) -> bool {
///         i32::cast_from(first) & 1 < i32::cast_from(second) & 1
///     }
/// }
/// # fn main() {}
/// ```
#[cube]
pub trait SortOrder: 'static + Send + Sync {
    /// Whether `first` must come before `second`.
    fn is_before<A: Numeric>(first: A, second: A) -> bool;
}

/// Sorts along an axis by an order of the caller's own.
///
/// `keys` has any shape and strides; integers of 8 to 64 bits, f16, bf16, f32 or f64, where the device stores them. The result
/// has the same shape and is contiguous. The sort is stable: elements of which neither comes before the other stay in their
/// order, so that the result is the same in every run and on every device.
///
/// The order is a type, as [`SortOrder`] says. Where it is that of numbers, [`sort`](crate::sort()) is faster: it reads and writes
/// keys once for each of their bytes, this one once for each doubling of the tile that a cube sorts, up to a row.
///
/// | backend | how |
/// |---|---|
/// | all | each cube sorts a tile of its own, of some hundreds or thousands of elements; then sorted parts are merged in pairs, one launch for each doubling, each cube a tile's worth of the result |
///
/// Beside the result it takes one more buffer of keys, and of what goes with them.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, SortOrder, sort_by};
///
/// /// By how far a number is from 0.
/// struct Nearest;
///
/// #[cube]
/// impl SortOrder for Nearest {
///     fn is_before<A: Numeric>(first: A, second: A) -> bool {
///         let (first, second) = (f32::cast_from(first), f32::cast_from(second));
///         first.abs() < second.abs()
///     }
/// }
///
/// fn nearest(client: &Client) -> Result<()> {
///     let handle = client.create_from_slice(f32::as_bytes(&[3.0, -0.5, 7.0, -3.0, 2.0]));
///     let keys = TensorHandle::new_contiguous(vec![5], handle, f32::elem_type_native());
///     let sorted = sort_by::<Nearest>(client, &keys, 0)?;
///     let bytes = client.read_one(sorted.handle)?;
///     assert_eq!(f32::from_bytes(&bytes), [-0.5, 2.0, 3.0, -3.0, 7.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # fn main() { nearest(&cubecl::Device::Cpu(Default::default()).client()).unwrap(); }
/// # #[cfg(not(feature = "cpu"))]
/// # fn main() {}
/// ```
///
/// # Errors
///
/// [`Error::Axis`], [`Error::Element`], [`Error::Strides`]; [`Error::Device`] where the device does not store the type.
pub fn sort_by<O: SortOrder>(
    client: &Client,
    keys: &TensorHandle,
    axis: usize,
) -> Result<TensorHandle> {
    let (keys, _) = run::<O>("sort_by", client, keys, Carried::Nothing, axis)?;
    Ok(keys.expect("keys are sorted"))
}

/// Sorts along an axis by an order of the caller's own, and moves an element of `payload` with each key.
///
/// `payload` has the shape of `keys` and elements of any type of 1, 2, 4 or 8 bytes: they are moved as they are. All that is
/// said of [`sort_by`] holds.
///
/// # Errors
///
/// As [`sort_by`]; [`Error::Shape`] and [`Error::Element`] of `payload`.
pub fn sort_pairs_by<O: SortOrder>(
    client: &Client,
    keys: &TensorHandle,
    payload: &TensorHandle,
    axis: usize,
) -> Result<(TensorHandle, TensorHandle)> {
    const CALL: &str = "sort_pairs_by";
    super::check_payload(CALL, client, keys, payload)?;
    let (keys, payload) = run::<O>(CALL, client, keys, Carried::Payload(payload), axis)?;
    Ok((
        keys.expect("keys are sorted"),
        payload.expect("and what goes with them"),
    ))
}

/// Where along the axis the keys were that [`sort_by`] would put there: `keys[.., out[.., n, ..], ..]` is sorted.
///
/// `index` is the type of the result's elements: i32, u32, i64 or u64.
///
/// # Errors
///
/// As [`sort_by`]; [`Error::Element`] of an `index` that is another type, [`Error::Size`] of an axis with more places than it
/// counts.
pub fn argsort_by<O: SortOrder>(
    client: &Client,
    keys: &TensorHandle,
    axis: usize,
    index: ElemType,
) -> Result<TensorHandle> {
    const CALL: &str = "argsort_by";
    check::axis(CALL, "keys", keys, axis)?;
    places_of(CALL, "the axis sorted", keys.shape()[axis], index)?;
    let carried = Carried::Places {
        index,
        keeps_keys: false,
    };
    let (_, places) = run::<O>(CALL, client, keys, carried, axis)?;
    Ok(places.expect("places are sorted"))
}

/// Checks and launches.
fn run<O: SortOrder>(
    call: &'static str,
    client: &Client,
    keys: &TensorHandle,
    carried: Carried<'_>,
    axis: usize,
) -> Result<(Option<TensorHandle>, Option<TensorHandle>)> {
    use FloatKind::{BF16, F16, F32, F64};
    check::axis(call, "keys", keys, axis)?;
    check::within(call, client, "keys", keys)?;
    let device = Device::of(client);
    if !matches!(
        keys.dtype,
        ElemType::Int(_) | ElemType::UInt(_) | ElemType::Float(F16 | BF16 | F32 | F64)
    ) {
        return Err(Error::Element {
            call,
            argument: "keys",
            given: keys.dtype,
            allowed: "an integer type, f16, bf16, f32 or f64".into(),
        });
    }
    let compared = match keys.dtype {
        ElemType::Float(F16 | BF16) => ElemType::Float(F32),
        other => other,
    };
    let word = carried
        .element()
        .map(|payload| super::plan::word(payload.size()));
    for element in [Some(keys.dtype), Some(compared), carried.element(), word]
        .into_iter()
        .flatten()
    {
        check::element(call, &device, element)?;
    }
    let rows = Rows::new(keys, axis);
    Ok(launch::launch::<O>(&device, keys, compared, &rows, carried))
}
