//! Atomic accesses with orders and scopes: values, refusals, and the instructions that come out.

#[cfg(feature = "offline")]
pub mod block_instructions;
mod blocks;
#[cfg(feature = "offline")]
pub mod instructions;
#[cfg(feature = "offline")]
pub mod languages;
mod model;
mod operations;
mod orders;
mod refusals;
mod views;

use girih_testkit::case::Case;

/// Every case of the module.
pub fn cases() -> Vec<Case> {
    [
        operations::cases(),
        orders::cases(),
        views::cases(),
        refusals::cases(),
        blocks::cases(),
    ]
    .concat()
}
