//! Layouts in kernels against the host's: every form of coordinate, static, dynamic and mixed integers, swizzles, tiles,
//! views, refusals.

mod arbitrary;

use arbitrary::{Sample, samples};
use cubecl::prelude::*;
use cubecl::std::tensor::{
    AsView, AsViewExpand, AsViewMut, AsViewMutExpand,
    layout::{Coords2d, Coords3d},
};
use girih::layout::{
    ComposedLayout, IdentityLayout, IntTuple, KernelIdentity, KernelLayout, Layout, Swizzle,
    ThreadValueLayout, consts::*, idx2crd,
};
use girih_testkit::{Buffer, Error, Rt, case::Need, cases, check::assert_same};

use crate::random::for_all;

cases! {
    random_layouts_have_the_offsets_of_the_host,
    coordinates_have_every_form,
    a_coordinate_is_what_it_was_when_given,
    one_kernel_for_each_profile,
    offsets_go_beyond_32_bits needs [ADDRESSES_64],
    swizzles_and_starts_move_offsets,
    tiles_and_units_are_slices,
    identities_know_what_is_inside,
    views_go_through_layouts,
    empty_layouts_have_no_coordinate,
    refuses_a_coordinate_of_another_profile,
    refuses_a_dynamic_layout_as_a_constant,
    refuses_addresses_that_are_too_narrow,
    refuses_signed_coordinates_of_the_run,
    refuses_views_of_another_rank,
}

const ADDRESSES_64: Need = Need {
    what: "64-bit addresses",
    met: |rt| rt.client.properties().supports_address(AddressType::U64),
};

/// A launch of one unit.
fn one_unit() -> (CubeCount, CubeDim) {
    (CubeCount::Static(1, 1, 1), CubeDim::new_1d(1))
}

/// Writes the offset of coordinate `i` in four forms: linear, nested, as `coarse` nests, and the constant `at`.
#[cube]
fn write_forms(
    layout: &KernelLayout,
    i: u32,
    out: &mut [u32],
    #[comptime] coarse: IntTuple,
    #[comptime] at: IntTuple,
) {
    let between = KernelLayout::fixed(comptime!(Layout::left(coarse).expect("a small shape")));
    let first = 4usize * i as usize;
    out[first] = layout.offset(i) as u32;
    out[first + 1] = layout.offset(layout.coordinate(i)) as u32;
    out[first + 2] = layout.offset(between.coordinate(i)) as u32;
    out[first + 3] = layout.offset(at) as u32;
}

#[cube(launch_unchecked)]
fn every_form(
    dynamic: KernelLayout,
    mixed: KernelLayout,
    out_fixed: &mut [u32],
    out_dynamic: &mut [u32],
    out_mixed: &mut [u32],
    #[comptime] fixed: Layout,
    #[comptime] coarse: IntTuple,
    #[comptime] at: IntTuple,
) {
    let fixed = KernelLayout::fixed(fixed);
    let i = ABSOLUTE_POS as u32;
    if dynamic.is_in_bounds(i) {
        write_forms(
            &fixed,
            i,
            out_fixed,
            comptime!(coarse.clone()),
            comptime!(at.clone()),
        );
        write_forms(
            &dynamic,
            i,
            out_dynamic,
            comptime!(coarse.clone()),
            comptime!(at.clone()),
        );
        write_forms(
            &mixed,
            i,
            out_mixed,
            comptime!(coarse.clone()),
            comptime!(at.clone()),
        );
    }
}

fn random_layouts_have_the_offsets_of_the_host(rt: &Rt) -> Result<(), String> {
    for_all((samples(), samples()), |(a, b)| {
        has_the_offsets_of_the_host(rt, &a)?;
        has_the_offsets_of_the_host(rt, &b)
    })
}

