//! Gradients of a table that have few rows, and optimisers that touch no others.

mod backend;
mod cube;
mod optimiser;

pub use backend::SparseBackend;
pub use optimiser::{
    SparseAdaGrad, SparseAdaGradConfig, SparseAdam, SparseAdamConfig, SparseSgd, SparseSgdConfig,
};

use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{
    Autodiff, AutodiffBackend, Dispatch, autodiff::checkpoint::strategy::CheckpointStrategy,
};
use burn::tensor::kind;
use burn::tensor::{Int, Tensor};
use girih::Bounds;
use girih_kernels::{ScatterMode, SparseStep};

use crate::validate::{Argument, Call};
use crate::{Error, scatter};

/// Neither has a gradient of its own.
impl<B: SparseBackend, C: CheckpointStrategy> SparseBackend for Autodiff<B, C> {
    fn combine_rows_float(
        gradient: FloatTensor<Self>,
        index: IntTensor<Self>,
        extent: usize,
        padding: Option<usize>,
        bounds: Bounds,
    ) -> (IntTensor<Self>, FloatTensor<Self>) {
        let gradient = gradient.into_primitive();
        let (which, rows) = B::combine_rows_float(gradient, index, extent, padding, bounds);
        (which, Self::from_inner(rows))
    }

    fn sparse_step_float(
        parameter: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        index: IntTensor<Self>,
        rows: FloatTensor<Self>,
        step: SparseStep,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let (parameter, first, second) = B::sparse_step_float(
            parameter.into_primitive(),
            first.into_primitive(),
            second.into_primitive(),
            index,
            rows.into_primitive(),
            step,
        );
        let tracked = Self::from_inner;
        (tracked(parameter), tracked(first), tracked(second))
    }
}

/// The gradient of a table as the rows that are not 0, each once.
///
/// It has room for a row for each index, since how many are distinct is known to the device alone; nothing is read back.
///
/// ```
/// # use burn::tensor::{Device, Int, Tensor};
/// # use girih_burn::{Bounds, SparseGrad};
/// # #[cfg(feature = "cpu")] {
/// # let device = Device::cpu();
/// let index = Tensor::<1, Int>::from_ints([7, 3, 7], &device);
/// let gradient = Tensor::<2>::from_floats([[1.0, 2.0], [10.0, 20.0], [5.0, 5.0]], &device);
/// let sparse = SparseGrad::new(index, gradient, 1000, None, Bounds::Mask)?;
/// assert_eq!(sparse.index().to_data().iter::<i32>().collect::<Vec<_>>(), [3, 7, -1]);
/// assert_eq!(sparse.rows().to_data().try_to_vec::<f32>().unwrap(), [10.0, 20.0, 6.0, 7.0, 0.0, 0.0]);
/// # }
/// # Ok::<(), girih_burn::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct SparseGrad {
    index: Tensor<1, Int>,
    rows: Tensor<2>,
    extent: usize,
}

impl SparseGrad {
    /// The gradient of a table of `extent` rows of which `index` took some, from the gradient of what it took: rows of one index are
    /// added up in their order. An index out of range goes where `bounds` finds it a place; one without, and that of the padding,
    /// goes nowhere.
    ///
    /// # Errors
    /// Every [`Error`] but [`Error::Read`], before anything runs.
    pub fn new(
        index: Tensor<1, Int>,
        gradient: Tensor<2>,
        extent: usize,
        padding: Option<usize>,
        bounds: Bounds,
    ) -> Result<Self, Error> {
        let call = Call::new("SparseGrad", Argument::new("gradient", &gradient), 0)?;
        call.combines(&index, extent, padding)?;
        let (index, rows) = Dispatch::combine_rows_float(
            gradient.into_dispatch(),
            index.into_dispatch(),
            extent,
            padding,
            bounds,
        );
        Ok(Self {
            index: Tensor::from_dispatch(index),
            rows: Tensor::from_dispatch(rows),
            extent,
        })
    }

    /// Which row of the table each is of, in ascending order; -1 behind the last.
    pub fn index(&self) -> Tensor<1, Int> {
        self.index.clone()
    }

    /// The rows; 0 behind the last.
    pub fn rows(&self) -> Tensor<2> {
        self.rows.clone()
    }

    /// How many rows the table has.
    pub fn extent(&self) -> usize {
        self.extent
    }

    /// The whole gradient, with every row that is 0.
    ///
    /// # Errors
    /// As [`scatter`].
    pub fn to_dense(&self) -> Result<Tensor<2>, Error> {
        let [_, columns] = self.rows.dims();
        let options = (&self.rows.device(), self.rows.dtype());
        let zeros = Tensor::zeros([self.extent, columns], options);
        let (index, rows) = (self.index(), self.rows());
        let dense = scatter(zeros, 0, index, rows, ScatterMode::Set, Bounds::Mask)?;
        Ok(dense.into_inner())
    }
}

/// The parameter, its states and the gradient fit each other, and the device.
fn check(
    parameter: &Tensor<2>,
    states: &[Option<Tensor<2>>; 2],
    gradient: &SparseGrad,
    step: SparseStep,
) -> Result<(), Error> {
    const CALL: &str = "a sparse optimiser's step";
    let call = Call::new(CALL, Argument::new("the embedding", parameter), 0)?;
    call.steps()?;
    let [_, width] = gradient.rows.dims();
    let [given, allowed] = [[gradient.extent, width], parameter.dims()];
    if given != allowed {
        return Err(Error::Kernel(girih::Error::Shape {
            call: CALL,
            argument: "the gradient's table",
            given: given.to_vec(),
            allowed: allowed.to_vec(),
        }));
    }
    let call = Call::new(CALL, Argument::new("the gradient", &gradient.rows), 0)?;
    call.fits(Argument::new("the embedding", parameter))?;
    let made = states.iter().flatten().take(step.states());
    made.into_iter()
        .try_for_each(|state| call.fits(Argument::new("a state", state)))
}

/// A parameter and its states after a step on the rows of a gradient, all checked.
fn step(
    parameter: Tensor<2>,
    states: [Option<Tensor<2>>; 2],
    gradient: SparseGrad,
    step: SparseStep,
) -> (Tensor<2>, [Option<Tensor<2>>; 2]) {
    let (shape, device, dtype) = (parameter.dims(), parameter.device(), parameter.dtype());
    let mut made = states.into_iter().enumerate().map(|(at, state)| {
        let unused = || Tensor::<2>::empty([1, 1], (&device, dtype));
        let fresh = || Tensor::<2>::zeros(shape, (&device, dtype));
        match at < step.states() {
            true => state.unwrap_or_else(fresh),
            false => unused(),
        }
    });
    let [first, second] = std::array::from_fn(|_| made.next().expect("there are two"));
    let (parameter, first, second) = Dispatch::sparse_step_float(
        parameter.into_dispatch(),
        first.into_dispatch(),
        second.into_dispatch(),
        gradient.index.into_dispatch(),
        gradient.rows.into_dispatch(),
        step,
    );
    let kept = |at: usize, state| (at < step.states()).then(|| Tensor::from_dispatch(state));
    let states = [kept(0, first), kept(1, second)];
    (Tensor::from_dispatch(parameter), states)
}

/// The tensor on the device that an autodiff device wraps.
pub(crate) fn inner<const D: usize, K: kind::Autodiff>(tensor: Tensor<D, K>) -> Tensor<D, K> {
    match tensor.device().is_autodiff() {
        true => tensor.inner(),
        false => tensor,
    }
}
