//! Products of rows, or of positions of K, in groups and by lists.

use super::shapes::{bias_strides, ends as check_ends, list, rank};
use super::{Problem, Types};
use crate::check;
use crate::matmul::form::Grouping;
use crate::matmul::{MatmulOptions, Route};
use cubecl::ir::ElemType;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Bounds, Error, Result};

/// A product of rows in groups, in order or by lists.
pub(crate) fn routed(
    call: &'static str,
    device: &Device,
    [a, b, c]: [&TensorHandle; 3],
    route: &Route<'_>,
    bounds: Bounds,
    adds: bool,
    options: &MatmulOptions<'_>,
) -> Result<Problem> {
    let is_grouped = route.ends.is_some();
    rank(call, "a", a, 2, false)?;
    rank(call, "b", b, if is_grouped { 3 } else { 2 }, false)?;
    let result = if adds { "target" } else { "the result" };
    rank(call, result, c, 2, false)?;
    let [rows_a, inner] = [a.shape()[0], a.shape()[1]];
    let (of_b, b_shape) = (check::dims(b).1, check::dims(b).0);
    let columns = b_shape[b_shape.len() - 1];
    let groups = if is_grouped { b_shape[0] } else { 1 };
    let mut allowed = vec![inner, columns];
    if is_grouped {
        allowed.insert(0, groups);
    }
    check::shape(call, "b", b, &allowed)?;
    if let Some(ends) = route.ends {
        check_ends(call, device, ends, Some(groups))?;
    }
    let mut dtype = route.ends.map(|ends| ends.dtype);
    for (argument, of) in [("gather", route.gather), ("scatter", route.scatter)] {
        if let Some(of) = of {
            list(call, argument, device, of, None, dtype)?;
            dtype = dtype.or(Some(of.dtype));
        }
    }
    let lists = [route.gather, route.scatter];
    let rows = lists
        .into_iter()
        .flatten()
        .map(|list| list.shape()[0])
        .next();
    let rows = rows.unwrap_or(rows_a);
    let rows_c = c.shape()[0];
    if let Some(scatter) = route.scatter {
        check::shape(call, "scatter", scatter, &[rows])?;
    }
    let in_order = |argument, given, is_listed: bool| match is_listed || given == rows {
        true => Ok(()),
        false => Err(Error::Argument {
            call,
            argument,
            given: format!("{given}, without a list"),
            allowed: format!("{rows}, as many as the lists have"),
        }),
    };
    in_order("the rows of a", rows_a, route.gather.is_some())?;
    in_order("the rows of the result", rows_c, route.scatter.is_some())?;
    check::shape(call, result, c, &[rows_c, columns])?;
    for (argument, given) in [
        ("rows", rows),
        ("rows of a", rows_a),
        ("rows of the result", rows_c),
    ] {
        if given as u64 >= u64::from(u32::MAX) {
            return Err(Error::Size {
                call,
                argument,
                given: given as u64,
                allowed: u64::from(u32::MAX) - 1,
            });
        }
    }
    let types = Types::new(call, device, [a, b, c], result, options)?;
    if let Some(weights) = route.weights {
        check::shape(call, "weights", weights, &[rows])?;
        if !matches!(weights.dtype, ElemType::Float(_)) || !matches!(types.work, ElemType::Float(_))
        {
            return Err(Error::Element {
                call,
                argument: "weights",
                given: weights.dtype,
                allowed: "a float type, where the operands have floats".into(),
            });
        }
        check::element(call, device, weights.dtype)?;
        check::within(call, device.client(), "weights", weights)?;
    }
    if adds {
        let feature = format!("atomic add of {}", types.output);
        device.require(device.adds_atomically(types.output, 1), call, feature)?;
    }
    let matrices: &[usize] = if is_grouped { &[groups] } else { &[] };
    let bias = bias_strides(
        call,
        device.client(),
        options.bias,
        matrices,
        columns,
        types.output,
    )?;
    let (of_a, of_c) = (check::dims(a).1, check::dims(c).1);
    Ok(Problem {
        groups,
        rows_a,
        rows_c,
        b_group: if is_grouped { of_b[0] } else { 0 },
        bias_group: if is_grouped { bias[0] } else { 0 },
        grouping: match is_grouped {
            true => Grouping::Rows,
            false => Grouping::Batches,
        },
        ends: route.ends.cloned(),
        gather: route.gather.cloned(),
        scatter: route.scatter.cloned(),
        weights: route.weights.cloned(),
        bounds,
        adds,
        ..Problem::plain(
            call,
            &types,
            [a, b, c],
            options,
            [rows, columns, inner],
            [
                [of_a[0], of_a[1]],
                [of_b[of_b.len() - 2], of_b[of_b.len() - 1]],
                [of_c[0], of_c[1]],
            ],
            bias[bias.len() - 1],
        )
    })
}

/// A product for each group of positions of K.
pub(crate) fn grouped_inner(
    call: &'static str,
    device: &Device,
    [a, b, c]: [&TensorHandle; 3],
    ends: &TensorHandle,
    options: &MatmulOptions<'_>,
) -> Result<Problem> {
    let [rows, inner] = [a.shape()[0], a.shape()[1]];
    let columns = b.shape()[1];
    check::shape(call, "b", b, &[inner, columns])?;
    check_ends(call, device, ends, None)?;
    let groups = ends.shape()[0];
    let types = Types::new(call, device, [a, b, c], "the result", options)?;
    let bias = bias_strides(
        call,
        device.client(),
        options.bias,
        &[groups],
        columns,
        types.output,
    )?;
    let strides = |tensor: &TensorHandle| check::dims(tensor).1;
    let (of_a, of_b, of_c) = (strides(a), strides(b), strides(c));
    Ok(Problem {
        groups,
        c_group: of_c[0],
        bias_group: bias[0],
        grouping: Grouping::Inner,
        ends: Some(ends.clone()),
        ..Problem::plain(
            call,
            &types,
            [a, b, c],
            options,
            [rows, columns, inner],
            [[of_a[0], of_a[1]], [of_b[0], of_b[1]], [of_c[1], of_c[2]]],
            bias[1],
        )
    })
}
