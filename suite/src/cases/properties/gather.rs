//! Gather views of every rank along every dimension: loads, stores and additions.

use super::element::{Elements, Pad, arbitrary, number};
use super::indices::{index, start};
use super::memory::{Memory, Strides, extents, memory};
use super::model::{Model, Rule, compare, compare_stored, loaded, summed, target};
use super::setup::{Action, Setup};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::{prelude::*, view::Reporter};
use girih_testkit::{Buffer, Rt, buffer::row_major};
use proptest::prelude::*;

/// The position of the view's first index in the whole list, as the reporter is told.
pub const FIRST: u32 = 1000;

/// A gather view.
#[derive(Clone, Debug)]
pub struct View {
    pub setup: Setup,
    /// The gather dimension, which has the rule of the configuration.
    pub dim: usize,
    /// The rule of the other dimensions.
    pub run: Bounds,
}

/// One data set.
#[derive(Clone, Debug)]
pub struct Data {
    memory: Memory,
    /// Along the gather dimension.
    indices: Vec<i128>,
    /// Along every dimension; that of the gather dimension is not used.
    starts: Vec<i32>,
}

/// Data for a view.
pub fn data(view: &View) -> BoxedStrategy<Data> {
    let View { setup, dim, run } = view.clone();
    let (rule, width) = (setup.rule, setup.width);
    let shape = setup.shape.clone();
    // All elements of the runs are where they are said to be.
    let in_range = rule == Rule::Promise || run == Bounds::Assume;
    let extents = extents(shape.len()).prop_map(move |mut extents| {
        for (axis, extent) in extents.iter_mut().enumerate() {
            match rule {
                _ if axis != dim && in_range => *extent = shape[axis] + *extent % 3,
                _ if axis == dim && !rule.checks() => *extent = (*extent).max(1),
                _ => {}
            }
        }
        if let Some(last) = extents.last_mut() {
            *last = last.next_multiple_of(width);
        }
        extents
    });
    let strides = match (setup.action, width) {
        (Action::Load, 1) => Strides::Any,
        (_, 1) => Strides::Distinct,
        _ => Strides::Vectors(width),
    };
    extents
        .prop_flat_map(move |extents| {
            let shape = &setup.shape;
            let starts = extents.iter().zip(shape).enumerate();
            let starts = starts.map(|(axis, (&extent, &run))| match axis == dim {
                true => Just(0).boxed(),
                false => start(extent, run, !in_range),
            });
            let one = index(extents[dim], setup.index, rule.checks());
            (
                proptest::collection::vec(one, shape[dim]),
                starts.collect::<Vec<_>>(),
                memory(extents, strides),
            )
        })
        .prop_map(|(indices, starts, memory)| Data {
            memory,
            indices,
            starts,
        })
        .boxed()
}

impl Data {
    /// The storage position of each element of the tile, `None` where it is out of range.
    fn targets(&self, view: &View, model: Model) -> Vec<Option<usize>> {
        let View { setup, dim, run } = view;
        let axis_place = |axis: usize, j: usize| {
            let extent = self.memory.extents[axis];
            match axis == *dim {
                true => model.place(self.indices[j], extent, setup.rule.bounds()),
                false => {
                    let index = i128::from(self.starts[axis]) + j as i128;
                    Model::default().place(index, extent, *run)
                }
            }
        };
        let of = |j: &Vec<usize>| {
            let places = j.iter().enumerate().map(|(axis, &j)| axis_place(axis, j));
            target(&self.memory, &places.collect::<Vec<_>>())
        };
        setup.coordinates().iter().map(of).collect()
    }

    /// What the reporter's record holds afterwards.
    fn record(&self, view: &View, model: Model) -> u32 {
        let extent = self.memory.extents[view.dim];
        let out = |at: &usize| {
            let place = model.place(self.indices[*at], extent, Bounds::Report);
            place.is_none()
        };
        let all = 0..self.indices.len();
        match model.offence(all.filter(out)) {
            Some(position) if view.setup.rule == Rule::Under(Bounds::Report) => {
                FIRST + position as u32
            }
            _ => u32::MAX,
        }
    }
}

