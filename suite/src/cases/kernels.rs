//! The launchers: every argument's kinds against a host model, refusals, and what a device keeps after them.

mod compact;
mod explain;
mod gather;
mod keys;
pub mod matmul;
pub(super) mod model;
mod refusals;
pub mod scan;
mod scatter;
mod sort;
mod top_k;

use girih_testkit::case::Case;

/// Every case of the launchers.
pub fn cases() -> Vec<Case> {
    [
        compact::cases(),
        explain::cases(),
        gather::cases(),
        matmul::all_cases(),
        scatter::cases(),
        refusals::cases(),
        scan::cases(),
        sort::cases(),
        top_k::cases(),
    ]
    .concat()
}
