//! Divisions and products.

use crate::inputs::{injective, layout, small};
use crate::{config, model};
use girih_layout::{Integer, Layout, LayoutError, Tiler};
use proptest::prelude::*;

fn concat(modes: &[&[Layout]]) -> Vec<Layout> {
    modes.concat()
}

fn modes(layout: &Layout) -> Vec<Layout> {
    layout.modes().collect()
}

/// The modes of mode `index`.
fn modes_of(layout: &Layout, index: usize) -> Vec<Layout> {
    modes(&layout.mode(index).unwrap())
}

/// `R(i, j) = A(first(i) + second(j))`, first and second as lists of linear coordinates of `A`.
fn sums_in(outer: &Layout, first: &[u64], second: &[u64]) -> Vec<u64> {
    let sums = second.iter().flat_map(|b| first.iter().map(move |a| a + b));
    sums.map(|x| model::at(outer, x)).collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn division_goes_through_the_tile_then_from_tile_to_tile(whole in layout(), tile in small()) {
        let rest = tile.complement(whole.size());
        match whole.logical_divide(&tile) {
            Ok(result) => {
                let rest = rest?;
                prop_assert_eq!(result.rank(), 2);
                prop_assert_eq!(model::image(&result), sums_in(&whole, &model::image(&tile), &model::image(&rest)));
                prop_assert_eq!(model::mode_sizes(&result), [model::size(&tile), model::size(&rest)]);
                prop_assert!(whole.to_static().logical_divide(tile.to_static())?.is_static());
            }
            Err(error @ LayoutError::NoComplement { .. }) => prop_assert_eq!(rest, Err(error)),
            Err(LayoutError::NoComposition { .. }) => {
                prop_assert!(whole.composition(Layout::from_modes(&[tile, rest?])?).is_err());
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn divisions_differ_in_how_their_modes_are_grouped(whole in layout(), first in small(), second in small()) {
        for tiler in [Tiler::from(&first), Tiler::Modes(vec![(&first).into(), (&second).into()])] {
            let Ok(zipped) = whole.zipped_divide(&tiler) else { continue };
            let (tile, rest) = (modes_of(&zipped, 0), modes_of(&zipped, 1));
            prop_assert_eq!(modes(&whole.tiled_divide(&tiler)?), concat(&[&[zipped.mode(0)?], &rest]));
            prop_assert_eq!(modes(&whole.flat_divide(&tiler)?), concat(&[&tile, &rest]));
            let logical = whole.logical_divide(&tiler)?;
            match &tiler {
                Tiler::Layout(_) => prop_assert_eq!(logical, zipped),
                Tiler::Modes(tilers) => {
                    for i in 0..tilers.len() {
                        prop_assert_eq!(logical.mode([i, 0])?, tile[i].clone());
                        prop_assert_eq!(logical.mode([i, 1])?, rest[i].clone());
                    }
                    prop_assert_eq!(&modes(&logical)[tilers.len()..], &rest[tilers.len()..]);
                    for (i, tile) in [&first, &second].into_iter().enumerate() {
                        prop_assert_eq!(logical.mode(i)?, whole.mode(i)?.logical_divide(tile)?);
                    }
                }
            }
        }
    }

    #[test]
    fn product_repeats_the_block_without_overlap(block in layout(), copies in small()) {
        let rest = block.complement(block.size().value() * copies.cosize().value());
        match block.logical_product(&copies) {
            Ok(result) => {
                let rest = rest?;
                let (inside, places) = (model::image(&block), model::image(&copies));
                let right = places.iter().flat_map(|b| {
                    let place = model::at(&rest, *b);
                    inside.iter().map(move |a| a + place)
                });
                prop_assert_eq!(model::image(&result), right.collect::<Vec<_>>());
                prop_assert_eq!(&result.mode(0)?, &block);
                prop_assert!(copies.shape().compatible(result.mode(1)?.shape()));
                if model::injective(&inside) && model::injective(&places) {
                    prop_assert!(model::injective(&model::image(&result)));
                }
                prop_assert!(block.to_static().logical_product(copies.to_static())?.is_static());
            }
            Err(error @ LayoutError::NoComplement { .. }) => prop_assert_eq!(rest, Err(error)),
            Err(LayoutError::NoComposition { .. }) => prop_assert!(rest?.composition(&copies).is_err()),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn product_with_an_integer_makes_so_many_copies(block in injective(), copies in 1u64..9) {
        let result = match block.logical_product(copies) {
            // Where a block has holes, so many copies may not fill them as a layout.
            Err(LayoutError::NoComposition { .. }) => {
                let holes = block.complement(block.size().value() * copies)?;
                prop_assert!(holes.composition(copies).is_err());
                return Ok(());
            }
            result => result?,
        };
        prop_assert_eq!(model::size(&result), copies * model::size(&block));
        prop_assert_eq!(&result, &block.logical_product(Layout::new(copies, Integer::Static(1))?)?);
        prop_assert!(model::injective(&model::image(&result)));
    }

    #[test]
    fn products_differ_in_how_their_modes_are_grouped(block in injective(), first in small(), second in small()) {
        for tiler in [Tiler::from(&first), Tiler::Modes(vec![(&first).into(), (&second).into()])] {
            let Ok(zipped) = block.zipped_product(&tiler) else { continue };
            let (inside, copies) = (modes_of(&zipped, 0), modes_of(&zipped, 1));
            prop_assert_eq!(modes(&block.tiled_product(&tiler)?), concat(&[&[zipped.mode(0)?], &copies]));
            prop_assert_eq!(modes(&block.flat_product(&tiler)?), concat(&[&inside, &copies]));
            match &tiler {
                Tiler::Layout(_) => prop_assert_eq!(block.logical_product(&tiler)?, zipped),
                Tiler::Modes(_) => {
                    for (i, copies_of) in [&first, &second].into_iter().enumerate() {
                        let product = block.mode(i)?.logical_product(copies_of)?;
                        prop_assert_eq!(&block.logical_product(&tiler)?.mode(i)?, &product);
                        prop_assert_eq!(&inside[i], &product.mode(0)?);
                        prop_assert_eq!(&copies[i], &product.mode(1)?);
                    }
                }
            }
        }
    }

    #[test]
    fn blocked_and_raked_products_interleave_the_modes(block in injective(), grid in small()) {
        let (Ok(blocked), Ok(raked)) = (block.blocked_product(&grid), block.raked_product(&grid)) else {
            prop_assert!(block.logical_product(&grid).is_err());
            return Ok(());
        };
        let product = block.logical_product(&grid)?;
        let rank = block.rank().max(grid.rank());
        prop_assert_eq!((blocked.rank(), raked.rank()), (rank, rank));
        let sizes = |layout: &Layout| {
            let mut sizes = model::mode_sizes(layout);
            sizes.resize(rank, 1);
            sizes
        };
        let (inside, outside) = (sizes(&block), sizes(&grid));
        // One coordinate per mode of the block and of the grid, from their linear coordinates.
        let coords = |mut x: u64, sizes: &[u64]| {
            let digits = sizes.iter().map(|size| { let digit = x % size; x /= size; digit });
            digits.collect::<Vec<_>>()
        };
        let linear = |coord: &[u64], sizes: &[u64]| {
            coord.iter().zip(sizes).rev().fold(0, |sum, (c, size)| sum * size + c)
        };
        let all: Vec<_> = inside.iter().zip(&outside).map(|(a, b)| a * b).collect();
        for x in 0..model::size(&product) {
            let i = coords(x % model::size(&block), &inside);
            let j = coords(x / model::size(&block), &outside);
            let per_mode = |combine: &dyn Fn(usize) -> u64| (0..rank).map(combine).collect::<Vec<_>>();
            let in_blocked = per_mode(&|m| i[m] + inside[m] * j[m]);
            let in_raked = per_mode(&|m| j[m] + outside[m] * i[m]);
            let right = model::at(&product, x);
            prop_assert_eq!(model::at(&blocked, linear(&in_blocked, &all)), right);
            prop_assert_eq!(model::at(&raked, linear(&in_raked, &all)), right);
        }
    }
}
