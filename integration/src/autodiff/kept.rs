//! What backward passes keep of their ops, and the gradients that come of it.

use burn::backend::TensorMetadata;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::Shape;
use girih::Bounds;
use girih_kernels::{Duplicates, GatherOptions, ScatterMode, ScatterOptions};

use crate::IndexBackend;
use crate::gradients::lost;

/// The op reported an offence; its gradient has nothing to add.
pub(crate) fn unreported(bounds: Bounds) -> Bounds {
    match bounds {
        Bounds::Report => Bounds::Mask,
        other => other,
    }
}

/// What a backward pass keeps of its op.
#[derive(Debug, Clone)]
pub(crate) struct Kept<B: IndexBackend> {
    pub(crate) index: IntTensor<B>,
    pub(crate) axis: usize,
    pub(crate) options: ScatterOptions,
}

impl<B: IndexBackend> Kept<B> {
    pub(super) fn new(index: &IntTensor<B>, axis: usize, options: ScatterOptions) -> Self {
        let bounds = unreported(options.bounds);
        Self {
            index: index.clone(),
            axis,
            options: ScatterOptions { bounds, ..options },
        }
    }

    /// The gradient of updates: each is the gradient of the slice it went to.
    pub(crate) fn gather(&self, gradient: FloatTensor<B>) -> FloatTensor<B> {
        let options = self.options.bounds.into();
        B::gather_float_alone(gradient, self.index.clone(), self.axis, options)
    }

    /// The gradient of a table: each slice is the sum of the gradients of its copies.
    pub(crate) fn scatter_sum(&self, gradient: FloatTensor<B>, extent: usize) -> FloatTensor<B> {
        B::scatter_sum_float_alone(gradient, self.index.clone(), self.axis, extent, self.sums())
    }

    /// How sums are taken: as the op combined, but that the path asked for may be none of theirs.
    fn sums(&self) -> ScatterOptions {
        let duplicates = match self.options.duplicates {
            Duplicates::Deterministic => Duplicates::Deterministic,
            _ => Duplicates::Unordered,
        };
        ScatterOptions {
            duplicates,
            path: None,
            ..self.options
        }
    }

    /// The gradient of updates of which one is left of those that went to one place.
    pub(super) fn gather_winners(&self, gradient: FloatTensor<B>) -> FloatTensor<B> {
        let extent = gradient.shape()[self.axis];
        let gathered = self.gather(gradient);
        match self.options.duplicates {
            Duplicates::Unordered => gathered,
            _ => {
                let lost = lost::<B>(self, extent, &gathered);
                B::float_mask_fill(gathered, lost, 0.into())
            }
        }
    }

    /// The gradient of a target that was overwritten: zero where it was.
    pub(super) fn zero_written(self, gradient: FloatTensor<B>) -> FloatTensor<B> {
        let mut shape = gradient.shape();
        shape[self.axis] = self.index.shape()[0];
        let ones = Shape::from(vec![1; shape.num_dims()]);
        let zero = B::float_zeros(ones, &gradient.device(), gradient.dtype().into());
        let zeros = B::float_expand(zero, shape);
        let Self {
            index,
            axis,
            options,
        } = self;
        let any = options.bounds.into();
        B::scatter_float_alone(gradient, index, zeros, axis, ScatterMode::Set, any)
    }
}

/// What a backward pass keeps of a gather.
#[derive(Debug, Clone)]
pub(super) struct Gathered<B: IndexBackend> {
    pub(super) index: IntTensor<B>,
    pub(super) axis: usize,
    pub(super) options: GatherOptions,
}

impl<B: IndexBackend> Gathered<B> {
    pub(super) fn new(index: &IntTensor<B>, axis: usize, options: GatherOptions) -> Self {
        Self {
            index: index.clone(),
            axis,
            options: GatherOptions {
                bounds: unreported(options.bounds),
                ..options
            },
        }
    }

    /// The gradient of the gradient of a table: of each slice that was added, its copy of the gradient; of the padding's 0.
    pub(super) fn gather(self, gradient: FloatTensor<B>) -> FloatTensor<B> {
        let Self {
            index,
            axis,
            options,
        } = self;
        let gradient = match options.padding {
            None => gradient,
            Some(padding) => {
                let (place, dtype) = (padding as i64, index.dtype().into());
                let padding = B::int_arange(place..place + 1, &gradient.device(), dtype);
                Kept::<B>::new(&padding, axis, Bounds::Mask.into()).zero_written(gradient)
            }
        };
        B::gather_float_alone(gradient, index, axis, options)
    }
}
