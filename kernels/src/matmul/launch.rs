//! Products as launches.

use super::beside::Beside;
use super::form::{SizesLaunch, StridesLaunch};
use super::plan::{Planned, Tiled, plan};
use super::problem::Problem;
use super::tiled::{matmul_add_kernel, matmul_kernel};
use super::tune::launch_fastest;
use super::{MatmulOptions, hopper};
use crate::scan::cubes;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Result;
use girih::device::Device;
use girih::view::Report;

/// The records of indices out of range, of the lists that rows are taken from and added to.
pub(crate) type Reports = [Option<Report>; 2];

/// Computes a problem, and keeps what of its lists is out of range in the records.
pub(crate) fn compute(
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
    let packed = problem.packed(device.client());
    let problem = packed.as_ref().unwrap_or(problem);
    let Some(beside) = beside else {
        launch_planned(device, problem, planned, options, reports);
        return Ok(());
    };
    if let Planned::Hopper(form) = planned
        && let Some(form) = beside.taken_along(form)
    {
        let product = of_hopper(problem);
        hopper::launch_beside(device, &product, form, beside.tensor(), &reports);
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
    match options.tunes() {
        true => launch_fastest(device, problem, &planned, reports),
        false => launch(device, problem, &planned, &reports),
    }
}

/// Launches a product with elements in its result, as it was planned.
pub(crate) fn launch(device: &Device, problem: &Problem, planned: &Planned, reports: &Reports) {
    match planned {
        Planned::Hopper(form) => hopper::launch(device, &of_hopper(problem), *form, reports),
        Planned::Tiled(plan) => launch_tiled(device, problem, plan, reports),
    }
}

/// A product that was planned by the kernel for Hopper, as it takes it.
fn of_hopper(problem: &Problem) -> hopper::Product<'_> {
    problem
        .of_hopper()
        .expect("the plan was made of such a product")
}

fn buffer(tensor: &TensorHandle) -> BufferArg {
    let len = tensor.handle.size_in_used() as usize / tensor.dtype.size();
    // SAFETY: the handle spans the elements.
    unsafe { BufferArg::from_raw_parts(tensor.handle.clone(), len) }
}

fn optional(tensor: &Option<TensorHandle>) -> Option<BufferArg> {
    tensor.as_ref().map(buffer)
}

fn launch_tiled(device: &Device, problem: &Problem, plan: &Tiled, reports: &Reports) {
    let client = device.client();
    let tiles = plan.tiles(problem);
    // What has no elements is not read, and may have no buffer to bind.
    let over = |tensor: &TensorHandle| match tensor.shape().contains(&0) {
        true => TensorHandle::new_contiguous(vec![1], problem.c.handle.clone(), tensor.dtype),
        false => tensor.clone(),
    };
    let (a, b) = (over(&problem.a), over(&problem.b));
    let tensors = [&a, &b, &problem.c];
    let address = tensors
        .iter()
        .map(|tensor| AddressType::from_len(tensor.handle.size() as usize / tensor.dtype.size()))
        .max()
        .unwrap_or_default();
    let sizes = SizesLaunch::new(
        problem.rows,
        problem.columns,
        problem.inner,
        problem.groups,
        plan.row_tiles,
        plan.column_tiles,
        tiles,
        problem.rows_a,
        problem.rows_c,
    );
    let strides = StridesLaunch::new(
        problem.a_strides[0],
        problem.a_strides[1],
        problem.b_strides[0],
        problem.b_strides[1],
        problem.b_group,
        problem.c_strides[0],
        problem.c_strides[1],
        problem.c_group,
        problem.bias_column,
        problem.bias_group,
    );
    let mut batch = SequenceArg::new();
    for number in problem.batch.iter().flatten() {
        batch.push(*number);
    }
    let lists = [&problem.ends, &problem.gather, &problem.scatter];
    let list = lists.into_iter().flatten().next();
    let list_type = list.map_or(i32::elem_type_native(), |list| list.dtype);
    let staged = match plan.form.plane {
        0 => problem.work,
        _ => problem.factor,
    };
    let factor: ElemType = problem
        .weights
        .as_ref()
        .map_or(problem.output, |weights| weights.dtype);
    let [element, work, output] = [problem.element, problem.work, problem.output];
    let types = [element, staged, work, output, list_type];
    let with_factor = [element, staged, work, output, list_type, factor];
    let [width_a, width_b, width_c] = plan.widths;
    let record = |which: usize| reports[which].as_ref().map(Report::arg);
    // What both kernels are given, but for the lists and records of sums that are added, and the types.
    macro_rules! launch {
        ($kernel:ident, [$($lists:expr),*], $types:expr) => {
            $kernel::launch_unchecked(
                client,
                cubes(device, tiles),
                CubeDim::new_1d(plan.form.units()[1]),
                address,
                width_a,
                width_b,
                width_c,
                plan.form.vector as usize,
                plan.written,
                buffer(&a),
                buffer(&b),
                buffer(&problem.c),
                optional(&problem.bias).into(),
                optional(&problem.ends).into(),
                optional(&problem.gather).into(),
                $($lists.into(),)*
                batch,
                sizes,
                strides,
                plan.form,
                $types,
            )
        };
    }
    // SAFETY: every access is masked, against extents that were checked to lie in the buffers.
    unsafe {
        match problem.adds {
            false => launch!(matmul_kernel, [record(0)], types),
            true => launch!(
                matmul_add_kernel,
                [
                    optional(&problem.scatter),
                    optional(&problem.weights),
                    record(0),
                    record(1)
                ],
                with_factor
            ),
        }
    }
}
