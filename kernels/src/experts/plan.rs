//! What a mixture of experts launches, pass by pass.

use crate::matmul::{
    Activation, MatmulOptions, MatmulPlan, explain_gather_matmul, explain_grouped_inner_matmul,
    explain_grouped_matmul, explain_matmul,
};
use core::fmt;
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Result;

/// The extents of a mixture of experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpertsSize {
    /// Tokens.
    pub tokens: usize,
    /// The width of a token.
    pub model: usize,
    /// The width within an expert.
    pub hidden: usize,
    /// Experts.
    pub experts: usize,
    /// Experts of a token.
    pub chosen: usize,
}

/// One pass: a product, or what lies between products.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpertsPass {
    /// What it does.
    pub name: &'static str,
    /// The least bytes that it reads and writes.
    pub bytes: u64,
    /// How many kernels it is.
    pub launches: usize,
    /// How a product is computed.
    pub product: Option<MatmulPlan>,
}

/// The passes of a mixture of experts, in their order. Its `Display` is a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpertsPlan {
    /// The type of tokens and matrices.
    pub element: ElemType,
    /// The extents.
    pub size: ExpertsSize,
    /// Those of the result alone.
    pub forward: Vec<ExpertsPass>,
    /// Those of the result where what gradients need is kept: the tokens of all routes, and what each has within its expert.
    pub kept: Vec<ExpertsPass>,
    /// Those of all gradients, given what was kept.
    pub backward: Vec<ExpertsPass>,
}

impl fmt::Display for ExpertsPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ExpertsSize {
            tokens,
            model,
            hidden,
            experts,
            chosen,
        } = self.size;
        write!(
            f,
            "experts of {}: {tokens} tokens, {model} to {hidden}, {chosen} of {experts}",
            self.element
        )?;
        for (way, passes) in [
            ("forward", &self.forward),
            ("forward, for gradients", &self.kept),
            ("backward", &self.backward),
        ] {
            write!(f, "\n  {way}")?;
            for pass in passes {
                let megabytes = pass.bytes as f64 / 1e6;
                write!(f, "\n    {:<28} {megabytes:>10.1} MB", pass.name)?;
                match &pass.product {
                    Some(plan) => {
                        let [rows, columns, depth] = plan.tile;
                        write!(f, "  {:?}, {rows} x {columns} x {depth}", plan.path)?;
                    }
                    None if pass.launches == 1 => write!(f, "  1 launch")?,
                    None => write!(f, "  {} launches", pass.launches)?,
                }
            }
        }
        Ok(())
    }
}

/// The passes of a mixture of experts of that size, as `girih_burn::MoeLayer` makes them. While it is asked, it takes as much memory as
/// the tensors of one product.
///
/// # Errors
///
/// As [`route_experts`](crate::route_experts) and [`grouped_matmul`](crate::grouped_matmul).
pub fn explain_experts(
    client: &Client,
    element: ElemType,
    size: ExpertsSize,
) -> Result<ExpertsPlan> {
    super::supports_route_experts("explain_experts", size.tokens, size.experts, size.chosen)?;
    let planner = Planner {
        client,
        element,
        size,
    };
    Ok(ExpertsPlan {
        element,
        size,
        forward: planner.forward(false)?,
        kept: planner.forward(true)?,
        backward: planner.backward()?,
    })
}

struct Planner<'a> {
    client: &'a Client,
    element: ElemType,
    size: ExpertsSize,
}

/// A tensor, its last two axes exchanged.
fn transposed(tensor: TensorHandle) -> TensorHandle {
    let exchanged = |numbers: &[usize]| {
        let mut numbers = numbers.to_vec();
        let rank = numbers.len();
        numbers.swap(rank - 2, rank - 1);
        numbers
    };
    let (shape, strides) = (exchanged(tensor.shape()), exchanged(tensor.strides()));
    TensorHandle::new(tensor.handle, shape, strides, tensor.dtype)
}

