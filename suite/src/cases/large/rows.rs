//! Rows of tensors of more than 2^31 elements: updates and gathered rows, segments, bags and their gradients, and gradients of few
//! rows.
//!
//! Memory of that size is written nowhere but where a test or what is tested writes it; what the host knows of it is a few rows
//! around those that 31 or 32 bits count.

use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih_kernels::{
    BagOptions, Determinism, Duplicates, GatherOptions, Grouping, Reduction, ScatterMode,
    ScatterOptions, SparseStep, combine_rows, embedding_bag, embedding_bag_backward, gather,
    gather_backward, scatter_into, segment_reduce, sparse_step,
};
use girih_testkit::{
    Rt,
    case::Need,
    cases,
    check::{Exact, same},
    needs,
};
use half::bf16;

use super::lists::{FAST, Lists, list as repeated, text};
use super::{ADDRESSES_64, Alone, COLUMNS, Large, ROWS_31, has_room, small, turn};
use crate::cases::kernels::model::{handle, list};

cases! {
    the_same_of_short_tables needs [needs::U8, needs::ADD_F32],
    adds_bf16_past_the_2_pow_31st_element needs [FAST, needs::BF16, ADDRESSES_64, ROOM],
    adds_in_order_past_the_2_pow_31st_element needs [FAST, ADDRESSES_64, ROOM],
    the_last_wins_past_the_2_pow_31st_element needs [FAST, ADDRESSES_64, ROOM],
    adds_more_than_2_pow_31_updates needs [FAST, ADDRESSES_64, ROOM],
    gathers_more_than_2_pow_31_elements needs [FAST, needs::U8, ADDRESSES_64, ROOM],
    reduces_segments_past_the_2_pow_31st_element needs [FAST, ADDRESSES_64, ROOM],
    combines_bags_past_the_2_pow_31st_element needs [FAST, ADDRESSES_64, ROOM],
    gradients_of_bags_past_the_2_pow_31st_element needs [FAST, ADDRESSES_64, ROOM],
    gradients_of_embeddings_past_the_2_pow_31st_element needs [FAST, ADDRESSES_64, ROOM],
    steps_past_the_2_pow_31st_element needs [FAST, ADDRESSES_64, ROOM],
}

/// Two tables of f32 at most, and what others leave.
const ROOM: Need = Need {
    what: "room for 2^31 elements of 32 bits, six times over",
    met: |rt| has_room(rt, 4 * ROWS_31 * COLUMNS),
};

type Outcome = Result<(), String>;

/// Rows of tables on which every device shows that the comparisons hold.
const SHORT: usize = 613;

