//! Sort: rows of keys, with or without what goes with them.

mod at_once;
pub(crate) mod by;
mod by_sweeps;
mod carry;
mod cube;
mod digits;
mod launch;
mod look_back;
mod order;
mod pass;
mod passes;
pub(crate) mod plan;
mod route;
mod rows;
mod sweep;
mod tally;
mod tile;
mod turns;
mod write;

use crate::check;
use cubecl::client::Client;
use cubecl::ir::{ElemType, IntKind, UIntKind};
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Error, Result};
pub(crate) use order::{Order, encode};
use plan::{Job, Plan};
pub(crate) use rows::Rows;
use std::ops::Range;
pub(crate) use turns::Carried;

/// The examples of the book's chapter.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/sorting.md")]
mod book {}

/// The kernels themselves.
pub mod raw {
    pub use super::at_once::sort_kernel;
    pub use super::by::raw::*;
    pub use super::carry::Moved;
    pub use super::cube::cube_kernel;
    pub use super::digits::{Counting, histogram_kernel};
    pub use super::order::{Kind, Order};
    pub use super::passes::{add_up_kernel, count_kernel, scatter_kernel};
    pub use super::sweep::sweep_kernel;
    pub use super::tile::{Matching, Tile};
    pub use super::write::{Orders, Payload};
}

/// By which kernels rows are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SortPath {
    /// One cube a row, which keeps it in shared memory from digit to digit.
    OneCube,
    /// The digits of all passes counted first, then one kernel a digit: cubes learn from those before them where their keys
    /// go. It needs cubes that begin in the order of their numbers and go on while others wait for them: CUDA has such, and
    /// the CPU, whose cubes run one after another.
    OneSweep,
    /// One kernel for a single row: cubes take numbered work, the count of all digits first, then the tiles of pass after pass, and wait
    /// for lower numbers alone. It needs cubes that began to go on while others wait for them, however few: CUDA has such, and the CPU,
    /// where the first cube takes all of the work. It is the fastest on CUDA for a row of no more tiles than the device has processors.
    AtOnce,
    /// Three kernels a digit: tiles are counted, the counts added up, and the tiles written. No cube waits for another.
    ThreeKernels,
}

/// How to sort.
///
/// ```
/// use girih_kernels::{SortOptions, SortPath};
///
/// let largest_first = SortOptions { descending: true, ..SortOptions::default() };
/// let low_byte = SortOptions { bits: Some(0..8), ..SortOptions::default() };
/// let without_waiting = SortOptions { path: Some(SortPath::ThreeKernels), ..SortOptions::default() };
/// assert_eq!(largest_first.path, None);
/// # let _ = (low_byte, without_waiting);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SortOptions {
    /// Whether large keys come first. Equal ones stay in their order nonetheless.
    pub descending: bool,
    /// The bits that count; all, if none are named. They are those of the unsigned integer that stands for a key: of the key
    /// itself if that is unsigned, with the sign bit flipped if it is signed, and for floats, which are all in one order, the
    /// place that [`sort`] describes. Keys that differ in other bits alone stay in their order.
    pub bits: Option<Range<u32>>,
    /// The kernels to use; those that suit device and size, if none are named.
    pub path: Option<SortPath>,
    /// The tile of the kernels, for measurements.
    #[doc(hidden)]
    pub tile: Option<raw::Tile>,
}

