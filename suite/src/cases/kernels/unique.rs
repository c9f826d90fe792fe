//! `unique` of lists in any order, against the host.

use super::keys::{Key, Values, values};
use super::model::handle;
use super::sort::{read, tensor};
use cubecl::ir::{ElemType, FloatKind, IntKind};
use cubecl::std::tensor::TensorHandle;
use girih_kernels::{CompactOptions, ScanPath, SortPath, Unique, UniqueOptions, unique};
use girih_testkit::{DeviceKind, Rt, cases, check::same, needs};
use half::{bf16, f16};

cases! {
    values_of_every_length,
    values_of_every_kind_of_data,
    values_of_8_bits needs [needs::U8, needs::I8],
    values_of_16_bits needs [needs::U16, needs::I16],
    values_of_64_bits needs [needs::U64, needs::I64],
    values_of_f16 needs [needs::F16, needs::U16],
    values_of_bf16 needs [needs::BF16],
    values_of_f64 needs [needs::F64],
    tells_nans_apart_and_zeros_not,
    gives_what_it_is_asked_for,
    values_of_strided_tensors,
    places_of_64_bits needs [needs::I64],
    by_every_path,
    many_values_and_few,
    refuses_bad_arguments,
}

/// The values, how often each is there, and which each element has.
struct Model {
    values: Vec<u128>,
    counts: Vec<i32>,
    inverse: Vec<i32>,
}

/// Computed from a stable sort by the keys' places, and their own equality.
fn model<E: Key + PartialEq>(keys: &[E]) -> Model {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by_key(|&at| keys[at].place());
    let mut model = Model {
        values: vec![],
        counts: vec![],
        inverse: vec![0; keys.len()],
    };
    let mut last: Option<E> = None;
    for at in order {
        if last != Some(keys[at]) {
            model.values.push(keys[at].bits());
            model.counts.push(0);
        }
        last = Some(keys[at]);
        let value = model.values.len() - 1;
        model.counts[value] += 1;
        model.inverse[at] = value as i32;
    }
    model
}

pub(super) const ALL: UniqueOptions = UniqueOptions {
    counts: true,
    inverse: true,
    compact: CompactOptions {
        index: ElemType::Int(IntKind::I32),
        path: None,
    },
    sort: None,
};

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// What the device gives is what the host has.
fn compare<E: Key>(rt: &Rt, found: Unique, want: &Model) -> Result<(), String> {
    let count = found.values.count(&rt.client).map_err(text)?;
    if count != want.values.len() {
        return Err(format!("{count} values, not {}", want.values.len()));
    }
    let values = read::<E>(rt, found.values.read(&rt.client).map_err(text)?)?;
    let values: Vec<u128> = values.into_iter().map(Key::bits).collect();
    if let Some(at) = (0..count).find(|&at| values[at] != want.values[at]) {
        let (got, want) = (values[at], want.values[at]);
        return Err(format!("value {at} is {got:x}, not {want:x}"));
    }
    if let Some(counts) = found.counts {
        let counts = read::<i32>(rt, counts.read(&rt.client).map_err(text)?)?;
        same(&counts, &want.counts).map_err(|error| format!("counts: {error}"))?;
    }
    if let Some(inverse) = found.inverse {
        let inverse = read::<i32>(rt, inverse)?;
        same(&inverse, &want.inverse).map_err(|error| format!("inverse: {error}"))?;
    }
    Ok(())
}

pub(super) fn all<E: Key + PartialEq>(
    rt: &Rt,
    keys: &[E],
    options: UniqueOptions,
) -> Result<(), String> {
    let input = tensor(rt, keys, &[keys.len()]);
    let found = unique(&rt.client, &input, options).map_err(text)?;
    compare::<E>(rt, found, &model(keys)).map_err(|error| format!("of {}: {error}", keys.len()))
}

fn values_of_every_length(rt: &Rt) -> Result<(), String> {
    for length in [0, 1, 2, 33, 1023, 1024, 1025, 4097, 20_000] {
        let few = values::<u32>(Values::Any, length).into_iter();
        let few: Vec<i32> = few.map(|key| (key % 300) as i32 - 150).collect();
        all(rt, &few, ALL)?;
    }
    Ok(())
}

fn of_every_kind<E: Key + PartialEq>(rt: &Rt, length: usize) -> Result<(), String> {
    for kind in Values::ALL {
        all(rt, &values::<E>(kind, length), ALL).map_err(|error| format!("{kind:?}: {error}"))?;
    }
    Ok(())
}

fn values_of_every_kind_of_data(rt: &Rt) -> Result<(), String> {
    of_every_kind::<u32>(rt, 9_001)?;
    of_every_kind::<f32>(rt, 9_001)
}

fn values_of_8_bits(rt: &Rt) -> Result<(), String> {
    of_every_kind::<u8>(rt, 3_001)?;
    of_every_kind::<i8>(rt, 3_001)
}

fn values_of_16_bits(rt: &Rt) -> Result<(), String> {
    of_every_kind::<u16>(rt, 3_001)?;
    of_every_kind::<i16>(rt, 3_001)
}

fn values_of_64_bits(rt: &Rt) -> Result<(), String> {
    of_every_kind::<u64>(rt, 3_001)?;
    of_every_kind::<i64>(rt, 3_001)
}