fn has_the_offsets_of_the_host(rt: &Rt, sample: &Sample) -> Result<(), String> {
    let layout = &sample.fixed;
    let size = layout.size().value() as usize;
    let at = idx2crd(sample.linear, &sample.coarse).map_err(|error| error.to_string())?;
    let constant = layout
        .index(&at)
        .map_err(|error| error.to_string())?
        .value() as u32;
    let want: Vec<u32> = layout
        .offsets()
        .flat_map(|offset| [offset as u32, offset as u32, offset as u32, constant])
        .collect();
    let outs = [(); 3].map(|()| rt.poisoned::<u32>(want.len()));
    // SAFETY: each unit below the layouts' size writes its own four elements.
    unsafe {
        every_form::launch_unchecked(
            &rt.client,
            rt.cubes_for(size),
            rt.cube_dim(),
            layout.to_dynamic().into(),
            (&sample.mixed).into(),
            outs[0].arg(),
            outs[1].arg(),
            outs[2].arg(),
            layout.clone(),
            sample.coarse.clone(),
            at,
        );
    }
    for (out, kind) in outs.iter().zip(["static", "dynamic", "mixed"]) {
        let got = rt.read(out).map_err(|error| error.to_string())?;
        if got != want {
            return Err(format!("{kind}: {got:?}, not {want:?}"));
        }
    }
    Ok(())
}

/// Offsets of `(2,(3,4))` by coordinates of every form, some of whose parts are constants.
#[cube(launch_unchecked)]
fn forms(layout: KernelLayout, i: u32, j: usize, out: &mut [u32]) {
    out[0] = layout.offset(23) as u32;
    out[1] = layout.offset(i * 2 + 1) as u32;
    out[2] = layout.offset((i - 10, j * 11)) as u32;
    out[3] = layout.offset((1, 11u32)) as u32;
    out[4] = layout.offset((j, (i - 9, 3))) as u32;
    out[5] = layout.offset((1usize, (2, 3))) as u32;
    let at = layout.coordinate((j, i));
    out[6] = layout.offset((at.get(0), (at.get(1).get(0).value(), at.get(1).get(1)))) as u32;
    out[7] = layout.mode(1).offset(11) as u32 + layout.mode(0).offset(j) as u32;
    out[8] = layout.size() as u32;
    out[9] = (layout.shape().get(1).size() * 10 + layout.stride().get(1).get(1).value()) as u32;
    out[10] = (layout.rank() * 10 + layout.shape().get(1).rank()) as u32;
}

