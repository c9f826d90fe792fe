//! What lies around the products of a mixture of experts: routers, sums by token, activations.

pub mod activations;
#[cfg(feature = "offline")]
pub mod compiled;
mod plan;
mod router;
mod sums;

use girih_testkit::case::Case;

/// Every case of this subject.
pub fn cases() -> Vec<Case> {
    [
        activations::cases(),
        plan::cases(),
        router::cases(),
        sums::cases(),
    ]
    .concat()
}

/// An error's words are those.
fn worded(found: &str, wanted: &str) -> Result<(), String> {
    match found == wanted {
        true => Ok(()),
        false => Err(format!("{found:?}, not {wanted:?}")),
    }
}
