//! Tiles of partitions of every rank: loads and stores, in any order of axes and at any step.

use super::element::{Elements, Pad, arbitrary};
use super::memory::{Memory, Strides, extents, memory};
use super::model::{Model, Rule, compare, compare_stored, loaded, target};
use super::setup::{Action, Setup};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Rt, buffer::row_major};
use proptest::{prelude::*, sample::select};

/// A partition: the configuration of its tiles, and where they lie.
#[derive(Clone, Debug)]
pub struct Partition {
    pub setup: Setup,
    /// The axis of memory of each dimension of the tile.
    pub order: Vec<usize>,
    /// Elements from one tile to the next, along each dimension.
    pub step: Vec<usize>,
}

/// One data set.
#[derive(Clone, Debug)]
pub struct Data {
    memory: Memory,
    /// The tile, along each of its dimensions.
    numbers: Vec<i32>,
}

/// Data for a partition.
pub fn data(partition: &Partition) -> BoxedStrategy<Data> {
    let Partition { setup, order, step } = partition.clone();
    let promised = !setup.rule.checks();
    let strides = match (setup.action, setup.width) {
        (Action::Load, 1) => Strides::Any,
        (_, 1) => Strides::Distinct,
        (_, width) => Strides::Vectors(width),
    };
    let sizes = {
        let (setup, order) = (setup.clone(), order.clone());
        extents(setup.shape.len()).prop_map(move |mut extents| {
            for (dim, &axis) in order.iter().enumerate().filter(|_| promised) {
                extents[axis] += setup.shape[dim];
            }
            if let Some(last) = extents.last_mut() {
                *last = last.next_multiple_of(setup.width);
            }
            extents
        })
    };
    sizes
        .prop_flat_map(move |extents| {
            let numbers = order.iter().enumerate().map(|(dim, &axis)| {
                let (extent, run, step) = (extents[axis], setup.shape[dim], step[dim]);
                match promised {
                    true => (0..=((extent - run) / step) as i32).boxed(),
                    false => number(extent, step),
                }
            });
            (numbers.collect::<Vec<_>>(), memory(extents, strides))
        })
        .prop_map(|(numbers, memory)| Data { memory, numbers })
        .boxed()
}

/// A tile's number: one of those that have elements, one beside them, or one whose first element is no number of 32 bits.
fn number(extent: usize, step: usize) -> BoxedStrategy<i32> {
    let count = (extent / step) as i32 + 1;
    let (most, least) = (i32::MAX / step as i32, i32::MIN / step as i32);
    let ends = [i32::MAX, i32::MIN, most, least];
    let ends = [
        ends,
        ends.map(|end| {
            if end < 0 {
                end.saturating_sub(1)
            } else {
                end.saturating_add(1)
            }
        }),
    ];
    prop_oneof![8 => 0..count, 4 => -count - 1..count + 2, 1 => select(ends.concat())].boxed()
}

impl Data {
    /// The storage position of each element of the tile, `None` where it is out of range.
    fn targets(&self, partition: &Partition, model: Model) -> Vec<Option<usize>> {
        let Partition { setup, order, step } = partition;
        let of = |j: &Vec<usize>| {
            let mut places = vec![None; j.len()];
            for (dim, &axis) in order.iter().enumerate() {
                let first = i128::from(self.numbers[dim]) * step[dim] as i128;
                let index = first + j[dim] as i128;
                places[axis] = model.place(index, self.memory.extents[axis], setup.rule.bounds());
            }
            target(&self.memory, &places)
        };
        setup.coordinates().iter().map(of).collect()
    }
}

/// Asks the device, and compares all of memory with the model.
pub fn check(rt: &Rt, partition: &Partition, data: &Data, model: Model) -> Result<(), String> {
    let setup = &partition.setup;
    let element = setup.element;
    let before: Vec<u64> = (0..data.memory.len)
        .map(|at| arbitrary(element, at))
        .collect();
    let tile: Vec<u64> = (0..setup.size())
        .map(|at| arbitrary(element, at + data.memory.len))
        .collect();
    let storage = Elements::put(rt, element, &before);
    let tile_storage = match setup.action {
        Action::Load => Elements::unwritten(rt, element, setup.size()),
        Action::Store | Action::Add => Elements::put(rt, element, &tile),
    };
    let numbers = rt.put(&data.numbers);
    launch(
        rt,
        partition,
        storage.tensor(&data.memory.extents, &data.memory.strides),
        tile_storage.tensor(&setup.shape, &row_major(&setup.shape)),
        numbers.arg(),
    );

    let targets = data.targets(partition, model);
    match setup.action {
        Action::Load => {
            let want = loaded(&targets, &before, |_| setup.padding.bits(element));
            compare(element, &tile_storage.read(rt)?, &want)?;
            storage.unchanged(rt, &before, "the source")
        }
        Action::Store | Action::Add => {
            let pairs = targets.iter().zip(&tile);
            let stored: Vec<_> = pairs
                .filter_map(|(target, &bits)| target.map(|target| (target, bits)))
                .collect();
            compare_stored(element, &storage.read(rt)?, &before, &stored)?;
            tile_storage.unchanged(rt, &tile, "the tile")
        }
    }
}

