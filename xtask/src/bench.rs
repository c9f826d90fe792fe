//! `cargo xtask bench`.

use crate::device::Device;
use crate::error::Result;
use crate::setup::Environment;
use crate::suite::{Choice, Suite};
use crate::{build_set, process};

/// Runs the benchmarks of each device with `arguments`.
pub fn run(named: &[Device], offline: bool, arguments: &[String]) -> Result<()> {
    let choice = Choice::new(named);
    let environment = choice.set_up(offline)?;
    for device in choice.devices() {
        match device {
            Device::Cpu | Device::Vulkan => criterion(device, arguments, &environment)?,
            Device::Wgsl | Device::Cuda => {
                let mut command = Suite::build(device, &environment)?.command("bench");
                process::run(command.args(["--device", device.name()]).args(arguments))?;
            }
        }
    }
    Ok(())
}

/// Criterion's benchmarks of girih's kernels, and of its ops beside Burn's own, whose name starts with the device's.
fn criterion(device: Device, arguments: &[String], environment: &Environment) -> Result<()> {
    let mut command = build_set::cargo();
    command
        .args([
            "bench",
            "--package",
            "girih-bench",
            "--benches",
            "--features",
            "cpu,vulkan",
        ])
        .arg("--")
        .arg(format!("^{device}/"))
        .args(arguments);
    environment.apply(&mut command);
    process::run(&mut command)
}
