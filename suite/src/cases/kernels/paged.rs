//! `paged_gather`.

use super::gather::{read, values};
use super::model::{Index, handle, list, place};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::{Bounds, Error};
use girih_kernels::{explain_paged_gather, page_rows, page_rows_type, paged_gather};
use girih_testkit::{Rt, buffer::row_major, cases, check::Exact, check::same, needs};
use half::bf16;

cases! {
    gathers_ragged_sequences,
    gathers_under_every_policy,
    gathers_from_pages_of_every_layout,
    gathers_by_every_index_type,
    gathers_i64_by_u64 needs [needs::I64, needs::U64],
    gathers_bf16 needs [needs::BF16],
    pads_past_the_last_offset,
    gathers_nothing,
    names_the_first_bad_page,
    looks_only_at_entries_that_are_needed,
    numbers_rows_through_all_pages,
    survives_offsets_and_tables_that_make_no_sense,
    explains_what_it_launches,
    refuses_bad_arguments,
}

const MASKED: [Bounds; 4] = [Bounds::Mask, Bounds::Clamp, Bounds::Wrap, Bounds::Report];

/// One call, but for the types.
#[derive(Clone, Debug)]
struct Call {
    /// Pages, rows of a page, and what follows.
    shape: Vec<usize>,
    strides: Vec<usize>,
    /// The pages of each sequence.
    table: Vec<Vec<i64>>,
    offsets: Vec<i64>,
    rows: usize,
    bounds: Bounds,
}

impl Call {
    /// Sequences of these lengths in 7 pages of 3 rows of 8, the pages of each in no order.
    fn new(lengths: &[usize], bounds: Bounds) -> Self {
        let shape = vec![7, 3, 8];
        let most = lengths.iter().max().copied().unwrap_or(0).div_ceil(3);
        let page = |sequence: usize, entry: usize| ((sequence * 5 + entry * 3) % 7) as i64;
        let offsets: Vec<i64> = std::iter::once(0)
            .chain(lengths.iter().scan(0, |end, length| {
                *end += *length as i64;
                Some(*end)
            }))
            .collect();
        Self {
            strides: row_major(&shape),
            shape,
            table: (0..lengths.len())
                .map(|sequence| (0..most).map(|entry| page(sequence, entry)).collect())
                .collect(),
            rows: lengths.iter().sum(),
            offsets,
            bounds,
        }
    }

    /// For each row its page's place in the table and its own place in the page, if its sequence has them.
    fn entries(&self) -> Vec<Option<(usize, usize, usize)>> {
        let entry = |row: usize| {
            let row = row as i64;
            let sequence = self
                .offsets
                .windows(2)
                .position(|ends| ends[0] <= row && row < ends[1])?;
            let position = (row - self.offsets[sequence]) as usize;
            let entry = position / self.shape[1];
            (entry < self.table[sequence].len()).then_some((
                sequence,
                entry,
                position % self.shape[1],
            ))
        };
        (0..self.rows).map(entry).collect()
    }

    /// For each row the row of the pages that it is, if it is one.
    fn sources(&self) -> Vec<Option<usize>> {
        let source = |entry: Option<(usize, usize, usize)>| {
            let (sequence, entry, within) = entry?;
            let page = place(self.table[sequence][entry], self.shape[0], self.bounds)?;
            Some(page * self.shape[1] + within)
        };
        self.entries().into_iter().map(source).collect()
    }

    /// The first entry that is needed and out of range: its row-major position, and the page that it names.
    fn offence(&self) -> Option<(u64, i128)> {
        let width = self.table.first().map_or(0, Vec::len);
        let entries = self.entries().into_iter().flatten();
        let bad = entries.filter(|&(sequence, entry, _)| {
            place(self.table[sequence][entry], self.shape[0], self.bounds).is_none()
        });
        let first = bad
            .map(|(sequence, entry, _)| (sequence * width + entry) as u64)
            .min()?;
        let (sequence, entry) = (first as usize / width, first as usize % width);
        (self.bounds == Bounds::Report).then(|| (first, self.table[sequence][entry].into()))
    }
}

fn typed<I: Index>(values: impl IntoIterator<Item = i64>) -> Vec<I> {
    values
        .into_iter()
        .map(|value| I::of(value).expect("the type has the number"))
        .collect()
}

/// The page table and the offsets on the device.
fn lists<T: Index, F: Index>(rt: &Rt, call: &Call) -> [TensorHandle; 2] {
    let table: Vec<T> = typed(call.table.iter().flatten().copied());
    let shape = [call.table.len(), call.table.first().map_or(0, Vec::len)];
    let table = rt.put_tensor(&table, &shape);
    let offsets = rt.put(&typed::<F>(call.offsets.iter().copied()));
    [handle(&table), list(&offsets)]
}

