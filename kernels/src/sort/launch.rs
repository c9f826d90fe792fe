//! The launches of a sort.

use super::by_sweeps::Carries;
use super::passes::{add_up_kernel, count_kernel, scatter_kernel};
use super::plan::{Job, Plan, word};
use super::rows::Rows;
use super::tile::DIGITS;
use super::turns::{Buffer, Carried, Turns, cubes};
use super::write::{Orders, Payload};
use super::{SortPath, Sorted, cube::cube_kernel};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;

/// What all launches of a sort share.
pub(super) struct Launch<'a> {
    pub device: &'a Device,
    pub plan: &'a Plan,
    pub job: &'a Job,
    pub address: AddressType,
    pub tiles_of_row: u32,
}

/// What a pass reads and writes.
struct Pass {
    number: u32,
    keys: [Buffer; 2],
    payload: [Buffer; 2],
    kind: Payload,
    orders: Orders,
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
    let unused = of_keys.unused(client, job.key);
    let of_payload = job.payload.map(|element| {
        let given = match carried {
            Carried::Payload(payload) => rows.gather(device, payload),
            // Places are nobody's to read.
            _ => unused.handle.clone(),
        };
        Turns::new(client, given, len, element, passes)
    });
    let passes = (0..passes).map(|number| Pass {
        number,
        keys: of_keys.of(number),
        payload: match &of_payload {
            Some(turns) => turns.of(number),
            None => [unused.clone(), unused.clone()],
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
        unused: &unused,
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
    pub(super) fn word_of_key(&self) -> ElemType {
        word(self.job.key.size())
    }

    fn word_of_payload(&self) -> ElemType {
        word(self.job.payload.map_or(4, |payload| payload.size()))
    }

    pub(super) fn dim(&self) -> CubeDim {
        CubeDim::new_1d(self.plan.tile.units)
    }

    /// At least so many cubes.
    fn cubes(&self, total: usize) -> CubeCount {
        cubes(self.device, total)
    }

    pub(super) fn tiles(&self) -> usize {
        self.job.rows * self.tiles_of_row as usize
    }

    pub(super) fn digit(&self, pass: u32) -> (u32, u32) {
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

    pub(super) fn types(&self) -> [ElemType; 4] {
        [
            self.word_of_key(),
            self.word_of_payload(),
            self.plan.wide,
            self.plan.count,
        ]
    }
}
