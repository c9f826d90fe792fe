//! The launches of a sort.

use super::at_once::{BARRIER, sort_kernel};
use super::carry::Moved;
use super::digits::{CELLS, Counting, histogram_kernel};
use super::passes::{add_up_kernel, count_kernel, scatter_kernel};
use super::plan::{self, Job, Plan, word};
use super::rows::Rows;
use super::sweep::sweep_kernel;
use super::tile::DIGITS;
use super::turns::{Buffer, Carried, Turns, cubes};
use super::write::{Orders, Payload};
use super::{SortPath, Sorted, cube::cube_kernel};
use crate::bins;
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::memory::blocks::GridBarrier;

/// What all launches of a sort share.
struct Launch<'a> {
    device: &'a Device,
    plan: &'a Plan,
    job: &'a Job,
    address: AddressType,
    tiles_of_row: u32,
}

/// What a pass reads and writes.
struct Pass {
    number: u32,
    keys: [Buffer; 2],
    payload: [Buffer; 2],
    kind: Payload,
    orders: Orders,
}

/// What sweeps read and write.
#[derive(Clone, Copy)]
struct Carries<'a> {
    keys: &'a Turns,
    payload: Option<&'a Turns>,
    moved: Moved,
    /// Whether the sorted keys are nobody's to read.
    drops_keys: bool,
}

