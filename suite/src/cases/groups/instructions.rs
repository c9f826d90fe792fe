//! Groups compiled for an NVIDIA GPU: what their collectives and barriers become.

use cubecl::prelude::*;
use girih::coop::{Max, Product, Sum, Xor};
use girih::prelude::*;
use girih_testkit::{
    Error, cases,
    offline::{Compiled, Toolkit, buffer, hopper, settings, target},
};

use super::{collectives, splits::Split, votes};

cases! {
    in Toolkit;
    integers_of_a_plane_are_combined_in_one_instruction,
    other_values_take_a_shuffle_a_step,
    lanes_wait_by_their_mask,
    groups_of_planes_wait_at_named_barriers,
    named_barriers_run_out,
    masks_of_neighbours_are_a_shift,
    clusters_read_each_other_s_shared_memory,
    collectives_of_every_kind_of_group_compile,
}

/// One kernel for each element and operation, and the checks that all must pass: nothing branches between the steps.
macro_rules! reductions {
    ($($name:ident = $kernel:ident: $element:ident by $operation:ident;)*) => {
        $(
            #[cube(launch_unchecked)]
            fn $name(values: &mut [$element], #[comptime] count: u32) {
                let group = this_plane().partition(group_by(count));
                let unit = UNIT_POS as usize;
                values[unit] = group.reduce::<$element, $operation>(values[unit]);
            }
        )*

        /// The kernels of these names for groups of `count` lanes.
        fn reduce(toolkit: &Toolkit, name: &str, count: u32) -> Result<Compiled, Error> {
            let compiled = match name {
                $(stringify!($name) => toolkit.compile($name::$kernel::new(
                    settings(256), hopper(), target(), buffer(), count,
                ))?,)*
                _ => unreachable!("a kernel of this file is named"),
            };
            for branch in ["BSSY", "BSYNC", "WARPSYNC", "BRA.DIV", "MATCH"] {
                compiled.assert_no_sass(branch);
            }
            compiled.assert_no_local_memory();
            Ok(compiled)
        }
    };
}
reductions! {
    sums = Sums: u32 by Sum;
    maxima = Maxima: i32 by Max;
    parities = Parities: u32 by Xor;
    floats = Floats: f32 by Sum;
    products = Products: u32 by Product;
    wide = Wide: u64 by Sum;
}

fn integers_of_a_plane_are_combined_in_one_instruction(toolkit: &Toolkit) -> Result<(), Error> {
    for name in ["sums", "maxima", "parities"] {
        let compiled = reduce(toolkit, name, 32)?;
        assert_eq!(compiled.count_sass("REDUX"), 1, "{name}: {}", compiled.sass);
        assert_eq!(compiled.count_sass("SHFL"), 0, "{name}: {}", compiled.sass);
    }
    reduce(toolkit, "maxima", 32)?.assert_ptx("redux.sync.max.s32");
    Ok(())
}

