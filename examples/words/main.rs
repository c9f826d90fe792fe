//! Learns vectors for the words of girih's own book, and draws how the loss fell.
//!
//! ```text
//! cargo run --example words --features cpu,vulkan -- --device auto --out words.svg
//! ```
//!
//! Skip-gram with negative sampling: each step looks up some hundred rows of two tables through girih's embedding, and changes
//! those rows alone, by row-sparse gradients and Adam, in Burn.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use girih_examples::device::{Wanted, choose};
use girih_examples::words::{Corpus, Settings, Vectors, plot, train};
use indicatif::{ProgressBar, ProgressStyle};

/// Learn vectors for the words of girih's own book with row-sparse gradients.
#[derive(Debug, Parser)]
#[command(name = "words")]
struct Arguments {
    /// Where to train: auto (the best device there is), cpu, vulkan or cuda.
    #[arg(long, default_value_t = Wanted::Auto, value_name = "DEVICE")]
    device: Wanted,
    /// Steps of the optimiser, of 256 pairs of words each.
    #[arg(long, default_value_t = Settings::default().steps)]
    steps: usize,
    /// What the first vectors and the pairs are drawn from.
    #[arg(long, default_value_t = Settings::default().seed)]
    seed: u64,
    /// Words to show the nearest words of.
    #[arg(long, default_values_t = ["tile".to_owned(), "unit".to_owned(), "memory".to_owned()], value_name = "WORD")]
    near: Vec<String>,
    /// The picture to write.
    #[arg(long, default_value = "words.svg", value_name = "FILE")]
    out: PathBuf,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("words: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let corpus = Corpus::book();
    let near = numbers(&corpus, &arguments.near)?;
    let choice = choose(arguments.device)?;
    println!("device    {}", choice.name);
    println!(
        "text      {} words, {} of them different",
        corpus.len(),
        corpus.words().len()
    );

    let settings = Settings {
        steps: arguments.steps,
        seed: arguments.seed,
        ..Settings::default()
    };
    let start = Instant::now();
    let bar = progress_bar(settings.steps);
    let mut losses = vec![];
    let vectors = train(&corpus, &choice.device, settings, |progress| {
        if let Some(loss) = progress.loss {
            losses.push((progress.steps, loss));
            bar.set_message(format!("loss {loss:.4}"));
        }
        bar.set_position(progress.steps as u64);
    })?;
    bar.finish();

    if let (Some(first), Some(last)) = (losses.first(), losses.last()) {
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "loss      {:.4} to {:.4} in {seconds:.1} s",
            first.1, last.1
        );
    }
    report(&corpus, &vectors, &near);
    write(&arguments.out, &plot(&losses))?;
    println!("picture   {}", arguments.out.display());
    Ok(())
}

/// The numbers of words that are known.
fn numbers(corpus: &Corpus, words: &[String]) -> Result<Vec<usize>, String> {
    let number = |word: &String| {
        let number = corpus.number(&word.to_lowercase());
        number.ok_or_else(|| format!("--near {word}: the text has it not, or too rarely"))
    };
    words.iter().map(number).collect()
}

fn progress_bar(steps: usize) -> ProgressBar {
    let style = ProgressStyle::with_template("training  {bar:32} {pos}/{len}  {msg}")
        .expect("the template is a constant that the first run shows to be right");
    ProgressBar::new(steps as u64).with_style(style)
}

fn report(corpus: &Corpus, vectors: &Vectors, words: &[usize]) {
    for &word in words {
        let near: Vec<String> = vectors
            .nearest(word, 5)
            .into_iter()
            .map(|(other, cosine)| format!("{} {cosine:.2}", corpus.words()[other]))
            .collect();
        println!("near      {}: {}", corpus.words()[word], near.join(", "));
    }
}

fn write(path: &Path, drawing: &svg::Document) -> Result<(), Box<dyn Error>> {
    svg::save(path, drawing).map_err(|error| format!("{}: {error}", path.display()).into())
}
