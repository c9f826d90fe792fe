//! Clusters of cubes, where the device has them: what their units compute together through each other's shared memory.

use cubecl::prelude::*;
use girih::coop::{Min, Sum};
use girih::prelude::*;
use girih_testkit::{Error, Rt, case::Need, cases, check::same, needs};

use super::collectives::{RESULTS, compute, expected};
use super::parents::assert_refused;
use super::splits::{Compose, compose, mixed};

cases! {
    sums_of_a_cluster needs [CLUSTERS],
    a_cluster_keeps_the_order_of_ranks needs [CLUSTERS],
    words_of_a_cluster needs [CLUSTERS, needs::U64],
    cubes_of_a_cluster needs [CLUSTERS],
    rounds_of_a_loop_in_a_cluster needs [CLUSTERS],
    a_cluster_waits_for_its_cubes needs [CLUSTERS],
    refuses_a_cluster_where_there_is_none needs [NO_CLUSTERS],
}

const CLUSTERS: Need = Need {
    what: "clusters of cubes",
    met: |rt| rt.client.features().cube_cluster,
};

const NO_CLUSTERS: Need = Need {
    what: "lack of clusters",
    met: |rt| !rt.client.features().cube_cluster,
};

/// Cubes of a cluster, and clusters of a launch.
const CUBES: u32 = 4;
const CLUSTERS_IN_ALL: u32 = 3;
/// Units of a cube: one plane, parts of planes, several planes.
const UNITS: [u32; 4] = [32, 48, 256, 1024];

macro_rules! kernels {
    ($($name:ident: $element:ident by $operation:ident;)*) => {$(
        #[cube(launch_unchecked, cluster_dim = CubeDim::new_1d(CUBES))]
        fn $name(
            values: &[$element],
            out: &mut [$element],
            flags: &mut [u32],
            #[comptime] by_cubes: bool,
        ) {
            let cluster = this_cluster();
            if comptime!(by_cubes) {
                let cubes = cluster.cubes();
                compute::<$element, $operation>(&cubes, ABSOLUTE_POS, values, out, flags);
            } else {
                compute::<$element, $operation>(&cluster, ABSOLUTE_POS, values, out, flags);
            }
        }
    )*};
}
kernels! {
    sums: u32 by Sum;
    compositions: u32 by Compose;
    minima: f32 by Min;
    wide_sums: u64 by Sum;
}

/// Compares clusters of cubes of every size with the host; `by_cubes`, a cube counts as one, and its units have one value.
macro_rules! compare {
    ($rt:ident, $kernel:ident of $element:ty, by_cubes: $by_cubes:expr, $value:expr, $combine:expr) => {{
        let value: fn(u32) -> $element = $value;
        for units in UNITS {
            let stride = if $by_cubes { units } else { 1 };
            let all = CLUSTERS_IN_ALL * CUBES * units;
            let values: Vec<$element> = (0..all).map(|unit| value(unit / stride)).collect();
            let out = $rt.poisoned::<$element>(all as usize * RESULTS);
            let flags = $rt.poisoned::<u32>(all as usize);
            // SAFETY: each unit reads its own value and the first, and writes its own results.
            unsafe {
                $kernel::launch_unchecked(
                    &$rt.client,
                    CubeCount::new_1d(CLUSTERS_IN_ALL * CUBES),
                    CubeDim::new_1d(units),
                    $rt.put(&values).arg(),
                    out.arg(),
                    flags.arg(),
                    $by_cubes,
                );
            }
            let (out, flags) = ($rt.read(&out)?, $rt.read(&flags)?);
            for unit in 0..all as usize {
                let cluster = (CUBES * units) as usize;
                let first = unit / cluster * cluster;
                let members: Vec<$element> = values[first..first + cluster]
                    .iter()
                    .step_by(stride as usize)
                    .copied()
                    .collect();
                let rank = (unit - first) / stride as usize;
                let (right, found) = expected(&members, rank, values[0], $combine);
                if let Err(difference) = same(&out[unit * RESULTS..][..RESULTS], &right) {
                    panic!("unit {unit} of cubes of {units}: {difference}");
                }
                assert_eq!(flags[unit], found, "unit {unit} of cubes of {units}");
            }
        }
        Ok(())
    }};
}

fn sums_of_a_cluster(rt: &Rt) -> Result<(), Error> {
    compare!(rt, sums of u32, by_cubes: false, mixed, u32::wrapping_add)
}

fn a_cluster_keeps_the_order_of_ranks(rt: &Rt) -> Result<(), Error> {
    compare!(rt, compositions of u32, by_cubes: false, |unit| mixed(unit) | 1, compose)
}

fn words_of_a_cluster(rt: &Rt) -> Result<(), Error> {
    let wide = |unit| u64::from(mixed(unit)) << 20 | 7;
    compare!(rt, wide_sums of u64, by_cubes: false, wide, u64::wrapping_add)
}

