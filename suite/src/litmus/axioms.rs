//! The outcomes that a program's orders allow, by the axioms of a memory model.
//!
//! [`allowed`] keeps the candidate executions (who reads from whom, which write of a location is before which) that are
//! consistent by the axioms of RC11, the repaired C++11 model that C++20 took over: happens-before does not contradict
//! the order of any one location (coherence), a read-modify-write reads from the write just before its own (atomicity),
//! and the accesses and fences that are sequentially consistent have one order (SC). RC11's fourth axiom, which forbids
//! load buffering whatever the orders, is left out: neither C++ nor PTX has it. Release sequences are those of C++20.
//! Every role is within the scope of every access, so scopes do not appear.

use std::collections::BTreeSet;

use girih::memory::MemoryOrder;

use super::program::{Access, LOCATIONS, Outcome, Program, Step};
use super::relation::Relation;

/// The outcomes that the program's orders allow.
pub fn allowed(program: &Program) -> BTreeSet<Outcome> {
    let events = Events::of(program);
    let mut outcomes = BTreeSet::new();
    for writes in events.write_orders() {
        for sources in events.sources() {
            let execution = Execution::new(&events, &writes, &sources);
            if execution.is_consistent() {
                outcomes.insert(events.outcome(program, &writes, &sources));
            }
        }
    }
    outcomes
}

/// One step of an execution, or the zero that a location starts with.
struct Event {
    /// `None` for the zeros at the start.
    place: Option<(usize, usize)>,
    step: Step,
}

impl Event {
    fn reads(&self) -> bool {
        self.step.observes() || self.step.access == Access::Exchange
    }

    /// An update that adds nothing writes what it read.
    fn writes(&self) -> bool {
        self.step.writes() || self.step.access == Access::Fetch
    }

    fn updates(&self) -> bool {
        self.reads() && self.writes()
    }

    fn fences(&self) -> bool {
        self.step.access == Access::Fence
    }

    fn same_location(&self, other: &Self) -> bool {
        !self.fences() && !other.fences() && self.step.location == other.step.location
    }
}

struct Events(Vec<Event>);

/// The writes to each location, first to last; and what each event reads from, if it reads.
type Writes = Vec<Vec<usize>>;
type Sources = Vec<Option<usize>>;

impl Events {
    fn of(program: &Program) -> Self {
        let zeros = (0..LOCATIONS).map(|location| Event {
            place: None,
            step: Step::store(location, 0, MemoryOrder::Relaxed),
        });
        let roles = program.roles.iter().enumerate();
        let steps = roles.flat_map(|(role, steps)| {
            steps.iter().enumerate().map(move |(at, &step)| Event {
                place: Some((role, at)),
                step,
            })
        });
        Self(zeros.chain(steps).collect())
    }

    fn writers(&self, location: usize) -> Vec<usize> {
        let events = self.0.iter().enumerate();
        let writers = events.filter(|(_, e)| e.writes() && e.step.location == location);
        writers.map(|(at, _)| at).collect()
    }

    /// Every order of each location's writes in which its zero is first.
    fn write_orders(&self) -> Vec<Writes> {
        product((0..LOCATIONS).map(|location| {
            let writers = self.writers(location);
            let (zero, others) = (writers[0], &writers[1..]);
            let orders = permutations(others).into_iter();
            orders.map(|order| [vec![zero], order].concat()).collect()
        }))
    }

    /// Every choice of a source for each read.
    fn sources(&self) -> Vec<Sources> {
        product(self.0.iter().enumerate().map(|(at, event)| {
            if !event.reads() {
                return vec![None];
            }
            let writers = self.writers(event.step.location).into_iter();
            writers.filter(|&writer| writer != at).map(Some).collect()
        }))
    }

    /// The value that an event leaves in memory, followed through updates that add nothing. Updates that read from each
    /// other in a circle give a value that nothing writes; atomicity has refused them.
    fn value(&self, mut at: usize, sources: &Sources) -> u32 {
        while let (Access::Fetch, Some(source)) = (self.0[at].step.access, sources[at]) {
            at = source;
        }
        self.0[at].step.value
    }

    fn outcome(&self, program: &Program, writes: &Writes, sources: &Sources) -> Outcome {
        let mut observed = vec![0; program.observations()];
        for (event, source) in self.0.iter().zip(sources) {
            if let (true, Some((role, at)), &Some(source)) =
                (event.step.observes(), event.place, source)
            {
                observed[program.observation(role, at)] = self.value(source, sources);
            }
        }
        for (location, order) in writes.iter().enumerate() {
            if let (Some(at), Some(&last)) = (program.last_value(location), order.last()) {
                observed[at] = self.value(last, sources);
            }
        }
        Outcome::of(&observed)
    }

