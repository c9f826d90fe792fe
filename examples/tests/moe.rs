//! The mixture of experts on each device that this build reaches: its loss falls.
#![cfg(any(feature = "cpu", feature = "vulkan", feature = "cuda"))]

use girih_examples::device::{NoDevice, Wanted, choose};
use girih_examples::moe::{Settings, Text, train};

fn learns(wanted: Wanted) {
    let choice = match choose(wanted) {
        Ok(choice) => choice,
        Err(NoDevice::Absent(_)) => {
            println!("not run: no {wanted} device was found");
            return;
        }
        Err(not_built) => panic!("{not_built}"),
    };
    let settings = Settings {
        steps: 60,
        ..Settings::default()
    };
    let mut steps = 0;
    let trained = train(&Text::sonnets(), &choice.device, settings, |progress| {
        steps += 1;
        assert_eq!(progress.steps, steps);
    })
    .unwrap();
    let losses = &trained.losses;
    println!("{}: {losses:?}", choice.name);
    let (first, last) = (losses[0].1, losses[losses.len() - 1].1);
    // A guess among the characters costs about 4 nats.
    assert!((3.0..5.0).contains(&first), "the first loss is {first}");
    assert!(last < 0.75 * first, "the loss went from {first} to {last}");
    assert_eq!(trained.sample.chars().count(), settings.context + 60);
}

#[cfg(feature = "cpu")]
#[test]
fn learns_on_the_cpu() {
    learns(Wanted::Cpu);
}

#[cfg(feature = "vulkan")]
#[test]
fn learns_on_vulkan() {
    learns(Wanted::Vulkan);
}

#[cfg(feature = "cuda")]
#[test]
fn learns_on_cuda() {
    learns(Wanted::Cuda);
}
