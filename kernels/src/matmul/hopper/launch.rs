//! Launches.

use super::form::{DEPTH, Form, Groups, Operand, UNITS};
use super::kernel::hopper_kernel;
use super::product::Product;
use super::schedule::ProblemLaunch;
use cubecl::ir::{ElemType, FloatKind, IntKind};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::cuda::wgmma::Major;
use girih::device::Device;
use girih::view::Report;

/// Launches a product that the kernel [computes](super::supports), in that form.
///
/// The reports are of the lists `gather` and `scatter`, for [`Bounds::Report`](girih::Bounds::Report); of others nothing is kept.
pub fn launch(device: &Device, product: &Product<'_>, form: Form, reports: &[Option<Report>; 2]) {
    launch_beside(device, product, form, product.c, reports);
}

/// The same with a tensor beside the result, of its type and strides, that begins on a multiple of 16 bytes. With
/// [`Beside::Nothing`](super::Beside::Nothing) it is not touched.
pub fn launch_beside(
    device: &Device,
    product: &Product<'_>,
    form: Form,
    beside: &TensorHandle,
    [gathered_out, scattered_out]: &[Option<Report>; 2],
) {
    let clusters_of = |extent: usize, at_once: u32| extent.div_ceil(at_once as usize);
    let across = clusters_of(product.columns, form.columns_at_once());
    let down = clusters_of(product.rows, form.rows_at_once());
    // Of groups, each may have a tile that it does not fill, and so may the rows in none.
    let tiles = match form.groups {
        Groups::Rows => (down + product.products + 1) * across,
        _ => down * across * product.products,
    };
    let cubes = form.cubes();
    let clusters = (device.processors() as u32 / cubes)
        .max(1)
        .min(tiles as u32);
    let width = 16 / product.c.dtype.size();
    let [step_a, step_b, step_c, step_bias] = product.steps;
    let of_a = match form.groups {
        Groups::Nothing => product.products,
        _ => 1,
    };
    let list = |tensor: &TensorHandle| {
        let len = tensor.shape().iter().product();
        buffer(&tensor.handle, len)
    };
    let elements = |tensor: &TensorHandle| {
        (tensor.handle.size_in_used() as usize / tensor.dtype.size()).max(1)
    };
    let float = ElemType::Float(FloatKind::F32);
    let integer = ElemType::Int(IntKind::I32);
    let lists = [product.ends, product.gather, product.scatter];
    let list_type = lists.iter().flatten().next().map(|list| list.dtype);
    let types = [
        product.a.dtype,
        product.c.dtype,
        product.weights.map_or(float, |weights| weights.dtype),
        list_type.unwrap_or(integer),
    ];
    let map_a = map(
        product.a,
        form.majors[0],
        [of_a, product.rows_of[0], product.inner],
        [step_a, product.a_strides[0], product.a_strides[1]],
        form.lines_of_copy(Operand::A),
    );
    let [b_k, b_column] = product.b_strides;
    let map_b = map(
        product.b,
        form.majors[1],
        [product.products, product.columns, product.inner],
        [step_b, b_column, b_k],
        form.lines_of_copy(Operand::B),
    );
    let gathered = product
        .gather
        .map(|_| buffer(&product.a.handle, elements(product.a) / 8));
    let written = |tensor: &TensorHandle| match form.vectors {
        true => buffer(&tensor.handle, elements(tensor) / width),
        false => buffer(&tensor.handle, elements(tensor)),
    };
    let problem = ProblemLaunch::new(
        product.rows as u32,
        product.columns as u32,
        product.inner as u32,
        product.products as u32,
        u32::from(of_a > 1 && step_a > 0),
        u32::from(product.products > 1 && step_b > 0),
        across as u32,
        tiles as u32,
    );
    // SAFETY: bulk copies end at the extents of their tensor maps, which were checked to lie in the buffers, as were those
    // that mask all stores, and what is read of the lists and the bias; rows of lists are masked by their tensors' rows.
    unsafe {
        hopper_kernel::launch_unchecked(
            device.client(),
            CubeCount::new_1d(clusters * cubes),
            CubeDim::new_1d(UNITS),
            AddressType::from_len(elements(product.c).max(elements(product.a))),
            if form.vectors { width } else { 1 },
            width,
            map_a,
            map_b,
            gathered.into(),
            product.gather.map(list).into(),
            product.ends.map(list).into(),
            product
                .bias
                .map(|bias| buffer(&bias.handle, elements(bias)))
                .into(),
            product.weights.map(list).into(),
            product.scatter.map(list).into(),
            gathered_out.as_ref().map(Report::arg).into(),
            scattered_out.as_ref().map(Report::arg).into(),
            written(product.c),
            written(beside),
            problem,
            product.rows_of[0] as u32,
            product.a_strides[0] / 8,
            product.inner as u32,
            step_bias,
            product.rows_of[1] as u32,
            product.c_strides[0],
            step_c,
            form,
            types,
        );
    }
}

fn buffer(handle: &Handle, len: usize) -> BufferArg {
    // SAFETY: callers pass no more elements than the buffer has.
    unsafe { BufferArg::from_raw_parts(handle.clone(), len) }
}

/// What bulk copies are told of an operand with so many matrices, lines and positions of K, a copy having `of_copy` lines and 64
/// positions of K.
fn map(
    tensor: &TensorHandle,
    major: Major,
    [matrices, lines, inner]: [usize; 3],
    [matrix, line, k]: [usize; 3],
    of_copy: u32,
) -> TensorMapArg<Tiled> {
    // Repeated matrices are one; and of what is there once, any stride will do that bulk copies take.
    let matrices = if matrix == 0 { 1 } else { matrices };
    let step = |stride: usize, extent: usize| match extent {
        1 => stride.next_multiple_of(8).max(8),
        _ => stride,
    };
    let [of_copy, depth] = [of_copy as usize, DEPTH as usize];
    let (outer, row, extents, tile) = match major {
        Major::K => (
            step(matrix, matrices),
            step(line, lines),
            [matrices, lines, inner],
            [1, of_copy, depth],
        ),
        Major::Mn => (
            step(matrix, matrices),
            step(k, inner),
            [matrices, inner, lines],
            [1, depth, of_copy],
        ),
    };
    // SAFETY: the extents and strides are the tensor's own, which was checked to lie in its buffer.
    let argument = unsafe {
        TensorArg::from_raw_parts(
            tensor.handle.clone(),
            [outer, row, 1].as_slice().into(),
            extents.as_slice().into(),
        )
    };
    let tile_size = tile.as_slice().into();
    TensorMapArg::new(TiledArgs { tile_size }, argument, tensor.dtype)
        .with_swizzle(TensorMapSwizzle::B128)
        .with_prefetch(TensorMapPrefetch::B256)
}
