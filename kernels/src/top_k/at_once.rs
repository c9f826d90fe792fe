//! The selection in one launch: cubes count a digit of the keys, the last of them finds which of its values the last one wanted
//! has, and all go on with the next digit.
//!
//! Work is numbered: the shares of all rows for the first digit, then those for the second, and so on; those that collect come last. A
//! cube takes the next number from a counter, does what it stands for, and takes another. What is numbered waits for lower numbers
//! alone, and those are done or in the hands of cubes that run: so it goes on, however few cubes run at once.
// CubeCL's macro writes undocumented twins of the kernel.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::answers::{choose, hear, learn};
use super::ranked::{RANKED, put_in_order};
use super::walk::{Errand, Question, Share, Slots, Visit, walk};
use super::{CALL, DIGIT_BITS, DIGITS, Input, Select};
use crate::bins;
use crate::sort::Order;
use crate::sort::plan::word;
use cubecl::ir::{ElemType, UIntKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Result;
use girih::device::{self, Target};
use girih::memory::{AtomicAccess, MemoryOrder, MemoryScope, Operation};
use girih::prelude::*;

/// Words before those of the rows: the next number.
const NUMBERS: usize = 1;

/// In the cube's hand: the number that it does next,
const NEXT: usize = 0;
/// and how many shares of its row were done before its own.
const DONE: usize = 1;

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
    /// Digits of a key and of a place.
    pub(super) const fn digits(&self) -> u32 {
        self.key_digits + self.place_digits
    }

    /// Where a row's answers begin in its words, behind the counts of every digit.
    pub(super) const fn answers(&self) -> usize {
        self.digits() as usize * DIGITS
    }

    /// Where a row's shares that are done are counted: of every digit, and of what is collected.
    const fn done(&self) -> usize {
        self.answers() + self.digits() as usize
    }

    /// Where it is counted how many of those wanted were written.
    pub(super) const fn written(&self) -> usize {
        self.done() + self.digits() as usize + 1
    }

    /// Words of a row.
    const fn words_of_row(&self) -> usize {
        self.written() + 1
    }

    /// Words of all rows.
    pub const fn words(&self, rows: usize) -> usize {
        NUMBERS + rows * self.words_of_row()
    }
}

/// The first `k` of each row in the order. `words` are 0 before: the next number, then those of the rows.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn select_kernel<K: Int, W: Int, I: Int, N: Size>(
    keys: &[Vector<K, N>],
    words: &[Atomic<u32>],
    out: &mut [K],
    places: &mut [I],
    vectors_of_row: usize,
    rows: u32,
    shares_of_row: u32,
    k: u32,
    #[comptime] plan: AtOnce,
    #[comptime] order: Option<Order>,
    #[define(K, W, I)] _types: [ElemType; 3],
) {
    let chunk = comptime!((plan.units * plan.items) as usize);
    let key_digits = comptime!(plan.key_digits);
    let digits = shared::<Atomic<u32>>(DIGITS);
    let mut answers = shared::<u32>(comptime!(plan.digits() as usize));
    let mut hand = shared::<u32>(2usize);
    let shares = rows * shares_of_row;
    let end = shares * comptime!(plan.digits() + 1);

    if UNIT_POS == 0u32 {
        hand[NEXT] = take(words);
    }
    sync_cube();
    let mut number = hand[NEXT];
    while number < end {
        let phase = number / shares;
        let row = ((number % shares) / shares_of_row) as usize;
        let share = Share {
            start: row * vectors_of_row,
            len: vectors_of_row,
            first: (number % shares_of_row) as usize * chunk,
            step: chunk * shares_of_row as usize,
        };
        let begin = NUMBERS + row * comptime!(plan.words_of_row());
        let first = row * k as usize;

        hear(
            &mut answers,
            words,
            begin,
            0u32,
            phase.min(key_digits),
            plan,
        );
        bins::clear::<u32>(&digits, DIGITS, plan.units);
        let known = learn::<W>(&mut answers, words, begin, phase, k, plan);
        let question = Question::<W> {
            key: known.key,
            place: known.place,
            shift: (known.digits.max(phase + 1u32) - phase - 1u32) * DIGIT_BITS,
        };
        let slots = Slots {
            first,
            count: k,
            written: begin + comptime!(plan.written()),
        };
        let errand = Errand::<W> {
            share,
            question,
            slots,
        };

        if phase == known.digits {
            walk::<K, W, I, N>(
                keys,
                &digits,
                words,
                out,
                places,
                errand,
                Visit::Collect,
                plan,
                order,
            );
            let next = take_of_rest(words, rows, (phase + 1u32) * shares, end);
            let done = begin + comptime!(plan.done() + plan.digits() as usize);
            let is_last = end_share(&mut hand, words, done, shares_of_row, next);
            if comptime!(plan.ranked > 0) {
                if is_last {
                    put_in_order::<K, W, I>(out, places, first, k, plan, order);
                }
            }
        } else if phase < known.digits {
            if phase >= key_digits {
                walk::<K, W, I, N>(
                    keys,
                    &digits,
                    words,
                    out,
                    places,
                    errand,
                    Visit::Place,
                    plan,
                    order,
                );
            } else {
                walk::<K, W, I, N>(
                    keys,
                    &digits,
                    words,
                    out,
                    places,
                    errand,
                    Visit::Key,
                    plan,
                    order,
                );
            }
            // On its way while the counts are added.
            let next = take(words);
            let counts = begin + phase as usize * DIGITS;
            bins::add_to::<u32, u32>(&digits, words, counts, DIGITS.runtime(), plan.units);
            let done = begin + comptime!(plan.done()) + phase as usize;
            if end_share(&mut hand, words, done, shares_of_row, next) {
                let answer = begin + comptime!(plan.answers()) + phase as usize;
                choose(words, counts, answer, known.left, plan);
            }
        } else {
            // The row did not ask for places, and is collected.
            let next = take_of_rest(words, rows, phase * shares, end);
            if UNIT_POS == 0u32 {
                hand[NEXT] = next;
            }
            sync_cube();
        }
        number = hand[NEXT];
    }
}

