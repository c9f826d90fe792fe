//! Lists of more than 2^31 elements: scanned, compacted, and sorted.
//!
//! The elements repeat with a period, so that the host knows every result by a formula; all of it is compared, a window of memory at a
//! time.

use cubecl::ir::{ElemType, UIntKind};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih_kernels::{
    CompactOptions, Compacted, ScanOperation, ScanOptions, SortOptions, UniqueOptions, nonzero,
    scan, select as keep, sort, unique, unique_consecutive,
};
use girih_testkit::{DeviceKind, Rt, case::Need, cases, needs};

use super::{ADDRESSES_64, has_room};

cases! {
    the_same_of_short_lists needs [needs::U8, needs::U16],
    scans_more_than_2_pow_31_elements needs [FAST, needs::U8, ADDRESSES_64, ROOM],
    selects_more_than_2_pow_31_elements needs [FAST, needs::U8, ADDRESSES_64, ROOM],
    finds_places_past_the_2_pow_31st needs [FAST, needs::U8, ADDRESSES_64, ROOM_FOR_PLACES],
    takes_runs_past_the_2_pow_31st needs [FAST, needs::U8, ADDRESSES_64, ROOM_FOR_PLACES],
    sorts_more_than_2_pow_31_bytes needs [FAST, needs::U8, ADDRESSES_64, ROOM],
    sorts_more_than_2_pow_31_keys_of_16_bits needs [FAST, needs::U16, ADDRESSES_64, ROOM_FOR_HALVES],
    tells_values_of_more_than_2_pow_31_bytes needs [FAST, needs::U8, ADDRESSES_64, ROOM_FOR_PLACES],
}

/// Elements of a list: so many more than 2^31 that what is kept of them is more as well, and no multiple of anything.
const LENGTH: usize = (1 << 31) + (1 << 24) + 12_345;
/// Elements of a list on which every device shows that the comparisons hold.
const SHORT: usize = 2_512_345;
/// A prime, so that no tile begins where another did before the list is almost over.
const PERIOD: usize = 1_000_003;
/// Bytes that the host looks at together.
const WINDOW: usize = 1 << 26;

const FAST: Need = Need {
    what: "a processor that goes through 2^31 elements in a moment",
    met: |rt| rt.kind == DeviceKind::Cuda,
};
const ROOM: Need = Need {
    what: "room for 2^31 bytes, six times over",
    met: |rt| has_room(rt, LENGTH),
};
const ROOM_FOR_HALVES: Need = Need {
    what: "room for 2^31 elements of 16 bits, six times over",
    met: |rt| has_room(rt, 2 * LENGTH),
};
const ROOM_FOR_PLACES: Need = Need {
    what: "room for 2^31 elements of 32 bits, six times over",
    met: |rt| has_room(rt, 4 * LENGTH),
};

/// The options of places that 32 bits count.
fn options() -> CompactOptions {
    CompactOptions::default().index(ElemType::UInt(UIntKind::U32))
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Repeats a table.
#[cube(launch_unchecked, address_type = "dynamic")]
fn repeat<E: Int>(table: &[E], out: &mut [E], length: usize) {
    let mut at = ABSOLUTE_POS;
    while at < length {
        out[at] = table[at % table.len()];
        at += CUBE_COUNT * CUBE_DIM as usize;
    }
}

/// A device, and elements of its lists.
#[derive(Clone, Copy)]
struct Lists<'a> {
    rt: &'a Rt,
    length: usize,
}

/// The list that repeats a table.
fn list<E: CubeElement + Int>(of: Lists<'_>, table: &[E]) -> TensorHandle {
    let Lists { rt, length } = of;
    let dtype: ElemType = E::elem_type_native();
    let handle = rt.client.empty(length * dtype.size());
    let table = rt.put(table);
    // SAFETY: the kernel stays below the length of the list, and within the table.
    unsafe {
        repeat::launch_unchecked::<E>(
            &rt.client,
            CubeCount::new_1d(1 << 14),
            rt.cube_dim(),
            AddressType::from_len(length),
            table.arg(),
            BufferArg::from_raw_parts(handle.clone(), length),
            length,
        );
    }
    TensorHandle::new_contiguous(vec![length], handle, dtype)
}