macro_rules! partitions {
    ($($load:ident $store:ident ($($extent:ident),*): |$number:ident| $place:tt, $origin:tt;)*) => {
        $(
            #[cube(launch_unchecked)]
            fn $load<E: Numeric, N: Size, $($extent: Size),*>(
                source: &Tensor<Vector<E, N>>,
                $number: &[i32],
                out: &mut Tensor<E>,
                #[comptime] order: Vec<usize>,
                #[comptime] step: Vec<usize>,
                #[comptime] rule: Rule,
                #[comptime] padding: Pad,
                #[define(E)] _element: ElemType,
            ) {
                let cube = this_cube();
                let view = TileView::<E, ($($extent,)*)>::of(source).order(order).step(step);
                let view = view.bounds(comptime!(rule.bounds()));
                let tile = if comptime!(rule == Rule::Promise) {
                    view.load(&cube, $place)
                } else {
                    view.load_masked(&cube, padding, $place)
                };
                TileViewMut::<E, ($($extent,)*)>::of(out).store(&cube, tile, $origin);
            }

            #[cube(launch_unchecked)]
            fn $store<E: Numeric, N: Size, $($extent: Size),*>(
                destination: &mut Tensor<Vector<E, N>>,
                $number: &[i32],
                values: &Tensor<E>,
                #[comptime] order: Vec<usize>,
                #[comptime] step: Vec<usize>,
                #[comptime] rule: Rule,
                #[define(E)] _element: ElemType,
            ) {
                let cube = this_cube();
                let tile = TileView::<E, ($($extent,)*)>::of(values).load(&cube, $origin);
                let view = TileViewMut::<E, ($($extent,)*)>::of(destination);
                let mut view = view.order(order).step(step).bounds(comptime!(rule.bounds()));
                if comptime!(rule == Rule::Promise) {
                    view.store(&cube, tile, $place);
                } else {
                    view.store_masked(&cube, tile, $place);
                }
            }
        )*

        #[allow(non_snake_case, reason = "an extent is named as its type is")]
        fn launch(rt: &Rt, partition: &Partition, memory: TensorArg, tile: TensorArg, numbers: BufferArg) {
            let Partition { setup, order, step } = partition.clone();
            let (client, cube) = (&rt.client, rt.cube_dim());
            let one = CubeCount::new_single();
            let Setup { rule, padding, width, element, .. } = setup;
            match (setup.action, setup.shape.as_slice()) {
                // SAFETY: there is a number for each dimension, `tile` is covered by the tile, and every other access is
                // masked, or in range as the data sets of a promise are.
                $((Action::Load, &[$($extent),*]) => unsafe {
                    $load::launch_unchecked(
                        client, one, cube, width, $($extent,)* memory, numbers, tile, order, step, rule, padding, element,
                    );
                },
                // SAFETY: as for loads.
                (_, &[$($extent),*]) => unsafe {
                    $store::launch_unchecked(
                        client, one, cube, width, $($extent,)* memory, numbers, tile, order, step, rule, element,
                    );
                },)*
                (_, shape) => unreachable!("no kernel for {shape:?}"),
            }
        }
    };
}
partitions! {
    load_1 store_1 (A): |number| (number[0],), (0u32,);
    load_2 store_2 (A, B): |number| (number[0], number[1]), (0u32, 0u32);
    load_3 store_3 (A, B, C): |number| (number[0], number[1], number[2]), (0u32, 0u32, 0u32);
    load_4 store_4 (A, B, C, D): |number| (number[0], number[1], number[2], number[3]), (0u32, 0u32, 0u32, 0u32);
    load_5 store_5 (A, B, C, D, F):
        |number| (number[0], number[1], number[2], number[3], number[4]), (0u32, 0u32, 0u32, 0u32, 0u32);
}
