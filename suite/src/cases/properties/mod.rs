//! Random data through every kind of view, against a model written from the specification.
//!
//! A configuration (types, extents of the tile, rank, gather dimension, policy, padding) is a kernel, and costs a
//! compilation; it is the same in every run. Each tries as many data sets (extents, strides, indices, starts) as the
//! command line says, from a seed of its own, which a failure names.

mod element;
mod flat;
mod gather;
mod indices;
mod memory;
mod model;
mod partition;
mod setup;

use crate::random::for_all_from;
use element::{added_types, element_types, index_types};
use flat::Flat;
use gather::View;
use girih::Bounds;
use girih_testkit::{Rt, cases};
use model::{Model, Planted, Rule};
use partition::Partition;
use proptest::strategy::Strategy;
use setup::{Action, Choice, Setup};
use std::{cell::Cell, fmt::Debug};

cases! {
    loads_tiles_of_partitions,
    stores_tiles_of_partitions,
    gathers,
    scatters,
    adds_atomically,
    gathers_flat,
    scatters_flat,
    adds_atomically_flat,
    configurations_have_all_there_is,
    finds_planted_errors,
}

/// Elements of a tile at most. Where they are added up at one place, sums stay exact in bf16.
const MOST: usize = 200;
const MOST_ADDED: usize = 60;

/// Runs a check on the data of a configuration, whose number is the seed. A planted error is found, and not shrunk.
fn try_all<C: Debug, S: Strategy<Value: Debug>>(
    number: usize,
    configuration: &C,
    model: Model,
    data: S,
    check: impl Fn(S::Value) -> Result<(), String>,
) -> Result<(), String> {
    let found = Cell::new(false);
    let check = |data| match found.get() {
        true => Ok(()),
        false => check(data).inspect_err(|_| found.set(model.planted.is_some())),
    };
    for_all_from(number as u64, data, check)
        .map_err(|reason| format!("configuration {number}, {configuration:?}: {reason}"))
}

fn partitions(rt: &Rt, action: Action) -> Vec<Partition> {
    let choice = Choice::new(rt, 0);
    let of = |number: usize| {
        let rank = 1 + number % 5;
        let mut setup = choice.setup(action, number, rank, MOST);
        let mut order: Vec<_> = (0..rank).collect();
        order.rotate_left(number / 5 % rank);
        let mut step = setup.shape.clone();
        for (dim, step) in step.iter_mut().enumerate() {
            // As far apart as they are long, overlapping, with gaps.
            *step = match (number + dim) % 4 {
                1 => step.div_ceil(2),
                2 => *step + 1,
                _ => *step,
            };
        }
        if setup.rule == Rule::Under(Bounds::Report) {
            // A partition has no list of which a position could be told.
            setup.rule = Rule::Under(Bounds::Mask);
        }
        if number % 3 == 2 {
            setup = choice.in_vectors(setup);
        }
        if action == Action::Store && setup.width > 1 {
            // Vectors are stored whole: along the last dimension, from a multiple of them.
            let (last, width) = (rank - 1, setup.width);
            order = (0..rank).collect();
            setup.shape[last] = setup.shape[last].next_multiple_of(width);
            step[last] = setup.shape[last];
            if setup.rule == Rule::Under(Bounds::Clamp) {
                // Refused: several elements would go to one lane.
                setup.rule = Rule::Under(Bounds::Wrap);
            }
        }
        Partition { setup, order, step }
    };
    (0..12).map(of).collect()
}

fn try_partition(
    rt: &Rt,
    number: usize,
    partition: &Partition,
    model: Model,
) -> Result<(), String> {
    try_all(
        number,
        partition,
        model,
        partition::data(partition),
        |data| partition::check(rt, partition, &data, model),
    )
}

fn try_partitions(rt: &Rt, action: Action) -> Result<(), String> {
    let configurations = partitions(rt, action);
    let mut each = configurations.iter().enumerate();
    each.try_for_each(|(number, partition)| try_partition(rt, number, partition, Model::default()))
}

fn views(rt: &Rt, action: Action, count: usize) -> Vec<View> {
    // Rules of dimensions that are not gathered.
    const RUNS: [Bounds; 5] = [
        Bounds::Mask,
        Bounds::Wrap,
        Bounds::Clamp,
        Bounds::Mask,
        Bounds::Assume,
    ];
    let dims: Vec<_> = (1..=5)
        .flat_map(|rank| (0..rank).map(move |dim| (rank, dim)))
        .collect();
    let (choice, most) = match action {
        Action::Add => (Choice::new(rt, 3).of_elements(added_types(rt)), MOST_ADDED),
        Action::Load | Action::Store => (Choice::new(rt, 3), MOST),
    };
    let of = |number: usize| {
        // Fewer configurations than pairs take every second of them, and then come round.
        let (rank, dim) = match count < dims.len() {
            true => dims[number * 2 % dims.len()],
            false => dims[number % dims.len()],
        };
        let setup = choice.setup(action, number, rank, most);
        let vectors = action == Action::Load && number % 4 == 3;
        View {
            setup: match vectors {
                true => choice.in_vectors(setup),
                false => setup,
            },
            dim,
            run: RUNS[number % RUNS.len()],
        }
    };
    (0..count).map(of).collect()
}

