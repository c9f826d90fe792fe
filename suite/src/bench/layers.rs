//! Times of whole layers in Burn: a mixture of experts, forward and backward.

use burn::backend::cubecl::dtype_to_storage_type;
use burn::module::Param;
use burn::tensor::{DType, Device, Distribution, Tensor};
use girih_burn::{Error, MoeActivation, MoeLayer, MoeLayerConfig};
use girih_kernels::{ExpertsSize, explain_experts};
use girih_testkit::{DeviceKind, Rt};
use serde_json::{Value, json};

use super::calls::{Schedule, Times};

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
            if matches!(pass, Pass::Forward) {
                explain(rt, shape, dtype);
            }
            match time(rt, shape, dtype, pass) {
                Ok(times) => {
                    let Times {
                        first_us,
                        median_us,
                        window_us,
                        enqueue_us,
                    } = times;
                    let rate = flops / window_us / 1e6;
                    println!(
                        "{name:<72} {median_us:>11.2} {window_us:>11.2} {enqueue_us:>11.2} {rate:>9.3}"
                    );
                    measured.push(json!({
                        "peer": "girih", "name": name, "op": pass.name(), "dtype": kind,
                        "rows": tokens * chosen, "columns": hidden, "data": data,
                        "bytes": 2 * experts * model * hidden * if cuda { 2 } else { 4 },
                        "first_us": first_us, "median_us": median_us, "window_us": window_us,
                        "enqueue_us": enqueue_us, "flops": flops, "tflop_per_s": rate,
                        "clock": "host",
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

/// Prints the layer's passes, with the least bytes of each.
fn explain(rt: &Rt, [tokens, model, hidden, experts, chosen]: Shape, dtype: DType) {
    let size = ExpertsSize {
        tokens,
        model,
        hidden,
        experts,
        chosen,
    };
    match explain_experts(&rt.client, dtype_to_storage_type(dtype), size) {
        Ok(plan) => println!("{plan}"),
        Err(error) => println!("{error}"),
    }
}

/// The times of a layer's calls. What it computes is not looked at here: the suite's cases are about that.
fn time(
    rt: &Rt,
    [tokens, model, hidden, experts, chosen]: Shape,
    dtype: DType,
    pass: Pass,
) -> Result<Times, Error> {
    let calls = if rt.kind == DeviceKind::Cuda { 10 } else { 2 };
    let schedule = Schedule {
        warmup: 3,
        singles: calls,
        windows: 3,
        calls,
    };
    let device = Device::new(rt.device.clone());
    let device = match pass {
        Pass::Forward => device,
        Pass::Backward => device.autodiff(),
    };
    let layer = layer([model, hidden, experts, chosen], dtype, &device)?;
    // Tokens that differ, as the peer's do, so that they go to different experts.
    let normal = Distribution::Normal(0.0, 1.0);
    let input = Tensor::<2>::random([tokens, model], normal, &device).cast(dtype);
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
    Times::take(schedule, call, || device.sync().map_err(Error::Read))
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
