//! Products by Hopper's tensor cores against sums in `f64` on the host: every layout of operands, every way to share them,
//! sizes that divide nothing, groups, and rows by lists.

mod activation;
#[cfg(feature = "offline")]
pub mod compiled;
mod groups;
mod lists;
mod model;
mod schedule;

use super::matmul::host::activated;
use super::model::{handle, list};
use girih::cuda::wgmma::Major;
use girih::device::Device;
use girih_kernels::Activation;
use girih_kernels::raw::matmul::hopper::{Form, Product, Share, form, supports};
use girih_testkit::{Rt, case, cases, needs};
use half::{bf16, f16};
use model::{Case, Matrix, Outcome, case, check, close, dot, product, run, value};

/// Every case of Hopper's products.
pub fn all_cases() -> Vec<case::Case> {
    [
        cases(),
        activation::cases(),
        groups::cases(),
        lists::cases(),
        schedule::cases(),
    ]
    .concat()
}

cases! {
    what_is_not_supported needs [needs::WARPGROUP_MMA],
    sizes_of_every_kind needs [needs::WARPGROUP_MMA],
    every_layout_of_operands needs [needs::WARPGROUP_MMA],
    products_in_batches needs [needs::WARPGROUP_MMA],
    results_of_f32_and_operands_of_f16 needs [needs::WARPGROUP_MMA],
    bias_and_activation needs [needs::WARPGROUP_MMA],
    tiles_in_turn needs [needs::WARPGROUP_MMA],
    long_sums needs [needs::WARPGROUP_MMA],
    cubes_that_share_an_operand needs [needs::WARPGROUP_MMA],
}

fn sizes_of_every_kind(rt: &Rt) -> Outcome {
    let sizes = [
        case(128, 256, 64),
        case(128, 256, 192),
        case(1, 1, 1),
        case(1, 8, 8),
        case(64, 64, 64),
        case(129, 257, 65),
        case(200, 264, 136),
        case(300, 520, 520),
        case(7, 1000, 96),
        case(1000, 7, 96),
    ];
    for size in sizes {
        check::<bf16, bf16>(rt, size, |form| form)?;
    }
    // The largest tile too, whatever the size.
    for size in sizes {
        let largest = |form| Form {
            columns: 256,
            stages: 4,
            share: Share::Nothing,
            ..form
        };
        check::<bf16, bf16>(rt, size, largest)?;
    }
    Ok(())
}

fn every_layout_of_operands(rt: &Rt) -> Outcome {
    for majors in [
        [Major::K, Major::K],
        [Major::K, Major::Mn],
        [Major::Mn, Major::K],
        [Major::Mn, Major::Mn],
    ] {
        for size in [case(256, 512, 128), case(136, 264, 200), case(40, 72, 24)] {
            for columns in [256, 128] {
                let of_form = |form| Form {
                    columns,
                    stages: 4,
                    share: Share::Nothing,
                    ..form
                };
                check::<bf16, bf16>(rt, Case { majors, ..size }, of_form)?;
            }
        }
    }
    Ok(())
}

fn cubes_that_share_an_operand(rt: &Rt) -> Outcome {
    for majors in [[Major::K, Major::K], [Major::Mn, Major::Mn]] {
        for share in [Share::A, Share::B] {
            // Of an odd number of tiles, one of a pair has nothing to do.
            for size in [
                case(512, 1024, 320),
                case(384, 768, 136),
                case(100, 200, 640),
            ] {
                let of_form = |form| Form {
                    columns: 256,
                    stages: 4,
                    share,
                    ..form
                };
                check::<bf16, bf16>(rt, Case { majors, ..size }, of_form)?;
            }
        }
    }
    Ok(())
}

fn tiles_in_turn(rt: &Rt) -> Outcome {
    // Every cube has several tiles, and goes around its ring across them.
    let size = case(2304, 4104, 200);
    check::<bf16, bf16>(rt, size, |form| form)?;
    let majors = [Major::K, Major::Mn];
    check::<bf16, bf16>(rt, Case { majors, ..size }, |form| form)?;
    let small = |form| Form {
        columns: 64,
        stages: 8,
        share: Share::A,
        ..form
    };
    check::<bf16, bf16>(rt, case(1288, 2056, 72), small)
}

