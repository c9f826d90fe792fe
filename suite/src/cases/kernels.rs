//! The launchers: every argument's kinds against a host model, refusals, and what a device keeps after them.

mod along;
mod compact;
pub mod experts;
mod explain;
mod gather;
mod histogram;
pub mod hopper;
mod keys;
pub mod matmul;
mod memory;
mod misuse;
pub(super) mod model;
mod nothing;
mod paged;
mod parts;
mod random_lists;
mod refusals;
mod runs;
pub mod scan;
mod scatter;
pub mod segment;
mod sort;
mod sort_by;
mod sparse;
mod top_k;
mod unique;

use girih_testkit::case::Case;

/// Every case of the launchers.
pub fn cases() -> Vec<Case> {
    [
        along::cases(),
        compact::cases(),
        experts::cases(),
        explain::cases(),
        gather::cases(),
        matmul::all_cases(),
        misuse::cases(),
        histogram::cases(),
        hopper::all_cases(),
        memory::cases(),
        memory::rows::cases(),
        nothing::cases(),
        random_lists::cases(),
        scatter::cases(),
        paged::cases(),
        parts::cases(),
        refusals::cases(),
        runs::cases(),
        scan::cases(),
        segment::cases(),
        segment::bag::cases(),
        segment::bag_gradient::cases(),
        segment::explain::cases(),
        segment::gather::cases(),
        segment::gradient::cases(),
        segment::long::cases(),
        sort::cases(),
        sort_by::cases(),
        sparse::cases(),
        top_k::cases(),
        top_k::paths::cases(),
        unique::cases(),
    ]
    .concat()
}
