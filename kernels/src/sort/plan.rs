//! How a sort is done on a device: by which kernels, in tiles of which size.

use super::digits::Counting;
use super::order::Order;
use super::tile::{DIGIT_BITS, Matching, Tile};
use super::{SortOptions, SortPath};
use cubecl::ir::{ElemType, UIntKind};
use girih::device::{Device, Target};
use girih::memory::{AtomicAccess, MemoryOrder, MemoryScope, Operation};
use girih::{Error, Result};

/// Keys of a row that 32 bits count beside two bits of flags.
const FLAGGED: usize = 1 << 30;
/// Keys of a row that 32 bits count.
const COUNTED: usize = u32::MAX as usize;

/// What is sorted: so many rows of so many keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// The call, for errors.
    pub call: &'static str,
    /// The type of a key.
    pub key: ElemType,
    /// The type of what goes with it.
    pub payload: Option<ElemType>,
    /// Rows.
    pub rows: usize,
    /// Keys of a row.
    pub len: usize,
}

impl Job {
    /// The word that a key has room in, and so has what goes with it.
    fn widest(&self) -> ElemType {
        let payload = self.payload.map_or(0, |payload| payload.size());
        word(self.key.size().max(payload).max(4))
    }
}

/// How it is sorted.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub path: SortPath,
    pub tile: Tile,
    pub order: Order,
    /// The bits of an encoded key that count.
    pub begin: u32,
    pub end: u32,
    /// The type that kernels keep keys and payload in.
    pub wide: ElemType,
    /// The type of counts of keys.
    pub count: ElemType,
}

impl Plan {
    /// The plan for a job, or what of it the device has not.
    pub(crate) fn new(device: &Device, job: &Job, options: &SortOptions) -> Result<Self> {
        let Job { call, key, .. } = *job;
        let Some(order) = Order::of(key, options.descending) else {
            return Err(Error::Element {
                call,
                argument: "keys",
                given: key,
                allowed: "an integer type, f16, bf16, f32 or f64".into(),
            });
        };
        let (begin, end) = bits(call, options, order.bits)?;
        let path = path(device, job, options.path)?;
        // A sweep has memory of its own for what goes with the keys.
        let wide = match path {
            SortPath::OneSweep | SortPath::AtOnce => word(key.size().max(4)),
            _ => job.widest(),
        };
        for element in [
            Some(key),
            job.payload,
            Some(word(key.size())),
            job.payload.map(|p| word(p.size())),
            Some(wide),
        ]
        .into_iter()
        .flatten()
        {
            crate::check::element(call, device, element)?;
        }
        // A sweep counts places from the beginning of the buffers.
        let narrow = match path {
            SortPath::OneSweep | SortPath::AtOnce => {
                job.len < FLAGGED && job.rows * job.len <= COUNTED
            }
            _ => job.len < COUNTED,
        };
        let count = word(if narrow { 4 } else { 8 });
        let plan = Self {
            path,
            tile: options.tile.unwrap_or(tile(device, path, job)),
            order,
            begin,
            end,
            wide,
            count,
        };
        plan.require(device, call)?;
        Ok(plan)
    }

    /// How many digits the keys have.
    pub(crate) fn passes(&self) -> u32 {
        (self.end - self.begin).div_ceil(DIGIT_BITS)
    }

    /// Place and mask of a digit.
    pub(crate) fn digit(&self, pass: u32) -> (u32, u32) {
        let shift = self.begin + pass * DIGIT_BITS;
        let bits = (self.end - shift).min(DIGIT_BITS);
        (shift, (1 << bits) - 1)
    }

    /// What the kernels need of atomics.
    fn require(&self, device: &Device, call: &'static str) -> Result<()> {
        let word = ElemType::UInt(UIntKind::U32);
        let needs_ordered = |operation, element, order, scope| {
            let access = AtomicAccess::new(operation, element);
            device.require_atomic(call, &access.ordered(order, scope))
        };
        let needs = |operation, element, scope| {
            needs_ordered(operation, element, MemoryOrder::Relaxed, scope)
        };
        match self.path {
            SortPath::OneCube => Ok(()),
            SortPath::ThreeKernels => needs(Operation::Add, word, MemoryScope::Cube),
            SortPath::OneSweep | SortPath::AtOnce => {
                if self.path == SortPath::AtOnce {
                    for (operation, order) in [
                        (Operation::Add, MemoryOrder::Release),
                        (Operation::Load, MemoryOrder::Acquire),
                    ] {
                        needs_ordered(operation, word, order, MemoryScope::Device)?;
                    }
                }
                needs(Operation::Add, word, MemoryScope::Cube)?;
                needs(Operation::Add, self.count, MemoryScope::Device)?;
                needs_ordered(
                    Operation::Add,
                    self.count,
                    MemoryOrder::AcqRel,
                    MemoryScope::Device,
                )?;
                needs(Operation::Load, self.count, MemoryScope::Device)?;
                needs(Operation::Store, self.count, MemoryScope::Device)
            }
        }
    }
}

/// The unsigned integer of so many bytes.
pub(crate) fn word(size: usize) -> ElemType {
    ElemType::UInt(match size {
        1 => UIntKind::U8,
        2 => UIntKind::U16,
        4 => UIntKind::U32,
        _ => UIntKind::U64,
    })
}

/// The bits that count, which are bits of the key.
fn bits(call: &'static str, options: &SortOptions, all: u32) -> Result<(u32, u32)> {
    let range = options.bits.clone().unwrap_or(0..all);
    let within = |argument, given, allowed| match given <= allowed {
        true => Ok(()),
        false => Err(Error::Size {
            call,
            argument,
            given: u64::from(given),
            allowed: u64::from(allowed),
        }),
    };
    within("the end of the range of bits", range.end, all)?;
    within("the start of the range of bits", range.start, range.end)?;
    Ok((range.start, range.end))
}

