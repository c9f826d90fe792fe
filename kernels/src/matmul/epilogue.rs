//! What becomes of sums: bias, activation, factor, and the way to memory.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]
#![allow(clippy::too_many_arguments)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::Activation;
use super::activation::activate;
use super::form::{Form, Sizes, Strides};
use super::place::Place;
use super::stage::NOWHERE;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use girih::memory::{AtomicExt, AtomicExtExpand, Device, Relaxed, shared};
use girih::view::resolve;

/// Where the entries of the tile's rows in a list point to, for all units.
#[cube]
pub(crate) fn places<I: Int>(
    place: &Place,
    list: &ComptimeOption<Box<[I]>>,
    record: &ComptimeOption<Box<[Atomic<u32>]>>,
    extent: usize,
    #[comptime] form: Form,
) -> Shared<[u32]> {
    let is_some = comptime!(list.is_some());
    let rows = comptime!(if is_some { form.tile.rows } else { 1 });
    let mut places = shared::<u32>(comptime!(rows as usize));
    #[comptime]
    match list {
        ComptimeOption::Some(list) => {
            let units = comptime!(form.units()[1]);
            let mut row = UNIT_POS;
            while row < rows {
                let position = place.row + row as usize;
                if position < place.row_end {
                    let (to, is_there) = resolve::<I>(list[position], extent, form.bounds);
                    places[row as usize] = select(is_there, to as u32, NOWHERE);
                    #[comptime]
                    match record {
                        ComptimeOption::Some(record) => {
                            if !is_there {
                                record[0]
                                    .at::<Device>()
                                    .fetch_min::<Relaxed>(position as u32);
                            }
                        }
                        ComptimeOption::None => {}
                    }
                }
                row += units;
            }
            sync_cube();
        }
        ComptimeOption::None => {}
    }
    places
}

/// What is added to a row's elements from a column on.
#[cube]
pub(crate) fn addend<C: Numeric, W: Numeric, N: Size>(
    bias: &ComptimeOption<Box<[C]>>,
    place: &Place,
    column: usize,
    sizes: &Sizes,
    strides: &Strides,
) -> Vector<W, N> {
    let mut addend = Vector::<W, N>::zeroed();
    let width = N::value();
    #[comptime]
    match bias {
        ComptimeOption::Some(bias) =>
        {
            #[unroll]
            for index in 0..width {
                if column + index < sizes.columns && place.is_grouped {
                    let at = place.bias + (column + index) * strides.bias_column;
                    addend.insert(index, W::cast_from(bias[at]));
                }
            }
        }
        ComptimeOption::None => {}
    }
    addend
}

#[cube]
fn activated<W: Numeric, N: Size>(
    sum: Vector<W, N>,
    #[comptime] activation: Activation,
) -> Vector<W, N> {
    let mut value = sum;
    if comptime!(activation != Activation::Identity) {
        let element = elem_type_of::<W>();
        let width = N::value();
        #[unroll]
        for index in 0..width {
            let lane = sum.extract(index);
            if comptime!(element == ElemType::Float(FloatKind::F64)) {
                let x = activate::<f64>(f64::cast_from(lane), activation);
                value.insert(index, W::cast_from(x));
            } else {
                let x = activate::<f32>(f32::cast_from(lane), activation);
                value.insert(index, W::cast_from(x));
            }
        }
    }
    value
}

/// Stores a row's sums from a column on, if they are of the result.
#[cube]
pub(crate) fn store<C: Numeric, W: Numeric, VC: Size, N: Size>(
    c: &mut [Vector<C, VC>],
    sum: Vector<W, N>,
    row: usize,
    column: usize,
    place: &Place,
    sizes: &Sizes,
    strides: &Strides,
    #[comptime] activation: Activation,
) {
    if row < place.row_end && column < sizes.columns {
        let value = Vector::<C, N>::cast_from(activated::<W, N>(sum, activation));
        let first = place.c + row * strides.c_row + column * strides.c_column;
        let (wide, width) = (VC::value(), N::value());
        if comptime!(wide == width) {
            c[first / width] = Vector::<C, VC>::cast_from(value);
        } else {
            #[unroll]
            for index in 0..width {
                if column + index < sizes.columns {
                    let element = Vector::<C, VC>::new(value.extract(index));
                    c[first + index * strides.c_column] = element;
                }
            }
        }
    }
}

/// Adds a row's sums from a column on to the row that its list names, if there is one.
#[cube]
pub(crate) fn add<C: Numeric, W: Numeric, F: Numeric, VC: Size, N: Size>(
    c: &[Atomic<Vector<C, VC>>],
    sum: Vector<W, N>,
    row: usize,
    column: usize,
    targets: &Shared<[u32]>,
    weights: &ComptimeOption<Box<[F]>>,
    place: &Place,
    sizes: &Sizes,
    strides: &Strides,
    #[comptime] listed: bool,
    #[comptime] activation: Activation,
) {
    // Rows in no group have nothing to add.
    if row < place.row_end && column < sizes.columns && place.is_grouped {
        let mut target = row;
        let mut is_there = true.runtime();
        if comptime!(listed) {
            let named = targets[row - place.row];
            is_there = named != NOWHERE;
            target = named as usize;
        }
        if is_there {
            let value = activated::<W, N>(sum, activation);
            let value = weighted::<W, F, N>(value, weights, row);
            let value = Vector::<C, N>::cast_from(value);
            let first = target * strides.c_row + column * strides.c_column;
            let (wide, width) = (VC::value(), N::value());
            if comptime!(wide == width) {
                let cell = &c[first / width];
                cell.at::<Device>()
                    .fetch_add::<Relaxed>(Vector::<C, VC>::cast_from(value));
            } else {
                #[unroll]
                for index in 0..width {
                    if column + index < sizes.columns {
                        let cell = &c[first + index * strides.c_column];
                        cell.at::<Device>()
                            .fetch_add::<Relaxed>(Vector::<C, VC>::new(value.extract(index)));
                    }
                }
            }
        }
    }
}

#[cube]
fn weighted<W: Numeric, F: Numeric, N: Size>(
    value: Vector<W, N>,
    weights: &ComptimeOption<Box<[F]>>,
    row: usize,
) -> Vector<W, N> {
    #[comptime]
    match weights {
        ComptimeOption::Some(weights) => value * Vector::<W, N>::new(W::cast_from(weights[row])),
        ComptimeOption::None => value,
    }
}
