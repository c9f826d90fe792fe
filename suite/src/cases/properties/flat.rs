//! Flat gathers, scatters and additions: memory of every rank, tiles of others, index tiles and masks broadcast.

use super::element::{Elements, Pad, arbitrary, number, range};
use super::gather::{FIRST, masked};
use super::indices::index;
use super::memory::{Memory, Strides, extents, memory};
use super::model::{Model, Rule, compare, compare_stored, loaded, summed, target};
use super::setup::{Action, Setup};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::{prelude::*, view::Reporter};
use girih_testkit::{Rt, buffer::row_major};
use proptest::{collection::vec, prelude::*};

/// A flat view.
#[derive(Clone, Debug)]
pub struct Flat {
    pub setup: Setup,
    /// Extents of the index tile of each axis of memory: the tile's, or 1.
    pub index_shapes: Vec<Vec<usize>>,
    /// Extents of the mask, if there is one.
    pub mask_shape: Option<Vec<usize>>,
    /// Whether a tile is given where memory has no element, not a padding.
    pub or: bool,
}

/// One data set.
#[derive(Clone, Debug)]
pub struct Data {
    memory: Memory,
    /// The index tile of each axis, in row-major order.
    indices: Vec<Vec<i128>>,
    mask: Vec<bool>,
}

/// Data for a flat view.
pub fn data(flat: &Flat) -> BoxedStrategy<Data> {
    let flat = flat.clone();
    let checked = flat.setup.rule.checks();
    let least = usize::from(!checked);
    let strides = match flat.setup.action {
        Action::Load => Strides::Any,
        Action::Store | Action::Add => Strides::Distinct,
    };
    let sizes = extents(flat.index_shapes.len());
    sizes
        .prop_map(move |extents| {
            extents
                .into_iter()
                .map(|extent| extent.max(least))
                .collect()
        })
        .prop_flat_map(move |extents: Vec<usize>| {
            let tiles = extents.iter().zip(&flat.index_shapes);
            let tiles = tiles.map(|(&extent, shape)| {
                let one = index(extent, flat.setup.index, checked);
                vec(one, shape.iter().product::<usize>())
            });
            let mask = flat.mask_shape.iter().flatten().product::<usize>();
            let flat = flat.clone();
            (
                tiles.collect::<Vec<_>>(),
                vec(prop::bool::weighted(0.7), mask),
                memory(extents, strides),
            )
                .prop_map(move |(indices, mask, memory)| {
                    let data = Data {
                        memory,
                        indices,
                        mask,
                    };
                    data.broken_where_masked(&flat)
                })
        })
        .boxed()
}

/// The row-major position in a tile of extents `own` of the element that stands for coordinate `j`.
fn broadcast(own: &[usize], j: &[usize]) -> usize {
    own.iter().zip(j).fold(0, |position, (&extent, &j)| {
        position * extent + if extent == 1 { 0 } else { j }
    })
}

impl Data {
    fn takes_part(&self, flat: &Flat, j: &[usize]) -> bool {
        let shape = flat.mask_shape.as_ref();
        shape.is_none_or(|shape| self.mask[broadcast(shape, j)])
    }

    /// Where a promise holds of the elements alone that take part, the others have indices far out of range.
    fn broken_where_masked(mut self, flat: &Flat) -> Self {
        let whole = &flat.setup.shape;
        let axes = flat.index_shapes.iter().zip(&mut self.indices);
        let alike = |shape: &&Vec<usize>| flat.mask_shape.as_ref() == Some(*shape);
        for (_, list) in
            axes.filter(|(shape, _)| !flat.setup.rule.checks() && alike(shape) && *shape == whole)
        {
            for (index, takes_part) in list.iter_mut().zip(&self.mask) {
                if !takes_part {
                    *index = range(flat.setup.index).1;
                }
            }
        }
        self
    }

    /// For each element that takes part, the places of its indices along the axes; `None` for the others.
    fn places(&self, flat: &Flat, model: Model) -> Vec<Option<Vec<Option<usize>>>> {
        let bounds = match flat.setup.rule {
            Rule::Promise => Bounds::Assume,
            Rule::Under(bounds) => bounds,
        };
        let of = |j: &Vec<usize>| {
            let axes = flat
                .index_shapes
                .iter()
                .zip(&self.indices)
                .zip(&self.memory.extents);
            let places = axes.map(|((shape, list), &extent)| {
                model.place(list[broadcast(shape, j)], extent, bounds)
            });
            self.takes_part(flat, j).then(|| places.collect())
        };
        flat.setup.coordinates().iter().map(of).collect()
    }
}