fn coordinates_have_every_form(rt: &Rt) -> Result<(), Error> {
    let text = "(2,(3,4)):(1,(2,6))";
    let dynamic: Layout = text.parse().expect("a layout");
    let mixed: Layout = "(_2,(3,_4)):(_1,(_2,6))".parse().expect("a layout");
    for layout in [dynamic.to_static(), dynamic, mixed] {
        let out = rt.poisoned::<u32>(11);
        let (count, dim) = one_unit();
        // SAFETY: the one unit writes the 11 elements of `out`.
        unsafe {
            forms::launch_unchecked(&rt.client, count, dim, layout.into(), 11, 1, out.arg());
        }
        assert_same(
            &rt.read(&out)?,
            &[23, 23, 23, 23, 23, 23, 23, 23, 24, 126, 22],
        );
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn counts_on(layout: KernelLayout, out: &mut [u32]) {
    let mut row = 1u32;
    let at = layout.coordinate((row, 2));
    let line = layout.slice(0, row);
    row += 1u32;
    out[0] = layout.offset(at) as u32;
    out[1] = line.offset(2) as u32;
    out[2] = layout.offset((row, 2)) as u32;
}

fn a_coordinate_is_what_it_was_when_given(rt: &Rt) -> Result<(), Error> {
    let layout = Layout::new((_3, _4), (_1, _10)).expect("a layout");
    let out = rt.poisoned::<u32>(3);
    let (count, dim) = one_unit();
    // SAFETY: the one unit writes the three elements of `out`.
    unsafe {
        counts_on::launch_unchecked(&rt.client, count, dim, layout.into(), out.arg());
    }
    assert_same(&rt.read(&out)?, &[21, 21, 22]);
    Ok(())
}

#[cube(launch, create_dummy_kernel)]
fn linear(layout: KernelLayout, out: &mut [u32]) {
    if layout.is_in_bounds(ABSOLUTE_POS) {
        out[ABSOLUTE_POS] = layout.offset(ABSOLUTE_POS) as u32;
    }
}

fn one_kernel_for_each_profile(rt: &Rt) -> Result<(), Error> {
    let id = |layout: &Layout| {
        let out = rt.poisoned::<u32>(1);
        let kernel = linear::create_dummy_kernel(
            rt.client.properties_shared(),
            rt.client.target_properties_shared(),
            rt.cubes_for(1),
            rt.cube_dim(),
            layout.into(),
            out.arg(),
        );
        KernelMetadata::id(&kernel)
    };
    let layouts: Vec<Layout> = ["(_8,3):(_1,9)", "(_8,5):(_1,1024)", "(_8,_5):(_1,1024)"]
        .map(|text| text.parse().expect("a layout"))
        .into();
    assert_eq!(id(&layouts[0]), id(&layouts[1]), "one profile");
    assert_ne!(id(&layouts[1]), id(&layouts[2]), "two profiles");
    for layout in &layouts {
        let want: Vec<u32> = layout.offsets().map(|offset| offset as u32).collect();
        let out = rt.poisoned::<u32>(want.len());
        let count = rt.cubes_for(want.len());
        linear::launch(&rt.client, count, rt.cube_dim(), layout.into(), out.arg());
        assert_same(&rt.read(&out)?, &want);
    }
    Ok(())
}

/// The two halves of each offset.
#[cube(launch_unchecked, address_type = "dynamic")]
fn halves(layout: KernelLayout, out: &mut [u32], #[comptime] fixed: Layout) {
    let fixed = KernelLayout::fixed(fixed);
    let i = ABSOLUTE_POS as u32;
    if fixed.is_in_bounds(i) {
        let (a, b) = (fixed.offset(i), layout.offset(i));
        let first = 4 * ABSOLUTE_POS;
        out[first] = a as u32;
        out[first + 1] = (a >> 32usize) as u32;
        out[first + 2] = b as u32;
        out[first + 3] = (b >> 32usize) as u32;
    }
}

fn offsets_go_beyond_32_bits(rt: &Rt) -> Result<(), Error> {
    for text in [
        "(_4,(_3,_2)):(_1,(_3000000000,_7))",
        "(_4,_3):(_4294967295,_4294967296)",
        "(_2,_2,_5):(_1,_1099511627776,_1000000007)",
    ] {
        let layout: Layout = text.parse().expect("a layout");
        let address = KernelLayout::address_type(&(&layout).into());
        assert_eq!(address, AddressType::U64);
        let halves_of = |offset: u64| [offset as u32, (offset >> 32) as u32];
        let want: Vec<u32> = layout
            .offsets()
            .flat_map(|offset| [halves_of(offset), halves_of(offset)].concat())
            .collect();
        let out = rt.poisoned::<u32>(want.len());
        // SAFETY: each unit below the layout's size writes its own four elements.
        unsafe {
            halves::launch_unchecked(
                &rt.client,
                rt.cubes_for(want.len() / 4),
                rt.cube_dim(),
                address,
                layout.to_dynamic().into(),
                out.arg(),
                layout,
            );
        }
        assert_same(&rt.read(&out)?, &want);
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn composed(layout: KernelLayout, out: &mut [u32], #[comptime] fixed: ComposedLayout) {
    let fixed = KernelLayout::fixed(fixed);
    let i = ABSOLUTE_POS as u32;
    if fixed.is_in_bounds(i) {
        out[3 * ABSOLUTE_POS] = fixed.offset(i) as u32;
        out[3 * ABSOLUTE_POS + 1] = layout.offset(i) as u32;
        out[3 * ABSOLUTE_POS + 2] = fixed.offset((5, 2)) as u32;
    }
}

fn swizzles_and_starts_move_offsets(rt: &Rt) -> Result<(), Error> {
    let tile: Layout = "(_8,_32):(_32,_1)".parse().expect("a layout");
    for (bits, base, shift) in [(3, 0, 5), (2, 2, 3), (2, 1, -4), (0, 0, 0), (4, 3, 4)] {
        let swizzle = Swizzle::new(bits, base, shift).expect("a swizzle");
        for start in [0u64, 37] {
            let make = |layout, start| ComposedLayout::new(swizzle, start, layout).expect("small");
            let fixed = make(tile.clone(), girih::layout::Integer::Static(start));
            let dynamic = make(tile.to_dynamic(), girih::layout::Integer::Dynamic(start));
            let constant = fixed.index((5, 2)).expect("a coordinate").value() as u32;
            let want: Vec<u32> = fixed
                .offsets()
                .flat_map(|offset| [offset as u32, offset as u32, constant])
                .collect();
            let out = rt.poisoned::<u32>(want.len());
            // SAFETY: each unit below the layout's size writes its own three elements.
            unsafe {
                composed::launch_unchecked(
                    &rt.client,
                    rt.cubes_for(want.len() / 3),
                    rt.cube_dim(),
                    dynamic,
                    out.arg(),
                    fixed,
                );
            }
            assert_same(&rt.read(&out)?, &want);
        }
    }
    Ok(())
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

/// The error that reading `out` gives, which must hold `text`.
fn assert_refused(rt: &Rt, out: &Buffer<u32>, text: &str) {
    match rt.read(out) {
        Err(Error::Kernel { reason, .. }) => {
            assert!(reason.contains(text), "`{text}` is not in: {reason}")
        }
        other => panic!("not refused: {other:?}"),
    }
}

#[cube(launch)]
fn too_deep(layout: KernelLayout, out: &mut [u32]) {
    out[0] = layout.offset((0, (1, 2, ABSOLUTE_POS))) as u32;
}

fn refuses_a_coordinate_of_another_profile(rt: &Rt) {
    let layout: Layout = "(_2,(3,_4)):(_1,(2,_6))".parse().expect("a layout");
    let (out, (count, dim)) = (rt.poisoned::<u32>(1), one_unit());
    too_deep::launch(&rt.client, count, dim, layout.into(), out.arg());
    assert_refused(
        rt,
        &out,
        "girih: KernelLayout::offset: coordinate (_0,(_1,_2,?)) into shape (_2,(?,_4)); at each level one integer, or \
         as many as the shape has modes there",
    );
}

#[cube(launch)]
fn constant(out: &mut [u32], #[comptime] layout: Layout) {
    out[ABSOLUTE_POS] = KernelLayout::fixed(layout).offset(ABSOLUTE_POS) as u32;
}

fn refuses_a_dynamic_layout_as_a_constant(rt: &Rt) {
    let layout: Layout = "(_2,3):(_1,2)".parse().expect("a layout");
    let (out, (count, dim)) = (rt.poisoned::<u32>(1), one_unit());
    constant::launch(&rt.client, count, dim, out.arg(), layout);
    assert_refused(
        rt,
        &out,
        "girih: KernelLayout::fixed: Sw<0,0,0> o _0 o (_2,3):(_1,2), which has dynamic integers; static ones are needed",
    );
}

fn refuses_addresses_that_are_too_narrow(rt: &Rt) {
    let layout: Layout = "(2,3):(5,4294967296)".parse().expect("a layout");
    let refusal = "o (2,3):(5,4294967296) in a kernel of 32-bit addresses; 64-bit ones are needed";
    let (out, (count, dim)) = (rt.poisoned::<u32>(1), one_unit());
    linear::launch(&rt.client, count, dim, (&layout).into(), out.arg());
    assert_refused(rt, &out, refusal);
    let (out, (count, dim)) = (rt.poisoned::<u32>(1), one_unit());
    constant::launch(&rt.client, count, dim, out.arg(), layout.to_static());
    assert_refused(
        rt,
        &out,
        "in a kernel of 32-bit addresses; 64-bit ones are needed",
    );
}

#[cube(launch)]
fn signed(layout: KernelLayout, out: &mut [u32]) {
    out[0] = layout.offset((ABSOLUTE_POS as i32, 0)) as u32;
}

fn refuses_signed_coordinates_of_the_run(rt: &Rt) {
    let layout: Layout = "(2,3):(1,2)".parse().expect("a layout");
    let (out, (count, dim)) = (rt.poisoned::<u32>(1), one_unit());
    signed::launch(&rt.client, count, dim, layout.into(), out.arg());
    assert_refused(
        rt,
        &out,
        "girih: KernelLayout: a coordinate of type i32 that is no constant; u32 or usize is needed",
    );
}

#[cube(launch)]
fn viewed(x: &Tensor<u32>, layout: KernelLayout, out: &mut [u32]) {
    let i = ABSOLUTE_POS as u32;
    out[0] = x.view(layout.per_mode::<Coords3d>()).read((i, i, i));
}

fn refuses_views_of_another_rank(rt: &Rt) {
    let x = rt.put_tensor(&[1u32], &[1]);
    let layout: Layout = "(2,_3):(1,2)".parse().expect("a layout");
    let (out, (count, dim)) = (rt.poisoned::<u32>(1), one_unit());
    viewed::launch(&rt.client, count, dim, x.arg(), layout.into(), out.arg());
    assert_refused(
        rt,
        &out,
        "girih: KernelLayout::per_mode: 3 coordinates for shape (?,_3); as many as it has modes are needed",
    );
}
