//! The products on CubeCL's tensors: girih's launchers.

use burn::tensor::{DType, Shape};
use burn_cubecl::{CubeBackend, kernel::cast, tensor::CubeTensor};
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih_kernels::{
    MatmulOptions, Route, gather_matmul, gather_matmul_scatter_into, grouped_inner_matmul,
    grouped_matmul, matmul,
};

use super::MatmulBackend;
use crate::cube::{Place, handle, unchecked_call};

impl MatmulBackend for CubeBackend {
    fn product(a: CubeTensor, b: CubeTensor) -> CubeTensor {
        let out = Place::of(&a);
        let product = matmul(
            &out.client,
            &handle(a),
            &handle(b),
            &MatmulOptions::default(),
        );
        out.tensor(product.unwrap_or_else(unchecked_call))
    }

    fn product_of_groups(rows: CubeTensor, matrices: CubeTensor, ends: CubeTensor) -> CubeTensor {
        let out = Place::of(&rows);
        let [rows, matrices, ends] = [rows, matrices, ends].map(handle);
        let options = MatmulOptions::default();
        let product = grouped_matmul(&out.client, &rows, &matrices, &ends, &options);
        out.tensor(product.unwrap_or_else(unchecked_call))
    }

    fn product_of_gathered(
        tokens: CubeTensor,
        index: CubeTensor,
        matrices: CubeTensor,
        ends: CubeTensor,
    ) -> CubeTensor {
        let out = Place::of(&tokens);
        let [ends, index] = of_one_type(ends, index);
        let [tokens, index, matrices, ends] = [tokens, index, matrices, ends].map(handle);
        let product = gather_matmul(
            &out.client,
            &tokens,
            &index,
            &matrices,
            Some(&ends),
            Bounds::Mask,
            &MatmulOptions::default(),
        );
        out.tensor(product.unwrap_or_else(unchecked_call).into_inner())
    }

    fn product_scattered(
        rows: CubeTensor,
        matrices: CubeTensor,
        ends: CubeTensor,
        index: CubeTensor,
        factors: CubeTensor,
        tokens: usize,
    ) -> CubeTensor {
        let dtype = rows.dtype;
        let out = Place::of(&rows).of_type(sum_type(dtype));
        let shape = Shape::from([tokens, matrices.meta.shape()[2]]);
        let sums = out.zeros(shape);
        let [ends, index] = of_one_type(ends, index);
        let [rows, matrices, ends, index, factors, target] =
            [rows, matrices, ends, index, factors, sums.clone()].map(handle);
        let route = Route {
            ends: Some(&ends),
            gather: None,
            scatter: Some(&index),
            weights: Some(&factors),
        };
        let options = MatmulOptions::default();
        // Under `Mask` there is nothing to ask of the result.
        let _ = gather_matmul_scatter_into(
            &out.client,
            &rows,
            &matrices,
            &target,
            &route,
            Bounds::Mask,
            &options,
        )
        .unwrap_or_else(unchecked_call);
        as_type(sums, dtype)
    }

    fn product_within_groups(a: CubeTensor, b: CubeTensor, ends: CubeTensor) -> CubeTensor {
        let out = Place::of(&a);
        let [a, b, ends] = [a, b, ends].map(handle);
        let options = MatmulOptions::default();
        let product = grouped_inner_matmul(&out.client, &transposed(a), &b, &ends, &options);
        out.tensor(product.unwrap_or_else(unchecked_call))
    }
}

/// What sums over rows are kept in: floats of 16 bits would lose what many rows add.
pub(crate) fn sum_type(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        other => other,
    }
}

fn as_type(tensor: CubeTensor, dtype: DType) -> CubeTensor {
    match tensor.dtype == dtype {
        true => tensor,
        false => cast(tensor, dtype),
    }
}

/// Ends and indices, which the launchers take of one type, in one that has the values of both.
fn of_one_type(ends: CubeTensor, index: CubeTensor) -> [CubeTensor; 2] {
    match (ends.dtype.size(), index.dtype.size()) {
        (of_ends, of_index) if of_ends <= of_index => [as_type(ends, index.dtype), index],
        (8, _) => [ends, index].map(|list| as_type(list, DType::I64)),
        _ => [ends, index].map(|list| as_type(list, DType::I32)),
    }
}

/// The matrix, or matrices, with the last two axes exchanged.
pub(crate) fn transposed(matrix: TensorHandle) -> TensorHandle {
    let exchanged = |numbers: &[usize]| {
        let mut numbers = numbers.to_vec();
        let rank = numbers.len();
        numbers.swap(rank - 2, rank - 1);
        numbers
    };
    let (shape, strides) = (exchanged(matrix.shape()), exchanged(matrix.strides()));
    TensorHandle::new(matrix.handle, shape, strides, matrix.dtype)
}
