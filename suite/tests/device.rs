//! The suite as `cargo test` runs it: every case on every device of this build that the machine has, and the compile checks
//! that need none.

use std::process::ExitCode;

use girih_suite::trials;
use girih_testkit::DeviceKind;
use libtest_mimic::Arguments;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let (devices, absent) = trials::devices(DeviceKind::built());
    for error in absent {
        eprintln!("{error}");
    }
    let mut trials = trials::device_trials(&devices);
    trials.extend(trials::offline_trials());
    libtest_mimic::run(&arguments, trials).exit_code()
}
