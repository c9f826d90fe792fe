//! Cooperative groups: which unit a mapping puts where, on devices.

mod mappings;
mod model;
mod parents;

use girih_testkit::case::Case;

/// The cases of every part.
pub fn cases() -> Vec<Case> {
    [mappings::cases(), parents::cases()].concat()
}
