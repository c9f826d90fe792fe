//! Tiles spread over threads.

use crate::inputs::{compact, layout, small};
use crate::swizzle::swizzle;
use crate::{config, model};
use girih_layout::{ComposedLayout, Layout, LayoutError, ThreadValueLayout, WarpMatrix};
use proptest::prelude::*;

/// The coordinates of both, one integer per mode, padded to the same rank.
fn coords(layout: &Layout, x: u64, rank: usize) -> Vec<u64> {
    let mut rest = x;
    let mut coord: Vec<_> = model::mode_sizes(layout)
        .iter()
        .map(|size| {
            let digit = rest % size;
            rest /= size;
            digit
        })
        .collect();
    coord.resize(rank, 0);
    coord
}

fn sizes(layout: &Layout, rank: usize) -> Vec<u64> {
    let mut sizes = model::mode_sizes(layout);
    sizes.resize(rank, 1);
    sizes
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn each_element_has_the_holder_that_the_law_names(threads in compact(), values in compact()) {
        let few = threads.size().value() * values.size().value() <= 96;
        let values = if few { values } else { Layout::left((1, 2))? };
        let rank = threads.rank().max(values.rank());
        let (inside, outside) = (sizes(&values, rank), sizes(&threads, rank));
        let blocked = ThreadValueLayout::blocked(&threads, &values)?;
        let striped = ThreadValueLayout::striped(&threads, &values)?;
        prop_assert!(model::injective(&model::image(blocked.layout())));
        prop_assert_eq!(model::size(blocked.layout()), blocked.tile_shape().size()?.value());
        for x in 0..threads.size().value() {
            for y in 0..values.size().value() {
                let (thread, value) = (model::at(&threads, x), model::at(&values, y));
                let (a, b) = (coords(&threads, x, rank), coords(&values, y, rank));
                let in_blocked = (0..rank).map(|m| a[m] * inside[m] + b[m]);
                prop_assert!(blocked.coord(thread, value)?.leaves().map(|leaf| leaf.value()).eq(in_blocked));
                let in_striped = (0..rank).map(|m| b[m] * outside[m] + a[m]);
                prop_assert!(striped.coord(thread, value)?.leaves().map(|leaf| leaf.value()).eq(in_striped));
            }
        }
        let (thread, value) = (threads.size().value() - 1, values.size().value() / 2);
        prop_assert_eq!(blocked.owner(blocked.coord(thread, value)?)?, (thread, value));
        prop_assert_eq!(striped.owner(striped.coord(thread, value)?)?, (thread, value));
    }

    #[test]
    fn numberings_with_gaps_or_repeats_are_refused(threads in layout(), values in small()) {
        let is_compact = |layout: &Layout| {
            let mut image = model::image(layout);
            image.sort_unstable();
            image.into_iter().eq(0..model::size(layout))
        };
        match ThreadValueLayout::blocked(&threads, &values) {
            Ok(_) => prop_assert!(is_compact(&threads) && is_compact(&values)),
            Err(LayoutError::NotCompact { .. }) => prop_assert!(!is_compact(&threads) || !is_compact(&values)),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn each_sum_has_one_holder_whose_warp_has_its_block(
        warps in [1u64..4, 1u64..4], blocks in [1u64..4, 1u64..4], noise: u64
    ) {
        let units = [WarpMatrix::ROWS, WarpMatrix::COLUMNS];
        let block = [0, 1].map(|mode| blocks[mode] * units[mode]);
        let tile = [0, 1].map(|mode| block[mode] * warps[mode]);
        let sums = WarpMatrix::tile_of_sums(tile, warps).expect("whole tiles");
        let (threads, values) = (sums.threads().size().value(), sums.values().size().value());
        prop_assert_eq!(threads, WarpMatrix::THREADS * warps[0] * warps[1]);
        prop_assert!(model::injective(&model::image(sums.layout())));
        prop_assert_eq!(threads * values, tile[0] * tile[1]);
        // One of them, by the place of its warp's block, of its instruction's tile in that, and of itself in that.
        let (thread, value) = (noise % threads, noise / threads % values);
        let (warp, lane) = (thread / WarpMatrix::THREADS, thread % WarpMatrix::THREADS);
        let (turn, register) = (value / 4, value % 4);
        let row = warp / warps[1] * block[0] + turn / blocks[1] * 16 + register / 2 * 8 + lane / 4;
        let column = warp % warps[1] * block[1] + turn % blocks[1] * 8 + lane % 4 * 2 + register % 2;
        prop_assert!(sums.coord(thread, value)?.leaves().map(|leaf| leaf.value()).eq([row, column]));
    }

    #[test]
    fn a_partition_is_the_memory_of_each_coordinate(
        memory in layout(), noise: u64, swizzle in swizzle(), offset in 0u64..9
    ) {
        let size = memory.size().value();
        let divisors: Vec<_> = (1..=size).filter(|threads| size.is_multiple_of(*threads)).collect();
        let threads = divisors[noise as usize % divisors.len()];
        let spread = ThreadValueLayout::new((size,), Layout::left((threads, size / threads))?)?;
        // The tile has one mode, so the memory gets one as well.
        let memory = ComposedLayout::new(swizzle, offset, Layout::from_modes(&[memory])?)?;
        match spread.partition(&memory) {
            Ok(part) => {
                let elements = model::image(spread.layout()).into_iter();
                let right = elements.map(|x| swizzle.apply(offset + model::at(memory.layout(), x)));
                prop_assert_eq!(model::composed_image(&part), right.collect::<Vec<_>>());
            }
            Err(error) => prop_assert_eq!(memory.composition(spread.layout()), Err(error)),
        }
    }

    #[test]
    fn vectors_are_consecutive_aligned_and_the_widest(
        threads in compact(), values in 1u64..9, row: bool, swizzle in swizzle(), offset in 0u64..9, pad in 0u64..5
    ) {
        let threads = Layout::left((threads.size(), 1))?;
        let spread = ThreadValueLayout::blocked(&threads, &Layout::left((1, values))?)?;
        let stride = if row { (values + pad, 1) } else { (1, threads.size().value() + pad) };
        let memory = ComposedLayout::new(swizzle, offset, Layout::new(spread.tile_shape(), stride)?)?;
        let width = spread.vector_width(&memory)?;
        let threads = threads.size().value();
        let fits = |width: u64| {
            values % width == 0 && (0..threads).all(|t| (0..values / width).all(|run| {
                let at = |v: u64| memory.index(spread.coord(t, run * width + v).unwrap()).unwrap().value();
                at(0).is_multiple_of(width) && (0..width).all(|v| at(v) == at(0) + v)
            }))
        };
        prop_assert!(fits(width), "{} elements of {} in {}", width, spread, memory);
        if swizzle.is_identity() {
            prop_assert!((width + 1..=values).all(|wider| !fits(wider)), "wider than {} fits", width);
        }
    }
}
