//! What layouts are, computed in the simplest way from extents and strides.

use girih_layout::{ComposedLayout, Layout};
use std::collections::HashMap;

/// Extent and stride of each leaf.
pub fn leaves(layout: &Layout) -> Vec<(u64, u64)> {
    let extents = layout.shape().leaves().map(|leaf| leaf.value());
    extents
        .zip(layout.stride().leaves().map(|leaf| leaf.value()))
        .collect()
}

/// The offset at `x`; the last leaf is endless.
pub fn at(layout: &Layout, x: u64) -> u64 {
    at_leaves(&leaves(layout), x)
}

pub fn at_leaves(leaves: &[(u64, u64)], x: u64) -> u64 {
    let Some(((_, last), before)) = leaves.split_last() else {
        return 0;
    };
    let mut rest = x;
    let mut sum = 0;
    for (extent, stride) in before {
        sum += rest % extent * stride;
        rest /= extent;
    }
    sum + rest * last
}

pub fn size(layout: &Layout) -> u64 {
    leaves(layout).iter().map(|leaf| leaf.0).product()
}

/// The offsets of all coordinates.
pub fn image(layout: &Layout) -> Vec<u64> {
    let leaves = leaves(layout);
    (0..size(layout)).map(|x| at_leaves(&leaves, x)).collect()
}

/// The offsets of all coordinates of a composed layout.
pub fn composed_image(layout: &ComposedLayout) -> Vec<u64> {
    let (swizzle, offset) = (layout.swizzle(), layout.offset().value());
    let offsets = image(layout.layout()).into_iter();
    offsets.map(|inner| swizzle.apply(offset + inner)).collect()
}

/// The size of each mode.
pub fn mode_sizes(layout: &Layout) -> Vec<u64> {
    layout.modes().map(|mode| size(&mode)).collect()
}

pub fn injective(image: &[u64]) -> bool {
    let mut sorted = image.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

/// The fewest leaves of a layout with these offsets, by trying every first leaf; `None` when there is no such layout.
pub fn fewest_leaves(offsets: &[u64]) -> Option<usize> {
    fn fewest(offsets: &[u64], known: &mut HashMap<Vec<u64>, Option<usize>>) -> Option<usize> {
        let linear = |part: &[u64]| {
            (0..)
                .zip(part)
                .all(|(i, &offset)| offset == i * part.get(1).copied().unwrap_or(0))
        };
        if linear(offsets) {
            return Some(1);
        }
        if let Some(known) = known.get(offsets) {
            return *known;
        }
        let divisors = (2..offsets.len()).filter(|first| offsets.len().is_multiple_of(*first));
        let best = divisors
            .filter_map(|first| {
                let starts: Vec<_> = offsets.iter().copied().step_by(first).collect();
                let adds_up = offsets
                    .chunks(first)
                    .zip(&starts)
                    .all(|(chunk, start)| chunk.iter().zip(offsets).all(|(a, b)| *a == start + b));
                (linear(&offsets[..first]) && adds_up)
                    .then(|| fewest(&starts, known).map(|n| n + 1))?
            })
            .min();
        known.insert(offsets.to_vec(), best);
        best
    }
    if offsets.first().is_some_and(|first| *first != 0) {
        return None;
    }
    fewest(offsets, &mut HashMap::new())
}
