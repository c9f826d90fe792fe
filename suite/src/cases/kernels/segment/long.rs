//! Segments that are cut into windows.

use super::super::model::{handle, list};
use super::model::{Random, read};
use super::{REDUCTIONS, by_offsets};
use girih_kernels::{Grouping, Reduction, segment_reduce};
use girih_testkit::{Rt, cases, check};

cases! {
    beside_short_ones,
    of_wide_rows,
    of_any_number_of_windows,
    round_in_the_same_way,
}

fn beside_short_ones(rt: &Rt) -> Result<(), String> {
    // Windows of 64 entries: within one, across several, at their edges, and two to a window.
    let sets: [&[usize]; 6] = [
        &[1000],
        &[64, 65, 64, 66, 3, 500, 0, 1],
        &[10, 128, 10, 300, 0, 64],
        &[0, 0, 65, 65, 65, 0],
        &[100, 100, 100, 5, 200],
        &[63, 1, 640, 1, 63],
    ];
    for lengths in sets {
        for reduction in REDUCTIONS {
            by_offsets::<f32>(rt, lengths, 36, reduction)?;
        }
    }
    by_offsets::<f32>(rt, &[100_000, 7, 30_000], 3, Reduction::Sum)
}

/// Rows cut into tiles, with extremes of long segments that begin at the edges of windows and within them.
fn of_wide_rows(rt: &Rt) -> Result<(), String> {
    for reduction in REDUCTIONS {
        by_offsets::<f32>(rt, &[64, 200, 0, 65, 1, 129, 63], 600, reduction)?;
    }
    Ok(())
}

/// A segment has as many windows as the teams of a cube have to share, and many more or fewer.
fn of_any_number_of_windows(rt: &Rt) -> Result<(), String> {
    for windows in [2, 3, 7, 8, 9, 17, 33, 65, 260] {
        for reduction in [Reduction::Sum, Reduction::Min] {
            let lengths = [5, windows * 64 - 7, 3, 70];
            by_offsets::<f32>(rt, &lengths, 4, reduction)?;
        }
    }
    Ok(())
}

fn round_in_the_same_way(rt: &Rt) -> Result<(), String> {
    // Sums that round.
    let mut random = Random::new(12);
    let rows = 20_000;
    let values: Vec<f32> = (0..4 * rows)
        .map(|_| (random.below(1 << 20) as f32 + 0.3) / 7.0)
        .collect();
    let values = rt.put_tensor(&values, &[rows, 4]);
    let offsets = rt.put(&[0i32, 9000, 9003, 20_000]);
    let sums = || {
        let by = Grouping::Offsets(&list(&offsets));
        let found = segment_reduce(&rt.client, &handle(&values), by, Reduction::Sum);
        read::<f32>(rt, &found.map_err(|error| error.to_string())?)
    };
    let first = sums()?;
    (0..4).try_for_each(|_| check::same(&sums()?, &first))
}
