//! The launches of a sort.

use super::passes::{add_up_kernel, count_kernel, scatter_kernel};
use super::plan::{self, Job, Plan, word};
use super::sweep::{clear_kernel, histogram_kernel, sweep_kernel};
use super::tile::DIGITS;
use super::write::{Orders, Payload};
use super::{SortPath, Sorted, cube::cube_kernel};
use crate::check;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::{TensorHandle, into_contiguous, is_contiguous};
use girih::device::Device;

/// What goes with the keys.
#[derive(Clone, Copy)]
pub(crate) enum Carried<'a> {
    Nothing,
    Payload(&'a TensorHandle),
    Places { index: ElemType, keeps_keys: bool },
}

impl Carried<'_> {
    /// The type of what goes with each key.
    pub(crate) fn element(&self) -> Option<ElemType> {
        match self {
            Self::Nothing => None,
            Self::Payload(payload) => Some(payload.dtype),
            Self::Places { index, .. } => Some(*index),
        }
    }

    /// What goes with the keys of a pass.
    fn of_pass(&self, is_first: bool) -> Payload {
        match self {
            Self::Nothing => Payload::None,
            Self::Places { .. } if is_first => Payload::Place,
            _ => Payload::Given,
        }
    }

    fn keeps_keys(&self) -> bool {
        !matches!(
            self,
            Self::Places {
                keeps_keys: false,
                ..
            }
        )
    }
}

/// A tensor as rows along one of its axes.
#[derive(Clone, Debug)]
pub(crate) struct Rows {
    /// How many.
    pub rows: usize,
    /// Their elements.
    pub len: usize,
    shape: Vec<usize>,
    axis: usize,
}

impl Rows {
    /// The rows along an axis that the tensor has.
    pub(crate) fn new(tensor: &TensorHandle, axis: usize) -> Self {
        let (shape, _) = check::dims(tensor);
        let len = shape[axis];
        let others = shape
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != axis)
            .map(|(_, extent)| extent);
        Self {
            rows: others.product(),
            len,
            shape,
            axis,
        }
    }

    /// The same with rows of another length.
    pub(crate) fn with_len(&self, len: usize) -> Self {
        let mut shape = self.shape.clone();
        shape[self.axis] = len;
        Self {
            len,
            shape,
            ..self.clone()
        }
    }

    /// The tensor's elements, row after row.
    pub(crate) fn gather(&self, device: &Device, tensor: &TensorHandle) -> Handle {
        let (mut shape, mut strides) = check::dims(tensor);
        move_last(&mut shape, self.axis);
        move_last(&mut strides, self.axis);
        let rows = TensorHandle::new(
            tensor.handle.clone(),
            shape.clone(),
            strides.clone(),
            tensor.dtype,
        );
        match is_contiguous(&shape, &strides) || shape.contains(&0) {
            true => rows.handle,
            false => into_contiguous(device.client(), rows.binding(), tensor.dtype).handle,
        }
    }

    /// The contiguous tensor with these elements, row after row.
    pub(crate) fn scatter(&self, device: &Device, rows: Handle, element: ElemType) -> TensorHandle {
        let mut shape = self.shape.clone();
        move_last(&mut shape, self.axis);
        let rows = TensorHandle::new_contiguous(shape, rows, element);
        if self.axis + 1 == self.shape.len() || self.shape.contains(&0) {
            return TensorHandle::new_contiguous(self.shape.clone(), rows.handle, element);
        }
        let (_, mut strides) = check::dims(&rows);
        let of_axis = strides.pop().expect("the axis is there");
        strides.insert(self.axis, of_axis);
        let tensor = TensorHandle::new(rows.handle, self.shape.clone(), strides, element);
        into_contiguous(device.client(), tensor.binding(), element)
    }
}

/// Moves an element behind all others.
fn move_last(values: &mut Vec<usize>, at: usize) {
    let value = values.remove(at);
    values.push(value);
}

