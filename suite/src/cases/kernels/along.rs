//! `take_along_axis` and `add_along_axis`.

use super::gather::{read, values};
use super::model::{Index, handle, place, strides};
use crate::random::for_all;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::{Bounds, Error};
use girih_kernels::{
    add_along_axis, explain_take_along_axis, supports_add_along_axis, supports_gather,
    take_along_axis, take_along_axis_into,
};
use girih_testkit::{Rt, buffer::row_major, cases, check::Exact, check::same, needs};
use half::{bf16, f16};
use proptest::prelude::*;

cases! {
    takes_f32_by_i32,
    takes_u32_by_i64 needs [needs::I64],
    takes_elements_of_every_type,
    takes_by_every_index_type,
    takes_rows_in_vectors,
    takes_many,
    takes_nothing,
    takes_from_an_empty_axis,
    names_the_first_offence_by_its_row_major_position,
    adds_f32_by_i32 needs [needs::ADD_F32],
    adds_what_meets_at_one_place,
    adds_of_every_type_or_refuses,
    explains_what_it_launches,
    refuses_bad_arguments,
}

const MASKED: &[Bounds] = &[Bounds::Mask, Bounds::Clamp, Bounds::Wrap, Bounds::Report];

/// One call, but for the types.
#[derive(Clone, Debug)]
struct Call {
    /// Extents of the table.
    shape: Vec<usize>,
    axis: usize,
    /// Strides of the table, the index, and the output or the updates.
    strides: [Vec<usize>; 3],
    /// The index in row-major order.
    indices: Vec<i64>,
    /// Its extent along the axis.
    count: usize,
    bounds: Bounds,
}

impl Call {
    /// A call on contiguous tensors whose indices are a function of their position.
    fn dense(
        shape: &[usize],
        axis: usize,
        count: usize,
        bounds: Bounds,
        of: fn(usize) -> i64,
    ) -> Self {
        let mut places = shape.to_vec();
        places[axis] = count;
        let total = places.iter().product();
        Self {
            shape: shape.to_vec(),
            axis,
            strides: [row_major(shape), row_major(&places), row_major(&places)],
            indices: (0..total).map(of).collect(),
            count,
            bounds,
        }
    }

    /// Extents of the index.
    fn places(&self) -> Vec<usize> {
        let mut places = self.shape.clone();
        places[self.axis] = self.count;
        places
    }

    /// For each index the row-major position of its element of the table, if it has one.
    fn targets(&self) -> Vec<Option<usize>> {
        let inner: usize = self.shape[self.axis + 1..].iter().product();
        let extent = self.shape[self.axis];
        let target = |(position, &index): (usize, &i64)| {
            let (outer, within) = (position / inner / self.count, position % inner);
            let along = place(index, extent, self.bounds)?;
            Some((outer * extent + along) * inner + within)
        };
        self.indices.iter().enumerate().map(target).collect()
    }

    /// The offence that is reported, if one is.
    fn offence(&self) -> Option<(u64, i128)> {
        let first = self.targets().iter().position(Option::is_none)?;
        let reported = self.bounds == Bounds::Report;
        reported.then(|| (first as u64, self.indices[first].into()))
    }

    /// The index in a type, if the type has all its values.
    fn typed<I: Index>(&self) -> Option<Vec<I>> {
        self.indices.iter().map(|&index| I::of(index)).collect()
    }
}