/// The next number, for the first unit.
#[cube]
fn take(words: &[Atomic<u32>]) -> u32 {
    let mut number = 0u32;
    if UNIT_POS == 0u32 {
        number = words[0].at::<Device>().fetch_add::<Relaxed>(1u32);
    }
    number
}

/// The next number of a cube that collects; none, where there is one row alone and its shares are taken, which are those below `own`.
#[cube]
fn take_of_rest(words: &[Atomic<u32>], rows: u32, own: u32, end: u32) -> u32 {
    let number = take(words);
    select(rows == 1u32 && number >= own, end, number)
}

/// Ends a share, of which `done` counts those of its row: whether it was the last of them, whose cube sees what the others have done.
/// `next` is the number that the cube does next.
#[cube]
fn end_share(
    hand: &mut Shared<[u32]>,
    words: &[Atomic<u32>],
    done: usize,
    shares_of_row: u32,
    next: u32,
) -> bool {
    sync_cube();
    if UNIT_POS == 0u32 {
        hand[DONE] = words[done].at::<Device>().fetch_add::<AcqRel>(1u32);
        hand[NEXT] = next;
    }
    sync_cube();
    hand[DONE] + 1u32 == shares_of_row
}

/// Whether the device can: cubes must go on while others wait for them.
pub fn require(device: &device::Device) -> Result<()> {
    let goes_on = matches!(device.target(), Target::Cuda | Target::Cpu);
    device.require(goes_on, CALL, "cubes that go on while others wait for them")?;
    for (operation, order) in [
        (Operation::Add, MemoryOrder::AcqRel),
        (Operation::Load, MemoryOrder::Relaxed),
        (Operation::Store, MemoryOrder::Relaxed),
    ] {
        let access = AtomicAccess::new(operation, ElemType::UInt(UIntKind::U32));
        device.require_atomic(CALL, &access.ordered(order, MemoryScope::Device))?;
    }
    Ok(())
}

/// Cubes that give every processor work, and rows that are enough for them.
pub(super) fn most_cubes(device: &device::Device) -> usize {
    match device.target() {
        Target::Cuda => device.processors(),
        // Its cubes run one after another.
        _ => 1,
    }
}

/// Those wanted of each row and their places, and whether they are in order; of no more rows than [`most_cubes`].
pub(super) fn launch(
    select: &Select,
    device: &device::Device,
    input: &Input,
    k: usize,
) -> (TensorHandle, TensorHandle, bool) {
    let client = device.client();
    let units = 1
        << client
            .properties()
            .hardware
            .max_units_per_cube
            .clamp(1, 1024)
            .ilog2();
    let items = 2;
    let most = most_cubes(device);
    let chunks = input.vectors.div_ceil((units * items) as usize);
    let shares_of_row = chunks.clamp(1, most / input.rows);
    let is_ranked = k <= RANKED;
    let plan = AtOnce {
        units,
        items,
        key_digits: select.order.bits / DIGIT_BITS,
        place_digits: input.place_digits(),
        ranked: if is_ranked { RANKED as u32 } else { 0 },
    };
    let words = plan.words(input.rows);
    let (out, places) = select.outputs(client, input.rows, k);
    // SAFETY: rows are masked by their length, slots by `k`; there are words for every row.
    unsafe {
        select_kernel::launch_unchecked(
            client,
            CubeCount::new_1d((input.rows * shares_of_row) as u32),
            CubeDim::new_1d(units),
            AddressType::from_len(input.rows * input.len.max(plan.words(1))),
            input.width,
            BufferArg::from_raw_parts(input.handle.clone(), input.rows * input.vectors),
            BufferArg::from_raw_parts(bins::zeros(device, words), words),
            BufferArg::from_raw_parts(out.handle.clone(), input.rows * k),
            BufferArg::from_raw_parts(places.handle.clone(), input.rows * k),
            input.vectors,
            input.rows as u32,
            shares_of_row as u32,
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
    (out, places, is_ranked)
}