/// What all launches of a sort share.
struct Launch<'a> {
    device: &'a Device,
    plan: &'a Plan,
    job: &'a Job,
    address: AddressType,
    tiles_of_row: u32,
}

/// A buffer, and how many elements a kernel finds in it.
#[derive(Clone)]
struct Buffer {
    handle: Handle,
    len: usize,
}

impl Buffer {
    fn arg(&self) -> BufferArg {
        // SAFETY: the buffer was made for so many elements, or checked to hold them.
        unsafe { BufferArg::from_raw_parts(self.handle.clone(), self.len) }
    }
}

/// What a pass reads and writes.
struct Pass {
    number: u32,
    keys: [Buffer; 2],
    payload: [Buffer; 2],
    kind: Payload,
    orders: Orders,
}

/// Two buffers that passes write in turn, so that the last one writes the first buffer.
struct Turns {
    input: Buffer,
    output: Buffer,
    between: Option<Buffer>,
    passes: u32,
}

impl Turns {
    fn new(launch: &Launch<'_>, input: Handle, element: ElemType, passes: u32) -> Self {
        let len = launch.job.rows * launch.job.len;
        let client = launch.device.client();
        let buffer = || Buffer {
            handle: client.empty(len * element.size()),
            len,
        };
        Self {
            input: Buffer { handle: input, len },
            output: buffer(),
            between: (passes > 1).then(buffer),
            passes,
        }
    }

    /// What a pass reads, and what it writes.
    fn of(&self, pass: u32) -> [Buffer; 2] {
        let written = |pass: u32| match (&self.between, (self.passes - 1 - pass) % 2) {
            (Some(between), 1) => between.clone(),
            _ => self.output.clone(),
        };
        let read = match pass {
            0 => self.input.clone(),
            _ => written(pass - 1),
        };
        [read, written(pass)]
    }
}

/// Sorts.
pub(crate) fn launch(
    device: &Device,
    plan: &Plan,
    job: &Job,
    rows: &Rows,
    keys: &TensorHandle,
    carried: Carried<'_>,
) -> Sorted {
    let client = device.client();
    if job.rows * job.len == 0 {
        let empty = |element| rows.scatter(device, client.empty(16), element);
        return Sorted {
            keys: carried.keeps_keys().then(|| empty(keys.dtype)),
            payload: job.payload.map(empty),
        };
    }
    let tiles_of_row = job.len.div_ceil(plan.tile.len());
    let counted = job.rows * tiles_of_row * DIGITS;
    let launch = Launch {
        device,
        plan,
        job,
        address: AddressType::from_len(counted.max(job.rows * job.len)),
        tiles_of_row: tiles_of_row as u32,
    };
    let passes = match plan.path {
        SortPath::OneCube => 1,
        // One that finds all digits equal moves keys to where they belong as well.
        _ => plan.passes().max(1),
    };
    let keys_in = rows.gather(device, keys);
    let of_keys = Turns::new(&launch, keys_in, job.key, passes);
    let of_payload = job.payload.map(|element| {
        let given = match carried {
            Carried::Payload(payload) => rows.gather(device, payload),
            // Places are nobody's to read.
            _ => client.empty(16),
        };
        Turns::new(&launch, given, element, passes)
    });
    let unused = [(); 2].map(|()| Buffer {
        handle: client.empty(16),
        len: 1,
    });
    let passes = (0..passes).map(|number| Pass {
        number,
        keys: of_keys.of(number),
        payload: match &of_payload {
            Some(turns) => turns.of(number),
            None => unused.clone(),
        },
        kind: carried.of_pass(number == 0),
        orders: Orders {
            reading: plan.order.at_end(number == 0),
            writing: plan.order.at_end(number + 1 == passes),
            keeps_keys: number + 1 < passes || carried.keeps_keys(),
        },
    });
    match plan.path {
        SortPath::OneCube => passes.for_each(|pass| launch.one_cube(&pass)),
        SortPath::OneSweep => launch.one_sweep(passes),
        SortPath::ThreeKernels => launch.three_kernels(passes),
    }
    let output = |turns: Turns, element| rows.scatter(device, turns.output.handle, element);
    Sorted {
        keys: carried.keeps_keys().then(|| output(of_keys, keys.dtype)),
        payload: of_payload
            .zip(job.payload)
            .map(|(turns, element)| output(turns, element)),
    }
}

