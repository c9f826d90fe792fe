//! `girih-suite litmus`.

use std::{
    fs,
    io::IsTerminal,
    path::{Path, PathBuf},
    process::ExitCode,
};

use girih::device::Device;
use girih_testkit::{DeviceKind, Rt};
use indicatif::{ProgressBar, ProgressStyle};

use super::harness::{Error, Harness};
use super::report::{Line, Record};
use super::shapes::Shape;
use super::{Test, model::Kind};

/// What to play, and where.
#[derive(Clone, Debug, clap::Args)]
pub struct Options {
    /// Play the tests whose name contains one of these
    pub filters: Vec<String>,
    /// Where; else on the first of cuda, wgsl, vulkan and cpu that is there
    #[arg(long, value_name = "DEVICE")]
    pub device: Option<DeviceKind>,
    /// Trials of each test, at least
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    pub trials: u64,
    /// Only this shape (MP, SB, LB, IRIW, CoRR, CoWW or 2+2W); may be repeated
    #[arg(long = "shape", value_name = "SHAPE")]
    pub shapes: Vec<Shape>,
    /// Also write what was observed here, as JSON
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Name the tests without playing them
    #[arg(long)]
    pub list: bool,
}

impl Options {
    fn tests(&self) -> Vec<Test> {
        let mut tests = Test::all();
        tests.retain(|test| self.shapes.is_empty() || self.shapes.contains(&test.shape));
        tests.retain(|test| {
            let name = test.to_string();
            self.filters.is_empty() || self.filters.iter().any(|part| name.contains(part))
        });
        tests
    }
}

/// Plays the tests chosen, prints what each showed, and writes the record if asked to.
///
/// Fails where the device is absent, no test was played, a forbidden outcome was seen, or a sequentially consistent one
/// was not.
pub fn main(options: &Options) -> ExitCode {
    match run(options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<bool, String> {
    let tests = options.tests();
    if options.list {
        for test in &tests {
            println!("{test:<44} {}", test.program());
        }
        return Ok(true);
    }
    let rt = crate::bench::choose(options.device)?;
    let mut record = Record {
        command: command_line(),
        kind: rt.name(),
        device: Device::of(&rt.client).name(),
        lines: Vec::new(),
    };
    println!("{}", record.device);
    let bar = progress(options.trials * tests.len() as u64);
    for test in &tests {
        let line = play(rt, test, options.trials, &bar);
        bar.suspend(|| println!("{line}"));
        record.lines.push(line);
    }
    bar.finish_and_clear();
    println!("{}", record.summary());
    if let Some(path) = &options.out {
        write(&record, path).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let played = record
        .lines
        .iter()
        .any(|line| matches!(line, Line::Played(..)));
    Ok(played && !record.lines.iter().any(Line::is_wrong))
}

fn play(rt: &Rt, test: &Test, trials: u64, bar: &ProgressBar) -> Line {
    let before = bar.position();
    bar.set_message(test.to_string());
    let played = Harness::new(rt).play(test, |so_far| {
        bar.set_position(before + so_far.trials().min(trials));
        // A forbidden outcome is one too many: more trials add nothing.
        so_far.trials() >= trials || !so_far.seen(Kind::Forbidden).is_empty()
    });
    bar.set_position(before + trials);
    match played {
        Ok(played) => Line::Played(*test, Box::new(played)),
        Err(Error::Refused(refusal)) => Line::Refused(*test, refusal.to_string()),
        Err(error) => Line::Failed(*test, error.to_string()),
    }
}

/// The command as it was given, without the folder of the program.
fn command_line() -> String {
    let mut words = std::env::args();
    let program = words.next().unwrap_or_default();
    let program = Path::new(&program).file_name().unwrap_or_default();
    let program = program.to_string_lossy().into_owned();
    [program]
        .into_iter()
        .chain(words)
        .collect::<Vec<_>>()
        .join(" ")
}

/// A bar on a terminal; elsewhere the lines of the tests are the progress.
fn progress(trials: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{msg:44} [{bar:30}] {human_pos}/{human_len} {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(trials).with_style(style)
}

fn write(record: &Record, path: &Path) -> std::io::Result<()> {
    fs::write(path, format!("{:#}\n", record.json()))
}