fn other_values_take_a_shuffle_a_step(toolkit: &Toolkit) -> Result<(), Error> {
    for (count, steps) in [(32, 5), (16, 4), (8, 3), (4, 2), (2, 1)] {
        let floats = reduce(toolkit, "floats", count)?;
        assert_eq!(floats.count_sass("SHFL"), steps, "{count}: {}", floats.sass);
        let products = reduce(toolkit, "products", count)?;
        assert_eq!(
            products.count_sass("SHFL"),
            steps,
            "{count}: {}",
            products.sass
        );
        // Two words a value.
        let wide = reduce(toolkit, "wide", count)?;
        assert_eq!(wide.count_sass("SHFL"), 2 * steps, "{count}: {}", wide.sass);
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn waits(values: &mut [u32], #[comptime] count: u32) {
    let group = this_cube().partition(group_by(count));
    let mut held = shared::<u32>(256usize);
    held[UNIT_POS as usize] = values[UNIT_POS as usize];
    group.sync();
    let first = UNIT_POS - group.unit_rank();
    values[UNIT_POS as usize] = held[(first + (group.unit_rank() + 1) % count) as usize];
}

fn wait(toolkit: &Toolkit, units: u32, count: u32) -> Result<Compiled, Error> {
    let kernel = waits::Waits::new(settings(units), hopper(), target(), buffer(), count);
    toolkit.compile(kernel)
}

fn lanes_wait_by_their_mask(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = wait(toolkit, 256, 8)?;
    compiled.assert_ptx("bar.warp.sync");
    compiled.assert_no_ptx("bar.sync");
    Ok(())
}

fn groups_of_planes_wait_at_named_barriers(toolkit: &Toolkit) -> Result<(), Error> {
    let compiled = wait(toolkit, 256, 64)?;
    compiled.assert_ptx("bar.sync");
    compiled.assert_sass("BAR.SYNC");
    compiled.assert_no_ptx("bar.warp.sync");
    // Not the barrier of the cube.
    compiled.assert_no_ptx("bar.sync \t0");
    Ok(())
}

fn named_barriers_run_out(toolkit: &Toolkit) -> Result<(), String> {
    // Fifteen groups of two planes are waited for, sixteen are not.
    wait(toolkit, 960, 64).map_err(|error| error.to_string())?;
    match wait(toolkit, 1024, 64) {
        Err(error)
            if error
                .to_string()
                .contains("of the 15 named barriers 15 are left in this kernel") =>
        {
            Ok(())
        }
        Err(error) => Err(format!("refused by another message: {error}")),
        Ok(_) => Err("not refused".to_owned()),
    }
}

#[cube(launch_unchecked)]
fn masks(out: &mut [u32]) {
    out[UNIT_POS as usize] = this_plane().partition(group_by(8)).lane_mask().word(0u32);
}

fn masks_of_neighbours_are_a_shift(toolkit: &Toolkit) -> Result<(), Error> {
    let kernel = masks::Masks::new(settings(32), hopper(), target(), buffer());
    let compiled = toolkit.compile(kernel)?;
    assert_eq!(compiled.count_ptx("shl.b32"), 1, "{}", compiled.ptx);
    for instruction in ["vote", "popc", "bra", "selp", "setp"] {
        compiled.assert_no_ptx(instruction);
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn of_a_cluster(values: &mut [u32], wide: &mut [u64]) {
    let cluster = this_cluster();
    let unit = ABSOLUTE_POS;
    let value = values[unit];
    values[unit] = cluster.reduce::<u32, Sum>(value)
        + cluster.inclusive_scan::<u32, Sum>(value)
        + cluster.exclusive_scan::<u32, Sum>(value, 5u32)
        + cluster.broadcast::<u32>(value, 3u32);
    wide[unit] = cluster.cubes().reduce::<u64, Sum>(wide[unit]);
    cluster.sync();
}

fn clusters_read_each_other_s_shared_memory(toolkit: &Toolkit) -> Result<(), Error> {
    let settings = settings(64).cluster_dim((4, 1, 1).into());
    let kernel = of_a_cluster::OfACluster::new(settings, hopper(), target(), buffer(), buffer());
    let compiled = toolkit.compile(kernel)?;
    for instruction in [
        "mapa.shared::cluster",
        "ld.shared::cluster",
        "barrier.cluster.arrive.release",
    ] {
        compiled.assert_ptx(instruction);
    }
    compiled.assert_sass("UCGABAR_ARV");
    compiled.assert_no_local_memory();
    Ok(())
}

fn collectives_of_every_kind_of_group_compile(toolkit: &Toolkit) -> Result<(), Error> {
    let splits = [
        Split::Neighbours { count: 8 },
        Split::Neighbours { count: 7 },
        Split::Scattered { count: 11 },
        Split::Reversed { count: 5 },
        Split::Cube { count: 160 },
        Split::Cube { count: 33 },
        Split::Parts {
            counts: vec![31, 32, 97],
        },
        Split::Planes { count: 5 },
    ];
    for split in splits {
        let within = split.is_within_planes();
        let kernel = collectives::wide_sums::WideSums::new(
            settings(160),
            hopper(),
            target(),
            buffer(),
            buffer(),
            buffer(),
            split.clone(),
            within,
        );
        toolkit.compile(kernel)?;
        let kernel = votes::votes::Votes::new(
            settings(160),
            hopper(),
            target(),
            buffer(),
            buffer(),
            split,
            within,
        );
        toolkit.compile(kernel)?;
    }
    Ok(())
}
