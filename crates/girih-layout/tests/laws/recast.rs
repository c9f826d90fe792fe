//! Elements of another width.

use crate::inputs::{injective, layout, small};
use crate::{config, model};
use girih_layout::LayoutError;
use proptest::prelude::*;

/// The offsets of all narrow elements that make up these wide ones, sorted.
fn split(offsets: &[u64], count: u64) -> Vec<u64> {
    let mut all: Vec<_> = offsets
        .iter()
        .flat_map(|x| (0..count).map(move |b| x * count + b))
        .collect();
    all.sort_unstable();
    all
}

/// The wide elements that these narrow ones are in, each once.
fn joined(offsets: &[u64], count: u64) -> Vec<u64> {
    let mut all: Vec<_> = offsets.iter().map(|x| x / count).collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn sorted(mut offsets: Vec<u64>) -> Vec<u64> {
    offsets.sort_unstable();
    offsets
}

fn once(offsets: Vec<u64>) -> Vec<u64> {
    let mut offsets = sorted(offsets);
    offsets.dedup();
    offsets
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn downcast_splits_every_element(layout in small(), count in 1u64..9) {
        let result = layout.downcast(count)?;
        prop_assert_eq!(sorted(model::image(&result)), split(&model::image(&layout), count));
        // Elements that are split stay together.
        let narrow = model::image(&result);
        let runs = (0..narrow.len()).filter(|&i| narrow[i].is_multiple_of(count));
        prop_assert_eq!(runs.count() as u64, model::size(&layout));
        prop_assert!(layout.to_static().downcast(count)?.is_static());
    }

    #[test]
    fn upcast_joins_elements_or_says_why_not(layout in layout(), count in 1u64..9) {
        match layout.upcast(count) {
            Ok(result) => {
                let image = model::image(&layout);
                prop_assert_eq!(once(model::image(&result)), joined(&image, count));
                // Leaf by leaf: steps within a wide element are dropped.
                let leaves = model::leaves(&layout);
                let fits = |stride: u64| if stride == 0 || stride.is_multiple_of(count) { 1 } else { count / stride };
                for (x, offset) in (0..).zip(&image) {
                    let mut rest = x;
                    let mut wide = vec![];
                    for (extent, stride) in &leaves {
                        let digit = rest % extent;
                        rest /= extent;
                        wide.push(if *extent == 1 { 0 } else { digit / fits(*stride) });
                    }
                    let sum: u64 = wide.iter().zip(model::leaves(&result)).map(|(c, (_, d))| c * d).sum();
                    prop_assert_eq!(sum, offset / count);
                }
                prop_assert!(layout.to_static().upcast(count)?.is_static());
            }
            Err(LayoutError::Upcast { .. }) => {
                // A stride across wide elements, or a sum that leaves one.
                let mut moving = model::leaves(&layout);
                moving.retain(|(extent, stride)| *extent > 1 && *stride > 0);
                let across = moving.iter().any(|(_, d)| d % count != 0 && count % d != 0);
                let inside = moving.iter().filter(|(_, d)| d % count != 0 && count % d == 0);
                let within: u64 = inside.map(|(n, d)| ((count / d).min(*n) - 1) * d).sum();
                prop_assert!(across || within >= count);
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn downcast_and_upcast_are_inverse(layout in injective(), count in 1u64..9) {
        let back = layout.downcast(count)?.upcast(count)?;
        prop_assert_eq!(once(model::image(&back)), once(model::image(&layout)));
    }

    #[test]
    fn recast_goes_through_the_common_width(layout in injective(), old in 1u64..65, new in 1u64..65) {
        let common = (1..=old.min(new)).rev().find(|d| old % d == 0 && new % d == 0).unwrap();
        match (layout.recast(old, new), layout.downcast(old / common)?.upcast(new / common)) {
            (Ok(result), Ok(right)) => prop_assert_eq!(result, right),
            (result, right) => prop_assert!(result.is_err() && right.is_err()),
        }
    }
}
