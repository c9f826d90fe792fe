//! Random calls.

use crate::cases::kernels::model::{Call, Index, calls, handle, list};
use crate::random::for_all;
use cubecl::prelude::*;
use girih::{Bounds, Error};
use girih_kernels::{ScatterMode, scatter_into, supports_scatter};
use girih_testkit::{Rt, cases, check::same, needs};
use half::f16;

cases! {
    sets_f32_by_i32,
    sets_u32_by_i64 needs [needs::I64],
    sets_f16_by_i32 needs [needs::F16],
    adds_f32_by_i32 needs [needs::ADD_F32],
    adds_i32_by_i32,
    adds_u32_by_u32,
    adds_many_to_one_row needs [needs::ADD_F32],
    adds_rows_in_vectors needs [needs::ADD_F32],
    a_bad_index_touches_nothing needs [needs::I64, needs::ADD_F32],
}

const MASKED: &[Bounds] = &[Bounds::Mask, Bounds::Clamp, Bounds::Wrap, Bounds::Report];

/// Makes the call on the device, and compares every element of the target; small integers, so that sums are exact in
/// any order.
fn answer<E, I>(rt: &Rt, call: &Call, mode: ScatterMode) -> Result<(), String>
where
    E: CubeElement + Numeric + girih_testkit::check::Exact,
    I: Index,
{
    let mut call = call.clone();
    call.indices.retain(|&index| I::of(index).is_some());
    if mode == ScatterMode::Set {
        keep_one_update_per_place(&mut call);
    }
    let slices = call.slices();
    let number = |value: usize| E::from_int(value as i64);
    let target: Vec<E> = (0..call.shape.iter().product())
        .map(|i| number(i % 50))
        .collect();
    let updates: Vec<E> = (0..slices.iter().product())
        .map(|i| number(60 + i % 7))
        .collect();
    let typed: Vec<I> = call.indices.iter().copied().filter_map(I::of).collect();
    let place = rt.put_strided(&target, &call.shape, &call.strides[0]);
    let strides = girih_testkit::buffer::row_major(&slices);
    let from = rt.put_strided(&updates, &slices, &strides);
    let index = rt.put(&typed);
    let checked = scatter_into(
        &rt.client,
        &handle(&place),
        &list(&index),
        &handle(&from),
        call.axis,
        mode,
        call.bounds,
    )
    .map_err(|error| error.to_string())?;
    let mut want = target;
    for (update, source) in updates.into_iter().zip(call.sources()) {
        let Some(at) = source else { continue };
        want[at] = match mode {
            ScatterMode::Add => want[at] + update,
            _ => update,
        };
    }
    same(
        &rt.read_tensor(&place).map_err(|error| error.to_string())?,
        &want,
    )?;
    let offence = (call.bounds == Bounds::Report)
        .then(|| call.offence())
        .flatten();
    match (checked.check(), offence) {
        (Ok(()), None) => Ok(()),
        (Err(Error::OutOfRange(found)), Some((position, index)))
            if found.position == position as u64 && found.index == i128::from(index) =>
        {
            Ok(())
        }
        (found, want) => Err(format!("reported {found:?}, not {want:?}")),
    }
}

/// Later updates to a place that has one are left out: which stays is not fixed.
fn keep_one_update_per_place(call: &mut Call) {
    let mut seen = std::collections::BTreeSet::new();
    let places: Vec<_> = call
        .indices
        .iter()
        .map(|&index| call.place(index))
        .collect();
    let mut places = places.into_iter();
    call.indices.retain(|_| match places.next().flatten() {
        Some(place) => seen.insert(place),
        None => true,
    });
}

fn sets_f32_by_i32(rt: &Rt) -> Result<(), String> {
    for_all(calls(MASKED), |call| {
        answer::<f32, i32>(rt, &call, ScatterMode::Set)
    })
}
fn sets_u32_by_i64(rt: &Rt) -> Result<(), String> {
    for_all(calls(MASKED), |call| {
        answer::<u32, i64>(rt, &call, ScatterMode::Set)
    })
}
fn sets_f16_by_i32(rt: &Rt) -> Result<(), String> {
    for_all(calls(MASKED), |call| {
        answer::<f16, i32>(rt, &call, ScatterMode::Set)
    })
}
fn adds_f32_by_i32(rt: &Rt) -> Result<(), String> {
    for_all(calls(MASKED), |call| {
        answer::<f32, i32>(rt, &call, ScatterMode::Add)
    })
}
fn adds_i32_by_i32(rt: &Rt) -> Result<(), String> {
    for_all(calls(MASKED), |call| {
        answer::<i32, i32>(rt, &call, ScatterMode::Add)
    })
}
fn adds_u32_by_u32(rt: &Rt) -> Result<(), String> {
    for_all(calls(MASKED), |call| {
        answer::<u32, u32>(rt, &call, ScatterMode::Add)
    })
}

fn adds_many_to_one_row(rt: &Rt) -> Result<(), String> {
    let call = Call {
        shape: vec![3, 8],
        axis: 0,
        strides: [vec![8, 1], vec![8, 1]],
        indices: vec![1; 5000],
        bounds: Bounds::Mask,
    };
    answer::<f32, i32>(rt, &call, ScatterMode::Add)
}

fn adds_rows_in_vectors(rt: &Rt) -> Result<(), String> {
    for columns in [4, 100, 128, 2000] {
        let call = Call {
            shape: vec![37, columns],
            axis: 0,
            strides: [vec![columns, 1], vec![columns, 1]],
            indices: (0..90).map(|i| (i * 11) % 40 - 1).collect(),
            bounds: Bounds::Mask,
        };
        answer::<f32, i32>(rt, &call, ScatterMode::Add)?;
    }
    Ok(())
}

fn a_bad_index_touches_nothing(rt: &Rt) -> Result<(), String> {
    for index in [i64::MIN, -1, 3, i64::from(u32::MAX), 1 << 32, i64::MAX] {
        let call = Call {
            shape: vec![3, 4],
            axis: 0,
            strides: [vec![4, 1], vec![4, 1]],
            indices: vec![index; 9],
            bounds: Bounds::Mask,
        };
        answer::<f32, i64>(rt, &call, ScatterMode::Set)?;
        answer::<f32, i64>(rt, &call, ScatterMode::Add)?;
    }
    supports_scatter(
        &rt.client,
        f32::elem_type_native(),
        i64::elem_type_native(),
        ScatterMode::Add,
        4,
    )
    .map_err(|error| error.to_string())
}
