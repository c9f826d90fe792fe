//! Extents of 0, tuples without modes and numbers at the end of 64 bits: every operation gives a layout that obeys its law or an
//! error, and none panics.

use crate::config;
use girih_layout::{IdentityLayout, IntTuple, Layout, LayoutError, Picture, Tiler};
use proptest::prelude::*;

const NUMBERS: [u64; 16] = [
    0,
    1,
    1,
    2,
    2,
    3,
    4,
    6,
    7,
    8,
    1 << 20,
    1 << 31,
    (1 << 32) + 1,
    1 << 62,
    u64::MAX - 1,
    u64::MAX,
];

fn tuple() -> impl Strategy<Value = IntTuple> {
    let leaf = (0..NUMBERS.len(), any::<bool>()).prop_map(|(number, is_static)| {
        let leaf = IntTuple::from(NUMBERS[number]);
        if is_static { leaf.to_static() } else { leaf }
    });
    leaf.prop_recursive(3, 8, 3, |part| {
        prop::collection::vec(part, 0..=3).prop_map(IntTuple::tuple)
    })
}

/// Any layout that fits in 64 bits at all.
fn layout() -> impl Strategy<Value = Layout> {
    (tuple(), any::<u64>()).prop_map(|(shape, noise)| {
        let mut turn = 0;
        let stride = crate::inputs::map(&shape, &mut |leaf| {
            turn += 5;
            let number = NUMBERS[noise.rotate_left(turn) as usize % NUMBERS.len()];
            if leaf.is_static() {
                girih_layout::Integer::Static(number)
            } else {
                number.into()
            }
        });
        let fallback = || Layout::left(2).expect("small");
        Layout::new(&shape, stride)
            .or_else(|_| Layout::left(&shape))
            .unwrap_or_else(|_| fallback())
    })
}

/// Whether a result is a layout whose first and last offsets can be asked for.
fn sound(result: Result<Layout, LayoutError>) -> Result<(), TestCaseError> {
    if let Ok(layout) = result
        && let Some(last) = layout.size().value().checked_sub(1)
    {
        prop_assert_eq!(layout.index(0)?.value(), 0);
        prop_assert!(layout.index(last)?.value() < layout.cosize().value());
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_operation_panics(a in layout(), b in layout(), number in 0..NUMBERS.len()) {
        let number = NUMBERS[number];
        for result in [
            Ok(a.coalesce()),
            Ok(a.filter()),
            a.coalesce_by(b.shape()),
            a.composition(&b),
            a.composition(b.shape()),
            a.complement(number),
            a.left_inverse(),
            a.right_inverse(),
            a.nullspace(),
            a.max_common_layout(&b),
            a.upcast(number),
            a.downcast(number),
            a.recast(number, 24),
            a.logical_divide(&b),
            a.zipped_divide(b.shape()),
            a.tiled_divide(&b),
            a.flat_divide(Tiler::from(b.shape())),
            a.logical_product(&b),
            a.zipped_product(b.shape()),
            a.tiled_product(&b),
            a.flat_product(number),
            a.blocked_product(&b),
            a.raked_product(&b),
        ] {
            sound(result)?;
        }
    }

    #[test]
    fn no_question_panics(a in layout(), b in layout(), coord in tuple(), number in 0..NUMBERS.len()) {
        let number = NUMBERS[number];
        let _ = (a.index(&coord), a.index_extended(&coord), a.coord(number));
        let _ = (a.local_tile(b.shape(), &coord), a.local_partition(&b, number));
        let _ = (a.shape().compatible(b.shape()), a.shape().weakly_congruent(b.shape()));
        let _ = girih_layout::crd2crd(&coord, a.shape(), b.shape());
        if let Ok(identity) = IdentityLayout::new(a.shape()) {
            let _ = (identity.index(&coord), identity.in_bounds(&coord));
            let _ = (identity.composition(&b), identity.local_partition(&b, number));
        }
        if a.size().value() < 100 {
            let _ = Picture::of_layout(&a).map(|picture| (picture.to_string(), picture.svg()));
        }
    }

    #[test]
    fn composition_agrees_at_the_far_end(a in layout(), b in layout(), x: u64) {
        if let (Ok(result), Some(last)) = (a.composition(&b), b.size().value().checked_sub(1)) {
            for x in [0, 1.min(last), x.min(last), last / 2, last] {
                prop_assert_eq!(result.index(x)?.value(), a.index_extended(b.index(x)?)?.value());
            }
        }
    }
}
