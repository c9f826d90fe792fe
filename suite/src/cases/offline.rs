//! Kernels to PTX and SASS with no GPU: the instructions that matter are there, and local memory is not.

use girih_testkit::{
    Error, cases,
    offline::{Toolkit, buffer, hopper, settings, target},
};

use super::smoke::copy;

cases! {
    in Toolkit;
    copy_reads_and_writes_global_memory,
}

fn copy_reads_and_writes_global_memory(toolkit: &Toolkit) -> Result<(), Error> {
    let kernel = copy::Copy::<f32>::new(settings(256), hopper(), target(), buffer(), buffer(), ());
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_ptx("ld.global");
    compiled.assert_ptx("st.global");
    compiled.assert_no_local_memory();
    Ok(())
}
