//! Products by matrix instructions, added to a tile that planes hold as fragments.

use super::Held;
use super::factor::{Factor, Reading, registers};
use super::fragments::Blocks;
use super::spread::coordinates;
use crate::coop::GroupExpand;
use crate::device::{expanded_for, warp_matrix};
use crate::layout::{KernelLayoutExpand, Number, ThreadValueLayout, WarpMatrix};
use cubecl::cmma::MatrixShape;
use cubecl::frontend::branch;
use cubecl::ir::dialect::matrix::MmaManualOp;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use pliron::value::Value;

/// At most as many steps along K are unrolled, so that the loads of the next overlap with the instructions of one.
const UNROLL: u64 = 4;

/// A product of tiles by matrix instructions.
pub(super) struct Fragments<'a, E: Scalar> {
    pub held: &'a Held<E>,
    pub blocks: Blocks,
    pub matrix: WarpMatrix,
    /// The extents of the sums.
    pub dims: &'a [usize],
    pub left: &'a dyn Factor,
    pub right: &'a dyn Factor,
}

/// The instruction by which factors are multiplied, given those for whose products the sums are held: the one of the most products,
/// of which there are as many.
pub(super) fn instruction<E: Scalar>(
    scope: &Scope,
    held_for: ElemType,
    factors: [ElemType; 2],
    products: usize,
) -> Option<WarpMatrix> {
    let (_, properties) = expanded_for(scope)?;
    let factors = factors.map(|factor| multiplied_as(held_for, factor));
    warp_matrix(&properties, factors, E::elem_type(scope), products as u64)
}

/// As what a factor is multiplied: `f32` as `tf32` where the sums are held for that.
fn multiplied_as(held_for: ElemType, factor: ElemType) -> ElemType {
    match (held_for, factor) {
        (TF32, ElemType::Float(FloatKind::F32)) => TF32,
        _ => factor,
    }
}

const TF32: ElemType = ElemType::Float(FloatKind::TF32);

/// Where a unit is in a block, as far as the kernel alone knows, for one operand.
struct Origin {
    at: [NativeExpand<u32>; 2],
}