/// Numbers that look random.
fn drawn(at: usize) -> u32 {
    let mut mixed = (at as u32).wrapping_mul(0x9e37_79b1);
    mixed ^= mixed >> 15;
    mixed.wrapping_mul(0x85eb_ca77) >> 8
}

/// The first `bytes` of a buffer, window by window, with the place of each.
fn windows(
    rt: &Rt,
    buffer: &Handle,
    bytes: usize,
    mut look: impl FnMut(usize, &[u8]) -> Result<(), String>,
) -> Result<(), String> {
    let size = buffer.size_in_used() as usize;
    for first in (0..bytes).step_by(WINDOW) {
        let end = (first + WINDOW).min(bytes);
        let part = buffer.clone().offset_start(first as u64);
        let part = part.offset_end((size - end) as u64);
        let read = rt.client.read_one(part).map_err(text)?;
        look(first, &read[..end - first])?;
    }
    Ok(())
}

/// The first elements of a buffer are a table's, over and over.
fn repeats<E: CubeElement>(
    rt: &Rt,
    buffer: &Handle,
    count: usize,
    table: &[E],
) -> Result<(), String> {
    let period = E::as_bytes(table);
    windows(rt, buffer, count * size_of::<E>(), |first, window| {
        let mut rest = window;
        let mut at = first;
        while !rest.is_empty() {
            let want = &period[at % period.len()..];
            let count = want.len().min(rest.len());
            if rest[..count] != want[..count] {
                let wrong = (0..count).find(|&byte| rest[byte] != want[byte]);
                let wrong = wrong.unwrap_or_default();
                let (got, want) = (rest[wrong], want[wrong]);
                return Err(format!("byte {} is {got}, not {want}", at + wrong));
            }
            rest = &rest[count..];
            at += count;
        }
        Ok(())
    })
}

impl Lists<'_> {
    /// How often a place of the table is in the list.
    fn times(self, place: usize) -> usize {
        self.length / PERIOD + usize::from(place < self.length % PERIOD)
    }
}

fn counted(rt: &Rt, found: &Compacted, want: usize) -> Result<(), String> {
    match found.count(&rt.client).map_err(text)? {
        count if count == want => Ok(()),
        count => Err(format!("{count} are kept, not {want}")),
    }
}

/// The `u32`s of the beginning of a buffer are the numbers of a function.
fn numbers(
    rt: &Rt,
    buffer: &Handle,
    count: usize,
    want: impl Fn(usize) -> u32,
) -> Result<(), String> {
    windows(rt, buffer, 4 * count, |first, window| {
        for (at, &got) in (first / 4..).zip(u32::from_bytes(window)) {
            if got != want(at) {
                return Err(format!("element {at} is {got}, not {}", want(at)));
            }
        }
        Ok(())
    })
}

fn the_same_of_short_lists(rt: &Rt) -> Result<(), String> {
    let of = Lists { rt, length: SHORT };
    scans(of).map_err(|error| format!("scan: {error}"))?;
    selects(of).map_err(|error| format!("select: {error}"))?;
    finds_places(of).map_err(|error| format!("nonzero: {error}"))?;
    takes_runs(of).map_err(|error| format!("runs: {error}"))?;
    sorts_bytes(of).map_err(|error| format!("sort of bytes: {error}"))?;
    sorts_halves(of).map_err(|error| format!("sort of halves: {error}"))?;
    tells_values(of).map_err(|error| format!("unique: {error}"))
}

/// Gives the memory back, which is more than other tests leave.
fn clean(rt: &Rt) -> Result<(), String> {
    rt.client.memory_cleanup().map_err(text)
}

fn scans_more_than_2_pow_31_elements(rt: &Rt) -> Result<(), String> {
    scans(Lists { rt, length: LENGTH })
}

