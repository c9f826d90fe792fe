//! What a program may show: by sequential consistency, and by the orders that it states.
//!
//! Both are computed from the program that the kernels run: [`interleaved`] plays every interleaving of the roles' steps,
//! [`allowed`] keeps the executions that the axioms of the memory model do.

use std::collections::BTreeSet;

pub use super::axioms::allowed;
use super::program::{LOCATIONS, Outcome, Program};

/// How an outcome stands to the orders of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Some interleaving gives it.
    Sc,
    /// No interleaving gives it, and the orders do not forbid it.
    Weak,
    /// The orders forbid it, or nothing writes such values.
    Forbidden,
}

/// The outcomes of a program.
#[derive(Clone, Debug)]
pub struct Verdicts {
    /// Those that some interleaving gives.
    pub sc: BTreeSet<Outcome>,
    /// Those that its orders allow.
    pub allowed: BTreeSet<Outcome>,
}

impl Verdicts {
    /// Those of a program.
    pub fn of(program: &Program) -> Self {
        Self {
            sc: interleaved(program),
            allowed: allowed(program),
        }
    }

    /// How an outcome stands.
    pub fn kind(&self, outcome: Outcome) -> Kind {
        match (self.sc.contains(&outcome), self.allowed.contains(&outcome)) {
            (true, _) => Kind::Sc,
            (false, true) => Kind::Weak,
            (false, false) => Kind::Forbidden,
        }
    }
}

/// The outcomes that sequential consistency gives.
pub fn interleaved(program: &Program) -> BTreeSet<Outcome> {
    let mut outcomes = BTreeSet::new();
    let start = State {
        next: vec![0; program.roles.len()],
        memory: [0; LOCATIONS],
        observed: vec![0; program.observations()],
    };
    interleave(program, &start, &mut outcomes);
    outcomes
}

#[derive(Clone)]
struct State {
    /// The next step of each role.
    next: Vec<usize>,
    memory: [u32; LOCATIONS],
    observed: Vec<u32>,
}

fn interleave(program: &Program, state: &State, outcomes: &mut BTreeSet<Outcome>) {
    let mut ended = true;
    for (role, steps) in program.roles.iter().enumerate() {
        let at = state.next[role];
        let Some(step) = steps.get(at) else { continue };
        ended = false;
        let mut after = state.clone();
        after.next[role] += 1;
        if step.observes() {
            after.observed[program.observation(role, at)] = state.memory[step.location];
        }
        if step.writes() {
            after.memory[step.location] = step.value;
        }
        interleave(program, &after, outcomes);
    }
    if ended {
        let mut observed = state.observed.clone();
        for (location, &value) in state.memory.iter().enumerate() {
            if let Some(at) = program.last_value(location) {
                observed[at] = value;
            }
        }
        outcomes.insert(Outcome::of(&observed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::litmus::shapes::{Orders, Shape};

    fn kind(shape: Shape, orders: Orders, values: &[u32]) -> Kind {
        Verdicts::of(&shape.program(orders)).kind(Outcome::of(values))
    }

    /// The outcome that gives each shape its name, as the literature states it.
    const TELLING: [(Shape, &[u32]); 7] = [
        (Shape::Mp, &[1, 0]),
        (Shape::Sb, &[0, 0]),
        (Shape::Lb, &[1, 1]),
        (Shape::Iriw, &[1, 0, 1, 0]),
        (Shape::CoRr, &[1, 0]),
        (Shape::CoWw, &[2, 1, 2]),
        (Shape::W22, &[1, 1]),
    ];

    #[test]
    fn relaxed_orders_forbid_what_coherence_forbids() {
        for (shape, telling) in TELLING {
            let want = match shape {
                Shape::CoRr | Shape::CoWw => Kind::Forbidden,
                _ => Kind::Weak,
            };
            assert_eq!(kind(shape, Orders::Relaxed, telling), want, "{shape}");
        }
        assert_eq!(
            kind(Shape::CoWw, Orders::Relaxed, &[0, 0, 1]),
            Kind::Forbidden
        );
    }

    #[test]
    fn release_and_acquire_forbid_passing_and_load_buffering_alone() {
        for (shape, telling) in TELLING {
            let want = match shape {
                Shape::Sb | Shape::Iriw | Shape::W22 => Kind::Weak,
                _ => Kind::Forbidden,
            };
            for orders in [Orders::ReleaseAcquire, Orders::AcqRelUpdates] {
                // Updates of one location read from each other, which orders more than loads and stores do.
                if orders == Orders::AcqRelUpdates && want == Kind::Weak {
                    continue;
                }
                assert_eq!(kind(shape, orders, telling), want, "{shape} {orders}");
            }
        }
        let fences = Orders::ReleaseAcquireFences;
        assert_eq!(kind(Shape::Mp, fences, &[1, 0]), Kind::Forbidden);
        assert_eq!(kind(Shape::Sb, fences, &[0, 0]), Kind::Weak);
    }

    #[test]
    fn sequential_consistency_forbids_every_telling_outcome() {
        for (shape, telling) in TELLING {
            for orders in [Orders::SeqCst, Orders::SeqCstFences] {
                assert_eq!(
                    kind(shape, orders, telling),
                    Kind::Forbidden,
                    "{shape} {orders}"
                );
            }
        }
    }

    #[test]
    fn seqcst_everywhere_leaves_interleavings_alone() {
        for shape in Shape::ALL {
            let verdicts = Verdicts::of(&shape.program(Orders::SeqCst));
            assert_eq!(verdicts.sc, verdicts.allowed, "{shape}");
        }
    }

    #[test]
    fn every_interleaving_is_allowed() {
        for shape in Shape::ALL {
            for orders in Orders::ALL {
                let verdicts = Verdicts::of(&shape.program(orders));
                assert!(verdicts.sc.is_subset(&verdicts.allowed), "{shape} {orders}");
                assert!(verdicts.sc.len() > 1, "{shape} {orders}");
            }
        }
    }

    #[test]
    fn interleavings_are_all_there() {
        let count = |shape: Shape| interleaved(&shape.program(Orders::Relaxed)).len();
        assert_eq!(Shape::ALL.map(count), [3, 3, 3, 15, 3, 6, 3]);
    }
}