fn cubes_of_a_cluster(rt: &Rt) -> Result<(), Error> {
    let float = |cube| (mixed(cube) % 1000) as f32 - 500.5;
    compare!(rt, minima of f32, by_cubes: true, float, f32::min)?;
    compare!(rt, compositions of u32, by_cubes: true, |cube| mixed(cube) | 1, compose)
}

/// Each round adds what the cluster has to what a unit has, with nothing that waits between the rounds.
#[cube(launch_unchecked, cluster_dim = CubeDim::new_1d(CUBES))]
fn rounds_of_a_cluster(values: &mut [u32], rounds: u32) {
    let cluster = this_cluster();
    let mut value = values[ABSOLUTE_POS];
    for round in 0..rounds {
        let sum = cluster.reduce::<u32, Sum>(value);
        let before = cluster.exclusive_scan::<u32, Sum>(value, round);
        let told = cluster.broadcast::<u32>(value, round % cluster.unit_count());
        value = value * 3 + sum * 5 + before * 7 + told * 11;
    }
    values[ABSOLUTE_POS] = value;
}

fn rounds_of_a_loop_in_a_cluster(rt: &Rt) -> Result<(), Error> {
    for units in UNITS {
        let all = CLUSTERS_IN_ALL * CUBES * units;
        let mut values: Vec<u32> = (0..all).map(mixed).collect();
        let held = rt.put(&values);
        // SAFETY: each unit reads and writes its own value.
        unsafe {
            rounds_of_a_cluster::launch_unchecked(
                &rt.client,
                CubeCount::new_1d(CLUSTERS_IN_ALL * CUBES),
                CubeDim::new_1d(units),
                held.arg(),
                20u32,
            );
        }
        for cluster in values.chunks_mut((CUBES * units) as usize) {
            for round in 0..20 {
                let sum = cluster.iter().fold(0u32, |sum, v| sum.wrapping_add(*v));
                let told = cluster[round % cluster.len()];
                let mut before = round as u32;
                for value in &mut *cluster {
                    let next = [(*value, 3u32), (sum, 5), (before, 7), (told, 11)];
                    before = before.wrapping_add(*value);
                    *value = next
                        .into_iter()
                        .fold(0, |sum, (v, by)| sum.wrapping_add(v.wrapping_mul(by)));
                }
            }
        }
        if let Err(difference) = same(&rt.read(&held)?, &values) {
            panic!("cubes of {units}: {difference}");
        }
    }
    Ok(())
}

/// Each cube writes, and reads what the next one has written once the cluster has waited.
#[cube(launch_unchecked, cluster_dim = CubeDim::new_1d(CUBES))]
fn relay(held: &mut [u32], out: &mut [u32], rounds: u32) {
    let cluster = this_cluster();
    let units = cluster.unit_count();
    let first = ABSOLUTE_POS - cluster.unit_rank() as usize;
    let next = first + ((cluster.unit_rank() + CUBE_DIM) % units) as usize;
    for round in 0..rounds {
        held[ABSOLUTE_POS] = 1000u32 * round + cluster.unit_rank();
        cluster.sync();
        out[ABSOLUTE_POS * rounds as usize + round as usize] = held[next];
        cluster.sync();
    }
}

fn a_cluster_waits_for_its_cubes(rt: &Rt) -> Result<(), Error> {
    let rounds = 50;
    for units in UNITS {
        let all = CLUSTERS_IN_ALL * CUBES * units;
        let out = rt.poisoned::<u32>((all * rounds) as usize);
        // SAFETY: each unit writes its own elements, and reads those of its own cluster.
        unsafe {
            relay::launch_unchecked(
                &rt.client,
                CubeCount::new_1d(CLUSTERS_IN_ALL * CUBES),
                CubeDim::new_1d(units),
                rt.poisoned::<u32>(all as usize).arg(),
                out.arg(),
                rounds,
            );
        }
        let next = |unit| (unit + units) % (CUBES * units);
        let right =
            (0..all).flat_map(|unit| (0..rounds).map(move |round| 1000 * round + next(unit)));
        if let Err(difference) = same(&rt.read(&out)?, &right.collect::<Vec<_>>()) {
            panic!("cubes of {units}: {difference}");
        }
    }
    Ok(())
}

fn refuses_a_cluster_where_there_is_none(rt: &Rt) {
    let out = rt.poisoned::<u32>(CUBES as usize * RESULTS);
    // SAFETY: the kernel is refused; else each of the cubes' only units would write its own results.
    unsafe {
        sums::launch_unchecked(
            &rt.client,
            CubeCount::new_1d(CUBES),
            CubeDim::new_1d(1),
            rt.put(&vec![1u32; CUBES as usize]).arg(),
            out.arg(),
            rt.poisoned::<u32>(CUBES as usize).arg(),
            false,
        );
    }
    let text = "girih: Group::reduce: a Cluster of several cubes; groups of one cube are allowed";
    assert_refused(rt, &out, text);
}
