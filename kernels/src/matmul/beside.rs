//! What an activation takes along: the sums before it, kept for its gradient, or the sums that its slope is taken at.

use super::hopper;
use super::problem::Problem;
use super::{Activation, MatmulOptions};
use crate::check;
use crate::experts::{launch_activation, launch_activation_backward};
use cubecl::ir::ElemType;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Error, Result};

/// A tensor beside the result, of its shape, type and strides.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Beside<'a> {
    /// The sums go there before the activation.
    Before(&'a TensorHandle),
    /// The sums are multiplied with the activation's slope at what is there.
    SlopeAt(&'a TensorHandle),
}

impl<'a> Beside<'a> {
    /// What the options ask for, checked.
    pub(crate) fn new(
        device: &Device,
        problem: &Problem,
        options: &MatmulOptions<'a>,
    ) -> Result<Option<Self>> {
        let call = problem.call;
        let beside = match (options.before, options.slope_at) {
            (None, None) => return Ok(None),
            (Some(before), None) => Self::Before(before),
            (None, Some(at)) => Self::SlopeAt(at),
            (Some(_), Some(_)) => {
                return Err(Error::Argument {
                    call,
                    argument: "slope_at",
                    given: "a tensor, as before is".into(),
                    allowed: "one of the two".into(),
                });
            }
        };
        let (argument, tensor) = match beside {
            Self::Before(tensor) => ("before", tensor),
            Self::SlopeAt(tensor) => ("slope_at", tensor),
        };
        let c = &problem.c;
        check::same_type(call, argument, tensor.dtype, problem.output)?;
        check::shape(call, argument, tensor, &check::dims(c).0)?;
        check::within(call, device.client(), argument, tensor)?;
        let is_float = matches!(problem.output, ElemType::Float(_));
        let refused = |given: String, allowed: &str| {
            Err(Error::Argument {
                call,
                argument,
                given,
                allowed: allowed.into(),
            })
        };
        if problem.adds || !is_float {
            let what = if is_float {
                "sums that are added"
            } else {
                "integers"
            };
            return refused(format!("a tensor, beside {what}"), "floats that are stored");
        }
        match [c, tensor].into_iter().all(check::is_row_major) {
            true => Ok(Some(beside)),
            false => refused(
                format!("of strides {:?}", check::dims(tensor).1),
                "a contiguous tensor beside a contiguous result",
            ),
        }
    }

    pub(crate) fn tensor(&self) -> &'a TensorHandle {
        match *self {
            Self::Before(tensor) | Self::SlopeAt(tensor) => tensor,
        }
    }

    /// The form of Hopper's kernel that takes it along, if there is one.
    pub(crate) fn taken_along(&self, form: hopper::Form) -> Option<hopper::Form> {
        let start = self.tensor().handle.offset_start.unwrap_or(0);
        let beside = match self {
            Self::Before(_) => hopper::Beside::Before,
            Self::SlopeAt(_) => hopper::Beside::SlopeAt,
        };
        let form = hopper::Form { beside, ..form };
        (start.is_multiple_of(16) && form.is_possible()).then_some(form)
    }

    /// The product without it: what is left is a [pass](Self::pass) of its own.
    pub(crate) fn alone(&self, problem: &Problem) -> Problem {
        let c = match *self {
            Self::Before(before) => before.clone(),
            Self::SlopeAt(_) => problem.c.clone(),
        };
        Problem {
            c,
            activation: Activation::Identity,
            ..problem.clone()
        }
    }

    /// The activation, or its slope, on what the product [alone](Self::alone) has given.
    pub(crate) fn pass(&self, device: &Device, problem: &Problem) {
        let (c, activation, work) = (&problem.c, problem.activation, problem.work);
        match *self {
            Self::Before(before) => launch_activation(device, before, c, activation, work),
            Self::SlopeAt(at) => launch_activation_backward(device, at, c, activation, work),
        }
    }
}
