//! The gradient of segments.

use super::super::grouping::{Grouped, Grouping};
use super::super::plan::{Tiles, plan, teams};
use super::super::rows::{Rows, address, buffer, room, sum_type};
use super::super::{Kind, Reduction, Rules, rows_of, run, supports};
use super::fill::convert;
use super::spread::spread_kernel;
use super::walk::WINDOW;
use super::{check_args, check_float, check_gradient, order_arg, with_rows};
use cubecl::client::Client;
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
#[cfg(doc)]
use girih::Error;
use girih::Result;
use girih::device::Device;

/// The gradient of [`segment_reduce`](crate::segment_reduce()) for its values.
///
/// `gradient` is that of the result, with a row for each segment. Each row gets, of a sum, the gradient of its segment; of a mean,
/// that divided by the segment's length; of a maximum or minimum, that of the elements that came from it, which `args` of
/// [`segment_reduce_with_args`](crate::segment_reduce_with_args) names: of equal ones the first has all of it; of a product, that
/// multiplied by the product of the other rows, computed by a division where there is no 0. A row of no segment gets 0. It has the
/// shape of `values` and is contiguous.
///
/// Temporary memory: what the grouping takes in [`segment_reduce`](crate::segment_reduce()), and copies of `values` and `gradient` where
/// their elements do not lie next to each other; of a product a row for each segment and as many `i32`, what that reduction takes, and
/// of f16 and bf16 `values` in f32.
///
/// # Errors
///
/// As [`segment_reduce`](crate::segment_reduce()); [`Error::Shape`] and [`Error::Element`] of `gradient` and `args`;
/// [`Error::Argument`] of a maximum or minimum without `args`, and of integers.
pub fn segment_reduce_backward(
    client: &Client,
    gradient: &TensorHandle,
    values: &TensorHandle,
    args: Option<&TensorHandle>,
    grouping: Grouping<'_>,
    reduction: Reduction,
) -> Result<TensorHandle> {
    const CALL: &str = "segment_reduce_backward";
    let device = Device::of(client);
    supports(CALL, &device, "values", values.dtype, reduction)?;
    check_float(CALL, "values", values.dtype)?;
    let shape = rows_of(CALL, client, "values", values)?;
    let grouped = grouping.group(CALL, &device, shape[0])?;
    let of_segments = with_rows(&shape, grouped.ends.segments);
    check_gradient(CALL, client, gradient, values.dtype, &of_segments)?;
    let kind = Kind::from(reduction);
    let args = check_args(CALL, client, kind, args, &of_segments)?;
    let (values, rows) = (Rows::new(client, values), Rows::new(client, gradient));
    let elements = values.count * values.columns;
    let output = room(client, elements, values.element.size());
    let result = TensorHandle::new_contiguous(shape, output.clone(), values.element);
    if elements == 0 {
        return Ok(result);
    }
    // What the product needs beside the values: that of each segment's elements that are not 0, and how many are.
    let products = (kind == Kind::Product).then(|| products(&device, &values, &grouped));
    let (products, args) = match products {
        Some((products, zeros)) => (Some(products), Some(zeros)),
        None => (None, args.map(|args| args.handle.clone())),
    };
    let width = values.width(&device).min(rows.width(&device));
    let rules = Rules::of_segments(kind);
    let plan = plan(&device, rules, rows.columns / width, WINDOW);
    let tiles = Tiles::new(&rows, width, plan);
    let ends = &grouped.ends;
    let windows = ends.entries.div_ceil(WINDOW);
    let (count, turns) = teams(&device, windows * tiles.count, plan);
    let of_rows = ends.segments * rows.columns;
    let kept = |handle: Option<&Handle>| handle.map(|handle| buffer(handle, of_rows.max(1)));
    // SAFETY: windows are cut at the last entry, segments found are below their number, vectors of a row are masked.
    unsafe {
        spread_kernel::launch_unchecked(
            client,
            count,
            CubeDim::new_1d(plan.units),
            address(&[values.len(), rows.len(), elements]),
            width,
            rows.arg(),
            (kind == Kind::Product).then(|| values.arg()).into(),
            kept(products.as_ref()).into(),
            kept(args.as_ref()).into(),
            order_arg(&grouped).into(),
            ends.offsets_arg().into(),
            buffer(&output, elements),
            tiles.arg(),
            values.step / width,
            ends.length,
            ends.segments,
            ends.entries,
            WINDOW,
            windows,
            turns,
            plan,
            [values.element, sum_type(values.element), ends.offset_type()],
        );
    }
    Ok(result)
}

/// Each segment's product of what is not 0, in the type that elements are combined in, and how many zeros it has.
fn products(device: &Device, values: &Rows, grouped: &Grouped) -> (Handle, Handle) {
    let client = device.client();
    let sum = sum_type(values.element);
    let wide = match sum == values.element {
        true => values.clone(),
        // Rounded to 16 bits they would not give the other elements' product back.
        false => {
            let elements = values.len();
            let wide = room(client, elements, sum.size());
            convert(device, &values.handle, values.element, &wide, sum, elements);
            Rows {
                handle: wide,
                element: sum,
                ..values.clone()
            }
        }
    };
    let rules = Rules {
        keeps_args: true,
        ..Rules::of_segments(Kind::Nonzero)
    };
    let reduced = run(device, &wide, grouped, rules);
    (reduced.values, reduced.args.expect("zeros are counted"))
}
