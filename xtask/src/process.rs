//! Child processes: run, capture, watch.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::error::{Error, Result};

/// How many lines of a failed command's error output go into the message.
const TAIL: usize = 20;

/// Runs `command` on this process's own input and outputs.
pub fn run(command: &mut Command) -> Result<()> {
    let status = start(command)?.wait();
    check(command, status.map_err(start_error(command))?, "")
}

/// Runs `command` and returns what it printed; its error output is shown only where it fails.
pub fn capture(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(start_error(command))?;
    check(
        command,
        output.status,
        &String::from_utf8_lossy(&output.stderr),
    )?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether `command` exists and exits with 0; nothing that it prints is shown.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Runs `command` and hands over each line of its standard output as it comes.
pub fn watch(command: &mut Command, mut line: impl FnMut(&str)) -> Result<ExitStatus> {
    let mut child = start(command.stdout(Stdio::piped()))?;
    if let Some(stdout) = child.stdout.take() {
        for bytes in BufReader::new(stdout).split(b'\n') {
            let bytes = bytes.map_err(start_error(command))?;
            line(String::from_utf8_lossy(&bytes).trim_end_matches('\r'));
        }
    }
    child.wait().map_err(start_error(command))
}

/// Starts `command`.
pub fn start(command: &mut Command) -> Result<Child> {
    command.spawn().map_err(start_error(command))
}

/// An error where `status` is not success; `output` is cut to its last lines.
pub fn check(command: &Command, status: ExitStatus, output: &str) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    let lines: Vec<&str> = output.lines().collect();
    Err(Error::Command {
        command: describe(command),
        status,
        output: lines[lines.len().saturating_sub(TAIL)..].join("\n"),
    })
}

/// The program and its arguments as one would type them, its folder left out.
pub fn describe(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    std::iter::once(name)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

fn start_error(command: &Command) -> impl Fn(std::io::Error) -> Error + use<> {
    let command = describe(command);
    move |source| Error::Start {
        command: command.clone(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn capture_returns_standard_output() {
        assert_eq!(
            capture(&mut shell("echo one; echo two >&2")).unwrap(),
            "one\n"
        );
    }

    #[test]
    fn a_failure_carries_the_status_and_the_end_of_the_error_output() {
        let error = capture(&mut shell("seq 1 30 >&2; exit 3"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("exit status: 3"), "{error}");
        assert!(error.ends_with("29\n  30"), "{error}");
        assert!(!error.contains("\n  10\n"), "{error}");
    }

    #[test]
    fn watch_sees_every_line_and_the_status() {
        let mut lines = Vec::new();
        let status = watch(&mut shell("printf 'a\\nb'; exit 2"), |line| {
            lines.push(line.to_owned())
        });
        assert_eq!(lines, ["a", "b"]);
        assert_eq!(status.unwrap().code(), Some(2));
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&mut Command::new("girih-no-such-program")).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("`girih-no-such-program` could not be started")
        );
    }
}
