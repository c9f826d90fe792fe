//! How a reduction of segments is launched.

use super::Rules;
use super::finish::{SLOTS, finish_kernel};
use super::grouping::Ends;
use super::plan::{Plan, Tiles, plan, teams};
use super::reduce::reduce_kernel;
use super::rows::{Rows, address, buffer, room, sum_type};
use crate::scan::cubes;
use cubecl::ir::{ElemType, IntKind};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::view::Report;

/// A reduction of segments of rows.
pub(crate) struct Job<'a> {
    pub rows: &'a Rows,
    /// Where each place in the order of segments has its entry.
    pub order: Option<&'a TensorHandle>,
    /// Which row each entry is of.
    pub index: Option<&'a TensorHandle>,
    pub weights: Option<&'a TensorHandle>,
    /// For each element of the rows the entry that it counts for, if it does not for all.
    pub picked: Option<&'a TensorHandle>,
    pub ends: &'a Ends,
    pub padding: Option<usize>,
    pub report: Option<&'a Report>,
    pub rules: Rules,
}

/// What a reduction gives: `segments` rows.
pub(crate) struct Reduced {
    pub values: Handle,
    /// Where each element came from, an `i32`; -1 where a segment has no rows.
    pub args: Option<Handle>,
    /// How many rows each segment has, a `u32`.
    pub counts: Option<Handle>,
}

/// How a reduction's work is cut.
pub(crate) struct Cut {
    pub width: usize,
    pub plan: Plan,
    /// The plan of the cubes that finish long segments.
    pub finish: Plan,
    pub tiles: Tiles,
    /// Parts of windows, two to each.
    pub slots: usize,
    /// Elements of the windows' parts, of the type that rows are combined in, and of what is beside them.
    pub part_elements: [usize; 2],
}

impl Cut {
    pub(crate) fn new(device: &Device, rows: &Rows, ends: &Ends, rules: Rules) -> Self {
        let width = rows.width(device);
        let slots = 2 * ends.windows();
        let plan = Plan {
            splits: slots > 0,
            ..plan(device, rules, rows.columns / width, ends.mean())
        };
        let beside = if rules.kind.has_args() { slots } else { 0 };
        Self {
            width,
            plan,
            finish: Plan {
                units: finishing_units(device, plan, width * sum_type(rows.element).size()),
                ..plan
            },
            tiles: Tiles::new(rows, width, plan),
            slots,
            part_elements: [slots, beside].map(|slots| slots * rows.columns),
        }
    }

    /// Cubes that finish long segments.
    pub(crate) fn finishing(&self) -> usize {
        self.slots.div_ceil(SLOTS) * self.tiles.count
    }

    /// Bytes of what windows have, of elements that are combined in a type.
    pub(crate) fn temporary(&self, sum: ElemType) -> u64 {
        let [parts, args] = self.part_elements;
        (parts * sum.size() + 4 * args + 8 * self.slots) as u64
    }
}

/// Units of a cube whose teams show each other what they have, in vectors of so many bytes, in half of the memory that a cube may share.
fn finishing_units(device: &Device, plan: Plan, vector: usize) -> u32 {
    let room = device.client().properties().hardware.max_shared_memory_size / 2;
    // Beside each element of an extreme there is an integer.
    let of_unit = plan.blocks * vector * if plan.rules.kind.has_args() { 2 } else { 1 };
    let mut units = plan.units;
    while units > plan.team && units as usize * of_unit > room {
        units /= 2;
    }
    units
}

/// What a launch writes.
struct Out {
    values: Handle,
    args: Handle,
    counts: Handle,
    parts: Handle,
    part_args: Handle,
    marks: Handle,
}

