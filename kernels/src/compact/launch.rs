//! Compactions as launches.

use super::kernels::{
    compact_look_back_kernel, compact_runs_kernel, compact_tiles_kernel, count_runs_kernel,
    count_tiles_kernel,
};
use super::tile::{CompactPlan, Keep};
use super::written::{Written, units, whole};
use super::{CompactOptions, Predicate};
use crate::check;
use crate::scan::{
    Cuts, ScanPath, States, Sum, TilePlan, cubes, exact_cubes, lanes, require_look_back, scan_list,
};
use cubecl::client::Client;
use cubecl::ir::{ElemType, UIntKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};
use girih::{Error, Result};

/// What is written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Writes {
    /// Kept elements.
    pub values: bool,
    /// The others.
    pub rejected: bool,
    /// Coordinates of kept elements.
    pub places: bool,
    /// For each element, how many were kept up to it.
    pub inverse: bool,
}

/// A list to compact, checked.
pub(super) struct Compaction<'a> {
    call: &'static str,
    device: Device,
    input: &'a TensorHandle,
    mask: Option<&'a TensorHandle>,
    keep: Keep,
    options: CompactOptions,
    writes: Writes,
    length: usize,
    /// Extents of the tensor that places are coordinates of.
    pub extents: Vec<usize>,
    /// Where each element was before the list was put in order, if it was: where its number goes. Of the index type.
    pub order: Option<&'a TensorHandle>,
}

impl<'a> Compaction<'a> {
    pub(super) fn new(
        call: &'static str,
        client: &Client,
        input: &'a TensorHandle,
        mask: Option<&'a TensorHandle>,
        keep: Keep,
        options: CompactOptions,
        writes: Writes,
    ) -> Self {
        let length = input.shape()[0];
        Self {
            call,
            device: Device::of(client),
            input,
            mask,
            keep,
            options,
            writes,
            length,
            extents: vec![length],
            order: None,
        }
    }

    /// The type that counts elements.
    fn count_type(&self) -> ElemType {
        ElemType::UInt(match u32::try_from(self.length) {
            Ok(_) => UIntKind::U32,
            Err(_) => UIntKind::U64,
        })
    }

    /// A tensor for an output.
    fn output(&self, shape: Vec<usize>, dtype: ElemType) -> TensorHandle {
        let bytes = shape.iter().product::<usize>() * dtype.size();
        let handle = self.device.client().empty(bytes.max(8));
        TensorHandle::new_contiguous(shape, handle, dtype)
    }

    pub(super) fn run<P: Predicate>(&self) -> Result<Written> {
        let count_type = self.count_type();
        check::element(self.call, &self.device, count_type)?;
        let path = self.path(count_type)?;
        let (length, element, index) = (self.length, self.input.dtype, self.options.index);
        let Writes {
            values,
            rejected,
            places,
            inverse,
        } = self.writes;
        let count = match length {
            0 => {
                let zero = self.device.client().create_from_slice(&[0; 8]);
                TensorHandle::new_contiguous(vec![1], zero, count_type)
            }
            _ => self.output(vec![1], count_type),
        };
        // Each buffer is a message to the device's thread: in the place of those that nobody writes is that of the count, which has
        // room for an element of any type.
        let output = |is_written, shape: Vec<usize>, dtype| match is_written {
            true => self.output(shape, dtype),
            false => TensorHandle::new_contiguous(vec![1], count.handle.clone(), dtype),
        };
        let list = vec![length];
        let written = Written {
            device: self.device.clone(),
            values: output(values, list.clone(), element),
            rejected: output(rejected, list.clone(), element),
            places: output(places, vec![length, self.extents.len()], index),
            inverse: output(inverse, list, index),
            count,
            length,
            has_inverse: inverse,
            path,
        };
        if length > 0 {
            match (path, self.tile_plan(path)) {
                (ScanPath::LookBack, Some(plan)) => self.look_back::<P>(plan, &written),
                (_, Some(plan)) => self.by_tiles::<P>(plan, &written),
                (_, None) => self.by_runs::<P>(&written),
            }
        }
        Ok(written)
    }

