//! The gradient of a bag's weights.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]

use super::super::entries::{Ends, Entries, entry_at};
use super::super::plan::{Columns, Plan, Tiles, plan, teams};
use super::super::rows::{Rows, address, buffer, room, sum_type};
use super::bags::Backward;
use super::fill::zeros;
use super::order_arg;
use super::walk::{WINDOW, at};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::server::Handle;
use girih::coop::Sum;
use girih::prelude::*;

/// The gradient of weights: for each entry the product of its bag's gradient and its row, added up over the columns. A team, all
/// units of which are in one plane, to a window.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn weights_kernel<E: Numeric, A: Numeric, I: Int, F: Int, N: Size>(
    gradient: &[Vector<E, N>],
    rows: &[Vector<E, N>],
    index: ComptimeOption<Box<[I]>>,
    order: ComptimeOption<Box<[u32]>>,
    counts: ComptimeOption<Box<[u32]>>,
    args: ComptimeOption<Box<[Vector<i32, N>]>>,
    offsets: ComptimeOption<Box<[F]>>,
    output: &mut [E],
    columns: Columns,
    rows_step: usize,
    extent: usize,
    padding: usize,
    length: usize,
    segments: usize,
    count: usize,
    window: usize,
    windows: usize,
    turns: usize,
    #[comptime] plan: Plan,
    #[define(E, A, I, F)] _types: [ElemType; 4],
) {
    let entries = Entries::<I, E> {
        order,
        index,
        weights: ComptimeOption::new_None(),
        record: ComptimeOption::new_None(),
        extent,
        padding,
    };
    let ends = Ends::<F> {
        offsets,
        length,
        segments,
        entries: count,
    };
    let team = this_cube().partition(group_by(comptime!(plan.team)));
    let lanes = N::value();
    for turn in 0..turns {
        let cube = turn * CUBE_COUNT + CUBE_POS;
        let number = cube * comptime!(plan.teams()) + team.group_rank() as usize;
        let mut found = segments;
        let mut end = 0usize;
        // The units of a plane go through the same steps, whether there is anything for them or not.
        for step in 0..window {
            let place = number * window + step;
            let is_place = number < windows && place < count;
            let place = select(is_place, place, count - 1);
            if place >= end {
                let now = at::<F>(&ends, place);
                found = now.segment;
                end = now.end;
            }
            let entry = entry_at::<I, E>(&entries, place, false, plan.rules);
            let takes_part = entry.counts && found < segments;
            let segment = select(takes_part, found, 0usize);
            let row = select(takes_part, entry.row, 0usize);
            let mut sum = A::from_int(0);
            let mut vector = team.unit_rank() as usize;
            while vector < columns.vectors {
                let held = Vector::<A, N>::cast_from(gradient[segment * columns.step + vector]);
                let value = Vector::<A, N>::cast_from(rows[row * rows_step + vector]);
                let mut product = held * value;
                #[comptime]
                match &args {
                    ComptimeOption::Some(args) => {
                        let arg = args[segment * columns.vectors + vector];
                        let is_it = arg.equal(&Vector::new(entry.number as i32));
                        product = select_many(is_it, product, Vector::new(A::from_int(0)));
                    }
                    ComptimeOption::None => {}
                }
                #[unroll]
                for lane in 0..lanes {
                    sum += product.extract(lane);
                }
                vector += comptime!(plan.team as usize);
            }
            let mut sum = team.reduce::<A, Sum>(sum);
            #[comptime]
            match &counts {
                ComptimeOption::Some(counts) => {
                    let rows = counts[segment];
                    sum /= A::cast_from(select(rows == 0u32, 1u32, rows));
                }
                ComptimeOption::None => {}
            }
            if is_place && team.unit_rank() == 0u32 {
                output[entry.number] = E::cast_from(select(takes_part, sum, A::from_int(0)));
            }
        }
    }
}

impl Backward<'_> {
    /// The gradient of the weights.
    pub(super) fn of_weights(&self, table: &Rows) -> Handle {
        let (client, ends) = (self.device.client(), self.ends());
        let element = self.gradient.element;
        if self.is_empty() {
            return zeros(self.device, element, ends.entries);
        }
        let output = room(client, ends.entries, element.size());
        let width = table
            .width(self.device)
            .min(self.gradient.width(self.device));
        let vectors = self.gradient.columns / width;
        let planned = plan(self.device, self.rules, vectors, WINDOW);
        // Its units pass what they have from lane to lane.
        let plane = client.properties().hardware.plane_size_min.max(1);
        let plan = Plan {
            team: planned.team.min(1 << plane.ilog2()),
            ..planned
        };
        let tiles = Tiles::new(&self.gradient, width, plan);
        let windows = ends.entries.div_ceil(WINDOW);
        let (count, turns) = teams(self.device, windows, plan);
        let types = [
            element,
            sum_type(element),
            self.index_type(),
            ends.offset_type(),
        ];
        // SAFETY: places are cut at the last entry; rows are masked, or promised to be there.
        unsafe {
            weights_kernel::launch_unchecked(
                client,
                count,
                CubeDim::new_1d(plan.units),
                self.address().max(address(&[table.len()])),
                width,
                self.gradient.arg(),
                table.arg(),
                self.entries_arg(Some(&self.bag.index)).into(),
                order_arg(&self.bag.grouped).into(),
                self.counts_arg().into(),
                self.args_arg().into(),
                ends.offsets_arg().into(),
                buffer(&output, ends.entries),
                tiles.arg(),
                table.step / width,
                self.extent,
                self.padding,
                ends.length,
                ends.segments,
                ends.entries,
                WINDOW,
                windows,
                turns,
                plan,
                types,
            );
        }
        output
    }
}
