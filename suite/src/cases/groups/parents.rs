//! Groups of groups, of larger units, of one's own mapping, and what kernels refuse of them.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Buffer, Error, Rt, cases, check::assert_same, needs};

cases! {
    groups_of_groups_count_within_one,
    planes_of_a_cube_are_told_alike,
    units_and_cubes_of_a_grid,
    a_mapping_of_one_s_own_is_a_link,
    known_sizes_are_comptime_values,
    refuses_what_is_known_to_be_wrong,
    refuses_a_vote_across_planes needs [needs::PLANES],
    refuses_a_tile_on_a_group_of_unknown_size,
    tiles_of_groups_of_every_kind,
}

/// Launches one cube of `units` units.
macro_rules! one_cube {
    ($kernel:ident, $rt:ident, $units:expr, $($argument:expr),*) => {
        // SAFETY: each unit writes its own elements of the buffers, which have as many as there are units.
        unsafe {
            $kernel::launch_unchecked(
                &$rt.client,
                CubeCount::new_single(),
                CubeDim::new_1d($units),
                $($argument),*
            )
        }
    };
}

/// The error that reading `out` gives, which must hold `text`.
pub(super) fn assert_refused(rt: &Rt, out: &Buffer<u32>, text: &str) {
    match rt.read(out) {
        Err(Error::Kernel { reason, .. }) => {
            assert!(reason.contains(text), "`{text}` is not in: {reason}")
        }
        other => panic!("not refused: {other:?}"),
    }
}

#[cube(launch_unchecked)]
fn nested(out: &mut [u32], #[comptime] half: u32) {
    let halves = this_cube().partition(group_by(half));
    let singles = halves.partition(group_by(1));
    let first = 4 * UNIT_POS as usize;
    out[first] = halves.group_count();
    out[first + 1] = singles.group_count();
    out[first + 2] = singles.group_rank();
    out[first + 3] = singles.unit_count();
}

fn groups_of_groups_count_within_one(rt: &Rt) -> Result<(), Error> {
    let (units, half) = (rt.units, rt.units / 2);
    let out = rt.poisoned::<u32>(4 * units as usize);
    one_cube!(nested, rt, units, out.arg(), half);
    let right = (0..units).flat_map(|unit| [2, half, unit % half, 1]);
    assert_same(&rt.read(&out)?, &right.collect::<Vec<_>>());
    Ok(())
}

#[cube(launch_unchecked)]
fn planes(out: &mut [u32]) {
    let pairs = this_cube().planes().partition_non_exhaustive(group_by(2));
    let first = 3 * UNIT_POS as usize;
    out[first] = u32::cast_from(pairs.is_valid());
    out[first + 1] = pairs.group_rank();
    out[first + 2] = pairs.unit_rank();
}

