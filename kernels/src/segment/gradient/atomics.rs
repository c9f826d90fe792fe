//! The gradient of a bag's table, added up by atomics.

use super::super::plan::{Tiles, plan, teams};
use super::super::rows::{adds_of, buffer, room, sum_type};
use super::add::{add_kernel, pick_kernel};
use super::bags::Backward;
use super::fill::{convert, zeros};
use super::order_arg;
use super::walk::WINDOW;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;

impl Backward<'_> {
    /// The gradient of the table, added up by atomics.
    pub(super) fn by_atomics(&self, element: ElemType) -> Handle {
        let (client, sum) = (self.device.client(), sum_type(element));
        let elements = self.elements();
        let sums = zeros(self.device, sum, elements);
        if !self.is_empty() {
            match self.args {
                Some(args) => self.pick(args, &sums, sum),
                None => self.add(&sums, sum),
            }
        }
        if sum == element {
            return sums;
        }
        let rounded = room(client, elements, element.size());
        convert(self.device, &sums, sum, &rounded, element, elements);
        rounded
    }

    fn add(&self, sums: &Handle, sum: ElemType) {
        let widths = adds_of(self.device, sum);
        let readable = self.gradient.width(self.device);
        let fits = |width: &usize| readable.is_multiple_of(*width);
        let width = widths.into_iter().find(fits).unwrap_or(1);
        let vectors = self.gradient.columns / width;
        let plan = plan(self.device, self.rules, vectors, WINDOW);
        let tiles = Tiles::new(&self.gradient, width, plan);
        let ends = self.ends();
        let windows = ends.entries.div_ceil(WINDOW);
        let (count, turns) = teams(self.device, windows * tiles.count, plan);
        let types = [
            self.gradient.element,
            sum,
            self.weight_type(),
            self.index_type(),
            ends.offset_type(),
        ];
        // SAFETY: windows are cut at the last entry; rows are masked, or promised to be there.
        unsafe {
            add_kernel::launch_unchecked(
                self.device.client(),
                count,
                CubeDim::new_1d(plan.units),
                self.address(),
                width,
                self.gradient.arg(),
                self.entries_arg(Some(&self.bag.index)).into(),
                order_arg(&self.bag.grouped).into(),
                self.entries_arg(self.bag.weights.as_ref()).into(),
                self.counts_arg().into(),
                ends.offsets_arg().into(),
                buffer(sums, self.elements()),
                tiles.arg(),
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
    }

    fn pick(&self, args: &TensorHandle, sums: &Handle, sum: ElemType) {
        let width = self.gradient.width(self.device);
        let vectors = self.gradient.columns / width;
        let plan = plan(self.device, self.rules, vectors, 1);
        let tiles = Tiles::new(&self.gradient, width, plan);
        let segments = self.ends().segments;
        let (count, turns) = teams(self.device, segments * tiles.count, plan);
        let types = [
            self.gradient.element,
            sum,
            self.weight_type(),
            self.index_type(),
        ];
        // SAFETY: bags are below their number, vectors of a row are masked; those of `args` are entries, or below 0; rows are
        // masked, or promised to be there.
        unsafe {
            pick_kernel::launch_unchecked(
                self.device.client(),
                count,
                CubeDim::new_1d(plan.units),
                self.address(),
                width,
                self.gradient.arg(),
                buffer(&args.handle, segments * self.gradient.columns),
                buffer(&self.bag.index.handle, self.ends().entries),
                self.entries_arg(self.bag.weights.as_ref()).into(),
                buffer(sums, self.elements()),
                tiles.arg(),
                self.extent,
                segments,
                turns,
                plan,
                types,
            );
        }
    }
}
