//! Layouts taken apart in kernels: tiles, units, what is inside, CubeCL's views.

use cubecl::prelude::*;
use cubecl::std::tensor::{AsView, AsViewExpand, AsViewMut, AsViewMutExpand, layout::Coords2d};
use girih::layout::{
    IdentityLayout, KernelIdentity, KernelLayout, Layout, ThreadValueLayout, consts::*,
};
use girih_testkit::{Error, Rt, cases, check::assert_same};

use super::one_unit;

cases! {
    tiles_and_units_are_slices,
    identities_know_what_is_inside,
    views_go_through_layouts,
    empty_layouts_have_no_coordinate,
}

/// The offsets of each tile, and of each unit's values.
#[cube(launch_unchecked)]
fn slices(tiles: KernelLayout, spread: KernelLayout, out: &mut [u32]) {
    let (tile, values) = (tiles.slice(1, (0, 0)), spread.slice(0, 0));
    let count = tile.size() + values.size();
    for row in 0..2u32 {
        for column in 0..4u32 {
            let number = (row + 2 * column) as usize;
            let tile = tiles.slice(1, (row, column));
            for i in 0..tile.size() {
                out[number * count + i] = tile.offset(i) as u32;
            }
            let values = spread.slice(0, number);
            for value in 0..values.size() {
                out[number * count + tile.size() + value] = values.offset(value) as u32;
            }
        }
    }
}

fn tiles_and_units_are_slices(rt: &Rt) -> Result<(), Error> {
    let matrix = Layout::right((8, 12)).expect("a layout");
    let tiles = matrix.zipped_divide((4, 3)).expect("tiles");
    let spread = ThreadValueLayout::blocked(
        &Layout::right((_4, _2)).expect("units"),
        &Layout::left((_2, _6)).expect("values"),
    )
    .expect("a spread");
    let parts = spread.partition(&matrix).expect("a partition");
    let mut want = vec![];
    for number in 0..8u64 {
        let tile = matrix
            .local_tile((4, 3), (number % 2, number / 2))
            .expect("a tile");
        want.extend(tile.offsets().map(|offset| offset as u32));
        want.extend(
            (0..12u64).map(|value| parts.index((number, value)).expect("a value").value() as u32),
        );
    }
    let out = rt.poisoned::<u32>(want.len());
    let (count, dim) = one_unit();
    // SAFETY: the one unit writes 8 times 12 + 12 elements, as many as `out` has.
    unsafe {
        slices::launch_unchecked(&rt.client, count, dim, tiles.into(), parts, out.arg());
    }
    assert_same(&rt.read(&out)?, &want);
    Ok(())
}

/// Row, column and whether it is inside for each element of each tile, of which there are two rows.
#[cube(launch_unchecked)]
fn places(whole: KernelIdentity, out: &mut [u32], #[comptime] fixed: IdentityLayout) {
    let fixed = KernelIdentity::fixed(fixed);
    let tile = ABSOLUTE_POS / 16;
    let at = (tile % 2, tile / 2);
    let i = ABSOLUTE_POS as u32 % 16u32;
    let (dynamic, fixed) = (whole.slice(1, at), fixed.slice(1, at));
    if tile < 6 {
        let first = 5 * ABSOLUTE_POS;
        out[first] = dynamic.coordinate(i).get(0).value() as u32;
        out[first + 1] = dynamic.coordinate(i).get(1).value() as u32;
        out[first + 2] = u32::cast_from(dynamic.is_in_bounds(i));
        out[first + 3] = fixed.coordinate((i % 4, i / 4)).size() as u32;
        out[first + 4] = u32::cast_from(fixed.is_in_bounds((i % 4, i / 4)));
    }
}

