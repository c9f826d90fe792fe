//! The selection in two launches a digit, for devices that do not run all cubes of a launch at once.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::{DIGIT_BITS, DIGITS, Input, Select};
use crate::bins;
use crate::scan::cubes;
use crate::sort::plan::word;
use crate::sort::{Order, encode};
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::coop::Sum;
use girih::device::{self, Target};
use girih::prelude::*;

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
    rows: u32,
    shift: u32,
    #[comptime] units: u32,
    #[comptime] part: Part,
    #[comptime] is_first: bool,
    #[comptime] order: Option<Order>,
    #[define(K, W)] _types: [ElemType; 2],
) {
    let digits = shared::<Atomic<u32>>(DIGITS);
    let row = CUBE_POS / cubes_of_row as usize;
    if row < rows as usize {
        bins::clear::<u32>(&digits, DIGITS, units);
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
        let first = (CUBE_POS % cubes_of_row as usize) * comptime!(units as usize);
        let mut at = first + UNIT_POS as usize;
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
                    digits[digit as usize]
                        .at::<Cube>()
                        .fetch_add::<Relaxed>(1u32);
                }
            }
            at += step;
        }
        bins::add_to::<u32, u32>(&digits, counts, row * DIGITS, DIGITS.runtime(), units);
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
    rows: u32,
    k: u32,
    #[comptime] units: u32,
    #[comptime] order: Option<Order>,
    #[define(K, W, I)] _types: [ElemType; 3],
) {
    let row = CUBE_POS / cubes_of_row as usize;
    if row < rows as usize {
        let last = found[row];
        let last_place = found_places[row];
        let first = (CUBE_POS % cubes_of_row as usize) * comptime!(units as usize);
        let mut at = first + UNIT_POS as usize;
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
}

/// Those wanted of each row and their places, and that they are in no order.
pub(super) fn launch(
    select: &Select,
    device: &device::Device,
    input: &Input,
    k: usize,
) -> (TensorHandle, TensorHandle, bool) {
    let client = device.client();
    let hardware = &client.properties().hardware;
    let units = 1 << hardware.max_units_per_cube.clamp(1, 256).ilog2();
    let most = match device.target() {
        Target::Cpu => 1,
        _ => 8 * device.processors(),
    };
    let share = most.div_ceil(input.rows);
    let steps = Steps {
        device,
        client,
        select,
        input,
        cubes_of_row: input.vectors.div_ceil(units as usize * 4).clamp(1, share) as u32,
        units,
        counts: bins::zeros(device, input.rows * DIGITS),
        found: client.empty(input.rows * select.wide.size()),
        found_places: bins::zeros(device, input.rows),
        state: {
            let of_row = [k as u32, input.len as u32, 0];
            let state: Vec<u32> = (0..input.rows).flat_map(|_| of_row).collect();
            client.create_from_slice(u32::as_bytes(&state))
        },
    };
    let digits = select.order.bits / DIGIT_BITS;
    for digit in (0..digits).rev() {
        steps.digit(Part::Key, DIGIT_BITS * digit, digit + 1 == digits);
    }
    let digits = input.place_digits();
    for digit in (0..digits).rev() {
        steps.digit(Part::Place, DIGIT_BITS * digit, digit + 1 == digits);
    }
    let (found, places) = steps.collect(k);
    (found, places, false)
}

/// The launches of a selection.
struct Steps<'a> {
    device: &'a device::Device,
    client: &'a Client,
    select: &'a Select,
    input: &'a Input,
    cubes_of_row: u32,
    units: u32,
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
        AddressType::from_len(self.input.rows * self.input.len.max(DIGITS))
    }

    fn dim(&self) -> CubeDim {
        CubeDim::new_1d(self.units)
    }

    fn cubes(&self) -> CubeCount {
        cubes(self.device, self.cubes_of_row as usize * self.input.rows)
    }

    /// Finds a digit of the last one wanted.
    fn digit(&self, part: Part, shift: u32, is_first: bool) {
        let Select { key, wide, .. } = *self.select;
        // SAFETY: rows are masked by their length; each has its words of counts and state.
        unsafe {
            count_digit_kernel::launch_unchecked(
                self.client,
                self.cubes(),
                self.dim(),
                self.address(),
                self.input.width,
                self.arg(&self.input.handle, self.input.rows * self.input.vectors),
                self.arg(&self.counts, self.input.rows * DIGITS),
                self.arg(&self.found, self.input.rows),
                self.arg(&self.found_places, self.input.rows),
                self.arg(&self.state, self.input.rows * STATE),
                self.input.vectors,
                self.cubes_of_row,
                self.input.rows as u32,
                shift,
                self.units,
                part,
                is_first,
                self.select.order.unless_identity(),
                [word(key.size()), wide],
            );
            choose_kernel::launch_unchecked(
                self.client,
                cubes(self.device, self.input.rows),
                self.dim(),
                self.address(),
                self.arg(&self.counts, self.input.rows * DIGITS),
                self.arg(&self.found, self.input.rows),
                self.arg(&self.found_places, self.input.rows),
                self.arg(&self.state, self.input.rows * STATE),
                self.input.rows as u32,
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
        let (out, places) = self.select.outputs(self.client, self.input.rows, k);
        // SAFETY: as of the digits; slots past the last are left out.
        unsafe {
            collect_kernel::launch_unchecked(
                self.client,
                self.cubes(),
                self.dim(),
                self.address(),
                self.input.width,
                self.arg(&self.input.handle, self.input.rows * self.input.vectors),
                self.arg(&self.found, self.input.rows),
                self.arg(&self.found_places, self.input.rows),
                self.arg(&self.state, self.input.rows * STATE),
                self.arg(&out.handle, self.input.rows * k),
                self.arg(&places.handle, self.input.rows * k),
                self.input.vectors,
                self.cubes_of_row,
                self.input.rows as u32,
                k as u32,
                self.units,
                self.select.order.unless_identity(),
                [word(key.size()), wide, word(index.size())],
            );
        }
        (out, places)
    }
}
