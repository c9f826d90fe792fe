//! The blocks of `girih::memory::blocks` under load, for as long as one likes.
//!
//! A round launches a block with cubes, units and data drawn at random, and compares what comes back with what the host
//! expects: any update that is lost, done twice, or seen too early makes a difference. The *mutant* of a block is the same
//! code with its orders removed. That a round can tell the two apart is what makes its silence worth something.

mod compare;
pub(crate) mod grid_barrier;
pub(crate) mod last_cube;
mod lists;
mod load;
mod look_back;
mod machine;
pub(crate) mod message;
mod payload;
pub(crate) mod queue;
mod setting;
mod sort;
pub(crate) mod spin_lock;
mod ticket;
mod top_k;

pub use machine::Machine;
pub use setting::{Fault, Setting};

use crate::bench::choose;
use girih::device::Device;
use girih::memory::blocks;
use girih_testkit::{DeviceKind, Rt};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

/// A block, and how it is put under load.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// The name a user types.
    pub name: &'static str,
    /// Whether it has an order that a mutant could lack.
    pub is_ordered: bool,
    /// Whether a device can run it.
    pub require: fn(&Device) -> girih::Result<()>,
    /// Whether other kernels run on the device meanwhile.
    pub has_company: bool,
    /// One round; gives the number of operations that it checked.
    pub round: fn(&mut Setting<'_>) -> Result<u64, Fault>,
}

/// Every block.
pub const BLOCKS: [Block; 7] = [
    Block {
        name: "spin-lock",
        is_ordered: true,
        require: blocks::SpinLock::<girih::memory::Device>::require,
        has_company: false,
        round: spin_lock::round,
    },
    Block {
        name: "spin-lock-in-cube",
        is_ordered: true,
        require: blocks::SpinLock::<girih::memory::Cube>::require,
        has_company: false,
        round: spin_lock::round_in_cubes,
    },
    Block {
        name: "ticket-counter",
        is_ordered: false,
        require: blocks::TicketCounter::<girih::memory::Device>::require,
        has_company: false,
        round: ticket::round,
    },
    Block {
        name: "last-cube",
        is_ordered: true,
        require: blocks::LastCube::require,
        has_company: false,
        round: last_cube::round,
    },
    Block {
        name: "message",
        is_ordered: true,
        require: blocks::Message::<girih::memory::Device>::require,
        has_company: false,
        round: message::round,
    },
    Block {
        name: "grid-barrier",
        is_ordered: true,
        require: |device| blocks::GridBarrier::require(device, 1),
        has_company: false,
        round: grid_barrier::round,
    },
    Block {
        name: "bounded-queue",
        is_ordered: true,
        require: blocks::BoundedQueue::require,
        has_company: false,
        round: queue::round,
    },
];

/// What is made of blocks, or as they are.
pub const ALGORITHMS: [Block; 3] = [LOOK_BACK, SORT, TOP_K];

/// Scans whose tiles look back at those before them.
pub const LOOK_BACK: Block = Block {
    name: "look-back",
    is_ordered: true,
    require: |device| {
        let sums = cubecl::ir::ElemType::Int(cubecl::ir::IntKind::I64);
        girih_kernels::raw::scan::require_look_back(device, "look-back", sums)
    },
    has_company: true,
    round: look_back::round,
};

/// Sorts whose cubes wait for others, in one launch and in several; their kernels are no others without orders.
pub const SORT: Block = Block {
    name: "sort",
    is_ordered: false,
    require: sort::require,
    has_company: true,
    round: sort::round,
};

/// Selections of the largest keys in one launch, whose cubes wait for others; their kernel is none without orders.
pub const TOP_K: Block = Block {
    name: "top-k",
    is_ordered: false,
    require: top_k::require,
    has_company: true,
    round: top_k::round,
};

/// Everything that can be put under load.
fn subjects() -> impl Iterator<Item = &'static Block> {
    BLOCKS.iter().chain(&ALGORITHMS)
}

fn names() -> Vec<&'static str> {
    subjects().map(|block| block.name).collect()
}

/// What to stress, and for how long.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Where; else on the first of cuda, wgsl, vulkan and cpu that is there
    #[arg(long, value_name = "DEVICE")]
    device: Option<DeviceKind>,
    /// Only this block; may be repeated
    #[arg(long = "block", value_name = "BLOCK", value_parser = names())]
    blocks: Vec<String>,
    /// How long each block runs
    #[arg(long, value_name = "N", default_value_t = 10)]
    seconds: u64,
    /// How many launches each block makes at the least, however long that takes
    #[arg(long, value_name = "N", default_value_t = 0)]
    launches: u64,
    /// Run the blocks without their orders, each until that is noticed
    #[arg(long)]
    mutant: bool,
    /// What the loads are drawn from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Also write the outcome here, as one JSON object
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// How a block bore up.
#[derive(Clone, Debug)]
struct Outcome {
    block: &'static str,
    seconds: f64,
    rounds: u64,
    launches: u64,
    operations: u64,
    /// What the last round found.
    fault: Option<Fault>,
}

