//! What calls on rows take: no more than 1.1 times their arguments, unless the order of floats is fixed, and then what is stated.

use super::{FEW, allocated, takes};
use crate::cases::kernels::model::{handle, list};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih_kernels::{
    BagOptions, Determinism, Duplicates, GatherOptions, Grouping, Reduction, ScatterMode,
    ScatterOptions, SparseStep, combine_rows, embedding_bag, embedding_bag_backward, gather,
    gather_backward, scatter_into, segment_reduce, sparse_step,
};
use girih_testkit::{Rt, cases, needs};
use half::{bf16, f16};

cases! {
    a_gather_takes_its_result,
    a_scatter_takes_nothing needs [needs::ADD_F32],
    a_scatter_of_bf16_takes_nothing_where_it_is_atomic needs [needs::BF16],
    a_scatter_in_order_takes_what_it_states,
    the_gradient_of_an_embedding_takes_its_result needs [needs::ADD_F32],
    segments_and_bags_take_a_part_of_their_rows,
    the_gradient_of_bags_of_f32_takes_its_result needs [needs::ADD_F32],
    the_gradient_of_bags_of_f16_takes_no_more_than_its_arguments needs [needs::F16, needs::ADD_F32],
    the_gradient_of_bags_of_bf16_takes_no_more_than_its_arguments needs [needs::BF16, needs::ADD_F32],
    a_sparse_step_takes_nothing,
}

type Outcome = Result<(), String>;

/// Elements of a row.
const COLUMNS: usize = 64;
/// Indices of a call.
const ENTRIES: usize = 4096;
/// What an index may take where indices are sorted: keys and places, each twice and once between passes, and what they are made of.
const SORTED: usize = 40;

fn ones<E: CubeElement + Numeric>(rt: &Rt, rows: usize) -> TensorHandle {
    let values = vec![E::from_int(1); rows * COLUMNS];
    handle(&rt.put_tensor(&values, &[rows, COLUMNS]))
}

/// Indices of rows, all over the table.
fn index(rt: &Rt, extent: usize) -> TensorHandle {
    let places: Vec<i32> = (0..ENTRIES).map(|at| (at * 7919 % extent) as i32).collect();
    list(&rt.put(&places))
}

/// Bytes of rows.
fn bytes<E>(rows: usize) -> usize {
    rows * COLUMNS * size_of::<E>()
}

/// Counts of a sort of the indices' keys.
fn counts() -> u64 {
    (ENTRIES.div_ceil(512) * 1024) as u64
}

fn a_gather_takes_its_result(rt: &Rt) -> Outcome {
    let (input, index) = (ones::<f32>(rt, 512), index(rt, 512));
    let taken = allocated(rt, |rt| gather(&rt.client, &input, &index, 0, Bounds::Mask))?;
    let result = bytes::<f32>(ENTRIES);
    takes("a gather", taken, result, result as u64 + FEW)
}

fn scattered(
    rt: &Rt,
    target: &TensorHandle,
    updates: &TensorHandle,
    mode: ScatterMode,
    options: ScatterOptions,
) -> Result<u64, String> {
    let index = index(rt, target.shape()[0]);
    allocated(rt, |rt| {
        scatter_into(&rt.client, target, &index, updates, 0, mode, options)
    })
}

fn a_scatter_takes_nothing(rt: &Rt) -> Outcome {
    // Few rows and many: those that shared memory has room for, and others.
    for rows in [16, 4096] {
        let (target, updates) = (ones::<f32>(rt, rows), ones::<f32>(rt, ENTRIES));
        for mode in [ScatterMode::Set, ScatterMode::Add] {
            let taken = scattered(rt, &target, &updates, mode, Default::default())?;
            takes("a scatter", taken, 0, FEW)?;
        }
        // A vote for each row.
        let last = Duplicates::LastWins.into();
        let taken = scattered(rt, &target, &updates, ScatterMode::Set, last)?;
        takes("the last update", taken, 0, 4 * rows as u64 + FEW)?;
    }
    Ok(())
}

fn a_scatter_of_bf16_takes_nothing_where_it_is_atomic(rt: &Rt) -> Outcome {
    let (target, updates) = (ones::<bf16>(rt, 4096), ones::<bf16>(rt, ENTRIES));
    let taken = scattered(rt, &target, &updates, ScatterMode::Add, Default::default())?;
    let device = girih::device::Device::of(&rt.client);
    let is_atomic = [2, 4, 8].map(|width| device.adds_atomically(bf16::elem_type_native(), width));
    let most = match is_atomic.contains(&true) {
        true => FEW,
        false => in_order(),
    };
    takes("a scatter of bf16", taken, 0, most)
}

/// What updates in the order of their places take: two of 32 are carried, in f32, and of those two of 32 again.
fn in_order() -> u64 {
    let carried = ENTRIES / 16 * (4 * COLUMNS + 4);
    (SORTED * ENTRIES + carried + carried / 8) as u64 + counts() + FEW
}

