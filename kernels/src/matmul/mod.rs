//! Products of matrices: in batches, by groups of rows, and with rows gathered and added to by lists.

pub(crate) mod activation;
mod beside;
mod epilogue;
mod form;
mod hopper;
mod launch;
mod options;
mod place;
mod plan;
mod portable;
mod problem;
mod routed;
mod stage;
mod tensor;
mod tune;

pub use activation::Activation;
pub use options::{MatmulOptions, MatmulPath, MatmulTile, Route};
pub use plan::MatmulPlan;
pub use problem::MOST_GROUPS;
pub use routed::{
    Routed, explain_gather_matmul, explain_gather_matmul_scatter, gather_matmul,
    gather_matmul_scatter_into,
};

/// For tests that compile the kernels without a device.
pub mod raw {
    /// Of NVIDIA's Hopper.
    pub mod hopper {
        pub use crate::matmul::hopper::*;
    }
    /// Those that stage tiles in shared memory.
    pub mod tiled {
        pub use crate::matmul::form::{
            Form, Grouping, Reading, Sizes, SizesCompilationArg, Strides, StridesCompilationArg,
        };
        pub use crate::matmul::portable::{matmul_add_kernel, matmul_kernel};
        pub use crate::matmul::tensor::{FRAGMENT, matmul_add_tensor_kernel, matmul_tensor_kernel};
    }
}

/// The book's chapter, whose examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/src/matmul.md")]
struct Book;

use crate::check;
use beside::Beside;
use cubecl::client::Client;
use cubecl::std::tensor::{TensorHandle, into_contiguous};
use form::{Grouping, PER_AXIS};
use girih::device::Device;
use girih::{Bounds, Error, Result};
use launch::{Reports, launch, launch_hopper, launch_hopper_beside};
use plan::{Planned, Tiled};
use problem::{
    Problem, Types, bias_strides, broadcast, ends as check_ends, output_type, rank, repeated,
};
use tune::launch_fastest;

