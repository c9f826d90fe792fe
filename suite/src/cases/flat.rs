//! Flat views as a kernel author uses them: masks, lists that end, vectors, reports. Their rules are tried on random data in
//! `properties`.

pub mod atomics;
pub mod refusals;

use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::{
    device::Device,
    prelude::*,
    view::{Offence, Report, Reporter},
};
use girih_testkit::{Buffer, Rt, cases, check::assert_same, needs};

cases! {
    takes_part_where_a_mask_is_true,
    takes_part_where_a_mask_of_bytes_is_not_0 needs [needs::U8],
    gathers_whole_vectors_from_lone_elements,
    takes_a_list_to_its_end,
    reports_no_entry_past_the_end_of_a_list,
    reports_along_each_axis needs [needs::REPORTS_AXES, needs::U64],
}

type Error = girih_testkit::Error;

const ONE_CUBE: CubeCount = CubeCount::Static(1, 1, 1);

/// A table of 4 by 6, whose element is 10 times its row and its column.
fn table() -> Vec<u32> {
    (0..4)
        .flat_map(|row| (0..6).map(move |column| 10 * row + column))
        .collect()
}

/// All elements, none, and those of the columns from 2 on.
#[cube(launch_unchecked)]
fn masked(x: &Tensor<u32>, rows: &[u32], columns: &Tensor<u32>, out: &mut Tensor<u32>) {
    let cube = this_cube();
    let from = Tile::<u32, shape![3, 1]>::full(rows[0]);
    let columns = TileView::<u32, shape![1, 4]>::of(columns).load(&cube, (0u32, 0u32));
    let all = Tile::<bool, shape![1, 1]>::full(true);
    let none = Tile::<bool, shape![3, 4]>::full(false);
    let late = columns.ge(2u32);
    let mut to = TileViewMut::<u32, shape![3, 4]>::of(out);
    let view = FlatView::<u32, shape![3, 4]>::of(x).mask(&all);
    let tile = view.gather(&cube, comptime!(Pad(99u32)), (&from, &columns));
    to.store(&cube, tile, (0u32, 0u32));
    let view = FlatView::<u32, shape![3, 4]>::of(x).mask(&none);
    let tile = view.gather(&cube, comptime!(Pad(99u32)), (&from, &columns));
    to.store(&cube, tile, (1u32, 0u32));
    let view = FlatView::<u32, shape![3, 4]>::of(x).mask(&late);
    let tile = view.gather(&cube, comptime!(Pad(99u32)), (&from, &columns));
    to.store(&cube, tile, (2u32, 0u32));
}

fn takes_part_where_a_mask_is_true(rt: &Rt) -> Result<(), Error> {
    let x = rt.put_tensor(&table(), &[4, 6]);
    let (rows, columns) = (rt.put(&[2u32]), rt.put_tensor(&[0u32, 5, 1, 2], &[1, 4]));
    let out = rt.poisoned_tensor::<u32>(&[9, 4], &[4, 1]);
    // SAFETY: the loads of columns and the stores cover their tensors, the gathers are masked.
    unsafe {
        masked::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            x.arg(),
            rows.arg(),
            columns.arg(),
            out.arg(),
        );
    }
    let want = [[20, 25, 21, 22], [99; 4], [99, 25, 99, 22]];
    let want: Vec<u32> = want.iter().flat_map(|row| row.repeat(3)).collect();
    assert_same(&rt.read_tensor(&out)?, &want);
    Ok(())
}

#[cube(launch_unchecked)]
fn masked_by_bytes(index: &[i32], mask: &[u8], out: &mut [u32]) {
    let cube = this_cube();
    let index = TileView::<i32, shape![5]>::of(index).load(&cube, 0u32);
    let mask = TileView::<u8, shape![5]>::of(mask).load(&cube, 0u32);
    let tile = Tile::<u32, shape![5]>::iota();
    FlatViewMut::<u32, shape![5]>::of(out)
        .mask(&mask)
        .scatter(&cube, tile, &index);
}

fn takes_part_where_a_mask_of_bytes_is_not_0(rt: &Rt) -> Result<(), Error> {
    let out = rt.put(&[9u32; 4]);
    let (index, mask) = (rt.put(&[3i32, 0, 1, 4, -1]), rt.put(&[1u8, 0, 255, 1, 1]));
    // SAFETY: the loads cover their buffers, the scatter is masked.
    unsafe {
        masked_by_bytes::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            index.arg(),
            mask.arg(),
            out.arg(),
        );
    }
    assert_same(&rt.read(&out)?, &[9, 2, 9, 0]);
    Ok(())
}

