//! `gather`.

use super::model::{Call, Index, calls, handle, list};
use crate::random::for_all;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::{Bounds, Error};
use girih_kernels::{gather, gather_into};
use girih_testkit::{Rt, cases, check::same, needs};
use half::{bf16, f16};

cases! {
    f32_by_i32,
    u32_by_u32,
    i32_by_i64 needs [needs::I64],
    f16_by_i32 needs [needs::F16],
    bf16_by_i32 needs [needs::BF16],
    f32_by_every_index_type,
    every_element_type_by_i32,
    truth_values,
    rows_in_vectors,
    many_rows,
    reports_one_bad_index_of_many,
    an_empty_index_gives_an_empty_result,
    an_empty_axis_gives_zeros,
}

const MASKED: &[Bounds] = &[Bounds::Mask, Bounds::Clamp, Bounds::Wrap, Bounds::Report];

/// Distinct small values, exact in every type.
pub(super) fn values<E: Numeric>(count: usize) -> Vec<E> {
    let most = match E::elem_type_native().size() {
        1 => 120,
        _ => 251,
    };
    (0..count)
        .map(|i| E::from_int(i as i64 % most + 1))
        .collect()
}

fn by_random_calls<E, I>(rt: &Rt) -> Result<(), String>
where
    E: CubeElement + Numeric + girih_testkit::check::Exact,
    I: Index,
{
    for_all(calls(MASKED), |call| answer::<E, I>(rt, &call))
}

/// Makes the call on the device, and compares every element.
fn answer<E, I>(rt: &Rt, call: &Call) -> Result<(), String>
where
    E: CubeElement + Numeric + girih_testkit::check::Exact,
    I: Index,
{
    let table: Vec<E> = values(call.shape.iter().product());
    let input = rt.put_strided(&table, &call.shape, &call.strides[0]);
    // An index that the type has no value for is left out.
    let indices: Vec<i64> = call
        .indices
        .iter()
        .copied()
        .filter(|&index| I::of(index).is_some())
        .collect();
    let typed: Vec<I> = indices.iter().copied().filter_map(I::of).collect();
    let same_count = typed.len() == call.indices.len();
    let mut slices = call.slices();
    slices[call.axis] = typed.len();
    let strides = if same_count {
        call.strides[1].clone()
    } else {
        girih_testkit::buffer::row_major(&slices)
    };
    let call = Call {
        indices,
        ..call.clone()
    };
    let output = rt.poisoned_tensor::<E>(&slices, &strides);
    let index = rt.put(&typed);
    let checked = gather_into(
        &rt.client,
        &handle(&input),
        &list(&index),
        &handle(&output),
        call.axis,
        call.bounds,
    )
    .map_err(|error| error.to_string())?;
    let want: Vec<E> = call
        .sources()
        .into_iter()
        .map(|source| source.map_or(E::from_int(0), |source| table[source]))
        .collect();
    let got = rt.read_tensor(&output).map_err(|error| error.to_string())?;
    same(&got, &want)?;
    match (call.bounds == Bounds::Report)
        .then(|| call.offence())
        .flatten()
    {
        Some((position, index)) => match checked.check() {
            Err(Error::OutOfRange(found)) => {
                let found = (found.position, found.index, found.axis, found.extent);
                let want = (
                    position as u64,
                    i128::from(index),
                    call.axis,
                    call.shape[call.axis],
                );
                if found == want {
                    Ok(())
                } else {
                    Err(format!("reported {found:?}, not {want:?}"))
                }
            }
            other => Err(format!("the offence at {position} gave {other:?}")),
        },
        None => checked.check().map_err(|error| error.to_string()),
    }
}

fn f32_by_i32(rt: &Rt) -> Result<(), String> {
    by_random_calls::<f32, i32>(rt)
}
fn u32_by_u32(rt: &Rt) -> Result<(), String> {
    by_random_calls::<u32, u32>(rt)
}
fn i32_by_i64(rt: &Rt) -> Result<(), String> {
    by_random_calls::<i32, i64>(rt)
}
fn f16_by_i32(rt: &Rt) -> Result<(), String> {
    by_random_calls::<f16, i32>(rt)
}
fn bf16_by_i32(rt: &Rt) -> Result<(), String> {
    by_random_calls::<bf16, i32>(rt)
}

/// Rows of 12 by indices of the type, some of them out of range.
fn rows_by<I: Index>(rt: &Rt) -> Result<(), String> {
    if girih_kernels::supports_gather(&rt.client, f32::elem_type_native(), I::elem_type_native())
        .is_err()
    {
        return Ok(());
    }
    let call = Call {
        shape: vec![20, 12],
        axis: 0,
        strides: [vec![12, 1], vec![12, 1]],
        indices: vec![0, 19, 7, 20, 127, 3, -1, -20, -128, 100],
        bounds: Bounds::Mask,
    };
    answer::<f32, I>(rt, &call)
}

fn f32_by_every_index_type(rt: &Rt) -> Result<(), String> {
    rows_by::<u8>(rt)?;
    rows_by::<i8>(rt)?;
    rows_by::<u16>(rt)?;
    rows_by::<i16>(rt)?;
    rows_by::<u64>(rt)?;
    rows_by::<i64>(rt)
}

