//! Gather of rows that lie in pages: where each row of each sequence lies, then the gather.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]

use crate::along::packets_of_unit;
use crate::check;
use crate::gather::gather_into;
use crate::plan::{self, cube_units};
use cubecl::client::Client;
use cubecl::ir::{ElemType, IntKind};
use cubecl::prelude::*;
use cubecl::std::tensor::{TensorHandle, into_contiguous};
use girih::device::Device;
use girih::prelude::*;
use girih::view::{Report, resolve};
use girih::{Checked, Error, Result};

const CALL: &str = "paged_gather";

/// For each row of the result the row of the pages that it is, or -1 where there is none.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn page_rows_kernel<T: Int, F: Int, R: Int>(
    table: &[T],
    offsets: &[F],
    rows: &mut [R],
    record: ComptimeOption<Box<[Atomic<u32>]>>,
    count: usize,
    sequences: usize,
    entries: usize,
    pages: usize,
    page: usize,
    page_step: usize,
    row_step: usize,
    #[comptime] steps: usize,
    #[comptime] bounds: Bounds,
    #[define(T, F, R)] _types: [ElemType; 3],
) {
    let units = CUBE_DIM as usize;
    let mut row = CUBE_POS * units * steps + UNIT_POS as usize;
    for _ in 0..steps {
        if row < count {
            // The last sequence that begins at this row or before.
            let mut low = 0usize;
            let mut high = sequences + 1;
            while low < high {
                let middle = low + (high - low) / 2;
                if begins_by::<F>(offsets[middle], row) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            let mut found = R::from_int(-1);
            if low > 0 && low <= sequences {
                let first = offsets[low - 1];
                // Offsets below 0 are no rows of the result.
                let position = row - select(first < F::from_int(0), row, usize::cast_from(first));
                let entry = position / page;
                if entry < entries && first >= F::from_int(0) {
                    let at = (low - 1) * entries + entry;
                    let (place, is_in) = resolve::<T>(table[at], pages, bounds);
                    if is_in {
                        found = R::cast_from(place * page_step + position % page * row_step);
                    }
                    #[comptime]
                    match &record {
                        ComptimeOption::Some(record) => {
                            if !is_in {
                                record[0]
                                    .at::<girih::memory::Device>()
                                    .fetch_min::<Relaxed>(at as u32);
                            }
                        }
                        ComptimeOption::None => {}
                    };
                }
            }
            rows[row] = found;
        }
        row += units;
    }
}

/// Whether a sequence with this offset begins at the row or before.
#[cube]
fn begins_by<F: Int>(offset: F, row: usize) -> bool {
    let elem = elem_type_of::<F>();
    let mut is_before = offset < F::from_int(0);
    if !is_before {
        if comptime!(elem.size() == 8) {
            is_before = offset <= F::cast_from(row);
        } else {
            is_before = usize::cast_from(offset) <= row;
        }
    }
    is_before
}

/// Gathers the rows of sequences that lie in pages, as those of a paged cache of keys and values do: position `p` of
/// sequence `s` is row `p % page` of the page `table[s, p / page]`.
///
/// `pages` is `[pages, page, ..]` with any strides, a page of `page` rows; `table` `[sequences, entries]` has each
/// sequence's pages in their order; `offsets`, of `sequences + 1` ascending numbers from 0, says where in the result each
/// sequence begins and the last one ends. The result is `[rows, ..]`, contiguous: row `offsets[s] + p` is position `p` of
/// sequence `s`, and rows past the last offset are 0, so that `rows` may be a bound of the rows that there are. Entries that
/// no position needs are not looked at.
///
/// `bounds` says what a page number out of range does; the position of one that is reported is its row-major position in
/// `table`. A position past all of its sequence's entries gives a row of 0 under every policy.
///
/// | backend | how |
/// |---|---|
/// | all | one short launch that finds the row of each position, and then [`gather`](crate::gather) |
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Bounds, Result, paged_gather};
///
/// /// Sequences of 3 rows and of 1, in pages of 2.
/// fn rows(client: &Client) -> Result<()> {
///     let ints = |values: &[i32], shape: Vec<usize>| {
///         let handle = client.create_from_slice(i32::as_bytes(values));
///         TensorHandle::new_contiguous(shape, handle, i32::elem_type_native())
///     };
///     let pages = client.create_from_slice(f32::as_bytes(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]));
///     let pages = TensorHandle::new_contiguous(vec![3, 2, 1], pages, f32::elem_type_native());
///     let table = ints(&[2, 0, 1, -1], vec![2, 2]);
///     let offsets = ints(&[0, 3, 4], vec![3]);
///     let rows = paged_gather(client, &pages, &table, &offsets, 5, Bounds::Mask)?.into_inner();
///     assert_eq!(f32::from_bytes(&client.read_one(rows.handle)?), [4.0, 5.0, 0.0, 2.0, 0.0]);
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # rows(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
///
/// # Errors
///
/// [`Error::Rank`] and [`Error::Shape`] of the tensors, [`Error::Element`], [`Error::Strides`]; [`Error::Size`] of pages of no rows;
/// [`Error::Device`] where the device does not store a type, or cannot report.
pub fn paged_gather(
    client: &Client,
    pages: &TensorHandle,
    table: &TensorHandle,
    offsets: &TensorHandle,
    rows: usize,
    bounds: Bounds,
) -> Result<Checked<TensorHandle>> {
    let device = Device::of(client);
    let flat = FlatPages::new(&device, pages)?;
    let lists = Lists::new(&device, table, offsets)?;
    let mut shape = check::dims(pages).0.split_off(1);
    shape[0] = rows;
    let output = check::output(CALL, client, shape, pages.dtype)?;
    let report = lists.report(&device, flat.counts[0], bounds)?;
    if rows > 0 {
        let list = lists.rows(&device, &flat, rows, bounds, report.as_ref())?;
        // Rows that are nowhere have index -1.
        drop(gather_into(
            client,
            &flat.tensor,
            &list,
            &output,
            0,
            Bounds::Mask,
        )?);
    }
    Ok(Checked::new(output, report))
}

