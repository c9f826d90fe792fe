//! Vector files from the command line.

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use girih_testkit::{
    DeviceKind, Error, Rt,
    vectors::{Report, run_file},
};

/// Answers the questions of `files` on a device and prints what became of them, with the counts as the last line.
///
/// The exit code is a failure if an answer was wrong or a file could not be read.
pub fn main(files: &[PathBuf], device: Option<DeviceKind>) -> ExitCode {
    let rt = match choose(device) {
        Ok(rt) => rt,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let mut total = Report::default();
    let mut unread = false;
    for file in files {
        match run_file(file, rt) {
            Ok(report) => {
                print(file, rt, &report);
                total.add(&report);
            }
            Err(error) => {
                eprintln!("{error}");
                unread = true;
            }
        }
    }
    println!("{}", total.counts());
    if unread || !total.failed.is_empty() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn choose(device: Option<DeviceKind>) -> Result<Option<&'static Rt>, Error> {
    match device {
        Some(kind) => Rt::open(kind).map(Some),
        None => Ok(DeviceKind::ALL
            .into_iter()
            .rev()
            .find_map(|kind| Rt::open(kind).ok())),
    }
}

fn print(file: &Path, rt: Option<&Rt>, report: &Report) {
    let place = rt.map_or("the host", Rt::name);
    println!("{} on {place}: {}", file.display(), report.counts());
    for (line, message) in &report.failed {
        println!("  line {line} failed: {message}");
    }
    for (reason, count) in &report.skipped {
        println!("  {count} skipped: {reason}");
    }
}