impl Job<'_> {
    /// Launches the kernels.
    pub(crate) fn launch(&self, device: &Device) -> Reduced {
        let client = device.client();
        let cut = Cut::new(device, self.rows, self.ends, self.rules);
        let elements = self.elements();
        let sum = sum_type(self.rows.element);
        // Whatever a kernel does not use is one and the same vector.
        let unused = room(client, cut.width, sum.size().max(4));
        let list = |count: usize, size: usize| match count {
            0 => unused.clone(),
            _ => room(client, count, size),
        };
        let Rules {
            keeps_args,
            keeps_counts,
            ..
        } = self.rules;
        let [parts, part_args] = cut.part_elements;
        let out = Out {
            values: room(client, elements, self.rows.element.size()),
            args: list(if keeps_args { elements } else { 0 }, 4),
            counts: list(if keeps_counts { self.ends.segments } else { 0 }, 4),
            parts: list(parts, sum.size()),
            part_args: list(part_args, 4),
            marks: list(2 * cut.slots, 4),
        };
        if elements > 0 {
            self.reduce(device, &cut, &out);
        }
        if elements > 0 && cut.slots > 0 {
            self.finish(device, &cut, &out);
        }
        Reduced {
            values: out.values,
            args: keeps_args.then_some(out.args),
            counts: keeps_counts.then_some(out.counts),
        }
    }

    /// Elements of the result.
    fn elements(&self) -> usize {
        self.ends.segments * self.rows.columns
    }

    fn reduce(&self, device: &Device, cut: &Cut, out: &Out) {
        let shares = (self.ends.segments + cut.slots) * cut.tiles.count;
        let (count, turns) = teams(device, shares, cut.plan);
        let [values, args, counts] = self.results(cut, out);
        let [parts, part_args, marks] = parts(cut, out);
        // SAFETY: entries are below their number, whatever the offsets are; the rows that they name are masked or promised to
        // be there; the vectors of a row are masked, in buffers that were checked to hold the rows; slots are below their number.
        unsafe {
            reduce_kernel::launch_unchecked(
                device.client(),
                count,
                CubeDim::new_1d(cut.plan.units),
                self.address(cut),
                cut.width,
                self.rows.arg(),
                self.list(self.order).into(),
                self.list(self.index).into(),
                self.list(self.weights).into(),
                self.picked_arg().into(),
                self.ends.offsets_arg().into(),
                self.report.map(Report::arg).into(),
                values,
                args,
                counts,
                parts,
                part_args,
                marks,
                cut.tiles.arg(),
                self.rows.count,
                self.padding.unwrap_or(0),
                self.ends.length,
                self.ends.segments,
                self.ends.entries,
                self.ends.longest(),
                cut.slots,
                turns,
                cut.plan,
                self.types(),
            );
        }
    }

    fn finish(&self, device: &Device, cut: &Cut, out: &Out) {
        let [values, args, counts] = self.results(cut, out);
        let [parts, part_args, marks] = parts(cut, out);
        let [element, sum, _, _, offset] = self.types();
        // SAFETY: slots are below their number, and windows, since entries are; the vectors of a row are masked.
        unsafe {
            finish_kernel::launch_unchecked(
                device.client(),
                cubes(device, cut.finishing()),
                CubeDim::new_1d(cut.finish.units),
                self.address(cut),
                cut.width,
                parts,
                part_args,
                marks,
                self.ends.offsets_arg().into(),
                values,
                args,
                counts,
                cut.tiles.arg(),
                self.ends.length,
                self.ends.segments,
                self.ends.entries,
                self.ends.longest(),
                cut.slots,
                cut.finish,
                [element, sum, offset],
            );
        }
    }

    fn results(&self, cut: &Cut, out: &Out) -> [BufferArg; 3] {
        let used = |is_used: bool, count: usize| if is_used { count } else { cut.width };
        let args = used(self.rules.keeps_args, self.elements());
        let counts = used(self.rules.keeps_counts, self.ends.segments);
        [
            buffer(&out.values, self.elements()),
            buffer(&out.args, args),
            buffer(&out.counts, counts),
        ]
    }

    /// A list with an element for each entry; none where there are no entries.
    fn list(&self, list: Option<&TensorHandle>) -> Option<BufferArg> {
        let entries = self.ends.entries;
        let list = list.filter(|_| entries > 0)?;
        Some(buffer(&list.handle, entries))
    }

    fn picked_arg(&self) -> Option<BufferArg> {
        let picked = self.picked?;
        Some(buffer(&picked.handle, self.rows.count * self.rows.columns))
    }

    /// Wide enough for an element anywhere, and for every place.
    fn address(&self, cut: &Cut) -> AddressType {
        let rows = self.ends.segments.saturating_add(1) * self.rows.columns;
        let shares = self.ends.segments + cut.slots;
        let [parts, _] = cut.part_elements;
        address(&[self.rows.len(), rows, self.ends.entries, shares, parts])
    }

    fn types(&self) -> [ElemType; 5] {
        let element = self.rows.element;
        let weight = self.weights.map_or(element, |weights| weights.dtype);
        let none = ElemType::Int(IntKind::I32);
        let index = self.index.map_or(none, |index| index.dtype);
        [
            element,
            sum_type(element),
            weight,
            index,
            self.ends.offset_type(),
        ]
    }
}

fn parts(cut: &Cut, out: &Out) -> [BufferArg; 3] {
    let used = |count: usize| if count > 0 { count } else { cut.width };
    let [parts, args] = cut.part_elements.map(used);
    [
        buffer(&out.parts, parts),
        buffer(&out.part_args, args),
        buffer(&out.marks, used(2 * cut.slots)),
    ]
}
