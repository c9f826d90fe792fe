//! Writes text byte by byte: which byte follows which is learnt from a text, and the next one is drawn on the device from the
//! nucleus, the fewest likely bytes that have a part p of the mass.
//!
//! ```text
//! cargo run --example top_p --features cpu,vulkan -- --device auto --p 0.9 --seed 1
//! ```
//!
//! Each step is girih's gather, sort, cumulative sum and search on a batch of 256 logits, in Burn.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use girih_examples::device::{Wanted, choose};
use girih_examples::top_p::{BOOK, Bigrams, Refused, Sampler, Settings, Uniforms};
use indicatif::{ProgressBar, ProgressStyle};

/// Write text by nucleus sampling of byte bigrams on a device, with girih's sort, cumulative sum and search.
#[derive(Debug, Parser)]
#[command(name = "top_p")]
struct Arguments {
    /// Where to sample: auto (the best device there is), cpu, vulkan or cuda.
    #[arg(long, default_value_t = Wanted::Auto, value_name = "DEVICE")]
    device: Wanted,
    /// The text to learn from; girih's book, if none is named.
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// The part of the mass that the nucleus has, from 0 (always the likeliest byte) to 1 (any byte).
    #[arg(long, default_value_t = Settings::default().p)]
    p: f64,
    /// Below 1 likely bytes become more so, above 1 less.
    #[arg(long, default_value_t = Settings::default().temperature)]
    temperature: f64,
    /// Bytes of each sample.
    #[arg(long, default_value_t = 240)]
    length: usize,
    /// Samples, drawn together.
    #[arg(long, default_value_t = 3)]
    batch: usize,
    /// What each sample begins with.
    #[arg(long, default_value = "A ", value_name = "TEXT")]
    prompt: String,
    /// What the random numbers come from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("top_p: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let bigrams = Bigrams::of(&text(arguments)?)?;
    let last = *arguments
        .prompt
        .as_bytes()
        .last()
        .ok_or(Refused::NoPrompt)?;
    if !bigrams.has(last) {
        return Err(Refused::Unknown(char::from(last)).into());
    }
    let choice = choose(arguments.device)?;
    println!("device    {}", choice.name);
    let settings = Settings {
        p: arguments.p,
        temperature: arguments.temperature,
    };
    let sampler = Sampler::new(&bigrams, settings, &choice.device)?;

    let bar = progress_bar(arguments.length);
    let start = Instant::now();
    let texts = sampler.generate(
        &vec![last; arguments.batch],
        arguments.length,
        &mut Uniforms::new(arguments.seed),
        |steps| bar.set_position(steps as u64),
    )?;
    bar.finish_and_clear();
    println!(
        "sampled   {} x {} bytes, p {}, temperature {}, in {:.1} s",
        arguments.batch,
        arguments.length,
        settings.p,
        settings.temperature,
        start.elapsed().as_secs_f64()
    );
    for text in texts {
        println!("\n{}{}", arguments.prompt, String::from_utf8_lossy(&text));
    }
    Ok(())
}

fn text(arguments: &Arguments) -> Result<Vec<u8>, Box<dyn Error>> {
    match &arguments.text {
        None => Ok(BOOK.into()),
        Some(path) => {
            std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()).into())
        }
    }
}

fn progress_bar(length: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("sampling  {bar:32} {pos}/{len}")
        .expect("the template is a constant that the first run shows to be right");
    ProgressBar::new(length as u64).with_style(style)
}