/// A case by a number of rows, and its name.
type Case = (&'static str, fn(&Rt, usize) -> Outcome);

fn the_same_of_short_tables(rt: &Rt) -> Outcome {
    let all: [Case; 9] = [
        ("adds in order", adds_in_order),
        ("the last wins", the_last_wins),
        ("adds updates", adds_updates),
        ("gathers", gathers),
        ("segments", reduces_segments),
        ("bags", combines_bags),
        ("gradients of bags", gradients_of_bags),
        ("gradients of embeddings", gradients_of_embeddings),
        ("steps", steps),
    ];
    all.into_iter()
        .try_for_each(|(name, of)| of(rt, SHORT).map_err(|error| format!("{name}: {error}")))
}

fn adds_bf16_past_the_2_pow_31st_element(rt: &Rt) -> Outcome {
    let _alone = Alone::new(rt)?;
    adds_bf16(rt, ROWS_31)
}
fn adds_in_order_past_the_2_pow_31st_element(rt: &Rt) -> Outcome {
    let _alone = Alone::new(rt)?;
    adds_in_order(rt, ROWS_31)
}
fn the_last_wins_past_the_2_pow_31st_element(rt: &Rt) -> Outcome {
    let _alone = Alone::new(rt)?;
    the_last_wins(rt, ROWS_31)
}
fn adds_more_than_2_pow_31_updates(rt: &Rt) -> Outcome {
    let _alone = Alone::new(rt)?;
    adds_updates(rt, ROWS_31)
}
fn gathers_more_than_2_pow_31_elements(rt: &Rt) -> Outcome {
    let _alone = Alone::new(rt)?;
    gathers(rt, ROWS_31)
}
fn reduces_segments_past_the_2_pow_31st_element(rt: &Rt) -> Outcome {
    let _alone = Alone::new(rt)?;
    reduces_segments(rt, ROWS_31)
}
fn combines_bags_past_the_2_pow_31st_element(rt: &Rt) -> Outcome {
    let _alone = Alone::new(rt)?;
    combines_bags(rt, ROWS_31)
}
fn gradients_of_bags_past_the_2_pow_31st_element(rt: &Rt) -> Outcome {
    let _alone = Alone::new(rt)?;
    gradients_of_bags(rt, ROWS_31)
}
fn gradients_of_embeddings_past_the_2_pow_31st_element(rt: &Rt) -> Outcome {
    let _alone = Alone::new(rt)?;
    gradients_of_embeddings(rt, ROWS_31)
}
fn steps_past_the_2_pow_31st_element(rt: &Rt) -> Outcome {
    let _alone = Alone::new(rt)?;
    steps(rt, ROWS_31)
}

/// Rows behind those that are known, each beside one.
fn beside(rows: &[i32]) -> Vec<i32> {
    let beside = rows.iter().map(|row| row ^ 0x40);
    beside.filter(|row| !rows.contains(row)).collect()
}

/// Reads some rows of a table.
fn read_rows<E: CubeElement>(
    rt: &Rt,
    table: &TensorHandle,
    rows: &[i32],
) -> Result<Vec<E>, String> {
    let size = (COLUMNS * size_of::<E>()) as u64;
    let mut read = vec![];
    for &row in rows {
        let from = table.handle.clone().offset_start(row as u64 * size);
        let rest = from.size_in_used() - size;
        let bytes = rt.client.read_one(from.offset_end(rest)).map_err(text)?;
        read.extend_from_slice(E::from_bytes(&bytes));
    }
    Ok(read)
}

/// Writes rows of numbers, and scatters others.
fn scatters<E: CubeElement + Numeric + Exact>(
    rt: &Rt,
    rows: usize,
    mode: ScatterMode,
    options: ScatterOptions,
    add: fn(E, E) -> E,
) -> Outcome {
    let large = Large::<E>::new(rt, rows);
    large.scatter(&large.values, ScatterMode::Set)?;
    let more: Vec<E> = (0..large.values.len()).map(|at| small(at, 11)).collect();
    let updates = rt.put_tensor(&more, &[large.rows.len(), COLUMNS]);
    let index = list(&rt.put(&large.rows));
    let updates = handle(&updates);
    let client = &rt.client;
    let done = scatter_into(client, &large.table, &index, &updates, 0, mode, options);
    done.map_err(text)?.check().map_err(text)?;
    let sums = large.values.iter().zip(&more).map(|(a, b)| add(*a, *b));
    let sums: Vec<E> = sums.collect();
    large.check(&sums)?;
    large.check_as_one_axis(&sums)?;
    large.done()
}

fn adds_bf16(rt: &Rt, rows: usize) -> Outcome {
    let options = ScatterOptions::default();
    scatters::<bf16>(rt, rows, ScatterMode::Add, options, |a, b| a + b)
}

fn adds_in_order(rt: &Rt, rows: usize) -> Outcome {
    let options = Duplicates::Deterministic.into();
    scatters::<f32>(rt, rows, ScatterMode::Add, options, |a, b| a + b)
}

fn the_last_wins(rt: &Rt, rows: usize) -> Outcome {
    let options = Duplicates::LastWins.into();
    scatters::<u32>(rt, rows, ScatterMode::Set, options, |_, b| b)
}

/// Rows of updates that repeat seven, added to five places.
fn adds_updates(rt: &Rt, rows: usize) -> Outcome {
    const ROWS: usize = 7;
    const PLACES: usize = 5;
    let table: Vec<u32> = (0..ROWS * COLUMNS).map(|at| small(at, 7)).collect();
    let length = rows * COLUMNS;
    let updates = repeated(Lists { rt, length }, &table);
    let updates = TensorHandle::new_contiguous(vec![rows, COLUMNS], updates.handle, updates.dtype);
    let index: Vec<i32> = (0..rows).map(|at| (at % PLACES) as i32).collect();
    let index = list(&rt.put(&index));
    let target = rt.put_tensor(&vec![0u32; PLACES * COLUMNS], &[PLACES, COLUMNS]);
    let (into, add) = (handle(&target), ScatterMode::Add);
    let done = scatter_into(&rt.client, &into, &index, &updates, 0, add, Bounds::Mask);
    done.map_err(text)?.check().map_err(text)?;
    let mut want = vec![0u32; PLACES * COLUMNS];
    for turn in 0..ROWS * PLACES {
        let times = rows.saturating_sub(turn).div_ceil(ROWS * PLACES) as u32;
        let (row, place) = (turn % ROWS, turn % PLACES);
        for column in 0..COLUMNS {
            let added = times.wrapping_mul(table[row * COLUMNS + column]);
            let sum = &mut want[place * COLUMNS + column];
            *sum = sum.wrapping_add(added);
        }
    }
    same(&rt.read_tensor(&target).map_err(text)?, &want)?;
    drop(updates);
    rt.client.memory_cleanup().map_err(text)
}

/// Rows of a small table, more than 2^31 elements of them.
fn gathers(rt: &Rt, rows: usize) -> Outcome {
    const ROWS: usize = 97;
    let table: Vec<u8> = (0..ROWS * COLUMNS).map(|at| small(at, 7)).collect();
    let of = |at: usize| at * 31 % ROWS;
    let index: Vec<i32> = (0..rows).map(|at| of(at) as i32).collect();
    let (input, index) = (
        rt.put_tensor(&table, &[ROWS, COLUMNS]),
        list(&rt.put(&index)),
    );
    let found = gather(&rt.client, &handle(&input), &index, 0, Bounds::Mask).map_err(text)?;
    let known = Large::<u8>::known(rows);
    let looked_at: Vec<i32> = known.iter().copied().chain(beside(&known)).collect();
    let want: Vec<u8> = looked_at
        .iter()
        .flat_map(|&row| {
            let first = of(row as usize) * COLUMNS;
            table[first..first + COLUMNS].iter().copied()
        })
        .collect();
    same(&read_rows::<u8>(rt, found.value(), &looked_at)?, &want)?;
    drop(found);
    rt.client.memory_cleanup().map_err(text)
}

/// Segments of known rows, and between them what nobody knows.
fn reduces_segments(rt: &Rt, rows: usize) -> Outcome {
    let large = Large::<f32>::new(rt, rows);
    large.scatter(&large.values, ScatterMode::Set)?;
    let turn = turn(rows);
    let offsets = [0, 2, turn - 1, turn + 2, rows - 1, rows];
    let offsets = list(&rt.put(&offsets.map(|at| at as i32)));
    let by = Grouping::Offsets(&offsets);
    let sums = segment_reduce(&rt.client, &large.table, by, Reduction::Sum).map_err(text)?;
    let members = [vec![0, 1], vec![turn - 1, turn, turn + 1], vec![rows - 1]];
    let mut want = vec![];
    for members in &members {
        let known = |row: &usize| large.rows.iter().position(|&known| known as usize == *row);
        let members: Vec<usize> = members.iter().filter_map(known).collect();
        for column in 0..COLUMNS {
            let of_column = members
                .iter()
                .map(|row| large.values[row * COLUMNS + column]);
            want.push(of_column.sum::<f32>());
        }
    }
    same(&read_rows::<f32>(rt, &sums, &[0, 2, 4])?, &want)?;
    large.done()
}

fn combines_bags(rt: &Rt, rows: usize) -> Outcome {
    let large = Large::<f32>::new(rt, rows);
    large.scatter(&large.values, ScatterMode::Set)?;
    let index = list(&rt.put(&large.rows));
    // The known rows, one after another and all together.
    let each = Grouping::Length(1);
    let options = BagOptions::new(Reduction::Sum);
    let bags = embedding_bag(&rt.client, &large.table, &index, each, options).map_err(text)?;
    let places: Vec<i32> = (0..large.rows.len() as i32).collect();
    same(
        &read_rows::<f32>(rt, &bags.value().values, &places)?,
        &large.values,
    )?;
    let all = Grouping::Length(large.rows.len());
    let options = BagOptions::new(Reduction::Max);
    let bags = embedding_bag(&rt.client, &large.table, &index, all, options).map_err(text)?;
    let largest = (0..COLUMNS).map(|column| {
        let of_column = large.values.iter().skip(column).step_by(COLUMNS);
        of_column.copied().fold(0.0, f32::max)
    });
    let largest: Vec<f32> = largest.collect();
    same(&read_rows::<f32>(rt, &bags.value().values, &[0])?, &largest)?;
    large.done()
}

/// The known rows of a gradient of a large table are these, and rows beside them 0.
fn check_gradient(rt: &Rt, gradient: &TensorHandle, known: &[i32], values: &[f32]) -> Outcome {
    same(&read_rows::<f32>(rt, gradient, known)?, values)?;
    let beside = beside(known);
    let zeros = vec![0.0; beside.len() * COLUMNS];
    same(&read_rows::<f32>(rt, gradient, &beside)?, &zeros)
}

/// Slopes of the known rows, each twice: of the sum of both each row has.
struct Slopes {
    known: Vec<i32>,
    index: TensorHandle,
    rows: TensorHandle,
    sums: Vec<f32>,
}

impl Slopes {
    fn new(rt: &Rt, rows: usize) -> Self {
        let known = Large::<f32>::known(rows);
        let count = known.len() * COLUMNS;
        let first: Vec<f32> = (0..count).map(|at| small(at, 7)).collect();
        let second: Vec<f32> = (0..count).map(|at| small(at, 11)).collect();
        let sums = first.iter().zip(&second).map(|(a, b)| a + b).collect();
        let both = rt.put_tensor(&[first, second].concat(), &[2 * known.len(), COLUMNS]);
        Self {
            index: list(&rt.put(&known.repeat(2))),
            rows: handle(&both),
            known,
            sums,
        }
    }
}

fn gradients_of_bags(rt: &Rt, rows: usize) -> Outcome {
    let slopes = Slopes::new(rt, rows);
    let large = Large::<f32>::new(rt, rows);
    let by = Grouping::Length(1);
    let options = BagOptions {
        for_backward: true,
        ..BagOptions::new(Reduction::Sum)
    };
    let client = &rt.client;
    let bags = embedding_bag(client, &large.table, &slopes.index, by, options).map_err(text)?;
    for determinism in [Determinism::Any, Determinism::RunToRun] {
        let gradients = embedding_bag_backward(
            client,
            &slopes.rows,
            &large.table,
            &slopes.index,
            by,
            options,
            bags.value(),
            determinism,
        );
        let of_table = gradients.map_err(text)?.table.ok_or("no gradient")?;
        check_gradient(rt, &of_table, &slopes.known, &slopes.sums)
            .map_err(|error| format!("{determinism:?}: {error}"))?;
    }
    drop(bags);
    large.done()
}

fn gradients_of_embeddings(rt: &Rt, rows: usize) -> Outcome {
    let slopes = Slopes::new(rt, rows);
    for determinism in [Determinism::Any, Determinism::RunToRun] {
        let options = GatherOptions {
            determinism,
            ..Bounds::Mask.into()
        };
        let (client, of_rows) = (&rt.client, &slopes.rows);
        let found = gather_backward(client, of_rows, &slopes.index, 0, rows, options);
        check_gradient(rt, &found.map_err(text)?, &slopes.known, &slopes.sums)
            .map_err(|error| format!("{determinism:?}: {error}"))?;
    }
    rt.client.memory_cleanup().map_err(text)
}

fn steps(rt: &Rt, rows: usize) -> Outcome {
    let slopes = Slopes::new(rt, rows);
    let large = Large::<f32>::new(rt, rows);
    large.scatter(&large.values, ScatterMode::Set)?;
    let (client, bounds) = (&rt.client, Bounds::Mask);
    let gradient = combine_rows(client, &slopes.rows, &slopes.index, rows, None, bounds);
    let gradient = gradient.map_err(text)?;
    let step = SparseStep::Sgd { rate: 0.5 };
    sparse_step(client, &large.table, &[], &gradient, step).map_err(text)?;
    let stepped = large.values.iter().zip(&slopes.sums);
    let stepped: Vec<f32> = stepped.map(|(value, slope)| value - 0.5 * slope).collect();
    large.check(&stepped)?;
    large.done()
}
