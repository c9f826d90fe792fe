//! Gradients of scatters that keep some of their updates, or combine them otherwise than by a sum.

use burn::backend::tensor::{BoolTensor, FloatTensor};
use burn::backend::{TensorMetadata, get_or_init_device_settings};
use burn::tensor::{BoolDType, Shape};
use girih_kernels::ScatterMode;

use crate::IndexBackend;
use crate::autodiff::Kept;

/// The type that a tensor's device compares in.
fn bools<B: IndexBackend>(tensor: &FloatTensor<B>) -> BoolDType {
    get_or_init_device_settings::<B>(&tensor.device()).bool_dtype
}

/// Which updates another one of the same place was kept instead of, as a mask of the updates' shape.
pub(crate) fn lost<B: IndexBackend>(
    kept: &Kept<B>,
    extent: usize,
    updates: &FloatTensor<B>,
) -> BoolTensor<B> {
    let Kept {
        index,
        axis,
        options,
    } = kept;
    let device = updates.device();
    let count = index.shape()[0];
    let dtype = index.dtype().into();
    let numbers = B::int_arange(0..count as i64, &device, dtype);
    let nobody = B::int_zeros(Shape::from([extent]), &device, dtype);
    let winners = B::scatter_int_alone(
        nobody,
        index.clone(),
        numbers.clone(),
        0,
        ScatterMode::Set,
        *options,
    );
    // An update that had no place has a gradient of zero anyhow.
    let own = B::gather_int_alone(winners, index.clone(), 0, options.bounds);
    let lost = B::int_not_equal(own, numbers, bools::<B>(updates));
    let shape = updates.shape();
    let mut row = Shape::from(vec![1; shape.num_dims()]);
    row[*axis] = count;
    B::bool_expand(B::bool_reshape(lost, row), shape)
}

/// What the backward pass of a product or an extreme keeps.
#[derive(Debug, Clone)]
pub(crate) struct Combined<B: IndexBackend> {
    kept: Kept<B>,
    mode: ScatterMode,
    target: FloatTensor<B>,
    updates: FloatTensor<B>,
    result: FloatTensor<B>,
}

/// What target and updates have a share in, each by its own measure.
struct Shares<B: IndexBackend> {
    /// What each slice's gradient is spread over.
    slices: FloatTensor<B>,
    /// 1 where an element has a share, else 0.
    target: FloatTensor<B>,
    updates: FloatTensor<B>,
}

impl<B: IndexBackend> Combined<B> {
    pub(crate) fn new(
        kept: Kept<B>,
        mode: ScatterMode,
        (target, updates): (FloatTensor<B>, FloatTensor<B>),
        result: FloatTensor<B>,
    ) -> Self {
        Self {
            kept,
            mode,
            target,
            updates,
            result,
        }
    }

    pub(crate) fn of_target(self, gradient: FloatTensor<B>) -> FloatTensor<B> {
        match self.mode {
            ScatterMode::Mul => {
                let [others, alone] = self.products(gradient);
                of_factor::<B>(others, alone, self.target)
            }
            _ => {
                let shares = self.shares();
                B::float_mul(B::float_div(gradient, shares.slices), shares.target)
            }
        }
    }

    pub(crate) fn of_updates(self, gradient: FloatTensor<B>) -> FloatTensor<B> {
        match self.mode {
            ScatterMode::Mul => {
                let [others, alone] = self.products(gradient);
                let [others, alone] = [others, alone].map(|of| self.kept.gather(of));
                of_factor::<B>(others, alone, self.updates)
            }
            _ => {
                let shares = self.shares();
                let share = B::float_div(gradient, shares.slices);
                B::float_mul(self.kept.gather(share), shares.updates)
            }
        }
    }

    fn extent(&self) -> usize {
        self.target.shape()[self.kept.axis]
    }

    /// 1 where both are equal, else 0.
    fn equal(&self, left: &FloatTensor<B>, right: FloatTensor<B>) -> FloatTensor<B> {
        let equal = B::float_equal(left.clone(), right, bools::<B>(left));
        B::bool_into_float(equal, left.dtype().into())
    }

    /// What is equal to the extreme has a share in its gradient.
    fn shares(&self) -> Shares<B> {
        let target = self.equal(&self.target, self.result.clone());
        let updates = self.equal(&self.updates, self.kept.gather(self.result.clone()));
        let several = self.kept.scatter_sum(updates.clone(), self.extent());
        let slices = B::float_add(target.clone(), several);
        Shares {
            // Nothing is equal to NaN.
            slices: B::float_clamp_min(slices, 1.into()),
            target,
            updates,
        }
    }

    /// The gradient times the product of all factors but the zeros: where there is no zero, and where there is one.
    fn products(&self, gradient: FloatTensor<B>) -> [FloatTensor<B>; 2] {
        let zeros = [&self.target, &self.updates].map(|factors| zero::<B>(factors));
        let [target, updates] =
            [&self.target, &self.updates].map(|factors| without_zeros::<B>(factors));
        let Kept {
            index,
            axis,
            options,
        } = self.kept.clone();
        let mode = ScatterMode::Mul;
        let products = B::scatter_float_alone(target, index, updates, axis, mode, options);
        let weighted = B::float_mul(gradient, products);
        let [of_target, of_updates] = zeros;
        let counts = B::float_add(of_target, self.kept.scatter_sum(of_updates, self.extent()));
        [0, 1].map(|count| {
            let is_it = B::float_equal_elem(counts.clone(), count.into(), bools::<B>(&counts));
            let is_it = B::bool_into_float(is_it, counts.dtype().into());
            B::float_mul(weighted.clone(), is_it)
        })
    }
}

/// 1 where a factor is 0, else 0.
fn zero<B: IndexBackend>(factors: &FloatTensor<B>) -> FloatTensor<B> {
    let zero = B::float_equal_elem(factors.clone(), 0.into(), bools::<B>(factors));
    B::bool_into_float(zero, factors.dtype().into())
}

/// The factors, with 1 for 0.
fn without_zeros<B: IndexBackend>(factors: &FloatTensor<B>) -> FloatTensor<B> {
    let zero = B::float_equal_elem(factors.clone(), 0.into(), bools::<B>(factors));
    B::float_mask_fill(factors.clone(), zero, 1.into())
}

/// The gradient of factors: the products over them, and where one is 0 that of the others.
fn of_factor<B: IndexBackend>(
    others: FloatTensor<B>,
    alone: FloatTensor<B>,
    factors: FloatTensor<B>,
) -> FloatTensor<B> {
    let of_zeros = B::float_mul(alone, zero::<B>(&factors));
    let quotients = B::float_div(others, without_zeros::<B>(&factors));
    // Where a factor is 0 there is a zero, so that the other part is 0.
    B::float_add(quotients, of_zeros)
}
