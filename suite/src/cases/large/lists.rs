//! Lists of more than 2^31 elements: scanned, compacted, and sorted.
//!
//! The elements repeat with a period, so that the host knows every result by a formula; all of it is compared, a window of memory at a
//! time.

use cubecl::ir::{ElemType, UIntKind};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih_kernels::{
    CompactOptions, Compacted, ScanOperation, ScanOptions, bincount, histogram as in_bins, nonzero,
    scan, select as keep, unique_consecutive,
};
use girih_testkit::{DeviceKind, Rt, case::Need, cases, needs};

use super::{ADDRESSES_64, Alone, has_room};

cases! {
    the_same_of_short_lists needs [needs::U8, needs::U16],
    scans_more_than_2_pow_31_elements needs [FAST, needs::U8, ADDRESSES_64, ROOM],
    selects_more_than_2_pow_31_elements needs [FAST, needs::U8, ADDRESSES_64, ROOM],
    finds_places_past_the_2_pow_31st needs [FAST, needs::U8, ADDRESSES_64, ROOM_FOR_PLACES],
    takes_runs_past_the_2_pow_31st needs [FAST, needs::U8, ADDRESSES_64, ROOM_FOR_PLACES],
    scans_2_pow_33_elements needs [FAST, needs::U8, ADDRESSES_64, ROOM_33],
    selects_of_2_pow_33_elements needs [FAST, needs::U8, ADDRESSES_64, ROOM_33],
    counts_2_pow_33_bytes needs [FAST, needs::U8, needs::U64, ADDRESSES_64, ROOM_33],
}

/// Elements of a list: so many more than 2^31 that what is kept of them is more as well, and no multiple of anything.
pub(super) const LENGTH: usize = (1 << 31) + (1 << 24) + 12_345;
/// Elements that 33 bits do not count.
pub(super) const LENGTH_33: usize = (1 << 33) + 12_345;
/// Elements of a list on which every device shows that the comparisons hold.
pub(super) const SHORT: usize = 2_512_345;
/// A prime, so that no tile begins where another did before the list is almost over.
pub(super) const PERIOD: usize = 1_000_003;
/// Bytes that the host looks at together.
const WINDOW: usize = 1 << 26;

pub(super) const FAST: Need = Need {
    what: "a processor that goes through 2^31 elements in a moment",
    met: |rt| rt.kind == DeviceKind::Cuda,
};
pub(super) const ROOM: Need = Need {
    what: "room for 2^31 bytes, six times over",
    met: |rt| has_room(rt, LENGTH),
};
pub(super) const ROOM_FOR_PLACES: Need = Need {
    what: "room for 2^31 elements of 32 bits, six times over",
    met: |rt| has_room(rt, 4 * LENGTH),
};

pub(super) const ROOM_33: Need = Need {
    what: "room for 2^33 bytes, six times over",
    met: |rt| has_room(rt, LENGTH_33),
};
/// The options of places that 32 bits count.
pub(super) fn options() -> CompactOptions {
    CompactOptions::default().index(ElemType::UInt(UIntKind::U32))
}

pub(super) fn text(error: impl std::fmt::Display) -> String {
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
pub(super) struct Lists<'a> {
    pub rt: &'a Rt,
    pub length: usize,
}

/// The list that repeats a table.
pub(super) fn list<E: CubeElement + Int>(of: Lists<'_>, table: &[E]) -> TensorHandle {
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
pub(super) fn drawn(at: usize) -> u32 {
    let mut mixed = (at as u32).wrapping_mul(0x9e37_79b1);
    mixed ^= mixed >> 15;
    mixed.wrapping_mul(0x85eb_ca77) >> 8
}

/// The first `bytes` of a buffer, window by window, with the place of each.
pub(super) fn windows(
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
pub(super) fn repeats<E: CubeElement>(
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

pub(super) fn counted(rt: &Rt, found: &Compacted, want: usize) -> Result<(), String> {
    match found.count(&rt.client).map_err(text)? {
        count if count == want => Ok(()),
        count => Err(format!("{count} are kept, not {want}")),
    }
}

/// The `u32`s of the beginning of a buffer are the numbers of a function.
pub(super) fn numbers(
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
    counts_bytes(of).map_err(|error| format!("bincount: {error}"))
}

/// Gives the memory back, which is more than other tests leave.
pub(super) fn clean(rt: &Rt) -> Result<(), String> {
    rt.client.memory_cleanup().map_err(text)
}

fn scans_more_than_2_pow_31_elements(rt: &Rt) -> Result<(), String> {
    let _alone = Alone::new(rt)?;
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
    let _alone = Alone::new(rt)?;
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
    let _alone = Alone::new(rt)?;
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
    let _alone = Alone::new(rt)?;
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
pub(super) fn histogram(
    of: Lists<'_>,
    values: usize,
    table: impl Iterator<Item = usize>,
) -> Vec<usize> {
    let mut counts = vec![0; values];
    for (place, value) in table.enumerate() {
        counts[value] += of.times(place);
    }
    counts
}

fn scans_2_pow_33_elements(rt: &Rt) -> Result<(), String> {
    let _alone = Alone::new(rt)?;
    scans(Lists {
        rt,
        length: LENGTH_33,
    })
}

fn selects_of_2_pow_33_elements(rt: &Rt) -> Result<(), String> {
    let _alone = Alone::new(rt)?;
    selects(Lists {
        rt,
        length: LENGTH_33,
    })
}

fn counts_2_pow_33_bytes(rt: &Rt) -> Result<(), String> {
    let _alone = Alone::new(rt)?;
    counts_bytes(Lists {
        rt,
        length: LENGTH_33,
    })
}

/// Most of the values are one, so that of 2^33 more are than 32 bits count.
fn counts_bytes(of: Lists<'_>) -> Result<(), String> {
    let Lists { rt, length } = of;
    let table: Vec<u8> = (0..PERIOD)
        .map(|at| if at % 5 == 0 { drawn(at) as u8 } else { 77 })
        .collect();
    let counts = histogram(of, 256, table.iter().map(|&value| usize::from(value)));
    let input = list(of, &table);
    let found = bincount(&rt.client, &input, None, 256).map_err(text)?;
    let bytes = rt.client.read_one(found.handle.clone()).map_err(text)?;
    let got: Vec<usize> = match u32::try_from(length) {
        Ok(_) => u32::from_bytes(&bytes)[..256]
            .iter()
            .map(|&count| count as usize)
            .collect(),
        Err(_) => u64::from_bytes(&bytes)[..256]
            .iter()
            .map(|&count| count as usize)
            .collect(),
    };
    // As wide as numbers are apart, ranges count the same.
    let in_ranges = in_bins(&rt.client, &input, None, 256, [0.0, 256.0]).map_err(text)?;
    let read = rt.client.read_one(in_ranges.handle.clone()).map_err(text)?;
    let same = read[..] == bytes[..];
    drop((input, found, in_ranges));
    clean(rt)?;
    match got == counts && same {
        true => Ok(()),
        false => Err(format!(
            "{got:?}, not {counts:?}; by ranges the same: {same}"
        )),
    }
}
