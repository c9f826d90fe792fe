//! The selection in one launch: all cubes count a digit, wait for each other, and find it, for digit after digit. It takes a
//! device that runs all cubes of a launch at once.
// CubeCL's macro writes undocumented twins of the kernel.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::walk::{Question, Share, Visit, walk};
use super::{DIGIT_BITS, DIGITS, Input, Select};
use crate::bins;
use crate::sort::plan::word;
use crate::sort::{Order, encode};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::coop::Sum;
use girih::device::{self, Target};
use girih::memory::blocks::GridBarrier;
use girih::prelude::*;

/// Most of those wanted that one cube puts in order by comparing each with each.
const RANKED: usize = 512;
/// Words of the barrier, before those of the rows.
const BARRIER: usize = 2;

/// How the kernel selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AtOnce {
    /// Units of the cube.
    pub units: u32,
    /// Vectors that each unit has in flight.
    pub items: u32,
    /// Digits of a key.
    pub key_digits: u32,
    /// Digits of a place.
    pub place_digits: u32,
    /// Most of those wanted, if they are to be put in order; 0 otherwise.
    pub ranked: u32,
}

impl AtOnce {
    /// Words of a row: the counts of every digit, and how many of those wanted were written.
    pub(super) const fn words(&self) -> usize {
        (self.key_digits + self.place_digits) as usize * DIGITS + 1
    }
}

/// The first `k` of each row in the order. `words` are 0 before: those of the barrier, then those of the rows.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn select_kernel<K: Int, W: Int, I: Int, N: Size>(
    keys: &[Vector<K, N>],
    words: &[Atomic<u32>],
    out: &mut [K],
    places: &mut [I],
    vectors_of_row: usize,
    cubes_of_row: u32,
    k: u32,
    #[comptime] plan: AtOnce,
    #[comptime] order: Option<Order>,
    #[define(K, W, I)] _types: [ElemType; 3],
) {
    let chunk = comptime!((plan.units * plan.items) as usize);
    let row = CUBE_POS / cubes_of_row as usize;
    let rank = CUBE_POS % cubes_of_row as usize;
    let share = Share {
        start: row * vectors_of_row,
        len: vectors_of_row,
        first: rank * chunk,
        step: chunk * cubes_of_row as usize,
    };
    let barrier = GridBarrier::new(&words[0], &words[1]);
    let digits = shared::<Atomic<u32>>(DIGITS);
    let mut chosen = shared::<u32>(3usize);
    let begin = BARRIER + row * plan.words();
    let first = row * k as usize;

    let mut key = W::new(0i64);
    let mut left = k;
    let mut among = 0u32;
    let mut counts = begin;
    let mut digit = comptime!(plan.key_digits).runtime();
    while digit > 0u32 {
        digit -= 1u32;
        let question = Question::<W> {
            key,
            place: 0u32,
            shift: digit * DIGIT_BITS,
        };
        bins::clear::<u32>(&digits, DIGITS, plan.units);
        walk::<K, W, I, N>(
            keys,
            &digits,
            words,
            out,
            places,
            share,
            question,
            begin,
            first,
            k,
            Visit::Key,
            plan,
            order,
        );
        bins::add_to::<u32, u32>(&digits, words, counts, DIGITS.runtime(), plan.units);
        barrier.sync();
        choose(&mut chosen, words, counts, left, plan);
        key = (key << W::new(comptime!(i64::from(DIGIT_BITS)))) | W::cast_from(chosen[0]);
        left = chosen[1];
        among = chosen[2];
        sync_cube();
        counts += DIGITS;
    }

    // Of equal keys the first places are wanted; where all of them are, any place will do. Every cube comes to each barrier,
    // unless it knows that none has to.
    let is_settled = left == among;
    let mut place = 0u32;
    let mut digit = comptime!(plan.place_digits).runtime();
    if is_settled && cubes_of_row as usize == CUBE_COUNT {
        digit = 0u32;
    }
    while digit > 0u32 {
        digit -= 1u32;
        let question = Question::<W> {
            key,
            place,
            shift: digit * DIGIT_BITS,
        };
        bins::clear::<u32>(&digits, DIGITS, plan.units);
        if !is_settled {
            walk::<K, W, I, N>(
                keys,
                &digits,
                words,
                out,
                places,
                share,
                question,
                begin,
                first,
                k,
                Visit::Place,
                plan,
                order,
            );
        }
        bins::add_to::<u32, u32>(&digits, words, counts, DIGITS.runtime(), plan.units);
        barrier.sync();
        if !is_settled {
            choose(&mut chosen, words, counts, left, plan);
            place = (place << DIGIT_BITS) | chosen[0];
            left = chosen[1];
            sync_cube();
        }
        counts += DIGITS;
    }
    if is_settled {
        place = 0xffff_ffffu32;
    }

    let question = Question::<W> {
        key,
        place,
        shift: 0u32,
    };
    walk::<K, W, I, N>(
        keys,
        &digits,
        words,
        out,
        places,
        share,
        question,
        begin,
        first,
        k,
        Visit::Collect,
        plan,
        order,
    );
    if comptime!(plan.ranked > 0) {
        barrier.sync();
        if rank == 0 {
            put_in_order::<K, W, I>(out, places, first, k, plan, order);
        }
    }
}