fn scans(of: Lists<'_>) -> Result<(), String> {
    let Lists { rt, length } = of;
    let mut table: Vec<u8> = (0..PERIOD).map(|at| drawn(at) as u8).collect();
    // A period adds up to nothing, so that the sums repeat.
    let sum = table
        .iter()
        .fold(0u8, |sum, value| sum.wrapping_add(*value));
    table[PERIOD - 1] = table[PERIOD - 1].wrapping_sub(sum);
    let mut sum = 0u8;
    let sums: Vec<u8> = table
        .iter()
        .map(|value| {
            sum = sum.wrapping_add(*value);
            sum
        })
        .collect();
    let input = list(of, &table);
    let options = ScanOptions::inclusive();
    let output = scan(&rt.client, &input, 0, ScanOperation::Sum, options).map_err(text)?;
    repeats(rt, &output.handle, length, &sums)?;
    drop((input, output));
    clean(rt)
}

fn selects_more_than_2_pow_31_elements(rt: &Rt) -> Result<(), String> {
    selects(Lists { rt, length: LENGTH })
}

fn selects(of: Lists<'_>) -> Result<(), String> {
    let Lists { rt, length } = of;
    let table: Vec<u8> = (0..PERIOD).map(|at| drawn(at) as u8).collect();
    // All but few are kept: more than 2^31.
    let marks: Vec<u8> = (0..PERIOD)
        .map(|at| u8::from(!drawn(at + 7).is_multiple_of(500)))
        .collect();
    let kept: Vec<usize> = (0..PERIOD).filter(|&at| marks[at] != 0).collect();
    let count = kept.iter().map(|&place| of.times(place)).sum();
    assert!(count > length - (length >> 8));
    let (input, mask) = (list(of, &table), list(of, &marks));
    let found = keep(&rt.client, &input, &mask, options()).map_err(text)?;
    counted(rt, &found, count)?;
    let period: Vec<u8> = kept.iter().map(|&place| table[place]).collect();
    repeats(rt, &found.room().handle, count, &period)?;
    drop((input, mask, found));
    clean(rt)
}

fn finds_places_past_the_2_pow_31st(rt: &Rt) -> Result<(), String> {
    finds_places(Lists { rt, length: LENGTH })
}

fn finds_places(of: Lists<'_>) -> Result<(), String> {
    let Lists { rt, length } = of;
    let places = [3usize, 70_000, 999_999];
    let mut table = vec![0u8; PERIOD];
    for place in places {
        table[place] = 200;
    }
    let input = list(of, &table);
    let narrow = nonzero(&rt.client, &input, CompactOptions::default());
    if length > i32::MAX as usize {
        let refused = narrow.expect_err("i32 does not count so many").to_string();
        let allowed = format!("input counts {length}; nonzero takes up to {}", i32::MAX);
        assert_eq!(refused, allowed);
    }
    let found = nonzero(&rt.client, &input, options()).map_err(text)?;
    let count = places.iter().map(|&place| of.times(place)).sum();
    counted(rt, &found, count)?;
    numbers(rt, &found.room().handle, count, |at| {
        (at / places.len() * PERIOD + places[at % places.len()]) as u32
    })?;
    drop((input, found));
    clean(rt)
}

/// Elements of a run.
const RUN: usize = 1000;

fn takes_runs_past_the_2_pow_31st(rt: &Rt) -> Result<(), String> {
    takes_runs(Lists { rt, length: LENGTH })
}

fn takes_runs(of: Lists<'_>) -> Result<(), String> {
    let Lists { rt, length } = of;
    let table: Vec<u8> = (0..251 * RUN).map(|at| (at / RUN) as u8).collect();
    let input = list(of, &table);
    let found = unique_consecutive(&rt.client, &input, options()).map_err(text)?;
    let count = length.div_ceil(RUN);
    counted(rt, &found.values, count)?;
    let values: Vec<u8> = (0..251).collect();
    repeats(rt, &found.values.room().handle, count, &values)?;
    numbers(rt, &found.begins.room().handle, count, |at| {
        (at * RUN) as u32
    })?;
    numbers(rt, &found.lengths.room().handle, count, |at| {
        RUN.min(length - at * RUN) as u32
    })?;
    let inverse = found.inverse.as_ref().ok_or("there is no inverse")?;
    windows(rt, &inverse.handle, 4 * length, |first, window| {
        let mut rest = u32::from_bytes(window);
        let mut at = first / 4;
        while let Some((&number, _)) = rest.split_first() {
            let count = rest.len().min(RUN - at % RUN);
            // All of a run are as its first is, which is its number.
            let is_one = rest[1..count] == rest[..count - 1];
            if number as usize != at / RUN || !is_one {
                return Err(format!("the run of element {at} is not {}", at / RUN));
            }
            rest = &rest[count..];
            at += count;
        }
        Ok(())
    })?;
    drop((input, found));
    clean(rt)
}

