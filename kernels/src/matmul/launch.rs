//! Products as launches.

use super::form::{SizesLaunch, StridesLaunch};
use super::hopper;
use super::plan::Tiled;
use super::portable::{matmul_add_kernel, matmul_kernel};
use super::problem::Problem;
use super::tensor::{matmul_add_tensor_kernel, matmul_tensor_kernel};
use crate::scan::cubes;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::view::Report;

/// The records of indices out of range, of the lists that rows are taken from and added to.
pub(crate) type Reports = [Option<Report>; 2];

fn buffer(tensor: &TensorHandle) -> BufferArg {
    let len = tensor.handle.size_in_used() as usize / tensor.dtype.size();
    // SAFETY: the handle spans the elements.
    unsafe { BufferArg::from_raw_parts(tensor.handle.clone(), len) }
}

fn optional(tensor: &Option<TensorHandle>) -> Option<BufferArg> {
    tensor.as_ref().map(buffer)
}

/// Launches a product with elements in its result.
pub(crate) fn launch(device: &Device, problem: &Problem, plan: &Tiled, reports: &Reports) {
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
    let types = [problem.element, problem.work, problem.output, list_type];
    let [width_a, width_b, width_c] = plan.widths;
    let vector = plan.form.vector as usize;
    let dim = CubeDim::new_1d(plan.form.units()[1]);
    let record = |which: usize| reports[which].as_ref().map(Report::arg);
    let factor: ElemType = problem
        .weights
        .as_ref()
        .map_or(problem.output, |weights| weights.dtype);
    let [element, work, output, list_type] = types;
    let with_factor = [element, work, output, list_type, factor];
    // What all kernels are given: vector sizes first, then the arguments that all have, those of sums that are added, and the
    // rest.
    macro_rules! launch {
        ($kernel:ident, [$($written:expr)?], [$($lists:expr),*], $types:expr) => {
            $kernel::launch_unchecked(
                client,
                cubes(device, tiles),
                dim,
                address,
                width_a,
                width_b,
                width_c,
                vector,
                $($written,)?
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
    let scatter = || optional(&problem.scatter);
    let weights = || optional(&problem.weights);
    // SAFETY: every access is masked, against extents that were checked to lie in the buffers.
    unsafe {
        match (problem.adds, plan.by_planes) {
            (false, false) => launch!(matmul_kernel, [], [record(0)], types),
            (false, true) => {
                launch!(matmul_tensor_kernel, [plan.written], [record(0)], types)
            }
            (true, false) => launch!(
                matmul_add_kernel,
                [],
                [scatter(), weights(), record(0), record(1)],
                with_factor
            ),
            (true, true) => launch!(
                matmul_add_tensor_kernel,
                [plan.written],
                [scatter(), weights(), record(0), record(1)],
                with_factor
            ),
        }
    }
}

/// Launches a product that the kernel for Hopper computes.
pub(crate) fn launch_hopper(device: &Device, problem: &Problem, form: hopper::Form) {
    let product = problem
        .of_hopper()
        .expect("the plan was made of such a product");
    hopper::launch(device, &product, form);
}

/// Launches such a product with a tensor beside its result.
pub(crate) fn launch_hopper_beside(
    device: &Device,
    problem: &Problem,
    form: hopper::Form,
    beside: &TensorHandle,
) {
    let product = problem
        .of_hopper()
        .expect("the plan was made of such a product");
    hopper::launch_beside(device, &product, form, beside);
}