fn try_view(rt: &Rt, number: usize, view: &View, model: Model) -> Result<(), String> {
    try_all(number, view, model, gather::data(view), |data| {
        gather::check(rt, view, &data, model)
    })
}

fn try_views(rt: &Rt, action: Action, count: usize) -> Result<(), String> {
    let configurations = views(rt, action, count);
    let mut each = configurations.iter().enumerate();
    each.try_for_each(|(number, view)| try_view(rt, number, view, Model::default()))
}

/// Ranks of memory and of the tile.
const FLAT_RANKS: [(usize, usize); 7] = [(1, 1), (2, 2), (3, 2), (4, 1), (5, 3), (2, 4), (1, 5)];

fn flats(rt: &Rt, action: Action, count: usize) -> Vec<Flat> {
    let (choice, most) = match action {
        Action::Add => (Choice::new(rt, 11).of_elements(added_types(rt)), MOST_ADDED),
        Action::Load | Action::Store => (Choice::new(rt, 11), MOST),
    };
    let of = |number: usize| {
        let (axes, rank) = FLAT_RANKS[number % FLAT_RANKS.len()];
        let setup = choice.setup(action, number, rank, most);
        // The tile's extents, or 1 along one dimension in turn.
        let broadcast = |turn: usize| {
            let mut own = setup.shape.clone();
            if !turn.is_multiple_of(3) {
                own[turn % rank] = 1;
            }
            own
        };
        Flat {
            index_shapes: (0..axes).map(|axis| broadcast(number + axis)).collect(),
            mask_shape: match number % 4 {
                0 => None,
                1 => Some(broadcast(number + 1)),
                _ => Some(setup.shape.clone()),
            },
            or: number % 3 == 1,
            setup,
        }
    };
    (0..count).map(of).collect()
}

fn try_flat(rt: &Rt, number: usize, flat: &Flat, model: Model) -> Result<(), String> {
    try_all(number, flat, model, flat::data(flat), |data| {
        flat::check(rt, flat, &data, model)
    })
}

fn try_flats(rt: &Rt, action: Action, count: usize) -> Result<(), String> {
    let configurations = flats(rt, action, count);
    let mut each = configurations.iter().enumerate();
    each.try_for_each(|(number, flat)| try_flat(rt, number, flat, Model::default()))
}

/// How many configurations each action of views and of flat views has.
const LOADS: usize = 20;
const STORES: usize = 15;
const ADDS: usize = 8;
const FLAT_LOADS: usize = 14;
const FLAT_STORES: usize = 14;
const FLAT_ADDS: usize = 7;

fn loads_tiles_of_partitions(rt: &Rt) -> Result<(), String> {
    try_partitions(rt, Action::Load)
}
fn stores_tiles_of_partitions(rt: &Rt) -> Result<(), String> {
    try_partitions(rt, Action::Store)
}
fn gathers(rt: &Rt) -> Result<(), String> {
    try_views(rt, Action::Load, LOADS)
}
fn scatters(rt: &Rt) -> Result<(), String> {
    try_views(rt, Action::Store, STORES)
}
fn adds_atomically(rt: &Rt) -> Result<(), String> {
    try_views(rt, Action::Add, ADDS)
}
fn gathers_flat(rt: &Rt) -> Result<(), String> {
    try_flats(rt, Action::Load, FLAT_LOADS)
}
fn scatters_flat(rt: &Rt) -> Result<(), String> {
    try_flats(rt, Action::Store, FLAT_STORES)
}
fn adds_atomically_flat(rt: &Rt) -> Result<(), String> {
    try_flats(rt, Action::Add, FLAT_ADDS)
}

