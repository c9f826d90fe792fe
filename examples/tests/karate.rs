//! The karate demo on each device that this build reaches.
#![cfg(any(feature = "cpu", feature = "vulkan", feature = "cuda"))]

use girih_examples::device::{NoDevice, Wanted, choose};
use girih_examples::karate::{Club, Settings, train};

/// How many members a model trained from `seed` on `device` puts on the side they took.
fn right(device: &burn::tensor::Device, seed: u64) -> usize {
    let club = Club::zachary();
    let settings = Settings {
        seed,
        ..Settings::default()
    };
    let mut steps = 0;
    let mut losses = Vec::new();
    let sides = train(&club, device, settings, |progress| {
        steps += 1;
        assert_eq!(progress.steps, steps);
        losses.extend(progress.loss);
    })
    .unwrap();
    assert_eq!(steps, settings.steps);
    let (first, last) = (losses[0], losses[losses.len() - 1]);
    assert!(last < first / 4.0, "the loss went from {first} to {last}");
    club.len() - club.mistakes(&sides).len()
}

/// Ten seeds on the device, where the machine has it.
fn ten_seeds(wanted: Wanted) {
    let choice = match choose(wanted) {
        Ok(choice) => choice,
        Err(NoDevice::Absent(_)) => {
            println!("not run: no {wanted} device was found");
            return;
        }
        Err(not_built) => panic!("{not_built}"),
    };
    let right: Vec<usize> = (0..10).map(|seed| right(&choice.device, seed)).collect();
    println!("{}: {right:?} of 34", choice.name);
    assert!(right[0] >= 32, "{right:?}");
    assert!(right.iter().all(|&right| right >= 31), "{right:?}");
}

#[cfg(feature = "cpu")]
#[test]
fn ten_seeds_find_the_sides_on_the_cpu() {
    ten_seeds(Wanted::Cpu);
}

#[cfg(feature = "vulkan")]
#[test]
fn ten_seeds_find_the_sides_on_vulkan() {
    ten_seeds(Wanted::Vulkan);
}

#[cfg(feature = "cuda")]
#[test]
fn ten_seeds_find_the_sides_on_cuda() {
    ten_seeds(Wanted::Cuda);
}