fn planes_of_a_cube_are_told_alike(rt: &Rt) -> Result<(), Error> {
    let plane = rt.client.properties().hardware.plane_size_max;
    let planes_in_cube = (rt.units / plane).min(5);
    let units = plane * planes_in_cube;
    let out = rt.poisoned::<u32>(3 * units as usize);
    one_cube!(planes, rt, units, out.arg());
    let paired = planes_in_cube / 2 * 2;
    for (unit, told) in (0..).zip(rt.read(&out)?.chunks(3)) {
        let rank: u32 = unit / plane;
        assert_eq!(told[0], u32::from(rank < paired), "unit {unit}");
        if rank < paired {
            assert_eq!(told[1..], [rank / 2, rank % 2], "unit {unit}");
        }
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn grid(out: &mut [u32]) {
    let (grid, cluster) = (this_grid(), this_cluster());
    let cubes = grid.cubes().partition(group_by(1));
    let first = 5 * ABSOLUTE_POS;
    out[first] = grid.unit_rank();
    out[first + 1] = grid.unit_count();
    out[first + 2] = cubes.group_rank();
    out[first + 3] = cubes.group_count();
    out[first + 4] = cluster.unit_rank();
}

fn units_and_cubes_of_a_grid(rt: &Rt) -> Result<(), Error> {
    let (cubes, units) = (3, 2);
    let out = rt.poisoned::<u32>(5 * (cubes * units) as usize);
    // SAFETY: each unit of the launch writes its own five elements.
    unsafe {
        grid::launch_unchecked(
            &rt.client,
            CubeCount::new_1d(cubes),
            CubeDim::new_1d(units),
            out.arg(),
        );
    }
    let all = cubes * units;
    let right = (0..all).flat_map(|unit| [unit, all, unit / units, cubes, unit % units]);
    assert_same(&rt.read(&out)?, &right.collect::<Vec<_>>());
    Ok(())
}

/// Numbers the units of each group from its end.
#[derive(CubeType)]
pub(super) struct Reverse {}

#[cube]
impl GroupMapping for Reverse {
    fn map(
        &self,
        #[comptime] _unit: Level,
        _parent: &Group,
        previous: MappingResult,
        #[comptime] _tag: Tag,
    ) -> MappingResult {
        MappingResult {
            properties: comptime!(previous.properties.reordered()),
            group_count: previous.group_count,
            group_rank: previous.group_rank,
            unit_count: previous.unit_count,
            unit_rank: previous.unit_count - 1 - previous.unit_rank,
            is_valid: previous.is_valid,
            lane_mask: previous.lane_mask,
        }
    }
}

#[cube(launch_unchecked)]
fn reversed(out: &mut [u32]) {
    let group =
        this_plane().partition_non_exhaustive(own::<Reverse>(Reverse {}) | group_by(3) | take(1));
    let first = 4 * UNIT_POS as usize;
    out[first] = u32::cast_from(group.is_valid());
    out[first + 1] = group.group_rank();
    out[first + 2] = group.unit_rank();
    out[first + 3] = group.lane_mask().word(0u32);
}

fn a_mapping_of_one_s_own_is_a_link(rt: &Rt) -> Result<(), Error> {
    let plane = rt.client.properties().hardware.plane_size_max;
    let out = rt.poisoned::<u32>(4 * plane as usize);
    one_cube!(reversed, rt, plane, out.arg());
    for (unit, told) in (0..plane).zip(rt.read(&out)?.chunks(4)) {
        let rank = plane - 1 - unit;
        let valid = rank.is_multiple_of(3) && rank / 3 < plane / 3;
        assert_eq!(told[0], u32::from(valid), "unit {unit}");
        if valid {
            assert_eq!(told[1..], [rank / 3, 0, 1 << unit], "unit {unit}");
        }
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn comptime_sizes(out: &mut [u32], count: u32) {
    let known = this_cube().partition(group_by(1));
    let of_run = this_cube().partition_non_exhaustive(group_by(count));
    let (groups, units) = (known.static_group_count(), known.static_unit_count());
    let unknown = of_run.static_unit_count();
    let exhaustive = of_run.is_always_exhaustive();
    if comptime!(unknown.is_none() && !exhaustive && units == Some(1)) {
        out[UNIT_POS as usize] = comptime!(groups.unwrap_or(0)).runtime();
    }
}

fn known_sizes_are_comptime_values(rt: &Rt) -> Result<(), Error> {
    let out = rt.poisoned::<u32>(rt.units as usize);
    one_cube!(comptime_sizes, rt, rt.units, out.arg(), 1);
    assert_same(&rt.read(&out)?, &vec![rt.units; rt.units as usize]);
    Ok(())
}

#[cube(launch_unchecked)]
fn uneven(out: &mut [u32], #[comptime] more: u32) {
    out[UNIT_POS as usize] = this_cube().partition(group_by(more)).group_rank();
}

#[cube(launch_unchecked)]
fn too_many(out: &mut [u32], #[comptime] more: u32) {
    let halves = this_cube().partition_non_exhaustive(group_as([1, 1]) | take(more));
    out[UNIT_POS as usize] = halves.group_rank();
}

fn refuses_what_is_known_to_be_wrong(rt: &Rt) {
    let units = rt.units;
    let out = rt.poisoned::<u32>(units as usize);
    one_cube!(uneven, rt, units, out.arg(), units + 1);
    let more = units + 1;
    assert_refused(
        rt,
        &out,
        &format!(
            "girih: Group::partition: group_by({more}): groups of {units} units; counts that take up every unit are \
             allowed, or others with `partition_non_exhaustive`"
        ),
    );
    let out = rt.poisoned::<u32>(units as usize);
    one_cube!(too_many, rt, units, out.arg(), 2);
    assert_refused(
        rt,
        &out,
        "girih: Group::partition_non_exhaustive: take(2): groups of 1 units; no more units than a group has are allowed",
    );
}

#[cube(launch_unchecked)]
fn vote_of_a_cube(out: &mut [u32]) {
    let odd = UNIT_POS % 2 == 1;
    out[UNIT_POS as usize] = this_cube().partition(binary_partition(odd)).group_rank();
}

fn refuses_a_vote_across_planes(rt: &Rt) {
    let units = 2 * rt.client.properties().hardware.plane_size_max;
    let out = rt.poisoned::<u32>(units as usize);
    one_cube!(vote_of_a_cube, rt, units, out.arg());
    assert_refused(
        rt,
        &out,
        "girih: Group::partition: binary_partition: groups that may go on from plane to plane; groups of units that are \
         each known to be within one plane are allowed",
    );
}

#[cube(launch_unchecked)]
fn tile_of_the_run(out: &mut Tensor<u32>, count: u32) {
    let group = this_cube().partition_non_exhaustive(group_by(count));
    let tile = Tile::<u32, shape![4]>::iota();
    TileViewMut::<u32, shape![4]>::of(out).store_masked(&group, tile, (0,));
}

fn refuses_a_tile_on_a_group_of_unknown_size(rt: &Rt) {
    let out = rt.poisoned_tensor::<u32>(&[4], &[1]);
    one_cube!(tile_of_the_run, rt, 1, out.arg(), 1);
    assert_refused(
        rt,
        &out.storage,
        "a tile held by a group whose size is not known while the kernel is expanded; one of a known size is needed",
    );
}

/// Each group of `count` units stores a tile: its rank in its first element, then what follows.
#[cube]
fn store_a_tile(group: &Group, out: &mut Tensor<u32>, row: u32) {
    let tile = Tile::<u32, shape![1, 24]>::iota();
    TileViewMut::<u32, shape![1, 24]>::of(out).store_masked(group, tile, (row, 0u32));
}

/// Four tiles per plane, one per plane, one per cube, one below the other.
#[cube(launch_unchecked)]
fn tiles(out: &mut Tensor<u32>, #[comptime] planes: u32, #[comptime] part: u32) {
    let parts = this_cube().partition(group_by(part));
    store_a_tile(&parts, out, parts.group_rank());
    let plane = this_plane();
    let whole = this_cube().planes();
    let parts_in_all = parts.group_count();
    store_a_tile(&plane, out, parts_in_all + whole.unit_rank());
    let cube = this_cube();
    store_a_tile(&cube, out, parts_in_all + planes);
}

fn tiles_of_groups_of_every_kind(rt: &Rt) -> Result<(), Error> {
    let plane = rt.client.properties().hardware.plane_size_max;
    let planes = (rt.units / plane).min(2);
    let (units, part) = (plane * planes, plane.div_ceil(4));
    let rows = (units / part + planes + 1) as usize;
    let out = rt.poisoned_tensor::<u32>(&[rows, 24], &[24, 1]);
    // SAFETY: the stores are masked.
    unsafe {
        tiles::launch_unchecked(
            &rt.client,
            CubeCount::new_single(),
            CubeDim::new_1d(units),
            out.arg(),
            planes,
            part,
        );
    }
    let right: Vec<u32> = (0..rows).flat_map(|_| 0..24).collect();
    assert_same(&rt.read(&out.storage)?, &right);
    Ok(())
}
