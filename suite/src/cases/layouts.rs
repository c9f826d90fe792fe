//! Layouts in kernels against the host's: every form of coordinate, static, dynamic and mixed integers, swizzles, offsets
//! of 64 bits.

mod arbitrary;
pub mod parts;
pub mod refusals;

use arbitrary::{Sample, samples};
use cubecl::prelude::*;
use girih::layout::{
    ComposedLayout, IntTuple, Integer, KernelLayout, Layout, Swizzle, consts::*, idx2crd,
};
use girih_testkit::{Error, Rt, case::Need, cases, check::assert_same};

use crate::random::for_all;

cases! {
    random_layouts_have_the_offsets_of_the_host,
    coordinates_have_every_form,
    a_coordinate_is_what_it_was_when_given,
    one_kernel_for_each_profile,
    offsets_go_beyond_32_bits needs [ADDRESSES_64],
    swizzles_and_starts_move_offsets,
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
pub(super) fn linear(layout: KernelLayout, out: &mut [u32]) {
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
            let fixed = make(tile.clone(), Integer::Static(start));
            let dynamic = make(tile.to_dynamic(), Integer::Dynamic(start));
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
