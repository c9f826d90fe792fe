//! How segments are shared out, and their kernels launched.

use super::Rules;
use super::kernels::{ColumnsLaunch, Plan, finish_kernel, reduce_kernel, windows_kernel};
use crate::check;
use crate::fold::fold;
use crate::scan::cubes;
use cubecl::client::Client;
use cubecl::ir::{ElemType, IntKind, UIntKind};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::{TensorHandle, into_contiguous};
use girih::device::{Device, Target};
use girih::view::Report;

/// Rows of elements that lie next to each other.
#[derive(Clone)]
pub(crate) struct Rows {
    pub handle: Handle,
    pub element: ElemType,
    /// How many there are.
    pub count: usize,
    pub columns: usize,
    /// Elements from one row to the next.
    pub step: usize,
}

impl Rows {
    /// The rows of a tensor along its first axis, its other axes taken as one; copied where its strides are not those of rows.
    pub(crate) fn new(client: &Client, tensor: &TensorHandle) -> Self {
        let (shape, strides) = check::dims(tensor);
        let columns: usize = shape[1..].iter().product();
        let folded = fold(&shape[1..], [&strides[1..]]);
        let is_row = match folded.as_slice() {
            [] => true,
            [axis] => axis.strides == [1],
            _ => false,
        };
        let is_empty = shape.contains(&0);
        let (handle, step) = match is_row && strides[0] >= columns && !is_empty {
            true => (tensor.handle.clone(), strides[0]),
            // What is empty is never read: any memory of a row will do.
            false if is_empty => (room(client, columns.max(1), tensor.dtype.size()), columns),
            false => {
                let whole = into_contiguous(client, tensor.clone().binding(), tensor.dtype);
                (whole.handle, columns)
            }
        };
        Self {
            handle,
            element: tensor.dtype,
            count: shape[0],
            columns,
            step,
        }
    }

    /// The elements that the rows take up.
    pub(crate) fn len(&self) -> usize {
        self.count.max(1).saturating_sub(1) * self.step + self.columns
    }

    /// The widest vectors that begin every row, and the device moves at once.
    pub(crate) fn width(&self, device: &Device) -> usize {
        let size = self.element.size();
        let start = self.handle.offset_start.unwrap_or(0);
        let fits = |width: &usize| {
            self.columns.is_multiple_of(*width)
                && self.step.is_multiple_of(*width)
                && start.is_multiple_of((*width * size) as u64)
        };
        device
            .vector_widths(size)
            .into_iter()
            .find(fits)
            .unwrap_or(1)
    }

    pub(crate) fn arg(&self) -> BufferArg {
        buffer(&self.handle, self.len())
    }
}

/// Where segments begin and end.
#[derive(Clone)]
pub(crate) struct Ends {
    /// A list of one more offsets than there are segments; without, they all have `length` entries.
    pub offsets: Option<TensorHandle>,
    pub length: usize,
    pub segments: usize,
    /// How many entries there are.
    pub entries: usize,
}

impl Ends {
    pub(crate) fn offsets_arg(&self) -> Option<BufferArg> {
        let offsets = self.offsets.as_ref()?;
        Some(buffer(&offsets.handle, self.segments + 1))
    }

    pub(crate) fn offset_type(&self) -> ElemType {
        let none = ElemType::UInt(UIntKind::U32);
        self.offsets.as_ref().map_or(none, |offsets| offsets.dtype)
    }

    /// The most entries that a team takes by itself: so few that long segments give work to the whole device.
    pub(crate) fn longest(&self) -> usize {
        const TEAMS: usize = 2048;
        self.entries.div_ceil(TEAMS).next_power_of_two().max(64)
    }

    /// Whether a segment may have more entries than that.
    pub(crate) fn has_long(&self) -> bool {
        let most = match self.offsets {
            Some(_) => self.entries,
            None => self.length,
        };
        most > self.longest()
    }
}

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

