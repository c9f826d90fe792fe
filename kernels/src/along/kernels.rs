//! The kernels: a table's elements by an index of its rank.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]

use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;
use girih::view::resolve;

/// What is known of a launch when its kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// Which of the axes, from the innermost one on, is indexed.
    pub indexed: usize,
    /// Packets of a unit.
    pub steps: usize,
    /// What an index out of range does.
    pub bounds: Bounds,
}

/// Numbers of an axis in a kernel's list: its extent, and its strides in the index, the values and the table. The
/// innermost axis comes first and is counted in packets, and the strides of the first two are as well.
pub(crate) const PER_AXIS: usize = 4;

/// Where a packet lies.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
struct Packet {
    index: usize,
    values: usize,
    /// Of the packet's first element, were its index 0.
    table: usize,
}

/// How many axes there are.
#[cube]
#[allow(unused_variables)]
fn axes_of(axes: &Sequence<usize>) -> comptime_type!(usize) {
    intrinsic!(|_| { axes.len() / PER_AXIS })
}

/// The packet of this number.
#[cube]
fn locate(number: usize, axes: &Sequence<usize>, #[comptime] indexed: usize) -> Packet {
    let count = axes_of(axes);
    let mut rest = number;
    let mut index = 0usize;
    let mut values = 0usize;
    let mut table = 0usize;
    #[unroll]
    for axis in 0..count {
        let at = comptime!(PER_AXIS * axis);
        let mut coordinate = rest;
        if comptime!(axis + 1 < count) {
            coordinate = rest % axes[at];
            rest /= axes[at];
        }
        index += coordinate * axes[comptime!(at + 1)];
        values += coordinate * axes[comptime!(at + 2)];
        if comptime!(axis != indexed) {
            table += coordinate * axes[comptime!(at + 3)];
        }
    }
    Packet {
        index,
        values,
        table,
    }
}

/// The first packet of the line of this number: of the elements that differ along the indexed axis alone.
#[cube]
fn locate_line(number: usize, axes: &Sequence<usize>, #[comptime] indexed: usize) -> Packet {
    let count = axes_of(axes);
    let mut rest = number;
    let mut index = 0usize;
    let mut values = 0usize;
    let mut table = 0usize;
    #[unroll]
    for axis in 0..count {
        if comptime!(axis != indexed) {
            let at = comptime!(PER_AXIS * axis);
            let coordinate = rest % axes[at];
            rest /= axes[at];
            index += coordinate * axes[comptime!(at + 1)];
            values += coordinate * axes[comptime!(at + 2)];
            table += coordinate * axes[comptime!(at + 3)];
        }
    }
    Packet {
        index,
        values,
        table,
    }
}

/// Keeps the smallest position.
#[cube]
fn offend(record: &[Atomic<u32>], position: usize) {
    record[0]
        .at::<Device>()
        .fetch_min::<Relaxed>(position as u32);
}

/// `out[o, j, i] = table[o, index[o, j, i], i]`; `lane` elements of the table from one of a packet to the next, and `step`
/// from one index to the next.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn take_kernel<E: Numeric, I: Int, N: Size>(
    table: &[E],
    index: &[Vector<I, N>],
    output: &mut [Vector<E, N>],
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    axes: Sequence<usize>,
    packets: usize,
    lane: usize,
    extent: usize,
    step: usize,
    #[comptime] form: Form,
    #[define(E, I)] _types: [ElemType; 2],
) {
    let units = CUBE_DIM as usize;
    let mut number = CUBE_POS * units * form.steps + UNIT_POS as usize;
    for _ in 0..form.steps {
        if number < packets {
            let packet = locate(number, &axes, form.indexed);
            let places = index[packet.index];
            let mut taken = Vector::<E, N>::new(E::from_int(0));
            #[unroll]
            for at in 0..N::value() {
                let (place, is_in) = resolve::<I>(places.extract(at), extent, form.bounds);
                if is_in {
                    taken.insert(at, table[packet.table + at * lane + place * step]);
                }
                #[comptime]
                match &record {
                    ComptimeOption::Some(record) => {
                        if !is_in {
                            offend(record, number * N::value() + at);
                        }
                    }
                    ComptimeOption::None => {}
                };
            }
            output[packet.values] = taken;
        }
        number += units;
    }
}

/// `table[o, index[o, j, i], i] += updates[o, j, i]`, atomically.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn add_kernel<E: Numeric, I: Int, N: Size>(
    table: &[Atomic<E>],
    index: &[Vector<I, N>],
    updates: &[Vector<E, N>],
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    axes: Sequence<usize>,
    packets: usize,
    lane: usize,
    extent: usize,
    step: usize,
    #[comptime] form: Form,
    #[define(E, I)] _types: [ElemType; 2],
) {
    let units = CUBE_DIM as usize;
    let mut number = CUBE_POS * units * form.steps + UNIT_POS as usize;
    for _ in 0..form.steps {
        if number < packets {
            let packet = locate(number, &axes, form.indexed);
            let places = index[packet.index];
            let added = updates[packet.values];
            #[unroll]
            for at in 0..N::value() {
                let (place, is_in) = resolve::<I>(places.extract(at), extent, form.bounds);
                if is_in {
                    table[packet.table + at * lane + place * step]
                        .at::<Device>()
                        .fetch_add::<Relaxed>(added.extract(at));
                }
                #[comptime]
                match &record {
                    ComptimeOption::Some(record) => {
                        if !is_in {
                            offend(record, number * N::value() + at);
                        }
                    }
                    ComptimeOption::None => {}
                };
            }
        }
        number += units;
    }
}

/// As `add_kernel`, by one unit for each line of the table, or for as many neighbours as a packet has: nobody else adds to its elements.
/// It does not record.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn add_lines_kernel<E: Numeric, I: Int, N: Size>(
    table: &mut [E],
    index: &[Vector<I, N>],
    updates: &[Vector<E, N>],
    axes: Sequence<usize>,
    lines: usize,
    lane: usize,
    extent: usize,
    step: usize,
    #[comptime] form: Form,
    #[define(E, I)] _types: [ElemType; 2],
) {
    let units = CUBE_DIM as usize;
    let of_axis = comptime!(PER_AXIS * form.indexed);
    let along = axes[of_axis];
    let index_step = axes[comptime!(of_axis + 1)];
    let values_step = axes[comptime!(of_axis + 2)];
    let mut number = CUBE_POS * units * form.steps + UNIT_POS as usize;
    for _ in 0..form.steps {
        if number < lines {
            let first = locate_line(number, &axes, form.indexed);
            for packet in 0..along {
                let places = index[first.index + packet * index_step];
                let added = updates[first.values + packet * values_step];
                #[unroll]
                for at in 0..N::value() {
                    let (place, is_in) = resolve::<I>(places.extract(at), extent, form.bounds);
                    if is_in {
                        let to = first.table + at * lane + place * step;
                        table[to] += added.extract(at);
                    }
                }
            }
        }
        number += units;
    }
}