    /// The path asked for, if it can be taken, or the device's.
    fn path(&self, count: ElemType) -> Result<ScanPath> {
        match self.options.path {
            Some(path @ (ScanPath::Direct | ScanPath::Pipelined)) => Err(Error::Argument {
                call: self.call,
                argument: "path",
                given: format!("{path:?}"),
                allowed: "LookBack or ReduceThenScan".into(),
            }),
            Some(ScanPath::LookBack) => {
                require_look_back(&self.device, self.call, count)?;
                Ok(ScanPath::LookBack)
            }
            Some(path) => Ok(path),
            None => {
                let has = require_look_back(&self.device, self.call, count).is_ok();
                Ok(match has && self.device.target() == Target::Cuda {
                    true => ScanPath::LookBack,
                    false => ScanPath::ReduceThenScan,
                })
            }
        }
    }

    fn compact_plan(&self) -> CompactPlan {
        let Writes {
            values,
            rejected,
            places,
            inverse,
        } = self.writes;
        CompactPlan {
            keep: self.keep,
            values,
            rejected,
            places: if places { self.extents.len() } else { 0 },
            inverse,
        }
    }

    /// The tiles that suit the device; none on a CPU, but for look-back.
    fn tile_plan(&self, path: ScanPath) -> Option<TilePlan> {
        let device = &self.device;
        let suits = device.target() != Target::Cpu || path == ScanPath::LookBack;
        let lanes = lanes(device).filter(|_| suits)?;
        let most = device.client().properties().hardware.max_units_per_cube as usize;
        let planes = 1 << (most.min(256) / lanes).max(1).ilog2();
        let size = self.input.dtype.size();
        let widths = device.vector_widths(size);
        // A vector of the mask has as many elements, and must be one that the device moves as well.
        let mask_widths = match self.mask {
            Some(mask) => device.vector_widths(mask.dtype.size()),
            None => widths.clone(),
        };
        let fits = |&width: &usize| width * size <= 16 && mask_widths.contains(&width);
        let width = widths.into_iter().find(fits).unwrap_or(1);
        let is_aligned = |list: &TensorHandle| {
            let vector = (width * list.dtype.size()) as u64;
            list.handle.offset_start.unwrap_or(0).is_multiple_of(vector)
        };
        let aligned = width > 1 && is_aligned(self.input) && self.mask.is_none_or(is_aligned);
        let width = if width > 1 {
            width
        } else {
            (16 / size).clamp(1, 4)
        };
        let plan = TilePlan {
            width,
            vectors: (16 / width).clamp(2, 4),
            lanes,
            planes,
            aligned,
            single: true,
            exclusive: false,
            cuts: Cuts::Rows,
        };
        Some(plan.of_rows(self.length))
    }

    fn address(&self) -> AddressType {
        AddressType::from_len(self.length * self.extents.len() + (1 << 20))
    }

    fn mask_arg(&self) -> BufferArg {
        whole(self.mask.unwrap_or(self.input))
    }

    /// Element, mask, index and count types.
    fn types(&self, written: &Written) -> [ElemType; 4] {
        let none = ElemType::UInt(UIntKind::U32);
        let mask = self.mask.map_or(none, |mask| mask.dtype);
        [
            self.input.dtype,
            mask,
            self.options.index,
            written.count.dtype,
        ]
    }

    fn extents_arg(&self) -> SequenceArg<usize> {
        let mut sequence = SequenceArg::new();
        for &extent in &self.extents {
            sequence.push(extent);
        }
        sequence
    }

    fn look_back<P: Predicate>(&self, plan: TilePlan, written: &Written) {
        let device = &self.device;
        let tiles = self.length.div_ceil(plan.tile());
        let count = &written.count;
        let states = States::new(device, tiles, count.dtype.size(), Some(&count.handle));
        let (cubes, is_exact) = exact_cubes(device, tiles);
        let width = if plan.aligned { plan.width } else { 1 };
        // SAFETY: a cube has one of the tiles; what lies past the end of the list is masked, and the
        // outputs that are written have room for all of it; each tile has states of its own.
        unsafe {
            compact_look_back_kernel::launch_unchecked::<P>(
                device.client(),
                cubes,
                CubeDim::new_1d(plan.units() as u32),
                self.address(),
                width,
                whole(self.input),
                whole(self.input),
                self.mask_arg(),
                self.mask_arg(),
                whole(&written.values),
                whole(&written.rejected),
                whole(&written.places),
                whole(&written.inverse),
                self.order.map(whole).into(),
                whole(&written.count),
                states.arg(),
                self.extents_arg(),
                self.length,
                states.launch,
                tiles,
                plan,
                self.compact_plan(),
                is_exact,
                self.types(written),
            );
        }
    }