/// Random calls on small tensors of rank 1 to 4.
fn calls() -> impl Strategy<Value = Call> {
    let extent = prop::sample::select(vec![1usize, 3, 8]);
    let shape = prop::collection::vec(extent, 1..=4);
    let padding = prop::sample::select(vec![0usize, 0, 4, 1]);
    let orders = [0..3usize, 0..3usize, 0..3usize];
    let count = prop::sample::select(vec![0usize, 1, 4, 7]);
    let bounds = prop::sample::select(MASKED);
    (
        shape,
        any::<prop::sample::Index>(),
        orders,
        padding,
        count,
        bounds,
    )
        .prop_flat_map(|(shape, axis, orders, padding, count, bounds)| {
            let axis = axis.index(shape.len());
            let extent = shape[axis] as i64;
            let mut places = shape.clone();
            places[axis] = count;
            let total: usize = places.iter().product();
            prop::collection::vec(-extent - 2..extent + 3, total).prop_map(move |indices| Call {
                shape: shape.clone(),
                axis,
                strides: [
                    strides(&shape, orders[0], padding),
                    strides(&places, orders[1], padding),
                    strides(&places, orders[2], padding),
                ],
                indices,
                count,
                bounds,
            })
        })
}

/// Fails unless the call's offence, and no other, is reported.
fn reported<T>(checked: girih::Checked<T>, call: &Call) -> Result<(), String> {
    match (call.offence(), checked.check()) {
        (None, Ok(_)) => Ok(()),
        (Some((position, index)), Err(Error::OutOfRange(found))) => {
            let found = (found.position, found.index, found.axis, found.extent);
            let want = (position, index, call.axis, call.shape[call.axis]);
            match found == want {
                true => Ok(()),
                false => Err(format!("reported {found:?}, not {want:?}")),
            }
        }
        (want, got) => Err(format!("{:?} for {want:?}", got.map(|_| ()))),
    }
}

/// Makes the call on the device, and compares every element.
fn take<E, I>(rt: &Rt, call: &Call) -> Result<(), String>
where
    E: CubeElement + Numeric + Exact,
    I: Index,
{
    let table: Vec<E> = values(call.shape.iter().product());
    let input = rt.put_strided(&table, &call.shape, &call.strides[0]);
    let typed = call.typed::<I>().ok_or("the type lacks an index")?;
    let places = call.places();
    let index = rt.put_strided(&typed, &places, &call.strides[1]);
    let output = rt.poisoned_tensor::<E>(&places, &call.strides[2]);
    let (input, index, into) = (handle(&input), handle(&index), handle(&output));
    let checked = take_along_axis_into(&rt.client, &input, &index, &into, call.axis, call.bounds)
        .map_err(|error| error.to_string())?;
    let want: Vec<E> = call
        .targets()
        .into_iter()
        .map(|target| target.map_or(E::from_int(0), |target| table[target]))
        .collect();
    let got = rt.read_tensor(&output).map_err(|error| error.to_string())?;
    same(&got, &want)?;
    reported(checked, call)
}

/// The same of an addition to a table that holds 1 everywhere.
fn add<E, I>(rt: &Rt, call: &Call) -> Result<(), String>
where
    E: CubeElement + Numeric + Exact,
    I: Index,
{
    let ones = vec![E::from_int(1); call.shape.iter().product()];
    let table = rt.put_strided(&ones, &call.shape, &call.strides[0]);
    let typed = call.typed::<I>().ok_or("the type lacks an index")?;
    let places = call.places();
    let index = rt.put_strided(&typed, &places, &call.strides[1]);
    // Small whole numbers, whose sums are exact.
    let added = |position: usize| (position % 5) as i64;
    let updates: Vec<E> = (0..typed.len()).map(|n| E::from_int(added(n))).collect();
    let updates = rt.put_strided(&updates, &places, &call.strides[2]);
    let (into, index, updates) = (handle(&table), handle(&index), handle(&updates));
    let checked = add_along_axis(&rt.client, &into, &index, &updates, call.axis, call.bounds)
        .map_err(|error| error.to_string())?;
    let mut sums = vec![1; ones.len()];
    for (position, target) in call.targets().into_iter().enumerate() {
        if let Some(target) = target {
            sums[target] += added(position);
        }
    }
    let want: Vec<E> = sums.into_iter().map(E::from_int).collect();
    let got = rt.read_tensor(&table).map_err(|error| error.to_string())?;
    same(&got, &want)?;
    reported(checked, call)
}

fn takes_f32_by_i32(rt: &Rt) -> Result<(), String> {
    for_all(calls(), |call| take::<f32, i32>(rt, &call))
}

