//! Random lists, sorted in random ways: every key and what goes with it is where the host's stable sort has it.

use super::super::keys::{Key, Values, kinds, lengths, values};
use super::payload::{pairs, places};
use super::{sorted, sorted_there};
use crate::random::{for_all, for_all_from};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih_kernels::SortOptions;
use girih_testkit::{DeviceKind, Rt, cases, needs};
use proptest::prelude::*;

cases! {
    u32_in_any_way,
    i32_in_any_way,
    f32_in_any_way,
    u8_in_any_way needs [needs::U8],
    i16_in_any_way needs [needs::I16],
    u64_in_any_way needs [needs::U64],
    f64_in_any_way needs [needs::F64],
    pairs_in_any_way,
    places_in_any_way,
    from_any_place_of_a_buffer,
}

/// A list, and how it is sorted.
#[derive(Clone, Debug)]
struct Way {
    /// The kind of data, and from which of such numbers on.
    kind: Values,
    first: usize,
    len: usize,
    /// Bits of each key that are kept, beside those of one key that all have.
    mask: u64,
    descending: bool,
    bits: Option<std::ops::Range<u32>>,
}

impl Way {
    fn keys<E: Key>(&self) -> Vec<E> {
        let all = values::<E>(self.kind, self.first + self.len);
        let fixed = 0x5a5a_a5a5_0ff0_55aa;
        let masked = |key: E| {
            let bits = key.bits() as u64;
            E::from_low_bits(bits & self.mask | fixed & !self.mask)
        };
        match self.mask {
            u64::MAX => all[self.first..].to_vec(),
            _ => all[self.first..].iter().copied().map(masked).collect(),
        }
    }

    fn options(&self) -> SortOptions {
        SortOptions {
            descending: self.descending,
            bits: self.bits.clone(),
            ..SortOptions::default()
        }
    }
}

/// Ways to sort keys of so many bits.
fn ways(width: u32) -> impl Strategy<Value = Way> {
    let bits = prop_oneof![
        3 => Just(None),
        2 => (0..=width, 0..=width).prop_map(|(a, b)| Some(a.min(b)..a.max(b))),
    ];
    let mask = prop_oneof![3 => Just(u64::MAX), 1 => any::<u64>(), 1 => any::<u64>().prop_map(|bits| bits & 0xff00_ff00_00ff_0000)];
    (kinds(), 0usize..1000, lengths(), mask, any::<bool>(), bits).prop_map(
        |(kind, first, len, mask, descending, bits)| Way {
            kind,
            first,
            len,
            mask,
            descending,
            bits,
        },
    )
}

fn in_any_way<E: Key>(rt: &Rt) -> Result<(), String> {
    for_all_from(u64::from(E::BITS), ways(E::BITS), |way| {
        sorted::<E>(rt, &way.keys(), &way.options())
    })
}

fn u32_in_any_way(rt: &Rt) -> Result<(), String> {
    in_any_way::<u32>(rt)
}

fn i32_in_any_way(rt: &Rt) -> Result<(), String> {
    in_any_way::<i32>(rt)
}

fn f32_in_any_way(rt: &Rt) -> Result<(), String> {
    in_any_way::<f32>(rt)
}

fn u8_in_any_way(rt: &Rt) -> Result<(), String> {
    in_any_way::<u8>(rt)
}

fn i16_in_any_way(rt: &Rt) -> Result<(), String> {
    in_any_way::<i16>(rt)
}

fn u64_in_any_way(rt: &Rt) -> Result<(), String> {
    in_any_way::<u64>(rt)
}

fn f64_in_any_way(rt: &Rt) -> Result<(), String> {
    in_any_way::<f64>(rt)
}

fn pairs_in_any_way(rt: &Rt) -> Result<(), String> {
    for_all(ways(32), |way| {
        let payload: Vec<u32> = (0..way.len as u32).rev().collect();
        pairs::<i32, u32>(rt, &way.keys(), &payload, &way.options())
    })
}

fn places_in_any_way(rt: &Rt) -> Result<(), String> {
    for_all(ways(32), |way| {
        places::<u32>(rt, &way.keys(), way.descending)
    })
}

/// Keys that begin anywhere in a buffer, not where vectors do. Vulkan binds from some places alone.
fn from_any_place_of_a_buffer(rt: &Rt) -> Result<(), String> {
    let step = match rt.kind {
        DeviceKind::Cuda | DeviceKind::Cpu => 1,
        _ => 64,
    };
    for_all((ways(32), 0usize..9), |(way, start)| {
        let start = start * step;
        let keys: Vec<i32> = way.keys();
        let before: Vec<i32> = values(Values::Extremes, start);
        let buffer = rt.put(&[before, keys.clone()].concat());
        let handle = buffer.handle().offset_start(4 * start as u64);
        let input = TensorHandle::new_contiguous(vec![keys.len()], handle, i32::cube_type());
        sorted_there(rt, &input, &keys, &way.options())
    })
}
