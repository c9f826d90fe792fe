//! A litmus program: what each role does to the locations of one trial, and what is observed of it.

use std::fmt;

use cubecl::prelude::CubeElement;
use girih::memory::{AtomicAccess, MemoryOrder, MemoryScope, Operation};

/// Locations of a trial, and the most that a program may name.
pub const LOCATIONS: usize = 2;

/// The most that a program may observe: two bits of an [`Outcome`] each.
pub const OBSERVATIONS: usize = 4;

/// The largest value that is told apart; whatever is larger is observed as this, which no program writes.
pub const LARGEST: u32 = 3;

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads the location.
    Load,
    /// Writes the value.
    Store,
    /// Reads the location by a read-modify-write that adds nothing.
    Fetch,
    /// Writes the value by a read-modify-write whose old value nobody looks at.
    Exchange,
    /// Orders the steps around it.
    Fence,
}

/// One step of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// What it does.
    pub access: Access,
    /// The location, which a fence has not.
    pub location: usize,
    /// The value, of a step that writes.
    pub value: u32,
    /// Its order.
    pub order: MemoryOrder,
}

impl Step {
    /// A load.
    pub const fn load(location: usize, order: MemoryOrder) -> Self {
        Self::new(Access::Load, location, 0, order)
    }

    /// A store.
    pub const fn store(location: usize, value: u32, order: MemoryOrder) -> Self {
        Self::new(Access::Store, location, value, order)
    }

    /// A load by a read-modify-write.
    pub const fn fetch(location: usize, order: MemoryOrder) -> Self {
        Self::new(Access::Fetch, location, 0, order)
    }

    /// A store by a read-modify-write.
    pub const fn exchange(location: usize, value: u32, order: MemoryOrder) -> Self {
        Self::new(Access::Exchange, location, value, order)
    }

    /// A fence.
    pub const fn fence(order: MemoryOrder) -> Self {
        Self::new(Access::Fence, 0, 0, order)
    }

    const fn new(access: Access, location: usize, value: u32, order: MemoryOrder) -> Self {
        Self {
            access,
            location,
            value,
            order,
        }
    }

    /// Whether what it reads is observed.
    pub const fn observes(&self) -> bool {
        matches!(self.access, Access::Load | Access::Fetch)
    }

    /// Whether it writes its value.
    pub const fn writes(&self) -> bool {
        matches!(self.access, Access::Store | Access::Exchange)
    }

    /// What a device must have for it.
    pub fn required(&self, scope: MemoryScope) -> AtomicAccess {
        let operation = match self.access {
            Access::Load => Operation::Load,
            Access::Store => Operation::Store,
            Access::Fetch => Operation::Add,
            Access::Exchange => Operation::Exchange,
            Access::Fence => Operation::Fence,
        };
        AtomicAccess::new(operation, u32::cube_type()).ordered(self.order, scope)
    }
}

/// What the roles of one trial do, each in the order of its steps, to locations that hold 0.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    /// The steps of each role; as many roles as a power of two.
    pub roles: Vec<Vec<Step>>,
    /// The locations whose last value is observed, after what the loads read.
    pub finals: Vec<usize>,
}

impl Program {
    /// A program that observes what its loads read.
    pub fn new(roles: Vec<Vec<Step>>) -> Self {
        Self {
            roles,
            finals: Vec::new(),
        }
    }

    /// The same program, which also observes what these locations hold at the end.
    pub fn observing(self, finals: impl Into<Vec<usize>>) -> Self {
        Self {
            finals: finals.into(),
            ..self
        }
    }

    /// The position among the observations of what a role's step reads.
    pub fn observation(&self, role: usize, step: usize) -> usize {
        let before = self.roles[..role].iter().flatten();
        let within = &self.roles[role][..step];
        before.chain(within).filter(|step| step.observes()).count()
    }

    /// The position among the observations of a location's last value, where it is observed.
    pub fn last_value(&self, location: usize) -> Option<usize> {
        let at = self.finals.iter().position(|&seen| seen == location)?;
        Some(self.loads() + at)
    }

    /// How much is observed.
    pub fn observations(&self) -> usize {
        self.loads() + self.finals.len()
    }

    fn loads(&self) -> usize {
        let steps = self.roles.iter().flatten();
        steps.filter(|step| step.observes()).count()
    }

    /// An outcome in words: `r0=1 r1=0 x=2`, the loads in the order of roles and steps, then the last values.
    pub fn describe(&self, outcome: Outcome) -> String {
        let loads = (0..self.loads()).map(|load| format!("r{load}"));
        let finals = self.finals.iter().map(|&at| ["x", "y"][at].to_owned());
        let named = loads.chain(finals).enumerate();
        let values = named.map(|(at, name)| format!("{name}={}", outcome.value(at)));
        values.collect::<Vec<_>>().join(" ")
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (location, order) = (["x", "y"][self.location], self.order);
        match self.access {
            Access::Load => write!(f, "load {location} {order:?}"),
            Access::Store => write!(f, "store {location}={} {order:?}", self.value),
            Access::Fetch => write!(f, "fetch {location} {order:?}"),
            Access::Exchange => write!(f, "exchange {location}={} {order:?}", self.value),
            Access::Fence => write!(f, "fence {order:?}"),
        }
    }
}

/// `store x=1 Relaxed; store y=1 Release || load y Acquire; load x Relaxed`.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roles = self.roles.iter().map(|steps| {
            let steps = steps.iter().map(Step::to_string);
            steps.collect::<Vec<_>>().join("; ")
        });
        f.write_str(&roles.collect::<Vec<_>>().join(" || "))
    }
}

/// What was observed of one trial: two bits for each observation, the first lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Outcome(pub u8);

impl Outcome {
    /// The outcome in which these values were observed.
    ///
    /// # Panics
    /// If there are more than [`OBSERVATIONS`], or one is above [`LARGEST`].
    pub fn of(values: &[u32]) -> Self {
        assert!(values.len() <= OBSERVATIONS && values.iter().all(|&value| value <= LARGEST));
        let placed = values.iter().enumerate();
        Self(placed.fold(0, |code, (at, &value)| code | (value as u8) << (2 * at)))
    }

    /// The value observed at a position.
    pub const fn value(self, at: usize) -> u32 {
        (self.0 >> (2 * at)) as u32 & LARGEST
    }
}