/// Whether cubes begin in the order of their numbers, and go on while others wait for them: so does NVIDIA, of sm_70 and
/// later; and the CPU runs them one after another.
fn makes_progress(device: &Device) -> bool {
    matches!(device.target(), Target::Cuda | Target::Cpu)
}

/// The path asked for, or the one that suits.
fn path(device: &Device, job: &Job, asked: Option<SortPath>) -> Result<SortPath> {
    let most = tile(device, SortPath::OneCube, job).len();
    match asked {
        Some(SortPath::OneCube) if job.len > most => Err(Error::Size {
            call: job.call,
            argument: "the keys of a row sorted in one cube",
            given: job.len as u64,
            allowed: most as u64,
        }),
        Some(SortPath::AtOnce) if job.rows > 1 => Err(Error::Size {
            call: job.call,
            argument: "the rows sorted in one launch",
            given: job.rows as u64,
            allowed: 1,
        }),
        Some(path @ (SortPath::OneSweep | SortPath::AtOnce)) => {
            let feature = "cubes that go on while others wait for them";
            device.require(makes_progress(device), job.call, feature)?;
            Ok(path)
        }
        Some(path) => Ok(path),
        None if job.len <= most => Ok(SortPath::OneCube),
        None if is_at_once(device, job) => Ok(SortPath::AtOnce),
        // Where cubes run one after another, an order of tiles gains nothing.
        None if device.target() == Target::Cuda => Ok(SortPath::OneSweep),
        None => Ok(SortPath::ThreeKernels),
    }
}

/// Whether one launch is the fastest: on CUDA, of a row of no more tiles than processors. On an H200, whose host is then done first,
/// 2^20 keys take 55 us, and 59 to 108 us in the five launches of sweeps, as fast as the host is; of more tiles than processors each
/// takes longer, since fewer are held by a processor at once: 2^24 keys take 510 us and 341 us.
fn is_at_once(device: &Device, job: &Job) -> bool {
    let tile = tile(device, SortPath::AtOnce, job).len();
    device.target() == Target::Cuda && job.rows == 1 && job.len <= device.processors() * tile
}

/// How many keys of a row one cube sorts at most.
pub(crate) fn most_in_one_cube(device: &Device, job: &Job) -> usize {
    let longest = Job {
        len: usize::MAX,
        ..*job
    };
    tile(device, SortPath::OneCube, &longest).len()
}

/// Units and keys of a unit, for tiles of short rows; the last is for rows as long as one cube sorts.
const SHORT: [(u32, u32); 3] = [(64, 4), (256, 8), (384, 16)];

/// The tile that suits the device.
fn tile(device: &Device, path: SortPath, job: &Job) -> Tile {
    let hardware = &device.client().properties().hardware;
    let plane = hardware.plane_size_min.max(1);
    let most = hardware.max_units_per_cube.max(1);
    let is_wide = job.widest().size() == 8;
    let (units, items, unroll) = match device.target() {
        Target::Cuda => {
            let (units, items) = match path {
                SortPath::OneCube => SHORT
                    .into_iter()
                    .find(|(units, items)| (units * items) as usize >= job.len)
                    .unwrap_or(SHORT[SHORT.len() - 1]),
                _ => HOPPER.tile(is_wide, job.payload.is_some()),
            };
            (units, items, true)
        }
        // A unit is a thread, which keeps its keys in its cache.
        Target::Cpu => {
            let units = 1 << most.min(8).ilog2();
            (units, 4096 / units, false)
        }
        // Eight planes, so that their counters leave room in 16 KiB of shared memory.
        _ => {
            let units = (8 * plane).min(256).min(most);
            (units, if is_wide { 4 } else { 8 }, true)
        }
    };
    Tile {
        units,
        items,
        plane,
        words: hardware.plane_size_max.clamp(1, 128).div_ceil(32),
        unroll,
        matching: match device.target() {
            Target::Cuda => Matching::Ptx,
            _ => Matching::Votes,
        },
        window: match path {
            // All tiles begin at once, so that what is before most is told by the tiles one by one.
            SortPath::AtOnce => 2 * WINDOW,
            _ => WINDOW,
        },
    }
}

/// Tiles that a unit looks back at, at once.
const WINDOW: u32 = 4;

/// Units, and keys of a unit by size of the word and by whether there is payload, of a GPU's tiles.
struct Tuning {
    units: u32,
    items: [[u32; 2]; 2],
}

impl Tuning {
    fn tile(&self, is_wide: bool, has_payload: bool) -> (u32, u32) {
        let items = self.items[usize::from(is_wide)][usize::from(has_payload)];
        (self.units, items)
    }
}

/// As many keys as leave room for three cubes in the registers of a processor, or for two where something goes with them: on an
/// H200, more cubes of fewer pairs take longer.
const HOPPER: Tuning = Tuning {
    units: 384,
    items: [[23, 23], [12, 11]],
};

/// How the counting kernel goes through the rows, and how many cubes a row has.
pub(crate) fn counting(device: &Device, job: &Job, passes: u32, width: usize) -> (Counting, u32) {
    let hardware = &device.client().properties().hardware;
    let counting = Counting {
        units: 1 << hardware.max_units_per_cube.clamp(1, 512).ilog2(),
        items: 4,
        passes,
    };
    let most = match device.target() {
        // Its cubes run one after another.
        Target::Cpu => 1,
        _ => 4 * device.processors(),
    };
    let chunks = (job.len / width).div_ceil((counting.units * counting.items) as usize);
    let share = most.div_ceil(job.rows);
    (counting, chunks.min(share).max(1) as u32)
}