fn long_sums(rt: &Rt) -> Outcome {
    check::<bf16, bf16>(rt, case(256, 512, 4096), |form| form)?;
    check::<bf16, f32>(rt, case(264, 128, 8200), |form| form)
}

fn products_in_batches(rt: &Rt) -> Outcome {
    let size = Case {
        count: 5,
        ..case(72, 136, 104)
    };
    check::<bf16, bf16>(rt, size, |form| form)?;
    let majors = [Major::Mn, Major::Mn];
    check::<f16, f16>(rt, Case { majors, ..size }, |form| form)
}

fn results_of_f32_and_operands_of_f16(rt: &Rt) -> Outcome {
    for size in [case(256, 512, 128), case(136, 265, 200)] {
        check::<bf16, f32>(rt, size, |form| form)?;
        check::<f16, f32>(rt, size, |form| form)?;
        check::<f16, f16>(rt, size, |form| form)?;
    }
    Ok(())
}

fn bias_and_activation(rt: &Rt) -> Outcome {
    let [rows, columns, inner] = [136, 264, 72];
    let a = Matrix::<bf16>::new(rt, [1, rows, inner], Major::K, 3);
    let b = Matrix::<bf16>::new(rt, [1, columns, inner], Major::Mn, 4);
    let addends: Vec<f32> = (0..columns).map(|at| 3.0 * value(at, 5)).collect();
    let bias = rt.put(&addends);
    let device = Device::of(&rt.client);
    for activation in [
        Activation::Identity,
        Activation::Relu,
        Activation::Silu,
        Activation::Gelu,
    ] {
        let out = rt.poisoned_tensor::<f32>(&[rows, columns], &[columns, 1]);
        let (of_a, of_b, of_c) = (handle(&a.tensor), handle(&b.tensor), handle(&out));
        let bias = list(&bias);
        let product = Product {
            bias: Some(&bias),
            activation,
            ..product(
                [&of_a, &of_b, &of_c],
                [rows, columns, inner],
                [&a.strides, &b.strides],
                columns,
            )
        };
        supports(&device, &product)?;
        run(&device, &product, form(&device, &product))?;
        let got = rt.read_tensor(&out).map_err(|error| error.to_string())?;
        for (at, got) in got.into_iter().enumerate() {
            let (row, column) = (at / columns, at % columns);
            let (sum, magnitude) = dot(a.line(row), b.line(column));
            let want = activated(sum + f64::from(addends[column]), activation);
            if !close(got, want, magnitude + 1.0, inner) {
                return Err(format!(
                    "{activation:?} at {row}, {column}: {got}, not {want}"
                ));
            }
        }
    }
    Ok(())
}

fn what_is_not_supported(rt: &Rt) -> Outcome {
    let device = Device::of(&rt.client);
    let a = rt.put_tensor(&vec![bf16::ZERO; 64 * 60], &[64, 60]);
    let b = rt.put_tensor(&vec![bf16::ZERO; 64 * 64], &[64, 64]);
    let out = rt.poisoned_tensor::<bf16>(&[64, 64], &[64, 1]);
    let (of_a, of_b, of_c) = (handle(&a), handle(&b), handle(&out));
    // Rows of 60 elements do not begin on multiples of 16 bytes.
    let rows = product(
        [&of_a, &of_b, &of_c],
        [64, 64, 60],
        [&[60, 1], &[64, 1]],
        64,
    );
    let columns = Product {
        a_strides: [60, 2],
        ..rows.clone()
    };
    let none = Product {
        inner: 0,
        ..rows.clone()
    };
    for (product, lacking) in [
        (rows, "rows of A"),
        (columns, "rows of A"),
        (none, "extents"),
    ] {
        match supports(&device, &product) {
            Err(reason) if reason.starts_with(lacking) => {}
            other => return Err(format!("{lacking}: {other:?}")),
        }
    }
    Ok(())
}