fn takes_u32_by_i64(rt: &Rt) -> Result<(), String> {
    for_all(calls(), |call| take::<u32, i64>(rt, &call))
}

fn adds_f32_by_i32(rt: &Rt) -> Result<(), String> {
    for_all(calls(), |call| add::<f32, i32>(rt, &call))
}

/// Indices in and out of range of an axis of 9.
fn wild(position: usize) -> i64 {
    (position as i64 * 7) % 15 - 3
}

fn stored<E: CubeElement + Numeric, I: Index>(rt: &Rt) -> bool {
    supports_gather(&rt.client, E::elem_type_native(), I::elem_type_native()).is_ok()
}

fn takes_elements_of_every_type(rt: &Rt) -> Result<(), String> {
    fn of<E: CubeElement + Numeric + Exact>(rt: &Rt) -> Result<(), String> {
        let call = Call::dense(&[5, 9, 8], 1, 6, Bounds::Wrap, wild);
        match stored::<E, i32>(rt) {
            true => take::<E, i32>(rt, &call),
            false => Ok(()),
        }
    }
    of::<f16>(rt)?;
    of::<bf16>(rt)?;
    of::<f64>(rt)?;
    of::<u8>(rt)?;
    of::<i8>(rt)?;
    of::<u16>(rt)?;
    of::<i16>(rt)?;
    of::<i32>(rt)?;
    of::<u64>(rt)?;
    of::<i64>(rt)
}

fn takes_by_every_index_type(rt: &Rt) -> Result<(), String> {
    fn by<I: Index>(rt: &Rt, of: fn(usize) -> i64) -> Result<(), String> {
        let call = Call::dense(&[9, 8], 0, 6, Bounds::Mask, of);
        match stored::<f32, I>(rt) {
            true => take::<f32, I>(rt, &call),
            false => Ok(()),
        }
    }
    let above = |position: usize| (position as i64 * 5) % 13;
    by::<u8>(rt, above)?;
    by::<i8>(rt, wild)?;
    by::<u16>(rt, above)?;
    by::<i16>(rt, wild)?;
    by::<u32>(rt, above)?;
    by::<u64>(rt, above)?;
    // As 32-bit numbers these would be in range.
    by::<i64>(rt, |position| {
        wild(position) + ((position as i64 % 3) << 32)
    })
}

fn takes_rows_in_vectors(rt: &Rt) -> Result<(), String> {
    for columns in [4, 32, 100, 1000] {
        for axis in [0, 1] {
            let call = Call::dense(&[9, columns], axis, 36, Bounds::Mask, wild);
            take::<f32, i32>(rt, &call)?;
        }
    }
    Ok(())
}

fn takes_many(rt: &Rt) -> Result<(), String> {
    take::<f32, i32>(rt, &Call::dense(&[9, 3], 0, 70_001, Bounds::Report, wild))
}

fn takes_nothing(rt: &Rt) -> Result<(), String> {
    for bounds in MASKED {
        take::<f32, i32>(rt, &Call::dense(&[9, 4], 0, 0, *bounds, wild))?;
    }
    Ok(())
}

fn takes_from_an_empty_axis(rt: &Rt) -> Result<(), String> {
    for bounds in MASKED {
        take::<f32, i32>(rt, &Call::dense(&[0, 4], 0, 3, *bounds, wild))?;
    }
    Ok(())
}

fn names_the_first_offence_by_its_row_major_position(rt: &Rt) -> Result<(), String> {
    // The index is transposed in memory: its positions are not those of its elements there.
    let mut call = Call::dense(&[4, 6], 1, 5, Bounds::Report, |position| {
        if position == 13 || position == 17 {
            6
        } else {
            2
        }
    });
    call.strides[1] = vec![1, 4];
    assert_eq!(call.offence(), Some((13, 6)));
    take::<f32, i32>(rt, &call)
}

