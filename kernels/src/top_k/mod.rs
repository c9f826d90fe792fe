//! The first keys of each row in an order, without sorting the others.

mod at_once;
mod steps;
mod walk;

/// What tests compile without the launcher.
pub mod raw {
    pub use super::at_once::{AtOnce, select_kernel};
}

use crate::check;
use crate::sort::plan::word;
use crate::sort::{
    Order, Rows, SortOptions, most_in_one_cube, places_of, sort_pairs, sort_with_indices,
};
use cubecl::client::Client;
use cubecl::ir::{ElemType, UIntKind};
use cubecl::server::Handle;
use cubecl::std::tensor::{TensorHandle, into_contiguous};
use girih::device;
use girih::memory::{AtomicAccess, MemoryOrder, MemoryScope, Operation};
use girih::{Error, Result};

/// Bits of a digit.
const DIGIT_BITS: u32 = 8;
/// Values of a digit.
const DIGITS: usize = 256;

/// The `k` largest elements along an axis in descending order, and their places; or the `k` smallest in ascending order.
///
/// The order is that of [`sort`](crate::sort()): NaN is the largest. Of equal elements those of the lowest places are taken, and
/// come in the order of their places: the result is what [`sort_with_indices`] begins with, bit for bit and in every run.
/// `keys` has any shape and strides, and a type that can be sorted; `index` is the type of the places: i32, u32, i64 or u64. The
/// results have the shape of `keys` with `k` elements along the axis, and are contiguous.
///
/// | rows | how |
/// |---|---|
/// | short, or more than some thousand of their keys wanted | sorted |
/// | others | digit by digit from the highest, the last one wanted is found; then those before it are collected, and sorted |
///
/// CUDA and the CPU do the latter in one launch, whose cubes wait for each other after each digit, if there are no more rows
/// than the device runs cubes at once; no other launch may then wait for all of its cubes at the same time. Others take two
/// launches a digit.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, top_k};
///
/// fn best(client: &Client) -> Result<()> {
///     let keys = client.create_from_slice(f32::as_bytes(&[0.5, 4.0, -1.0, 4.0, 2.0]));
///     let keys = TensorHandle::new_contiguous(vec![5], keys, f32::elem_type_native());
///     let (values, places) = top_k(client, &keys, 0, 3, true, u32::elem_type_native())?;
///     assert_eq!(f32::from_bytes(&client.read_one(values.handle)?), [4.0, 4.0, 2.0]);
///     assert_eq!(u32::from_bytes(&client.read_one(places.handle)?), [1, 3, 4]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # best(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// As [`sort_with_indices`]; [`Error::Size`] of a `k` that is more than the axis has.
pub fn top_k(
    client: &Client,
    keys: &TensorHandle,
    axis: usize,
    k: usize,
    largest: bool,
    index: ElemType,
) -> Result<(TensorHandle, TensorHandle)> {
    const CALL: &str = "top_k";
    check::axis(CALL, "keys", keys, axis)?;
    check::within(CALL, client, "keys", keys)?;
    let len = keys.shape()[axis];
    places_of(CALL, "the axis", len, index)?;
    if k > len {
        return Err(Error::Size {
            call: CALL,
            argument: "k",
            given: k as u64,
            allowed: len as u64,
        });
    }
    let device = device::Device::of(client);
    let options = SortOptions {
        descending: largest,
        ..SortOptions::default()
    };
    let rows = Rows::new(keys, axis);
    let most = most_in_one_cube(&device, keys.dtype, index, [rows.rows, k]);
    let select = Select::new(&device, keys.dtype, index, largest)?;
    let sorts_all = len <= 2 * most || k > most || k == 0 || rows.rows == 0 || len >= 1 << 31;
    match select {
        Some(select) if !sorts_all => {
            let (found, places) = select.launch(&device, &rows, keys, k, &options)?;
            let back = |tensor: TensorHandle| {
                rows.with_len(k)
                    .scatter(&device, tensor.handle, tensor.dtype)
            };
            Ok((back(found), back(places)))
        }
        _ => {
            let (sorted, places) = sort_with_indices(client, keys, axis, index, &options)?;
            let first = |tensor: TensorHandle| {
                let (mut shape, strides) = check::dims(&tensor);
                shape[axis] = k;
                if shape.contains(&0) {
                    return TensorHandle::new_contiguous(shape, client.empty(16), tensor.dtype);
                }
                let part = TensorHandle::new(tensor.handle, shape, strides, tensor.dtype);
                into_contiguous(client, part.binding(), tensor.dtype)
            };
            Ok((first(sorted), first(places)))
        }
    }
}