/// Every type of the device, every rule, every padding and every gather dimension is in some configuration of loads, and
/// of stores.
fn configurations_have_all_there_is(rt: &Rt) -> Result<(), String> {
    let views = |action, count| {
        let views = views(rt, action, count).into_iter();
        views.map(|view| view.setup).collect::<Vec<_>>()
    };
    let flats = |action, count| {
        let flats = flats(rt, action, count).into_iter();
        flats.map(|flat| flat.setup).collect::<Vec<_>>()
    };
    let partitions = |action| {
        let partitions = partitions(rt, action).into_iter();
        partitions
            .map(|partition| partition.setup)
            .collect::<Vec<_>>()
    };
    let loads = [
        partitions(Action::Load),
        views(Action::Load, LOADS),
        flats(Action::Load, FLAT_LOADS),
    ]
    .concat();
    let stores = [
        partitions(Action::Store),
        views(Action::Store, STORES),
        flats(Action::Store, FLAT_STORES),
    ]
    .concat();
    let adds = [views(Action::Add, ADDS), flats(Action::Add, FLAT_ADDS)].concat();
    let count = loads.len() + stores.len() + adds.len();
    if count < 60 {
        return Err(format!("{count} configurations"));
    }
    let lacks =
        |setups: &[Setup], what: &str, has: &dyn Fn(&Setup) -> bool| match setups.iter().any(has) {
            true => Ok(()),
            false => Err(format!("no configuration of {what}")),
        };
    for element in element_types(rt) {
        for setups in [&loads, &stores] {
            lacks(setups, &format!("{element:?}"), &|setup| {
                setup.element == element
            })?;
        }
        for &padding in element::Pad::of(element) {
            let kind = |setup: &Setup| setup.padding == padding;
            lacks(&loads, &format!("{padding:?}"), &kind)?;
        }
    }
    for element in added_types(rt) {
        lacks(&adds, &format!("additions of {element:?}"), &|setup| {
            setup.element == element
        })?;
    }
    for index in index_types(rt) {
        for setups in [&loads, &stores] {
            lacks(setups, &format!("indices of {index:?}"), &|setup| {
                setup.index == index
            })?;
        }
    }
    for rule in Choice::new(rt, 0).rules() {
        for setups in [&loads, &stores, &adds] {
            lacks(setups, &format!("{rule:?}"), &|setup| setup.rule == rule)?;
        }
    }
    Ok(())
}

/// A model with a wrong rule for each policy, which several configurations then fail, and say with what data.
fn finds_planted_errors(rt: &Rt) -> Result<(), String> {
    const PLANTED: [(Rule, Planted); 5] = [
        (Rule::Under(Bounds::Assume), Planted::NextElement),
        (Rule::Under(Bounds::Mask), Planted::MinusOneIsLast),
        (Rule::Under(Bounds::Clamp), Planted::ClampsShort),
        (Rule::Under(Bounds::Wrap), Planted::FirstFromEndIsOut),
        (Rule::Under(Bounds::Report), Planted::LastOffence),
    ];
    let counts = [
        (Action::Load, LOADS),
        (Action::Store, STORES),
        (Action::Add, ADDS),
    ];
    let views = counts.map(|(action, count)| views(rt, action, count));
    let partitions = [Action::Load, Action::Store].map(|action| partitions(rt, action));
    let counts = [
        (Action::Load, FLAT_LOADS),
        (Action::Store, FLAT_STORES),
        (Action::Add, FLAT_ADDS),
    ];
    let flats = counts.map(|(action, count)| flats(rt, action, count));
    let rules = Choice::new(rt, 0).rules();
    let (mut all_found, mut all) = (0, 0);
    for (rule, planted) in PLANTED.into_iter().filter(|(rule, _)| rules.contains(rule)) {
        let model = Model {
            planted: Some(planted),
        };
        // Of a configuration with few indices, or without -1, the wrong rule may not show.
        let counts_from_end = matches!(
            planted,
            Planted::MinusOneIsLast | Planted::FirstFromEndIsOut
        );
        let shows = |setup: &Setup, indices: usize| {
            let has_minus_one = element::range(setup.index).0 < 0;
            setup.rule == rule && indices > 2 && (has_minus_one || !counts_from_end)
        };
        let (mut found, mut asked) = (0, 0);
        let mut note = |outcome: Result<(), String>| {
            asked += 1;
            match outcome {
                Err(reason) if reason.contains("configuration") && reason.contains("seed") => {
                    found += 1;
                    Ok(())
                }
                Err(reason) => Err(format!("the failure does not say where: {reason}")),
                // None of the data sets had what the wrong rule is wrong about.
                Ok(()) => Ok(()),
            }
        };
        for (number, view) in views.iter().flat_map(|views| views.iter().enumerate()) {
            if shows(&view.setup, view.setup.shape[view.dim]) {
                note(try_view(rt, number, view, model))?;
            }
        }
        for (number, partition) in partitions.iter().flat_map(|all| all.iter().enumerate()) {
            if shows(&partition.setup, partition.setup.size()) {
                note(try_partition(rt, number, partition, model))?;
            }
        }
        for (number, flat) in flats.iter().flat_map(|flats| flats.iter().enumerate()) {
            if shows(&flat.setup, flat.setup.size()) {
                note(try_flat(rt, number, flat, model))?;
            }
        }
        if found < asked.min(2) {
            return Err(format!(
                "{found} of {asked} configurations find {planted:?}"
            ));
        }
        all += 1;
        all_found += usize::from(found > 0);
    }
    // On a device that stores few types, one rule may go with indices alone that are never negative.
    match all_found + 1 < all {
        true => Err(format!("{all_found} of {all} planted errors are found")),
        false => Ok(()),
    }
}