/// The product of matrices: `out[.., m, n] = activation(sum over k of a[.., m, k] b[.., k, n] + bias[.., n])`.
///
/// `a` has shape `[.., M, K]`, `b` `[.., K, N]`, of any strides: row-major, column-major, slices. The axes before the last two
/// are a batch; they are equal, or repeat where one tensor has extent 1 or no such axis. The result is contiguous. Sums are of
/// `f32` for 16- and 32-bit floats, of `i32` for smaller integers, else of the element's own type, and wrap; where K is 0 they
/// are 0.
///
/// | backend | how |
/// |---|---|
/// | any | tiles of both operands in shared memory, a block of the result in each unit's registers |
/// | GPU with tensor cores | as [`MatmulPath`] says |
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Activation, MatmulOptions, Result, matmul};
///
/// fn layer(client: &Client) -> Result<()> {
///     let tensor = |values: &[f32], shape: Vec<usize>| {
///         let handle = client.create_from_slice(f32::as_bytes(values));
///         TensorHandle::new_contiguous(shape, handle, f32::elem_type_native())
///     };
///     let a = tensor(&[1.0, 2.0, 3.0, 4.0], vec![2, 2]);
///     let b = tensor(&[1.0, 0.0, -1.0, 0.0, 1.0, -1.0], vec![2, 3]);
///     let bias = tensor(&[0.5, 0.0, 1.0], vec![3]);
///     let options = MatmulOptions {
///         bias: Some(&bias),
///         activation: Activation::Relu,
///         ..Default::default()
///     };
///     let out = matmul(client, &a, &b, &options)?;
///     let bytes = client.read_one(out.handle)?;
///     assert_eq!(f32::from_bytes(&bytes), [1.5, 2.0, 0.0, 3.5, 4.0, 0.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # layer(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Rank`], [`Error::Shape`], [`Error::Element`], [`Error::Strides`]; [`Error::Argument`] of the options;
/// [`Error::Device`] where the device does not store a type, or has not the path asked for.
pub fn matmul(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<TensorHandle> {
    const CALL: &str = "matmul";
    let shape = product_shape(CALL, a, b)?;
    let out = check::output(CALL, client, shape, output_type(CALL, a, options)?)?;
    matmul_into(client, a, b, &out, options)?;
    Ok(out)
}

/// As [`matmul`](matmul()), into a tensor that is there: of any strides that do not overlap. It shares no memory with the others; what
/// it would hold then is not defined.
///
/// # Errors
///
/// As [`matmul`](matmul()); of `out` also [`Error::Overlap`].
pub fn matmul_into(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    out: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<()> {
    let device = Device::of(client);
    let problem = product(&device, a, b, out, options)?;
    run(&device, &problem, options, [None, None])
}

/// Whether a device multiplies matrices of the element.
///
/// # Errors
///
/// [`Error::Element`] of a type that has no products, [`Error::Device`] where the device does not store it, or what it is summed
/// in.
pub fn supports_matmul(client: &Client, element: cubecl::ir::ElemType) -> Result<()> {
    let device = Device::of(client);
    check::element("matmul", &device, element)?;
    check::element(
        "matmul",
        &device,
        problem::work_type("matmul", "a", element)?,
    )
}

/// What [`matmul`](matmul()) would launch.
///
/// # Errors
///
/// As [`matmul`](matmul()).
pub fn explain_matmul(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<MatmulPlan> {
    const CALL: &str = "matmul";
    let device = Device::of(client);
    let shape = product_shape(CALL, a, b)?;
    let out = check::output(CALL, client, shape, output_type(CALL, a, options)?)?;
    let problem = product(&device, a, b, &out, options)?;
    Ok(plan(&device, &problem, options)?.explain(&problem))
}

/// The product of rows in groups with a matrix for each group: `out[r, n] = activation(sum over k of a[r, k] b[e, k, n] +
/// bias[e, n])`, where `e` is the group of row `r`.
///
/// `a` has shape `[R, K]`, `b` `[E, K, N]`, of any strides. `ends` has E integers in ascending order: group `e` has the rows
/// from `ends[e - 1]`, or 0, up to `ends[e]`. They are on the device, as [`scan`](fn@crate::scan) makes them of
/// [`bincount`](crate::bincount)s, and are not read back. A group may be empty, or have all rows. Ends out of `0..=R` are put within, and an
/// end before the one before it is an empty group. Rows after the last end are in no group: they are 0.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{MatmulOptions, Result, grouped_matmul};
///
/// fn experts(client: &Client) -> Result<()> {
///     let tensor = |values: &[f32], shape: Vec<usize>| {
///         let handle = client.create_from_slice(f32::as_bytes(values));
///         TensorHandle::new_contiguous(shape, handle, f32::elem_type_native())
///     };
///     let rows = tensor(&[1.0, 2.0, 3.0, 4.0], vec![4, 1]);
///     let experts = tensor(&[1.0, 10.0, 100.0], vec![3, 1, 1]);
///     // One row for the first expert, none for the second, two for the third, and one for none.
///     let ends = client.create_from_slice(i32::as_bytes(&[1, 1, 3]));
///     let ends = TensorHandle::new_contiguous(vec![3], ends, i32::elem_type_native());
///     let out = grouped_matmul(client, &rows, &experts, &ends, &MatmulOptions::default())?;
///     let bytes = client.read_one(out.handle)?;
///     assert_eq!(f32::from_bytes(&bytes), [1.0, 200.0, 300.0, 0.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # experts(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// As [`matmul`](matmul()); [`Error::Size`] of more than 65,535 groups.
pub fn grouped_matmul(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    ends: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<TensorHandle> {
    const CALL: &str = "grouped_matmul";
    rank(CALL, "a", a, 2, false)?;
    rank(CALL, "b", b, 3, false)?;
    let shape = vec![a.shape()[0], b.shape()[2]];
    let out = check::output(CALL, client, shape, output_type(CALL, a, options)?)?;
    grouped_matmul_into(client, a, b, ends, &out, options)?;
    Ok(out)
}

/// As [`grouped_matmul`], into a tensor that is there: of any strides that do not overlap.
///
/// # Errors
///
/// As [`grouped_matmul`]; of `out` also [`Error::Overlap`].
pub fn grouped_matmul_into(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    ends: &TensorHandle,
    out: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<()> {
    let device = Device::of(client);
    let problem = grouped("grouped_matmul", &device, a, b, ends, out, options)?;
    run(&device, &problem, options, [None, None])
}

/// What [`grouped_matmul`] would launch.
///
/// # Errors
///
/// As [`grouped_matmul`].
pub fn explain_grouped_matmul(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    ends: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<MatmulPlan> {
    const CALL: &str = "grouped_matmul";
    let device = Device::of(client);
    rank(CALL, "a", a, 2, false)?;
    rank(CALL, "b", b, 3, false)?;
    let shape = vec![a.shape()[0], b.shape()[2]];
    let out = check::output(CALL, client, shape, output_type(CALL, a, options)?)?;
    let problem = grouped(CALL, &device, a, b, ends, &out, options)?;
    Ok(plan(&device, &problem, options)?.explain(&problem))
}

/// A product for each group of positions of K: `out[e, m, n] = activation(sum over k in group e of a[m, k] b[k, n] +
/// bias[e, n])`. It is the gradient of [`grouped_matmul`]'s matrices, with the rows of `a` transposed.
///
/// `a` has shape `[M, K]`, `b` `[K, N]`, the result `[E, M, N]`; `ends` as for [`grouped_matmul`], of positions of K.
/// An empty group's sums are 0.
///
/// # Errors
///
/// As [`grouped_matmul`].
pub fn grouped_inner_matmul(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    ends: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<TensorHandle> {
    const CALL: &str = "grouped_inner_matmul";
    rank(CALL, "a", a, 2, false)?;
    rank(CALL, "b", b, 2, false)?;
    rank(CALL, "ends", ends, 1, false)?;
    let shape = vec![ends.shape()[0], a.shape()[0], b.shape()[1]];
    let out = check::output(CALL, client, shape, output_type(CALL, a, options)?)?;
    let device = Device::of(client);
    let problem = grouped_inner(&device, a, b, ends, &out, options)?;
    run(&device, &problem, options, [None, None])?;
    Ok(out)
}

/// What [`grouped_inner_matmul`] would launch.
///
/// # Errors
///
/// As [`grouped_inner_matmul`].
pub fn explain_grouped_inner_matmul(
    client: &Client,
    a: &TensorHandle,
    b: &TensorHandle,
    ends: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<MatmulPlan> {
    const CALL: &str = "grouped_inner_matmul";
    rank(CALL, "a", a, 2, false)?;
    rank(CALL, "b", b, 2, false)?;
    rank(CALL, "ends", ends, 1, false)?;
    let shape = vec![ends.shape()[0], a.shape()[0], b.shape()[1]];
    let out = check::output(CALL, client, shape, output_type(CALL, a, options)?)?;
    let device = Device::of(client);
    let problem = grouped_inner(&device, a, b, ends, &out, options)?;
    Ok(plan(&device, &problem, options)?.explain(&problem))
}

/// A list whose elements lie one after another.
fn packed(client: &Client, list: &TensorHandle) -> TensorHandle {
    match list.strides().first() {
        Some(1) | None => list.clone(),
        _ if list.shape()[0] <= 1 => list.clone(),
        _ => into_contiguous(client, list.clone().binding(), list.dtype),
    }
}

fn split(shape: &[usize]) -> (&[usize], [usize; 2]) {
    let (batch, matrix) = shape.split_at(shape.len() - 2);
    (batch, [matrix[0], matrix[1]])
}

/// The shape of a product.
fn product_shape(call: &'static str, a: &TensorHandle, b: &TensorHandle) -> Result<Vec<usize>> {
    rank(call, "a", a, 2, true)?;
    rank(call, "b", b, 2, true)?;
    let ((a, _), (b, _)) = (check::dims(a), check::dims(b));
    let ((batch_a, [rows, inner]), (batch_b, [given, columns])) = (split(&a), split(&b));
    let refused = |allowed: Vec<usize>| Error::Shape {
        call,
        argument: "b",
        given: b.clone(),
        allowed,
    };
    if given != inner {
        let allowed = batch_b.iter().copied().chain([inner, columns]);
        return Err(refused(allowed.collect()));
    }
    let batch = broadcast(batch_a, batch_b).ok_or_else(|| {
        let allowed = batch_a.iter().copied().chain([inner, columns]);
        refused(allowed.collect())
    })?;
    Ok(batch.into_iter().chain([rows, columns]).collect())
}

/// A product in batches.
fn product(
    device: &Device,
    a: &TensorHandle,
    b: &TensorHandle,
    c: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<Problem> {
    const CALL: &str = "matmul";
    let shape = product_shape(CALL, a, b)?;
    check::shape(CALL, "the result", c, &shape)?;
    let types = Types::new(CALL, device, [a, b, c], "the result", options)?;
    let (batch, [rows, columns]) = split(&shape);
    let bias = bias_strides(
        CALL,
        device.client(),
        options.bias,
        batch,
        columns,
        types.output,
    )?;
    let strides = |tensor: &TensorHandle| {
        let (shape, strides) = check::dims(tensor);
        let (batch_strides, last) = split(&strides);
        let (own, _) = split(&shape);
        let repeated =
            repeated(own, batch_strides, batch).expect("the batch is what both repeat to");
        (repeated, last)
    };
    let ((batch_a, a_strides), (batch_b, b_strides)) = (strides(a), strides(b));
    let (batch_c, c_strides) = strides(c);
    let axes = crate::fold::fold(batch, [&batch_a, &batch_b, &batch_c, &bias[..batch.len()]]);
    let inner = check::dims(a).0[shape.len().min(a.shape().len()) - 1];
    Ok(Problem {
        call: CALL,
        element: types.element,
        work: types.work,
        output: types.output,
        a: a.clone(),
        b: b.clone(),
        c: c.clone(),
        rows,
        columns,
        inner,
        groups: 0,
        rows_a: rows,
        rows_c: rows,
        a_strides,
        b_strides,
        c_strides,
        b_group: 0,
        c_group: 0,
        bias_column: bias[batch.len()],
        bias_group: 0,
        batch: axes
            .into_iter()
            .map(|axis| -> [usize; PER_AXIS] {
                let [a, b, c, bias] = axis.strides;
                [axis.extent, a, b, c, bias]
            })
            .collect(),
        grouping: Grouping::Batches,
        activation: options.activation,
        bias: options.bias.cloned(),
        ends: None,
        gather: None,
        scatter: None,
        weights: None,
        bounds: Bounds::Mask,
        adds: false,
    })
}

/// A product of rows in groups.
fn grouped(
    call: &'static str,
    device: &Device,
    a: &TensorHandle,
    b: &TensorHandle,
    ends: &TensorHandle,
    c: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<Problem> {
    rank(call, "a", a, 2, false)?;
    rank(call, "b", b, 3, false)?;
    rank(call, "the result", c, 2, false)?;
    let route = Route {
        ends: Some(ends),
        ..Default::default()
    };
    routed::problem(
        call,
        device,
        [a, b, c],
        &route,
        Bounds::Mask,
        false,
        options,
    )
}

/// A product for each group of positions of K.
fn grouped_inner(
    device: &Device,
    a: &TensorHandle,
    b: &TensorHandle,
    ends: &TensorHandle,
    c: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<Problem> {
    const CALL: &str = "grouped_inner_matmul";
    let [rows, inner] = [a.shape()[0], a.shape()[1]];
    let columns = b.shape()[1];
    check::shape(CALL, "b", b, &[inner, columns])?;
    check_ends(CALL, device, ends, None)?;
    let groups = ends.shape()[0];
    let types = Types::new(CALL, device, [a, b, c], "the result", options)?;
    let bias = bias_strides(
        CALL,
        device.client(),
        options.bias,
        &[groups],
        columns,
        types.output,
    )?;
    let strides = |tensor: &TensorHandle| check::dims(tensor).1;
    let (of_a, of_b, of_c) = (strides(a), strides(b), strides(c));
    Ok(Problem {
        call: CALL,
        element: types.element,
        work: types.work,
        output: types.output,
        a: a.clone(),
        b: b.clone(),
        c: c.clone(),
        rows,
        columns,
        inner,
        groups,
        rows_a: rows,
        rows_c: rows,
        a_strides: [of_a[0], of_a[1]],
        b_strides: [of_b[0], of_b[1]],
        c_strides: [of_c[1], of_c[2]],
        b_group: 0,
        c_group: of_c[0],
        bias_column: bias[1],
        bias_group: bias[0],
        batch: vec![],
        grouping: Grouping::Inner,
        activation: options.activation,
        bias: options.bias.cloned(),
        ends: Some(packed(device.client(), ends)),
        gather: None,
        scatter: None,
        weights: None,
        bounds: Bounds::Mask,
        adds: false,
    })
}

/// The plan for a problem: the path asked for, or the fastest that there is.
fn plan(device: &Device, problem: &Problem, options: &MatmulOptions<'_>) -> Result<Planned> {
    let hopper = || Planned::by_hopper(device, problem);
    let planes = || Tiled::by_planes(device, problem, options).map(Planned::Tiled);
    let units = || Tiled::by_units(device, problem, options).map(Planned::Tiled);
    match options.path {
        Some(MatmulPath::Portable) => units(),
        Some(MatmulPath::TensorCores) => planes(),
        Some(MatmulPath::Hopper) => hopper(),
        None if options.tile.is_some() => units(),
        None => hopper().or_else(|_| planes()).or_else(|_| units()),
    }
}

/// Computes a problem, and keeps what of its lists is out of range in the records.
fn run(
    device: &Device,
    problem: &Problem,
    options: &MatmulOptions<'_>,
    reports: Reports,
) -> Result<()> {
    let beside = Beside::new(device, problem, options)?;
    let planned = plan(device, problem, options)?;
    if problem.is_empty() {
        return Ok(());
    }
    let Some(beside) = beside else {
        launch_planned(device, problem, planned, options, reports);
        return Ok(());
    };
    if let Planned::Hopper(form) = planned
        && let Some(form) = beside.taken_along(form)
    {
        launch_hopper_beside(device, problem, form, beside.tensor());
        return Ok(());
    }
    let alone = beside.alone(problem);
    let planned = plan(device, &alone, options)?;
    launch_planned(device, &alone, planned, options, reports);
    beside.pass(device, problem);
    Ok(())
}

fn launch_planned(
    device: &Device,
    problem: &Problem,
    planned: Planned,
    options: &MatmulOptions<'_>,
    reports: Reports,
) {
    let tunes = options.tune && options.path.is_none() && options.tile.is_none();
    match planned {
        Planned::Hopper(form) => launch_hopper(device, problem, form),
        Planned::Tiled(_) if tunes => launch_fastest(device, problem, reports),
        Planned::Tiled(plan) => launch(device, problem, &plan, &reports),
    }
}
