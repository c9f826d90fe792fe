//! The litmus tests, with as many trials as a test run has time for: `girih-suite litmus` plays as many as it is told to.

#[cfg(feature = "offline")]
pub mod compiled;

use std::sync::{Mutex, PoisonError};

use girih::device::Device;
use girih_testkit::{DeviceKind, Rt, cases};

use crate::litmus::model::{Kind, Verdicts};
use crate::litmus::shapes::{Orders, Shape};
use crate::litmus::{Error, Harness, Played, Test};

cases! {
    passes_messages_by_release_and_acquire,
    passes_messages_by_fences,
    passes_messages_by_updates,
    does_not_buffer_stores_of_one_order,
    does_not_buffer_stores_across_fences,
    does_not_buffer_loads_by_release_and_acquire,
    agrees_on_independent_writes_of_one_order,
    agrees_on_independent_writes_across_fences,
    reads_one_location_forwards,
    writes_one_location_forwards,
    writes_two_locations_in_one_order,
    writes_two_locations_in_order_of_fences,
    plays_every_interleaving_without_orders,
    buffers_stores_without_orders,
    refuses_by_name_what_the_device_cannot_keep,
}

/// Trials of a test, which a software device needs about a tenth of a second for.
const TRIALS: u64 = 100_000;
/// Times that many trials, after which what was not seen is taken to be impossible.
const PATIENCE: u64 = 100;

/// Held while a test is played: partners that share their cores with another test's meet less often.
static CORES: Mutex<()> = Mutex::new(());

/// Plays a test until it has had its trials, was seen in every interleaving and shows what is `wanted`, and holds it to
/// what its orders forbid. Gives nothing where the device rightly refuses it.
fn hold(rt: &Rt, test: &Test, wanted: impl Fn(&Played) -> bool) -> Result<Option<Played>, Error> {
    let cores = CORES.lock().unwrap_or_else(PoisonError::into_inner);
    let complete = |played: &Played| played.unseen().is_empty() && wanted(played);
    let played = Harness::new(rt).play(test, |played| {
        let trials = played.trials();
        trials >= TRIALS && complete(played) || trials >= TRIALS * PATIENCE
    });
    drop(cores);
    let played = match played {
        Ok(played) => played,
        Err(Error::Refused(_)) if lacking(rt, test).is_some() => return Ok(None),
        Err(error) => return Err(error),
    };
    let words = |outcome| played.program.describe(outcome);
    if let Some(&(outcome, count)) = played.seen(Kind::Forbidden).first() {
        panic!("{test}: {} was seen {count} times", words(outcome));
    }
    let trials = played.trials();
    let unseen: Vec<String> = played.unseen().into_iter().map(words).collect();
    assert!(
        unseen.is_empty(),
        "{test}: {unseen:?} was not seen in {trials} trials"
    );
    Ok(Some(played))
}

/// What the device lacks for the test, as the refusal names it.
fn lacking(rt: &Rt, test: &Test) -> Option<String> {
    let device = Device::of(&rt.client);
    let required = test.required().into_iter();
    let mut lacking = required.filter(|access| !device.has_atomic(access));
    lacking.next().map(|access| access.to_string())
}

/// Holds a shape with these orders at every scope, in every memory.
fn hold_everywhere(rt: &Rt, shape: Shape, orders: Orders) -> Result<(), Error> {
    let mut tests = Test::all();
    tests.retain(|test| (test.shape, test.orders) == (shape, orders));
    assert!(!tests.is_empty(), "{shape} {orders} is on no list");
    for test in tests {
        hold(rt, &test, |_| true)?;
    }
    Ok(())
}

fn passes_messages_by_release_and_acquire(rt: &Rt) -> Result<(), Error> {
    hold_everywhere(rt, Shape::Mp, Orders::ReleaseAcquire)
}

fn passes_messages_by_fences(rt: &Rt) -> Result<(), Error> {
    hold_everywhere(rt, Shape::Mp, Orders::ReleaseAcquireFences)
}