    /// The counts of parts, and memory for their scan.
    fn totals(&self, parts: usize, count: ElemType) -> [TensorHandle; 2] {
        [(); 2].map(|()| self.output(vec![parts], count))
    }

    fn by_tiles<P: Predicate>(&self, plan: TilePlan, written: &Written) {
        let device = &self.device;
        let tiles = self.length.div_ceil(plan.tile());
        let width = if plan.aligned { plan.width } else { 1 };
        let [element, mask, _, count] = self.types(written);
        let [totals, scanned] = self.totals(tiles, count);
        let compact = self.compact_plan();
        // SAFETY: a cube has one of the tiles, and a total; what lies past the end of the list is masked, and the outputs that
        // are written have room for all of it.
        unsafe {
            count_tiles_kernel::launch_unchecked::<P>(
                device.client(),
                cubes(device, tiles),
                CubeDim::new_1d(plan.units() as u32),
                self.address(),
                width,
                whole(self.input),
                whole(self.input),
                self.mask_arg(),
                self.mask_arg(),
                whole(&totals),
                self.length,
                tiles,
                plan,
                // What is written later needs no elements here.
                CompactPlan {
                    values: false,
                    rejected: false,
                    places: 0,
                    inverse: false,
                    ..compact
                },
                [element, mask, count],
            );
            scan_list::<Sum>(device, &totals, &scanned);
            compact_tiles_kernel::launch_unchecked::<P>(
                device.client(),
                cubes(device, tiles),
                CubeDim::new_1d(plan.units() as u32),
                self.address(),
                width,
                whole(self.input),
                whole(self.input),
                self.mask_arg(),
                self.mask_arg(),
                whole(&written.values),
                whole(&written.rejected),
                whole(&written.places),
                whole(&written.inverse),
                self.order.map(whole).into(),
                whole(&written.count),
                whole(&scanned),
                self.extents_arg(),
                self.length,
                tiles,
                plan,
                compact,
                self.types(written),
            );
        }
    }

    fn by_runs<P: Predicate>(&self, written: &Written) {
        let device = &self.device;
        let units = units(device);
        // Work for every unit of a CPU; elsewhere for many, but not so few elements that a unit's start costs more.
        let run = match device.target() {
            Target::Cpu => self.length.div_ceil(units as usize).max(1024),
            _ => 512,
        };
        let parts = self.length.div_ceil(run);
        let launched = || cubes(device, parts.div_ceil(units as usize));
        let [element, mask, _, count] = self.types(written);
        let [totals, scanned] = self.totals(parts, count);
        let compact = self.compact_plan();
        // SAFETY: a unit has one of the runs, if there is one for it, and a total; a run ends with the list, and the outputs that
        // are written have room for all of it.
        unsafe {
            count_runs_kernel::launch_unchecked::<P>(
                device.client(),
                launched(),
                CubeDim::new_1d(units),
                self.address(),
                whole(self.input),
                self.mask_arg(),
                whole(&totals),
                self.length,
                run,
                compact,
                [element, mask, count],
            );
            scan_list::<Sum>(device, &totals, &scanned);
            compact_runs_kernel::launch_unchecked::<P>(
                device.client(),
                launched(),
                CubeDim::new_1d(units),
                self.address(),
                whole(self.input),
                self.mask_arg(),
                whole(&written.values),
                whole(&written.rejected),
                whole(&written.places),
                whole(&written.inverse),
                self.order.map(whole).into(),
                whole(&written.count),
                whole(&scanned),
                self.extents_arg(),
                self.length,
                run,
                compact,
                self.types(written),
            );
        }
    }
}