/// The arguments of a kernel, on the device.
struct Arguments<'a> {
    rt: &'a Rt,
    flat: &'a Flat,
    memory: TensorArg,
    tile: TensorArg,
    other: TensorArg,
    index: Vec<TensorArg>,
    mask: TensorArg,
    record: BufferArg,
}

/// Asks the device, and compares all of memory with the model.
pub fn check(rt: &Rt, flat: &Flat, data: &Data, model: Model) -> Result<(), String> {
    let setup = &flat.setup;
    let Setup { element, index, .. } = *setup;
    let size = setup.size();
    let small = |at: usize| (at % 3 + 1) as i64;
    let value = |at: usize| match setup.action {
        Action::Add => number(element, small(at)),
        Action::Load | Action::Store => arbitrary(element, at),
    };
    let before: Vec<u64> = (0..data.memory.len).map(value).collect();
    let tile: Vec<u64> = (0..size).map(|at| value(at + data.memory.len)).collect();
    let storage = Elements::put(rt, element, &before);
    let (tile_storage, other) = match setup.action {
        Action::Load => (
            Elements::unwritten(rt, element, size),
            Elements::put(rt, element, &tile),
        ),
        Action::Store | Action::Add => (
            Elements::put(rt, element, &tile),
            Elements::unwritten(rt, element, size),
        ),
    };
    let lists: Vec<Vec<u64>> = data
        .indices
        .iter()
        .map(|list| list.iter().map(|&index| index as u64).collect())
        .collect();
    let list_storage: Vec<_> = lists
        .iter()
        .map(|list| Elements::put(rt, index, list))
        .collect();
    let mask_shape = mask_shape(flat);
    let mut mask: Vec<u32> = data
        .mask
        .iter()
        .map(|&takes_part| u32::from(takes_part) << 31)
        .collect();
    mask.resize(mask_shape.iter().product(), 0);
    let mask = rt.put(&mask);
    let record = rt.put(&[u32::MAX]);
    let dense = |elements: &Elements, shape: &[usize]| elements.tensor(shape, &row_major(shape));
    launch(Arguments {
        rt,
        flat,
        memory: storage.tensor(&data.memory.extents, &data.memory.strides),
        tile: dense(&tile_storage, &setup.shape),
        other: dense(&other, &setup.shape),
        index: list_storage
            .iter()
            .zip(&flat.index_shapes)
            .map(|(list, shape)| dense(list, shape))
            .collect(),
        mask: mask.tensor(&mask_shape, &row_major(&mask_shape)).arg(),
        record: record.arg(),
    });

    let places = data.places(flat, model);
    let of = |places: &Option<Vec<Option<usize>>>| target(&data.memory, places.as_ref()?);
    let targets: Vec<Option<usize>> = places.iter().map(of).collect();
    let pairs = || {
        targets
            .iter()
            .zip(0..size)
            .filter_map(|(target, at)| Some(((*target)?, at)))
    };
    let got = storage.read(rt)?;
    match setup.action {
        Action::Load => {
            let fill = |at: usize| match flat.or {
                true => tile[at],
                false => setup.padding.bits(element),
            };
            let want = loaded(&targets, &before, fill);
            compare(element, &tile_storage.read(rt)?, &want)?;
            storage.unchanged(rt, &before, "the source")?;
        }
        Action::Store => {
            let stored: Vec<_> = pairs().map(|(target, at)| (target, tile[at])).collect();
            compare_stored(element, &got, &before, &stored)?;
        }
        Action::Add => {
            let added = |(target, at)| (target, small(at + data.memory.len));
            let added: Vec<_> = pairs().map(added).collect();
            let before: Vec<i64> = (0..data.memory.len).map(small).collect();
            compare(element, &got, &summed(element, &before, &added))?;
        }
    }
    for (list, bits) in list_storage.iter().zip(&lists) {
        list.unchanged(rt, &masked(index, bits), "an index tile")?;
    }
    let is_out = |at: &usize| {
        places[*at]
            .as_ref()
            .is_some_and(|places| places.contains(&None))
    };
    let want = match model.offence((0..size).filter(is_out)) {
        Some(position) if setup.rule == Rule::Under(Bounds::Report) => FIRST + position as u32,
        _ => u32::MAX,
    };
    match rt
        .read(&record)
        .map_err(|error| error.to_string())?
        .as_slice()
    {
        [found] if *found == want => Ok(()),
        found => Err(format!("the reporter kept {found:?}, not {want}")),
    }
}