/// Which row of the pages, counted through all of them, each row of [`paged_gather`]'s result is, or -1 where it is none:
/// an index for the gradients of pages that are contiguous, `i32` where that suffices and else `i64`.
///
/// There are `counts[0]` pages of `counts[1]` rows; the other arguments are those of [`paged_gather`].
///
/// # Errors
///
/// As [`paged_gather`].
pub fn page_rows(
    client: &Client,
    counts: [usize; 2],
    table: &TensorHandle,
    offsets: &TensorHandle,
    rows: usize,
    bounds: Bounds,
) -> Result<Checked<TensorHandle>> {
    let device = Device::of(client);
    let lists = Lists::new(&device, table, offsets)?;
    page_of(counts[1])?;
    check::elements(CALL, "the rows of all pages", &counts)?;
    let report = lists.report(&device, counts[0], bounds)?;
    let steps = Steps {
        counts,
        page: counts[1],
        row: 1,
    };
    let list = lists.launch(&device, &steps, rows, bounds, report.as_ref())?;
    Ok(Checked::new(list, report))
}

/// The type of [`page_rows`]'s result for pages of so many rows in all.
pub fn page_rows_type(rows: usize) -> ElemType {
    ElemType::Int(match i32::try_from(rows) {
        Ok(_) => IntKind::I32,
        Err(_) => IntKind::I64,
    })
}

/// A page has a row.
fn page_of(rows: usize) -> Result<()> {
    match rows {
        0 => Err(Error::Size {
            call: CALL,
            argument: "rows of a page",
            given: 0,
            allowed: u64::from(u32::MAX),
        }),
        _ => Ok(()),
    }
}

/// How pages and their rows are counted.
pub(crate) struct Steps {
    /// Pages, and rows of each.
    counts: [usize; 2],
    /// From one page to the next, and from one row of a page to the next.
    page: usize,
    row: usize,
}

/// Pages as one axis of rows, those between two rows of a page included.
pub(crate) struct FlatPages {
    pub tensor: TensorHandle,
    counts: [usize; 2],
    steps: Steps,
}

impl FlatPages {
    pub(crate) fn new(device: &Device, pages: &TensorHandle) -> Result<Self> {
        let (shape, strides) = check::dims(pages);
        if shape.len() < 2 {
            return Err(Error::Rank {
                call: CALL,
                argument: "pages",
                given: shape.len(),
                allowed: "2 or more".into(),
            });
        }
        check::element(CALL, device, pages.dtype)?;
        check::within(CALL, device.client(), "pages", pages)?;
        page_of(shape[1])?;
        // A step of an axis of one element is not taken.
        let step = |axis: usize| match shape[axis] {
            0 | 1 => 0,
            _ => strides[axis],
        };
        let unit = common(step(0), step(1)).max(1);
        let [page, row] = [0, 1].map(|axis| step(axis) / unit);
        let last = shape[0].saturating_sub(1) * page + (shape[1] - 1) * row;
        let rows = if shape[0] == 0 { 0 } else { last + 1 };
        let extents = [&[rows], &shape[2..]].concat();
        let steps = [&[unit], &strides[2..]].concat();
        let counts = [shape[0], shape[1]];
        Ok(Self {
            tensor: TensorHandle::new(pages.handle.clone(), extents, steps, pages.dtype),
            counts,
            steps: Steps { counts, page, row },
        })
    }
}