fn passes_messages_by_updates(rt: &Rt) -> Result<(), Error> {
    hold_everywhere(rt, Shape::Mp, Orders::AcqRelUpdates)
}

fn does_not_buffer_stores_of_one_order(rt: &Rt) -> Result<(), Error> {
    hold_everywhere(rt, Shape::Sb, Orders::SeqCst)
}

fn does_not_buffer_stores_across_fences(rt: &Rt) -> Result<(), Error> {
    hold_everywhere(rt, Shape::Sb, Orders::SeqCstFences)
}

fn does_not_buffer_loads_by_release_and_acquire(rt: &Rt) -> Result<(), Error> {
    hold_everywhere(rt, Shape::Lb, Orders::ReleaseAcquire)
}

fn agrees_on_independent_writes_of_one_order(rt: &Rt) -> Result<(), Error> {
    hold_everywhere(rt, Shape::Iriw, Orders::SeqCst)
}

fn agrees_on_independent_writes_across_fences(rt: &Rt) -> Result<(), Error> {
    hold_everywhere(rt, Shape::Iriw, Orders::SeqCstFences)
}

fn reads_one_location_forwards(rt: &Rt) -> Result<(), Error> {
    hold_everywhere(rt, Shape::CoRr, Orders::Relaxed)
}

fn writes_one_location_forwards(rt: &Rt) -> Result<(), Error> {
    hold_everywhere(rt, Shape::CoWw, Orders::Relaxed)
}

fn writes_two_locations_in_one_order(rt: &Rt) -> Result<(), Error> {
    hold_everywhere(rt, Shape::W22, Orders::SeqCst)
}

fn writes_two_locations_in_order_of_fences(rt: &Rt) -> Result<(), Error> {
    hold_everywhere(rt, Shape::W22, Orders::SeqCstFences)
}

/// The shapes without their orders, where weak outcomes may come too.
fn plays_every_interleaving_without_orders(rt: &Rt) -> Result<(), Error> {
    for shape in [Shape::Mp, Shape::Lb, Shape::Iriw, Shape::W22] {
        hold_everywhere(rt, shape, Orders::Relaxed)?;
    }
    Ok(())
}

/// Store buffering's weak outcome, which sequential consistency forbids, must come on the host, whose cores have store
/// buffers; elsewhere it may.
fn buffers_stores_without_orders(rt: &Rt) -> Result<(), Error> {
    let ordered = Verdicts::of(&Shape::Sb.program(Orders::SeqCst));
    let buffered = |played: &Played| {
        let weak = played.seen(Kind::Weak).into_iter();
        weak.filter(|&(outcome, _)| ordered.kind(outcome) == Kind::Forbidden)
            .map(|(_, count)| count)
            .sum::<u64>()
    };
    let host = rt.kind == DeviceKind::Cpu;
    let mut tests = Test::mutants();
    tests.retain(|test| test.shape == Shape::Sb);
    for test in tests {
        let played = hold(rt, &test, |played| !host || buffered(played) > 0)?;
        let Some(played) = played.filter(|_| host) else {
            continue;
        };
        let trials = played.trials();
        assert!(
            buffered(&played) > 0,
            "{test}: no store was buffered in {trials} trials"
        );
    }
    Ok(())
}

/// Every test that needs an order, a scope or a memory that the device lacks is refused, and says which.
fn refuses_by_name_what_the_device_cannot_keep(rt: &Rt) {
    for test in Test::all() {
        let Some(lacking) = lacking(rt, &test) else {
            continue;
        };
        match Harness::new(rt).play(&test, |_| true) {
            Err(Error::Refused(refusal)) => {
                let (said, named) = (refusal.to_string(), format!("has no {lacking}"));
                assert!(said.contains(&named), "{test}: {said}; should say: {named}");
            }
            other => panic!("{test} was not refused: {other:?}"),
        }
    }
}