/// Extents of the mask, or of the one that no kernel looks at.
fn mask_shape(flat: &Flat) -> Vec<usize> {
    let none = || vec![1; flat.setup.shape.len()];
    flat.mask_shape.clone().unwrap_or_else(none)
}

macro_rules! flats {
    ($($load:ident $store:ident $add:ident ($($extent:ident),*) $origin:tt
        [$($index:ident ($($own:ident),*)),*] ($($of_mask:ident),*);)*) => {
        $(
            #[cube(launch_unchecked)]
            fn $load<E: Numeric, I: Int, $($extent: Size,)* $($($own: Size,)*)* $($of_mask: Size),*>(
                source: &Tensor<E>,
                $($index: &Tensor<I>,)*
                mask: &Tensor<u32>,
                record: &[Atomic<u32>],
                other: &Tensor<E>,
                out: &mut Tensor<E>,
                #[comptime] rule: Rule,
                #[comptime] padding: Pad,
                #[comptime] is_masked: bool,
                #[comptime] or: bool,
                #[define(E, I)] _types: [ElemType; 2],
            ) {
                let cube = this_cube();
                $(let $index = TileView::<I, ($($own,)*)>::of($index).load(&cube, $origin);)*
                let mask = TileView::<u32, ($($of_mask,)*)>::of(mask).load(&cube, $origin);
                let view = FlatView::<E, ($($extent,)*)>::of(source);
                let view = if comptime!(is_masked) { view.mask(&mask) } else { view };
                let view = if comptime!(rule == Rule::Under(Bounds::Report)) {
                    view.report(Reporter::new(record, FIRST))
                } else {
                    view.bounds(comptime!(rule.bounds()))
                };
                let view = view.check_bounds(comptime!(rule != Rule::Promise)).latency::<3>();
                let tile = if comptime!(or) {
                    let other = TileView::<E, ($($extent,)*)>::of(other).load(&cube, $origin);
                    view.gather_or(&cube, &other, ($(&$index,)*))
                } else {
                    view.gather(&cube, padding, ($(&$index,)*))
                };
                TileViewMut::<E, ($($extent,)*)>::of(out).store(&cube, tile, $origin);
            }

            #[cube(launch_unchecked)]
            fn $store<E: Numeric, I: Int, $($extent: Size,)* $($($own: Size,)*)* $($of_mask: Size),*>(
                destination: &mut Tensor<E>,
                $($index: &Tensor<I>,)*
                mask: &Tensor<u32>,
                record: &[Atomic<u32>],
                values: &Tensor<E>,
                #[comptime] rule: Rule,
                #[comptime] is_masked: bool,
                #[define(E, I)] _types: [ElemType; 2],
            ) {
                let cube = this_cube();
                $(let $index = TileView::<I, ($($own,)*)>::of($index).load(&cube, $origin);)*
                let mask = TileView::<u32, ($($of_mask,)*)>::of(mask).load(&cube, $origin);
                let tile = TileView::<E, ($($extent,)*)>::of(values).load(&cube, $origin);
                let view = FlatViewMut::<E, ($($extent,)*)>::of(destination);
                let view = if comptime!(is_masked) { view.mask(&mask) } else { view };
                let view = if comptime!(rule == Rule::Under(Bounds::Report)) {
                    view.report(Reporter::new(record, FIRST))
                } else {
                    view.bounds(comptime!(rule.bounds()))
                };
                let mut view = view.check_bounds(comptime!(rule != Rule::Promise));
                view.scatter(&cube, tile, ($(&$index,)*));
            }

            #[cube(launch_unchecked)]
            fn $add<E: Numeric, I: Int, $($extent: Size,)* $($($own: Size,)*)* $($of_mask: Size),*>(
                destination: &Tensor<Atomic<E>>,
                $($index: &Tensor<I>,)*
                mask: &Tensor<u32>,
                record: &[Atomic<u32>],
                values: &Tensor<E>,
                #[comptime] rule: Rule,
                #[comptime] is_masked: bool,
                #[define(E, I)] _types: [ElemType; 2],
            ) {
                let cube = this_cube();
                $(let $index = TileView::<I, ($($own,)*)>::of($index).load(&cube, $origin);)*
                let mask = TileView::<u32, ($($of_mask,)*)>::of(mask).load(&cube, $origin);
                let tile = TileView::<E, ($($extent,)*)>::of(values).load(&cube, $origin);
                let view = AtomicFlatView::<E, ($($extent,)*)>::of(destination);
                let view = if comptime!(is_masked) { view.mask(&mask) } else { view };
                let view = if comptime!(rule == Rule::Under(Bounds::Report)) {
                    view.report(Reporter::new(record, FIRST))
                } else {
                    view.bounds(comptime!(rule.bounds()))
                };
                let view = view.check_bounds(comptime!(rule != Rule::Promise));
                view.atomic_add::<Relaxed>(&cube, tile, ($(&$index,)*));
            }
        )*

        #[allow(non_snake_case, reason = "an extent is named as its type is")]
        fn launch(arguments: Arguments<'_>) {
            let Arguments { rt, flat, memory, tile, other, index, mask, record } = arguments;
            let (client, cube) = (&rt.client, rt.cube_dim());
            let one = CubeCount::new_single();
            let Setup { action, rule, padding, .. } = flat.setup;
            let shapes: Vec<&[usize]> = flat.index_shapes.iter().map(Vec::as_slice).collect();
            let (mask_shape, is_masked) = (mask_shape(flat), flat.mask_shape.is_some());
            let types = flat.setup.types();
            let mut index = index.into_iter();
            match (action, flat.setup.shape.as_slice(), shapes.as_slice(), mask_shape.as_slice()) {
                // SAFETY: the index tiles, the mask and `tile` are covered by the tiles of them, and every other access is
                // masked, or in range as the data sets of an unchecked rule are.
                $((Action::Load, &[$($extent),*], &[$(&[$($own),*]),*], &[$($of_mask),*]) => unsafe {
                    $(let $index = index.next().expect("an index tile for each axis");)*
                    $load::launch_unchecked(
                        client, one, cube, $($extent,)* $($($own,)*)* $($of_mask,)* memory, $($index,)* mask, record,
                        other, tile, rule, padding, is_masked, flat.or, types,
                    );
                },
                // SAFETY: as for loads.
                (Action::Store, &[$($extent),*], &[$(&[$($own),*]),*], &[$($of_mask),*]) => unsafe {
                    $(let $index = index.next().expect("an index tile for each axis");)*
                    $store::launch_unchecked(
                        client, one, cube, $($extent,)* $($($own,)*)* $($of_mask,)* memory, $($index,)* mask, record,
                        tile, rule, is_masked, types,
                    );
                },
                // SAFETY: as for loads.
                (Action::Add, &[$($extent),*], &[$(&[$($own),*]),*], &[$($of_mask),*]) => unsafe {
                    $(let $index = index.next().expect("an index tile for each axis");)*
                    $add::launch_unchecked(
                        client, one, cube, $($extent,)* $($($own,)*)* $($of_mask,)* memory, $($index,)* mask, record,
                        tile, rule, is_masked, types,
                    );
                },)*
                _ => unreachable!("no kernel for {flat:?}"),
            }
        }
    };
}
flats! {
    load_1_1 store_1_1 add_1_1 (A) (0u32,)
        [i (Ai)] (An);
    load_2_2 store_2_2 add_2_2 (A, B) (0u32, 0u32)
        [i (Ai, Bi), j (Aj, Bj)] (An, Bn);
    load_3_2 store_3_2 add_3_2 (A, B) (0u32, 0u32)
        [i (Ai, Bi), j (Aj, Bj), k (Ak, Bk)] (An, Bn);
    load_4_1 store_4_1 add_4_1 (A) (0u32,)
        [i (Ai), j (Aj), k (Ak), l (Al)] (An);
    load_5_3 store_5_3 add_5_3 (A, B, C) (0u32, 0u32, 0u32)
        [i (Ai, Bi, Ci), j (Aj, Bj, Cj), k (Ak, Bk, Ck), l (Al, Bl, Cl), m (Am, Bm, Cm)] (An, Bn, Cn);
    load_2_4 store_2_4 add_2_4 (A, B, C, D) (0u32, 0u32, 0u32, 0u32)
        [i (Ai, Bi, Ci, Di), j (Aj, Bj, Cj, Dj)] (An, Bn, Cn, Dn);
    load_1_5 store_1_5 add_1_5 (A, B, C, D, F) (0u32, 0u32, 0u32, 0u32, 0u32)
        [i (Ai, Bi, Ci, Di, Fi)] (An, Bn, Cn, Dn, Fn);
}