/// Sorts along an axis.
///
/// `keys` has any shape and strides; integers of 8 to 64 bits, f16, bf16, f32 or f64, where the device stores them. The
/// result has the same shape and is contiguous.
///
/// The order of floats is total: -inf, the negative numbers, -0, +0, the positive numbers, +inf, then the NaNs, those with
/// a clear sign bit first, those of one sign by their bits. Descending is the reverse: NaNs come first.
///
/// The sort is a radix sort from the lowest digit of 8 bits to the highest. It is stable, so that the result is the same, bit
/// for bit, in every run, on every device and by every [`SortPath`]. Beside the result it takes one more buffer of keys (and
/// of what goes with them), and counts: about 1 KiB for each tile of some thousand keys. Nothing is read back from the device.
///
/// | backend | rows of a few thousand keys | longer ones |
/// |---|---|---|
/// | CUDA | one cube a row | one read of the keys for all counts, then one read and one write a digit; in one launch, if a single row has no more tiles than there are processors |
/// | CPU, Vulkan, others | the same | two reads and one write a digit |
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, SortOptions, sort};
///
/// fn rows(client: &Client) -> Result<()> {
///     let handle = client.create_from_slice(f32::as_bytes(&[3.0, -0.0, f32::NAN, 2.5, 0.0, -7.0]));
///     let keys = TensorHandle::new_contiguous(vec![2, 3], handle, f32::elem_type_native());
///     let sorted = sort(client, &keys, 1, &SortOptions::default())?;
///     let bytes = client.read_one(sorted.handle)?;
///     let values = f32::from_bytes(&bytes);
///     assert_eq!(values[..2], [-0.0, 3.0]);
///     assert!(values[2].is_nan());
///     assert_eq!(values[3..], [-7.0, 0.0, 2.5]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # rows(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Axis`], [`Error::Element`], [`Error::Strides`]; [`Error::Size`] of a range of bits that the keys have not, or of
/// rows too long for [`SortPath::OneCube`]; [`Error::Device`] where the device does not store a type, or cannot go the path.
pub fn sort(
    client: &Client,
    keys: &TensorHandle,
    axis: usize,
    options: &SortOptions,
) -> Result<TensorHandle> {
    let sorted = run("sort", client, keys, Carried::Nothing, axis, options)?;
    Ok(sorted.keys.expect("keys are sorted"))
}

/// Sorts along an axis, and moves an element of `payload` with each key.
///
/// `payload` has the shape of `keys` and elements of any type of 1, 2, 4 or 8 bytes: they are moved as they are. All that is
/// said of [`sort`] holds; keys that are equal keep their payload in its order.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, SortOptions, sort_pairs};
///
/// fn pairs(client: &Client) -> Result<()> {
///     let keys = client.create_from_slice(u8::as_bytes(&[9, 1, 9, 0]));
///     let keys = TensorHandle::new_contiguous(vec![4], keys, u8::elem_type_native());
///     let payload = client.create_from_slice(f32::as_bytes(&[0.5, 1.5, 2.5, 3.5]));
///     let payload = TensorHandle::new_contiguous(vec![4], payload, f32::elem_type_native());
///     let (_, payload) = sort_pairs(client, &keys, &payload, 0, &SortOptions::default())?;
///     let bytes = client.read_one(payload.handle)?;
///     assert_eq!(f32::from_bytes(&bytes), [3.5, 1.5, 0.5, 2.5]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # pairs(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// As [`sort`]; [`Error::Shape`] and [`Error::Element`] of `payload`.
pub fn sort_pairs(
    client: &Client,
    keys: &TensorHandle,
    payload: &TensorHandle,
    axis: usize,
    options: &SortOptions,
) -> Result<(TensorHandle, TensorHandle)> {
    const CALL: &str = "sort_pairs";
    check_payload(CALL, client, keys, payload)?;
    let sorted = run(CALL, client, keys, Carried::Payload(payload), axis, options)?;
    Ok((
        sorted.keys.expect("keys are sorted"),
        sorted.payload.expect("and what goes with them"),
    ))
}

/// Where along the axis the keys were that [`sort`] would put there: `keys[.., out[.., n, ..], ..]` is sorted.
///
/// `index` is the type of the result's elements: i32, u32, i64 or u64. Equal keys have their places in ascending order.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, SortOptions, argsort};
///
/// fn order(client: &Client) -> Result<()> {
///     let keys = client.create_from_slice(i32::as_bytes(&[5, -3, 5, 0]));
///     let keys = TensorHandle::new_contiguous(vec![4], keys, i32::elem_type_native());
///     let options = SortOptions { descending: true, ..SortOptions::default() };
///     let places = argsort(client, &keys, 0, u32::elem_type_native(), &options)?;
///     let bytes = client.read_one(places.handle)?;
///     assert_eq!(u32::from_bytes(&bytes), [0, 2, 3, 1]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # order(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// As [`sort`]; [`Error::Element`] of an `index` that is another type, [`Error::Size`] of an axis with more places than it
/// counts.
pub fn argsort(
    client: &Client,
    keys: &TensorHandle,
    axis: usize,
    index: ElemType,
    options: &SortOptions,
) -> Result<TensorHandle> {
    const CALL: &str = "argsort";
    places(CALL, keys, axis, index)?;
    let carried = Carried::Places {
        index,
        keeps_keys: false,
    };
    let sorted = run(CALL, client, keys, carried, axis, options)?;
    Ok(sorted.payload.expect("places are sorted"))
}

