//! Litmus tests: small programs of a few roles, played by the hundred million, that show what a memory order forbids.
//!
//! # Method
//! A launch plays many trials. Each trial has two cells of its own, which begin at 0; each of its roles is played by one
//! unit, and the roles of a trial are played in the same round by units that a random choice puts next to each other, in
//! other planes or in other cubes. Nothing waits for a partner: the units of a cube meet at a barrier every few rounds,
//! cubes wait for each other there but not for long, and within a round the partners meet by timing. Each begins at a
//! moment of chance, a pause that changes with the round apart, and half of them wait between their accesses. Cells lie
//! beside each other or far apart, by an affine permutation that changes with the launch. Each role writes down what it
//! read; a second kernel counts the outcomes and clears the memory, and the host reads nothing but the counts. A trial of
//! which a role was not played, or that observed a value that nobody writes, is an error or a forbidden outcome.
//!
//! On the host the units of one cube are threads that run at once and cubes follow each other: one cube plays at every
//! scope. Where it has fewer units than a trial roles (IRIW on two cores) a unit plays two of them, their steps
//! interleaved; that adds order, so what is forbidden stays so. A software Vulkan device runs a cube on one thread, its
//! units in lockstep: its tests at cube scope interleave steps, and only those of wider scope meet in time.
//!
//! # The list
//! Each shape with the weakest orders that forbid its telling outcome ([`Test::stated`]), at cube scope in global and in
//! shared memory, and at device and system scope in global memory:
//!
//! | shape | orders |
//! |---|---|
//! | MP | release store and acquire load of the flag; release and acquire fences; acquire-release updates |
//! | SB, IRIW, 2+2W | sequentially consistent accesses; sequentially consistent fences |
//! | LB | acquire loads, release stores |
//! | CoRR, CoWW | relaxed |
//!
//! No outcome is typed in: [`model`] computes from the program that the kernels run which outcomes are sequentially
//! consistent, which are weak but allowed, and which are forbidden. A device that cannot keep an order refuses the test by
//! name, before it launches anything.
//!
//! # The controls
//! That nothing forbidden is seen proves nothing by itself. So every outcome that is sequentially consistent must be
//! seen, which says that the roles do meet in every way; the report states the rate of each. And each shape that needs an
//! order is also played relaxed ([`Test::mutants`]), where its telling outcome is weak and sought. Store buffering must
//! show it on the host, whose cores have store buffers. CoRR and CoWW have no mutant: what is weaker than relaxed is a
//! data race, of which nothing is promised.

mod axioms;
mod command;
mod harness;
pub(crate) mod kernels;
pub mod model;
mod place;
pub mod program;
mod relation;
mod report;
pub mod shapes;
pub(crate) mod stage;
mod steps;

use std::fmt;

use girih::memory::{AtomicAccess, MemoryScope};

pub use command::{Options, main};
pub use harness::{Error, Harness, Played};
pub use report::{Line, Record};

use program::Program;
use shapes::{Orders, Shape};

/// Where the locations are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// In a buffer.
    Global,
    /// In the memory of a cube.
    Shared,
}

/// One test: a shape with its orders, at a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Test {
    /// Who writes and reads what.
    pub shape: Shape,
    /// How the accesses are ordered.
    pub orders: Orders,
    /// To whom the order is promised, and among whom the roles are spread.
    pub scope: MemoryScope,
    /// Where the locations are.
    pub space: Space,
}

/// Each scope with each memory that it reaches.
const PLACES: [(MemoryScope, Space); 4] = [
    (MemoryScope::Cube, Space::Global),
    (MemoryScope::Cube, Space::Shared),
    (MemoryScope::Device, Space::Global),
    (MemoryScope::System, Space::Global),
];

impl Test {
    /// The tests whose forbidden outcomes must not be seen.
    pub fn stated() -> Vec<Self> {
        Self::everywhere(&[
            (Shape::Mp, Orders::ReleaseAcquire),
            (Shape::Mp, Orders::ReleaseAcquireFences),
            (Shape::Mp, Orders::AcqRelUpdates),
            (Shape::Sb, Orders::SeqCst),
            (Shape::Sb, Orders::SeqCstFences),
            (Shape::Lb, Orders::ReleaseAcquire),
            (Shape::Iriw, Orders::SeqCst),
            (Shape::Iriw, Orders::SeqCstFences),
            (Shape::CoRr, Orders::Relaxed),
            (Shape::CoWw, Orders::Relaxed),
            (Shape::W22, Orders::SeqCst),
            (Shape::W22, Orders::SeqCstFences),
        ])
    }

    /// The same shapes with their orders taken away, whose weak outcomes are sought.
    pub fn mutants() -> Vec<Self> {
        Self::everywhere(&[
            (Shape::Mp, Orders::Relaxed),
            (Shape::Sb, Orders::Relaxed),
            (Shape::Lb, Orders::Relaxed),
            (Shape::Iriw, Orders::Relaxed),
            (Shape::W22, Orders::Relaxed),
        ])
    }

    /// Every test.
    pub fn all() -> Vec<Self> {
        [Self::stated(), Self::mutants()].concat()
    }

    fn everywhere(tests: &[(Shape, Orders)]) -> Vec<Self> {
        let tests = tests.iter().flat_map(|&(shape, orders)| {
            PLACES.map(|(scope, space)| Self {
                shape,
                orders,
                scope,
                space,
            })
        });
        tests.collect()
    }

    /// What the roles do.
    pub fn program(&self) -> Program {
        self.shape.program(self.orders)
    }

    /// What a device must have for it.
    pub fn required(&self) -> Vec<AtomicAccess> {
        let roles = self.program().roles.into_iter().flatten();
        roles.map(|step| step.required(self.scope)).collect()
    }
}

/// `MP.release-acquire.device.global`: the name by which it is chosen and reported.
impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            shape,
            orders,
            scope,
            space,
        } = self;
        let (scope, space) = (format!("{scope:?}"), format!("{space:?}"));
        let place = format!("{scope}.{space}").to_lowercase();
        write!(f, "{shape}.{orders}.{place}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Kind, Verdicts};
    use program::{OBSERVATIONS, Outcome};

    fn has(test: &Test, kind: Kind) -> bool {
        let program = test.program();
        let verdicts = Verdicts::of(&program);
        let last = 1u16 << (2 * program.observations());
        let written = |outcome: Outcome| {
            (0..program.observations()).all(|at| outcome.value(at) < program::LARGEST)
        };
        (0..last)
            .map(|code| Outcome(code as u8))
            .any(|outcome| written(outcome) && verdicts.kind(outcome) == kind)
    }

    #[test]
    fn every_stated_test_forbids_something_and_nothing_weak_is_left() {
        for test in Test::stated() {
            assert!(
                has(&test, Kind::Forbidden) && !has(&test, Kind::Weak),
                "{test}"
            );
        }
    }

    #[test]
    fn every_mutant_allows_something_weak() {
        for test in Test::mutants() {
            assert!(has(&test, Kind::Weak), "{test}");
        }
    }

    #[test]
    fn names_are_unique_and_observations_fit() {
        let names: std::collections::BTreeSet<_> =
            Test::all().iter().map(Test::to_string).collect();
        assert_eq!(names.len(), Test::all().len());
        for test in Test::all() {
            assert!(test.program().observations() <= OBSERVATIONS, "{test}");
            assert!(test.program().roles.len().is_power_of_two(), "{test}");
        }
    }
}
