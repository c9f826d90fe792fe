//! The kernels of row-sparse gradients.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::Rule;
use crate::segment::kernels::{Columns, Plan, share_of};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::view::{Bounds, resolve};

/// The distinct rows of a sorted list, and where what belongs to each begins. `rows[k]` is the row of run `k`, -1 where there is
/// none or it is no row; `offsets[k]` where the run begins, where there is none
/// the end of those that are rows.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn runs_kernel<C: Int>(
    values: &[u32],
    begins: &[u32],
    runs: &[C],
    rows: &mut [i32],
    offsets: &mut [u32],
    entries: usize,
    extent: usize,
    #[define(C)] _type: ElemType,
) {
    let mut run = ABSOLUTE_POS;
    let step = CUBE_COUNT * CUBE_DIM as usize;
    let count = usize::cast_from(runs[0]);
    // Entries of no row are behind the others, and the last run.
    let mut end = entries;
    if values[count - 1] as usize >= extent {
        end = begins[count - 1] as usize;
    }
    while run <= entries {
        let mut begin = end;
        if run < count {
            begin = begins[run] as usize;
        }
        offsets[run] = begin as u32;
        if run < entries {
            let known = select(run < count, run, 0usize);
            let value = values[known];
            let is_row = run < count && (value as usize) < extent;
            rows[run] = select(is_row, value as i32, -1i32);
        }
        run += step;
    }
}

/// For each index the row that it names, `extent` where it names none or the padding.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn named_kernel<I: Int>(
    index: &[I],
    rows: &mut [u32],
    entries: usize,
    extent: usize,
    padding: usize,
    #[comptime] bounds: Bounds,
    #[comptime] has_padding: bool,
    #[define(I)] _type: ElemType,
) {
    let mut entry = ABSOLUTE_POS;
    let step = CUBE_COUNT * CUBE_DIM as usize;
    while entry < entries {
        let (row, is_row) = resolve::<I>(index[entry], extent, bounds);
        let mut counts = is_row;
        if comptime!(has_padding) {
            counts = counts && row != padding;
        }
        rows[entry] = select(counts, row as u32, extent as u32);
        entry += step;
    }
}

/// One step of an optimiser on the rows of a parameter that `index` names, each of which it names once. A team of units a row, or
/// a tile of it.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn step_kernel<E: Numeric, A: Float, I: Int, N: Size>(
    parameter: &mut [Vector<E, N>],
    first: &mut [Vector<E, N>],
    second: &mut [Vector<E, N>],
    gradient: &[Vector<E, N>],
    index: &[I],
    columns: Columns,
    rate: InputScalar,
    factor_1: InputScalar,
    factor_2: InputScalar,
    epsilon: InputScalar,
    correction: InputScalar,
    extent: usize,
    count: usize,
    turns: usize,
    #[comptime] rule: Rule,
    #[comptime] plan: Plan,
    #[define(E, A, I)] _types: [ElemType; 3],
) {
    let rate = Vector::<A, N>::new(rate.get::<A>());
    let factor_1 = factor_1.get::<A>();
    let factor_2 = factor_2.get::<A>();
    let epsilon = Vector::<A, N>::new(epsilon.get::<A>());
    let correction = Vector::<A, N>::new(correction.get::<A>());
    for turn in 0..turns {
        let share = share_of(columns, turn, plan);
        if share.item < count {
            let (row, is_row) = resolve::<I>(index[share.item], extent, Bounds::Mask);
            if is_row {
                #[unroll]
                for block in 0..plan.blocks {
                    let vector = share.first + comptime!(block * plan.team as usize);
                    if vector < columns.vectors {
                        let at = row * columns.vectors + vector;
                        let slope =
                            Vector::<A, N>::cast_from(gradient[share.item * columns.step + vector]);
                        let value = Vector::<A, N>::cast_from(parameter[at]);
                        let mut delta = slope;
                        match comptime!(rule) {
                            Rule::Descent => {}
                            Rule::Momentum | Rule::Nesterov => {
                                let held = Vector::<A, N>::cast_from(first[at]);
                                let held =
                                    held * Vector::new(factor_1) + slope * Vector::new(factor_2);
                                first[at] = Vector::cast_from(held);
                                delta = held;
                                if comptime!(rule == Rule::Nesterov) {
                                    delta = held * Vector::new(factor_1) + slope;
                                }
                            }
                            Rule::Adagrad => {
                                let held = Vector::<A, N>::cast_from(first[at]) + slope * slope;
                                first[at] = Vector::cast_from(held);
                                delta = slope / (held.sqrt() + epsilon);
                            }
                            Rule::Adam => {
                                let rest_1 = Vector::new(A::new(1.0) - factor_1);
                                let rest_2 = Vector::new(A::new(1.0) - factor_2);
                                let mean = Vector::<A, N>::cast_from(first[at])
                                    * Vector::new(factor_1)
                                    + slope * rest_1;
                                let square = Vector::<A, N>::cast_from(second[at])
                                    * Vector::new(factor_2)
                                    + slope * slope * rest_2;
                                first[at] = Vector::cast_from(mean);
                                second[at] = Vector::cast_from(square);
                                delta = mean * correction / (square.sqrt() + epsilon);
                            }
                        }
                        parameter[at] = Vector::cast_from(value - delta * rate);
                    }
                }
            }
        }
    }
}
