//! Gradients of a table that have few rows, and optimisers that touch no others.

mod combine;
mod kernels;

/// What tests compile without the launcher.
pub(crate) mod raw {
    pub use super::Rule;
    pub use super::kernels::step_kernel;
}

pub use combine::{SparseRows, combine_rows};

use crate::check::{self, list};
use crate::segment::plan::{Tiles, plan, teams};
use crate::segment::rows::{Rows, address, buffer, room, sum_type};
use crate::segment::{Kind, Rules};
use cubecl::client::Client;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Error, Result};
use kernels::step_kernel;

/// What an optimiser does with a gradient.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Goes down the gradient.
    Descent,
    /// The same with momentum.
    Momentum,
    /// The same with Nesterov's momentum.
    Nesterov,
    /// Divides by the root of the sum of squares.
    Adagrad,
    /// Divides a mean by the root of the mean of squares.
    Adam,
}

/// One step of an optimiser, on some rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SparseStep {
    /// Stochastic gradient descent: `parameter -= rate * gradient`. It has no state.
    Sgd {
        /// The learning rate.
        rate: f64,
    },
    /// With momentum, whose velocity is the state: `velocity = momentum * velocity + (1 - dampening) * gradient`, and
    /// `parameter -= rate * velocity`, or with Nesterov's `rate * (gradient + momentum * velocity)`.
    Momentum {
        /// The learning rate.
        rate: f64,
        /// What is left of the velocity.
        momentum: f64,
        /// What is taken off the gradient.
        dampening: f64,
        /// Whether momentum is Nesterov's.
        nesterov: bool,
    },
    /// AdaGrad, whose sum of squares is the state: `sum += gradient^2`, and
    /// `parameter -= rate * gradient / (sqrt(sum) + epsilon)`.
    Adagrad {
        /// The learning rate, after its decay.
        rate: f64,
        /// What keeps the divisor from 0.
        epsilon: f64,
    },
    /// Adam, whose two means are the state, corrected for their bias as of step `time`.
    Adam {
        /// The learning rate.
        rate: f64,
        /// What is left of the mean.
        beta_1: f64,
        /// What is left of the mean of squares.
        beta_2: f64,
        /// What keeps the divisor from 0.
        epsilon: f64,
        /// How many steps were made, with this one.
        time: u32,
    },
}

impl SparseStep {
    /// How many tensors of the parameter's shape are its state.
    pub const fn states(&self) -> usize {
        match self {
            Self::Sgd { .. } => 0,
            Self::Momentum { .. } | Self::Adagrad { .. } => 1,
            Self::Adam { .. } => 2,
        }
    }

    const fn rule(&self) -> Rule {
        match *self {
            Self::Sgd { .. } => Rule::Descent,
            Self::Momentum { nesterov: true, .. } => Rule::Nesterov,
            Self::Momentum { .. } => Rule::Momentum,
            Self::Adagrad { .. } => Rule::Adagrad,
            Self::Adam { .. } => Rule::Adam,
        }
    }

    /// Rate, first and second factor, epsilon and correction.
    fn factors(&self) -> [f64; 5] {
        match *self {
            Self::Sgd { rate } => [rate, 0.0, 0.0, 0.0, 0.0],
            Self::Momentum {
                rate,
                momentum,
                dampening,
                ..
            } => [rate, momentum, 1.0 - dampening, 0.0, 0.0],
            Self::Adagrad { rate, epsilon } => [rate, 0.0, 0.0, epsilon, 0.0],
            Self::Adam {
                rate,
                beta_1,
                beta_2,
                epsilon,
                time,
            } => {
                let power = |beta: f64| 1.0 - beta.powi(time.min(i32::MAX as u32) as i32);
                let root = power(beta_2).sqrt();
                [rate, beta_1, beta_2, epsilon * root, root / power(beta_1)]
            }
        }
    }
}