    fn relation(&self, holds: impl Fn(&Event, &Event) -> bool) -> Relation {
        Relation::new(self.0.len(), |a, b| holds(&self.0[a], &self.0[b]))
    }

    /// The events that fit, each related to itself.
    fn those(&self, fits: impl Fn(&Event) -> bool) -> Relation {
        Relation::new(self.0.len(), |a, b| a == b && fits(&self.0[a]))
    }
}

/// A candidate execution: relations by the names that the literature gives them.
struct Execution<'a> {
    events: &'a Events,
    /// Sequenced before: earlier in the same role.
    sb: Relation,
    /// Reads from: from a write to its readers.
    rf: Relation,
    /// Modification order: from a write to the later ones of its location.
    mo: Relation,
    /// From reads: from a read to the writes after the one it read from.
    fr: Relation,
}

impl<'a> Execution<'a> {
    fn new(events: &'a Events, writes: &Writes, sources: &Sources) -> Self {
        let count = events.0.len();
        let rf = Relation::new(count, |a, b| sources[b] == Some(a));
        let mo = Relation::new(count, |a, b| {
            let place = |order: &Vec<usize>, event| order.iter().position(|&e| e == event);
            writes.iter().any(|order| {
                place(order, a)
                    .zip(place(order, b))
                    .is_some_and(|(a, b)| a < b)
            })
        });
        let itself = events.those(|_| true);
        Self {
            events,
            sb: events.relation(|a, b| match (a.place, b.place) {
                (Some((one, early)), Some((other, late))) => one == other && early < late,
                _ => false,
            }),
            fr: rf.inverse().then(&mo).without(&itself),
            rf,
            mo,
        }
    }

    fn is_consistent(&self) -> bool {
        let hb = self.happens_before();
        let eco = self.rf.or(&self.mo).or(&self.fr).closed();
        let atomic =
            self.fr.then(&self.mo).is_irreflexive() && self.rf.and(&self.mo.inverse()).is_empty();
        atomic
            && hb.is_irreflexive()
            && hb.then(&eco).is_irreflexive()
            && self.sequential(&hb, &eco).closed().is_irreflexive()
    }

    /// From a release to the acquires that see it; with what each role does in order, and after the zeros.
    fn happens_before(&self) -> Relation {
        let those = |fits: fn(&Event) -> bool| self.events.those(fits);
        let (writes, reads) = (those(Event::writes), those(Event::reads));
        let fences = those(Event::fences);
        let releases = those(|event| event.step.order.releases());
        let acquires = those(|event| event.step.order.acquires());
        let from_fence = fences.then(&self.sb).or_itself();
        let to_fence = self.sb.then(&fences).or_itself();
        // A write, and the updates that read from it and from each other.
        let sequence = self.rf.then(&those(Event::updates)).closed().or_itself();
        let sw = releases
            .then(&from_fence)
            .then(&writes)
            .then(&sequence)
            .then(&self.rf)
            .then(&reads)
            .then(&to_fence)
            .then(&acquires);
        let start = self
            .events
            .relation(|a, b| a.place.is_none() && b.place.is_some());
        self.sb.or(&sw).or(&start).closed()
    }

    /// What the one order of sequentially consistent accesses and fences has to keep (`psc`).
    fn sequential(&self, hb: &Relation, eco: &Relation) -> Relation {
        let at_one = self.events.relation(Event::same_location);
        let elsewhere = self.sb.without(&at_one);
        let scb = self
            .sb
            .or(&elsewhere.then(hb).then(&elsewhere))
            .or(&hb.and(&at_one))
            .or(&self.mo)
            .or(&self.fr);
        let strict = |event: &Event| event.step.order == MemoryOrder::SeqCst;
        let accesses = self.events.those(strict);
        let fences = self.events.those(|event| strict(event) && event.fences());
        let hb_or_itself = hb.or_itself();
        let base = accesses
            .or(&fences.then(&hb_or_itself))
            .then(&scb)
            .then(&accesses.or(&hb_or_itself.then(&fences)));
        let between = hb.or(&hb.then(eco).then(hb));
        base.or(&fences.then(&between).then(&fences))
    }
}

/// Every way to take one of each.
fn product<T: Clone>(choices: impl Iterator<Item = Vec<T>>) -> Vec<Vec<T>> {
    choices.fold(vec![Vec::new()], |taken, next| {
        let extended = taken.iter().flat_map(|taken| {
            next.iter()
                .map(move |one| [taken.as_slice(), std::slice::from_ref(one)].concat())
        });
        extended.collect()
    })
}

/// Every order of the items.
fn permutations(items: &[usize]) -> Vec<Vec<usize>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let first = (0..items.len()).flat_map(|at| {
        let rest = [&items[..at], &items[at + 1..]].concat();
        let orders = permutations(&rest).into_iter();
        orders.map(move |order| [vec![items[at]], order].concat())
    });
    first.collect()
}
