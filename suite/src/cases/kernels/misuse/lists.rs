//! Sorts, counts, scans and compactions.

use super::{I32, Launcher, Outcome, U32, floats, int_rows, ints, read, refuse};
use cubecl::prelude::*;
use girih::device::Device;
use girih_kernels::{
    CompactOptions, Predicate, ScanOperation, ScanOperator, ScanOptions, Segments, Side,
    SortOptions, SortOrder, UniqueOptions,
};
use girih_testkit::Rt;

/// An order of the tests' own.
struct Descending;

#[cube]
impl SortOrder for Descending {
    fn is_before<A: Numeric>(first: A, second: A) -> bool {
        second < first
    }
}

pub(super) fn sorts_refuse_them(rt: &Rt) -> Outcome {
    use girih_kernels::{
        argsort, argsort_by, bincount, bins_of, histogram, search_sorted, sort, sort_by,
        sort_pairs, sort_pairs_by, sort_with_indices, top_k, unique,
    };
    let client = &rt.client;
    let options = SortOptions::default;
    let keys = || vec![("keys", floats(rt, &[3, 4]))];
    let pairs = || {
        let mut pairs = keys();
        pairs.push(("payload", floats(rt, &[3, 4])));
        pairs
    };
    let values = || vec![("values", int_rows(rt, &[0, 1, 2, 9, -1, 1], &[3, 2]))];
    let mut launchers = vec![
        Launcher::new("sort", keys(), |of| {
            read(rt, &sort(client, &of[0], 0, &options())?)
        }),
        Launcher::new("sort_pairs", pairs(), |of| {
            read(rt, &sort_pairs(client, &of[0], &of[1], 0, &options())?.1)
        }),
        Launcher::new("argsort", keys(), |of| {
            read(rt, &argsort(client, &of[0], 0, U32(), &options())?)
        }),
        Launcher::new("sort_with_indices", keys(), |of| {
            read(
                rt,
                &sort_with_indices(client, &of[0], 0, I32(), &options())?.1,
            )
        }),
        Launcher::new("sort_by", keys(), |of| {
            read(rt, &sort_by::<Descending>(client, &of[0], 0)?)
        }),
        Launcher::new("sort_pairs_by", pairs(), |of| {
            read(
                rt,
                &sort_pairs_by::<Descending>(client, &of[0], &of[1], 0)?.1,
            )
        }),
        Launcher::new("argsort_by", keys(), |of| {
            read(rt, &argsort_by::<Descending>(client, &of[0], 0, U32())?)
        }),
        Launcher::new("top_k", keys(), |of| {
            read(rt, &top_k(client, &of[0], 0, 2, true, U32())?.1)
        }),
        Launcher::new(
            "search_sorted",
            vec![
                ("sorted", floats(rt, &[3, 4])),
                ("values", floats(rt, &[3, 2])),
            ],
            |of| {
                read(
                    rt,
                    &search_sorted(client, &of[0], &of[1], Side::Left, U32())?,
                )
            },
        ),
        Launcher::new("bincount", values(), |of| {
            read(rt, &bincount(client, &of[0], None, 3)?)
        }),
        Launcher::new("histogram", values(), |of| {
            read(rt, &histogram(client, &of[0], None, 3, [0.0, 1.0])?)
        }),
        Launcher::new("bins_of", values(), |of| {
            read(rt, &bins_of(client, &of[0], 3, None)?)
        }),
        Launcher::new("unique", vec![("input", floats(rt, &[3, 4]))], |of| {
            let options = UniqueOptions {
                counts: true,
                inverse: true,
                ..UniqueOptions::default()
            };
            unique(client, &of[0], options)?
                .values
                .read(client)
                .map(|_| ())
        }),
    ];
    if Device::of(client).adds_atomically(f32::elem_type_native(), 1) {
        let mut weighted = values();
        weighted.push(("weights", floats(rt, &[3, 2])));
        launchers.push(Launcher::new("bincount", weighted, |of| {
            read(rt, &bincount(client, &of[0], Some(&of[1]), 3)?)
        }));
    }
    refuse(launchers)
}