impl Launch<'_> {
    fn word_of_key(&self) -> ElemType {
        word(self.job.key.size())
    }

    fn word_of_payload(&self) -> ElemType {
        word(self.job.payload.map_or(4, |payload| payload.size()))
    }

    fn dim(&self) -> CubeDim {
        CubeDim::new_1d(self.plan.tile.units)
    }

    /// At least so many cubes.
    fn cubes(&self, total: usize) -> CubeCount {
        let (max_x, max_y, _) = self.device.client().properties().hardware.max_cube_count;
        let rows = total.div_ceil(max_x as usize);
        let (y, z) = (rows.min(max_y as usize), rows.div_ceil(max_y as usize));
        CubeCount::new_3d(total.div_ceil(y * z) as u32, y as u32, z as u32)
    }

    fn tiles(&self) -> usize {
        self.job.rows * self.tiles_of_row as usize
    }

    fn digit(&self, pass: u32) -> (u32, u32) {
        match self.plan.passes() {
            0 => (0, 0),
            _ => self.plan.digit(pass),
        }
    }

    fn one_cube(&self, pass: &Pass) {
        let [keys_in, keys_out] = &pass.keys;
        let [payload_in, payload_out] = &pass.payload;
        // SAFETY: every access is within a row.
        unsafe {
            cube_kernel::launch_unchecked(
                self.device.client(),
                self.cubes(self.job.rows),
                self.dim(),
                self.address,
                keys_in.arg(),
                keys_out.arg(),
                payload_in.arg(),
                payload_out.arg(),
                self.job.len,
                self.job.rows as u32,
                self.plan.begin,
                self.plan.end,
                self.plan.tile,
                pass.kind,
                pass.orders,
                [self.word_of_key(), self.word_of_payload(), self.plan.wide],
            );
        }
    }

    fn three_kernels(&self, passes: impl Iterator<Item = Pass>) {
        let client = self.device.client();
        let lines = self.job.rows * DIGITS;
        let buffer = |len: usize| Buffer {
            handle: client.empty(len * self.plan.count.size()),
            len,
        };
        let (counts, totals) = (buffer(self.tiles() * DIGITS), buffer(lines));
        for pass in passes {
            let (shift, mask) = self.digit(pass.number);
            let [keys_in, keys_out] = &pass.keys;
            let [payload_in, payload_out] = &pass.payload;
            // SAFETY: tiles are masked by the length of the row; counts have a place for each digit of each tile.
            unsafe {
                count_kernel::launch_unchecked(
                    client,
                    self.cubes(self.tiles()),
                    self.dim(),
                    self.address,
                    keys_in.arg(),
                    counts.arg(),
                    self.job.len,
                    self.tiles_of_row,
                    self.job.rows as u32,
                    shift,
                    mask,
                    self.plan.tile,
                    pass.orders.reading,
                    [self.word_of_key(), self.plan.wide, self.plan.count],
                );
                add_up_kernel::launch_unchecked(
                    client,
                    self.cubes(lines),
                    self.dim(),
                    self.address,
                    counts.arg(),
                    totals.arg(),
                    self.tiles_of_row,
                    lines as u32,
                    self.plan.tile.units,
                    self.plan.count,
                );
                scatter_kernel::launch_unchecked(
                    client,
                    self.cubes(self.tiles()),
                    self.dim(),
                    self.address,
                    keys_in.arg(),
                    keys_out.arg(),
                    payload_in.arg(),
                    payload_out.arg(),
                    counts.arg(),
                    totals.arg(),
                    self.job.len,
                    self.tiles_of_row,
                    self.job.rows as u32,
                    shift,
                    mask,
                    self.plan.tile,
                    pass.kind,
                    pass.orders,
                    self.types(),
                );
            }
        }
    }

    fn types(&self) -> [ElemType; 4] {
        [
            self.word_of_key(),
            self.word_of_payload(),
            self.plan.wide,
            self.plan.count,
        ]
    }

    fn one_sweep(&self, passes: impl Iterator<Item = Pass>) {
        let client = self.device.client();
        let digits = self.plan.passes().max(1);
        let size = self.plan.count.size();
        // Counts, tickets and state in one allocation, which one launch clears.
        let counts = self.job.rows * digits as usize * DIGITS;
        let tickets = aligned(counts * size);
        let state = tickets + aligned(4 * digits as usize);
        let words = self.tiles() * DIGITS;
        let bytes = state + aligned(words * size);
        let scratch = client.empty(bytes);
        let part = |start: usize, len: usize| Buffer {
            handle: scratch.clone().offset_start(start as u64),
            len,
        };
        let vectors = bytes / 16;
        let (counts, tickets) = (part(0, counts), part(tickets, digits as usize));
        let state = part(state, words);
        let units = 256;
        // SAFETY: each unit writes one vector of the allocation.
        unsafe {
            clear_kernel::launch_unchecked(
                client,
                self.cubes(vectors.div_ceil(units)),
                CubeDim::new_1d(units as u32),
                self.address,
                part(0, vectors).arg(),
            );
        }
        for pass in passes {
            if pass.number == 0 {
                self.histogram(&pass, digits, &counts);
            }
            let (shift, mask) = self.digit(pass.number);
            let [keys_in, keys_out] = &pass.keys;
            let [payload_in, payload_out] = &pass.payload;
            // SAFETY: tiles are masked by the length of the row; the scratch has a place for each digit of each tile.
            unsafe {
                sweep_kernel::launch_unchecked(
                    client,
                    CubeCount::new_1d(self.tiles() as u32),
                    self.dim(),
                    self.address,
                    keys_in.arg(),
                    keys_out.arg(),
                    payload_in.arg(),
                    payload_out.arg(),
                    counts.arg(),
                    state.arg(),
                    tickets.arg(),
                    self.job.len,
                    self.tiles_of_row,
                    digits,
                    pass.number,
                    shift,
                    mask,
                    self.plan.tile,
                    pass.kind,
                    pass.orders,
                    8 * size as u32,
                    self.types(),
                );
            }
        }
    }

    /// Counts all digits.
    fn histogram(&self, pass: &Pass, digits: u32, counts: &Buffer) {
        let [keys, _] = &pass.keys;
        let size = self.job.key.size();
        let start = keys.handle.offset_start.unwrap_or(0) as usize;
        let width = self
            .device
            .vector_widths(size)
            .into_iter()
            .find(|width| self.job.len.is_multiple_of(*width) && start.is_multiple_of(width * size))
            .unwrap_or(1);
        let (counting, cubes) = plan::counting(self.device, self.job, digits, width);
        let (begin, _) = self.digit(0);
        let (_, last) = self.digit(digits - 1);
        let vectors = Buffer {
            len: keys.len / width,
            ..keys.clone()
        };
        // SAFETY: rows are whole vectors; counts have a place for each digit of each pass.
        unsafe {
            histogram_kernel::launch_unchecked(
                self.device.client(),
                CubeCount::new_1d(self.job.rows as u32 * cubes),
                CubeDim::new_1d(counting.units),
                self.address,
                width,
                vectors.arg(),
                counts.arg(),
                self.job.len / width,
                cubes,
                begin,
                last,
                counting,
                pass.orders.reading,
                [self.word_of_key(), self.plan.wide, self.plan.count],
            );
        }
    }
}

/// Bytes up to the next place that a buffer may start at.
fn aligned(bytes: usize) -> usize {
    bytes.next_multiple_of(512)
}
