//! What launches gave, compared on the device: reading all of it back would leave the device idle between launches.

use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::prelude::*;
use girih_testkit::{Buffer, Rt};

/// Counts the elements that are not as they should be, and spoils what was there for the next launch.
#[cube(launch_unchecked)]
fn compare_kernel<E: Int>(found: &mut [E], want: &[E], wrong: &[Atomic<u32>]) {
    if ABSOLUTE_POS < want.len() {
        if found[ABSOLUTE_POS] != want[ABSOLUTE_POS] {
            wrong[0].at::<Device>().fetch_add::<Relaxed>(1u32);
        }
        found[ABSOLUTE_POS] = E::new(-1i64);
    }
}

/// Adds to `wrong` how many elements of a list are not those that the host has.
pub(super) fn compare<E: CubeElement + Int>(
    rt: &Rt,
    found: &TensorHandle,
    want: &Buffer<E>,
    wrong: &Buffer<u32>,
) {
    // SAFETY: a unit has an element of both lists, if there is one for it.
    unsafe {
        compare_kernel::launch_unchecked::<E>(
            &rt.client,
            rt.cubes_for(want.len()),
            rt.cube_dim(),
            BufferArg::from_raw_parts(found.handle.clone(), want.len()),
            want.arg(),
            wrong.arg(),
        );
    }
}

/// A buffer as a list.
pub(super) fn list<E: CubeElement + Scalar>(buffer: &Buffer<E>) -> TensorHandle {
    TensorHandle::new_contiguous(vec![buffer.len()], buffer.handle(), E::elem_type_native())
}