impl Planner<'_> {
    fn tensor(&self, shape: &[usize]) -> TensorHandle {
        self.of(shape, self.element)
    }

    fn list(&self, len: usize) -> TensorHandle {
        self.of(&[len], i32::elem_type_native())
    }

    fn of(&self, shape: &[usize], element: ElemType) -> TensorHandle {
        let bytes = shape.iter().product::<usize>() * element.size();
        TensorHandle::new_contiguous(shape.to_vec(), self.client.empty(bytes.max(1)), element)
    }

    fn routes(&self) -> usize {
        self.size.tokens * self.size.chosen
    }

    /// The bytes of so many elements.
    fn bytes(&self, elements: &[usize]) -> u64 {
        elements
            .iter()
            .map(|&elements| elements as u64)
            .sum::<u64>()
            * self.element.size() as u64
    }

    fn product(&self, name: &'static str, elements: &[usize], plan: MatmulPlan) -> ExpertsPass {
        ExpertsPass {
            name,
            bytes: self.bytes(elements),
            launches: 1,
            product: Some(plan),
        }
    }

    fn pass(&self, name: &'static str, launches: usize, bytes: u64) -> ExpertsPass {
        ExpertsPass {
            name,
            bytes,
            launches,
            product: None,
        }
    }

    /// The passes of the result, with those that keep what gradients need, or without.
    fn forward(&self, keeps: bool) -> Result<Vec<ExpertsPass>> {
        let ExpertsSize {
            tokens,
            model,
            hidden,
            experts,
            ..
        } = self.size;
        let (client, routes) = (self.client, self.routes());
        let options = MatmulOptions::default();
        let matrices = experts * model * hidden;
        let ends = self.list(experts);
        let scores = {
            let (a, b) = (
                self.tensor(&[tokens, model]),
                self.tensor(&[model, experts]),
            );
            explain_matmul(client, &a, &b, &options)?
        };
        let down = {
            let (a, b) = (
                self.tensor(&[routes, hidden]),
                self.tensor(&[experts, hidden, model]),
            );
            explain_grouped_matmul(client, &a, &b, &ends, &options)?
        };
        let [of_tokens, of_rows, of_hidden] = [tokens * model, routes * model, routes * hidden];
        let mut passes = vec![
            self.product(
                "scores",
                &[of_tokens, model * experts, tokens * experts],
                scores,
            ),
            self.pass(
                "routes",
                2,
                self.bytes(&[tokens * experts]) + 4 * (6 * routes + experts) as u64,
            ),
        ];
        match keeps {
            true => passes.extend(self.up_kept(&ends)?),
            false => passes.push(self.up(&ends)?),
        }
        passes.extend([
            self.product("rows by down", &[of_hidden, matrices, of_rows], down),
            self.pass(
                "sums by token",
                1,
                self.bytes(&[of_rows, of_tokens]) + 8 * routes as u64,
            ),
        ]);
        Ok(passes)
    }

    /// The first products, which gather their rows.
    fn up(&self, ends: &TensorHandle) -> Result<ExpertsPass> {
        let ExpertsSize {
            tokens,
            model,
            hidden,
            experts,
            ..
        } = self.size;
        let routes = self.routes();
        let options = MatmulOptions {
            activation: Activation::Silu,
            ..MatmulOptions::default()
        };
        let (a, index) = (self.tensor(&[tokens, model]), self.list(routes));
        let b = self.tensor(&[experts, model, hidden]);
        let plan = explain_gather_matmul(self.client, &a, &index, &b, Some(ends), &options)?;
        let elements = [tokens * model, experts * model * hidden, routes * hidden];
        Ok(self.product("gathered rows by up", &elements, plan))
    }

    /// The same of rows that were gathered, and the sums before the activation.
    fn up_kept(&self, ends: &TensorHandle) -> Result<[ExpertsPass; 2]> {
        let ExpertsSize {
            tokens,
            model,
            hidden,
            experts,
            ..
        } = self.size;
        let routes = self.routes();
        let before = self.tensor(&[routes, hidden]);
        let options = MatmulOptions {
            activation: Activation::Silu,
            before: Some(&before),
            ..MatmulOptions::default()
        };
        let a = self.tensor(&[routes, model]);
        let b = self.tensor(&[experts, model, hidden]);
        let plan = explain_grouped_matmul(self.client, &a, &b, ends, &options)?;
        let [of_rows, of_hidden] = [routes * model, routes * hidden];
        let elements = [of_rows, experts * model * hidden, of_hidden, of_hidden];
        Ok([
            self.pass(
                "gathered tokens",
                1,
                self.bytes(&[tokens * model, of_rows]) + 4 * routes as u64,
            ),
            self.product("rows by up", &elements, plan),
        ])
    }

    fn backward(&self) -> Result<Vec<ExpertsPass>> {
        let ExpertsSize {
            tokens,
            model,
            hidden,
            experts,
            ..
        } = self.size;
        let (client, routes) = (self.client, self.routes());
        let options = MatmulOptions::default();
        let matrices = experts * model * hidden;
        let ends = self.list(experts);
        let [of_tokens, of_rows, of_hidden] = [tokens * model, routes * model, routes * hidden];
        let inner = |[rows, columns]: [usize; 2]| {
            let a = transposed(self.tensor(&[routes, rows]));
            let b = self.tensor(&[routes, columns]);
            explain_grouped_inner_matmul(client, &a, &b, &ends, &options)
        };
        let by_down = {
            let a = self.tensor(&[routes, model]);
            let b = transposed(self.tensor(&[experts, hidden, model]));
            let before = self.tensor(&[routes, hidden]);
            let sloped = MatmulOptions {
                activation: Activation::Silu,
                slope_at: Some(&before),
                ..MatmulOptions::default()
            };
            explain_grouped_matmul(client, &a, &b, &ends, &sloped)?
        };
        let by_up = {
            let a = self.tensor(&[routes, hidden]);
            let b = transposed(self.tensor(&[experts, model, hidden]));
            explain_grouped_matmul(client, &a, &b, &ends, &options)?
        };
        let of_router = {
            let a = transposed(self.tensor(&[tokens, model]));
            explain_matmul(client, &a, &self.tensor(&[tokens, experts]), &options)?
        };
        let by_router = {
            let a = self.tensor(&[tokens, experts]);
            let b = transposed(self.tensor(&[model, experts]));
            explain_matmul(client, &a, &b, &options)?
        };
        let scores = tokens * experts;
        Ok(vec![
            self.pass(
                "slopes of sums",
                1,
                self.bytes(&[of_tokens, of_rows, of_rows]) + 12 * routes as u64,
            ),
            self.product(
                "slopes of down",
                &[of_hidden, of_rows, matrices],
                inner([hidden, model])?,
            ),
            self.product(
                "slopes by down",
                &[of_rows, matrices, of_hidden, of_hidden],
                by_down,
            ),
            self.product(
                "slopes of up",
                &[of_rows, of_hidden, matrices],
                inner([model, hidden])?,
            ),
            self.product("slopes by up", &[of_hidden, matrices, of_rows], by_up),
            self.pass(
                "sums by token",
                1,
                self.bytes(&[of_rows, of_tokens]) + 4 * routes as u64,
            ),
            self.pass(
                "slopes of scores",
                1,
                self.bytes(&[scores, scores]) + 12 * routes as u64,
            ),
            self.product(
                "slopes of the router",
                &[of_tokens, scores, model * experts],
                of_router,
            ),
            self.product(
                "slopes by the router",
                &[scores, model * experts, of_tokens],
                by_router,
            ),
        ])
    }
}
