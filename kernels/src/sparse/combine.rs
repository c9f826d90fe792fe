//! The gradient of a gather of rows as the rows that were used.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::check_float;
use crate::check::{self, list};
use crate::compact::{CompactOptions, run_length};
use crate::segment::gradient::each;
use crate::segment::grouping::Ends;
use crate::segment::job::Job;
use crate::segment::named::named;
use crate::segment::rows::{Rows, address, buffer, room};
use crate::segment::{Kind, Rules};
use crate::sort::{SortOptions, sort_with_indices};
use cubecl::client::Client;
use cubecl::ir::{ElemType, IntKind, UIntKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::{Bounds, Error, Result};

const U32: ElemType = ElemType::UInt(UIntKind::U32);
const I32: ElemType = ElemType::Int(IntKind::I32);

/// The distinct rows of a sorted list, and where what belongs to each begins. `rows[k]` is the row of run `k`, -1 where there is
/// none or it is no row; `offsets[k]` where the run begins, where there is none
/// the end of those that are rows.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn runs_kernel<C: Int>(
    values: &[u32],
    begins: &[u32],
    runs: &[C],
    rows: &mut [i32],
    offsets: &mut [u32],
    entries: usize,
    extent: usize,
    #[define(C)] _type: ElemType,
) {
    let mut run = ABSOLUTE_POS;
    let step = CUBE_COUNT * CUBE_DIM as usize;
    let count = usize::cast_from(runs[0]);
    // Entries of no row are behind the others, and the last run.
    let mut end = entries;
    if values[count - 1] as usize >= extent {
        end = begins[count - 1] as usize;
    }
    while run <= entries {
        let mut begin = end;
        if run < count {
            begin = begins[run] as usize;
        }
        offsets[run] = begin as u32;
        if run < entries {
            let known = select(run < count, run, 0usize);
            let value = values[known];
            let is_row = run < count && (value as usize) < extent;
            rows[run] = select(is_row, value as i32, -1i32);
        }
        run += step;
    }
}

/// The rows of a gradient that are not 0, each once.
#[derive(Clone, Debug)]
pub struct SparseRows {
    /// Which row of the table each is of, an `i32`, in ascending order; -1 behind the last, where there is no row.
    pub index: TensorHandle,
    /// The rows, as many as there were indices; 0 where there is none.
    pub rows: TensorHandle,
}

/// The gradient of a gather of rows as the rows that were used, each once: of `gradient[n, ..]` those of one `index[n]` are added
/// up.
///
/// `gradient` is that of the gathered rows, with one for each index; `extent` is the number of rows of the table. An index out of
/// range goes where `bounds` finds it a place; one without, and the padding's, goes nowhere. Nothing is read back: the result has
/// room for a row for each index. Rows are added in the order of their indices, f16 and bf16 in f32, so that the result is the same
/// in every run.
///
/// Temporary memory: for each index 8 bytes, what the [sort](crate::sort_with_indices) of as many 32-bit keys and the
/// [runs](crate::run_length) of as many take, and what [`segment_reduce`](crate::segment_reduce()) takes for long segments.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Bounds, Result, combine_rows};
///
/// fn used(client: &Client) -> Result<()> {
///     let gradient = client.create_from_slice(f32::as_bytes(&[1.0, 2.0, 10.0, 20.0, 5.0, 5.0]));
///     let gradient = TensorHandle::new_contiguous(vec![3, 2], gradient, f32::elem_type_native());
///     let index = client.create_from_slice(i32::as_bytes(&[7, 3, 7]));
///     let index = TensorHandle::new_contiguous(vec![3], index, i32::elem_type_native());
///     let sparse = combine_rows(client, &gradient, &index, 1000, None, Bounds::Mask)?;
///     assert_eq!(i32::from_bytes(&client.read_one(sparse.index.handle)?), [3, 7, -1]);
///     let rows = client.read_one(sparse.rows.handle)?;
///     assert_eq!(f32::from_bytes(&rows), [10.0, 20.0, 6.0, 7.0, 0.0, 0.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # used(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Rank`], [`Error::Shape`], [`Error::Element`], [`Error::Strides`]; [`Error::Argument`] of a padding that is no row;
/// [`Error::Size`] of more than 2^31 - 1 rows or indices; [`Error::Device`] where the device does not store a type.
pub fn combine_rows(
    client: &Client,
    gradient: &TensorHandle,
    index: &TensorHandle,
    extent: usize,
    padding: Option<usize>,
    bounds: Bounds,
) -> Result<SparseRows> {
    const CALL: &str = "combine_rows";
    let device = Device::of(client);
    check::index(CALL, &device, index)?;
    check_float(CALL, &device, "gradient", gradient.dtype)?;
    check::axis(CALL, "gradient", gradient, 0)?;
    check::within(CALL, client, "gradient", gradient)?;
    let (mut shape, _) = check::dims(gradient);
    let entries = index.shape()[0];
    shape[0] = entries;
    check::shape(CALL, "gradient", gradient, &shape)?;
    if let Some(padding) = padding.filter(|&padding| padding >= extent) {
        return Err(Error::Argument {
            call: CALL,
            argument: "padding",
            given: padding.to_string(),
            allowed: format!("a row of the table, in 0..{extent}"),
        });
    }
    for (argument, given) in [
        ("the number of rows of the table", extent),
        ("index", entries),
    ] {
        if given > i32::MAX as usize {
            return Err(Error::Size {
                call: CALL,
                argument,
                given: given as u64,
                allowed: i32::MAX as u64,
            });
        }
    }
    let [indices, offsets] = [entries, entries + 1].map(|count| room(client, count, 4));
    let tensor =
        |shape: Vec<usize>, handle, dtype| TensorHandle::new_contiguous(shape, handle, dtype);
    let rows = Rows::new(client, gradient);
    if entries == 0 {
        return Ok(SparseRows {
            index: tensor(vec![0], indices, I32),
            rows: tensor(shape, room(client, 0, 4), gradient.dtype),
        });
    }
    let bounds = match bounds {
        Bounds::Report => Bounds::Mask,
        bounds => bounds,
    };
    let named = named(&device, &list(client, index), extent, padding, bounds);
    let (sorted, order) = sort_with_indices(client, &named, 0, U32, &SortOptions::default())?;
    let runs = run_length(client, &sorted, CompactOptions::default().index(U32))?;
    let count = runs.values.count_on_device();
    let (cubes, cube) = each(&device, entries + 1);
    // SAFETY: runs are below the number of entries, and there is one at least.
    unsafe {
        runs_kernel::launch_unchecked(
            client,
            cubes,
            cube,
            address(&[entries]),
            buffer(&runs.values.room().handle, entries),
            buffer(&runs.begins.room().handle, entries),
            buffer(&count.handle, 1),
            buffer(&indices, entries),
            buffer(&offsets, entries + 1),
            entries,
            extent,
            count.dtype,
        );
    }
    let ends = Ends::by(tensor(vec![entries + 1], offsets, U32), entries, entries);
    let index = tensor(vec![entries], indices, I32);
    let job = Job {
        rows: &rows,
        order: Some(&order),
        index: None,
        weights: None,
        picked: None,
        ends: &ends,
        padding: None,
        report: None,
        rules: Rules::of_segments(Kind::Sum),
    };
    let values = job.launch(&device).values;
    Ok(SparseRows {
        index,
        rows: tensor(shape, values, gradient.dtype),
    })
}
