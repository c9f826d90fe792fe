//! The tiles of products, as every device finds them: each element is one cube's, and few rows of a tile are nobody's.

use cubecl::prelude::*;
use girih::Bounds;
use girih::cuda::wgmma::Major;
use girih_kernels::Activation;
use girih_kernels::raw::matmul::hopper::{
    Beside, Form, Groups, Problem, ProblemLaunch, ROWS, Routing, Share, Writing, find_tile,
    tiles_of,
};
use girih_testkit::{Error, Rt, cases};

cases! {
    every_element_of_groups_is_one_tile_s,
    every_element_of_batches_is_one_tile_s,
    few_rows_are_done_side_by_side,
}

/// Numbers of a tile that are looked at.
const FIELDS: usize = 7;

/// What a group of so many rows has.
#[cube(launch_unchecked)]
fn count_kernel(rows: &[u32], out: &mut [u32], across: u32, #[comptime] form: Form) {
    for group in 0..rows.len() {
        out[group] = tiles_of(rows[group], across, form);
    }
}

/// The tiles of every number, for both cubes of a cluster.
#[cube(launch_unchecked)]
fn find_kernel(table: &[u32], out: &mut [u32], problem: Problem, #[comptime] form: Form) {
    let cubes = comptime!(form.cubes());
    for number in 0..problem.tiles {
        for rank in 0..cubes {
            let tile = find_tile(number, table, &problem, rank, form);
            let at = comptime!(FIELDS) * (number * cubes + rank) as usize;
            out[at] = tile.number;
            out[at + 1] = tile.row;
            out[at + 2] = tile.end;
            out[at + 3] = tile.column;
            out[at + 4] = tile.depth;
            out[at + 5] = tile.steps;
            out[at + 6] = select(tile.apart, 1u32, 0u32);
        }
    }
}

/// A tile of one cube.
#[derive(Clone, Copy, Debug)]
struct Found {
    number: usize,
    row: usize,
    end: usize,
    column: usize,
    depth: usize,
    steps: usize,
    is_apart: bool,
}

fn form(share: Share, groups: Groups, columns: u32) -> Form {
    Form {
        columns,
        stages: 4,
        share,
        majors: [Major::K, Major::K],
        band: 8,
        groups,
        routing: Routing::InOrder,
        writing: Writing::Set,
        vectors: true,
        biased: false,
        weighted: false,
        activation: Activation::Identity,
        bounds: Bounds::Mask,
        beside: Beside::Nothing,
    }
}

/// A product of `rows` by `columns`; of `count` such, or with rows in that many groups.
#[derive(Clone, Copy, Debug)]
struct Extents {
    rows: usize,
    columns: usize,
    inner: usize,
    count: usize,
}

/// The tiles of a product, those of a cluster's cubes one after another. Groups of rows have the rows up to `ends`.
fn tiles(rt: &Rt, form: Form, extents: Extents, ends: &[usize]) -> Result<Vec<Found>, Error> {
    let Extents {
        rows,
        columns,
        inner,
        count,
    } = extents;
    let across = columns.div_ceil(form.columns_at_once() as usize);
    let is_grouped = form.groups == Groups::Rows;
    let ends: Vec<usize> = match is_grouped {
        true => ends.iter().copied().chain([rows]).collect(),
        false => vec![rows; count],
    };
    let rows_of: Vec<u32> = (0..ends.len())
        .map(|group| match (is_grouped, group) {
            (true, 1..) => (ends[group] - ends[group - 1]) as u32,
            _ => ends[group] as u32,
        })
        .collect();
    let counts = rt.poisoned::<u32>(rows_of.len());
    let of_rows = rt.put(&rows_of);
    // SAFETY: both buffers have an element for each group.
    unsafe {
        count_kernel::launch_unchecked(
            &rt.client,
            CubeCount::new_single(),
            CubeDim::new_1d(1),
            of_rows.arg(),
            counts.arg(),
            across as u32,
            form,
        );
    }
    let counts = rt.read(&counts)?;
    let all: u32 = counts.iter().sum();
    // As the kernel's first plane leaves it in shared memory.
    let mut table = vec![0u32; form.table_at() as usize / 4];
    let mut sum = 0;
    for (group, end) in ends.iter().enumerate() {
        sum += counts[group];
        table.extend([sum, *end as u32]);
    }
    let cubes = form.cubes() as usize;
    let out = rt.poisoned::<u32>((FIELDS * cubes * all as usize).max(1));
    let table = rt.put(&table);
    let problem = ProblemLaunch::new(
        rows as u32,
        columns as u32,
        inner as u32,
        count as u32,
        0,
        0,
        across as u32,
        all,
    );
    // SAFETY: the result has `FIELDS` elements for each tile of each cube, and the table two for each group.
    unsafe {
        find_kernel::launch_unchecked(
            &rt.client,
            CubeCount::new_single(),
            CubeDim::new_1d(1),
            table.arg(),
            out.arg(),
            problem,
            form,
        );
    }
    let fields = rt.read(&out)?;
    let found = fields[..FIELDS * cubes * all as usize].chunks_exact(FIELDS);
    let found = found.map(|fields| {
        let [number, row, end, column, depth, steps, is_apart] =
            [0, 1, 2, 3, 4, 5, 6].map(|field| fields[field] as usize);
        Found {
            number,
            row,
            end,
            column,
            depth,
            steps,
            is_apart: is_apart == 1,
        }
    });
    Ok(found.collect())
}