fn a_scatter_in_order_takes_what_it_states(rt: &Rt) -> Outcome {
    let options = ScatterOptions::from(Duplicates::Deterministic);
    let (target, updates) = (ones::<f32>(rt, 1024), ones::<f32>(rt, ENTRIES));
    let taken = scattered(rt, &target, &updates, ScatterMode::Add, options)?;
    takes("a scatter in order", taken, 8 * ENTRIES, in_order())
}

/// Windows of 64 entries have two rows of f32 each.
const WINDOWS: usize = ENTRIES / 64 * (2 * 4 * COLUMNS + 16);

fn the_gradient_of_an_embedding_takes_its_result(rt: &Rt) -> Outcome {
    let extent = 2048;
    let (slopes, index) = (ones::<f32>(rt, ENTRIES), index(rt, extent));
    let result = bytes::<f32>(extent);
    for (determinism, more) in [
        (Determinism::Any, FEW),
        (
            Determinism::RunToRun,
            (SORTED * ENTRIES + 4 * extent + WINDOWS) as u64 + counts() + FEW,
        ),
    ] {
        let options = GatherOptions {
            determinism,
            ..Bounds::Mask.into()
        };
        let taken = allocated(rt, |rt| {
            gather_backward(&rt.client, &slopes, &index, 0, extent, options)
        })?;
        takes("the gradient", taken, result, result as u64 + more)
            .map_err(|error| format!("{determinism:?}: {error}"))?;
    }
    Ok(())
}

fn segments_and_bags_take_a_part_of_their_rows(rt: &Rt) -> Outcome {
    let (values, index) = (ones::<f32>(rt, ENTRIES), index(rt, ENTRIES));
    let by = Grouping::Length(128);
    let result = bytes::<f32>(ENTRIES / 128);
    let most = (result + WINDOWS) as u64 + FEW;
    let taken = allocated(rt, |rt| {
        segment_reduce(&rt.client, &values, by, Reduction::Sum)
    })?;
    takes("segments", taken, result, most)?;
    let options = BagOptions::new(Reduction::Mean);
    let taken = allocated(rt, |rt| {
        embedding_bag(&rt.client, &values, &index, by, options)
    })?;
    takes("bags", taken, result, most)
}

/// What the gradient of a table of so many rows takes, of bags of one index each.
fn gradient_of_bags<E: CubeElement + Numeric>(rt: &Rt, extent: usize) -> Result<u64, String> {
    let (table, slopes) = (ones::<E>(rt, extent), ones::<E>(rt, ENTRIES));
    let (index, by) = (index(rt, extent), Grouping::Length(1));
    let options = BagOptions {
        for_backward: true,
        ..BagOptions::new(Reduction::Sum)
    };
    let bags = embedding_bag(&rt.client, &table, &index, by, options);
    let bags = bags.map_err(|error| error.to_string())?.into_inner();
    allocated(rt, |rt| {
        embedding_bag_backward(
            &rt.client,
            &slopes,
            &table,
            &index,
            by,
            options,
            &bags,
            Determinism::Any,
        )
    })
}

fn the_gradient_of_bags_of_f32_takes_its_result(rt: &Rt) -> Outcome {
    let result = bytes::<f32>(8192);
    let taken = gradient_of_bags::<f32>(rt, 8192)?;
    takes("the gradient", taken, result, result as u64 + FEW)
}

fn of_halves<E: CubeElement + Numeric>(rt: &Rt) -> Outcome {
    // A table that is small beside the gradient is added up in f32.
    let (few, many) = (1024, 32_768);
    let taken = gradient_of_bags::<E>(rt, few)?;
    let most = bytes::<E>(few) + bytes::<f32>(few);
    takes("of few rows", taken, bytes::<E>(few), most as u64 + FEW)?;
    let arguments = bytes::<E>(few) + bytes::<E>(ENTRIES) + 4 * ENTRIES;
    assert!(10 * bytes::<f32>(few) <= 11 * arguments);
    // One that is not is not.
    let taken = gradient_of_bags::<E>(rt, many)?;
    let sorted = SORTED * ENTRIES + 4 * many + WINDOWS;
    let most = (bytes::<E>(many) + sorted) as u64 + counts() + FEW;
    takes("of many rows", taken, bytes::<E>(many), most)
}

fn the_gradient_of_bags_of_f16_takes_no_more_than_its_arguments(rt: &Rt) -> Outcome {
    of_halves::<f16>(rt)
}
fn the_gradient_of_bags_of_bf16_takes_no_more_than_its_arguments(rt: &Rt) -> Outcome {
    of_halves::<bf16>(rt)
}

fn a_sparse_step_takes_nothing(rt: &Rt) -> Outcome {
    let extent = 2048;
    let (table, slopes) = (ones::<f32>(rt, extent), ones::<f32>(rt, ENTRIES));
    let index = index(rt, extent);
    let gradient = combine_rows(&rt.client, &slopes, &index, extent, None, Bounds::Mask);
    let gradient = gradient.map_err(|error| error.to_string())?;
    let step = SparseStep::Sgd { rate: 0.5 };
    let taken = allocated(rt, |rt| {
        sparse_step(&rt.client, &table, &[], &gradient, step)
    })?;
    takes("a step", taken, 0, FEW)
}
