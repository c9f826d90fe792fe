//! Sorts of lists of more than 2^31 elements, as those of [`lists`](super::lists).

use cubecl::ir::{ElemType, IntKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih_kernels::{SortOptions, SortOrder, UniqueOptions, argsort, sort, sort_by, unique};
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
    }
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