/// The arguments of a kernel, on the device.
struct Arguments<'a> {
    rt: &'a Rt,
    view: &'a View,
    memory: TensorArg,
    tile: TensorArg,
    index: BufferArg,
    starts: BufferArg,
    record: BufferArg,
}

/// Asks the device, and compares all of memory with the model.
pub fn check(rt: &Rt, view: &View, data: &Data, model: Model) -> Result<(), String> {
    let setup = &view.setup;
    let Setup { element, index, .. } = *setup;
    let summing = setup.action == Action::Add;
    let small = |at: usize| (at % 3 + 1) as i64;
    let value = |at: usize| match summing {
        true => number(element, small(at)),
        false => arbitrary(element, at),
    };
    let before: Vec<u64> = (0..data.memory.len).map(value).collect();
    let tile: Vec<u64> = (0..setup.size())
        .map(|at| value(at + data.memory.len))
        .collect();
    let list: Vec<u64> = data.indices.iter().map(|&index| index as u64).collect();

    let storage = Elements::put(rt, element, &before);
    let tile_storage = match setup.action {
        Action::Load => Elements::unwritten(rt, element, setup.size()),
        Action::Store | Action::Add => Elements::put(rt, element, &tile),
    };
    let list_storage = Elements::put(rt, index, &list);
    let starts: Buffer<i32> = rt.put(&data.starts);
    let record = rt.put(&[u32::MAX]);
    launch(Arguments {
        rt,
        view,
        memory: storage.tensor(&data.memory.extents, &data.memory.strides),
        tile: tile_storage.tensor(&setup.shape, &row_major(&setup.shape)),
        index: list_storage.slice(),
        starts: starts.arg(),
        record: record.arg(),
    });

    let targets = data.targets(view, model);
    let stored = || {
        let pairs = targets.iter().zip(0..);
        pairs.filter_map(|(target, at)| target.map(|target| (target, at)))
    };
    match setup.action {
        Action::Load => {
            let want = loaded(&targets, &before, |_| setup.padding.bits(element));
            compare(element, &tile_storage.read(rt)?, &want)?;
            storage.unchanged(rt, &before, "the source")?;
        }
        Action::Store => {
            let stored: Vec<_> = stored()
                .map(|(target, at): (_, usize)| (target, tile[at]))
                .collect();
            compare_stored(element, &storage.read(rt)?, &before, &stored)?;
            tile_storage.unchanged(rt, &tile, "the tile")?;
        }
        Action::Add => {
            let added: Vec<_> = stored()
                .map(|(target, at): (_, usize)| (target, small(at + data.memory.len)))
                .collect();
            let before: Vec<i64> = (0..data.memory.len).map(small).collect();
            compare(
                element,
                &storage.read(rt)?,
                &summed(element, &before, &added),
            )?;
            tile_storage.unchanged(rt, &tile, "the tile")?;
        }
    }
    list_storage.unchanged(rt, &masked(index, &list), "the list of indices")?;
    let want = data.record(view, model);
    match rt
        .read(&record)
        .map_err(|error| error.to_string())?
        .as_slice()
    {
        [found] if *found == want => Ok(()),
        found => Err(format!("the reporter kept {found:?}, not {want}")),
    }
}

/// The bits of the list that its elements hold.
pub fn masked(index: ElemType, list: &[u64]) -> Vec<u64> {
    let unused = 64 - 8 * index.size();
    list.iter().map(|bits| bits << unused >> unused).collect()
}

