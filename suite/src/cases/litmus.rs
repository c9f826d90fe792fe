//! The litmus tests, with as many trials as a test run has time for: `girih-suite litmus` plays as many as it is told to.

use girih::device::Device;
use girih_testkit::{DeviceKind, Rt, cases};

use crate::litmus::model::Kind;
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
const TRIALS: u64 = 200_000;
/// Times that many trials, after which what was not seen is taken to be impossible.
const PATIENCE: u64 = 50;

/// Plays a test until it has had its trials and was seen in every interleaving, and holds it to what its orders forbid.
fn hold(rt: &Rt, test: &Test, also: impl Fn(&Played) -> bool) -> Result<Option<Played>, Error> {
    let complete = |played: &Played| played.unseen().is_empty() && also(played);
    let played = Harness::new(rt).play(test, |played| {
        let trials = played.trials();
        trials >= TRIALS && complete(played) || trials >= TRIALS * PATIENCE
    });
    let played = match played {
        Ok(played) => played,
        Err(Error::Refused(_)) if !keeps(rt, test) => return Ok(None),
        Err(error) => return Err(error),
    };
    let words = |outcome| played.program.describe(outcome);
    for (outcome, count) in played.seen(Kind::Forbidden) {
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

fn keeps(rt: &Rt, test: &Test) -> bool {
    let device = Device::of(&rt.client);
    test.required()
        .iter()
        .all(|access| device.has_atomic(access))
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

/// Store buffering's weak outcome must come on the host, whose cores have store buffers; elsewhere it may.
fn buffers_stores_without_orders(rt: &Rt) -> Result<(), Error> {
    let buffers = |played: &Played| !played.seen(Kind::Weak).is_empty();
    let host = rt.kind == DeviceKind::Cpu;
    let mut tests = Test::mutants();
    tests.retain(|test| test.shape == Shape::Sb);
    for test in tests {
        let played = hold(rt, &test, |played| !host || buffers(played))?;
        let Some(played) = played.filter(|_| host) else {
            continue;
        };
        let trials = played.trials();
        assert!(
            buffers(&played),
            "{test}: no store was buffered in {trials} trials"
        );
    }
    Ok(())
}

/// Every test that needs an order or scope that the device lacks is refused, with the first such access named.
fn refuses_by_name_what_the_device_cannot_keep(rt: &Rt) {
    let device = Device::of(&rt.client);
    for test in Test::all().into_iter().filter(|test| !keeps(rt, test)) {
        let lacking = test
            .required()
            .into_iter()
            .find(|access| !device.has_atomic(access));
        let named = format!("has no {}", lacking.expect("an access that it cannot keep"));
        match Harness::new(rt).play(&test, |_| true) {
            Err(Error::Refused(refusal)) => {
                let said = refusal.to_string();
                assert!(said.contains(&named), "{test}: {said}; should say: {named}");
            }
            other => panic!("{test} was not refused: {other:?}"),
        }
    }
}