impl<E: Scalar> Fragments<'_, E> {
    /// Adds the products along K from 0 on, of which there are `steps` times as many as the instruction adds.
    pub(super) fn add(&self, scope: &Scope, group: &GroupExpand, steps: u64) {
        let units = u64::from(group.holders("Tile::mma"));
        let rank = Number::below(group.rank(), units);
        let add = |scope: &Scope| self.add_block(scope, rank, steps);
        match self.blocks.units() == units {
            true => add(scope),
            // The planes past the last block hold none of the sums.
            false => {
                let has_block = rank.is_below(scope, Number::Known(self.blocks.units()));
                branch::if_expand(scope, has_block, add);
            }
        }
    }

    fn add_block(&self, scope: &Scope, rank: Number, steps: u64) {
        let [lane, plane] = split(scope, rank, Number::Known(WarpMatrix::THREADS));
        let [column, row] = split(scope, plane, Number::Known(self.blocks.per_row()));
        let [rows, columns] = self.blocks.extents(self.dims);
        let left = Origin::of(scope, &self.matrix.left(), lane);
        let right = Origin::of(scope, &self.matrix.right(), lane);
        let left = left.moved(scope, 0, row.mul(scope, Number::Known(rows)));
        let right = right.moved(scope, 1, column.mul(scope, Number::Known(columns)));
        let range = RangeExpand::new(0u32.into(), (steps as u32).into());
        branch::for_expand(scope, range, steps <= UNROLL, |scope, step| {
            let step = Number::below(step, steps);
            let first = step.mul(scope, Number::Known(self.matrix.inner()));
            self.add_step(
                scope,
                &left.moved(scope, 1, first),
                &right.moved(scope, 0, first),
            );
        });
    }

    /// One step along K: every instruction of the block.
    fn add_step(&self, scope: &Scope, left: &Origin, right: &Origin) {
        let [rows, columns] = self.blocks.extents(self.dims);
        let (rows, columns) = (rows / WarpMatrix::ROWS, columns / WarpMatrix::COLUMNS);
        let rights: Vec<_> = (0..columns)
            .map(|column| {
                let further = [0, column * WarpMatrix::COLUMNS];
                self.read(scope, self.right, 0, &self.matrix.right(), right, further)
            })
            .collect();
        for row in 0..rows {
            let further = [row * WarpMatrix::ROWS, 0];
            let left = self.read(scope, self.left, 1, &self.matrix.left(), left, further);
            for (column, right) in (0..).zip(&rights) {
                self.multiply(scope, left, *right, row * columns + column);
            }
        }
    }

    /// The fragment of a factor whose tile starts so much further on.
    fn read(
        &self,
        scope: &Scope,
        factor: &dyn Factor,
        axis: usize,
        spread: &ThreadValueLayout,
        origin: &Origin,
        further: [u64; 2],
    ) -> Value {
        let per_register = self.matrix.per_register();
        let values = spread.values().size().value();
        let places: Vec<_> = (0..values)
            .step_by(per_register as usize)
            .map(|value| {
                let [down, along] = place_of(spread, value);
                origin.at(scope, [further[0] + down, further[1] + along])
            })
            .collect();
        let reading = Reading {
            axis,
            width: per_register as usize,
            rounds: self.rounds(scope, factor),
        };
        factor.fragment(scope, &places, reading)
    }

    fn rounds(&self, scope: &Scope, factor: &dyn Factor) -> bool {
        let held_for = self.held.factors();
        held_for == Some(TF32) && factor.element(scope) != TF32
    }

    /// One instruction, on the sums of the block's tile of this number.
    fn multiply(&self, scope: &Scope, left: Value, right: Value, tile: u64) {
        let packets = WarpMatrix::sums().values().size().value() / WarpMatrix::NEIGHBOURS;
        let steps = || (0..packets).map(|packet| (tile * packets + packet) as usize);
        let before: Vec<_> = steps()
            .map(|step| self.held.get_at(scope, step.into()))
            .collect();
        let sums = registers(scope, &before, Blocks::WIDTH);
        let to = sums.__extract_list(scope);
        let so_far = sums.read_value(scope);
        let shape = MatrixShape::from((
            WarpMatrix::ROWS as usize,
            WarpMatrix::COLUMNS as usize,
            self.matrix.inner() as usize,
        ));
        let op = MmaManualOp::new(scope.ctx_mut(), left, right, so_far, to, shape);
        scope.register(&op);
        for (index, step) in steps().enumerate() {
            let index = NativeExpand::<usize>::from(index);
            let sum = sums.__expand_index_method(scope, index);
            let sum = sum.__expand_deref_method(scope).read_value(scope);
            self.held.put_at(scope, step.into(), sum.into());
        }
    }
}

impl Origin {
    /// The place of a thread's first value.
    fn of(scope: &Scope, spread: &ThreadValueLayout, lane: Number) -> Self {
        let layout = KernelLayoutExpand::known(spread.layout());
        let element = layout.number(scope, [lane, Number::Known(0)]);
        let extents: Vec<_> = spread
            .tile_shape()
            .leaves()
            .map(|extent| extent.value() as usize)
            .collect();
        // The first mode of a layout moves fastest.
        let at = coordinates(scope, &[extents[1], extents[0]], element);
        Self { at: [at[1], at[0]] }
    }

    fn moved(&self, scope: &Scope, axis: usize, distance: Number) -> Self {
        let mut at = self.at;
        at[axis] = match distance {
            Number::Known(0) => at[axis],
            _ => at[axis].__expand_add_method(scope, distance.narrow(scope)),
        };
        Self { at }
    }

    fn at(&self, scope: &Scope, distances: [u64; 2]) -> [NativeExpand<u32>; 2] {
        let [down, along] = distances.map(Number::Known);
        self.moved(scope, 0, down).moved(scope, 1, along).at
    }
}

/// How far a value is from the first, the same for every thread.
fn place_of(spread: &ThreadValueLayout, value: u64) -> [u64; 2] {
    let coord = spread.coord(0, value).expect("a fragment has these values");
    let mut leaves = coord.leaves().map(|leaf| leaf.value());
    [(); 2].map(|()| leaves.next().unwrap_or(0))
}

/// The remainder and the quotient.
fn split(scope: &Scope, number: Number, by: Number) -> [Number; 2] {
    [number.rem(scope, by), number.div(scope, by)]
}
