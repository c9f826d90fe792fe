//! The gradient of a bag's table, what goes to each row added up in the order of its indices.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::super::entries::{Ends as Ranges, Entries, entry_at, weight_of};
use super::super::grouping::{Ends, offsets_of};
use super::super::job::Job;
use super::super::rows::{buffer, room, sum_type};
use super::super::{Kind, Rules};
use super::bags::Backward;
use super::fill::{each, zeros};
use super::order_arg;
use super::walk::at;
use crate::sort::{SortOptions, sort_with_indices};
use cubecl::ir::{ElemType, UIntKind};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::{Error, Result};

const U32: ElemType = ElemType::UInt(UIntKind::U32);

/// For each entry the row that it adds to, `extent` where it adds to none; the segment that has it; and what its part is multiplied
/// by, if by anything.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn places_kernel<A: Numeric, W: Numeric, I: Int, F: Int>(
    index: ComptimeOption<Box<[I]>>,
    order: ComptimeOption<Box<[u32]>>,
    weights: ComptimeOption<Box<[W]>>,
    counts: ComptimeOption<Box<[u32]>>,
    offsets: ComptimeOption<Box<[F]>>,
    rows: &mut [u32],
    segments_of: &mut [u32],
    scales: &mut [A],
    extent: usize,
    padding: usize,
    length: usize,
    segments: usize,
    count: usize,
    #[comptime] rules: Rules,
    #[define(A, W, I, F)] _types: [ElemType; 4],
) {
    let entries = Entries::<I, W> {
        order,
        index,
        weights,
        record: ComptimeOption::new_None(),
        extent,
        padding,
    };
    let ends = Ranges::<F> {
        offsets,
        length,
        segments,
        entries: count,
    };
    let mut place = ABSOLUTE_POS;
    let step = CUBE_COUNT * CUBE_DIM as usize;
    while place < count {
        let now = at::<F>(&ends, place);
        let entry = entry_at::<I, W>(&entries, place, false, rules);
        let takes_part = entry.counts && now.segment < segments;
        rows[entry.number] = select(takes_part, entry.row as u32, extent as u32);
        segments_of[entry.number] = select(takes_part, now.segment as u32, 0u32);
        if comptime!(entries.weights.is_some() || counts.is_some()) {
            let mut scale = weight_of::<I, W, A>(&entries, entry);
            #[comptime]
            match &counts {
                ComptimeOption::Some(counts) => {
                    if takes_part {
                        scale /= A::cast_from(counts[now.segment]);
                    }
                }
                ComptimeOption::None => {}
            }
            scales[entry.number] = scale;
        }
        place += step;
    }
}

impl Backward<'_> {
    /// The gradient of the table, what goes to each row added up in the order of its indices.
    pub(super) fn in_order(&self, call: &'static str) -> Result<Handle> {
        let (client, ends) = (self.device.client(), self.ends());
        if self.extent >= u32::MAX as usize {
            return Err(Error::Size {
                call,
                argument: "the number of rows of the table, where indices are sorted,",
                given: self.extent as u64,
                allowed: u64::from(u32::MAX) - 1,
            });
        }
        if self.is_empty() {
            return Ok(zeros(self.device, self.gradient.element, self.elements()));
        }
        let sum = sum_type(self.gradient.element);
        let made = |dtype: ElemType| {
            let handle = room(client, ends.entries, dtype.size());
            TensorHandle::new_contiguous(vec![ends.entries], handle, dtype)
        };
        let (rows, segments) = (made(U32), made(U32));
        // Without weights or counts every part counts once, and the kernel does not use the list.
        let is_scaled = self.bag.weights.is_some() || self.counts.is_some();
        let scales = match is_scaled {
            true => made(sum),
            false => TensorHandle::new_contiguous(vec![1], room(client, 1, sum.size()), sum),
        };
        self.places([&rows, &segments, &scales], sum);
        let options = SortOptions::default();
        let (rows, order) = sort_with_indices(client, &rows, 0, U32, &options)?;
        let offsets = offsets_of(self.device, &rows, self.extent);
        let by_row = Ends::by(offsets, self.extent, ends.entries);
        let job = Job {
            rows: &self.gradient,
            order: Some(&order),
            index: Some(&segments),
            weights: is_scaled.then_some(&scales),
            picked: self.args,
            ends: &by_row,
            padding: None,
            report: None,
            rules: Rules::of_segments(Kind::Sum),
        };
        Ok(job.launch(self.device).values)
    }

    fn places(&self, [rows, segments, scales]: [&TensorHandle; 3], sum: ElemType) {
        let ends = self.ends();
        let (count, cube) = each(self.device, ends.entries);
        let types = [
            sum,
            self.weight_type(),
            self.index_type(),
            ends.offset_type(),
        ];
        // SAFETY: places are below the number of entries.
        unsafe {
            places_kernel::launch_unchecked(
                self.device.client(),
                count,
                cube,
                self.address(),
                self.entries_arg(Some(&self.bag.index)).into(),
                order_arg(&self.bag.grouped).into(),
                self.entries_arg(self.bag.weights.as_ref()).into(),
                self.counts_arg().into(),
                ends.offsets_arg().into(),
                buffer(&rows.handle, ends.entries),
                buffer(&segments.handle, ends.entries),
                buffer(&scales.handle, scales.shape()[0]),
                self.extent,
                self.padding,
                ends.length,
                ends.segments,
                ends.entries,
                self.rules,
                types,
            );
        }
    }
}
