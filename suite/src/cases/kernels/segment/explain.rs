//! What `explain_segment_reduce` says, against what was asked for and what the launcher may take.

use super::super::model::{handle, list};
use super::REDUCTIONS;
use girih::Error;
use girih_kernels::{Grouping, Reduction, explain_segment_reduce, segment_reduce};
use girih_testkit::{Rt, cases};

cases! {
    says_which_kernels_run,
    no_more_memory_than_the_input,
    what_each_path_takes,
    refuses_what_the_launcher_refuses,
}

fn says_which_kernels_run(rt: &Rt) -> Result<(), Error> {
    let values = rt.put_tensor(&[0.0f32; 4000], &[1000, 4]);
    let rows = handle(&values);
    let ids = list(&rt.put(&[0i32; 1000]));
    let offsets = list(&rt.put(&[0i32, 500, 1000]));
    let (ids, segments) = (&ids, 3);
    for (by, want) in [
        // No segment can be longer than a team's share.
        (Grouping::Length(50), vec!["reduce"]),
        (Grouping::Length(500), vec!["reduce", "finish"]),
        // Nobody knows how long they are.
        (Grouping::Offsets(&offsets), vec!["reduce", "finish"]),
        (
            Grouping::SortedIds { ids, segments },
            vec!["offsets", "reduce", "finish"],
        ),
        (
            Grouping::Ids { ids, segments },
            vec!["sort", "offsets", "reduce", "finish"],
        ),
    ] {
        let plan = explain_segment_reduce(&rt.client, &rows, by, Reduction::Sum)?;
        assert_eq!(plan.kernels, want, "{by:?}");
        assert_eq!(plan.longest, 64);
        let windows = if want.contains(&"finish") { 16 } else { 0 };
        assert_eq!(plan.windows, windows);
        let text = plan.to_string();
        assert!(
            text.contains(&format!("  kernels        {}", want.join(", "))),
            "{text}"
        );
        assert!(
            text.contains(&format!("  temporary      {} bytes", plan.temporary)),
            "{text}"
        );
        // It runs.
        segment_reduce(&rt.client, &rows, by, Reduction::Sum)?;
    }
    let across = rt.put_strided(&[0.0f32; 4000], &[1000, 4], &[1, 1000]);
    let by = Grouping::Length(50);
    let plan = explain_segment_reduce(&rt.client, &handle(&across), by, Reduction::Sum)?;
    assert_eq!(
        (plan.kernels.as_slice(), plan.temporary),
        (["copy", "reduce"].as_slice(), 16_000)
    );
    Ok(())
}

/// No path but that of a sort takes more than 1.1 times what it reads, of a thousand rows of 64 bytes and more.
fn no_more_memory_than_the_input(rt: &Rt) -> Result<(), Error> {
    for (rows, columns) in [(1000, 16), (4097, 32), (100_000, 16), (300_000, 16)] {
        let values = rt.put_tensor(&vec![0.0f32; rows * columns], &[rows, columns]);
        let across = rt.put_strided(&vec![0.0f32; rows * columns], &[rows, columns], &[1, rows]);
        let offsets = list(&rt.put(&[0i32, 1, rows as i32]));
        let ids = list(&rt.put(&vec![0i32; rows]));
        let most = (4 * rows * columns) as f64 * 1.1;
        for reduction in REDUCTIONS {
            for values in [handle(&values), handle(&across)] {
                let segments = rows / 4;
                for by in [
                    Grouping::Offsets(&offsets),
                    Grouping::Length(rows),
                    Grouping::SortedIds {
                        ids: &ids,
                        segments,
                    },
                ] {
                    let plan = explain_segment_reduce(&rt.client, &values, by, reduction)?;
                    assert!((plan.temporary as f64) < most, "{plan}");
                }
            }
        }
    }
    Ok(())
}

/// Each part of it, computed here.
fn what_each_path_takes(rt: &Rt) -> Result<(), Error> {
    let (rows, columns, segments) = (1000, 16, 7);
    let values = rt.put_tensor(&vec![0.0f32; rows * columns], &[rows, columns]);
    let rows_of = handle(&values);
    let ids = list(&rt.put(&vec![0i32; rows]));
    // Two parts for each of 16 windows of 64 rows: a row of f32, and two words; of extremes a row of i32 too.
    let slots = 2 * 16;
    let parts = |beside: usize| slots * (4 * columns * (1 + beside) + 8);
    let offsets = 4 * (segments + 1);
    // Ids and places, twice.
    let sort = 2 * rows * (4 + 4);
    for (reduction, beside) in [(Reduction::Sum, 0), (Reduction::Max, 1)] {
        for (by, want) in [
            (Grouping::Length(10), 0),
            (Grouping::Length(100), parts(beside)),
            (
                Grouping::SortedIds {
                    ids: &ids,
                    segments,
                },
                offsets + parts(beside),
            ),
            (
                Grouping::Ids {
                    ids: &ids,
                    segments,
                },
                sort + offsets + parts(beside),
            ),
        ] {
            let plan = explain_segment_reduce(&rt.client, &rows_of, by, reduction)?;
            assert_eq!(plan.temporary, want as u64, "{by:?} {reduction:?}");
        }
    }
    Ok(())
}

fn refuses_what_the_launcher_refuses(rt: &Rt) -> Result<(), Error> {
    let values = rt.put_tensor(&[0i32; 12], &[6, 2]);
    let (values, short) = (handle(&values), list(&rt.put(&[0i32; 5])));
    for (by, reduction) in [
        (Grouping::Length(4), Reduction::Sum),
        (Grouping::Length(3), Reduction::Mean),
        (
            Grouping::Ids {
                ids: &short,
                segments: 2,
            },
            Reduction::Sum,
        ),
    ] {
        let said = explain_segment_reduce(&rt.client, &values, by, reduction);
        let done = segment_reduce(&rt.client, &values, by, reduction);
        let [said, done] = [said.map(|_| ()), done.map(|_| ())]
            .map(|result| result.expect_err("it is refused").to_string());
        assert_eq!(said, done);
    }
    Ok(())
}