/// How often each of so many values is there.
fn histogram(of: Lists<'_>, values: usize, table: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut counts = vec![0; values];
    for (place, value) in table.enumerate() {
        counts[value] += of.times(place);
    }
    counts
}

/// Sorted keys are the smallest, as often as they are there, and so on.
fn sorted<E: CubeElement + Int + PartialEq>(
    of: Lists<'_>,
    table: &[E],
    counts: &[usize],
    key: impl Fn(usize) -> E,
) -> Result<(), String> {
    let Lists { rt, length } = of;
    let input = list(of, table);
    let output = sort(&rt.client, &input, 0, &SortOptions::default()).map_err(text)?;
    let (mut value, mut left) = (0, counts[0]);
    windows(
        rt,
        &output.handle,
        length * size_of::<E>(),
        |first, window| {
            let mut rest = E::from_bytes(window);
            while let Some((&found, _)) = rest.split_first() {
                while left == 0 {
                    value += 1;
                    left = counts[value];
                }
                let count = rest.len().min(left);
                if found != key(value) || rest[1..count] != rest[..count - 1] {
                    let at = first / size_of::<E>();
                    return Err(format!("in the window from {at}, not all keys are {value}"));
                }
                rest = &rest[count..];
                left -= count;
            }
            Ok(())
        },
    )?;
    drop((input, output));
    clean(rt)
}

fn sorts_more_than_2_pow_31_bytes(rt: &Rt) -> Result<(), String> {
    sorts_bytes(Lists { rt, length: LENGTH })
}

fn sorts_bytes(of: Lists<'_>) -> Result<(), String> {
    let table: Vec<u8> = (0..PERIOD).map(|at| drawn(at) as u8).collect();
    let counts = histogram(of, 256, table.iter().map(|&key| usize::from(key)));
    sorted(of, &table, &counts, |value| value as u8)
}

fn sorts_more_than_2_pow_31_keys_of_16_bits(rt: &Rt) -> Result<(), String> {
    sorts_halves(Lists { rt, length: LENGTH })
}

fn sorts_halves(of: Lists<'_>) -> Result<(), String> {
    let table: Vec<u16> = (0..PERIOD).map(|at| drawn(at) as u16).collect();
    let counts = histogram(of, 1 << 16, table.iter().map(|&key| usize::from(key)));
    sorted(of, &table, &counts, |value| value as u16)
}

fn tells_values_of_more_than_2_pow_31_bytes(rt: &Rt) -> Result<(), String> {
    tells_values(Lists { rt, length: LENGTH })
}

fn tells_values(of: Lists<'_>) -> Result<(), String> {
    let rt = of.rt;
    // Every third value is there.
    let table: Vec<u8> = (0..PERIOD).map(|at| (drawn(at) % 85 * 3) as u8).collect();
    let counts = histogram(of, 256, table.iter().map(|&key| usize::from(key)));
    let there: Vec<usize> = (0..256).filter(|&value| counts[value] > 0).collect();
    let input = list(of, &table);
    let options = UniqueOptions {
        counts: true,
        compact: options(),
        ..UniqueOptions::default()
    };
    let found = unique(&rt.client, &input, options).map_err(text)?;
    counted(rt, &found.values, there.len())?;
    let values: Vec<u8> = there.iter().map(|&value| value as u8).collect();
    repeats(rt, &found.values.room().handle, there.len(), &values)?;
    let of_each = found.counts.as_ref().ok_or("there are no counts")?;
    numbers(rt, &of_each.room().handle, there.len(), |at| {
        counts[there[at]] as u32
    })?;
    drop((input, found));
    clean(rt)
}
