//! `histogram`, `bincount` and `bins_of` of types of 64 bits and with weights, against the host.

use super::keys::{Key, Values, kinds, lengths, values};
use super::model::handle;
use super::sort::{read, tensor};
use crate::random::for_all;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use girih::device::Device;
use girih::memory::{AtomicAccess, MemoryOrder, MemoryScope, Operation};
use girih_kernels::{Determinism, Weights, bincount, bins_of, histogram, supports_histogram};
use girih_testkit::{Rt, cases, check::same, needs};

cases! {
    counts_f64 needs [needs::F64],
    counts_integers_of_64_bits needs [needs::F64, needs::I64, needs::U64],
    counts_small_integers,
    weights_of_ranges needs [needs::ADD_F32],
    weights_of_f64 needs [needs::F64],
    weights_in_one_order,
    weights_of_f64_in_one_order needs [needs::F64],
    the_same_bits_from_run_to_run,
    any_numbers_in_any_bins,
    bins_of_every_value,
    bins_of_strided_values,
    nothing_in_no_bins,
    refuses_ranges,
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Numbers around a range, its ends, and what is no number.
fn around([low, high]: [f64; 2]) -> Vec<f64> {
    let width = high - low;
    let mut all: Vec<f64> = values::<u32>(Values::Any, 4_001)
        .into_iter()
        .map(|bits| low - 0.2 * width + f64::from(bits) / f64::from(u32::MAX) * 1.4 * width)
        .collect();
    let near = |number: f64| [number.next_down(), number, number.next_up()];
    all.extend([low, high].into_iter().flat_map(near));
    all.extend([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0]);
    all
}

/// The bin of a number, as the device computes it in f64.
fn bin(number: f64, bins: usize, [low, high]: [f64; 2]) -> Option<usize> {
    let scale = bins as f64 / (high - low);
    let is_in = (low..=high).contains(&number) && bins > 0;
    is_in.then(|| (((number - low) * scale) as usize).min(bins - 1))
}

fn counted(bins: usize, found: impl Iterator<Item = Option<usize>>) -> Vec<u32> {
    let mut counts = vec![0; bins];
    found.flatten().for_each(|bin| counts[bin] += 1);
    counts
}

fn counts_f64(rt: &Rt) -> Result<(), String> {
    // The second is one that f32 does not tell from a point.
    for range in [[-2.5, 3.0], [1.0, 1.0 + 1e-9]] {
        let numbers = around(range);
        let input = tensor(rt, &numbers, &[numbers.len()]);
        for bins in [1, 10, 3_000] {
            let out = histogram(&rt.client, &input, None, bins, range).map_err(text)?;
            let of_each = numbers.iter().map(|&number| bin(number, bins, range));
            same(&read::<u32>(rt, out)?, &counted(bins, of_each))
                .map_err(|error| format!("{bins} bins of {range:?}: {error}"))?;
        }
    }
    Ok(())
}

fn integers<E: Key>(rt: &Rt, range: [f64; 2], as_f64: impl Fn(E) -> f64) -> Result<(), String> {
    for kind in [Values::Any, Values::Extremes] {
        let numbers = values::<E>(kind, 3_001);
        let input = tensor(rt, &numbers, &[3_001]);
        let out = histogram(&rt.client, &input, None, 37, range).map_err(text)?;
        let of_each = numbers.iter().map(|&number| bin(as_f64(number), 37, range));
        same(&read::<u32>(rt, out)?, &counted(37, of_each))
            .map_err(|error| format!("{kind:?}: {error}"))?;
    }
    Ok(())
}

fn counts_integers_of_64_bits(rt: &Rt) -> Result<(), String> {
    integers::<i64>(rt, [-4e18, 6e18], |number| number as f64)?;
    integers::<u64>(rt, [1e9, 1.5e19], |number| number as f64)
}

fn counts_small_integers(rt: &Rt) -> Result<(), String> {
    let stores = |elem: ElemType| Device::of(&rt.client).stores(elem);
    if stores(i8::cube_type()) {
        integers::<i8>(rt, [-64.0, 64.0], f64::from)?;
    }
    if stores(u16::cube_type()) {
        // Parts of a power of two, which f32 has exactly.
        let numbers = values::<u16>(Values::Any, 2_000);
        let input = tensor(rt, &numbers, &[2_000]);
        let range = [0.0, 65_536.0];
        let out = histogram(&rt.client, &input, None, 16, range).map_err(text)?;
        let of_each = numbers
            .iter()
            .map(|&number| Some(usize::from(number >> 12)));
        same(&read::<u32>(rt, out)?, &counted(16, of_each))?;
    }
    let numbers: Vec<i32> = (-50..50).collect();
    let input = tensor(rt, &numbers, &[100]);
    let out = histogram(&rt.client, &input, None, 4, [-40.0, 40.0]).map_err(text)?;
    same(&read::<u32>(rt, out)?, &[20, 20, 20, 21])
}

/// Small integers as weights, whose sums are exact in any order.
fn weight(at: usize) -> f64 {
    (at % 17) as f64 - 5.0
}

fn weighed<W: Key + girih_testkit::check::Exact>(
    rt: &Rt,
    of: impl Fn(f64) -> W,
    determinism: Determinism,
) -> Result<(), String> {
    let count = 3_000;
    let numbers: Vec<f32> = (0..count).map(|at| (at * 31 % 128) as f32).collect();
    let weights: Vec<W> = (0..count).map(|at| of(weight(at))).collect();
    let (input, given) = (
        tensor(rt, &numbers, &[count]),
        tensor(rt, &weights, &[count]),
    );
    let given = Weights::from(&given).determinism(determinism);
    for bins in [0, 1, 16, 4_096] {
        let range = [16.0, 80.0];
        let out = histogram(&rt.client, &input, given, bins, range).map_err(text)?;
        let mut want = vec![0.0; bins];
        for (at, &number) in numbers.iter().enumerate() {
            if let Some(bin) = bin(f64::from(number), bins, range) {
                want[bin] += weight(at);
            }
        }
        let want: Vec<W> = want.into_iter().map(&of).collect();
        same(&read::<W>(rt, out)?, &want).map_err(|error| format!("{bins} bins: {error}"))?;
    }
    Ok(())
}

fn weights_in_one_order(rt: &Rt) -> Result<(), String> {
    weighed::<f32>(rt, |weight| weight as f32, Determinism::RunToRun)
}

/// No addition of the device's own is needed.
fn weights_of_f64_in_one_order(rt: &Rt) -> Result<(), String> {
    weighed::<f64>(rt, |weight| weight, Determinism::RunToRun)
}

fn the_same_bits_from_run_to_run(rt: &Rt) -> Result<(), String> {
    let count = 20_000;
    let numbers: Vec<i32> = (0..count).map(|at| at * 7919 % 40 - 3).collect();
    // Numbers whose sums round, differently in every order.
    let weights: Vec<f32> = (0..count)
        .map(|at| ((at * 31 % 1000) as f32).sqrt() * 0.1)
        .collect();
    let shape = [count as usize];
    let (input, given) = (tensor(rt, &numbers, &shape), tensor(rt, &weights, &shape));
    let given = Weights::from(&given).determinism(Determinism::RunToRun);
    let run = || {
        let out = bincount(&rt.client, &input, given, 30).map_err(text)?;
        let sums = read::<f32>(rt, out)?;
        Ok::<_, String>(sums.into_iter().map(f32::to_bits).collect::<Vec<_>>())
    };
    let once = run()?;
    for (bin, &bits) in once.iter().enumerate() {
        let of_bin = numbers.iter().zip(&weights);
        let exact: f64 = of_bin
            .filter(|(number, _)| **number == bin as i32)
            .map(|(_, weight)| f64::from(*weight))
            .sum();
        let sum = f64::from(f32::from_bits(bits));
        if (sum - exact).abs() > 1e-5 * exact {
            return Err(format!("bin {bin} has {sum}, not about {exact}"));
        }
    }
    for _ in 0..4 {
        same(&run()?, &once)?;
    }
    Ok(())
}

/// Any floats in any range, and the same counts by number.
fn any_numbers_in_any_bins(rt: &Rt) -> Result<(), String> {
    let ends = (-1000i32..1000, 1i32..3000);
    for_all(
        (kinds(), lengths(), 0usize..3000, ends),
        |(kind, len, bins, (low, width))| {
            let [low, high] = [low as f32 / 8.0, (low + width) as f32 / 8.0];
            let numbers: Vec<f32> = match kind {
                Values::Extremes | Values::Few => values(kind, len),
                // Near the range, and often at its ends.
                _ => values::<u32>(kind, len)
                    .into_iter()
                    .map(|bits| low - 1.0 + (bits % 4096) as f32 / 4096.0 * (high - low + 2.0))
                    .collect(),
            };
            let input = tensor(rt, &numbers, &[len]);
            let range = [low, high].map(f64::from);
            let out = histogram(&rt.client, &input, None, bins, range).map_err(text)?;
            let scale = bins as f32 / (high - low);
            let of_each: Vec<Option<usize>> = numbers
                .iter()
                .map(|number| {
                    let is_in = (low..=high).contains(number) && bins > 0;
                    is_in.then(|| (((number - low) * scale) as usize).min(bins - 1))
                })
                .collect();
            same(
                &read::<u32>(rt, out)?,
                &counted(bins, of_each.iter().copied()),
            )?;
            let places: Vec<i32> = of_each
                .iter()
                .map(|bin| bin.map_or(-1, |bin| bin as i32))
                .collect();
            let found = bins_of(&rt.client, &input, bins, Some(range)).map_err(text)?;
            same(&read::<i32>(rt, found)?, &places)?;
            let input = tensor(rt, &places, &[len]);
            let out = bincount(&rt.client, &input, None, bins).map_err(text)?;
            same(&read::<u32>(rt, out)?, &counted(bins, of_each.into_iter()))
        },
    )
}

fn weights_of_ranges(rt: &Rt) -> Result<(), String> {
    weighed::<f32>(rt, |weight| weight as f32, Determinism::Any)
}

/// Where the device adds f64 atomically; elsewhere that is said by name.
fn weights_of_f64(rt: &Rt) -> Result<(), String> {
    let sum = ElemType::Float(FloatKind::F64);
    let adds = |scope| {
        let add = AtomicAccess::new(Operation::Add, sum).ordered(MemoryOrder::Relaxed, scope);
        Device::of(&rt.client).has_atomic(&add)
    };
    if adds(MemoryScope::Device) && adds(MemoryScope::Cube) {
        return weighed::<f64>(rt, |weight| weight, Determinism::Any);
    }
    let refused =
        weighed::<f64>(rt, |weight| weight, Determinism::Any).expect_err("it adds no f64");
    match refused.contains("f64") && refused.ends_with("histogram needs it") {
        true => Ok(()),
        false => Err(refused),
    }
}

fn bins_of_every_value(rt: &Rt) -> Result<(), String> {
    let range = [-2.0, 6.0];
    // Of multiples of 1/4 all is exact in f32.
    let mut numbers: Vec<f32> = (-20..40).map(|number| number as f32 / 4.0).collect();
    numbers.extend([f32::NAN, f32::INFINITY, f32::NEG_INFINITY]);
    let input = tensor(rt, &numbers, &[numbers.len()]);
    for bins in [0, 1, 32] {
        let found = bins_of(&rt.client, &input, bins, Some(range)).map_err(text)?;
        let want: Vec<i32> = numbers
            .iter()
            .map(|&number| bin(f64::from(number), bins, range).map_or(-1, |bin| bin as i32))
            .collect();
        same(&read::<i32>(rt, found)?, &want).map_err(|error| format!("{bins} bins: {error}"))?;
    }
    let numbers = [3, -1, i32::MIN, i32::MAX, 0, 7, 8];
    let found = bins_of(&rt.client, &tensor(rt, &numbers, &[7]), 8, None).map_err(text)?;
    same(&read::<i32>(rt, found)?, &[3, -1, -1, -1, 0, 7, -1])
}

fn bins_of_strided_values(rt: &Rt) -> Result<(), String> {
    let numbers: Vec<i32> = (0..12).collect();
    let strided = rt.put_strided(&numbers, &[3, 4], &[1, 5]);
    let found = bins_of(&rt.client, &handle(&strided), 10, None).map_err(text)?;
    assert_eq!(found.shape().as_slice(), [3, 4]);
    let want: Vec<i32> = numbers
        .iter()
        .map(|&number| if number < 10 { number } else { -1 })
        .collect();
    same(&read::<i32>(rt, found)?, &want)
}

fn nothing_in_no_bins(rt: &Rt) -> Result<(), String> {
    let input = tensor(rt, &[1f32, 2.0], &[2]);
    let out = histogram(&rt.client, &input, None, 0, [0.0, 1.0]).map_err(text)?;
    assert!(read::<u32>(rt, out)?.is_empty());
    let empty = tensor::<u32>(rt, &[], &[0]);
    let out = bincount(&rt.client, &empty, None, 5).map_err(text)?;
    assert_eq!(read::<u32>(rt, out)?, [0; 5]);
    let found = bins_of(&rt.client, &empty, 5, None).map_err(text)?;
    assert!(read::<i32>(rt, found)?.is_empty());
    Ok(())
}

fn refuses_ranges(rt: &Rt) {
    let input = tensor(rt, &[1f32, 2.0], &[2]);
    let refused = |range| match histogram(&rt.client, &input, None, 3, range) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    };
    let needs =
        "histogram needs finite numbers, the first below the second by what f32 tells apart";
    let bad = [
        ([1.0, 1.0], "1.0 to 1.0"),
        ([2.0, 1.0], "2.0 to 1.0"),
        ([f64::NAN, 1.0], "NaN to 1.0"),
        ([0.0, f64::INFINITY], "0.0 to inf"),
        ([0.0, 1e39], "0.0 to 1e39"),
        ([-3e38, 3e38], "-3e38 to 3e38"),
        ([1.0, 1.0 + 1e-9], "1.0 to 1.000000001"),
        // So small that no number counts bins in it.
        ([0.0, 1e-40], "0.0 to 1e-40"),
    ];
    for (range, given) in bad {
        assert_eq!(refused(range), format!("range is {given}; {needs}"));
    }
    let bools = ElemType::Bool;
    let message = supports_histogram("histogram", &rt.client, bools, None, 3, Some([0.0, 1.0]))
        .expect_err("truth values")
        .to_string();
    let needs = "; histogram needs an integer type, f16, bf16, f32 or f64";
    assert!(message.ends_with(needs), "{message}");
    let message = supports_histogram(
        "bincount",
        &rt.client,
        u32::cube_type(),
        None,
        1 << 32,
        None,
    )
    .expect_err("too many")
    .to_string();
    assert_eq!(
        message,
        "bins counts 4294967296; bincount takes up to 2147483648"
    );
}