/// Makes the call on the device, and compares every element.
fn answer<E, T, F>(rt: &Rt, call: &Call) -> Result<(), String>
where
    E: CubeElement + Numeric + Exact,
    T: Index,
    F: Index,
{
    let all: Vec<E> = values(call.shape.iter().product());
    let pages = rt.put_strided(&all, &call.shape, &call.strides);
    let [table, offsets] = lists::<T, F>(rt, call);
    let checked = paged_gather(
        &rt.client,
        &handle(&pages),
        &table,
        &offsets,
        call.rows,
        call.bounds,
    )
    .map_err(|error| error.to_string())?;
    let width: usize = call.shape[2..].iter().product();
    let row = |source: Option<usize>| match source {
        Some(row) => all[row * width..][..width].to_vec(),
        None => vec![E::from_int(0); width],
    };
    let want: Vec<E> = call.sources().into_iter().flat_map(row).collect();
    let shape = [&[call.rows], &call.shape[2..]].concat();
    if !checked.value().shape().iter().eq(&shape) {
        return Err(format!(
            "shape {:?}, not {shape:?}",
            checked.value().shape()
        ));
    }
    if !want.is_empty() {
        same(&read::<E>(rt, checked.value())?, &want)?;
    }
    match (call.offence(), checked.check()) {
        (None, Ok(_)) => Ok(()),
        (Some((position, index)), Err(Error::OutOfRange(found)))
            if (found.position, found.index) == (position, index)
                && (found.axis, found.extent) == (0, call.shape[0]) =>
        {
            Ok(())
        }
        (want, got) => Err(format!("{:?} for {want:?}", got.map(|_| ()))),
    }
}

const RAGGED: [usize; 5] = [4, 0, 9, 1, 3];

fn gathers_ragged_sequences(rt: &Rt) -> Result<(), String> {
    for lengths in [&RAGGED[..], &[0, 0, 5], &[6], &[1; 40]] {
        answer::<f32, i32, i32>(rt, &Call::new(lengths, Bounds::Mask))?;
    }
    Ok(())
}

fn gathers_under_every_policy(rt: &Rt) -> Result<(), String> {
    for bounds in MASKED {
        let mut call = Call::new(&RAGGED, bounds);
        call.table[0][1] = -2;
        call.table[2] = vec![7, -8, 100];
        answer::<f32, i32, i32>(rt, &call)?;
    }
    answer::<f32, i32, i32>(rt, &Call::new(&RAGGED, Bounds::Assume))
}

fn gathers_from_pages_of_every_layout(rt: &Rt) -> Result<(), String> {
    // Keys and values side by side in each page; pages between rows; rows with room between them; rows transposed.
    for strides in [[48, 8, 1], [8, 56, 1], [36, 12, 1], [24, 1, 3]] {
        let mut call = Call::new(&RAGGED, Bounds::Mask);
        call.strides = strides.to_vec();
        answer::<f32, i32, i32>(rt, &call)?;
    }
    let mut call = Call::new(&RAGGED, Bounds::Mask);
    call.shape = vec![7, 3];
    call.strides = vec![3, 1];
    answer::<f32, i32, i32>(rt, &call)?;
    call.shape = vec![7, 3, 2, 4];
    call.strides = vec![48, 4, 24, 1];
    answer::<f32, i32, i32>(rt, &call)
}

fn gathers_by_every_index_type(rt: &Rt) -> Result<(), String> {
    fn by<T: Index>(rt: &Rt) -> Result<(), String> {
        let (element, index) = (f32::elem_type_native(), T::elem_type_native());
        match girih_kernels::supports_gather(&rt.client, element, index) {
            Ok(()) => answer::<f32, T, T>(rt, &Call::new(&RAGGED, Bounds::Mask)),
            Err(_) => Ok(()),
        }
    }
    by::<u8>(rt)?;
    by::<i8>(rt)?;
    by::<u16>(rt)?;
    by::<i16>(rt)?;
    by::<u32>(rt)
}

fn gathers_i64_by_u64(rt: &Rt) -> Result<(), String> {
    let mut call = Call::new(&RAGGED, Bounds::Mask);
    // As 32-bit numbers these would be pages.
    call.table[2][1] = (1 << 32) + 1;
    answer::<i64, u64, i64>(rt, &call)?;
    answer::<i64, i64, u64>(rt, &call)
}

fn gathers_bf16(rt: &Rt) -> Result<(), String> {
    answer::<bf16, i32, i32>(rt, &Call::new(&RAGGED, Bounds::Mask))
}

fn pads_past_the_last_offset(rt: &Rt) -> Result<(), String> {
    let mut call = Call::new(&RAGGED, Bounds::Report);
    call.rows += 70;
    answer::<f32, i32, i32>(rt, &call)?;
    // No sequence at all.
    call.table.clear();
    call.offsets = vec![0];
    answer::<f32, i32, i32>(rt, &call)
}

fn gathers_nothing(rt: &Rt) -> Result<(), String> {
    for bounds in MASKED {
        answer::<f32, i32, i32>(rt, &Call::new(&[0, 0], bounds))?;
        let mut none = Call::new(&[4], bounds);
        none.shape[0] = 0;
        answer::<f32, i32, i32>(rt, &none)?;
    }
    Ok(())
}