/// Indices in vectors, elements in vectors, a tile that is stored in vectors.
#[cube(launch_unchecked)]
fn in_vectors<N: Size>(
    x: &Tensor<Vector<u32, N>>,
    rows: &Tensor<Vector<i32, N>>,
    columns: &Tensor<i32>,
    out: &mut Tensor<Vector<u32, N>>,
) {
    let cube = this_cube();
    let rows = TileView::<i32, shape![2, 8]>::of(rows).load(&cube, (0u32, 0u32));
    let columns = TileView::<i32, shape![2, 1]>::of(columns).load(&cube, (0u32, 0u32));
    let view = FlatView::<u32, shape![2, 8]>::of(x).bounds(Bounds::Wrap);
    let tile = view.gather(&cube, comptime!(Pad(99u32)), (&rows, &columns));
    TileViewMut::<u32, shape![2, 8]>::of(out).store(&cube, tile, (0u32, 0u32));
}

fn gathers_whole_vectors_from_lone_elements(rt: &Rt) -> Result<(), Error> {
    let values: Vec<u32> = (0..32).collect();
    let x = rt.put_tensor(&values, &[4, 8]);
    let list = [
        3,
        0,
        -1,
        2,
        4,
        -4,
        -5,
        1,
        2,
        2,
        2,
        2,
        i32::MAX,
        i32::MIN,
        0,
        3,
    ];
    let (rows, columns) = (
        rt.put_tensor(&list, &[2, 8]),
        rt.put_tensor(&[5, -2], &[2, 1]),
    );
    let out = rt.poisoned_tensor::<u32>(&[2, 8], &[8, 1]);
    // SAFETY: the loads of indices and the store cover their tensors, the gather is masked.
    unsafe {
        in_vectors::launch_unchecked(
            &rt.client,
            ONE_CUBE,
            rt.cube_dim(),
            4,
            x.arg(),
            rows.arg(),
            columns.arg(),
            out.arg(),
        );
    }
    let element = |(at, &row): (usize, &i32)| {
        let row = if row < 0 { row.saturating_add(4) } else { row };
        let column = [5, 6][at / 8];
        if (0..4).contains(&row) {
            row as u32 * 8 + column
        } else {
            99
        }
    };
    let want: Vec<u32> = list.iter().enumerate().map(element).collect();
    assert_same(&rt.read_tensor(&out)?, &want);
    Ok(())
}

/// Counts pairs of bins: lists of any length, a cube for each 8 entries.
#[cube(launch_unchecked)]
fn count_pairs(a: &[i32], b: &[i32], record: &[Atomic<u32>], counts: &Tensor<Atomic<u32>>) {
    let cube = this_cube();
    let first = CUBE_POS as u32 * 8u32;
    let a = TileView::<i32, shape![8]>::of(a).indices(CUBE_POS);
    let b = TileView::<i32, shape![8]>::of(b).indices(CUBE_POS);
    let view = AtomicFlatView::<u32, shape![8]>::of(counts).report(Reporter::new(record, first));
    let ones = Tile::<u32, shape![8]>::full(1u32);
    view.atomic_add::<Relaxed>(&cube, ones, (&a, &b));
}

/// The counts of a table of 3 by 2, and the position of the first pair that is not in it.
fn counts(rt: &Rt, a: &[i32], b: &[i32]) -> Result<(Vec<u32>, u32), Error> {
    let (a, b, record) = (rt.put(a), rt.put(b), rt.put(&[u32::MAX]));
    let counts = rt.put_tensor(&[0u32; 6], &[3, 2]);
    // SAFETY: entries past the ends of the lists are not read, the additions are masked.
    unsafe {
        count_pairs::launch_unchecked(
            &rt.client,
            CubeCount::Static(3, 1, 1),
            rt.cube_dim(),
            a.arg(),
            b.arg(),
            record.arg(),
            counts.arg(),
        );
    }
    Ok((rt.read_tensor(&counts)?, rt.read(&record)?[0]))
}

fn takes_a_list_to_its_end(rt: &Rt) -> Result<(), Error> {
    let a: Vec<i32> = (0..19).map(|n| n % 3).collect();
    let b: Vec<i32> = (0..19).map(|n| n % 2).collect();
    let mut want = vec![0u32; 6];
    for (a, b) in a.iter().zip(&b) {
        want[(a * 2 + b) as usize] += 1;
    }
    assert_eq!(counts(rt, &a, &b)?, (want.clone(), u32::MAX));
    // The longer list has entries that are in no pair.
    let longer: Vec<i32> = b.iter().copied().chain([7, 7]).collect();
    assert_eq!(counts(rt, &a, &longer)?, (want, u32::MAX));
    Ok(())
}

fn reports_no_entry_past_the_end_of_a_list(rt: &Rt) -> Result<(), Error> {
    let (mut a, b) = ([0i32; 11], [1i32; 11]);
    a[10] = 3;
    assert_eq!(counts(rt, &a, &b)?, (vec![0, 10, 0, 0, 0, 0], 10));
    a[9] = i32::MIN;
    assert_eq!(counts(rt, &a, &b)?, (vec![0, 9, 0, 0, 0, 0], 9));
    Ok(())
}