fn adds_what_meets_at_one_place(rt: &Rt) -> Result<(), String> {
    if !stored::<i32, i32>(rt) {
        return Ok(());
    }
    for axis in [0, 1] {
        let call = Call::dense(&[9, 8], axis, 4000, Bounds::Clamp, wild);
        add::<i32, i32>(rt, &call)?;
    }
    Ok(())
}

fn adds_of_every_type_or_refuses(rt: &Rt) -> Result<(), String> {
    fn of<E: CubeElement + Numeric + Exact>(rt: &Rt) -> Result<(), String> {
        let (element, by) = (E::elem_type_native(), i32::elem_type_native());
        let call = Call::dense(&[5, 9, 8], 1, 6, Bounds::Mask, wild);
        match supports_add_along_axis(&rt.client, element, by) {
            Ok(()) => add::<E, i32>(rt, &call),
            Err(Error::Device { .. }) => Ok(()),
            Err(other) => Err(other.to_string()),
        }
    }
    of::<f16>(rt)?;
    of::<bf16>(rt)?;
    of::<f64>(rt)?;
    of::<u32>(rt)?;
    of::<u64>(rt)?;
    of::<i64>(rt)
}

fn explains_what_it_launches(rt: &Rt) -> Result<(), Error> {
    let table = handle(&rt.put_tensor(&[0f32; 9 * 64], &[9, 64]));
    let index = handle(&rt.put_tensor(&[0i32; 5 * 64], &[5, 64]));
    let plan = explain_take_along_axis(&rt.client, &table, &index, 0)?;
    let widths = girih::device::Device::of(&rt.client).vector_widths(4);
    let widest = widths.into_iter().find(|width| *width <= 8);
    assert_eq!(Some(plan.width), widest);
    assert_eq!(plan.bytes_ideal, 5 * 64 * 12);
    assert!(plan.bytes_moved >= plan.bytes_ideal);
    let tile: usize = plan.tile.iter().product();
    assert!(plan.cubes as usize * tile >= 5 * 64);
    // Rows that do not begin at vectors are taken one by one.
    let narrow = TensorHandle::new(
        index.handle.clone(),
        vec![4usize, 64],
        vec![65usize, 1],
        index.dtype,
    );
    assert_eq!(
        explain_take_along_axis(&rt.client, &table, &narrow, 0)?.width,
        1
    );
    Ok(())
}

fn refuses_bad_arguments(rt: &Rt) -> Result<(), String> {
    let table = handle(&rt.put_tensor(&[1f32; 12], &[3, 4]));
    let index = handle(&rt.put_tensor(&[0i32; 8], &[2, 4]));
    let refusal = |index: &TensorHandle, axis| match take_along_axis(
        &rt.client,
        &table,
        index,
        axis,
        Bounds::Mask,
    ) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        refusal(&index, 2),
        "axis 2 of table, which has rank 2; take_along_axis needs an axis in 0..2"
    );
    assert_eq!(
        refusal(&index, 1),
        "index has shape [2, 4]; take_along_axis needs [3, 4]"
    );
    let flat = handle(&rt.put_tensor(&[0i32; 4], &[4]));
    assert_eq!(
        refusal(&flat, 0),
        "index has rank 1; take_along_axis needs rank 2, as the table has"
    );
    let floats = handle(&rt.put_tensor(&[0f32; 8], &[2, 4]));
    assert!(refusal(&floats, 0).ends_with("take_along_axis needs an integer type"));
    let expanded = TensorHandle::new(
        table.handle.clone(),
        vec![3usize, 4],
        vec![0usize, 1],
        table.dtype,
    );
    let overlap = add_along_axis(&rt.client, &expanded, &index, &floats, 0, Bounds::Mask);
    assert!(matches!(overlap, Err(Error::Overlap { .. })), "{overlap:?}");
    // The next call works.
    let taken = take_along_axis(&rt.client, &table, &index, 0, Bounds::Mask)
        .map_err(|error| error.to_string())?;
    same(&read::<f32>(rt, taken.value())?, &[1.0; 8])
}
