//! The first keys of each row in an order, without sorting the others.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use crate::check;
use crate::sort::plan::word;
use crate::sort::{
    Order, Rows, SortOptions, encode, most_in_one_cube, places_of, sort_pairs, sort_with_indices,
};
use cubecl::client::Client;
use cubecl::ir::{ElemType, UIntKind};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::{TensorHandle, into_contiguous};
use girih::coop::Sum;
use girih::device::{self, Target};
use girih::memory::{AtomicAccess, MemoryOrder, MemoryScope, Operation};
use girih::prelude::*;
use girih::{Error, Result};

/// Bits of a digit.
const DIGIT_BITS: u32 = 8;
/// Values of a digit.
const DIGITS: usize = 256;
/// Words of a row's state.
const STATE: usize = 3;
/// How many keys, or places among equal keys, are still to be found.
const LEFT: usize = 0;
/// How many there are among which they are.
const AMONG: usize = 1;
/// How many were written.
const WRITTEN: usize = 2;

/// What a digit is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// The key.
    Key,
    /// The place in the row of a key that is equal to the last one wanted.
    Place,
}

/// Whether a key, or its place, can still be the last one wanted: its higher digits are those found.
#[cube]
fn is_candidate<W: Int>(
    key: W,
    place: u32,
    found: W,
    found_place: u32,
    above: u32,
    #[comptime] part: Part,
    #[comptime] is_first: bool,
) -> bool {
    if comptime!(part == Part::Key) {
        if comptime!(is_first) {
            true.runtime()
        } else {
            key >> W::cast_from(above) == found
        }
    } else if comptime!(is_first) {
        key == found
    } else {
        key == found && place >> above == found_place
    }
}

/// Counts a digit of the candidates of each row: `counts[row, value]`.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn count_digit_kernel<K: Int, W: Int, N: Size>(
    keys: &[Vector<K, N>],
    counts: &[Atomic<u32>],
    found: &[W],
    found_places: &[u32],
    state: &[u32],
    vectors_of_row: usize,
    cubes_of_row: u32,
    shift: u32,
    #[comptime] units: u32,
    #[comptime] part: Part,
    #[comptime] is_first: bool,
    #[comptime] order: Option<Order>,
    #[define(K, W)] _types: [ElemType; 2],
) {
    let bins = shared::<Atomic<u32>>(DIGITS);
    let row = CUBE_POS / cubes_of_row as usize;
    let mut bin = UNIT_POS as usize;
    while bin < DIGITS {
        bins[bin].at::<Cube>().store::<Relaxed>(0u32);
        bin += comptime!(units as usize);
    }
    sync_cube();
    let last = found[row];
    let last_place = found_places[row];
    let above = shift + DIGIT_BITS;
    // Where all of equal keys are wanted, their places do not matter.
    let mut end = vectors_of_row;
    if comptime!(part == Part::Place) {
        if state[row * STATE + LEFT] == state[row * STATE + AMONG] {
            end = 0;
        }
    }
    let mut at = (CUBE_POS % cubes_of_row as usize) * comptime!(units as usize) + UNIT_POS as usize;
    let step = cubes_of_row as usize * comptime!(units as usize);
    let width = N::value();
    while at < end {
        let several = keys[row * vectors_of_row + at];
        #[unroll]
        for lane in 0..width {
            let key = encode::<W>(W::cast_from(several.extract(lane)), order);
            let place = (at * width + lane) as u32;
            if is_candidate::<W>(key, place, last, last_place, above, part, is_first) {
                let mut digit = (place >> shift) & comptime!((1u32 << DIGIT_BITS) - 1);
                if comptime!(part == Part::Key) {
                    digit = u32::cast_from(key >> W::cast_from(shift))
                        & comptime!((1u32 << DIGIT_BITS) - 1);
                }
                bins[digit as usize].at::<Cube>().fetch_add::<Relaxed>(1u32);
            }
        }
        at += step;
    }
    sync_cube();
    let mut bin = UNIT_POS as usize;
    while bin < DIGITS {
        let count = bins[bin].at::<Cube>().load::<Relaxed>();
        if count > 0u32 {
            counts[row * DIGITS + bin]
                .at::<Device>()
                .fetch_add::<Relaxed>(count);
        }
        bin += comptime!(units as usize);
    }
}

