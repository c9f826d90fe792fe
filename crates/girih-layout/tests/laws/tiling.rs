//! Tiles, partitions and the coordinates in them.

use crate::inputs::{injective, layout, shape, small};
use crate::{config, model};
use girih_layout::{IdentityLayout, IntTuple, Layout, LayoutError, Tiler};
use proptest::prelude::*;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_tile_is_that_of_the_division(whole in layout(), first in 1u64..5, second in 1u64..5, at: u64) {
        let tiler = if whole.rank() < 2 { Tiler::from((first,)) } else { Tiler::from((first, second)) };
        let Ok(zipped) = whole.zipped_divide(&tiler) else {
            prop_assert!(whole.local_tile(&tiler, 0).is_err());
            return Ok(());
        };
        let rest = zipped.mode(1)?;
        let coord = at % rest.size().value();
        let tile = whole.local_tile(&tiler, coord)?;
        let start = model::at(&rest, coord);
        let right: Vec<_> = model::image(&zipped.mode(0)?).into_iter().map(|x| start + x).collect();
        prop_assert_eq!(model::composed_image(&tile), right);
        let past = whole.local_tile(&tiler, rest.size());
        prop_assert!(matches!(past, Err(LayoutError::CoordOutOfRange { .. })), "{:?}", past);
    }

    #[test]
    fn units_share_a_tile_without_overlap(whole in layout(), units in injective()) {
        let tiler = Tiler::from(units.shape().product_each()?);
        let zipped = whole.zipped_divide(&tiler);
        let mut all = vec![];
        for unit in 0..units.cosize().value() {
            match whole.local_partition(&units, unit) {
                Ok(part) => all.push((unit, part)),
                Err(LayoutError::NoUnit { .. }) => prop_assert!(!model::image(&units).contains(&unit)),
                Err(error) => {
                    prop_assert!(zipped.is_err(), "{}", error);
                    return Ok(());
                }
            }
        }
        let zipped = zipped?;
        prop_assert_eq!(all.len() as u64, units.size().value());
        let rest = model::image(&zipped.mode(1)?);
        for (unit, part) in all {
            let coord = model::image(&units).iter().position(|&u| u == unit).unwrap() as u64;
            let start = model::at(&zipped.mode(0)?, coord);
            prop_assert_eq!(model::composed_image(&part), rest.iter().map(|x| start + x).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_identity_has_each_coordinate_at_itself(shape in shape()) {
        let identity = IdentityLayout::new(&shape)?;
        for x in 0..shape.size()?.value() {
            let coord = girih_layout::idx2crd(x, &shape)?;
            prop_assert_eq!(identity.index(&coord)?.to_dynamic(), coord.to_dynamic());
            prop_assert_eq!(identity.index(x)?.to_dynamic(), coord.to_dynamic());
            prop_assert!(identity.in_bounds(x)?);
        }
        prop_assert!(identity.index(shape.size()?).is_err());
    }

    #[test]
    fn tiles_of_the_identity_are_where_tiles_of_data_are(
        rows in 1u64..12, columns in 1u64..12, tile in (1u64..6, 1u64..6), stride in (1u64..20, 1u64..20), at: u64
    ) {
        let data = Layout::new((rows, columns), stride)?;
        let identity = IdentityLayout::new((rows, columns))?;
        let tiles = (rows.div_ceil(tile.0), columns.div_ceil(tile.1));
        let coord = (at % tiles.0, at / 1000 % tiles.1);
        let (part, coords) = (data.local_tile(tile, coord)?, identity.local_tile(tile, coord)?);
        let divided = identity.zipped_divide(tile)?;
        for j in 0..tile.1 {
            for i in 0..tile.0 {
                let (row, column) = (coord.0 * tile.0 + i, coord.1 * tile.1 + j);
                prop_assert_eq!(coords.index((i, j))?.to_dynamic(), IntTuple::from((row, column)));
                prop_assert_eq!(divided.index(((i, j), coord))?.to_dynamic(), IntTuple::from((row, column)));
                prop_assert_eq!(part.index((i, j))?.value(), row * stride.0 + column * stride.1);
                prop_assert_eq!(coords.in_bounds((i, j))?, row < rows && column < columns);
            }
        }
    }

    #[test]
    fn partitions_of_the_identity_are_where_partitions_of_data_are(whole in shape(), units in injective()) {
        let data = Layout::left(&whole)?;
        let identity = IdentityLayout::new(&whole)?;
        for unit in model::image(&units) {
            let coords = match identity.local_partition(&units, unit) {
                Ok(coords) => coords,
                // The offsets may go on straight where the coordinates do not.
                Err(error) => {
                    let expected = matches!(
                        error,
                        LayoutError::NoComposition { .. } | LayoutError::TilerRank { .. }
                    );
                    prop_assert!(expected, "{}", error);
                    return Ok(());
                }
            };
            let part = data.local_partition(&units, unit)?;
            for (x, offset) in (0..).zip(part.offsets()) {
                let at = coords.index(x)?;
                let there: u64 = at.leaves().zip(data.stride().leaves()).map(|(c, d)| c.value() * d.value()).sum();
                prop_assert_eq!(there, offset);
            }
        }
    }

    #[test]
    fn composing_the_identity_gives_coordinates_of_the_composed(whole in shape(), inner in small()) {
        let data = Layout::left(&whole)?;
        let identity = IdentityLayout::new(&whole)?.composition(&inner);
        let (Ok(walk), Ok(coords)) = (data.composition(&inner), identity) else { return Ok(()) };
        prop_assert_eq!(coords.shape(), inner.shape());
        for x in 0..inner.size().value() {
            let at = coords.index(x)?;
            let there: u64 = at.leaves().zip(data.stride().leaves()).map(|(c, d)| c.value() * d.value()).sum();
            prop_assert_eq!(there, model::at(&walk, x));
        }
    }
}