/// Counts how often each element is some tile's, and checks what tiles are told of their group.
fn check(form: Form, extents: Extents, ends: &[usize], tiles: &[Found]) {
    let Extents {
        rows,
        columns,
        inner,
        count,
    } = extents;
    let is_grouped = form.groups == Groups::Rows;
    let products = if is_grouped { 1 } else { count };
    let mut times = vec![0u8; products * rows * columns];
    for tile in tiles {
        let shown = || format!("{form:?}, {extents:?}, ends {ends:?}: {tile:?}");
        let group = tile.number;
        let (begin, end) = match is_grouped {
            true => (
                if group == 0 { 0 } else { ends[group - 1] },
                ends.get(group).copied().unwrap_or(rows),
            ),
            false => (0, rows),
        };
        assert!(tile.row >= begin && tile.end == end, "{}", shown());
        let depth = if group < count { inner } else { 0 };
        assert_eq!(tile.depth, depth, "{}", shown());
        assert_eq!(tile.steps, depth.div_ceil(64), "{}", shown());
        let product = if is_grouped { 0 } else { group };
        for row in tile.row..(tile.row + ROWS as usize).min(end) {
            let first = (product * rows + row) * columns;
            let here = tile.column..(tile.column + form.columns as usize).min(columns);
            for column in here {
                times[first + column] += 1;
            }
        }
    }
    let wrong = times.iter().position(|&times| times != 1);
    assert_eq!(wrong, None, "{form:?}, {extents:?}, ends {ends:?}");
    // Cubes of a cluster share what they load: rows or columns, of one group.
    for pair in tiles.chunks_exact(form.cubes() as usize) {
        let [first, last] = [pair[0], pair[pair.len() - 1]];
        assert_eq!(
            (first.number, first.steps, first.is_apart),
            (last.number, last.steps, last.is_apart)
        );
        match (form.share, first.is_apart) {
            (Share::B, false) => assert_eq!(first.column, last.column),
            _ => assert_eq!(first.row, last.row),
        }
    }
}

fn every_element_of_groups_is_one_tile_s(rt: &Rt) -> Result<(), Error> {
    for share in [Share::Nothing, Share::A, Share::B] {
        for ends in [
            &[300][..],
            &[0, 128, 128, 257, 300],
            &[129, 130, 258],
            &[1, 65, 193, 449, 578, 834],
            &[0, 0, 0],
            &[2300],
        ] {
            for columns in [64, 520, 776] {
                let extents = Extents {
                    rows: 2500,
                    columns,
                    inner: 200,
                    count: ends.len(),
                };
                let form = form(share, Groups::Rows, 256);
                let found = tiles(rt, form, extents, ends)?;
                check(form, extents, ends, &found);
            }
        }
    }
    Ok(())
}

fn every_element_of_batches_is_one_tile_s(rt: &Rt) -> Result<(), Error> {
    for share in [Share::Nothing, Share::A, Share::B] {
        for (rows, columns, count) in [(100, 520, 3), (2500, 130, 1), (300, 1000, 2)] {
            let extents = Extents {
                rows,
                columns,
                inner: 64,
                count,
            };
            let form = form(share, Groups::Nothing, 128);
            let found = tiles(rt, form, extents, &[])?;
            assert!(found.iter().all(|tile| !tile.is_apart));
            check(form, extents, &[], &found);
        }
    }
    Ok(())
}

/// Where a group's last rows fit in one cube's tile, no cube of a cluster has a tile without rows.
fn few_rows_are_done_side_by_side(rt: &Rt) -> Result<(), Error> {
    let form = form(Share::B, Groups::Rows, 256);
    // Groups of 256 rows and 40, 512 and 200, and 100 alone.
    let ends = [296, 1008, 1108];
    let extents = Extents {
        rows: 1108,
        columns: 1024,
        inner: 64,
        count: ends.len(),
    };
    let found = tiles(rt, form, extents, &ends)?;
    check(form, extents, &ends, &found);
    let of = |group: usize, is_apart: bool| {
        let tiles = found.iter();
        let tiles = tiles.filter(|tile| tile.number == group && tile.is_apart == is_apart);
        tiles.count()
    };
    // Four tiles across: of two cubes one below the other, and of two side by side.
    assert_eq!([of(0, false), of(0, true)], [2 * 4, 4]);
    assert_eq!([of(1, false), of(1, true)], [3 * 2 * 4, 0]);
    assert_eq!([of(2, false), of(2, true)], [0, 4]);
    assert!(found.iter().all(|tile| tile.row < tile.end));
    Ok(())
}