impl Job<'_> {
    /// Launches the kernels.
    pub(crate) fn launch(&self, device: &Device) -> Reduced {
        let client = device.client();
        let size = self.rows.element.size();
        let width = self.rows.width(device);
        let plan = plan(device, self.rules, self.rows.columns / width);
        let elements = self.ends.segments * self.rows.columns;
        let keeps = |keeps: bool, count: usize| match keeps {
            true => room(client, count, 4),
            // An argument that the kernel does not use.
            false => room(client, width, 4),
        };
        let out = Out {
            values: room(client, elements, size),
            args: keeps(self.rules.keeps_args, elements),
            counts: keeps(self.rules.keeps_counts, self.ends.segments),
        };
        if elements > 0 {
            self.reduce(device, width, plan, &out);
        }
        if elements > 0 && self.ends.has_long() {
            self.reduce_long(device, width, plan, &out);
        }
        Reduced {
            values: out.values,
            args: self.rules.keeps_args.then_some(out.args),
            counts: self.rules.keeps_counts.then_some(out.counts),
        }
    }

    fn reduce(&self, device: &Device, width: usize, plan: Plan, out: &Out) {
        let columns = Columns::new(self.rows, width, plan);
        let (count, turns) = teams(device, self.ends.segments * columns.tiles, plan);
        let elements = self.ends.segments * self.rows.columns;
        let [args, counts] = self.kept(width);
        // SAFETY: entries are below their number, whatever the offsets are; the rows that they name are masked or promised to
        // be there; the vectors of a row are masked, in buffers that were checked to hold the rows.
        unsafe {
            reduce_kernel::launch_unchecked(
                device.client(),
                count,
                CubeDim::new_1d(plan.units),
                self.address(),
                width,
                self.rows.arg(),
                self.list(self.order).into(),
                self.list(self.index).into(),
                self.list(self.weights).into(),
                self.picked_arg().into(),
                self.ends.offsets_arg().into(),
                self.report.map(Report::arg).into(),
                buffer(&out.values, elements),
                buffer(&out.args, args),
                buffer(&out.counts, counts),
                columns.arg(),
                self.rows.count,
                self.padding.unwrap_or(0),
                self.ends.length,
                self.ends.segments,
                self.ends.entries,
                self.ends.longest(),
                turns,
                plan,
                self.types(),
            );
        }
    }

    fn reduce_long(&self, device: &Device, width: usize, plan: Plan, out: &Out) {
        let client = device.client();
        let columns = Columns::new(self.rows, width, plan);
        let longest = self.ends.longest();
        let windows = self.ends.entries.div_ceil(longest);
        let sum = sum_type(self.rows.element);
        let elements = 2 * windows * self.rows.columns;
        let parts = room(client, elements, sum.size());
        let has_args = self.rules.kind.has_args();
        let part_elements = if has_args { elements } else { width };
        let part_args = room(client, part_elements, 4);
        let part_counts = room(client, 2 * windows, 4);
        let cube = CubeDim::new_1d(plan.units);
        let (count, turns) = teams(device, windows * columns.tiles, plan);
        let address = self.address().max(AddressType::from_len(elements));
        // SAFETY: as in `reduce`; each window has two parts.
        unsafe {
            windows_kernel::launch_unchecked(
                client,
                count,
                cube,
                address,
                width,
                self.rows.arg(),
                self.list(self.order).into(),
                self.list(self.index).into(),
                self.list(self.weights).into(),
                self.picked_arg().into(),
                self.ends.offsets_arg().into(),
                self.report.map(Report::arg).into(),
                buffer(&parts, elements),
                buffer(&part_args, part_elements),
                buffer(&part_counts, 2 * windows),
                columns.arg(),
                self.rows.count,
                self.padding.unwrap_or(0),
                self.ends.length,
                self.ends.segments,
                self.ends.entries,
                longest,
                windows,
                turns,
                plan,
                self.types(),
            );
        }
        let (count, turns) = teams(device, self.ends.segments * columns.tiles, plan);
        let [args, counts] = self.kept(width);
        let [element, _, _, _, offset] = self.types();
        // SAFETY: as above.
        unsafe {
            finish_kernel::launch_unchecked(
                client,
                count,
                cube,
                address,
                width,
                buffer(&parts, elements),
                buffer(&part_args, part_elements),
                buffer(&part_counts, 2 * windows),
                self.ends.offsets_arg().into(),
                buffer(&out.values, self.ends.segments * self.rows.columns),
                buffer(&out.args, args),
                buffer(&out.counts, counts),
                columns.arg(),
                self.ends.length,
                self.ends.segments,
                self.ends.entries,
                longest,
                turns,
                plan,
                [element, sum, offset],
            );
        }
    }

    /// Elements of the results beside the values.
    fn kept(&self, width: usize) -> [usize; 2] {
        let segments = self.ends.segments;
        let args = if self.rules.keeps_args {
            segments * self.rows.columns
        } else {
            width
        };
        let counts = if self.rules.keeps_counts {
            segments
        } else {
            width
        };
        [args, counts]
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
    fn address(&self) -> AddressType {
        let elements = self.ends.segments.saturating_add(1) * self.rows.columns;
        let most = self.rows.len().max(elements).max(self.ends.entries);
        // A team of the last cube may have a number past the last.
        AddressType::from_len(most + (1 << 20))
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

struct Out {
    values: Handle,
    args: Handle,
    counts: Handle,
}

/// The columns of rows, in vectors.
pub(crate) struct Columns {
    vectors: usize,
    step: usize,
    pub tiles: usize,
}

impl Columns {
    pub(crate) fn new(rows: &Rows, width: usize, plan: Plan) -> Self {
        let vectors = rows.columns / width;
        Self {
            vectors,
            step: rows.step / width,
            tiles: vectors.div_ceil(plan.team as usize * plan.blocks),
        }
    }

    pub(crate) fn arg(&self) -> ColumnsLaunch {
        ColumnsLaunch::new(self.vectors, self.step, self.tiles)
    }
}

/// Teams as wide as rows are, of a plane at most, and what each unit has in flight.
pub(crate) fn plan(device: &Device, rules: Rules, vectors: usize) -> Plan {
    let hardware = &device.client().properties().hardware;
    let units = 1u32 << hardware.max_units_per_cube.clamp(1, 256).ilog2();
    let wide = vectors.next_power_of_two();
    let (team, blocks, batch) = match device.target() {
        // A unit of a CPU has all lanes of a vector itself.
        Target::Cpu => (1, wide.min(8), 1),
        _ => {
            let team = wide.min(32).min(units as usize);
            let blocks = (wide / team).clamp(1, 2);
            let batch = if blocks == 1 && !rules.kind.has_args() {
                8
            } else {
                4
            };
            (team as u32, blocks, batch)
        }
    };
    Plan {
        rules,
        team,
        units,
        blocks,
        batch,
        cut: vectors > team as usize * blocks,
    }
}

/// Cubes for so many shares, and how many turns each team has.
pub(crate) fn teams(device: &Device, shares: usize, plan: Plan) -> (CubeCount, usize) {
    let of_cube = (plan.units / plan.team) as usize;
    let all = shares.div_ceil(of_cube);
    match device.target() {
        // A cube of a CPU costs more than a segment.
        Target::Cpu => {
            let turns = all.div_ceil(16);
            (cubes(device, all.div_ceil(turns)), turns)
        }
        _ => (cubes(device, all), 1),
    }
}

/// The widths in which the device adds elements of the type atomically, widest first.
pub(crate) fn adds_of(device: &Device, element: ElemType) -> Vec<usize> {
    let mut widths = vec![8, 4, 2, 1];
    widths.retain(|&width| device.adds_atomically(element, width));
    widths
}

/// The type that elements are combined in.
pub(crate) fn sum_type(element: ElemType) -> ElemType {
    crate::scan::sum_type(element)
}

/// Memory for so many elements; an empty buffer is none on some devices.
pub(crate) fn room(client: &Client, count: usize, size: usize) -> Handle {
    client.empty((count * size).max(size))
}

/// A kernel's slice.
pub(crate) fn buffer(handle: &Handle, len: usize) -> BufferArg {
    // SAFETY: every caller asks for no more elements than were checked to be in the buffer, or were allocated.
    unsafe { BufferArg::from_raw_parts(handle.clone(), len) }
}
