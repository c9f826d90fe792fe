//! Search in sorted rows.
// CubeCL's macro writes undocumented twins of the kernel.
#![allow(missing_docs)]

use crate::check;
use crate::sort::plan::word;
use crate::sort::{Order, Rows, encode, places_of};
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Error, Result};

/// Which of the places that keep a row sorted a value goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Side {
    /// The first: before the elements that are equal.
    #[default]
    Left,
    /// The last: behind the elements that are equal.
    Right,
}

/// `out[row, n]` is the place of `values[row, n]` in row `row` of `sorted`, or in its only row. One unit a value.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn search_kernel<K: Int, W: Int, I: Int>(
    sorted: &[K],
    values: &[K],
    out: &mut [I],
    len: usize,
    values_of_row: usize,
    count: usize,
    #[comptime] has_rows: bool,
    #[comptime] side: Side,
    #[comptime] order: Option<Order>,
    #[define(K, W, I)] _types: [ElemType; 3],
) {
    if ABSOLUTE_POS < count {
        let value = encode::<W>(W::cast_from(values[ABSOLUTE_POS]), order);
        let mut begin = 0usize;
        if comptime!(has_rows) {
            begin = ABSOLUTE_POS / values_of_row * len;
        }
        let mut low = 0usize;
        let mut high = len;
        while low < high {
            let middle = low + (high - low) / 2;
            let found = encode::<W>(W::cast_from(sorted[begin + middle]), order);
            let mut is_before = found < value;
            if comptime!(side == Side::Right) {
                is_before = found <= value;
            }
            if is_before {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        out[ABSOLUTE_POS] = I::cast_from(low);
    }
}

/// Where values would go in sorted rows: the number of elements of the row that are before the value, and with
/// [`Side::Right`] of those that are equal too.
///
/// The last axis of `sorted` is in ascending order, the order of [`sort`](crate::sort()): floats are compared in it too, so that
/// -0 is before +0 and NaN behind all numbers. `values` has the same type, and any shape if `sorted` has rank 1; else all axes
/// but the last are those of `sorted`. The result has the shape of `values` and elements of type `index`: i32, u32, i64 or u64.
/// Of a row that is not sorted, some place in it.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, Side, search_sorted};
///
/// fn places(client: &Client) -> Result<()> {
///     let tensor = |values: &[f32]| {
///         let handle = client.create_from_slice(f32::as_bytes(values));
///         TensorHandle::new_contiguous(vec![values.len()], handle, f32::elem_type_native())
///     };
///     let (sorted, values) = (tensor(&[1.0, 3.0, 3.0, 5.0]), tensor(&[3.0, 0.0, 9.0]));
///     let places = search_sorted(client, &sorted, &values, Side::Left, u32::elem_type_native())?;
///     assert_eq!(u32::from_bytes(&client.read_one(places.handle)?), [1, 0, 4]);
///     let places = search_sorted(client, &sorted, &values, Side::Right, u32::elem_type_native())?;
///     assert_eq!(u32::from_bytes(&client.read_one(places.handle)?), [3, 0, 4]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # places(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Rank`], [`Error::Shape`], [`Error::Element`], [`Error::Strides`]; [`Error::Size`] of rows with more places than `index`
/// counts; [`Error::Device`] where the device does not store a type.
pub fn search_sorted(
    client: &Client,
    sorted: &TensorHandle,
    values: &TensorHandle,
    side: Side,
    index: ElemType,
) -> Result<TensorHandle> {
    const CALL: &str = "search_sorted";
    let device = Device::of(client);
    let (rows_shape, _) = check::dims(sorted);
    let (shape, _) = check::dims(values);
    let Some((&len, outer)) = rows_shape.split_last() else {
        return Err(Error::Rank {
            call: CALL,
            argument: "sorted",
            given: 0,
            allowed: "1 or more".into(),
        });
    };
    check::same_type(CALL, "values", values.dtype, sorted.dtype)?;
    let has_rows = !outer.is_empty();
    if has_rows && shape.split_last().map(|(_, outer)| outer) != Some(outer) {
        let mut allowed = outer.to_vec();
        allowed.push(shape.last().copied().unwrap_or(1));
        return Err(Error::Shape {
            call: CALL,
            argument: "values",
            given: shape,
            allowed,
        });
    }
    let Some(order) = Order::of(sorted.dtype, false) else {
        return Err(Error::Element {
            call: CALL,
            argument: "sorted",
            given: sorted.dtype,
            allowed: "an integer type, f16, bf16, f32 or f64".into(),
        });
    };
    places_of(CALL, "the places of a row", len, index)?;
    let wide = word(sorted.dtype.size().max(4));
    for element in [sorted.dtype, word(sorted.dtype.size()), wide, index] {
        check::element(CALL, &device, element)?;
    }
    check::within(CALL, client, "sorted", sorted)?;
    check::within(CALL, client, "values", values)?;
    let count: usize = shape.iter().product();
    let out = check::output(CALL, client, shape.clone(), index)?;
    if count == 0 {
        return Ok(out);
    }
    let dense = |tensor: &TensorHandle| {
        let axis = tensor.shape().len().saturating_sub(1);
        Rows::new(tensor, axis).gather(&device, tensor)
    };
    let values_of_row = shape.last().copied().unwrap_or(1);
    let values = match shape.is_empty() {
        true => values.handle.clone(),
        false => dense(values),
    };
    // An empty row has no buffer to bind: it is never read, so that any will do.
    let sorted_rows = if len == 0 {
        values.clone()
    } else {
        dense(sorted)
    };
    let rows_len: usize = rows_shape.iter().product::<usize>().max(1);
    let units = 1
        << client
            .properties()
            .hardware
            .max_units_per_cube
            .clamp(1, 256)
            .ilog2();
    let cubes = count.div_ceil(units as usize);
    let (max_x, _, _) = client.properties().hardware.max_cube_count;
    let layers = cubes.div_ceil(max_x as usize);
    // SAFETY: values are masked by their number; places are within a row.
    unsafe {
        search_kernel::launch_unchecked(
            client,
            CubeCount::new_2d(cubes.div_ceil(layers) as u32, layers as u32),
            CubeDim::new_1d(units),
            AddressType::from_len(rows_len.max(count)),
            BufferArg::from_raw_parts(sorted_rows, rows_len),
            BufferArg::from_raw_parts(values, count),
            BufferArg::from_raw_parts(out.handle.clone(), count),
            len,
            values_of_row,
            count,
            has_rows,
            side,
            order.unless_identity(),
            [word(sorted.dtype.size()), wide, index],
        );
    }
    Ok(out)
}