fn names_the_first_bad_page(rt: &Rt) -> Result<(), String> {
    let mut call = Call::new(&RAGGED, Bounds::Report);
    call.table[2][2] = -1;
    call.table[4][0] = 7;
    assert_eq!(call.offence(), Some((8, -1)));
    answer::<f32, i32, i32>(rt, &call)
}

fn looks_only_at_entries_that_are_needed(rt: &Rt) -> Result<(), String> {
    let mut call = Call::new(&RAGGED, Bounds::Report);
    call.table[1] = vec![-1, -1, -1];
    call.table[3][1] = 99;
    assert_eq!(call.offence(), None);
    answer::<f32, i32, i32>(rt, &call)
}

fn numbers_rows_through_all_pages(rt: &Rt) -> Result<(), String> {
    let mut call = Call::new(&RAGGED, Bounds::Mask);
    call.table[0][0] = 7;
    let [table, offsets] = lists::<i32, i32>(rt, &call);
    let rows = page_rows(
        &rt.client,
        [7, 3],
        &table,
        &offsets,
        call.rows,
        Bounds::Mask,
    )
    .map_err(|error| error.to_string())?
    .into_inner();
    assert_eq!(rows.dtype, page_rows_type(21));
    let want: Vec<i32> = call
        .sources()
        .into_iter()
        .map(|source| source.map_or(-1, |row| row as i32))
        .collect();
    same(&read::<i32>(rt, &rows)?, &want)
}

/// Rows are zeros or rows of the pages, whatever the offsets are.
fn survives_offsets_and_tables_that_make_no_sense(rt: &Rt) -> Result<(), String> {
    for offsets in [
        [5, 3, 9, -4, 2, 8],
        [-3, -2, -1, 1000, 2000, 17],
        [1, 1, 1, 1, 1, 1],
    ] {
        let mut call = Call::new(&RAGGED, Bounds::Mask);
        call.offsets = offsets.to_vec();
        let all: Vec<f32> = values(7 * 3 * 8);
        let pages = rt.put_tensor(&all, &call.shape);
        let [table, offsets] = lists::<i32, i32>(rt, &call);
        let rows = paged_gather(
            &rt.client,
            &handle(&pages),
            &table,
            &offsets,
            40,
            Bounds::Mask,
        )
        .map_err(|error| error.to_string())?
        .into_inner();
        for row in read::<f32>(rt, &rows)?.chunks(8) {
            let is_row = all.chunks(8).any(|one| one == row);
            if !is_row && row != [0.0; 8] {
                return Err(format!("{row:?} is no row of the pages"));
            }
        }
    }
    // The next call works.
    answer::<f32, i32, i32>(rt, &Call::new(&RAGGED, Bounds::Mask))
}

fn explains_what_it_launches(rt: &Rt) -> Result<(), Error> {
    let call = Call::new(&RAGGED, Bounds::Mask);
    let pages = handle(&rt.put_tensor(&[0f32; 7 * 3 * 8], &call.shape));
    let [table, offsets] = lists::<i32, i32>(rt, &call);
    let plan = explain_paged_gather(&rt.client, &pages, &table, &offsets, call.rows)?;
    assert_eq!(plan.call, "paged_gather");
    assert_eq!(plan.bytes_ideal, (17 * (2 * 8 * 4 + 4)) as u64);
    assert!(!plan.copies);
    Ok(())
}

fn refuses_bad_arguments(rt: &Rt) {
    let call = Call::new(&RAGGED, Bounds::Mask);
    let pages = handle(&rt.put_tensor(&[0f32; 7 * 3 * 8], &call.shape));
    let [table, offsets] = lists::<i32, i32>(rt, &call);
    let refusal =
        |pages: &TensorHandle, table: &TensorHandle, offsets: &TensorHandle| match paged_gather(
            &rt.client,
            pages,
            table,
            offsets,
            5,
            Bounds::Mask,
        ) {
            Ok(_) => "accepted".to_owned(),
            Err(error) => error.to_string(),
        };
    assert_eq!(refusal(&pages, &table, &offsets), "accepted");
    let short = list(&rt.put(&[0i32, 4]));
    assert_eq!(
        refusal(&pages, &table, &short),
        "offsets has shape [2]; paged_gather needs [6]"
    );
    assert_eq!(
        refusal(&pages, &offsets, &offsets),
        "table has rank 1; paged_gather needs rank 2"
    );
    assert_eq!(
        refusal(&offsets, &table, &offsets),
        "pages has rank 1; paged_gather needs rank 2 or more"
    );
    let floats = list(&rt.put(&[0f32; 6]));
    assert!(refusal(&pages, &table, &floats).ends_with("needs an integer type"));
    let hollow = TensorHandle::new(
        pages.handle.clone(),
        vec![7usize, 0, 8],
        vec![8usize, 8, 1],
        pages.dtype,
    );
    let refused = refusal(&hollow, &table, &offsets);
    assert!(refused.contains("rows of a page"), "{refused}");
}
