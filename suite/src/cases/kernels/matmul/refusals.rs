//! What products refuse, by name, and that the next call works.

use super::model::{Operand, Random};
use cubecl::prelude::*;
use girih::device::Device;
use girih_kernels::{
    Activation, Bounds, MatmulOptions, MatmulPath, MatmulTile, Route, gather_matmul_scatter_into,
    grouped_matmul, matmul, matmul_into,
};
use girih_testkit::{Rt, cases, needs};

cases! {
    shapes_and_types,
    options_of_no_use,
    lists_that_do_not_fit needs [needs::ADD_F32],
}

fn of(rt: &Rt, shape: &[usize]) -> Operand<f32> {
    Operand::random(
        rt,
        shape,
        &girih_testkit::buffer::row_major(shape),
        &mut Random::new(1),
    )
}

fn refused<T>(result: girih_kernels::Result<T>, wanted: &str) -> Result<(), String> {
    match result {
        Ok(_) => Err(format!("not refused: {wanted}")),
        Err(error) if error.to_string().contains(wanted) => Ok(()),
        Err(error) => Err(format!("{error}, not {wanted}")),
    }
}

/// The device still multiplies.
fn works(rt: &Rt) -> Result<(), String> {
    let one = Operand::new(rt, &[1, 1], &[1, 1], vec![3.0f32]);
    let out = matmul(
        &rt.client,
        &one.tensor,
        &one.tensor,
        &MatmulOptions::default(),
    );
    let bytes = rt
        .client
        .read_one(out.map_err(|e| e.to_string())?.handle)
        .map_err(|e| e.to_string())?;
    match f32::from_bytes(&bytes)[0] == 9.0 {
        true => Ok(()),
        false => Err("3 times 3 is not 9".into()),
    }
}

fn shapes_and_types(rt: &Rt) -> Result<(), String> {
    let options = MatmulOptions::default();
    let (a, b) = (of(rt, &[4, 5]), of(rt, &[6, 3]));
    let product =
        |a: &Operand<f32>, b: &Operand<f32>| matmul(&rt.client, &a.tensor, &b.tensor, &options);
    refused(product(&a, &b), "b has shape [6, 3]; matmul needs [5, 3]")?;
    refused(
        product(&of(rt, &[5]), &b),
        "a has rank 1; matmul needs rank 2 or more",
    )?;
    refused(
        product(&of(rt, &[2, 4, 6]), &of(rt, &[3, 6, 3])),
        "b has shape [3, 6, 3]; matmul needs [2, 6, 3]",
    )?;
    let ints = Operand::<i32>::new(rt, &[5, 3], &[3, 1], vec![0; 15]);
    refused(
        matmul(&rt.client, &a.tensor, &ints.tensor, &options),
        "b has elements of type i32; matmul needs f32",
    )?;
    let to_ints = MatmulOptions {
        output: Some(i32::elem_type_native()),
        ..Default::default()
    };
    refused(
        matmul(&rt.client, &a.tensor, &of(rt, &[5, 3]).tensor, &to_ints),
        "the result has elements of type i32; matmul needs a float type, as of the operands",
    )?;
    let mut far = of(rt, &[5, 3]);
    far.tensor = cubecl::std::tensor::TensorHandle::new(
        far.tensor.handle,
        vec![5usize, 3],
        vec![100usize, 1],
        f32::elem_type_native(),
    );
    refused(product(&a, &far), "reaches element 403 of a buffer of 15")?;
    let out = cubecl::std::tensor::TensorHandle::new(
        rt.client.empty(80),
        vec![4usize, 3],
        vec![0usize, 1],
        f32::elem_type_native(),
    );
    refused(
        matmul_into(
            &rt.client,
            &a.tensor,
            &of(rt, &[5, 3]).tensor,
            &out,
            &options,
        ),
        "has elements that overlap",
    )?;
    works(rt)
}

fn options_of_no_use(rt: &Rt) -> Result<(), String> {
    let (a, b) = (of(rt, &[4, 5]), of(rt, &[5, 3]));
    let with = |options: MatmulOptions<'_>| matmul(&rt.client, &a.tensor, &b.tensor, &options);
    let bias = of(rt, &[4]);
    refused(
        with(MatmulOptions {
            bias: Some(&bias.tensor),
            ..Default::default()
        }),
        "bias has shape [4]; matmul needs [3]",
    )?;
    let tile = MatmulTile::new([3, 3, 3], [2, 2]);
    refused(
        with(MatmulOptions {
            tile: Some(tile),
            ..Default::default()
        }),
        "tile is MatmulTile",
    )?;
    let tile = MatmulTile::new([4096, 4096, 64], [64, 64]);
    refused(
        with(MatmulOptions {
            tile: Some(tile),
            ..Default::default()
        }),
        "at most",
    )?;
    if rt.kind == girih_testkit::DeviceKind::Cpu {
        for path in [MatmulPath::TensorCores, MatmulPath::Hopper] {
            refused(
                with(MatmulOptions {
                    path: Some(path),
                    ..Default::default()
                }),
                &format!("has no path {path:?}"),
            )?;
        }
    }
    let ints = Operand::<i32>::new(rt, &[4, 4], &[4, 1], vec![0; 16]);
    let options = MatmulOptions {
        activation: Activation::Gelu,
        ..Default::default()
    };
    refused(
        matmul(&rt.client, &ints.tensor, &ints.tensor, &options),
        "activation is Gelu, of integers; matmul needs Identity",
    )?;
    works(rt)
}

fn lists_that_do_not_fit(rt: &Rt) -> Result<(), String> {
    let options = MatmulOptions::default();
    let (a, b) = (of(rt, &[4, 5]), of(rt, &[2, 5, 3]));
    let list = |values: &[i32]| Operand::<i32>::new(rt, &[values.len()], &[1], values.to_vec());
    let three = list(&[1, 2, 3]);
    refused(
        grouped_matmul(&rt.client, &a.tensor, &b.tensor, &three.tensor, &options),
        "ends has shape [3]; grouped_matmul needs [2]",
    )?;
    let floats = of(rt, &[2]);
    refused(
        grouped_matmul(&rt.client, &a.tensor, &b.tensor, &floats.tensor, &options),
        "ends has elements of type f32; grouped_matmul needs an integer type",
    )?;
    let target = of(rt, &[7, 3]);
    let ends = list(&[1, 3]);
    let add = |route: Route<'_>| {
        gather_matmul_scatter_into(
            &rt.client,
            &a.tensor,
            &b.tensor,
            &target.tensor,
            &route,
            Bounds::Mask,
            &options,
        )
    };
    refused(
        add(Route {
            ends: Some(&ends.tensor),
            gather: Some(&three.tensor),
            ..Default::default()
        }),
        "the rows of the result is 7, without a list; gather_matmul_scatter needs 3",
    )?;
    let four = list(&[0, 1, 2, 3]);
    refused(
        add(Route {
            ends: Some(&ends.tensor),
            gather: Some(&three.tensor),
            scatter: Some(&four.tensor),
            ..Default::default()
        }),
        "scatter has shape [4]; gather_matmul_scatter needs [3]",
    )?;
    if Device::of(&rt.client).stores(i64::elem_type_native()) {
        let wide = Operand::<i64>::new(rt, &[3], &[1], vec![0, 1, 2]);
        refused(
            add(Route {
                ends: Some(&ends.tensor),
                gather: Some(&three.tensor),
                scatter: Some(&wide.tensor),
                ..Default::default()
            }),
            "scatter has elements of type i64; gather_matmul_scatter needs i32",
        )?;
    }
    works(rt)
}