impl Carries<'_> {
    /// Keys, then what goes with them: what is read first, between, and what is written last.
    fn all(&self, client: &Client) -> [[Buffer; 3]; 2] {
        let unused = Buffer::unused(client);
        let payload = match self.payload {
            Some(payload) => payload.all(&unused),
            None => [unused.clone(), unused.clone(), unused.clone()],
        };
        [self.keys.all(&unused), payload]
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
    let len = job.rows * job.len;
    let of_keys = Turns::new(client, keys_in, len, job.key, passes);
    let of_payload = job.payload.map(|element| {
        let given = match carried {
            Carried::Payload(payload) => rows.gather(device, payload),
            // Places are nobody's to read.
            _ => client.empty(16),
        };
        Turns::new(client, given, len, element, passes)
    });
    let unused = Buffer::unused(client);
    let unused = [unused.clone(), unused];
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
    let carries = Carries {
        keys: &of_keys,
        payload: of_payload.as_ref(),
        moved: carried.moved(),
        drops_keys: !carried.keeps_keys(),
    };
    match plan.path {
        SortPath::OneCube => passes.for_each(|pass| launch.one_cube(&pass)),
        SortPath::OneSweep => launch.one_sweep(carries),
        SortPath::AtOnce => launch.at_once(carries),
        SortPath::ThreeKernels => launch.three_kernels(passes),
    }
    let output = |turns: Turns, element| rows.scatter(device, turns.into_output(), element);
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
        cubes(self.device, total)
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

    /// Words that say what tiles have of each digit.
    fn state(&self) -> Buffer {
        let len = self.tiles() * DIGITS;
        Buffer {
            handle: self.device.client().empty(len * self.plan.count.size()),
            len,
        }
    }

    fn one_sweep(&self, carries: Carries<'_>) {
        let client = self.device.client();
        let digits = self.plan.passes().max(1);
        let size = self.plan.count.size();
        let counts = self.job.rows * (digits as usize * DIGITS + CELLS);
        let counts = Buffer {
            handle: bins::zeros(self.device, counts * size / 4),
            len: counts,
        };
        let state = self.state();
        self.histogram(&carries.keys.input, digits, &counts, &state);
        let [keys, payload] = carries.all(client);
        let [keys_in, keys_between, keys_out] = keys;
        let [payload_in, payload_between, payload_out] = payload;
        for pass in 0..digits {
            let (shift, mask) = self.digit(pass);
            // SAFETY: tiles are masked by the length of the row; counts and state have a place for each digit of each tile.
            unsafe {
                sweep_kernel::launch_unchecked(
                    client,
                    CubeCount::new_1d(self.tiles() as u32),
                    self.dim(),
                    // Of a 64-bit index, what is constant goes into the instruction.
                    AddressType::U64,
                    keys_in.arg(),
                    keys_between.arg(),
                    keys_out.arg(),
                    payload_in.arg(),
                    payload_between.arg(),
                    payload_out.arg(),
                    counts.arg(),
                    state.arg(),
                    self.job.len,
                    self.tiles_of_row,
                    digits,
                    pass,
                    shift,
                    mask,
                    u32::from(carries.drops_keys),
                    self.plan.tile,
                    carries.moved,
                    self.plan.order.unless_identity(),
                    8 * size as u32,
                    self.types(),
                );
            }
        }
    }

    /// All passes in one launch.
    fn at_once(&self, carries: Carries<'_>) {
        let client = self.device.client();
        let digits = self.plan.passes().max(1);
        let size = self.plan.count.size();
        let tile = self.plan.tile;
        let counted = digits as usize * DIGITS;
        let zeros = bins::zeros(self.device, counted * size / 4 + BARRIER);
        let barrier = Buffer {
            handle: zeros.clone().offset_start((counted * size) as u64),
            len: BARRIER,
        };
        let counts = Buffer {
            handle: zeros,
            len: counted,
        };
        let (width, vectors) = self.vectors(&carries.keys.input);
        let counting = Counting {
            units: tile.units,
            // As many keys as the tile has, but for a unit that goes through much of the row.
            items: tile.items.div_ceil(width as u32).clamp(1, 8),
            passes: digits,
        };
        let (begin, _) = self.digit(0);
        let (_, last) = self.digit(digits - 1);
        let most = GridBarrier::most_cubes(self.device);
        let cubes = self.tiles_of_row.min(most);
        let [keys, payload] = carries.all(client);
        let [keys_in, keys_between, keys_out] = keys;
        let [payload_in, payload_between, payload_out] = payload;
        // SAFETY: tiles are masked by the length of the row, which is whole vectors; counts and state have a place for each digit of
        // each pass and tile.
        unsafe {
            sort_kernel::launch_unchecked(
                client,
                CubeCount::new_1d(cubes),
                self.dim(),
                // Of a 64-bit index, what is constant goes into the instruction.
                AddressType::U64,
                width,
                vectors.arg(),
                keys_in.arg(),
                keys_between.arg(),
                keys_out.arg(),
                payload_in.arg(),
                payload_between.arg(),
                payload_out.arg(),
                barrier.arg(),
                counts.arg(),
                self.state().arg(),
                self.job.len,
                self.tiles_of_row,
                begin,
                last,
                u32::from(carries.drops_keys),
                counting,
                tile,
                carries.moved,
                self.plan.order.unless_identity(),
                8 * size as u32,
                cubes < self.tiles_of_row,
                self.types(),
            );
        }
    }

    /// The keys as vectors, and how many keys one has, where a row is whole vectors.
    fn vectors(&self, keys: &Buffer) -> (usize, Buffer) {
        let size = self.job.key.size();
        let start = keys.handle.offset_start.unwrap_or(0) as usize;
        let width = self
            .device
            .vector_widths(size)
            .into_iter()
            .find(|width| self.job.len.is_multiple_of(*width) && start.is_multiple_of(width * size))
            .unwrap_or(1);
        let vectors = Buffer {
            len: keys.len / width,
            ..keys.clone()
        };
        (width, vectors)
    }

    /// Counts all digits, and sets the state to 0.
    fn histogram(&self, keys: &Buffer, digits: u32, counts: &Buffer, state: &Buffer) {
        let (width, vectors) = self.vectors(keys);
        let (counting, cubes) = plan::counting(self.device, self.job, digits, width);
        let (begin, _) = self.digit(0);
        let (_, last) = self.digit(digits - 1);
        let state = Buffer {
            len: state.len * self.plan.count.size() / 16,
            ..state.clone()
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
                state.arg(),
                self.job.len / width,
                cubes,
                begin,
                last,
                counting,
                self.plan.order.unless_identity(),
                [self.word_of_key(), self.plan.wide, self.plan.count],
            );
        }
    }
}
