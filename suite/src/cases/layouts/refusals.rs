//! What a kernel refuses of layouts and coordinates while it is expanded.

use cubecl::prelude::*;
use cubecl::std::tensor::{AsView, AsViewExpand, layout::Coords3d};
use girih::layout::{KernelLayout, Layout};
use girih_testkit::{Buffer, Error, Rt, cases};

use super::{linear, one_unit};

cases! {
    refuses_a_coordinate_of_another_profile,
    refuses_a_dynamic_layout_as_a_constant,
    refuses_addresses_that_are_too_narrow,
    refuses_signed_coordinates_of_the_run,
    refuses_views_of_another_rank,
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
