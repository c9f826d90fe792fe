//! Cooperative groups on devices: which unit a mapping puts where, and what units of a group do together.

mod clusters;
mod collectives;
#[cfg(feature = "offline")]
pub mod costs;
mod elements;
#[cfg(feature = "offline")]
pub mod instructions;
mod mappings;
mod model;
mod parents;
mod rakes;
mod splits;
mod votes;
mod waits;

use girih_testkit::case::Case;

/// The cases of every part.
pub fn cases() -> Vec<Case> {
    [
        mappings::cases(),
        parents::cases(),
        collectives::cases(),
        elements::cases(),
        rakes::cases(),
        clusters::cases(),
        votes::cases(),
        waits::cases(),
    ]
    .concat()
}
