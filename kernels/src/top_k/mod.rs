//! The first keys of each row in an order, without sorting the others.

mod answers;
mod at_once;
mod ranked;
mod steps;
mod walk;

/// What tests compile without the launcher, and the way to name a path.
pub mod raw {
    pub use super::at_once::{AtOnce, require as require_at_once, select_kernel};
    pub use super::top_k_by;
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

/// The call, for errors.
const CALL: &str = "top_k";
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
/// CUDA and the CPU do the latter in one launch, if there are no more rows than processors: its cubes take numbered work, and wait
/// only for what cubes that run have taken before. Others take two launches a digit. [`top_k_path`] tells which it will be.
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
    top_k_by(client, keys, axis, k, largest, index, None)
}

/// By which kernels the first keys of rows are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TopKPath {
    /// All keys are sorted.
    Sorted,
    /// One kernel: cubes take numbered work, the shares of a digit after those of the digit above it, and wait for lower numbers alone.
    /// It needs cubes that began to go on while others wait for them, however few: CUDA has such, and the CPU, where the first cube
    /// takes all of the work.
    AtOnce,
    /// Two kernels a digit. No cube waits for another.
    Steps,
}

/// The path that a [`top_k`] of `k` of each of `rows` rows of `len` keys goes on this device.
///
/// ```
/// use cubecl::{client::Client, prelude::*};
/// use girih_kernels::{Result, TopKPath, top_k_path};
///
/// fn of_short_rows(client: &Client) -> Result<()> {
///     let [key, index] = [f32::elem_type_native(), u32::elem_type_native()];
///     assert_eq!(top_k_path(client, key, [8, 100], 3, index)?, TopKPath::Sorted);
///     assert_ne!(top_k_path(client, key, [1, 1 << 20], 3, index)?, TopKPath::Sorted);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # of_short_rows(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Element`] and [`Error::Device`], as [`top_k`].
pub fn top_k_path(
    client: &Client,
    key: ElemType,
    [rows, len]: [usize; 2],
    k: usize,
    index: ElemType,
) -> Result<TopKPath> {
    let device = device::Device::of(client);
    let select = Select::new(&device, key, index, true)?;
    Ok(select.path(&device, [rows, len], k))
}

/// [`top_k`] by a path; the one that suits, if none is named.
///
/// # Errors
///
/// As [`top_k`]; [`Error::Device`] where the device cannot go the path.
pub fn top_k_by(
    client: &Client,
    keys: &TensorHandle,
    axis: usize,
    k: usize,
    largest: bool,
    index: ElemType,
    path: Option<TopKPath>,
) -> Result<(TensorHandle, TensorHandle)> {
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
    let rows = Rows::new(keys, axis);
    let select = Select::new(&device, keys.dtype, index, largest)?;
    let suits = select.path(&device, [rows.rows, len], k);
    // Of nothing there is nothing to find.
    let path = match path {
        Some(path) if k > 0 && rows.rows > 0 => path,
        _ => suits,
    };
    select.require(&device, [rows.rows, len], k, path)?;
    let options = SortOptions {
        descending: largest,
        ..SortOptions::default()
    };
    if path != TopKPath::Sorted {
        let (found, places) = select.launch(&device, &rows, keys, k, &options, path)?;
        let back = |tensor: TensorHandle| {
            rows.with_len(k)
                .scatter(&device, tensor.handle, tensor.dtype)
        };
        return Ok((back(found), back(places)));
    }
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

/// A selection by digits.
struct Select {
    key: ElemType,
    index: ElemType,
    wide: ElemType,
    order: Order,
}

impl Select {
    /// A selection of keys that can be sorted, of which the device stores what it takes.
    fn new(device: &device::Device, key: ElemType, index: ElemType, largest: bool) -> Result<Self> {
        let Some(order) = Order::of(key, largest) else {
            return Err(Error::Element {
                call: CALL,
                argument: "keys",
                given: key,
                allowed: "an integer type, f16, bf16, f32 or f64".into(),
            });
        };
        let wide = word(key.size().max(4));
        for element in [key, word(key.size()), wide, index, word(index.size())] {
            check::element(CALL, device, element)?;
        }
        Ok(Self {
            key,
            index,
            wide,
            order,
        })
    }

    /// The path that suits rows of a shape.
    fn path(&self, device: &device::Device, [rows, len]: [usize; 2], k: usize) -> TopKPath {
        let most = most_in_one_cube(device, self.key, self.index, [rows, k]);
        let sorts_all = len <= 2 * most || k > most || k == 0 || rows == 0;
        let can = |path| self.require(device, [rows, len], k, path).is_ok();
        [TopKPath::AtOnce, TopKPath::Steps]
            .into_iter()
            .find(|&path| !sorts_all && can(path))
            .unwrap_or(TopKPath::Sorted)
    }

    /// Whether the device can go a path.
    fn require(
        &self,
        device: &device::Device,
        [rows, len]: [usize; 2],
        k: usize,
        path: TopKPath,
    ) -> Result<()> {
        if path == TopKPath::Sorted {
            return Ok(());
        }
        let within = |argument, given, allowed| match given <= allowed {
            true => Ok(()),
            false => Err(Error::Size {
                call: CALL,
                argument,
                given: given as u64,
                allowed: allowed as u64,
            }),
        };
        within("the keys of a row selected by digits", len, (1 << 31) - 1)?;
        for scope in [MemoryScope::Cube, MemoryScope::Device] {
            let add = AtomicAccess::new(Operation::Add, ElemType::UInt(UIntKind::U32));
            device.require_atomic(CALL, &add.ordered(MemoryOrder::Relaxed, scope))?;
        }
        if path == TopKPath::AtOnce {
            at_once::require(device)?;
            within(
                "the rows selected from in one launch",
                rows,
                at_once::most_cubes(device),
            )?;
            within("k of a selection in one launch", k, answers::MOST_WANTED)?;
        }
        Ok(())
    }

    /// Those wanted of each row and their places, in order.
    fn launch(
        &self,
        device: &device::Device,
        rows: &Rows,
        keys: &TensorHandle,
        k: usize,
        options: &SortOptions,
        path: TopKPath,
    ) -> Result<(TensorHandle, TensorHandle)> {
        let input = Input::new(device, rows, keys);
        let (found, places, is_in_order) = match path {
            TopKPath::AtOnce => at_once::launch(self, device, &input, k),
            _ => steps::launch(self, device, &input, k),
        };
        if is_in_order {
            return Ok((found, places));
        }
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