/// An operation of the tests' own.
struct Last;

#[cube]
impl ScanOperator for Last {
    fn identity<A: Numeric>() -> A {
        A::from_int(0)
    }

    fn combine<A: Numeric>(_first: A, second: A) -> A {
        second
    }
}

pub(super) fn scans_refuse_them(rt: &Rt) -> Outcome {
    use girih_kernels::{scan, scan_into, scan_with};
    let client = &rt.client;
    let input = || ("input", floats(rt, &[3, 4]));
    let into = || vec![input(), ("output", floats(rt, &[3, 4]))];
    let flags = int_rows(rt, &[1, 0, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0], &[3, 4]);
    refuse(vec![
        Launcher::new("scan", vec![input()], |of| {
            read(
                rt,
                &scan(
                    client,
                    &of[0],
                    0,
                    ScanOperation::Sum,
                    ScanOptions::exclusive(),
                )?,
            )
        }),
        Launcher::new("scan, flags", vec![input(), ("flags", flags)], |of| {
            let options = ScanOptions::inclusive().segments(Segments::Flags(&of[1]));
            read(rt, &scan(client, &of[0], 1, ScanOperation::Max, options)?)
        }),
        Launcher::new(
            "scan, offsets",
            vec![input(), ("offsets", ints(rt, &[0, 2]))],
            |of| {
                let options = ScanOptions::inclusive().segments(Segments::Offsets(&of[1]));
                read(
                    rt,
                    &scan(client, &of[0], 1, ScanOperation::Product, options)?,
                )
            },
        ),
        Launcher::new("scan_into", into(), |of| {
            let (operation, options) = (ScanOperation::Min, ScanOptions::inclusive());
            scan_into(client, &of[0], &of[1], 1, operation, options)?;
            read(rt, &of[1])
        }),
        Launcher::new("scan_with", into(), |of| {
            scan_with::<Last>(client, &of[0], &of[1], 0, ScanOptions::exclusive())?;
            read(rt, &of[1])
        }),
    ])
}

/// A predicate of the tests' own.
struct AboveTwo;

#[cube]
impl Predicate for AboveTwo {
    fn holds<E: Numeric>(value: E) -> bool {
        value > E::from_int(2)
    }
}

pub(super) fn compactions_refuse_them(rt: &Rt) -> Outcome {
    use girih_kernels::{nonzero, partition, run_length, select, select_by, unique_consecutive};
    let client = &rt.client;
    let options = CompactOptions::default();
    let input = || vec![("input", floats(rt, &[3, 2]))];
    let masked = || {
        let mut masked = input();
        masked.push(("mask", int_rows(rt, &[1, 0, 0, 1, 1, 0], &[3, 2])));
        masked
    };
    refuse(vec![
        Launcher::new("select", masked(), |of| {
            select(client, &of[0], &of[1], options)?
                .count(client)
                .map(|_| ())
        }),
        Launcher::new("partition", masked(), |of| {
            partition(client, &of[0], &of[1], options)?
                .rejected
                .count(client)
                .map(|_| ())
        }),
        Launcher::new("select_by", input(), |of| {
            select_by::<AboveTwo>(client, &of[0], options)?
                .count(client)
                .map(|_| ())
        }),
        Launcher::new("nonzero", input(), |of| {
            nonzero(client, &of[0], options)?.count(client).map(|_| ())
        }),
        Launcher::new("unique_consecutive", input(), |of| {
            unique_consecutive(client, &of[0], options)?
                .values
                .count(client)
                .map(|_| ())
        }),
        Launcher::new("run_length", input(), |of| {
            run_length(client, &of[0], options)?
                .lengths
                .count(client)
                .map(|_| ())
        }),
    ])
}