/// Makes a step on the rows of a parameter that `gradient` has, in place, and on the same rows of its state; the others keep their
/// bits.
///
/// `parameter` has rank 1 or more, its rows along the first axis, and is contiguous, as is each of the `states`, which have its shape
/// and type: as many as [`SparseStep::states`] says, 0 at first. No row may be named twice by `gradient`, which
/// [`combine_rows`] takes care of. f16 and bf16 are computed in f32.
///
/// # Errors
///
/// [`Error::Shape`], [`Error::Element`], [`Error::Strides`]; [`Error::Argument`] of another number of states, and of a parameter or
/// state that is not contiguous; [`Error::Device`] where the device does not store a type.
pub fn sparse_step(
    client: &Client,
    parameter: &TensorHandle,
    states: &[&TensorHandle],
    gradient: &SparseRows,
    step: SparseStep,
) -> Result<()> {
    const CALL: &str = "sparse_step";
    let device = Device::of(client);
    check_float(CALL, &device, "parameter", parameter.dtype)?;
    check::axis(CALL, "parameter", parameter, 0)?;
    let (shape, _) = check::dims(parameter);
    if states.len() != step.states() {
        return Err(Error::Argument {
            call: CALL,
            argument: "the number of states",
            given: states.len().to_string(),
            allowed: step.states().to_string(),
        });
    }
    if let SparseStep::Adam { time: 0, .. } = step {
        return Err(Error::Argument {
            call: CALL,
            argument: "the time of Adam's step",
            given: "0".into(),
            allowed: "1 or more: how many steps were made, with this one".into(),
        });
    }
    check_dense(CALL, client, "parameter", parameter)?;
    for state in states {
        check::same_type(CALL, "a state", state.dtype, parameter.dtype)?;
        check::shape(CALL, "a state", state, &shape)?;
        check_dense(CALL, client, "a state", state)?;
    }
    let SparseRows { index, rows } = gradient;
    check::index(CALL, &device, index)?;
    check::same_type(CALL, "gradient", rows.dtype, parameter.dtype)?;
    let count = index.shape()[0];
    let mut of_rows = shape.clone();
    of_rows[0] = count;
    check::shape(CALL, "gradient", rows, &of_rows)?;
    check::within(CALL, client, "gradient", rows)?;
    if count == 0 || shape.contains(&0) {
        return Ok(());
    }
    let index = list(client, index);
    let target = Rows::new(client, parameter);
    let rows = Rows::new(client, rows);
    let starts_whole = |width: &usize| {
        let bytes = (width * parameter.dtype.size()) as u64;
        let mut starts = states
            .iter()
            .map(|state| state.handle.offset_start.unwrap_or(0));
        starts.all(|start| start.is_multiple_of(bytes))
    };
    let widths = device.vector_widths(parameter.dtype.size());
    let most = target.width(&device).min(rows.width(&device));
    let mut widths = widths.into_iter().filter(|width| *width <= most);
    let width = widths.find(starts_whole).unwrap_or(1);
    let plan = plan(
        &device,
        Rules::of_segments(Kind::Sum),
        target.columns / width,
        1,
    );
    let tiles = Tiles::new(&rows, width, plan);
    let (cubes, turns) = teams(&device, count * tiles.count, plan);
    let elements = target.count * target.columns;
    // What the rule has no use for is bound to memory of its own.
    let state = |at: usize| match states.get(at) {
        Some(state) => buffer(&state.handle, elements),
        None => buffer(&room(client, width, parameter.dtype.size()), width),
    };
    let [rate, first, second, epsilon, correction] = step.factors();
    let sum = sum_type(parameter.dtype);
    let factor = |value: f64| InputScalar::new(value, sum);
    // SAFETY: rows are masked, vectors of a row too; each row has one team.
    unsafe {
        step_kernel::launch_unchecked(
            client,
            cubes,
            CubeDim::new_1d(plan.units),
            address(&[elements, rows.len()]),
            width,
            buffer(&target.handle, elements),
            state(0),
            state(1),
            rows.arg(),
            buffer(&index.handle, count),
            tiles.arg(),
            factor(rate),
            factor(first),
            factor(second),
            factor(epsilon),
            factor(correction),
            target.count,
            count,
            turns,
            step.rule(),
            plan,
            [parameter.dtype, sum, index.dtype],
        );
    }
    Ok(())
}

/// Whether a device combines rows of a type, and makes steps on them.
///
/// # Errors
///
/// [`Error::Element`] of what is no float, [`Error::Device`] where the device does not store the type.
pub fn supports_sparse(client: &Client, element: ElemType) -> Result<()> {
    check_float("sparse_step", &Device::of(client), "parameter", element)
}

fn check_float(
    call: &'static str,
    device: &Device,
    argument: &'static str,
    given: ElemType,
) -> Result<()> {
    use FloatKind::{BF16, F16, F32, F64};
    match given {
        ElemType::Float(F16 | BF16 | F32 | F64) => check::element(call, device, given),
        given => Err(Error::Element {
            call,
            argument,
            given,
            allowed: "f16, bf16, f32 or f64".into(),
        }),
    }
}

/// Every element follows the last, so that rows can be written where they are.
fn check_dense(
    call: &'static str,
    client: &Client,
    argument: &'static str,
    tensor: &TensorHandle,
) -> Result<()> {
    check::within(call, client, argument, tensor)?;
    let (shape, strides) = check::dims(tensor);
    let dense = TensorHandle::new_contiguous(shape.clone(), tensor.handle.clone(), tensor.dtype);
    match strides == check::dims(&dense).1 || shape.contains(&0) {
        true => Ok(()),
        false => Err(Error::Argument {
            call,
            argument,
            given: format!("a tensor of shape {shape:?} and strides {strides:?}"),
            allowed: "a contiguous one".into(),
        }),
    }
}
