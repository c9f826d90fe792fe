//! The types of a product.

use crate::check;
use crate::matmul::{Activation, MatmulOptions, Precision};
use cubecl::ir::{ElemType, FloatKind, IntKind, UIntKind};
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Error, Result};

/// The type that products of elements are summed in.
pub(crate) fn work_type(
    call: &'static str,
    argument: &'static str,
    element: ElemType,
) -> Result<ElemType> {
    match element {
        ElemType::Float(FloatKind::F16 | FloatKind::BF16 | FloatKind::F32) => {
            Ok(ElemType::Float(FloatKind::F32))
        }
        ElemType::Float(FloatKind::F64) => Ok(element),
        ElemType::Int(IntKind::I8 | IntKind::I16 | IntKind::I32) => Ok(ElemType::Int(IntKind::I32)),
        ElemType::UInt(UIntKind::U8 | UIntKind::U16) => Ok(ElemType::Int(IntKind::I32)),
        ElemType::Int(IntKind::I64) | ElemType::UInt(UIntKind::U32 | UIntKind::U64) => Ok(element),
        given => Err(Error::Element {
            call,
            argument,
            given,
            allowed: "f16, bf16, f32, f64 or an integer type".into(),
        }),
    }
}

fn is_float(element: ElemType) -> bool {
    matches!(element, ElemType::Float(_))
}

/// The type of a result that the launcher makes.
pub(crate) fn output_type(
    call: &'static str,
    a: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<ElemType> {
    let work = work_type(call, "a", a.dtype)?;
    if let Some(output) = options.output {
        work_type(call, "the result", output)?;
    }
    Ok(options.output.unwrap_or(match is_float(work) {
        true => a.dtype,
        false => work,
    }))
}

/// What every product asks of its types.
pub(crate) struct Types {
    pub element: ElemType,
    /// What elements are multiplied as, where tensor cores do so.
    pub factor: ElemType,
    pub work: ElemType,
    pub output: ElemType,
}

impl Types {
    pub(crate) fn new(
        call: &'static str,
        device: &Device,
        [a, b, c]: [&TensorHandle; 3],
        result: &'static str,
        options: &MatmulOptions<'_>,
    ) -> Result<Self> {
        let (element, output) = (a.dtype, c.dtype);
        let work = work_type(call, "a", element)?;
        check::same_type(call, "b", b.dtype, element)?;
        if work_type(call, result, output).map(is_float)? != is_float(work) {
            let kind = if is_float(work) {
                "a float type"
            } else {
                "an integer type"
            };
            return Err(Error::Element {
                call,
                argument: result,
                given: output,
                allowed: format!("{kind}, as of the operands"),
            });
        }
        if !is_float(work) && options.activation != Activation::Identity {
            return Err(Error::Argument {
                call,
                argument: "activation",
                given: format!("{:?}, of integers", options.activation),
                allowed: "Identity".into(),
            });
        }
        for dtype in [element, work, output] {
            check::element(call, device, dtype)?;
        }
        for (argument, tensor) in [("a", a), ("b", b), (result, c)] {
            check::within(call, device.client(), argument, tensor)?;
        }
        check::distinct(call, result, c)?;
        let factor = match (element, options.precision) {
            (ElemType::Float(FloatKind::F32), Precision::Tf32) => ElemType::Float(FloatKind::TF32),
            _ => element,
        };
        Ok(Self {
            element,
            factor,
            work,
            output,
        })
    }
}
