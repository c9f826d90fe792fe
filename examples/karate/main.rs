//! Trains a graph convolution on Zachary's karate club and draws what it found.
//!
//! ```text
//! cargo run --example karate --features cpu,vulkan -- --device auto --out karate.svg
//! ```
//!
//! Two of the 34 members' sides are told, the instructor's and the administrator's; the model finds
//! the others' from who is a friend of whom. Messages between friends go through girih's gather and
//! scatter-add, with gradients, in Burn.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use girih_examples::device::{Wanted, choose};
use girih_examples::karate::{Club, Faction, Settings, picture, train};
use indicatif::{ProgressBar, ProgressStyle};

/// Find the sides of a club's split with a graph convolution on girih's gather and scatter.
#[derive(Debug, Parser)]
#[command(name = "karate")]
struct Arguments {
    /// Where to train: auto (the best device there is), cpu, vulkan or cuda.
    #[arg(long, default_value_t = Wanted::Auto, value_name = "DEVICE")]
    device: Wanted,
    /// Steps of the optimiser.
    #[arg(long, default_value_t = Settings::default().steps)]
    steps: usize,
    /// What the first weights are drawn from.
    #[arg(long, default_value_t = Settings::default().seed)]
    seed: u64,
    /// The picture to write.
    #[arg(long, default_value = "karate.svg", value_name = "FILE")]
    out: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("karate: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let club = Club::zachary();
    let choice = choose(arguments.device)?;
    println!("device    {}", choice.name);
    println!(
        "club      {} members, {} friendships, the sides of two told",
        club.len(),
        club.ties.len()
    );

    let settings = Settings {
        steps: arguments.steps,
        seed: arguments.seed,
        ..Settings::default()
    };
    let start = Instant::now();
    let bar = progress_bar(settings.steps);
    let sides = train(&club, &choice.device, settings, |progress| {
        if let Some(loss) = progress.loss {
            bar.set_message(format!("loss {loss:.4}"));
        }
        bar.set_position(progress.steps as u64);
    })?;
    bar.finish();

    report(&club, &sides, start.elapsed().as_secs_f64());
    write(&arguments.out, &picture(&club, &sides))?;
    println!("picture   {}", arguments.out.display());
    Ok(())
}

fn progress_bar(steps: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("training  {bar:32} {pos}/{len}  {msg}")
        .expect("the template is a constant that the first run shows to be right");
    ProgressBar::new(steps as u64).with_style(style)
}

fn report(club: &Club, sides: &[Faction], seconds: f64) {
    let mistakes = club.mistakes(sides);
    let right = club.len() - mistakes.len();
    println!(
        "accuracy  {right} of {} ({:.1} %) in {seconds:.1} s",
        club.len(),
        100.0 * right as f64 / club.len() as f64
    );
    for member in mistakes {
        println!(
            "mistake   member {}: joined {}, predicted {}",
            member + 1,
            club.factions[member].name(),
            sides[member].name()
        );
    }
}

fn write(path: &Path, drawing: &svg::Document) -> Result<(), Box<dyn Error>> {
    svg::save(path, drawing).map_err(|error| format!("{}: {error}", path.display()).into())
}
