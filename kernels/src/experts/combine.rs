//! The kernels that add up what a token's experts made of it, and that give each row its token's gradient.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// Elements of vectors have no assigning operators in a kernel.
#![allow(clippy::assign_op_pattern)]
#![allow(clippy::too_many_arguments)]

use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::coop::Sum;
use girih::prelude::*;
use girih::view::resolve;

/// Rows of a token that are read at once.
const AT_ONCE: usize = 8;

/// `out[t, ..] =` the sum over `j` of `weights[t, j] rows[places[t, j], ..]`, in this order; a unit to a vector of the result.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn combine_kernel<E: Float, W: Float, N: Size>(
    rows: &[Vector<E, N>],
    places: &[i32],
    weights: ComptimeOption<Box<[W]>>,
    out: &mut [Vector<E, N>],
    count: usize,
    vectors: usize,
    step: usize,
    all: usize,
    #[comptime] chosen: usize,
    #[define(E, W)] _types: [ElemType; 2],
) {
    let mut at = ABSOLUTE_POS;
    while at < all {
        let token = at / vectors;
        let vector = at % vectors;
        let mut sum = Vector::<W, N>::new(W::from_int(0));
        #[unroll(comptime!(chosen <= AT_ONCE))]
        for turn in 0..chosen {
            let route = token * chosen + turn;
            let (row, is_row) = resolve::<i32>(places[route], count, Bounds::Mask);
            if is_row {
                let value = Vector::<W, N>::cast_from(rows[row * step + vector]);
                #[comptime]
                match &weights {
                    ComptimeOption::Some(weights) => {
                        sum = sum + value * Vector::new(weights[route]);
                    }
                    ComptimeOption::None => {
                        sum = sum + value;
                    }
                }
            }
        }
        out[at] = Vector::cast_from(sum);
        at += CUBE_COUNT * CUBE_DIM as usize;
    }
}

/// How routes are shared out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Teams {
    /// Units of a team, all in one plane.
    pub team: u32,
    /// Units of a cube.
    pub units: u32,
    /// Experts of a token.
    pub chosen: usize,
}

/// The gradients of the rows, `weights[t, j] gradient[t, ..]` at `places[t, j]`, and of the weights, the product of `gradient[t, ..]`
/// with that row; a team of units to a route.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn combine_backward_kernel<E: Float, W: Float, N: Size>(
    gradient: &[Vector<E, N>],
    rows: &[Vector<E, N>],
    places: &[i32],
    weights: &[W],
    of_rows: &mut [Vector<E, N>],
    of_weights: &mut [W],
    count: usize,
    vectors: usize,
    gradient_step: usize,
    rows_step: usize,
    routes: usize,
    turns: usize,
    #[comptime] teams: Teams,
    #[define(E, W)] _types: [ElemType; 2],
) {
    let team = this_cube().partition(group_by(comptime!(teams.team)));
    let per_cube = comptime!((teams.units / teams.team) as usize);
    for turn in 0..turns {
        let cube = turn * CUBE_COUNT + CUBE_POS;
        let number = cube * per_cube + team.group_rank() as usize;
        // The units of a plane go through the same steps, whether there is anything for them or not.
        let is_route = number < routes;
        let route = select(is_route, number, routes - 1);
        let (row, is_row) = resolve::<i32>(places[route], count, Bounds::Mask);
        let weight = Vector::<W, N>::new(weights[route]);
        let token = route / comptime!(teams.chosen);
        let mut sum = Vector::<W, N>::new(W::from_int(0));
        if is_route && is_row {
            let mut vector = team.unit_rank() as usize;
            while vector < vectors {
                let slope = Vector::<W, N>::cast_from(gradient[token * gradient_step + vector]);
                let value = Vector::<W, N>::cast_from(rows[row * rows_step + vector]);
                of_rows[row * vectors + vector] = Vector::cast_from(slope * weight);
                sum = sum + slope * value;
                vector += comptime!(teams.team as usize);
            }
        }
        let mut dot = W::from_int(0);
        #[unroll]
        for lane in 0..N::value() {
            dot += sum.extract(lane);
        }
        let dot = team.reduce::<W, Sum>(dot);
        if is_route && team.unit_rank() == 0u32 {
            of_weights[route] = dot;
        }
    }
}