macro_rules! gathers {
    ($($load:ident $store:ident $add:ident $dim:literal ($($extent:ident),*) $listed:ident:
        |$start:ident, $list:ident, $run:ident, $rule:ident| $index:tt, $bounds:tt, $origin:tt;)*) => {
        $(
            #[cube(launch_unchecked)]
            fn $load<E: Numeric, I: Int, N: Size, $($extent: Size),*>(
                source: &Tensor<Vector<E, N>>,
                index: &[I],
                $start: &[i32],
                record: &[Atomic<u32>],
                out: &mut Tensor<E>,
                #[comptime] rule: Rule,
                #[comptime] $run: Bounds,
                #[comptime] padding: Pad,
                #[define(E, I)] _types: [ElemType; 2],
            ) {
                let cube = this_cube();
                let $list = TileView::<I, ($listed,)>::of(index).load(&cube, 0u32);
                let view = GatherScatterView::<E, ($($extent,)*), $dim>::of(source);
                let view = if comptime!(rule == Rule::Under(Bounds::Report)) {
                    view.report(Reporter::new(record, FIRST))
                } else {
                    view
                };
                let $rule = comptime!(rule.bounds());
                let view = view.bounds($bounds);
                let tile = if comptime!(rule == Rule::Promise) {
                    view.load(&cube, $index)
                } else {
                    view.load_masked(&cube, padding, $index)
                };
                TileViewMut::<E, ($($extent,)*)>::of(out).store(&cube, tile, $origin);
            }

            #[cube(launch_unchecked)]
            fn $store<E: Numeric, I: Int, $($extent: Size),*>(
                destination: &mut Tensor<E>,
                index: &[I],
                $start: &[i32],
                record: &[Atomic<u32>],
                values: &Tensor<E>,
                #[comptime] rule: Rule,
                #[comptime] $run: Bounds,
                #[define(E, I)] _types: [ElemType; 2],
            ) {
                let cube = this_cube();
                let $list = TileView::<I, ($listed,)>::of(index).load(&cube, 0u32);
                let tile = TileView::<E, ($($extent,)*)>::of(values).load(&cube, $origin);
                let view = GatherScatterViewMut::<E, ($($extent,)*), $dim>::of(destination);
                let view = if comptime!(rule == Rule::Under(Bounds::Report)) {
                    view.report(Reporter::new(record, FIRST))
                } else {
                    view
                };
                let $rule = comptime!(rule.bounds());
                let mut view = view.bounds($bounds);
                if comptime!(rule == Rule::Promise) {
                    view.store(&cube, tile, $index);
                } else {
                    view.store_masked(&cube, tile, $index);
                }
            }

            #[cube(launch_unchecked)]
            fn $add<E: Numeric, I: Int, $($extent: Size),*>(
                destination: &Tensor<Atomic<E>>,
                index: &[I],
                $start: &[i32],
                record: &[Atomic<u32>],
                values: &Tensor<E>,
                #[comptime] rule: Rule,
                #[comptime] $run: Bounds,
                #[define(E, I)] _types: [ElemType; 2],
            ) {
                let cube = this_cube();
                let $list = TileView::<I, ($listed,)>::of(index).load(&cube, 0u32);
                let tile = TileView::<E, ($($extent,)*)>::of(values).load(&cube, $origin);
                let view = AtomicGatherScatterView::<E, ($($extent,)*), $dim>::of(destination);
                let view = if comptime!(rule == Rule::Under(Bounds::Report)) {
                    view.report(Reporter::new(record, FIRST))
                } else {
                    view
                };
                let $rule = comptime!(rule.bounds());
                let view = view.bounds($bounds);
                if comptime!(rule == Rule::Promise) {
                    view.atomic_add::<Relaxed>(&cube, tile, $index);
                } else {
                    view.atomic_add_masked::<Relaxed>(&cube, tile, $index);
                }
            }
        )*

        #[allow(non_snake_case, reason = "an extent is named as its type is")]
        fn launch(arguments: Arguments<'_>) {
            let Arguments { rt, view, memory, tile, index, starts, record } = arguments;
            let (client, cube) = (&rt.client, rt.cube_dim());
            let one = CubeCount::new_single();
            let View { setup, dim, run } = view;
            let Setup { rule, padding, width, .. } = *setup;
            match (setup.action, *dim, setup.shape.as_slice()) {
                // SAFETY: `index` and `starts` have an element for each that is read, `tile` is covered by the tile, and
                // every other access is masked, or in range as the data sets of an unchecked rule are.
                $((Action::Load, $dim, &[$($extent),*]) => unsafe {
                    $load::launch_unchecked(
                        client, one, cube, width, $($extent,)* memory, index, starts, record, tile, rule, *run, padding,
                        setup.types(),
                    );
                },
                // SAFETY: as for loads.
                (Action::Store, $dim, &[$($extent),*]) => unsafe {
                    $store::launch_unchecked(
                        client, one, cube, $($extent,)* memory, index, starts, record, tile, rule, *run, setup.types(),
                    );
                },
                // SAFETY: as for loads.
                (Action::Add, $dim, &[$($extent),*]) => unsafe {
                    $add::launch_unchecked(
                        client, one, cube, $($extent,)* memory, index, starts, record, tile, rule, *run, setup.types(),
                    );
                },)*
                (_, dim, shape) => unreachable!("no kernel for {shape:?} along {dim}"),
            }
        }
    };
}
gathers! {
    load_1_0 store_1_0 add_1_0 0 (A) A:
        |_start, list, _run, listed| (&list,), [listed], (0u32,);
    load_2_0 store_2_0 add_2_0 0 (A, B) A:
        |start, list, run, listed| (&list, start[1]), [listed, run], (0u32, 0u32);
    load_2_1 store_2_1 add_2_1 1 (A, B) B:
        |start, list, run, listed| (start[0], &list), [run, listed], (0u32, 0u32);
    load_3_0 store_3_0 add_3_0 0 (A, B, C) A:
        |start, list, run, listed| (&list, start[1], start[2]), [listed, run, run], (0u32, 0u32, 0u32);
    load_3_1 store_3_1 add_3_1 1 (A, B, C) B:
        |start, list, run, listed| (start[0], &list, start[2]), [run, listed, run], (0u32, 0u32, 0u32);
    load_3_2 store_3_2 add_3_2 2 (A, B, C) C:
        |start, list, run, listed| (start[0], start[1], &list), [run, run, listed], (0u32, 0u32, 0u32);
    load_4_0 store_4_0 add_4_0 0 (A, B, C, D) A:
        |start, list, run, listed| (&list, start[1], start[2], start[3]), [listed, run, run, run], (0u32, 0u32, 0u32, 0u32);
    load_4_1 store_4_1 add_4_1 1 (A, B, C, D) B:
        |start, list, run, listed| (start[0], &list, start[2], start[3]), [run, listed, run, run], (0u32, 0u32, 0u32, 0u32);
    load_4_2 store_4_2 add_4_2 2 (A, B, C, D) C:
        |start, list, run, listed| (start[0], start[1], &list, start[3]), [run, run, listed, run], (0u32, 0u32, 0u32, 0u32);
    load_4_3 store_4_3 add_4_3 3 (A, B, C, D) D:
        |start, list, run, listed| (start[0], start[1], start[2], &list), [run, run, run, listed], (0u32, 0u32, 0u32, 0u32);
    load_5_0 store_5_0 add_5_0 0 (A, B, C, D, F) A:
        |start, list, run, listed| (&list, start[1], start[2], start[3], start[4]), [listed, run, run, run, run], (0u32, 0u32, 0u32, 0u32, 0u32);
    load_5_1 store_5_1 add_5_1 1 (A, B, C, D, F) B:
        |start, list, run, listed| (start[0], &list, start[2], start[3], start[4]), [run, listed, run, run, run], (0u32, 0u32, 0u32, 0u32, 0u32);
    load_5_2 store_5_2 add_5_2 2 (A, B, C, D, F) C:
        |start, list, run, listed| (start[0], start[1], &list, start[3], start[4]), [run, run, listed, run, run], (0u32, 0u32, 0u32, 0u32, 0u32);
    load_5_3 store_5_3 add_5_3 3 (A, B, C, D, F) D:
        |start, list, run, listed| (start[0], start[1], start[2], &list, start[4]), [run, run, run, listed, run], (0u32, 0u32, 0u32, 0u32, 0u32);
    load_5_4 store_5_4 add_5_4 4 (A, B, C, D, F) F:
        |start, list, run, listed| (start[0], start[1], start[2], start[3], &list), [run, run, run, run, listed], (0u32, 0u32, 0u32, 0u32, 0u32);
}
