//! Keys of every type and kind of data, sorted by themselves.

use super::super::keys::{Key, Values, values};
use super::payload::{pairs, places};
use super::sorted;
use girih_kernels::SortOptions;
use girih_testkit::{Rt, cases, needs};
use half::{bf16, f16};

cases! {
    u32_at_every_edge_of_a_tile,
    u32_of_every_kind_of_data,
    u8_keys needs [needs::U8],
    i8_keys needs [needs::I8],
    u16_keys needs [needs::U16],
    i16_keys needs [needs::I16],
    i32_keys,
    u64_keys needs [needs::U64],
    i64_keys needs [needs::I64],
    f16_keys needs [needs::F16],
    bf16_keys needs [needs::BF16],
    f32_keys,
    f64_keys needs [needs::F64],
    ranges_of_bits,
    digits_that_all_keys_share,
    wide_digits_that_all_keys_share needs [needs::U64],
}

/// Lengths around those of tiles: what a unit, a plane or a cube holds, whatever the device's are.
const LENGTHS: [usize; 24] = [
    1, 2, 3, 7, 8, 31, 32, 33, 127, 128, 129, 511, 512, 513, 1023, 1024, 1025, 4095, 4096, 4097,
    8191, 8832, 8833, 20_000,
];

fn u32_at_every_edge_of_a_tile(rt: &Rt) -> Result<(), String> {
    for len in LENGTHS {
        sorted::<u32>(rt, &values(Values::Any, len), &SortOptions::default())?;
    }
    Ok(())
}

fn u32_of_every_kind_of_data(rt: &Rt) -> Result<(), String> {
    for kind in Values::ALL {
        for descending in [false, true] {
            let options = SortOptions {
                descending,
                ..SortOptions::default()
            };
            sorted::<u32>(rt, &values(kind, 10_007), &options)
                .map_err(|error| format!("{kind:?}: {error}"))?;
        }
    }
    Ok(())
}

/// Every kind of data of the type, in both directions, in one tile and in several.
fn of_type<E: Key>(rt: &Rt) -> Result<(), String> {
    for kind in [Values::Any, Values::Extremes, Values::Few] {
        // In one cube in both directions, over several tiles in one.
        for (len, descending) in [(250, false), (250, true), (9_001, E::BITS >= 32)] {
            let options = SortOptions {
                descending,
                ..SortOptions::default()
            };
            sorted::<E>(rt, &values(kind, len), &options)
                .map_err(|error| format!("{kind:?}: {error}"))?;
        }
    }
    Ok(())
}

macro_rules! of_types {
    ($($name:ident: $element:ty;)*) => {$(
        fn $name(rt: &Rt) -> Result<(), String> {
            of_type::<$element>(rt)
        }
    )*};
}
of_types! {
    u8_keys: u8;
    i8_keys: i8;
    u16_keys: u16;
    i16_keys: i16;
    i32_keys: i32;
    u64_keys: u64;
    i64_keys: i64;
    f16_keys: f16;
    bf16_keys: bf16;
    f32_keys: f32;
    f64_keys: f64;
}

fn ranges_of_bits(rt: &Rt) -> Result<(), String> {
    for bits in [
        0..0,
        0..1,
        0..8,
        3..14,
        5..29,
        31..32,
        32..32,
        12..12,
        8..32,
    ] {
        for descending in [false, true] {
            let options = SortOptions {
                descending,
                bits: Some(bits.clone()),
                ..SortOptions::default()
            };
            for len in [100, 6_000] {
                sorted::<u32>(rt, &values(Values::Any, len), &options)?;
                sorted::<i32>(rt, &values(Values::Any, len), &options)?;
                sorted::<f32>(rt, &values(Values::Any, len), &options)?;
            }
        }
    }
    Ok(())
}

/// Keys that differ in some of their bytes alone, those of `bytes`.
pub(super) fn differ_in(bytes: u64, len: usize) -> Vec<u64> {
    let mask = (0..8)
        .filter(|byte| bytes >> byte & 1 == 1)
        .fold(0, |mask, byte| mask | 0xff << (8 * byte));
    values::<u32>(Values::Any, 2 * len)
        .chunks(2)
        .map(|words| {
            let any = u64::from(words[0]) << 32 | u64::from(words[1]);
            any & mask | 0x1234_5678_9abc_def0 & !mask
        })
        .collect()
}

fn digits_that_all_keys_share(rt: &Rt) -> Result<(), String> {
    let len = 9_001;
    let payload: Vec<u32> = (0..len as u32).collect();
    for bytes in 0..16 {
        let keys: Vec<u32> = differ_in(bytes, len)
            .into_iter()
            .map(|key| key as u32)
            .collect();
        let told = |error| format!("keys that differ in bytes {bytes:04b}: {error}");
        sorted::<u32>(rt, &keys, &SortOptions::default()).map_err(told)?;
        pairs::<u32, u32>(rt, &keys, &payload, &SortOptions::default()).map_err(told)?;
        let floats: Vec<f32> = keys.iter().map(|&bits| f32::from_bits(bits)).collect();
        sorted::<f32>(rt, &floats, &SortOptions::default()).map_err(told)?;
        places::<u32>(rt, &floats, true).map_err(told)?;
    }
    Ok(())
}

fn wide_digits_that_all_keys_share(rt: &Rt) -> Result<(), String> {
    for bytes in [0, 1, 0x80, 0x81, 0x24, 0x5a, 0xff] {
        let keys = differ_in(bytes, 7_001);
        sorted::<u64>(rt, &keys, &SortOptions::default())
            .map_err(|error| format!("keys that differ in bytes {bytes:08b}: {error}"))?;
    }
    Ok(())
}