/// A selection by digits.
struct Select {
    key: ElemType,
    index: ElemType,
    wide: ElemType,
    order: Order,
}

impl Select {
    /// A selection, where the device has the atomics that it takes.
    fn new(
        device: &device::Device,
        key: ElemType,
        index: ElemType,
        largest: bool,
    ) -> Result<Option<Self>> {
        let Some(order) = Order::of(key, largest) else {
            return Err(Error::Element {
                call: "top_k",
                argument: "keys",
                given: key,
                allowed: "an integer type, f16, bf16, f32 or f64".into(),
            });
        };
        let adds = |scope| {
            let add = AtomicAccess::new(Operation::Add, ElemType::UInt(UIntKind::U32));
            device.has_atomic(&add.ordered(MemoryOrder::Relaxed, scope))
        };
        let wide = word(key.size().max(4));
        for element in [key, word(key.size()), wide, index, word(index.size())] {
            check::element("top_k", device, element)?;
        }
        let select = Self {
            key,
            index,
            wide,
            order,
        };
        Ok((adds(MemoryScope::Cube) && adds(MemoryScope::Device)).then_some(select))
    }

    /// Those wanted of each row and their places, in order.
    fn launch(
        &self,
        device: &device::Device,
        rows: &Rows,
        keys: &TensorHandle,
        k: usize,
        options: &SortOptions,
    ) -> Result<(TensorHandle, TensorHandle)> {
        let input = Input::new(device, rows, keys);
        let (found, places) = match at_once::launch(self, device, &input, k) {
            Some((found, places, true)) => return Ok((found, places)),
            Some((found, places, false)) => (found, places),
            None => steps::launch(self, device, &input, k),
        };
        // By place first, so that equal keys come in that order.
        let client = device.client();
        let by_place = SortOptions::default();
        let (places, found) = sort_pairs(client, &places, &found, 1, &by_place)?;
        sort_pairs(client, &found, &places, 1, options)
    }

    /// Room for `k` of each row, and their places.
    fn outputs(&self, client: &Client, rows: usize, k: usize) -> (TensorHandle, TensorHandle) {
        let tensor = |element: ElemType| {
            let handle = client.empty(rows * k * element.size());
            TensorHandle::new_contiguous(vec![rows, k], handle, element)
        };
        (tensor(self.key), tensor(self.index))
    }
}

/// Rows one after another, in vectors.
struct Input {
    handle: Handle,
    rows: usize,
    /// Keys of a row.
    len: usize,
    /// Keys of a vector.
    width: usize,
    /// Vectors of a row.
    vectors: usize,
}

impl Input {
    fn new(device: &device::Device, rows: &Rows, keys: &TensorHandle) -> Self {
        let handle = rows.gather(device, keys);
        let size = keys.dtype.size();
        let start = handle.offset_start.unwrap_or(0) as usize;
        let width = device
            .vector_widths(size)
            .into_iter()
            .find(|width| rows.len.is_multiple_of(*width) && start.is_multiple_of(width * size))
            .unwrap_or(1);
        Self {
            handle,
            rows: rows.rows,
            len: rows.len,
            width,
            vectors: rows.len / width,
        }
    }

    /// Digits of a place in a row.
    fn place_digits(&self) -> u32 {
        (usize::BITS - (self.len - 1).leading_zeros()).div_ceil(DIGIT_BITS)
    }
}
