//! `scatter_into`.

mod calls;
mod host;
mod options;
mod paths;
mod spread;

use girih_testkit::case::Case;

/// Every case of scatters.
pub fn cases() -> Vec<Case> {
    [calls::cases(), paths::cases(), options::cases()].concat()
}
