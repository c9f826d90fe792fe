//! The shapes of the litmus tests, and the programs that they are with each choice of orders.

use std::{fmt, str::FromStr};

use girih::memory::MemoryOrder::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use super::program::{Program, Step};

const X: usize = 0;
const Y: usize = 1;

/// Who writes and reads what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Message passing: data, then a flag; the flag, then the data.
    Mp,
    /// Store buffering: each role writes one location, then reads the other's.
    Sb,
    /// Load buffering: each role reads one location, then writes the other's.
    Lb,
    /// Independent reads of independent writes: two writers, and two readers that may disagree on which came first.
    Iriw,
    /// Coherence of reads: of one location, a role does not read an older value after a newer one.
    CoRr,
    /// Coherence of writes: of one location, a role's later write stays the later one, to observers and at the end.
    CoWw,
    /// Two and two writes: each role writes both locations, in opposite orders.
    W22,
}

impl Shape {
    /// Every shape.
    pub const ALL: [Self; 7] = [
        Self::Mp,
        Self::Sb,
        Self::Lb,
        Self::Iriw,
        Self::CoRr,
        Self::CoWw,
        Self::W22,
    ];

    /// The name that the literature gives it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mp => "MP",
            Self::Sb => "SB",
            Self::Lb => "LB",
            Self::Iriw => "IRIW",
            Self::CoRr => "CoRR",
            Self::CoWw => "CoWW",
            Self::W22 => "2+2W",
        }
    }

    /// The program with these orders.
    pub fn program(self, orders: Orders) -> Program {
        let (between_writes, between_reads) = orders.fences();
        let writes = |first: Step, second: Step| role(first, between_writes, second);
        let reads = |first: Step, second: Step| role(first, between_reads, second);
        let any = |first: Step, second: Step| role(first, between_writes.or(between_reads), second);
        let (load, store) = (|at| orders.load(at), |at, value| orders.store(at, value));
        // Only the flag needs an order: the data is published by it.
        let (data, published) = (Step::load(X, Relaxed), Step::store(X, 1, Relaxed));
        match self {
            Self::Mp => Program::new(vec![writes(published, store(Y, 1)), reads(load(Y), data)]),
            Self::Sb => Program::new(vec![any(store(X, 1), load(Y)), any(store(Y, 1), load(X))]),
            Self::Lb => Program::new(vec![any(load(X), store(Y, 1)), any(load(Y), store(X, 1))]),
            Self::Iriw => Program::new(vec![
                vec![store(X, 1)],
                vec![store(Y, 1)],
                reads(load(X), load(Y)),
                reads(load(Y), load(X)),
            ]),
            Self::CoRr => Program::new(vec![vec![store(X, 1)], reads(load(X), load(X))]),
            Self::CoWw => Program::new(vec![
                writes(store(X, 1), store(X, 2)),
                reads(load(X), load(X)),
            ])
            .observing([X]),
            Self::W22 => Program::new(vec![
                writes(store(X, 1), store(Y, 2)),
                writes(store(Y, 1), store(X, 2)),
            ])
            .observing([X, Y]),
        }
    }
}

fn role(first: Step, fence: Option<MemoryOrder>, second: Step) -> Vec<Step> {
    let fence = fence.map(Step::fence);
    [Some(first), fence, Some(second)]
        .into_iter()
        .flatten()
        .collect()
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Shape {
    type Err = String;

    fn from_str(given: &str) -> Result<Self, String> {
        let named = |shape: &Self| shape.name().eq_ignore_ascii_case(given);
        Self::ALL.into_iter().find(named).ok_or_else(|| {
            let all = Self::ALL.map(Self::name).join(", ");
            format!("no shape is called `{given}`: {all} are")
        })
    }
}

/// How the accesses of a program are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Orders {
    /// Not beyond being atomic.
    Relaxed,
    /// Release stores, acquire loads.
    ReleaseAcquire,
    /// Relaxed accesses; a release fence between writes, an acquire fence between reads.
    ReleaseAcquireFences,
    /// Read-modify-writes, acquire and release at once.
    AcqRelUpdates,
    /// Sequentially consistent loads and stores.
    SeqCst,
    /// Relaxed accesses, a sequentially consistent fence between them.
    SeqCstFences,
}

impl Orders {
    /// Every choice.
    pub const ALL: [Self; 6] = [
        Self::Relaxed,
        Self::ReleaseAcquire,
        Self::ReleaseAcquireFences,
        Self::AcqRelUpdates,
        Self::SeqCst,
        Self::SeqCstFences,
    ];

    /// Its part of a test's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Relaxed => "relaxed",
            Self::ReleaseAcquire => "release-acquire",
            Self::ReleaseAcquireFences => "release-acquire-fences",
            Self::AcqRelUpdates => "acqrel-updates",
            Self::SeqCst => "seqcst",
            Self::SeqCstFences => "seqcst-fences",
        }
    }

    fn load(self, location: usize) -> Step {
        match self {
            Self::Relaxed | Self::ReleaseAcquireFences | Self::SeqCstFences => {
                Step::load(location, Relaxed)
            }
            Self::ReleaseAcquire => Step::load(location, Acquire),
            Self::AcqRelUpdates => Step::fetch(location, AcqRel),
            Self::SeqCst => Step::load(location, SeqCst),
        }
    }

    fn store(self, location: usize, value: u32) -> Step {
        match self {
            Self::Relaxed | Self::ReleaseAcquireFences | Self::SeqCstFences => {
                Step::store(location, value, Relaxed)
            }
            Self::ReleaseAcquire => Step::store(location, value, Release),
            Self::AcqRelUpdates => Step::exchange(location, value, AcqRel),
            Self::SeqCst => Step::store(location, value, SeqCst),
        }
    }

    /// The fences between a role's writes and between its reads.
    const fn fences(self) -> (Option<MemoryOrder>, Option<MemoryOrder>) {
        match self {
            Self::ReleaseAcquireFences => (Some(Release), Some(Acquire)),
            Self::SeqCstFences => (Some(SeqCst), Some(SeqCst)),
            _ => (None, None),
        }
    }
}

impl fmt::Display for Orders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
