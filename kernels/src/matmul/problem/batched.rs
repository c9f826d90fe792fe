//! Products in batches.

use super::shapes::{bias_strides, broadcast, repeated};
use super::{Problem, Types, rank};
use crate::check;
use crate::matmul::MatmulOptions;
use crate::matmul::form::PER_AXIS;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Error, Result};

fn split(shape: &[usize]) -> (&[usize], [usize; 2]) {
    let (batch, matrix) = shape.split_at(shape.len() - 2);
    (batch, [matrix[0], matrix[1]])
}

/// The shape of a product in batches.
pub(crate) fn product_shape(
    call: &'static str,
    a: &TensorHandle,
    b: &TensorHandle,
) -> Result<Vec<usize>> {
    rank(call, "a", a, 2, true)?;
    rank(call, "b", b, 2, true)?;
    let ((a, _), (b, _)) = (check::dims(a), check::dims(b));
    let ((batch_a, [rows, inner]), (batch_b, [given, columns])) = (split(&a), split(&b));
    let refused = |allowed: Vec<usize>| Error::Shape {
        call,
        argument: "b",
        given: b.clone(),
        allowed,
    };
    if given != inner {
        let allowed = batch_b.iter().copied().chain([inner, columns]);
        return Err(refused(allowed.collect()));
    }
    let batch = broadcast(batch_a, batch_b).ok_or_else(|| {
        let allowed = batch_a.iter().copied().chain([inner, columns]);
        refused(allowed.collect())
    })?;
    Ok(batch.into_iter().chain([rows, columns]).collect())
}

/// A product in batches.
pub(crate) fn batched(
    call: &'static str,
    device: &Device,
    [a, b, c]: [&TensorHandle; 3],
    options: &MatmulOptions<'_>,
) -> Result<Problem> {
    let shape = product_shape(call, a, b)?;
    check::shape(call, "the result", c, &shape)?;
    let types = Types::new(call, device, [a, b, c], "the result", options)?;
    let (batch, [rows, columns]) = split(&shape);
    let bias = bias_strides(
        call,
        device.client(),
        options.bias,
        batch,
        columns,
        types.output,
    )?;
    let strides = |tensor: &TensorHandle| {
        let (shape, strides) = check::dims(tensor);
        let (batch_strides, last) = split(&strides);
        let (own, _) = split(&shape);
        let repeated =
            repeated(own, batch_strides, batch).expect("the batch is what both repeat to");
        (repeated, last)
    };
    let ((batch_a, a_strides), (batch_b, b_strides)) = (strides(a), strides(b));
    let (batch_c, c_strides) = strides(c);
    let axes = crate::fold::fold(batch, [&batch_a, &batch_b, &batch_c, &bias[..batch.len()]]);
    let (_, [_, inner]) = split(&check::dims(a).0);
    Ok(Problem {
        batch: axes
            .into_iter()
            .map(|axis| -> [usize; PER_AXIS] {
                let [a, b, c, bias] = axis.strides;
                [axis.extent, a, b, c, bias]
            })
            .collect(),
        ..Problem::plain(
            call,
            &types,
            [a, b, c],
            options,
            [rows, columns, inner],
            [a_strides, b_strides, c_strides],
            bias[batch.len()],
        )
    })
}
