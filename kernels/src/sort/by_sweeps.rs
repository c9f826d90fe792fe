//! The launches of sorts whose cubes learn from each other.

use super::at_once::{sort_kernel, words};
use super::carry::Moved;
use super::digits::{CELLS, Counting, histogram_kernel};
use super::launch::Launch;
use super::plan;
use super::sweep::sweep_kernel;
use super::tile::DIGITS;
use super::turns::{Buffer, Turns};
use crate::bins;
use cubecl::prelude::*;

/// What sweeps read and write.
#[derive(Clone, Copy)]
pub(super) struct Carries<'a> {
    pub keys: &'a Turns,
    pub payload: Option<&'a Turns>,
    /// In the place of what there is not.
    pub unused: &'a Buffer,
    pub moved: Moved,
    /// Whether the sorted keys are nobody's to read.
    pub drops_keys: bool,
}

impl Carries<'_> {
    /// Keys, then what goes with them: what is read first, between, and what is written last.
    fn all(&self) -> [[Buffer; 3]; 2] {
        let payload = match self.payload {
            Some(payload) => payload.all(self.unused),
            None => [(); 3].map(|()| self.unused.clone()),
        };
        [self.keys.all(self.unused), payload]
    }
}

impl Launch<'_> {
    /// Words that say what tiles have of each digit.
    fn state(&self) -> Buffer {
        let len = self.tiles() * DIGITS;
        Buffer {
            handle: self.device.client().empty(len * self.plan.count.size()),
            len,
        }
    }

    pub(super) fn one_sweep(&self, carries: Carries<'_>) {
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
        let [keys, payload] = carries.all();
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
    pub(super) fn at_once(&self, carries: Carries<'_>) {
        let client = self.device.client();
        let digits = self.plan.passes().max(1);
        let size = self.plan.count.size();
        let tile = self.plan.tile;
        let counted = digits as usize * DIGITS;
        let zeros = bins::zeros(self.device, counted * size / 4 + words(digits));
        let work = Buffer {
            handle: zeros.clone().offset_start((counted * size) as u64),
            len: words(digits),
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
        // Each takes work while there is some: a few for each processor are enough.
        let most = 4 * self.device.processors() as u32;
        let cubes = self.tiles_of_row.min(most);
        let [keys, payload] = carries.all();
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
                work.arg(),
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
