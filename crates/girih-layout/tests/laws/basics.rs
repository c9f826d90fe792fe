//! Tuples, layouts and coordinates.

use crate::inputs::{layout, map, shape};
use crate::{config, model};
use girih_layout::{IntTuple, Integer, Layout, crd2crd, crd2idx, idx2crd};
use proptest::prelude::*;

/// The shape with some of its tuples replaced by their size, as `noise` says.
fn coarser(shape: &IntTuple, noise: u64) -> IntTuple {
    if noise.is_multiple_of(3) || shape.is_leaf() {
        return shape.size().unwrap().into();
    }
    let modes = shape.modes().zip(1..);
    IntTuple::tuple(
        modes
            .map(|(mode, i)| coarser(&mode, noise >> i))
            .collect::<Vec<_>>(),
    )
}

/// Offsets by the definition, for a nested coordinate.
fn nested_offset(coord: &IntTuple, stride: &IntTuple) -> u64 {
    coord
        .leaves()
        .zip(stride.leaves())
        .map(|(c, d)| c.value() * d.value())
        .sum()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn sizes_and_depths_are_those_of_the_nesting(shape in shape()) {
        fn depth(tuple: &IntTuple) -> usize {
            if tuple.is_leaf() { 0 } else { 1 + tuple.modes().map(|mode| depth(&mode)).max().unwrap_or(0) }
        }
        prop_assert_eq!(shape.size()?.value(), shape.leaves().map(Integer::value).product::<u64>());
        prop_assert_eq!(shape.depth(), depth(&shape));
        prop_assert_eq!(shape.modes().len(), shape.rank());
        prop_assert_eq!(shape.flatten().rank(), if shape.is_leaf() { 1 } else { shape.leaves().count() });
        for i in 0..shape.rank() {
            prop_assert_eq!(shape.get(i)?, shape.modes().nth(i).unwrap());
        }
        prop_assert!(shape.get(shape.rank()).is_err());
    }

    #[test]
    fn a_coarser_shape_is_compatible(shape in shape(), noise: u64) {
        let coarse = coarser(&shape, noise);
        prop_assert!(coarse.weakly_congruent(&shape));
        prop_assert!(coarse.compatible(&shape));
        prop_assert_eq!(coarse.congruent(&shape), coarse.to_static() == shape.to_static());
        prop_assert_eq!(shape.compatible(&coarse), coarse.to_static() == shape.to_static());
        // Another size anywhere is not.
        let longer = map(&coarse, &mut |leaf| Integer::Dynamic(leaf.value() + 1));
        prop_assert!(longer.weakly_congruent(&shape) && !longer.compatible(&shape));
    }

    #[test]
    fn compact_layouts_reach_every_offset_once(shape in shape(), noise: u64) {
        let size = shape.size()?.value();
        prop_assert!(Layout::left(&shape)?.offsets().eq(0..size));
        let order = map(&shape, &mut |leaf| Integer::Dynamic(noise.rotate_right(leaf.value() as u32) % 5));
        for layout in [Layout::right(&shape)?, Layout::ordered(&shape, &order)?] {
            let mut image = model::image(&layout);
            image.sort_unstable();
            prop_assert!(image.into_iter().eq(0..size));
        }
    }

    #[test]
    fn ordered_strides_rise_with_the_order(shape in shape(), noise: u64) {
        let mut leaf = 0;
        let order = map(&shape, &mut |_| { leaf += 1; Integer::Dynamic(noise.rotate_right(5 * leaf) % 7) });
        let layout = Layout::ordered(&shape, &order)?;
        let mut leaves: Vec<_> = order.leaves().map(Integer::value).zip(model::leaves(&layout)).collect();
        leaves.sort_by_key(|(order, _)| *order);
        let mut next = 1;
        for (_, (extent, stride)) in leaves {
            prop_assert_eq!(stride, next);
            next *= extent;
        }
    }

    #[test]
    fn size_and_cosize_are_those_of_the_image(layout in layout()) {
        let image = model::image(&layout);
        prop_assert_eq!(layout.size().value(), image.len() as u64);
        prop_assert_eq!(layout.cosize().value(), 1 + image.iter().max().unwrap());
        prop_assert!(layout.offsets().eq(image));
    }

    #[test]
    fn every_form_of_a_coordinate_has_the_same_offset(layout in layout(), noise: u64) {
        let coarse = coarser(layout.shape(), noise);
        for (i, offset) in (0..).zip(model::image(&layout)) {
            let nested = idx2crd(i, layout.shape())?;
            prop_assert!(nested.congruent(layout.shape()));
            prop_assert_eq!(nested_offset(&nested, layout.stride()), offset);
            for coord in [IntTuple::from(i), idx2crd(i, &coarse)?, nested] {
                prop_assert_eq!(crd2idx(&coord, layout.shape(), layout.stride())?.value(), offset);
                let across = crd2crd(&coord, layout.shape(), &coarse)?;
                prop_assert_eq!(across.to_dynamic(), idx2crd(i, &coarse)?.to_dynamic());
            }
        }
        prop_assert!(layout.index(layout.size()).is_err());
        prop_assert!(idx2crd(layout.size(), layout.shape()).is_err());
    }

    #[test]
    fn past_the_end_the_last_leaf_goes_on(layout in layout(), past in 0u64..50) {
        let x = layout.size().value() + past;
        prop_assert_eq!(layout.index_extended(x)?.value(), model::at(&layout, x));
    }

    #[test]
    fn a_profile_and_its_values_are_the_layout(layout in layout()) {
        let values: Vec<_> = layout.dynamics().collect();
        prop_assert_eq!(values.is_empty(), layout.is_static());
        prop_assert_eq!(layout.profile().bind(&values)?, layout);
    }
}