/// Puts the blocks under load, one after another, and prints a line on each as it is done.
///
/// Fails where the device is absent, a block broke a promise, or a mutant kept all of its own. A block that the device
/// cannot run is left out, and so is the mutant of one that has no order.
pub fn main(options: &Options) -> ExitCode {
    match stress(options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn stress(options: &Options) -> Result<bool, String> {
    let rt = choose(options.device)?;
    let device = Device::of(&rt.client);
    println!("{}, seed {}", device.name(), options.seed);
    let mut outcomes = Vec::new();
    for block in subjects().filter(|block| options.wants(block)) {
        let name = block.name;
        if options.mutant && !block.is_ordered {
            println!("{name:<18} left out: it has no order that could be removed");
            continue;
        }
        if let Err(lacking) = (block.require)(&device) {
            println!("{name:<18} left out: {lacking}");
            continue;
        }
        let outcome = run(rt, block, options);
        println!("{}", outcome.row(options.mutant));
        outcomes.push(outcome);
    }
    if let Some(path) = &options.out {
        write(path, &device, options, &outcomes)?;
    }
    // A device that answers no more says nothing about orders.
    let as_hoped = |outcome: &Outcome| match outcome.fault {
        Some(Fault::Device(_)) => false,
        _ => outcome.fault.is_some() == options.mutant,
    };
    Ok(!outcomes.is_empty() && outcomes.iter().all(as_hoped))
}

/// Rounds of one block until the time is up and there were as many launches as asked for, or one finds a fault.
fn run(rt: &Rt, block: &Block, options: &Options) -> Outcome {
    const PROGRESS: Duration = Duration::from_secs(10);
    let mut setting = Setting::heavy(rt, options.mutant, options.seed);
    let mut outcome = Outcome {
        block: block.name,
        seconds: 0.0,
        rounds: 0,
        launches: 0,
        operations: 0,
        fault: None,
    };
    let company = block.has_company.then(|| setting.company());
    let start = Instant::now();
    let mut next_line = PROGRESS;
    let least = Duration::from_secs(options.seconds);
    while outcome.fault.is_none()
        && (start.elapsed() < least || setting.launches < options.launches)
    {
        match (block.round)(&mut setting) {
            Ok(operations) => outcome.operations += operations,
            Err(fault) => outcome.fault = Some(fault),
        }
        outcome.rounds += 1;
        outcome.launches = setting.launches;
        outcome.seconds = start.elapsed().as_secs_f64();
        if start.elapsed() >= next_line {
            eprintln!(
                "{:<18} {:.0} s of {}, {} launches of {}",
                block.name, outcome.seconds, options.seconds, outcome.launches, options.launches
            );
            next_line += PROGRESS;
        }
    }
    match company.map(load::Load::stop) {
        Some(Ok(launches)) => eprintln!("{:<18} beside {launches} other kernels", block.name),
        Some(Err(fault)) => outcome.fault = outcome.fault.or(Some(fault)),
        None => {}
    }
    outcome
}

/// A few light rounds of a block while other kernels run on the device, of which it gives the number.
///
/// # Errors
/// What a round, or one of the other kernels, finds wrong.
pub fn beside(rt: &Rt, block: &Block, rounds: usize) -> Result<u64, Fault> {
    let mut setting = Setting::light(rt);
    let company = setting.company();
    for _ in 0..rounds {
        (block.round)(&mut setting)?;
    }
    company.stop()
}

impl Options {
    fn wants(&self, block: &Block) -> bool {
        self.blocks.is_empty() || self.blocks.iter().any(|name| name == block.name)
    }
}

impl Outcome {
    fn verdict(&self, mutant: bool) -> String {
        match (&self.fault, mutant) {
            (None, false) => "kept its promise".to_owned(),
            (None, true) => "MUTANT NOT CAUGHT".to_owned(),
            (Some(fault), true) => format!("mutant caught: {fault}"),
            (Some(fault), false) => format!("BROKEN: {fault}"),
        }
    }

    fn row(&self, mutant: bool) -> String {
        format!(
            "{:<18} {:>7.1} s {:>8} launches {:>12} operations  {}",
            self.block,
            self.seconds,
            self.launches,
            self.operations,
            self.verdict(mutant)
        )
    }

    fn json(&self) -> Value {
        json!({
            "block": self.block,
            "seconds": self.seconds,
            "rounds": self.rounds,
            "launches": self.launches,
            "operations": self.operations,
            "fault": self.fault.as_ref().map(ToString::to_string),
        })
    }
}

fn write(
    path: &Path,
    device: &Device,
    options: &Options,
    outcomes: &[Outcome],
) -> Result<(), String> {
    let blocks: Vec<Value> = outcomes.iter().map(Outcome::json).collect();
    let report = json!({
        "device": device.name(),
        "mutant": options.mutant,
        "seed": options.seed,
        "seconds": options.seconds,
        "launches": options.launches,
        "blocks": blocks,
    });
    std::fs::write(path, format!("{report:#}\n"))
        .map_err(|error| format!("{}: {error}", path.display()))
}