/// The digit of the last one wanted, how many are still to be found among those that have it, and how many those are.
#[cube]
fn choose(
    chosen: &mut Shared<[u32]>,
    words: &[Atomic<u32>],
    counts: usize,
    left: u32,
    #[comptime] plan: AtOnce,
) {
    let own = comptime!(DIGITS.div_ceil(plan.units as usize));
    let first = UNIT_POS as usize * own;
    let mut held = Array::<u32>::new(own);
    let mut total = 0u32;
    for each in 0..own {
        let mut count = 0u32;
        if first + each < DIGITS {
            count = words[counts + first + each]
                .at::<Device>()
                .load::<Relaxed>();
        }
        held[each] = count;
        total += count;
    }
    let mut before = this_cube().exclusive_scan::<u32, Sum>(total, 0u32);
    for each in 0..own {
        let count = held[each];
        if before < left && left <= before + count {
            chosen[0] = (first + each) as u32;
            chosen[1] = left - before;
            chosen[2] = count;
        }
        before += count;
    }
    sync_cube();
}

/// Puts those wanted in order, equal keys by their places: each goes where as many are as come before it.
#[cube]
fn put_in_order<K: Int, W: Int, I: Int>(
    out: &mut [K],
    places: &mut [I],
    first: usize,
    k: u32,
    #[comptime] plan: AtOnce,
    #[comptime] order: Option<Order>,
) {
    let units = comptime!(plan.units as usize);
    let count = k as usize;
    let mut raws = shared::<K>(comptime!(plan.ranked as usize));
    let mut keys = shared::<W>(comptime!(plan.ranked as usize));
    let mut from = shared::<u32>(comptime!(plan.ranked as usize));
    let mut at = UNIT_POS as usize;
    while at < count {
        let raw = out[first + at];
        raws[at] = raw;
        keys[at] = encode::<W>(W::cast_from(raw), order);
        from[at] = u32::cast_from(places[first + at]);
        at += units;
    }
    sync_cube();
    let mut at = UNIT_POS as usize;
    while at < count {
        let (key, place) = (keys[at], from[at]);
        let mut rank = 0usize;
        for other in 0..count {
            let is_before = keys[other] < key || (keys[other] == key && from[other] < place);
            rank += usize::cast_from(is_before);
        }
        out[first + rank] = raws[at];
        places[first + rank] = I::cast_from(place);
        at += units;
    }
}

/// Those wanted of each row and their places, and whether they are in order; where the device can do it in one launch.
pub(super) fn launch(
    select: &Select,
    device: &device::Device,
    input: &Input,
    k: usize,
) -> Option<(TensorHandle, TensorHandle, bool)> {
    let most = GridBarrier::most_cubes(device) as usize;
    let runs = matches!(device.target(), Target::Cuda | Target::Cpu);
    if !runs || input.rows > most {
        return None;
    }
    let client = device.client();
    let units = 1
        << client
            .properties()
            .hardware
            .max_units_per_cube
            .clamp(1, 1024)
            .ilog2();
    let items = 2;
    let chunks = input.vectors.div_ceil((units * items) as usize);
    let cubes_of_row = chunks.clamp(1, most / input.rows) as u32;
    let cubes = cubes_of_row * input.rows as u32;
    GridBarrier::require(device, cubes).ok()?;
    let is_ranked = k <= RANKED;
    let plan = AtOnce {
        units,
        items,
        key_digits: select.order.bits / DIGIT_BITS,
        place_digits: input.place_digits(),
        ranked: if is_ranked { RANKED as u32 } else { 0 },
    };
    let words = BARRIER + input.rows * plan.words();
    let (out, places) = select.outputs(client, input.rows, k);
    // SAFETY: rows are masked by their length, slots by `k`; there are words for every row.
    unsafe {
        select_kernel::launch_unchecked(
            client,
            CubeCount::new_1d(cubes),
            CubeDim::new_1d(units),
            AddressType::from_len(input.rows * input.len.max(plan.words())),
            input.width,
            BufferArg::from_raw_parts(input.handle.clone(), input.rows * input.vectors),
            BufferArg::from_raw_parts(bins::zeros(device, words), words),
            BufferArg::from_raw_parts(out.handle.clone(), input.rows * k),
            BufferArg::from_raw_parts(places.handle.clone(), input.rows * k),
            input.vectors,
            cubes_of_row,
            k as u32,
            plan,
            select.order.unless_identity(),
            [
                word(select.key.size()),
                select.wide,
                word(select.index.size()),
            ],
        );
    }
    Some((out, places, is_ranked))
}