fn values_of_f16(rt: &Rt) -> Result<(), String> {
    of_every_kind::<f16>(rt, 3_001)
}

fn values_of_bf16(rt: &Rt) -> Result<(), String> {
    of_every_kind::<bf16>(rt, 3_001)
}

fn values_of_f64(rt: &Rt) -> Result<(), String> {
    of_every_kind::<f64>(rt, 3_001)
}

fn tells_nans_apart_and_zeros_not(rt: &Rt) -> Result<(), String> {
    let keys = [f32::NAN, 0.0, 3.0, -0.0, f32::NAN, 0.0, f32::INFINITY, 3.0];
    let want = model(&keys);
    assert_eq!(want.counts, [3, 2, 1, 1, 1]);
    assert_eq!(want.values[0], u128::from((-0f32).to_bits()));
    all(rt, &keys, ALL)?;
    all(rt, &[0f32, 1.0, 0.0], ALL)
}

fn gives_what_it_is_asked_for(rt: &Rt) -> Result<(), String> {
    let keys: Vec<i32> = (0..5_000).map(|at| at * 7919 % 613).collect();
    let input = tensor(rt, &keys, &[keys.len()]);
    for (counts, inverse) in [(false, false), (true, false), (false, true)] {
        let options = UniqueOptions {
            counts,
            inverse,
            ..ALL
        };
        let found = unique(&rt.client, &input, options).map_err(text)?;
        assert_eq!(found.counts.is_some(), counts);
        assert_eq!(found.inverse.is_some(), inverse);
        compare::<i32>(rt, found, &model(&keys))?;
    }
    Ok(())
}

fn values_of_strided_tensors(rt: &Rt) -> Result<(), String> {
    let shape = [7, 30, 11];
    let keys: Vec<f32> = (0..7 * 30 * 11)
        .map(|at| (at * 7919 % 97) as f32 - 40.0)
        .collect();
    for strides in [[330, 11, 1], [1, 80, 7]] {
        let input = rt.put_strided(&keys, &shape, &strides);
        let found = unique(&rt.client, &handle(&input), ALL).map_err(text)?;
        let of_each = found.inverse.as_ref().expect("asked for");
        assert_eq!(of_each.shape().as_slice(), shape);
        compare::<f32>(rt, found, &model(&keys))?;
    }
    Ok(())
}

fn places_of_64_bits(rt: &Rt) -> Result<(), String> {
    let keys = values::<u32>(Values::Few, 5_000);
    let input = tensor(rt, &keys, &[5_000]);
    let mut options = ALL;
    options.compact.index = ElemType::Int(IntKind::I64);
    let found = unique(&rt.client, &input, options).map_err(text)?;
    let want: Vec<i64> = model(&keys).inverse.into_iter().map(i64::from).collect();
    same(&read::<i64>(rt, found.inverse.expect("asked for"))?, &want)
}

fn by_every_path(rt: &Rt) -> Result<(), String> {
    let keys: Vec<i32> = (0..9_001).map(|at| at * 7919 % 2_003).collect();
    let looks_back = matches!(rt.kind, DeviceKind::Cpu | DeviceKind::Cuda);
    let mut options = ALL;
    for path in [ScanPath::ReduceThenScan, ScanPath::LookBack] {
        options.compact.path = Some(path);
        if path == ScanPath::LookBack && !looks_back {
            let message = all(rt, &keys, options).expect_err("it is not there");
            let lacking = "for look-back; unique needs it";
            assert!(message.ends_with(lacking), "{message}");
            continue;
        }
        let input = tensor(rt, &keys, &[keys.len()]);
        let found = unique(&rt.client, &input, options).map_err(text)?;
        assert_eq!(found.values.path(), path);
        compare::<i32>(rt, found, &model(&keys))?;
        // Its sort in one launch, where the device has it.
        if looks_back {
            let mut asked = options;
            asked.sort = Some(SortPath::AtOnce);
            all(rt, &keys, asked)?;
        }
    }
    Ok(())
}

/// More runs than the units that go through them, and one.
fn many_values_and_few(rt: &Rt) -> Result<(), String> {
    let any = values::<u32>(Values::Any, 150_000);
    all(rt, &any, ALL)?;
    all(rt, &vec![7u32; 150_000], ALL)
}

fn refuses_bad_arguments(rt: &Rt) {
    let refusal = |input: &TensorHandle, options| match unique(&rt.client, input, options) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    };
    let input = tensor(rt, &[1u32, 2, 3], &[3]);
    let mut options = ALL;
    options.compact.index = ElemType::Float(FloatKind::F16);
    assert!(refusal(&input, options).ends_with("; unique needs i32, u32, i64 or u64"));
    options = ALL;
    options.compact.path = Some(ScanPath::Direct);
    assert_eq!(
        refusal(&input, options),
        "path is Direct; unique needs LookBack or ReduceThenScan"
    );
    let far = TensorHandle::new(
        input.handle.clone(),
        vec![3usize],
        vec![4usize],
        input.dtype,
    );
    let message = refusal(&far, ALL);
    assert!(message.contains("input"), "{message}");
    let bools = TensorHandle::new_contiguous(vec![3], input.handle, ElemType::Bool);
    let message = refusal(&bools, ALL);
    assert!(message.ends_with("; unique needs a number"), "{message}");
}
