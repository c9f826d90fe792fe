//! The words demo on each device that this build reaches.
#![cfg(any(feature = "cpu", feature = "vulkan", feature = "cuda"))]

use girih_examples::device::{NoDevice, Wanted, choose};
use girih_examples::words::{Corpus, Settings, train};

/// Trains on the device, where the machine has it: the loss falls, and a word's vector is its own nearest direction.
fn learns(wanted: Wanted) {
    let choice = match choose(wanted) {
        Ok(choice) => choice,
        Err(NoDevice::Absent(_)) => {
            println!("not run: no {wanted} device was found");
            return;
        }
        Err(not_built) => panic!("{not_built}"),
    };
    let corpus = Corpus::book();
    let settings = Settings {
        steps: 80,
        ..Settings::default()
    };
    let (mut steps, mut losses) = (0, vec![]);
    let vectors = train(&corpus, &choice.device, settings, |progress| {
        steps += 1;
        assert_eq!(progress.steps, steps);
        losses.extend(progress.loss);
    })
    .unwrap();
    assert_eq!(steps, settings.steps);
    let (first, last) = (losses[0], losses[losses.len() - 1]);
    println!("{}: the loss went from {first} to {last}", choice.name);
    // Before the first step every pair costs six times ln 2.
    assert!((first - 6.0 * 2f32.ln()).abs() < 0.01, "{first}");
    assert!(last < 0.85 * first, "the loss went from {first} to {last}");
    let tile = corpus.number("tile").unwrap();
    assert_eq!(vectors.nearest(tile, 5).len(), 5);
    assert!(vectors.of(tile).iter().all(|value| value.is_finite()));
}

#[cfg(feature = "cpu")]
#[test]
fn the_loss_falls_on_the_cpu() {
    learns(Wanted::Cpu);
}

#[cfg(feature = "vulkan")]
#[test]
fn the_loss_falls_on_vulkan() {
    learns(Wanted::Vulkan);
}

#[cfg(feature = "cuda")]
#[test]
fn the_loss_falls_on_cuda() {
    learns(Wanted::Cuda);
}
