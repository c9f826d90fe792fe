//! Coalescing, filters, complements and null spaces.

use crate::inputs::{layout, shape};
use crate::{config, model};
use girih_layout::{Layout, LayoutError};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The leaves that move, as a layout of their own.
fn moving(layout: &Layout) -> Vec<(u64, u64)> {
    model::leaves(layout)
        .into_iter()
        .filter(|(_, stride)| *stride > 0)
        .collect()
}

fn image_of(leaves: &[(u64, u64)]) -> Vec<u64> {
    let size: u64 = leaves.iter().map(|leaf| leaf.0).product();
    (0..size).map(|x| model::at_leaves(leaves, x)).collect()
}

/// Whether copies of `tile` can fill `0..n` for some `n` up to `limit`, each offset once: the copies must start at the
/// first hole.
fn tiles_a_range(tile: &[u64], limit: u64) -> bool {
    let mut covered = BTreeSet::new();
    let mut first_hole = 0;
    while first_hole < limit {
        if !tile
            .iter()
            .all(|offset| covered.insert(first_hole + offset))
        {
            return false;
        }
        while covered.contains(&first_hole) {
            first_hole += 1;
        }
        if covered.len() as u64 == first_hole {
            return true;
        }
    }
    false
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn coalesced_is_the_same_function_with_the_fewest_modes(layout in layout()) {
        let result = layout.coalesce();
        let image = model::image(&layout);
        prop_assert_eq!(model::image(&result), image.clone());
        prop_assert!(result.depth() <= 1);
        prop_assert_eq!(Some(model::leaves(&result).len()), model::fewest_leaves(&image));
        prop_assert_eq!(result.to_static(), layout.to_static().coalesce());
        prop_assert!(layout.to_static().coalesce().is_static());
    }

    #[test]
    fn coalescing_by_mode_keeps_the_modes(layout in layout(), profile in shape()) {
        match layout.coalesce_by(&profile) {
            Err(error) => {
                prop_assert!(matches!(error, LayoutError::TilerRank { .. }), "{}", error);
                prop_assert!(!profile.is_leaf());
            }
            Ok(result) => {
                prop_assert_eq!(model::image(&result), model::image(&layout));
                if profile.depth() == 1 {
                    prop_assert_eq!(model::mode_sizes(&result), model::mode_sizes(&layout));
                    for (i, (mode, given)) in result.modes().zip(layout.modes()).enumerate() {
                        prop_assert_eq!(mode, if i < profile.rank() { given.coalesce() } else { given });
                    }
                }
            }
        }
    }

    #[test]
    fn filtered_reaches_the_same_offsets_without_idle_modes(layout in layout()) {
        let result = layout.filter();
        let reached = |image: Vec<u64>| image.into_iter().collect::<BTreeSet<_>>();
        prop_assert_eq!(reached(model::image(&result)), reached(model::image(&layout)));
        prop_assert_eq!(&result.coalesce(), &result);
        let idle = model::leaves(&result).iter().any(|leaf| leaf.0 == 1 || leaf.1 == 0);
        prop_assert!(!idle || result.to_string() == "_1:_0", "{}", result);
    }

    #[test]
    fn complement_fills_the_holes(layout in layout(), times in 1u64..5, extra in 0u64..3) {
        let max = layout.cosize().value() * times + extra;
        let tile = image_of(&moving(&layout));
        match layout.complement(max) {
            Ok(result) => {
                let starts = model::image(&result);
                let mut both: Vec<_> = starts.iter().flat_map(|c| tile.iter().map(move |f| f + c)).collect();
                both.sort_unstable();
                let size = both.len() as u64;
                prop_assert!(both.into_iter().eq(0..size), "disjoint and covering");
                prop_assert!(starts.windows(2).all(|pair| pair[0] < pair[1]), "ordered");
                prop_assert_eq!(&result.coalesce(), &result);
                let reach = moving(&layout).iter().map(|(n, d)| if *n > 1 { n * d } else { 1 }).max().unwrap_or(1);
                prop_assert_eq!(size, max.next_multiple_of(reach));
                prop_assert_eq!(result.to_static(), layout.to_static().complement(max)?.to_static());
                let all_static = layout.to_static().complement(girih_layout::Integer::Static(max))?;
                prop_assert!(all_static.is_static());
            }
            Err(error) => {
                prop_assert!(matches!(error, LayoutError::NoComplement { .. }), "{}", error);
                prop_assert!(!model::injective(&tile) || !tiles_a_range(&tile, 8 * layout.cosize().value()));
            }
        }
    }

    #[test]
    fn nullspace_is_where_the_layout_is_0(layout in layout()) {
        let result = layout.nullspace()?;
        let zeros = (0..).zip(model::image(&layout)).filter(|(_, offset)| *offset == 0).map(|(x, _)| x);
        prop_assert_eq!(model::image(&result), zeros.collect::<Vec<u64>>());
        prop_assert!(layout.to_static().nullspace()?.is_static());
    }
}
