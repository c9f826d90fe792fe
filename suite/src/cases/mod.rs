//! The tests, one module a subject. A new module lists its cases with `cases!` and is added to the list here.

use girih_testkit::case::Case;

pub mod smoke;

/// Every case that runs on a device.
pub fn device_cases() -> Vec<Case> {
    [smoke::cases()].concat()
}
