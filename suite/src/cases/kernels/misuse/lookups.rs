//! Gathers and scatters.

use super::{I32, Launcher, Outcome, floats, int_rows, ints, read, refuse};
use cubecl::prelude::*;
use girih::Bounds;
use girih_kernels::{Determinism, Duplicates, ScatterMode};
use girih_testkit::Rt;

pub(super) fn gathers_refuse_them(rt: &Rt) -> Outcome {
    use girih_kernels::{
        GatherOptions, explain_gather, explain_paged_gather, explain_take_along_axis, gather,
        gather_backward, gather_into, page_rows, paged_gather, take_along_axis,
        take_along_axis_into,
    };
    let client = &rt.client;
    let (table, rows) = (floats(rt, &[3, 4]), floats(rt, &[2, 4]));
    let index = ints(rt, &[2, 0]);
    let along = int_rows(rt, &[2, 0, 1, 1, 0, 2], &[3, 2]);
    let taken = floats(rt, &[3, 2]);
    let pages = || {
        vec![
            ("pages", floats(rt, &[3, 2, 4])),
            ("table", int_rows(rt, &[2, 0, 1, 1], &[2, 2])),
            ("offsets", ints(rt, &[0, 3, 4])),
        ]
    };
    let both = |second| vec![("input", table.clone()), ("index", second)];
    let mut launchers = vec![
        Launcher::new("gather", both(index.clone()), |of| {
            read(
                rt,
                gather(client, &of[0], &of[1], 0, Bounds::Report)?.value(),
            )
        }),
        Launcher::new(
            "gather_into",
            vec![
                ("input", table.clone()),
                ("index", index.clone()),
                ("output", rows.clone()),
            ],
            |of| {
                gather_into(client, &of[0], &of[1], &of[2], 0, Bounds::Wrap)?.check()?;
                read(rt, &of[2])
            },
        ),
        Launcher::new("explain_gather", both(index.clone()), |of| {
            explain_gather(client, &of[0], &of[1], 0).map(|_| ())
        }),
        Launcher::new(
            "take_along_axis",
            vec![
                ("table", table.clone()),
                ("index", int_rows(rt, &[1; 6], &[3, 2])),
            ],
            |of| {
                read(
                    rt,
                    take_along_axis(client, &of[0], &of[1], 1, Bounds::Report)?.value(),
                )
            },
        ),
        Launcher::new(
            "take_along_axis_into",
            vec![
                ("table", table.clone()),
                ("index", along.clone()),
                ("output", taken.clone()),
            ],
            |of| {
                take_along_axis_into(client, &of[0], &of[1], &of[2], 1, Bounds::Clamp)?.check()?;
                read(rt, &of[2])
            },
        ),
        Launcher::new(
            "explain_take_along_axis",
            vec![("table", table.clone()), ("index", along.clone())],
            |of| explain_take_along_axis(client, &of[0], &of[1], 1).map(|_| ()),
        ),
        Launcher::new("paged_gather", pages(), |of| {
            let rows = paged_gather(client, &of[0], &of[1], &of[2], 5, Bounds::Report)?;
            read(rt, rows.value())
        }),
        Launcher::new("explain_paged_gather", pages(), |of| {
            explain_paged_gather(client, &of[0], &of[1], &of[2], 5).map(|_| ())
        }),
        Launcher::new("page_rows", pages().split_off(1), |of| {
            read(
                rt,
                page_rows(client, [3, 2], &of[0], &of[1], 5, Bounds::Mask)?.value(),
            )
        }),
    ];
    for determinism in [Determinism::Any, Determinism::RunToRun] {
        launchers.push(Launcher::new(
            "gather_backward",
            vec![("gradient", rows.clone()), ("index", index.clone())],
            move |of| {
                let options = GatherOptions {
                    determinism,
                    padding: Some(1),
                    ..Bounds::Mask.into()
                };
                let sums = gather_backward(client, &of[0], &of[1], 0, 3, options)?;
                read(rt, &sums)
            },
        ));
    }
    refuse(launchers)
}

pub(super) fn scatters_refuse_them(rt: &Rt) -> Outcome {
    use girih_kernels::{
        ScatterOptions, add_along_axis, explain_scatter, scatter_into, supports_add_along_axis,
    };
    let client = &rt.client;
    let all = || {
        vec![
            ("target", floats(rt, &[3, 4])),
            ("index", ints(rt, &[2, 0])),
            ("updates", floats(rt, &[2, 4])),
        ]
    };
    let mut launchers = vec![Launcher::new("explain_scatter", all(), |of| {
        let mode = ScatterMode::Add;
        explain_scatter(client, &of[0], &of[1], &of[2], 0, mode, Bounds::Mask).map(|_| ())
    })];
    for (mode, duplicates) in [
        (ScatterMode::Set, Duplicates::Unordered),
        (ScatterMode::Set, Duplicates::FirstWins),
        (ScatterMode::Add, Duplicates::Unordered),
        (ScatterMode::Mul, Duplicates::Deterministic),
    ] {
        launchers.push(Launcher::new("scatter_into", all(), move |of| {
            let options = ScatterOptions {
                bounds: Bounds::Report,
                ..duplicates.into()
            };
            scatter_into(client, &of[0], &of[1], &of[2], 0, mode, options)?.check()?;
            read(rt, &of[0])
        }));
    }
    if supports_add_along_axis(client, f32::elem_type_native(), I32()).is_ok() {
        launchers.push(Launcher::new(
            "add_along_axis",
            vec![
                ("table", floats(rt, &[3, 4])),
                ("index", int_rows(rt, &[1, 0, 2, 3, 1, 1], &[3, 2])),
                ("updates", floats(rt, &[3, 2])),
            ],
            |of| {
                add_along_axis(client, &of[0], &of[1], &of[2], 1, Bounds::Report)?.check()?;
                read(rt, &of[0])
            },
        ));
    }
    refuse(launchers)
}
