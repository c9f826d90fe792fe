//! The kernels of the litmus tests on an NVIDIA GPU: each access has its order and scope, and nothing spills.

use girih::memory;
use girih_testkit::{
    Error, cases,
    offline::{Compiled, Toolkit, buffer, hopper, settings, target},
};

use crate::litmus::kernels::{play, tally};
use crate::litmus::shapes::{Orders, Shape};
use crate::litmus::stage::{Ensemble, Stage};

cases! {
    in Toolkit;
    messages_are_passed_in_buffers,
    messages_are_passed_in_shared_memory,
    messages_are_passed_by_updates,
    stores_are_fenced,
    independent_writes_have_one_order,
    outcomes_are_counted_in_shared_memory,
}

/// A GPU of 132 multiprocessors, such as an H200.
fn stage(shape: Shape, wide: bool, shared: bool) -> Stage {
    Stage {
        ensemble: Ensemble::gpu(256, 512),
        roles: shape.program(Orders::Relaxed).roles.len() as u32,
        wide,
        shared,
    }
}

fn compile<S: memory::KnownScope>(
    toolkit: &Toolkit,
    shape: Shape,
    orders: Orders,
    shared: bool,
) -> Result<Compiled, Error> {
    let wide = S::SCOPE != memory::MemoryScope::Cube;
    let kernel = play::Play::<S>::new(
        settings(256),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        (),
        shape.program(orders),
        stage(shape, wide, shared),
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_no_local_memory();
    // Four cubes of 256 units are at once on a multiprocessor, whose registers are 65,536.
    compiled.assert_registers_at_most(64);
    Ok(compiled)
}

fn messages_are_passed_in_buffers(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = compile::<memory::Device>(toolkit, Shape::Mp, Orders::ReleaseAcquire, false)?;
    compiled.assert_ptx("st.relaxed.gpu.global");
    compiled.assert_ptx("st.release.gpu.global");
    compiled.assert_ptx("ld.acquire.gpu.global");
    compiled.assert_ptx("ld.relaxed.gpu.global");
    Ok(())
}

fn messages_are_passed_in_shared_memory(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = compile::<memory::Cube>(toolkit, Shape::Mp, Orders::ReleaseAcquire, true)?;
    compiled.assert_ptx("st.release.cta.shared");
    compiled.assert_ptx("ld.acquire.cta.shared");
    compiled.assert_no_ptx("acquire.gpu");
    Ok(())
}

fn messages_are_passed_by_updates(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = compile::<memory::System>(toolkit, Shape::Mp, Orders::AcqRelUpdates, false)?;
    compiled.assert_ptx("atom.acq_rel.sys.global.exch");
    compiled.assert_ptx("atom.acq_rel.sys.global.add");
    Ok(())
}

fn stores_are_fenced(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = compile::<memory::Device>(toolkit, Shape::Sb, Orders::SeqCstFences, false)?;
    compiled.assert_ptx("fence.sc.gpu");
    compiled.assert_no_ptx("ld.acquire");
    Ok(())
}

fn independent_writes_have_one_order(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = compile::<memory::Device>(toolkit, Shape::Iriw, Orders::SeqCst, false)?;
    compiled.assert_ptx("fence.sc.gpu");
    compiled.assert_ptx("ld.acquire.gpu.global");
    Ok(())
}

fn outcomes_are_counted_in_shared_memory(toolkit: &Toolkit) -> Result<(), Error> {
    let kernel = tally::Tally::new(
        settings(256),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        (),
        Shape::CoWw.program(Orders::Relaxed),
        stage(Shape::CoWw, true, false),
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_ptx("red.relaxed.cta.shared.add");
    compiled.assert_ptx("red.relaxed.gpu.global.add");
    compiled.assert_no_local_memory();
    Ok(())
}