/// Finds the digit of the last one wanted, one cube a row, and sets the counts to 0.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn choose_kernel<W: Int>(
    counts: &mut [u32],
    found: &mut [W],
    found_places: &mut [u32],
    state: &mut [u32],
    rows: u32,
    #[comptime] units: u32,
    #[comptime] part: Part,
    #[comptime] is_first: bool,
    #[define(W)] _type: ElemType,
) {
    let row = CUBE_POS;
    if row < rows as usize {
        let own = comptime!(DIGITS.div_ceil(units as usize));
        let first = UNIT_POS as usize * own;
        let left = state[row * STATE + LEFT];
        let is_settled = left == state[row * STATE + AMONG];
        let mut total = 0u32;
        for each in 0..own {
            if first + each < DIGITS {
                total += counts[row * DIGITS + first + each];
            }
        }
        let mut before = this_cube().exclusive_scan::<u32, Sum>(total, 0u32);
        sync_cube();
        for each in 0..own {
            if first + each < DIGITS {
                let count = counts[row * DIGITS + first + each];
                counts[row * DIGITS + first + each] = 0u32;
                if before < left && left <= before + count {
                    let digit = (first + each) as u32;
                    if comptime!(part == Part::Key) {
                        let mut higher = W::new(0i64);
                        if comptime!(!is_first) {
                            higher = found[row] << W::new(comptime!(i64::from(DIGIT_BITS)));
                        }
                        found[row] = higher | W::cast_from(digit);
                    } else {
                        let mut higher = 0u32;
                        if comptime!(!is_first) {
                            higher = found_places[row] << DIGIT_BITS;
                        }
                        found_places[row] = higher | digit;
                    }
                    state[row * STATE + LEFT] = left - before;
                    state[row * STATE + AMONG] = count;
                }
                before += count;
            }
        }
        // All of the candidates are wanted: their places were not counted, and any lower digits will do. Before the first digit
        // those are all of the equal keys.
        if comptime!(part == Part::Place) {
            if is_settled && UNIT_POS == 0u32 {
                if comptime!(is_first) {
                    found_places[row] = 0xffff_ffffu32;
                } else {
                    found_places[row] =
                        (found_places[row] << DIGIT_BITS) | comptime!((1u32 << DIGIT_BITS) - 1);
                }
            }
        }
    }
}

/// Writes those wanted, in no order.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn collect_kernel<K: Int, W: Int, I: Int, N: Size>(
    keys: &[Vector<K, N>],
    found: &[W],
    found_places: &[u32],
    state: &[Atomic<u32>],
    out: &mut [K],
    places: &mut [I],
    vectors_of_row: usize,
    cubes_of_row: u32,
    k: u32,
    #[comptime] units: u32,
    #[comptime] order: Option<Order>,
    #[define(K, W, I)] _types: [ElemType; 3],
) {
    let row = CUBE_POS / cubes_of_row as usize;
    let last = found[row];
    let last_place = found_places[row];
    let mut at = (CUBE_POS % cubes_of_row as usize) * comptime!(units as usize) + UNIT_POS as usize;
    let step = cubes_of_row as usize * comptime!(units as usize);
    let width = N::value();
    while at < vectors_of_row {
        let several = keys[row * vectors_of_row + at];
        #[unroll]
        for lane in 0..width {
            let raw = several.extract(lane);
            let key = encode::<W>(W::cast_from(raw), order);
            let place = at * width + lane;
            if key < last || (key == last && place as u32 <= last_place) {
                let slot = state[row * STATE + WRITTEN]
                    .at::<Device>()
                    .fetch_add::<Relaxed>(1u32);
                if slot < k {
                    out[row * k as usize + slot as usize] = raw;
                    places[row * k as usize + slot as usize] = I::cast_from(place);
                }
            }
        }
        at += step;
    }
}

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
    check::within(CALL, "keys", keys)?;
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
            let (found, places) = select.launch(&device, &rows, keys, k);
            // By place first, so that equal keys come in that order.
            let by_place = SortOptions::default();
            let (places, found) = sort_pairs(client, &places, &found, 1, &by_place)?;
            let (found, places) = sort_pairs(client, &found, &places, 1, &options)?;
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

    /// Those wanted of each row and their places, in no order.
    fn launch(
        &self,
        device: &device::Device,
        rows: &Rows,
        keys: &TensorHandle,
        k: usize,
    ) -> (TensorHandle, TensorHandle) {
        let client = device.client();
        let input = rows.gather(device, keys);
        let size = self.key.size();
        let start = input.offset_start.unwrap_or(0) as usize;
        let width = device
            .vector_widths(size)
            .into_iter()
            .find(|width| rows.len.is_multiple_of(*width) && start.is_multiple_of(width * size))
            .unwrap_or(1);
        let hardware = &client.properties().hardware;
        let units = 1 << hardware.max_units_per_cube.clamp(1, 256).ilog2();
        let vectors = rows.len / width;
        let most = match device.target() {
            Target::Cpu => 1,
            _ => 8 * hardware.num_streaming_multiprocessors.unwrap_or(16) as usize,
        };
        let share = most.div_ceil(rows.rows);
        let steps = Steps {
            client: client.clone(),
            select: self,
            rows: rows.rows,
            len: rows.len,
            width,
            vectors,
            cubes_of_row: vectors.div_ceil(units as usize * 4).clamp(1, share) as u32,
            units,
            input,
            counts: zeros(client, rows.rows * DIGITS),
            found: client.empty(rows.rows * self.wide.size()),
            found_places: zeros(client, rows.rows),
            state: {
                let of_row = [k as u32, rows.len as u32, 0];
                let state: Vec<u32> = (0..rows.rows).flat_map(|_| of_row).collect();
                client.create_from_slice(u32::as_bytes(&state))
            },
        };
        let digits = self.order.bits / DIGIT_BITS;
        for digit in (0..digits).rev() {
            steps.digit(Part::Key, DIGIT_BITS * digit, digit + 1 == digits);
        }
        let digits = (usize::BITS - (rows.len - 1).leading_zeros()).div_ceil(DIGIT_BITS);
        for digit in (0..digits).rev() {
            steps.digit(Part::Place, DIGIT_BITS * digit, digit + 1 == digits);
        }
        steps.collect(k)
    }
}

