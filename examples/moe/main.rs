//! Trains a small mixture of experts to go on with sonnets, and draws how its loss fell.
//!
//! ```text
//! cargo run --example moe --features cpu,vulkan -- --device auto --out moe.svg
//! ```
//!
//! The model sees a few characters and says which comes next. Each position goes to two of eight experts: girih sorts
//! the routes, multiplies each expert's rows where they are, and adds up what the experts make of them, with gradients, in
//! Burn.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use girih_examples::device::{Wanted, choose};
use girih_examples::moe::{Settings, Text, plot, train};
use indicatif::{ProgressBar, ProgressStyle};

/// Train a character model with a mixture of experts on girih's grouped matrix multiply.
#[derive(Debug, Parser)]
#[command(name = "moe")]
struct Arguments {
    /// Where to train: auto (the best device there is), cpu, vulkan or cuda.
    #[arg(long, default_value_t = Wanted::Auto, value_name = "DEVICE")]
    device: Wanted,
    /// Steps of the optimiser.
    #[arg(long, default_value_t = Settings::default().steps)]
    steps: usize,
    /// What the weights and the batches are drawn from.
    #[arg(long, default_value_t = Settings::default().seed)]
    seed: u64,
    /// A text to learn instead of six of Shakespeare's sonnets.
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// The plot to write.
    #[arg(long, default_value = "moe.svg", value_name = "FILE")]
    out: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("moe: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let settings = Settings {
        steps: arguments.steps,
        seed: arguments.seed,
        ..Settings::default()
    };
    let text = match &arguments.text {
        None => Text::sonnets(),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            Text::new(&text, settings.context)
                .map_err(|reason| format!("{}: {reason}", path.display()))?
        }
    };
    let choice = choose(arguments.device)?;
    println!("device    {}", choice.name);
    println!(
        "text      {} characters, {} different ones",
        text.len(),
        text.alphabet().len()
    );

    let start = Instant::now();
    let style = ProgressStyle::with_template("training  {bar:32} {pos}/{len}  {msg}")
        .expect("the template is a constant that the first run shows to be right");
    let bar = ProgressBar::new(settings.steps as u64).with_style(style);
    let trained = train(&text, &choice.device, settings, |progress| {
        if let Some(loss) = progress.loss {
            bar.set_message(format!("loss {loss:.4}"));
        }
        bar.set_position(progress.steps as u64);
    })?;
    bar.finish();

    let losses = &trained.losses;
    if let (Some(first), Some(last)) = (losses.first(), losses.last()) {
        println!(
            "loss      {:.3} to {:.3} nats a character in {:.1} s",
            first.1,
            last.1,
            start.elapsed().as_secs_f64()
        );
    }
    println!("goes on   {}", trained.sample.replace('\n', " / "));
    svg::save(&arguments.out, &plot(losses, text.alphabet().len()))
        .map_err(|error| format!("{}: {error}", arguments.out.display()))?;
    println!("plot      {}", arguments.out.display());
    Ok(())
}
