//! The kernel of an optimiser's step on some rows.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::Rule;
use crate::segment::plan::{Columns, Plan, share_of};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::view::{Bounds, resolve};

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
