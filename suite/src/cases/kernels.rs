//! The launchers: every argument's kinds against a host model, refusals, and what a device keeps after them.

mod compact;
mod gather;
mod model;
mod refusals;
pub mod scan;
mod scatter;

use girih_testkit::case::Case;

/// Every case of the launchers.
pub fn cases() -> Vec<Case> {
    [
        compact::cases(),
        gather::cases(),
        scatter::cases(),
        scan::cases(),
        refusals::cases(),
    ]
    .concat()
}
