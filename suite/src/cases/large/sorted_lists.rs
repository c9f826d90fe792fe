//! Sorts of lists of more than 2^31 elements, as those of [`lists`](super::lists).

use cubecl::ir::{ElemType, IntKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih_kernels::{
    Side, SortOptions, SortOrder, UniqueOptions, argsort, search_sorted, sort, sort_by, sort_pairs,
    top_k, unique,
};
use girih_testkit::{Rt, case::Need, cases, needs};

use super::lists::{
    FAST, LENGTH, LENGTH_33, Lists, PERIOD, ROOM, ROOM_33, ROOM_FOR_PLACES, SHORT, clean, counted,
    drawn, histogram, list, numbers, options, repeats, text, windows,
};
use super::{ADDRESSES_64, Alone, has_room};

cases! {
    the_same_of_short_lists needs [needs::U8, needs::U16],
    sorts_more_than_2_pow_31_bytes needs [FAST, needs::U8, ADDRESSES_64, ROOM],
    sorts_more_than_2_pow_31_keys_of_16_bits needs [FAST, needs::U16, ADDRESSES_64, ROOM_FOR_HALVES],
    tells_values_of_more_than_2_pow_31_bytes needs [FAST, needs::U8, ADDRESSES_64, ROOM_FOR_PLACES],
    sorts_2_pow_33_bytes needs [FAST, needs::U8, ADDRESSES_64, ROOM_33],
    gives_places_of_64_bits_past_the_2_pow_32nd needs [FAST, needs::U8, needs::I64, ADDRESSES_64, ROOM_FOR_WIDE_PLACES],
    merges_more_than_2_pow_31_bytes needs [FAST, needs::U8, ADDRESSES_64, ROOM],
    moves_payload_past_the_2_pow_31st needs [FAST, needs::U8, ADDRESSES_64, ROOM],
    finds_the_largest_past_the_2_pow_31st needs [FAST, needs::U8, needs::I64, ADDRESSES_64, ROOM_FOR_WIDE_PLACES],
    searches_past_the_2_pow_31st needs [FAST, needs::U8, needs::I64, ADDRESSES_64, ROOM],
}

/// Elements that 32 bits do not count.
const LENGTH_32: usize = (1 << 32) + 12_345;
const ROOM_FOR_HALVES: Need = Need {
    what: "room for 2^31 elements of 16 bits, six times over",
    met: |rt| has_room(rt, 2 * LENGTH),
};
const ROOM_FOR_WIDE_PLACES: Need = Need {
    what: "room for 2^32 elements of 64 bits, twice over",
    met: |rt| {
        let memory = &rt.client.properties().memory;
        let most = memory.max_memory().unwrap_or(memory.max_page_size);
        let bytes = 8 * LENGTH_32 as u64;
        memory.max_page_size >= bytes && most >= 2 * bytes
    },
};

fn the_same_of_short_lists(rt: &Rt) -> Result<(), String> {
    let of = Lists { rt, length: SHORT };
    sorts_bytes(of).map_err(|error| format!("sort of bytes: {error}"))?;
    sorts_halves(of).map_err(|error| format!("sort of halves: {error}"))?;
    tells_values(of).map_err(|error| format!("unique: {error}"))?;
    if (needs::I64.met)(rt) {
        gives_places(of).map_err(|error| format!("argsort: {error}"))?;
        finds_the_largest(of).map_err(|error| format!("top_k: {error}"))?;
        searches(of).map_err(|error| format!("search_sorted: {error}"))?;
    }
    moves_payload(of).map_err(|error| format!("sort_pairs: {error}"))?;
    let length = MERGED;
    merges_bytes(Lists { rt, length }).map_err(|error| format!("sort_by: {error}"))
}

/// Sorted keys are the smallest, as often as they are there, and so on.
fn sorted<E: CubeElement + Int + PartialEq>(
    of: Lists<'_>,
    table: &[E],
    counts: &[usize],
    key: impl Fn(usize) -> E,
) -> Result<(), String> {
    let sorts = |input: &TensorHandle| sort(&of.rt.client, input, 0, &SortOptions::default());
    sorted_by(of, table, counts, key, sorts)
}

/// The same by a sort of one's own.
fn sorted_by<E: CubeElement + Int + PartialEq>(
    of: Lists<'_>,
    table: &[E],
    counts: &[usize],
    key: impl Fn(usize) -> E,
    sorts: impl Fn(&TensorHandle) -> girih::Result<TensorHandle>,
) -> Result<(), String> {
    let Lists { rt, length } = of;
    let input = list(of, table);
    let output = sorts(&input).map_err(text)?;
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
    let _alone = Alone::new(rt)?;
    sorts_bytes(Lists { rt, length: LENGTH })
}

fn sorts_bytes(of: Lists<'_>) -> Result<(), String> {
    let table: Vec<u8> = (0..PERIOD).map(|at| drawn(at) as u8).collect();
    let counts = histogram(of, 256, table.iter().map(|&key| usize::from(key)));
    sorted(of, &table, &counts, |value| value as u8)
}

fn sorts_more_than_2_pow_31_keys_of_16_bits(rt: &Rt) -> Result<(), String> {
    let _alone = Alone::new(rt)?;
    sorts_halves(Lists { rt, length: LENGTH })
}

fn sorts_halves(of: Lists<'_>) -> Result<(), String> {
    let table: Vec<u16> = (0..PERIOD).map(|at| drawn(at) as u16).collect();
    let counts = histogram(of, 1 << 16, table.iter().map(|&key| usize::from(key)));
    sorted(of, &table, &counts, |value| value as u16)
}

fn tells_values_of_more_than_2_pow_31_bytes(rt: &Rt) -> Result<(), String> {
    let _alone = Alone::new(rt)?;
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

fn sorts_2_pow_33_bytes(rt: &Rt) -> Result<(), String> {
    let _alone = Alone::new(rt)?;
    sorts_bytes(Lists {
        rt,
        length: LENGTH_33,
    })
}

fn gives_places_of_64_bits_past_the_2_pow_32nd(rt: &Rt) -> Result<(), String> {
    let _alone = Alone::new(rt)?;
    gives_places(Lists {
        rt,
        length: LENGTH_32,
    })
}

/// Equal keys have their places in ascending order: those of each value in the table, over and over.
fn gives_places(of: Lists<'_>) -> Result<(), String> {
    let Lists { rt, length } = of;
    let table: Vec<u8> = (0..PERIOD).map(|at| drawn(at) as u8).collect();
    let input = list(of, &table);
    let index = ElemType::Int(IntKind::I64);
    let found = argsort(&rt.client, &input, 0, index, &SortOptions::default()).map_err(text)?;
    let of_value = |value: u8| (0..PERIOD).filter(|&at| table[at] == value).collect();
    let places: Vec<Vec<usize>> = (0..=255).map(of_value).collect();
    let mut want = places.iter().flat_map(|places| {
        let periods = (0..length).step_by(PERIOD);
        periods
            .flat_map(|first| places.iter().map(move |place| first + place))
            .filter(|&place| place < length)
    });
    windows(rt, &found.handle, 8 * length, |first, window| {
        for (at, &got) in (first / 8..).zip(i64::from_bytes(window)) {
            match want.next() {
                Some(place) if place as i64 == got => {}
                other => return Err(format!("place {at} is {got}, not {other:?}")),
            }
        }
        Ok(())
    })?;
    drop((input, found));
    clean(rt)
}

fn moves_payload_past_the_2_pow_31st(rt: &Rt) -> Result<(), String> {
    moves_payload(Lists { rt, length: LENGTH })
}

/// What goes with equal keys stays in its order: that of each value's places in the table, over and over, until the list ends.
fn moves_payload(of: Lists<'_>) -> Result<(), String> {
    let Lists { rt, length } = of;
    let table: Vec<u8> = (0..PERIOD).map(|at| drawn(at) as u8).collect();
    let carried: Vec<u8> = (0..PERIOD).map(|at| (drawn(at) >> 8) as u8).collect();
    let (keys, payload) = (list(of, &table), list(of, &carried));
    let options = SortOptions::default();
    let (sorted, moved) = sort_pairs(&rt.client, &keys, &payload, 0, &options).map_err(text)?;
    let of_value = |value: u8| {
        let places = (0..PERIOD).filter(|&at| table[at] == value);
        let mut rest = places.clone().filter(|at| *at < length % PERIOD).count();
        let elements: Vec<u8> = places.map(|at| carried[at]).collect();
        rest += length / PERIOD * elements.len();
        (elements, rest)
    };
    let (mut value, mut at) = (0u8, 0);
    let (mut elements, mut count) = of_value(0);
    windows(rt, &moved.handle, length, |first, window| {
        let mut rest = window;
        while !rest.is_empty() {
            while at == count {
                value += 1;
                at = 0;
                (elements, count) = of_value(value);
            }
            let want = &elements[at % elements.len()..];
            let common = want.len().min(rest.len()).min(count - at);
            if rest[..common] != want[..common] {
                return Err(format!(
                    "in the window from {first}, what goes with {value} is in another order"
                ));
            }
            rest = &rest[common..];
            at += common;
        }
        Ok(())
    })?;
    drop((keys, payload, sorted, moved));
    clean(rt)
}

fn finds_the_largest_past_the_2_pow_31st(rt: &Rt) -> Result<(), String> {
    finds_the_largest(Lists { rt, length: LENGTH })
}

/// The largest value is there once a period, the next one in all other places: of those the first are found.
fn finds_the_largest(of: Lists<'_>) -> Result<(), String> {
    let Lists { rt, length } = of;
    let single = PERIOD - 7;
    let table: Vec<u8> = (0..PERIOD)
        .map(|at| if at == single { 251 } else { 250 })
        .collect();
    let input = list(of, &table);
    let largest: Vec<i64> = (single..length)
        .step_by(PERIOD)
        .map(|place| place as i64)
        .collect();
    let k = largest.len() + 40;
    let index = ElemType::Int(IntKind::I64);
    let (found, places) = top_k(&rt.client, &input, 0, k, true, index).map_err(text)?;
    let bytes = rt.client.read_one(found.handle.clone()).map_err(text)?;
    let want = [vec![251; largest.len()], vec![250; 40]].concat();
    if bytes[..k] != want[..] {
        return Err("those found are not the largest".to_owned());
    }
    let bytes = rt.client.read_one(places.handle.clone()).map_err(text)?;
    let want: Vec<i64> = largest.into_iter().chain(0..40).collect();
    if i64::from_bytes(&bytes)[..k] != want[..] {
        return Err("the places of the largest are not the first".to_owned());
    }
    drop((input, found, places));
    clean(rt)
}

fn searches_past_the_2_pow_31st(rt: &Rt) -> Result<(), String> {
    searches(Lists { rt, length: LENGTH })
}

/// Every byte goes behind all that are smaller, or as large.
fn searches(of: Lists<'_>) -> Result<(), String> {
    let rt = of.rt;
    let table: Vec<u8> = (0..PERIOD).map(|at| drawn(at) as u8).collect();
    let counts = histogram(of, 256, table.iter().map(|&key| usize::from(key)));
    let input = list(of, &table);
    let sorted = sort(&rt.client, &input, 0, &SortOptions::default()).map_err(text)?;
    let bytes: Vec<u8> = (0..=255).collect();
    let dtype: ElemType = u8::elem_type_native();
    let values = TensorHandle::new_contiguous(vec![256], rt.put(&bytes).handle(), dtype);
    let index = ElemType::Int(IntKind::I64);
    for (side, own) in [(Side::Left, 0), (Side::Right, 1)] {
        let found = search_sorted(&rt.client, &sorted, &values, side, index).map_err(text)?;
        let read = rt.client.read_one(found.handle).map_err(text)?;
        let want: Vec<i64> = (0..256)
            .map(|value| counts[..value + own].iter().sum::<usize>() as i64)
            .collect();
        if i64::from_bytes(&read)[..256] != want[..] {
            return Err(format!(
                "places on the {side:?} are not those of the counts"
            ));
        }
    }
    drop((input, sorted, values));
    clean(rt)
}

/// Elements of a list that every device merges in a moment.
const MERGED: usize = 150_001;

/// Large numbers first.
struct LargestFirst;

#[cube]
impl SortOrder for LargestFirst {
    fn is_before<A: Numeric>(first: A, second: A) -> bool {
        second < first
    }
}

fn merges_more_than_2_pow_31_bytes(rt: &Rt) -> Result<(), String> {
    let _alone = Alone::new(rt)?;
    merges_bytes(Lists { rt, length: LENGTH })
}

fn merges_bytes(of: Lists<'_>) -> Result<(), String> {
    let table: Vec<u8> = (0..PERIOD).map(|at| drawn(at) as u8).collect();
    let counts = histogram(of, 256, table.iter().map(|&key| usize::from(255 - key)));
    let sorts = |input: &TensorHandle| sort_by::<LargestFirst>(&of.rt.client, input, 0);
    sorted_by(of, &table, &counts, |value| 255 - value as u8, sorts)
}