/// The greatest common divisor.
fn common(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common(b, a % b) }
}

/// The table of pages and the offsets of sequences, side by side in memory.
pub(crate) struct Lists {
    table: TensorHandle,
    offsets: TensorHandle,
}

impl Lists {
    pub(crate) fn new(
        device: &Device,
        table: &TensorHandle,
        offsets: &TensorHandle,
    ) -> Result<Self> {
        for (argument, tensor, rank) in [("table", table, 2), ("offsets", offsets, 1)] {
            let given = tensor.shape().len();
            if given != rank {
                return Err(Error::Rank {
                    call: CALL,
                    argument,
                    given,
                    allowed: rank.to_string(),
                });
            }
            check::index_type(CALL, device, argument, tensor.dtype)?;
            check::within(CALL, device.client(), argument, tensor)?;
        }
        check::shape(CALL, "offsets", offsets, &[table.shape()[0] + 1])?;
        let dense = |tensor: &TensorHandle| match check::is_row_major(tensor) {
            true => tensor.clone(),
            false => into_contiguous(device.client(), tensor.clone().binding(), tensor.dtype),
        };
        let is_empty = table.shape().contains(&0);
        Ok(Self {
            // An empty table may have no buffer to bind: it is never read, so that any will do.
            table: if is_empty {
                crate::gather::over(table, offsets)
            } else {
                dense(table)
            },
            offsets: dense(offsets),
        })
    }

    fn report(&self, device: &Device, pages: usize, bounds: Bounds) -> Result<Option<Report>> {
        let count: usize = self.table.shape().iter().product();
        let handle = self.table.handle.clone();
        let list = TensorHandle::new_contiguous([count], handle, self.table.dtype);
        match bounds {
            // Of no pages at all, only an entry that a position needs is out of range: the kernel tells.
            Bounds::Report => Ok(Some(Report::new(CALL, device, &list, 0, pages)?)),
            _ => Ok(None),
        }
    }

    pub(crate) fn rows(
        &self,
        device: &Device,
        pages: &FlatPages,
        rows: usize,
        bounds: Bounds,
        report: Option<&Report>,
    ) -> Result<TensorHandle> {
        self.launch(device, &pages.steps, rows, bounds, report)
    }

    fn launch(
        &self,
        device: &Device,
        steps: &Steps,
        rows: usize,
        bounds: Bounds,
        report: Option<&Report>,
    ) -> Result<TensorHandle> {
        let client = device.client();
        let [pages, page] = steps.counts;
        let reach = pages * steps.page + page * steps.row;
        let list = page_rows_type(reach.max(pages * page));
        check::element(CALL, device, list)?;
        let out = check::output(CALL, client, vec![rows], list)?;
        if rows == 0 {
            return Ok(out);
        }
        let (units, each) = (cube_units(device), packets_of_unit(device));
        let [sequences, entries] = [0, 1].map(|axis| self.table.shape()[axis]);
        let tensors = [&self.table, &self.offsets, &out];
        let address = tensors
            .map(plan::address)
            .into_iter()
            .max()
            .unwrap_or_default();
        // A row's number may be larger than any of these tensors is.
        let address = address.max(AddressType::from_len(reach));
        let buffer = |tensor: &TensorHandle| {
            let elements = tensor.handle.size_in_used() as usize / tensor.dtype.size();
            // SAFETY: the buffer has so many.
            unsafe { BufferArg::from_raw_parts(tensor.handle.clone(), elements) }
        };
        // SAFETY: rows stay below their count, which is the list's length, offsets below theirs, and entries in the table.
        unsafe {
            page_rows_kernel::launch_unchecked(
                client,
                plan::cubes(device, rows.div_ceil(units as usize * each)),
                CubeDim::new_1d(units),
                address,
                buffer(&self.table),
                buffer(&self.offsets),
                buffer(&out),
                report.map(Report::arg).into(),
                rows,
                sequences,
                entries,
                pages,
                page,
                steps.page,
                steps.row,
                each,
                bounds,
                [self.table.dtype, self.offsets.dtype, list],
            );
        }
        Ok(out)
    }
}