#[cube(launch_unchecked)]
fn report_axes(x: &Tensor<u32>, a: &[i32], b: &[i32], record: &[Atomic<u64>], out: &mut [u32]) {
    let cube = this_cube();
    let first = CUBE_POS as u32 * 8u32;
    let a = TileView::<i32, shape![8]>::of(a).indices(CUBE_POS);
    let b = TileView::<i32, shape![8]>::of(b).indices(CUBE_POS);
    let view = FlatView::<u32, shape![8]>::of(x).report(Reporter::axes(record, first));
    let tile = view.gather(&cube, comptime!(Pad(99u32)), (&a, &b));
    TileViewMut::<u32, shape![8]>::of(out).store_masked(&cube, tile, CUBE_POS);
}

fn reports_along_each_axis(rt: &Rt) -> Result<(), String> {
    let x = rt.put_tensor(&table(), &[4, 6]);
    let valid = ([3i32; 13], [5i32; 13]);
    let with = |at: usize, index: i32, mut list: [i32; 13]| {
        list[at] = index;
        list
    };
    let cases = [
        (valid.0, valid.1, None),
        (with(12, -1, valid.0), valid.1, Some((12, -1, 0, 4))),
        (
            with(12, 4, valid.0),
            with(3, 6, valid.1),
            Some((3, 6, 1, 6)),
        ),
        (
            with(2, i32::MAX, valid.0),
            with(9, 6, valid.1),
            Some((2, i32::MAX.into(), 0, 4)),
        ),
    ];
    for (a, b, want) in cases {
        let (rows, columns, out) = (rt.put(&a), rt.put(&b), rt.poisoned::<u32>(13));
        let list = |buffer: &Buffer<i32>| {
            let elem = i32::elem_type_native();
            Some(TensorHandle::new_contiguous(
                vec![13],
                buffer.handle(),
                elem,
            ))
        };
        let lists = [list(&rows), list(&columns)];
        let report = Report::axes("pick", &Device::of(&rt.client), &[4, 6], &lists);
        let report = report.map_err(|error| error.to_string())?;
        // SAFETY: entries past the ends of the lists are not read, the gather and the store are masked.
        unsafe {
            report_axes::launch_unchecked(
                &rt.client,
                CubeCount::Static(2, 1, 1),
                rt.cube_dim(),
                x.arg(),
                rows.arg(),
                columns.arg(),
                report.arg(),
                out.arg(),
            );
        }
        let element = |(&row, &column): (&i32, &i32)| match (row, column) {
            (0..4, 0..6) => (10 * row + column) as u32,
            _ => 99,
        };
        let wanted: Vec<u32> = a.iter().zip(&b).map(element).collect();
        assert_same(&rt.read(&out).map_err(|error| error.to_string())?, &wanted);
        let found = report.read().map_err(|error| error.to_string())?;
        let found = found.map(|of: Offence| (of.position, of.index, of.axis, of.extent));
        assert_eq!(found, want);
    }
    Ok(())
}

/// Kernels for compile checks without a GPU.
#[cfg(feature = "offline")]
pub(super) mod compiled {
    use super::*;

    /// Four rows of 256 elements, each at indices of its own.
    #[cube(launch_unchecked)]
    pub fn pick(
        x: &Tensor<f32>,
        rows: &Tensor<i32>,
        columns: &Tensor<i32>,
        mask: &Tensor<u32>,
        out: &mut Tensor<f32>,
    ) {
        let cube = this_cube();
        let rows = TileView::<i32, shape![4, 256]>::of(rows).load(&cube, (0u32, 0u32));
        let columns = TileView::<i32, shape![1, 256]>::of(columns).load(&cube, (0u32, 0u32));
        let mask = TileView::<u32, shape![4, 1]>::of(mask).load(&cube, (0u32, 0u32));
        let view = FlatView::<f32, shape![4, 256]>::of(x).mask(&mask);
        let tile = view.gather(&cube, Zero, (&rows, &columns));
        TileViewMut::<f32, shape![4, 256]>::of(out).store(&cube, tile, (0u32, 0u32));
    }

    /// Counts pairs of bins.
    #[cube(launch_unchecked)]
    pub fn joint(a: &[i32], b: &[i32], counts: &Tensor<Atomic<u32>>) {
        let cube = this_cube();
        let a = TileView::<i32, shape![256]>::of(a).indices(CUBE_POS);
        let b = TileView::<i32, shape![256]>::of(b).indices(CUBE_POS);
        let ones = Tile::<u32, shape![256]>::full(1u32);
        AtomicFlatView::<u32, shape![256]>::of(counts).atomic_add::<Relaxed>(&cube, ones, (&a, &b));
    }
}