/// What [`sort`] and [`argsort`] give, at the price of one.
///
/// # Errors
///
/// As [`argsort`].
pub fn sort_with_indices(
    client: &Client,
    keys: &TensorHandle,
    axis: usize,
    index: ElemType,
    options: &SortOptions,
) -> Result<(TensorHandle, TensorHandle)> {
    const CALL: &str = "sort_with_indices";
    places(CALL, keys, axis, index)?;
    let carried = Carried::Places {
        index,
        keeps_keys: true,
    };
    let sorted = run(CALL, client, keys, carried, axis, options)?;
    Ok((
        sorted.keys.expect("keys are sorted"),
        sorted.payload.expect("and their places"),
    ))
}

/// The path that a [`sort`] of `rows` rows of `len` keys each goes on this device; with payload of a type, that of
/// [`sort_pairs`].
///
/// # Errors
///
/// As [`sort`].
pub fn sort_path(
    client: &Client,
    key: ElemType,
    payload: Option<ElemType>,
    [rows, len]: [usize; 2],
    options: &SortOptions,
) -> Result<SortPath> {
    let job = Job {
        call: "sort",
        key,
        payload,
        rows,
        len,
    };
    Ok(Plan::new(&Device::of(client), &job, options)?.path)
}

/// How many keys of a row one cube sorts at most, with places of a type.
pub(crate) fn most_in_one_cube(
    device: &Device,
    key: ElemType,
    index: ElemType,
    [rows, len]: [usize; 2],
) -> usize {
    let job = Job {
        call: "top_k",
        key,
        payload: Some(index),
        rows,
        len,
    };
    plan::most_in_one_cube(device, &job)
}

/// What goes with keys has their shape, and elements that can be moved.
fn check_payload(
    call: &'static str,
    client: &Client,
    keys: &TensorHandle,
    payload: &TensorHandle,
) -> Result<()> {
    let (shape, _) = check::dims(keys);
    check::shape(call, "payload", payload, &shape)?;
    check::within(call, client, "payload", payload)?;
    match payload.dtype.size() {
        1 | 2 | 4 | 8 => Ok(()),
        _ => Err(Error::Element {
            call,
            argument: "payload",
            given: payload.dtype,
            allowed: "a type of 1, 2, 4 or 8 bytes".into(),
        }),
    }
}

/// The index type is one of those that count places, and counts those of the axis.
fn places(call: &'static str, keys: &TensorHandle, axis: usize, index: ElemType) -> Result<()> {
    check::axis(call, "keys", keys, axis)?;
    places_of(call, "the axis sorted", keys.shape()[axis], index)
}

/// The index type is one of those that count places, and counts so many.
pub(crate) fn places_of(
    call: &'static str,
    argument: &'static str,
    count: usize,
    index: ElemType,
) -> Result<()> {
    let most = match index {
        ElemType::Int(IntKind::I32) => i32::MAX as u64,
        ElemType::UInt(UIntKind::U32) => u64::from(u32::MAX),
        ElemType::Int(IntKind::I64) | ElemType::UInt(UIntKind::U64) => i64::MAX as u64,
        _ => {
            return Err(Error::Element {
                call,
                argument: "index",
                given: index,
                allowed: "i32, u32, i64 or u64".into(),
            });
        }
    };
    match count as u64 <= most {
        true => Ok(()),
        false => Err(Error::Size {
            call,
            argument,
            given: count as u64,
            allowed: most,
        }),
    }
}

/// What a sort gives.
pub(crate) struct Sorted {
    pub keys: Option<TensorHandle>,
    pub payload: Option<TensorHandle>,
}

/// Checks, plans and launches.
pub(crate) fn run(
    call: &'static str,
    client: &Client,
    keys: &TensorHandle,
    carried: Carried<'_>,
    axis: usize,
    options: &SortOptions,
) -> Result<Sorted> {
    check::axis(call, "keys", keys, axis)?;
    check::within(call, client, "keys", keys)?;
    let device = Device::of(client);
    let rows = Rows::new(keys, axis);
    let job = Job {
        call,
        key: keys.dtype,
        payload: carried.element(),
        rows: rows.rows,
        len: rows.len,
    };
    let plan = Plan::new(&device, &job, options)?;
    Ok(launch::launch(&device, &plan, &job, &rows, keys, carried))
}
