//! Products on the host in f64.

use super::model::{Element, Operand, Right};
use girih_kernels::Activation;

/// A product on the host.
pub fn right<E: Element>(a: &Operand<E>, b: &Operand<E>, batch: &[usize]) -> Vec<Right> {
    let [rows, inner] = [a.shape[a.shape.len() - 2], a.shape[a.shape.len() - 1]];
    let columns = b.shape[b.shape.len() - 1];
    let mut out = vec![];
    for number in 0..batch.iter().product::<usize>() {
        let mut at = vec![0; batch.len()];
        let mut rest = number;
        for axis in (0..batch.len()).rev() {
            at[axis] = rest % batch[axis];
            rest /= batch[axis];
        }
        let place = |row: usize, column: usize| [at.clone(), vec![row, column]].concat();
        for row in 0..rows {
            for column in 0..columns {
                let mut sum = Right::default();
                for k in 0..inner {
                    sum.add(element(a, &place(row, k)) * element(b, &place(k, column)));
                }
                out.push(sum);
            }
        }
    }
    out
}

/// The element of coordinates of which only the axes of a batch repeat.
fn element<E: Element>(of: &Operand<E>, at: &[usize]) -> f64 {
    let skipped = at.len() - of.shape.len();
    of.at(&at[skipped..])
}

/// What an error says.
pub fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// The error function, by its series and its continued fraction.
fn erf(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / n as f64;
        sum += term / (2 * n + 1) as f64;
    }
    match x.abs() > 5.0 {
        true => x.signum(),
        false => sum * 2.0 / std::f64::consts::PI.sqrt(),
    }
}

/// What an activation makes of a number.
pub fn activated(x: f64, activation: Activation) -> f64 {
    match activation {
        Activation::Identity => x,
        Activation::Relu => x.max(0.0),
        Activation::Silu => x / (1.0 + (-x).exp()),
        Activation::Gelu => x * (1.0 + erf(x / 2f64.sqrt())) / 2.0,
    }
}

/// All of them.
pub const ACTIVATIONS: [Activation; 4] = [
    Activation::Identity,
    Activation::Relu,
    Activation::Silu,
    Activation::Gelu,
];
