//! Swizzles and composed layouts.

use crate::inputs::{layout, small};
use crate::{config, model};
use girih_layout::{ComposedLayout, LayoutError, Swizzle};
use proptest::prelude::*;

/// Swizzles of small blocks.
pub fn swizzle() -> impl Strategy<Value = Swizzle> {
    (0u32..4, 0u32..4, 0i32..4, any::<bool>()).prop_map(|(bits, base, more, down)| {
        let shift = bits as i32 + more;
        Swizzle::new(bits, base, if down { -shift } else { shift })
            .expect("a shift by at least the bits")
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_swizzle_permutes_its_blocks_and_is_its_own_inverse(swizzle in swizzle(), block in 0u64..1000) {
        let size = 1 << swizzle.block_bits().min(8);
        let start = (block << swizzle.block_bits()) & !(size - 1);
        for x in start..start + size {
            let y = swizzle.apply(x);
            prop_assert_eq!(swizzle.apply(y), x);
            prop_assert_eq!(x >> swizzle.block_bits(), y >> swizzle.block_bits());
            let low = (1 << swizzle.base()) - 1;
            prop_assert_eq!(x & low, y & low);
        }
    }

    #[test]
    fn a_swizzle_is_the_exclusive_or_of_its_definition(swizzle in swizzle(), x: u64) {
        let bit = |value: u64, at: u32| value >> at & 1;
        let (low, distance) = (swizzle.base(), swizzle.shift().unsigned_abs());
        let (from, to) = if swizzle.shift() >= 0 { (low + distance, low) } else { (low, low + distance) };
        let mut y = x;
        for i in 0..swizzle.bits() {
            y ^= bit(x, from + i) << (to + i);
        }
        prop_assert_eq!(swizzle.apply(x), y);
    }

    #[test]
    fn swizzles_that_overlap_or_pass_64_bits_are_refused(bits in 0u32..80, base in 0u32..80, shift in -80i32..80) {
        let allowed = shift.unsigned_abs() >= bits && base + bits + shift.unsigned_abs() <= 64;
        match Swizzle::new(bits, base, shift) {
            Ok(swizzle) => {
                prop_assert!(allowed);
                prop_assert_eq!(swizzle.apply(swizzle.apply(u64::MAX)), u64::MAX);
            }
            Err(error) => prop_assert_eq!((error, allowed), (LayoutError::Swizzle { bits, base, shift }, false)),
        }
    }

    #[test]
    fn a_composed_layout_swizzles_last(swizzle in swizzle(), offset in 0u64..100, layout in layout()) {
        let composed = ComposedLayout::new(swizzle, offset, layout.clone())?;
        let right: Vec<_> = model::image(&layout).into_iter().map(|x| swizzle.apply(offset + x)).collect();
        prop_assert!(composed.offsets().eq(right.iter().copied()));
        for (i, right) in (0..).zip(&right) {
            prop_assert_eq!(composed.index(i)?.value(), *right);
        }
    }

    #[test]
    fn composing_a_composed_layout_goes_through_all(
        swizzle in swizzle(), offset in 0u64..100, layout in layout(), inner in small()
    ) {
        let composed = ComposedLayout::new(swizzle, offset, layout.clone())?;
        match composed.composition(&inner) {
            Ok(result) => {
                let right = model::image(&inner).into_iter().map(|x| swizzle.apply(offset + model::at(&layout, x)));
                prop_assert_eq!(model::composed_image(&result), right.collect::<Vec<_>>());
            }
            Err(error) => prop_assert_eq!(layout.composition(&inner), Err(error)),
        }
    }
}
