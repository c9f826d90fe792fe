//! Tiles on devices: every operation, on every kind of group, against the host.

mod compare;
mod elements;
#[cfg(feature = "offline")]
pub mod instructions;
mod keeps;
mod model;
mod moves;
mod positions;
mod products;
mod reals;
mod reductions;
mod refusals;
mod scans;
mod softmax;
mod speed;
mod tensor;

use girih_testkit::case::Case;

/// The cases of every part.
pub fn cases() -> Vec<Case> {
    [
        elements::cases(),
        compare::cases(),
        reals::cases(),
        moves::cases(),
        reductions::cases(),
        positions::cases(),
        products::cases(),
        tensor::cases(),
        scans::cases(),
        keeps::cases(),
        softmax::cases(),
        refusals::cases(),
        speed::cases(),
    ]
    .concat()
}
