//! Lists of rows, and where their entries point.

use super::model::{Operand, Random};
use girih_kernels::Bounds;
use girih_testkit::Rt;

/// What becomes of entries out of range, where they are not reported.
pub const RULES: [Bounds; 3] = [Bounds::Mask, Bounds::Clamp, Bounds::Wrap];

/// Where an index points, if anywhere.
pub fn place(index: i64, extent: usize, bounds: Bounds) -> Option<usize> {
    let extent = extent as i64;
    let place = match bounds {
        Bounds::Clamp => index.clamp(0, (extent - 1).max(0)),
        Bounds::Wrap if index < 0 => index + extent,
        _ => index,
    };
    (0..extent).contains(&place).then_some(place as usize)
}

/// Entries on the device.
pub fn list(rt: &Rt, values: &[i64]) -> Operand<i32> {
    Operand::new(
        rt,
        &[values.len()],
        &[1],
        values.iter().map(|&value| value as i32).collect(),
    )
}

/// Entries at random, some of them up to `beyond` out of range.
pub fn indices(count: usize, extent: usize, beyond: i64) -> Vec<i64> {
    let mut random = Random::new(count as u64 * 3 + extent as u64);
    let span = extent + 2 * beyond as usize;
    (0..count)
        .map(|_| random.below(span) as i64 - beyond)
        .collect()
}
