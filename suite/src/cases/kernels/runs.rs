//! What is promised to be the same in every run, bit by bit: a hundred times over, and in grids of other sizes.
//!
//! A caller does not choose a grid. It grows with the columns of a row, and with the rows of a call, so that the same sums are
//! asked for in wider rows, three times side by side, and with more behind them that goes elsewhere.

use super::model::{handle, list};
use super::segment::model::{Element, Random, read};
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih_kernels::{
    BagOptions, Determinism, Duplicates, GatherOptions, Grouping, Reduction, ScatterMode,
    combine_rows, embedding_bag, embedding_bag_backward, gather_backward, scatter_into,
    segment_reduce,
};
use girih_testkit::{Rt, cases, check::same, needs};
use half::{bf16, f16};

cases! {
    scattered_f32,
    scattered_f16 needs [needs::F16],
    scattered_bf16 needs [needs::BF16],
    segments_of_f32,
    segments_of_bf16 needs [needs::BF16],
    bags_of_f32,
    gradients_of_bags_of_f32,
    gradients_of_bags_of_f16 needs [needs::F16],
    gradients_of_bags_of_bf16 needs [needs::BF16],
    gradients_of_embeddings_of_f32,
    gradients_of_embeddings_of_bf16 needs [needs::BF16],
    rows_of_sparse_gradients,
}

type Outcome = Result<(), String>;

/// Runs of each call.
const RUNS: usize = 100;
/// Rows of a call, and how many more a larger one has.
const ROWS: usize = 1500;
const MORE: usize = 2000;
/// Elements of a row, and how often a wider one has them side by side.
const COLUMNS: usize = 4;
const WIDER: usize = 3;
/// Places that rows go to, and how many more a larger call has.
const PLACES: usize = 40;
const MORE_PLACES: usize = 100;

fn text(error: impl ToString) -> String {
    error.to_string()
}

/// A call's rows, and how large they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Size {
    rows: usize,
    columns: usize,
    places: usize,
}

const SMALL: Size = Size {
    rows: ROWS,
    columns: COLUMNS,
    places: PLACES,
};

impl Size {
    /// Numbers whose sums round, the same in each block of columns.
    fn values<E: Element>(self) -> Vec<E> {
        let mut random = Random::new(4);
        let mut drawn = || E::of((random.below(1 << 20) as f64 + 0.3) / 70_000.0 - 5.0);
        let blocks = (0..self.rows).flat_map(|_| {
            let block: Vec<E> = (0..COLUMNS).map(|_| drawn()).collect();
            block.repeat(self.columns / COLUMNS)
        });
        blocks.collect()
    }

    /// Where rows go: half of the first ones to one place, those behind them to places behind those of the first.
    fn index(self) -> Vec<i32> {
        let mut random = Random::new(9);
        let first = (0..ROWS.min(self.rows)).map(|at| match at % 2 {
            0 => 3,
            _ => random.below(PLACES) as i32,
        });
        let first: Vec<i32> = first.collect();
        let more = (ROWS..self.rows).map(|at| (PLACES + at * 7 % (self.places - PLACES)) as i32);
        first.into_iter().chain(more).collect()
    }

    /// Segments of the first rows, of which one is long, and of those behind them.
    fn offsets(self) -> Vec<i32> {
        let first = [0, 900, 903, 1000, ROWS as i32];
        let more = (ROWS..self.rows).step_by(50).skip(1);
        let end = (self.rows > ROWS).then_some(self.rows as i32);
        first
            .into_iter()
            .chain(more.map(|at| at as i32))
            .chain(end)
            .collect()
    }
}

/// A hundred runs of a call, and runs of a wider and of a longer one, have the same bits.
fn same_bits<E: Element>(call: impl Fn(Size) -> Result<Vec<E>, String>) -> Outcome {
    let first = call(SMALL)?;
    for run in 1..RUNS {
        same(&call(SMALL)?, &first).map_err(|error| format!("run {run}: {error}"))?;
    }
    let columns = WIDER * COLUMNS;
    let wide = call(Size { columns, ..SMALL })?;
    for block in 0..WIDER {
        let of_block = wide.chunks(columns).flat_map(|row| {
            let columns = &row[block * COLUMNS..(block + 1) * COLUMNS];
            columns.iter().copied()
        });
        let of_block: Vec<E> = of_block.collect();
        same(&of_block, &first).map_err(|error| format!("block {block} of wide rows: {error}"))?;
    }
    let more = call(Size {
        rows: ROWS + MORE,
        places: PLACES + MORE_PLACES,
        ..SMALL
    })?;
    same(&more[..first.len()], &first).map_err(|error| format!("with more rows: {error}"))
}

fn scattered<E: Element>(rt: &Rt) -> Outcome {
    same_bits::<E>(|size| {
        let target: Vec<E> = (0..size.places)
            .flat_map(|place| vec![E::of(place as f64 / 7.0); size.columns])
            .collect();
        let target = rt.put_tensor(&target, &[size.places, size.columns]);
        let updates = rt.put_tensor(&size.values::<E>(), &[size.rows, size.columns]);
        let (index, add) = (rt.put(&size.index()), ScatterMode::Add);
        let (into, index, updates) = (handle(&target), list(&index), handle(&updates));
        let by = Duplicates::Deterministic;
        let done = scatter_into(&rt.client, &into, &index, &updates, 0, add, by);
        done.map_err(text)?.check().map_err(text)?;
        rt.read_tensor(&target).map_err(text)
    })
}