fn identities_know_what_is_inside(rt: &Rt) -> Result<(), Error> {
    let whole = IdentityLayout::new((6, 10)).expect("a shape");
    let divided = whole.zipped_divide((4, 4)).expect("tiles");
    let fixed = IdentityLayout::new((_6, _10)).and_then(|whole| whole.zipped_divide((_4, _4)));
    let mut want = vec![];
    for tile in 0..6u64 {
        let tile = whole
            .local_tile((4, 4), (tile % 2, tile / 2))
            .expect("a tile");
        for i in 0..16 {
            let at = tile.index(i).expect("an element");
            let inside = tile.in_bounds(i).expect("an element");
            let place: Vec<u32> = at.leaves().map(|along| along.value() as u32).collect();
            let (row, column) = (place[0], place[1]);
            want.extend([row, column, inside.into(), row * column, inside.into()]);
        }
    }
    let out = rt.poisoned::<u32>(want.len());
    // SAFETY: each unit of the six tiles' 16 elements writes its own five elements.
    unsafe {
        places::launch_unchecked(
            &rt.client,
            rt.cubes_for(6 * 16),
            rt.cube_dim(),
            divided,
            out.arg(),
            fixed.expect("tiles"),
        );
    }
    assert_same(&rt.read(&out)?, &want);
    Ok(())
}

/// Reads through a layout by linear coordinates, by one per mode, and writes through one; 0 is read out of bounds.
#[cube(launch_unchecked)]
fn through_views(
    x: &Tensor<u32>,
    from: KernelLayout,
    to: KernelLayout,
    by_number: &mut [u32],
    by_mode: &mut [u32],
) {
    let linear = x.view(from.clone());
    let modes = x.view(from.per_mode::<Coords2d>());
    let extents = modes.shape();
    if ABSOLUTE_POS < by_number.len() {
        let mut written = by_number.view_mut(to);
        written.write_checked(ABSOLUTE_POS, linear.read_checked(ABSOLUTE_POS));
    }
    // One more than there are of each, column by column.
    if ABSOLUTE_POS < by_mode.len() {
        let i = ABSOLUTE_POS as u32;
        let at = (i % (extents.0 + 1), i / (extents.0 + 1));
        by_mode[ABSOLUTE_POS] = modes.read_checked(at);
    }
}

fn views_go_through_layouts(rt: &Rt) -> Result<(), Error> {
    let x = rt.put_tensor(&(100..160).collect::<Vec<u32>>(), &[60]);
    let from: Layout = "(_3,(2,_2)):(_20,(3,_1))".parse().expect("a layout");
    let to: Layout = "12:1".parse().expect("a layout");
    let (by_number, by_mode) = (rt.put(&[7u32; 15]), rt.poisoned::<u32>(20));
    // SAFETY: every access is checked, by its view or against the length.
    unsafe {
        through_views::launch_unchecked(
            &rt.client,
            rt.cubes_for(20),
            rt.cube_dim(),
            x.arg(),
            (&from).into(),
            to.into(),
            by_number.arg(),
            by_mode.arg(),
        );
    }
    let at = |i: u64| 100 + from.index(i).expect("a coordinate").value() as u32;
    let mut linear: Vec<u32> = (0..12).map(at).collect();
    linear.extend([7; 3]);
    assert_same(&rt.read(&by_number)?, &linear);
    let modes: Vec<u32> = (0..20)
        .map(|i| match (i % 4, i / 4) {
            (row @ 0..3, column @ 0..4) => at(row + 3 * column),
            _ => 0,
        })
        .collect();
    assert_same(&rt.read(&by_mode)?, &modes);
    Ok(())
}

/// Computes offsets that no coordinate has, as a view that is checked does.
#[cube(launch_unchecked)]
fn past_the_end(x: &Tensor<u32>, layout: KernelLayout, out: &mut [u32]) {
    out[0] = x.view(layout.clone()).read_checked(ABSOLUTE_POS);
    out[1] = layout.size() as u32;
    out[2] = u32::cast_from(layout.is_in_bounds((0, 0)));
}

fn empty_layouts_have_no_coordinate(rt: &Rt) -> Result<(), Error> {
    let x = rt.put_tensor(&[5u32], &[1]);
    for text in [
        "(0,3):(1,4)",
        "(_0,3):(_1,4)",
        "(3,0):(1,4)",
        "(_3,_0):(_1,_4)",
    ] {
        let layout: Layout = text.parse().expect("a layout");
        let out = rt.poisoned::<u32>(3);
        let (count, dim) = one_unit();
        // SAFETY: the read is checked; the one unit writes the three elements of `out`.
        unsafe {
            past_the_end::launch_unchecked(
                &rt.client,
                count,
                dim,
                x.arg(),
                layout.into(),
                out.arg(),
            );
        }
        assert_same(&rt.read(&out)?, &[0, 0, 0]);
    }
    Ok(())
}
