//! How rows are shared out among teams of units.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]

use super::Rules;
use super::rows::Rows;
use crate::scan::cubes;
use cubecl::prelude::*;
use girih::device::{Device, Target};
use girih::prelude::*;

/// What is known of a kernel when it is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Plan {
    /// How rows are combined, and which count.
    pub rules: Rules,
    /// Units of a team.
    pub team: u32,
    /// Units of a cube.
    pub units: u32,
    /// Vectors of a unit.
    pub blocks: usize,
    /// Rows in flight.
    pub batch: usize,
    /// Whether a row is more than one tile.
    pub cut: bool,
    /// Whether long segments are cut into windows.
    pub splits: bool,
}

impl Plan {
    /// Teams of a cube.
    pub(crate) const fn teams(&self) -> usize {
        (self.units / self.team) as usize
    }
}

/// Where a team's share of the columns is, in vectors.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct Columns {
    /// Vectors of a row that is read.
    pub vectors: usize,
    /// From one row that is read to the next.
    pub step: usize,
    /// How many tiles a row has.
    pub tiles: usize,
}

/// What a team does: a segment or window, and a tile of the columns.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct Share {
    pub item: usize,
    /// The vector of this unit in its first block.
    pub first: usize,
    /// Whether this unit speaks for the team, and the team for all that share the item.
    pub speaks: bool,
}

/// This team's share of a turn.
#[cube]
pub(crate) fn share_of(columns: Columns, turn: usize, #[comptime] plan: Plan) -> Share {
    let team = this_cube().partition(group_by(comptime!(plan.team)));
    let cube = turn * CUBE_COUNT + CUBE_POS;
    let number = cube * comptime!(plan.teams()) + team.group_rank() as usize;
    let lane = team.unit_rank();
    let mut item = number;
    let mut tile = 0usize;
    if comptime!(plan.cut) {
        tile = number % columns.tiles;
        item = number / columns.tiles;
    }
    share_in(item, tile, lane, plan)
}

/// A unit's share of a tile of an item.
#[cube]
pub(crate) fn share_in(item: usize, tile: usize, lane: u32, #[comptime] plan: Plan) -> Share {
    let mut first = lane as usize;
    let mut speaks = lane == 0u32;
    if comptime!(plan.cut) {
        first += tile * comptime!(plan.team as usize * plan.blocks);
        speaks = speaks && tile == 0;
    }
    Share {
        item,
        first,
        speaks,
    }
}

/// A vector of one of this unit's blocks, and whether the row has it.
#[cube]
pub(crate) fn vector_at(
    columns: Columns,
    share: Share,
    #[comptime] block: usize,
    #[comptime] plan: Plan,
) -> (usize, bool) {
    let vector = share.first + comptime!(block * plan.team as usize);
    (vector, vector < columns.vectors)
}

/// The same vector, or the row's last where it has no such vector.
#[cube]
pub(crate) fn vector_of(
    columns: Columns,
    share: Share,
    #[comptime] block: usize,
    #[comptime] plan: Plan,
) -> usize {
    let (vector, is_there) = vector_at(columns, share, block, plan);
    select(is_there, vector, columns.vectors - 1)
}

/// The columns of rows of so many elements, `step` elements apart, in vectors of `width`.
pub(crate) struct Tiles {
    vectors: usize,
    step: usize,
    /// How many a row has.
    pub count: usize,
}

impl Tiles {
    pub(crate) fn new(rows: &Rows, width: usize, plan: Plan) -> Self {
        let vectors = rows.columns / width;
        Self {
            vectors,
            step: rows.step / width,
            count: vectors.div_ceil(plan.team as usize * plan.blocks),
        }
    }

    pub(crate) fn arg(&self) -> ColumnsLaunch {
        ColumnsLaunch::new(self.vectors, self.step, self.count)
    }
}

/// Most rows in flight.
const MOST_ROWS: usize = 8;

/// Teams as wide as rows are, of a plane at most, and what each unit has in flight: of rows that come in runs of so many on average.
///
/// Runs shorter than a batch never fill it: to ask for one would only be one step more.
pub(crate) fn plan(device: &Device, rules: Rules, vectors: usize, run: usize) -> Plan {
    let hardware = &device.client().properties().hardware;
    let units = 1u32 << hardware.max_units_per_cube.clamp(1, 256).ilog2();
    let wide = vectors.next_power_of_two();
    let (team, blocks, batch) = match device.target() {
        // A unit of a CPU has all lanes of a vector itself.
        Target::Cpu => (1, wide.min(8), 1),
        _ => {
            let team = wide.min(32).min(units as usize);
            let blocks = (wide / team).clamp(1, 2);
            let is_light = blocks == 1 && !rules.kind.has_args() && run >= MOST_ROWS;
            let batch = if is_light { MOST_ROWS } else { MOST_ROWS / 2 };
            (team as u32, blocks, batch)
        }
    };
    Plan {
        rules,
        team,
        units,
        blocks,
        batch,
        cut: vectors > team as usize * blocks,
        splits: false,
    }
}

/// Cubes for so many shares, and how many turns each team has.
pub(crate) fn teams(device: &Device, shares: usize, plan: Plan) -> (CubeCount, usize) {
    let all = shares.div_ceil(plan.teams());
    match device.target() {
        // A cube of a CPU costs more than a segment.
        Target::Cpu => {
            let turns = all.div_ceil(16);
            (cubes(device, all.div_ceil(turns)), turns)
        }
        _ => (cubes(device, all), 1),
    }
}
