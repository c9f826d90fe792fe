//! The algebra of layouts: operations that make layouts of layouts, each with the law that its result obeys.
//!
//! Laws speak of layouts as functions of the linear coordinate. A result leaf is static when it was computed from
//! static leaves alone; the values of dynamic leaves decide only which leaves there are.

mod coalesce;
mod complement;
mod composition;
mod divide;
mod extension;
mod inverse;
mod nullspace;
mod product;
mod recast;
mod vector;

/// The greatest common divisor; that of 0 and a number is the number.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    match b {
        0 => a,
        _ => gcd(b, a % b),
    }
}
