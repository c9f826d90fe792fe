//! Inverses.

use crate::inputs::{injective, layout};
use crate::{config, model};
use girih_layout::LayoutError;
use proptest::prelude::*;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn right_inverse_finds_the_first_offsets(layout in layout()) {
        let result = layout.right_inverse()?;
        for (i, x) in (0..).zip(model::image(&result)) {
            prop_assert!(x < model::size(&layout));
            prop_assert_eq!(model::at(&layout, x), i);
        }
        prop_assert_eq!(&result.coalesce(), &result);
        prop_assert_eq!(result.to_static(), layout.to_static().right_inverse()?.to_static());
        prop_assert!(layout.to_static().right_inverse()?.is_static());
    }

    #[test]
    fn right_inverse_ends_where_the_offsets_do(layout in injective()) {
        let result = layout.right_inverse()?;
        prop_assert!(!model::image(&layout).contains(&model::size(&result)));
    }

    #[test]
    fn right_inverse_is_the_largest_that_steps_along_modes(layout in layout()) {
        // The largest number of offsets, from `reached` on, by steps along one mode after the other.
        fn largest(modes: &[(u64, u64)], reached: u64) -> u64 {
            let along = modes.iter().filter(|(_, stride)| *stride == reached);
            let steps = along.flat_map(|(extent, _)| (2..=*extent).map(|steps| largest(modes, reached * steps)));
            steps.max().unwrap_or(0).max(reached)
        }
        let size = model::size(&layout.right_inverse()?);
        prop_assert_eq!(size, largest(&model::leaves(&layout.coalesce()), 1));
    }

    #[test]
    fn left_inverse_finds_every_coordinate(layout in layout()) {
        let image = model::image(&layout);
        match layout.left_inverse() {
            Ok(result) => {
                for (i, offset) in (0..).zip(image) {
                    prop_assert_eq!(model::at(&result, offset), i);
                    prop_assert!(offset < model::size(&result));
                }
                prop_assert!(layout.to_static().left_inverse()?.is_static());
            }
            Err(LayoutError::NotInjective { .. }) => prop_assert!(!model::injective(&image)),
            Err(LayoutError::NoComplement { .. }) => prop_assert!(layout.complement(1).is_err()),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn every_divisible_layout_has_a_left_inverse(layout in injective()) {
        prop_assert!(layout.left_inverse().is_ok());
    }
}
