//! How an index of a table's rank is walked: few axes, and packets of neighbours along the innermost.

use super::kernels::{Form, PER_AXIS};
use crate::check;
use crate::fold::{Axis, fold};
use crate::plan::start;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};
use girih::view::Bounds;

/// Elements of a packet at most: each is fetched by itself, so that wider ones save nothing.
const WIDEST: usize = 8;

/// The axes that the index, the values and the table share, the innermost first.
#[derive(Debug)]
pub(crate) struct Lines {
    /// With their strides in the index, the values and the table.
    axes: Vec<Axis<3>>,
    /// Which of them is indexed.
    indexed: usize,
    /// Elements of a packet.
    pub width: usize,
    /// The table's extent along the indexed axis.
    extent: usize,
}

impl Lines {
    /// `index` and `values` have one shape, and the table has it too but along `axis`.
    pub(crate) fn new(
        device: &Device,
        table: &TensorHandle,
        index: &TensorHandle,
        values: &TensorHandle,
        axis: usize,
    ) -> Self {
        let (shape, by) = check::dims(index);
        let strides = [by, check::dims(values).1, check::dims(table).1];
        let part = |from: usize, to: usize| {
            fold(&shape[from..to], strides.each_ref().map(|of| &of[from..to]))
        };
        let inner = part(axis + 1, shape.len());
        let along = Axis {
            extent: shape[axis],
            strides: strides.each_ref().map(|of| of[axis]),
        };
        let indexed = inner.len();
        let outer = part(0, axis);
        let axes: Vec<_> = inner
            .into_iter()
            .rev()
            .chain([along])
            .chain(outer.into_iter().rev())
            .collect();
        let width = width(device, &axes, [index, values]);
        Self {
            axes,
            indexed,
            width,
            extent: table.shape()[axis],
        }
    }

    /// How many packets there are.
    pub(crate) fn packets(&self) -> usize {
        self.axes.iter().map(|axis| axis.extent).product::<usize>() / self.width
    }

    /// How many lines there are along the indexed axis, or packets of neighbouring ones.
    pub(crate) fn lines(&self) -> usize {
        let along = self.axes[self.indexed].extent;
        match self.indexed {
            // Packets lie along it.
            0 => self.packets() * self.width / along.max(1),
            _ => self.packets() / along.max(1),
        }
    }

    /// How many axes there are.
    pub(crate) fn rank(&self) -> usize {
        self.axes.len()
    }

    /// What a kernel is told.
    pub(crate) fn arguments(&self, device: &Device, bounds: Bounds) -> Arguments {
        let mut axes = SequenceArg::new();
        for (at, axis) in self.axes.iter().enumerate() {
            let [index, values, table] = axis.strides;
            // The innermost axis is counted in packets, and so are the places of packets.
            let numbers: [usize; PER_AXIS] = match at {
                0 if self.width > 1 => [axis.extent / self.width, 1, 1, table * self.width],
                0 => [axis.extent, index, values, table],
                _ => [axis.extent, index / self.width, values / self.width, table],
            };
            for number in numbers {
                axes.push(number);
            }
        }
        let form = Form {
            indexed: self.indexed,
            steps: packets_of_unit(device),
            bounds,
        };
        Arguments {
            axes,
            packets: self.packets(),
            lane: match self.indexed {
                0 => 0,
                _ => self.axes[0].strides[2],
            },
            extent: self.extent,
            step: self.axes[self.indexed].strides[2],
            form,
        }
    }
}

/// What a kernel is told of the axes.
pub(crate) struct Arguments {
    pub axes: SequenceArg<usize>,
    pub packets: usize,
    pub lane: usize,
    pub extent: usize,
    pub step: usize,
    pub form: Form,
}

/// Packets of a unit: a CPU's cubes are not cheap.
pub(crate) fn packets_of_unit(device: &Device) -> usize {
    match device.target() {
        Target::Cpu => 256,
        _ => 1,
    }
}

/// The most elements that both tensors have side by side along the innermost axis, wherever a packet may begin.
fn width(device: &Device, axes: &[Axis<3>], tensors: [&TensorHandle; 2]) -> usize {
    let sizes = tensors.map(|tensor| tensor.dtype.size());
    let starts = [0, 1].map(|of| start(&tensors[of].handle, sizes[of]) as usize);
    let (first, others) = axes.split_first().expect("the indexed axis is there");
    let fits = |width: usize| {
        let together = first.strides[..2] == [1, 1] && first.extent.is_multiple_of(width);
        let begins = starts
            .iter()
            .chain(others.iter().flat_map(|axis| &axis.strides[..2]))
            .all(|step| step.is_multiple_of(width));
        together && begins
    };
    let has = |width: usize| {
        sizes
            .iter()
            .all(|size| device.vector_widths(*size).contains(&width))
    };
    let widths = device.vector_widths(sizes[0].max(sizes[1]));
    let mut widths = widths.into_iter().filter(|width| *width <= WIDEST);
    widths.find(|&width| fits(width) && has(width)).unwrap_or(1)
}
