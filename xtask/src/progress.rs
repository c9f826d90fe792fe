//! What a person sees during a long step: a bar or a spinner on a terminal, one line elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// A step whose end is not known beforehand.
pub fn spinner(what: &str) -> ProgressBar {
    announce(what);
    let bar = ProgressBar::new_spinner().with_message(what.to_owned());
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

/// A download of `bytes` bytes.
pub fn download(what: &str, bytes: u64) -> ProgressBar {
    announce(what);
    let style = ProgressStyle::with_template("{msg} [{bar:30}] {bytes}/{total_bytes} {eta}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(bytes)
        .with_style(style)
        .with_message(what.to_owned())
}

/// indicatif draws nothing where standard error is not a terminal; a log deserves a line.
fn announce(what: &str) {
    if !std::io::stderr().is_terminal() {
        eprintln!("{what}");
    }
}
