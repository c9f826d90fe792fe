//! Lookups on CubeCL's tensors: girih's launchers.

use burn::tensor::{DType, Shape};
use burn_cubecl::{CubeBackend, kernel::cast, tensor::CubeTensor};
use cubecl::{
    client::Client,
    ir::{ElemType, FloatKind, IntKind},
};
use girih::{Bounds, view::Report};
use girih_kernels::{add_along_axis, supports_add_along_axis};

use super::LookupBackend;
use crate::cube::{Place, handle, unchecked_call, with_extent};

/// The shape of rows of pages.
pub(crate) fn rows_shape(pages: &Shape, rows: usize) -> Shape {
    let mut shape = pages.to_vec().split_off(1);
    shape[0] = rows;
    Shape::from(shape)
}

/// The type that numbers so many rows.
pub(crate) fn row_dtype(rows: usize) -> DType {
    match girih_kernels::page_rows_type(rows) {
        ElemType::Int(IntKind::I64) => DType::I64,
        _ => DType::I32,
    }
}

impl LookupBackend for CubeBackend {
    fn take_along_float(
        table: CubeTensor,
        index: CubeTensor,
        axis: usize,
        bounds: Bounds,
    ) -> (CubeTensor, CubeTensor) {
        with_record(take(table, index, axis, bounds))
    }

    fn take_along_float_alone(
        table: CubeTensor,
        index: CubeTensor,
        axis: usize,
        bounds: Bounds,
    ) -> CubeTensor {
        take(table, index, axis, bounds).0
    }

    fn sum_along_float(
        updates: CubeTensor,
        index: CubeTensor,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> (CubeTensor, CubeTensor) {
        with_record(sum(updates, index, axis, extent, bounds))
    }

    fn sum_along_float_alone(
        updates: CubeTensor,
        index: CubeTensor,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> CubeTensor {
        sum(updates, index, axis, extent, bounds).0
    }

    fn paged_gather_float(
        pages: CubeTensor,
        table: CubeTensor,
        offsets: CubeTensor,
        rows: usize,
        bounds: Bounds,
    ) -> (CubeTensor, CubeTensor) {
        with_record(paged(pages, table, offsets, rows, bounds))
    }

    fn paged_gather_float_alone(
        pages: CubeTensor,
        table: CubeTensor,
        offsets: CubeTensor,
        rows: usize,
        bounds: Bounds,
    ) -> CubeTensor {
        paged(pages, table, offsets, rows, bounds).0
    }

    fn take_along_int(
        table: CubeTensor,
        index: CubeTensor,
        axis: usize,
        bounds: Bounds,
    ) -> (CubeTensor, CubeTensor) {
        with_record(take(table, index, axis, bounds))
    }

    fn take_along_int_alone(
        table: CubeTensor,
        index: CubeTensor,
        axis: usize,
        bounds: Bounds,
    ) -> CubeTensor {
        take(table, index, axis, bounds).0
    }

    fn sum_along_int(
        updates: CubeTensor,
        index: CubeTensor,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> (CubeTensor, CubeTensor) {
        with_record(sum(updates, index, axis, extent, bounds))
    }

    fn sum_along_int_alone(
        updates: CubeTensor,
        index: CubeTensor,
        axis: usize,
        extent: usize,
        bounds: Bounds,
    ) -> CubeTensor {
        sum(updates, index, axis, extent, bounds).0
    }

    fn paged_gather_int(
        pages: CubeTensor,
        table: CubeTensor,
        offsets: CubeTensor,
        rows: usize,
        bounds: Bounds,
    ) -> (CubeTensor, CubeTensor) {
        with_record(paged(pages, table, offsets, rows, bounds))
    }

    fn paged_gather_int_alone(
        pages: CubeTensor,
        table: CubeTensor,
        offsets: CubeTensor,
        rows: usize,
        bounds: Bounds,
    ) -> CubeTensor {
        paged(pages, table, offsets, rows, bounds).0
    }

    fn page_rows(
        table: CubeTensor,
        offsets: CubeTensor,
        count: usize,
        page: usize,
        rows: usize,
        bounds: Bounds,
    ) -> CubeTensor {
        let out = Place::of(&table).of_type(row_dtype(count * page));
        let (table, offsets) = (handle(table), handle(offsets));
        let counts = [count, page];
        let list = girih_kernels::page_rows(&out.client, counts, &table, &offsets, rows, bounds);
        let list = list.unwrap_or_else(unchecked_call).into_inner();
        out.tensor(list)
    }
}

/// An op's result, and what is to be reported.
type Reported = (CubeTensor, Option<Report>);

/// The report's record as a tensor.
fn with_record((values, report): Reported) -> (CubeTensor, CubeTensor) {
    let record = Place::of(&values).record(report);
    (values, record)
}

fn take(table: CubeTensor, index: CubeTensor, axis: usize, bounds: Bounds) -> Reported {
    let out = Place::of(&table);
    let (table, index) = (handle(table), handle(index));
    let checked = girih_kernels::take_along_axis(&out.client, &table, &index, axis, bounds);
    out.reported(checked)
}

fn paged(
    pages: CubeTensor,
    table: CubeTensor,
    offsets: CubeTensor,
    rows: usize,
    bounds: Bounds,
) -> Reported {
    let out = Place::of(&pages);
    let [pages, table, offsets] = [pages, table, offsets].map(handle);
    let checked = girih_kernels::paged_gather(&out.client, &pages, &table, &offsets, rows, bounds);
    out.reported(checked)
}

fn sum(
    updates: CubeTensor,
    index: CubeTensor,
    axis: usize,
    extent: usize,
    bounds: Bounds,
) -> Reported {
    use burn::backend::cubecl::dtype_to_storage_type;
    let dtype = updates.dtype;
    let narrow = matches!(dtype, DType::F16 | DType::BF16);
    let [element, by] = [dtype, index.dtype].map(dtype_to_storage_type);
    let wide = narrow && matches!(adds(&updates.client, element, by), Ok(Sums::InF32));
    let updates = match wide {
        true => cast(updates, DType::F32),
        false => updates,
    };
    let out = Place::of(&updates);
    let sums = out.zeros(with_extent(updates.meta.shape(), axis, extent));
    let [into, index, updates] = [sums.clone(), index, updates].map(handle);
    let checked = add_along_axis(&out.client, &into, &index, &updates, axis, bounds);
    let ((), report) = checked.unwrap_or_else(unchecked_call).into_parts();
    let sums = match wide {
        true => cast(sums, dtype),
        false => sums,
    };
    (sums, report)
}

/// How elements of a type are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sums {
    /// In memory, one by one.
    InPlace,
    /// In f32, and rounded once at the end: 16-bit floats on a device that cannot add them one by one.
    InF32,
}

/// How a device adds elements of a type along an axis at indices of another.
///
/// # Errors
/// Where it cannot.
pub(crate) fn adds(client: &Client, element: ElemType, index: ElemType) -> girih::Result<Sums> {
    let narrow = matches!(element, ElemType::Float(FloatKind::F16 | FloatKind::BF16));
    match supports_add_along_axis(client, element, index) {
        Ok(()) => Ok(Sums::InPlace),
        Err(_) if narrow => {
            girih_kernels::supports_gather(client, element, index)?;
            supports_add_along_axis(client, ElemType::Float(FloatKind::F32), index)?;
            Ok(Sums::InF32)
        }
        Err(lacks) => Err(lacks),
    }
}
