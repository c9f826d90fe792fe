//! Products of matrices, also of rows in groups and of rows that an index names.

mod autodiff;
mod backend;
pub(crate) mod cube;

pub use backend::MatmulBackend;
pub(crate) use cube::sum_type;

use burn::backend::Dispatch;
use burn::tensor::{Int, Tensor};

use crate::Error;
use crate::validate::{Argument, Call};

/// The product of matrices, in batches of equal extents: `out[.., m, n]` is the sum over `k` of `a[.., m, k] b[.., k, n]`.
///
/// Halves are summed in `f32`. The gradient of each operand is a product of the result's with the other, transposed.
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Tensor};
/// # use girih_burn::matmul;
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let a = Tensor::<2>::from_floats([[1.0, 2.0], [3.0, 4.0]], &device);
/// let b = Tensor::<2>::from_floats([[1.0], [10.0]], &device);
/// assert_eq!(matmul(a, b)?.to_data().try_to_vec::<f32>().unwrap(), [21.0, 43.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn matmul<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> Result<Tensor<D>, Error> {
    let call = Call::new("matmul", Argument::new("a", &a), D - 1)?;
    call.multiplies(Argument::new("b", &b))?;
    let product = Dispatch::product(a.into_dispatch(), b.into_dispatch());
    Ok(Tensor::from_dispatch(product))
}

/// The product of rows in groups with a matrix for each group: row `r` of the result is that of `rows` times
/// `matrices[e]`, where `e` is the group of row `r`.
///
/// `rows` has shape `[R, K]`, `matrices` `[E, K, N]`; `ends` has E integers in ascending order, group `e` the rows from
/// `ends[e - 1]`, or 0, up to `ends[e]`. They stay on the device. Rows after the last end are 0.
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
///
/// ```
/// # use burn::tensor::{Device, Int, Tensor};
/// # use girih_burn::grouped_matmul;
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let rows = Tensor::<2>::from_floats([[1.0], [2.0], [3.0]], &device);
/// let matrices = Tensor::<3>::from_floats([[[1.0, 2.0]], [[10.0, 20.0]]], &device);
/// let ends = Tensor::<1, Int>::from_ints([1, 3], &device);
/// let product = grouped_matmul(rows, matrices, ends)?;
/// assert_eq!(product.to_data().try_to_vec::<f32>().unwrap(), [1.0, 2.0, 20.0, 40.0, 30.0, 60.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
pub fn grouped_matmul(
    rows: Tensor<2>,
    matrices: Tensor<3>,
    ends: Tensor<1, Int>,
) -> Result<Tensor<2>, Error> {
    let call = Call::new("grouped_matmul", Argument::new("rows", &rows), 1)?;
    call.groups(&matrices, &ends, &[])?;
    let product = Dispatch::product_of_groups(
        rows.into_dispatch(),
        matrices.into_dispatch(),
        ends.into_dispatch(),
    );
    Ok(Tensor::from_dispatch(product))
}

/// [`grouped_matmul`] of the rows of `tokens` that `index` names, which are not copied first: row `r` of the result is row
/// `index[r]` of `tokens` times the matrix of `r`'s group. A row that is not there is 0.
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
pub fn gather_matmul(
    tokens: Tensor<2>,
    index: Tensor<1, Int>,
    matrices: Tensor<3>,
    ends: Tensor<1, Int>,
) -> Result<Tensor<2>, Error> {
    let call = Call::new("gather_matmul", Argument::new("tokens", &tokens), 1)?;
    call.groups(&matrices, &ends, &[("index", &index)])?;
    let product = Dispatch::product_of_gathered(
        tokens.into_dispatch(),
        index.into_dispatch(),
        matrices.into_dispatch(),
        ends.into_dispatch(),
    );
    Ok(Tensor::from_dispatch(product))
}

/// [`grouped_matmul`] whose rows are added up: row `t` of the result, one of `tokens`, is the sum over all `r` with
/// `index[r] == t` of `factors[r]` times row `r`'s product. A row whose index is out of range adds nothing.
///
/// The order of the additions is not fixed, so that sums may differ in their last bits from run to run. Halves are summed in
/// `f32`.
///
/// # Errors
/// Every [`Error`] but [`Error::Read`], before anything runs.
pub fn matmul_scatter(
    rows: Tensor<2>,
    matrices: Tensor<3>,
    ends: Tensor<1, Int>,
    index: Tensor<1, Int>,
    factors: Tensor<1>,
    tokens: usize,
) -> Result<Tensor<2>, Error> {
    let call = Call::new("matmul_scatter", Argument::new("rows", &rows), 1)?;
    call.groups(&matrices, &ends, &[("index", &index)])?;
    call.adds_up(&index, &factors)?;
    girih_kernels::supports_shape("matmul_scatter", &[tokens, matrices.dims()[2]])?;
    let sums = Dispatch::product_scattered(
        rows.into_dispatch(),
        matrices.into_dispatch(),
        ends.into_dispatch(),
        index.into_dispatch(),
        factors.into_dispatch(),
        tokens,
    );
    Ok(Tensor::from_dispatch(sums))
}
