//! The first call of the README.

use burn::tensor::{Device, Int, Tensor};
use girih_burn::{Bounds, gather};
use girih_testkit::{Rt, cases};

use super::device;

cases! {
    the_first_call,
}

fn rows(device: &Device) -> Result<(), girih_burn::Error> {
    let table = Tensor::<2>::from_floats([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], device);
    let index = Tensor::<1, Int>::from_ints([2, 0, 2], device);

    let rows = gather(table.clone(), 0, index, Bounds::Report)?; // differentiable, nothing is read back
    let rows = rows.check()?; // an index out of range is an Err that names it
    assert_eq!(
        rows.to_data().try_to_vec::<f32>().unwrap(),
        [4.0, 5.0, 0.0, 1.0, 4.0, 5.0]
    );

    let bad = Tensor::<1, Int>::from_ints([0, 3], device);
    let refused = gather(table, 0, bad, Bounds::Report)?.check().unwrap_err();
    assert_eq!(
        refused.to_string(),
        "index 3 at position 1 is out of range of axis 0, which has extent 3; 0..3 is allowed"
    );
    Ok(())
}

fn the_first_call(rt: &Rt) -> Result<(), girih_burn::Error> {
    rows(&device(rt))
}
