//! Nucleus sampling on each device that this build reaches, beside the host's with the same numbers.
#![cfg(any(feature = "cpu", feature = "vulkan", feature = "cuda"))]

use burn::tensor::{Device, Int, Tensor, TensorData};
use girih_examples::device::{NoDevice, Wanted, choose};
use girih_examples::top_p::{BOOK, BYTES, Bigrams, Refused, Sampler, Settings, Uniforms, host};

/// By how much sums in f32 are off, and more.
const ROUNDING: f64 = 1e-5;
const LENGTH: usize = 40;
const PROMPTS: &[u8] = b"At gTo";

/// What the host may draw after a byte, if its sums were off by a little.
fn candidates(logits: &[f32], settings: Settings, uniform: f64) -> Vec<u8> {
    let off = [0.0, -ROUNDING, ROUNDING];
    let of_p = off.map(|off| host::nucleus(logits, settings.p + off, settings.temperature));
    of_p.iter()
        .flat_map(|nucleus| off.map(|off| host::draw(nucleus, uniform + off)))
        .collect()
}

/// Every byte that the device draws is the host's, but where a sum is within its rounding of a boundary.
fn draws_as_the_host(device: &Device, settings: Settings) {
    let bigrams = Bigrams::of(BOOK.as_bytes()).unwrap();
    let logits = bigrams.logits();
    let sampler = Sampler::new(&bigrams, settings, device).unwrap();
    let mut steps = vec![];
    let texts = sampler
        .generate(PROMPTS, LENGTH, &mut Uniforms::new(5), |step| {
            steps.push(step)
        })
        .unwrap();
    assert_eq!(steps, [32, 40]);
    let uniforms: Vec<f32> = Uniforms::new(5).take(LENGTH * PROMPTS.len()).collect();
    let mut off = 0;
    for (at, text) in texts.iter().enumerate() {
        assert_eq!(text.len(), LENGTH);
        let mut last = PROMPTS[at];
        for (step, &byte) in text.iter().enumerate() {
            let row = &logits[usize::from(last) * BYTES..][..BYTES];
            let uniform = f64::from(uniforms[step * PROMPTS.len() + at]);
            let candidates = candidates(row, settings, uniform);
            assert!(
                candidates.contains(&byte),
                "{settings:?}: {byte} after {last} by {uniform}, not {candidates:?}"
            );
            off += usize::from(byte != candidates[0]);
            last = byte;
        }
    }
    assert!(off <= 2, "{settings:?}: {off} bytes are not the host's");
}

/// Drawn by numbers that are evenly spread, each byte comes as often as its weight says.
fn draws_by_weight(device: &Device) {
    const BATCH: usize = 2_000;
    let bigrams = Bigrams::of(BOOK.as_bytes()).unwrap();
    let settings = Settings {
        p: 0.8,
        temperature: 1.0,
    };
    let sampler = Sampler::new(&bigrams, settings, device).unwrap();
    let numbers: Vec<f32> = (0..BATCH)
        .map(|at| (at as f32 + 0.5) / BATCH as f32)
        .collect();
    let numbers = Tensor::from_data(TensorData::new(numbers, [BATCH]), device);
    let bytes = vec![i32::from(b' '); BATCH];
    let bytes = Tensor::<1, Int>::from_data(TensorData::new(bytes, [BATCH]), device);
    let drawn = sampler.step(bytes, numbers).unwrap().into_data();
    let mut counts = [0usize; BYTES];
    drawn
        .iter::<i64>()
        .for_each(|byte| counts[byte as usize] += 1);
    let row = &bigrams.logits()[usize::from(b' ') * BYTES..][..BYTES];
    let nucleus = host::nucleus(row, settings.p, settings.temperature);
    assert!(nucleus.len() > 5, "{nucleus:?}");
    let mass: f64 = nucleus.iter().map(|(_, weight)| weight).sum();
    for (byte, weight) in nucleus {
        let want = weight / mass * BATCH as f64;
        let count = counts[usize::from(byte)];
        assert!(
            (count as f64 - want).abs() <= 1.01,
            "{byte}: {count}, not {want}"
        );
        counts[usize::from(byte)] = 0;
    }
    assert_eq!(counts, [0; BYTES], "bytes that are not of the nucleus");
}

/// The book's code is the sampler's, letter for letter.
#[test]
fn the_book_shows_the_step() {
    let letters = |text: &str| text.split_whitespace().collect::<String>();
    let step = letters(include_str!("../src/top_p/sampler.rs"));
    let (_, section) = BOOK
        .split_once("## From logits to a token")
        .expect("the book has the section");
    let (_, block) = section.split_once("```rust\n").expect("a block");
    let (block, _) = block.split_once("```").expect("its end");
    assert!(step.contains(&letters(block)), "{block}");
}

/// The device, where the machine has it.
fn on(wanted: Wanted) {
    let choice = match choose(wanted) {
        Ok(choice) => choice,
        Err(NoDevice::Absent(_)) => {
            println!("not run: no {wanted} device was found");
            return;
        }
        Err(not_built) => panic!("{not_built}"),
    };
    for (p, temperature) in [(0.9, 1.0), (0.5, 0.7), (1.0, 1.5), (0.0, 1.0)] {
        draws_as_the_host(&choice.device, Settings { p, temperature });
    }
    draws_by_weight(&choice.device);
}

#[cfg(feature = "cpu")]
#[test]
fn draws_as_the_host_on_the_cpu() {
    on(Wanted::Cpu);
}

#[cfg(feature = "vulkan")]
#[test]
fn draws_as_the_host_on_vulkan() {
    on(Wanted::Vulkan);
}

#[cfg(feature = "cuda")]
#[test]
fn draws_as_the_host_on_cuda() {
    on(Wanted::Cuda);
}

#[cfg(feature = "cpu")]
#[test]
fn refuses_settings_that_make_no_sense() {
    let bigrams = Bigrams::of(b"text").unwrap();
    let refused = |p, temperature| {
        let settings = Settings { p, temperature };
        Sampler::new(&bigrams, settings, &Device::cpu()).expect_err("refused")
    };
    assert_eq!(refused(1.5, 1.0), Refused::P(1.5));
    assert_eq!(refused(0.5, 0.0), Refused::Temperature(0.0));
    assert!(matches!(refused(f64::NAN, 1.0), Refused::P(_)));
    assert_eq!(
        refused(0.5, -1.0).to_string(),
        "temperature is -1; it needs a finite number above 0"
    );
}
