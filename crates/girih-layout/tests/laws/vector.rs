//! The widest common vector.

use crate::inputs::{injective, layout};
use crate::{config, model};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn common_elements_are_consecutive_in_both(a in layout(), b in layout()) {
        let common = a.max_common_layout(&b)?;
        for (i, x) in (0..).zip(model::image(&common)) {
            prop_assert!(x < model::size(&a) && x < model::size(&b));
            prop_assert_eq!(model::at(&a, x), i);
            prop_assert_eq!(model::at(&b, x), i);
        }
        prop_assert_eq!(a.max_common_vector(&b)?.value(), model::size(&common));
    }

    #[test]
    fn no_longer_vector_is_common(a in injective(), b in injective()) {
        // Each offset of an injective layout has one coordinate, so the first that differs ends every vector.
        let width = a.max_common_vector(&b)?.value();
        let place = |layout, offset| model::image(layout).iter().position(|x| *x == offset);
        let (in_a, in_b) = (place(&a, width), place(&b, width));
        prop_assert!(in_a.is_none() || in_a != in_b, "offset {} is in both", width);
    }
}
