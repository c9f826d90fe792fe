//! What lies around the products of a mixture of experts: routes, sums of routes, and activations.

mod activate;
mod activations;
mod choose;
mod combine;
mod plan;
mod router;
mod sums;

pub use activations::activate;
pub(crate) use activations::{launch_activation, launch_activation_backward};
pub use plan::{ExpertsPass, ExpertsPlan, ExpertsSize, explain_experts};
pub use router::{ExpertRoutes, route_experts, route_experts_backward, supports_route_experts};
pub use sums::{CombineGradients, combine_experts, combine_experts_backward};

/// What tests compile without the launcher.
pub(crate) mod raw {
    pub use super::activate::{activate_backward_kernel, activate_kernel};
    pub use super::choose::{
        Choosing, Extents, ExtentsCompilationArg, choose_backward_kernel, choose_kernel,
        place_kernel,
    };
    pub use super::combine::{Teams, combine_backward_kernel, combine_kernel};
}

use crate::check;
use crate::scan::sum_type;
use cubecl::ir::{ElemType, FloatKind, IntKind};
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};
use girih::{Error, Result};

const I32: ElemType = ElemType::Int(IntKind::I32);

/// Units of a cube.
fn units(device: &Device) -> u32 {
    let most = device.client().properties().hardware.max_units_per_cube;
    1 << most.clamp(1, 256).ilog2()
}

/// The type that a tensor's floats are summed in.
fn float_sums(
    call: &'static str,
    device: &Device,
    argument: &'static str,
    tensor: &TensorHandle,
) -> Result<ElemType> {
    use FloatKind::{BF16, F16, F32, F64};
    match tensor.dtype {
        ElemType::Float(F16 | BF16 | F32 | F64) => {}
        given => {
            return Err(Error::Element {
                call,
                argument,
                given,
                allowed: "f16, bf16, f32 or f64".into(),
            });
        }
    }
    let sums = sum_type(tensor.dtype);
    check::element(call, device, tensor.dtype)?;
    check::element(call, device, sums)?;
    check::within(call, device.client(), argument, tensor)?;
    Ok(sums)
}

/// The device has exponentials of the type that scores and activations are computed in.
pub(crate) fn has_exponentials(call: &'static str, device: &Device, sums: ElemType) -> Result<()> {
    let wide = sums == ElemType::Float(FloatKind::F64);
    let has = !wide || matches!(device.target(), Target::Cpu | Target::Cuda | Target::Hip);
    device.require(has, call, "exponential of f64")
}
