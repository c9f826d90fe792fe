//! Times of whole layers in Burn: a mixture of experts, forward and backward.

use std::time::Instant;

use burn::module::Param;
use burn::tensor::{DType, Device, Tensor, TensorData};
use girih_burn::{Error, MoeActivation, MoeLayer, MoeLayerConfig};
use girih_testkit::{DeviceKind, Rt};
use serde_json::{Value, json};

/// Tokens, width, width within an expert, experts, experts of a token.
type Shape = [usize; 5];

/// What is done with a layer.
#[derive(Clone, Copy)]
enum Pass {
    Forward,
    Backward,
}

impl Pass {
    fn name(self) -> &'static str {
        match self {
            Self::Forward => "moe_forward",
            Self::Backward => "moe_forward_backward",
        }
    }
}

/// Times the layers whose name contains one of `filters`: lines of JSON, and the names of those that failed.
pub(super) fn run(rt: &Rt, filters: &[String]) -> (Vec<Value>, Vec<String>) {
    let cuda = rt.kind == DeviceKind::Cuda;
    let shapes: &[Shape] = match cuda {
        true => &girih_bench::products::LAYERS,
        false => &[[128, 64, 96, 8, 2]],
    };
    let dtype = if cuda { DType::BF16 } else { DType::F32 };
    let (mut measured, mut failed) = (vec![], vec![]);
    for &shape in shapes {
        for pass in [Pass::Forward, Pass::Backward] {
            let [tokens, model, hidden, experts, chosen] = shape;
            let data = format!("{tokens} tokens, {model} to {hidden}, {chosen} of {experts}");
            let kind = if cuda { "bf16" } else { "f32" };
            let name = format!("{} {kind} {data}", pass.name());
            let wanted = |filter: &String| name.contains(filter.as_str());
            if !filters.is_empty() && !filters.iter().any(wanted) {
                continue;
            }
            // The launches that a layer waits for are of two products each way, and two more for gradients.
            let products = match pass {
                Pass::Forward => 2,
                Pass::Backward => 6,
            };
            let flops = (products * 2 * tokens * chosen * model * hidden) as f64;
            match time(rt, shape, dtype, pass, if cuda { 10 } else { 2 }) {
                Ok([first, median, window]) => {
                    let rate = flops / window / 1e6;
                    println!("{name:<56} {median:>11.2} {window:>11.2} {rate:>10.3}");
                    measured.push(json!({
                        "peer": "girih", "name": name, "op": pass.name(), "dtype": kind,
                        "rows": tokens * chosen, "columns": hidden, "data": data,
                        "bytes": 2 * experts * model * hidden * if cuda { 2 } else { 4 },
                        "first_us": first, "median_us": median, "window_us": window,
                        "flops": flops, "tflop_per_s": rate, "clock": "host",
                    }));
                }
                Err(error) => {
                    println!("{name:<56} FAILED: {error}");
                    failed.push(name);
                }
            }
        }
    }
    (measured, failed)
}

/// Microseconds of the first call, the median of calls waited for one by one, and the mean of calls one after another; by
/// the host's clock.
fn time(
    rt: &Rt,
    [tokens, model, hidden, experts, chosen]: Shape,
    dtype: DType,
    pass: Pass,
    calls: usize,
) -> Result<[f64; 3], Error> {
    let device = Device::new(rt.device.clone());
    let device = match pass {
        Pass::Forward => device,
        Pass::Backward => device.autodiff(),
    };
    let layer = layer([model, hidden, experts, chosen], dtype, &device)?;
    let values = |count: usize, salt: usize| -> Vec<f32> {
        let value = |at: usize| ((at * 37 + salt) % 251) as f32 / 125.0 - 1.0;
        (0..count).map(value).collect()
    };
    let data = TensorData::new(values(tokens * model, 3), [tokens, model]);
    let input = Tensor::<2>::from_data(data, &device).cast(dtype);
    let call = || -> Result<(), Error> {
        match pass {
            Pass::Forward => {
                let _ = layer.forward(input.clone())?;
            }
            Pass::Backward => {
                let leaf = input.clone().detach().require_grad();
                let out = layer.forward(leaf.clone())?;
                let gradients = out.powi_scalar(2).mean().backward();
                let _ = leaf.grad(&gradients);
            }
        }
        Ok(())
    };
    let timed = |count: usize| -> Result<f64, Error> {
        let start = Instant::now();
        (0..count).try_for_each(|_| call())?;
        device.sync().map_err(Error::Read)?;
        Ok(start.elapsed().as_secs_f64() * 1e6 / count as f64)
    };
    let first = timed(1)?;
    timed(2)?;
    let mut singles = (0..calls)
        .map(|_| timed(1))
        .collect::<Result<Vec<_>, _>>()?;
    singles.sort_unstable_by(f64::total_cmp);
    Ok([first, singles[calls / 2], timed(calls)?])
}

fn layer(
    [model, hidden, experts, chosen]: [usize; 4],
    dtype: DType,
    device: &Device,
) -> Result<MoeLayer, Error> {
    let mut layer = MoeLayerConfig::new(model, hidden, experts, chosen)
        .with_activation(MoeActivation::Silu)
        .init(device)?;
    layer.router = Param::from_tensor(leaf(layer.router.val(), dtype));
    layer.up = Param::from_tensor(leaf(layer.up.val(), dtype));
    layer.down = Param::from_tensor(leaf(layer.down.val(), dtype));
    Ok(layer)
}

/// The values in another type, of which gradients can be asked: a cast of what is tracked would be no leaf.
fn leaf<const D: usize>(values: Tensor<D>, dtype: DType) -> Tensor<D> {
    match values.device().is_autodiff() {
        true => Tensor::from_inner(values.inner().cast(dtype)),
        false => values.cast(dtype),
    }
}