fn scattered_f32(rt: &Rt) -> Outcome {
    scattered::<f32>(rt)
}
fn scattered_f16(rt: &Rt) -> Outcome {
    scattered::<f16>(rt)
}
fn scattered_bf16(rt: &Rt) -> Outcome {
    scattered::<bf16>(rt)
}

fn segments<E: Element>(rt: &Rt) -> Outcome {
    for reduction in [Reduction::Sum, Reduction::Mean] {
        same_bits::<E>(|size| {
            let rows = rt.put_tensor(&size.values::<E>(), &[size.rows, size.columns]);
            let offsets = rt.put(&size.offsets());
            let by = Grouping::Offsets(&list(&offsets));
            let sums = segment_reduce(&rt.client, &handle(&rows), by, reduction);
            read::<E>(rt, &sums.map_err(text)?)
        })
        .map_err(|error| format!("{reduction:?}: {error}"))?;
    }
    Ok(())
}

fn segments_of_f32(rt: &Rt) -> Outcome {
    segments::<f32>(rt)
}
fn segments_of_bf16(rt: &Rt) -> Outcome {
    segments::<bf16>(rt)
}

/// A table, and what a call of bags takes of it.
struct Tables {
    table: TensorHandle,
    index: TensorHandle,
    offsets: TensorHandle,
}

impl Tables {
    fn new<E: Element>(rt: &Rt, size: Size) -> Self {
        let rows = Size {
            rows: size.places,
            ..size
        };
        let table = rt.put_tensor(&rows.values::<E>(), &[size.places, size.columns]);
        let (index, offsets) = (rt.put(&size.index()), rt.put(&size.offsets()));
        Self {
            table: handle(&table),
            index: list(&index),
            offsets: list(&offsets),
        }
    }
}

fn bags_of_f32(rt: &Rt) -> Outcome {
    for reduction in [Reduction::Sum, Reduction::Mean] {
        same_bits::<f32>(|size| {
            let of = Tables::new::<f32>(rt, size);
            let (by, options) = (Grouping::Offsets(&of.offsets), BagOptions::new(reduction));
            let bags = embedding_bag(&rt.client, &of.table, &of.index, by, options);
            read::<f32>(rt, &bags.map_err(text)?.into_inner().values)
        })?;
    }
    Ok(())
}

fn gradients_of_bags<E: Element>(rt: &Rt) -> Outcome {
    for reduction in [Reduction::Sum, Reduction::Mean, Reduction::Max] {
        same_bits::<E>(|size| {
            let of = Tables::new::<E>(rt, size);
            let bags = of.offsets.shape()[0] - 1;
            let slopes = Size { rows: bags, ..size }.values::<E>();
            let slopes = rt.put_tensor(&slopes, &[bags, size.columns]);
            let by = Grouping::Offsets(&of.offsets);
            let options = BagOptions {
                for_backward: true,
                ..BagOptions::new(reduction)
            };
            let client = &rt.client;
            let bags = embedding_bag(client, &of.table, &of.index, by, options).map_err(text)?;
            let gradients = embedding_bag_backward(
                client,
                &handle(&slopes),
                &of.table,
                &of.index,
                by,
                options,
                bags.value(),
                Determinism::RunToRun,
            );
            let of_table = gradients.map_err(text)?.table.ok_or("no gradient")?;
            read::<E>(rt, &of_table)
        })
        .map_err(|error| format!("{reduction:?}: {error}"))?;
    }
    Ok(())
}

fn gradients_of_bags_of_f32(rt: &Rt) -> Outcome {
    gradients_of_bags::<f32>(rt)
}
fn gradients_of_bags_of_f16(rt: &Rt) -> Outcome {
    gradients_of_bags::<f16>(rt)
}
fn gradients_of_bags_of_bf16(rt: &Rt) -> Outcome {
    gradients_of_bags::<bf16>(rt)
}

fn gradients_of_embeddings<E: Element>(rt: &Rt) -> Outcome {
    same_bits::<E>(|size| {
        let slopes = rt.put_tensor(&size.values::<E>(), &[size.rows, size.columns]);
        let (index, slopes) = (list(&rt.put(&size.index())), handle(&slopes));
        let options = GatherOptions {
            determinism: Determinism::RunToRun,
            ..Bounds::Mask.into()
        };
        let sums = gather_backward(&rt.client, &slopes, &index, 0, size.places, options);
        read::<E>(rt, &sums.map_err(text)?)
    })
}

fn gradients_of_embeddings_of_f32(rt: &Rt) -> Outcome {
    gradients_of_embeddings::<f32>(rt)
}
fn gradients_of_embeddings_of_bf16(rt: &Rt) -> Outcome {
    gradients_of_embeddings::<bf16>(rt)
}

fn rows_of_sparse_gradients(rt: &Rt) -> Outcome {
    // As many places as all have rows.
    let distinct = |index: &[i32]| {
        let mut distinct: Vec<_> = index.iter().filter(|&&at| at < PLACES as i32).collect();
        distinct.sort_unstable();
        distinct.dedup();
        distinct.len()
    };
    same_bits::<f32>(|size| {
        let slopes = rt.put_tensor(&size.values::<f32>(), &[size.rows, size.columns]);
        let index = size.index();
        let of_first = distinct(&index) * size.columns;
        let (index, slopes) = (list(&rt.put(&index)), handle(&slopes));
        let combined = combine_rows(&rt.client, &slopes, &index, size.places, None, Bounds::Mask);
        let mut rows = read::<f32>(rt, &combined.map_err(text)?.rows)?;
        rows.truncate(of_first);
        Ok(rows)
    })
}