fn every_element_type_by_i32(rt: &Rt) -> Result<(), String> {
    fn of<E: CubeElement + Numeric + girih_testkit::check::Exact>(rt: &Rt) -> Result<(), String> {
        let (element, index) = (E::elem_type_native(), i32::elem_type_native());
        if girih_kernels::supports_gather(&rt.client, element, index).is_err() {
            return Ok(());
        }
        for (axis, strides) in [(0, [48, 6, 1]), (1, [1, 5, 45]), (2, [60, 7, 1])] {
            let call = Call {
                shape: vec![5, 8, 6],
                axis,
                strides: [strides.to_vec(), vec![400, 20, 1]],
                indices: vec![4, -1, 2, 9, 0, -5, 2],
                bounds: Bounds::Wrap,
            };
            answer::<E, i32>(rt, &call)?;
        }
        Ok(())
    }
    of::<f64>(rt)?;
    of::<u8>(rt)?;
    of::<i8>(rt)?;
    of::<u16>(rt)?;
    of::<i16>(rt)?;
    of::<u64>(rt)?;
    of::<i64>(rt)
}

/// Where the device has buffers of them.
fn truth_values(rt: &Rt) -> Result<(), String> {
    let (element, index) = (cubecl::ir::ElemType::Bool, i32::elem_type_native());
    let refused = girih_kernels::supports_gather(&rt.client, element, index)
        .err()
        .ok_or("bool has no size in memory")?
        .to_string();
    match refused.ends_with("has no buffers of bool; gather needs it") {
        true => Ok(()),
        false => Err(refused),
    }
}

fn rows_in_vectors(rt: &Rt) -> Result<(), String> {
    for columns in [4, 32, 100, 128, 1024, 2000] {
        let call = Call {
            shape: vec![37, columns],
            axis: 0,
            strides: [vec![columns, 1], vec![columns, 1]],
            indices: (0..50).map(|i| (i * 11) % 40 - 1).collect(),
            bounds: Bounds::Mask,
        };
        answer::<f32, i32>(rt, &call)?;
    }
    Ok(())
}

fn many_rows(rt: &Rt) -> Result<(), String> {
    let call = Call {
        shape: vec![1000, 16],
        axis: 0,
        strides: [vec![16, 1], vec![16, 1]],
        indices: (0..70_000).map(|i| (i * 7919) % 1003 - 1).collect(),
        bounds: Bounds::Mask,
    };
    answer::<f32, i32>(rt, &call)
}

fn reports_one_bad_index_of_many(rt: &Rt) -> Result<(), String> {
    let count = 1 << 20;
    let bad = 777_777;
    let mut indices: Vec<i32> = (0..count).map(|i| i % 10).collect();
    indices[bad] = 10;
    let (table, index) = (values::<f32>(10), rt.put(&indices));
    let input = rt.put_tensor(&table, &[10, 1]);
    let refused = gather(
        &rt.client,
        &handle(&input),
        &list(&index),
        0,
        Bounds::Report,
    )
    .and_then(girih::Checked::check)
    .map(|_| ());
    let text = refused.map_err(|error| error.to_string()).unwrap_err();
    let want = "index 10 at position 777777 is out of range of axis 0, which has extent 10; 0..10 is allowed";
    if text != want {
        return Err(text);
    }
    let checked = gather(
        &rt.client,
        &handle(&input),
        &list(&index),
        0,
        Bounds::Report,
    )
    .map_err(|e| e.to_string())?;
    let got = read::<f32>(rt, checked.value())?;
    let want: Vec<f32> = indices
        .iter()
        .map(|&index| table.get(index as usize).copied().unwrap_or(0.0))
        .collect();
    same(&got, &want)?;
    let good = rt.put(&[3i32, 4]);
    let checked = gather(&rt.client, &handle(&input), &list(&good), 0, Bounds::Report)
        .map_err(|e| e.to_string())?;
    let value = checked.check().map_err(|error| error.to_string())?;
    same(&read::<f32>(rt, &value)?, &[table[3], table[4]])
}

fn an_empty_index_gives_an_empty_result(rt: &Rt) -> Result<(), String> {
    let (input, index) = (
        rt.put_tensor(&values::<f32>(12), &[3, 4]),
        rt.put::<i32>(&[]),
    );
    for bounds in MASKED {
        let checked = gather(&rt.client, &handle(&input), &list(&index), 1, *bounds)
            .map_err(|e| e.to_string())?;
        let value = checked.check().map_err(|error| error.to_string())?;
        let shape: Vec<usize> = value.shape().iter().copied().collect();
        if shape != [3, 0] {
            return Err(format!("shape {shape:?}"));
        }
    }
    Ok(())
}

fn an_empty_axis_gives_zeros(rt: &Rt) -> Result<(), String> {
    let (input, index) = (
        rt.poisoned_tensor::<f32>(&[0, 4], &[4, 1]),
        rt.put(&[0i32, -1]),
    );
    for bounds in [Bounds::Mask, Bounds::Clamp, Bounds::Wrap] {
        let checked = gather(&rt.client, &handle(&input), &list(&index), 0, bounds)
            .map_err(|e| e.to_string())?;
        same(&read::<f32>(rt, checked.value())?, &[0.0; 8])?;
    }
    let checked = gather(
        &rt.client,
        &handle(&input),
        &list(&index),
        0,
        Bounds::Report,
    )
    .map_err(|e| e.to_string())?;
    match checked.check() {
        Err(Error::OutOfRange(offence)) if offence.position == 0 && offence.extent == 0 => Ok(()),
        other => Err(format!("{other:?}")),
    }
}

/// The elements of a contiguous result.
pub(super) fn read<E: CubeElement>(rt: &Rt, tensor: &TensorHandle) -> Result<Vec<E>, String> {
    let bytes = rt
        .client
        .read_one(tensor.handle.clone())
        .map_err(|error| error.to_string())?;
    Ok(E::from_bytes(&bytes).to_vec())
}
