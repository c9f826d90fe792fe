//! Composition, by layouts and by tilers of several modes.

use crate::inputs::{layout, small};
use crate::{config, model};
use girih_layout::{Layout, LayoutError, Tiler};
use proptest::prelude::*;

/// Whether each leaf of `inner` can become a layout: whether `R(c) = A(B(c))` has a solution.
fn exists(outer: &Layout, inner: &Layout) -> bool {
    model::leaves(inner).into_iter().all(|(extent, stride)| {
        let walk: Vec<_> = (0..extent).map(|k| model::at(outer, k * stride)).collect();
        model::fewest_leaves(&walk).is_some()
    }) && {
        // Leaf by leaf is enough only where the leaves add up.
        let strides = model::leaves(inner);
        (0..model::size(inner)).all(|x| {
            let mut rest = x;
            let parts = strides.iter().map(|(extent, stride)| {
                let digit = rest % extent;
                rest /= extent;
                model::at(outer, digit * stride)
            });
            parts.sum::<u64>() == model::at(outer, model::at(inner, x))
        })
    }
}

fn check(outer: &Layout, inner: &Layout) -> Result<(), TestCaseError> {
    match outer.composition(inner) {
        Ok(result) => {
            let right: Vec<_> = model::image(inner)
                .into_iter()
                .map(|x| model::at(outer, x))
                .collect();
            prop_assert_eq!(model::image(&result), right);
            prop_assert!(
                inner.shape().compatible(result.shape()),
                "{} with {}",
                inner,
                result
            );
            let all_static = outer.to_static().composition(inner.to_static())?;
            prop_assert_eq!(result.to_static(), all_static.to_static());
            prop_assert!(all_static.is_static());
        }
        Err(error) => {
            prop_assert!(
                matches!(error, LayoutError::NoComposition { .. }),
                "{}",
                error
            );
            prop_assert!(!exists(outer, inner), "{} after {} exists", outer, inner);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn composition_goes_through_both_or_does_not_exist(outer in layout(), inner in layout()) {
        check(&outer, &inner)?;
    }

    #[test]
    fn composition_with_one_leaf_exists_wherever_it_can(outer in layout(), extent in 1u64..25, stride in 0u64..25) {
        check(&outer, &Layout::new(extent, stride)?)?;
    }

    #[test]
    fn composition_by_mode_is_that_of_each_mode(outer in layout(), first in small(), second in small()) {
        let tiler = Tiler::Modes(vec![(&first).into(), (&second).into()]);
        let modes: Vec<_> = outer.modes().collect();
        let each = modes.iter().zip([&first, &second]).map(|(mode, tile)| mode.composition(tile));
        match (outer.composition(&tiler), each.collect::<Result<Vec<_>, _>>()) {
            (Ok(result), Ok(each)) => {
                prop_assert_eq!(result.modes().collect::<Vec<_>>(), [&each[..], &modes[2..]].concat());
            }
            (Err(LayoutError::TilerRank { .. }), _) => prop_assert!(modes.len() < 2),
            (Err(_), Err(_)) => {}
            (result, each) => prop_assert!(false, "{:?} and {:?}", result, each),
        }
    }
}