fn zeros(client: &Client, len: usize) -> Handle {
    client.create_from_slice(u32::as_bytes(&vec![0u32; len]))
}

/// The launches of a selection.
struct Steps<'a> {
    client: Client,
    select: &'a Select,
    rows: usize,
    len: usize,
    width: usize,
    vectors: usize,
    cubes_of_row: u32,
    units: u32,
    input: Handle,
    counts: Handle,
    found: Handle,
    found_places: Handle,
    state: Handle,
}

impl Steps<'_> {
    fn arg(&self, handle: &Handle, len: usize) -> BufferArg {
        // SAFETY: the buffers were made for so many elements.
        unsafe { BufferArg::from_raw_parts(handle.clone(), len) }
    }

    fn address(&self) -> AddressType {
        AddressType::from_len(self.rows * self.len.max(DIGITS))
    }

    fn dim(&self) -> CubeDim {
        CubeDim::new_1d(self.units)
    }

    fn cubes(&self) -> CubeCount {
        CubeCount::new_2d(self.cubes_of_row, self.rows as u32)
    }

    /// Finds a digit of the last one wanted.
    fn digit(&self, part: Part, shift: u32, is_first: bool) {
        let Select { key, wide, .. } = *self.select;
        // SAFETY: rows are masked by their length; each has its words of counts and state.
        unsafe {
            count_digit_kernel::launch_unchecked(
                &self.client,
                self.cubes(),
                self.dim(),
                self.address(),
                self.width,
                self.arg(&self.input, self.rows * self.vectors),
                self.arg(&self.counts, self.rows * DIGITS),
                self.arg(&self.found, self.rows),
                self.arg(&self.found_places, self.rows),
                self.arg(&self.state, self.rows * STATE),
                self.vectors,
                self.cubes_of_row,
                shift,
                self.units,
                part,
                is_first,
                self.select.order.unless_identity(),
                [word(key.size()), wide],
            );
            choose_kernel::launch_unchecked(
                &self.client,
                CubeCount::new_1d(self.rows as u32),
                self.dim(),
                self.address(),
                self.arg(&self.counts, self.rows * DIGITS),
                self.arg(&self.found, self.rows),
                self.arg(&self.found_places, self.rows),
                self.arg(&self.state, self.rows * STATE),
                self.rows as u32,
                self.units,
                part,
                is_first,
                wide,
            );
        }
    }

    fn collect(&self, k: usize) -> (TensorHandle, TensorHandle) {
        let Select {
            key, wide, index, ..
        } = *self.select;
        let tensor = |element: ElemType| {
            let handle = self.client.empty(self.rows * k * element.size());
            TensorHandle::new_contiguous(vec![self.rows, k], handle, element)
        };
        let (out, places) = (tensor(key), tensor(index));
        // SAFETY: as of the digits; slots past the last are left out.
        unsafe {
            collect_kernel::launch_unchecked(
                &self.client,
                self.cubes(),
                self.dim(),
                self.address(),
                self.width,
                self.arg(&self.input, self.rows * self.vectors),
                self.arg(&self.found, self.rows),
                self.arg(&self.found_places, self.rows),
                self.arg(&self.state, self.rows * STATE),
                self.arg(&out.handle, self.rows * k),
                self.arg(&places.handle, self.rows * k),
                self.vectors,
                self.cubes_of_row,
                k as u32,
                self.units,
                self.select.order.unless_identity(),
                [word(key.size()), wide, word(index.size())],
            );
        }
        (out, places)
    }
}
