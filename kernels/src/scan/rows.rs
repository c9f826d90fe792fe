//! A scan as rows of elements, wherever they lie.

use super::place::{Cuts, PER_AXIS};
use super::{ScanOptions, Segments, sum_type};
use crate::check;
use crate::fold::fold;
use cubecl::ir::{ElemType, UIntKind};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;

/// A list that says where segments begin.
#[derive(Clone)]
pub(crate) struct List {
    pub handle: Handle,
    pub len: usize,
    pub dtype: ElemType,
}

/// Rows to scan, each by itself.
#[derive(Clone)]
pub(crate) struct Rows {
    pub input: Handle,
    pub output: Handle,
    pub element: ElemType,
    /// What elements are combined in.
    pub sum: ElemType,
    /// Axes that hold the rows: the extent, and the strides in the input, the output and the flags.
    pub axes: Vec<[usize; PER_AXIS]>,
    pub rows: usize,
    pub length: usize,
    /// From one element of a row to the next, in the input, the output and the flags.
    pub strides: [usize; 3],
    pub cuts: Cuts,
    pub list: Option<List>,
    /// How far apart segments begin, where that is what begins them.
    pub period: usize,
    pub exclusive: bool,
    /// Whether the client that launches has just made the output.
    pub is_made: bool,
}

impl Rows {
    /// The rows along the axis of tensors that were checked.
    pub(crate) fn new(
        input: &TensorHandle,
        output: &TensorHandle,
        axis: usize,
        options: &ScanOptions<'_>,
    ) -> Self {
        let (shape, ins) = check::dims(input);
        let (_, outs) = check::dims(output);
        let none = vec![0; shape.len()];
        let (cuts, list, flags) = match options.segments {
            None => (Cuts::Rows, None, none),
            Some(Segments::Flags(flags)) => {
                let (_, strides) = check::dims(flags);
                (Cuts::Flags, Some(flags), strides)
            }
            Some(Segments::Offsets(offsets)) => (Cuts::Offsets, Some(offsets), none),
        };
        let without = |values: &[usize]| {
            let mut values = values.to_vec();
            values.remove(axis);
            values
        };
        let (a, b, c) = (without(&ins), without(&outs), without(&flags));
        let axes: Vec<_> = fold(&without(&shape), [&a, &b, &c])
            .into_iter()
            .map(|axis| {
                let [a, b, c] = axis.strides;
                [axis.extent, a, b, c]
            })
            .collect();
        Self {
            input: input.handle.clone(),
            output: output.handle.clone(),
            element: input.dtype,
            sum: sum_type(input.dtype),
            rows: axes.iter().map(|axis| axis[0]).product(),
            axes,
            length: shape[axis],
            strides: [ins[axis], outs[axis], flags[axis]],
            cuts,
            list: list.map(|list| List {
                handle: list.handle.clone(),
                len: list.shape().iter().product(),
                dtype: list.dtype,
            }),
            period: 1,
            exclusive: options.exclusive,
            is_made: false,
        }
    }

    /// Rows of totals that lie one after another, into memory of their own; `cuts` says in which of them segments begin.
    pub(crate) fn of_totals(
        &self,
        totals: Handle,
        output: Handle,
        cuts: Handle,
        length: usize,
    ) -> Self {
        let any = self.cuts.any();
        let all = self.rows * length;
        let list = any.then_some(List {
            handle: cuts,
            len: all,
            dtype: ElemType::UInt(UIntKind::U32),
        });
        Self {
            input: totals,
            output,
            element: self.sum,
            sum: self.sum,
            axes: match self.rows {
                1 => vec![],
                rows => vec![[rows, length, length, length]],
            },
            rows: self.rows,
            length,
            strides: [1; 3],
            cuts: if any { Cuts::Flags } else { Cuts::Rows },
            list,
            period: 1,
            exclusive: false,
            is_made: true,
        }
    }

    /// Whether elements of a row lie next to each other.
    pub(crate) fn is_contiguous(&self) -> bool {
        let [input, output, flags] = self.strides;
        let flags = self.cuts != Cuts::Flags || flags == 1;
        self.length == 1 || (input == 1 && output == 1 && flags)
    }

    /// The same as segments of one row, where the rows lie one after another.
    pub(crate) fn flattened(&self) -> Option<Self> {
        let length = self.length;
        match self.axes[..] {
            [[_, input, output, _]]
                if self.cuts == Cuts::Rows
                    && self.is_contiguous()
                    && (input, output) == (length, length) =>
            {
                Some(Self {
                    axes: vec![],
                    rows: 1,
                    length: self.rows * length,
                    strides: [1, 1, 0],
                    cuts: Cuts::Every,
                    period: length,
                    ..self.clone()
                })
            }
            _ => None,
        }
    }

    /// The elements that every vector of the input and the output starts at are multiples of `width`.
    pub(crate) fn is_aligned(&self, width: usize) -> bool {
        let size = self.element.size() as u64;
        let starts = [&self.input, &self.output].iter().all(|handle| {
            handle
                .offset_start
                .unwrap_or(0)
                .is_multiple_of(size * width as u64)
        });
        let steps = self.length == 1 || self.strides[..2] == [1, 1];
        let rows = self.axes.iter().all(|[_, input, output, _]| {
            input.is_multiple_of(width) && output.is_multiple_of(width)
        });
        width > 1 && starts && steps && rows
    }

    /// The axes as a kernel argument.
    pub(crate) fn axes_arg(&self) -> SequenceArg<usize> {
        let mut sequence = SequenceArg::new();
        let [input, output, flags] = self.strides;
        let own = [self.length, input, output, flags];
        for number in self.axes.iter().chain([&own]).flatten() {
            sequence.push(*number);
        }
        sequence
    }

    /// The type of the list, or any.
    pub(crate) fn list_type(&self) -> ElemType {
        self.list
            .as_ref()
            .map_or(ElemType::UInt(UIntKind::U32), |list| list.dtype)
    }

    /// Wide enough for an offset anywhere in the buffers, and for every position.
    pub(crate) fn address(&self) -> AddressType {
        let size = self.element.size() as u64;
        let elements = [&self.input, &self.output].map(|handle| (handle.size() / size) as usize);
        let list = self.list.as_ref().map_or(0, |list| list.len);
        let most = elements
            .into_iter()
            .chain([list, self.rows * self.length])
            .max()
            .unwrap_or(0);
        // A tile may end past the end of a row.
        AddressType::from_len(most + (1 << 20))
    }
}
