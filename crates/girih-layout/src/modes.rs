//! Layouts without nesting, as the algebra works on them.

use crate::builder::{Builder, Head};
use crate::list::List;
use crate::tuple::View;
use crate::{Integer, Layout, LayoutError};

/// One leaf of a layout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) extent: Integer,
    pub(crate) stride: Integer,
}

/// The leaves of a layout, in order.
pub(crate) type Modes = List<Mode, 8>;

impl Layout {
    pub(crate) fn leaf_modes(&self) -> impl Iterator<Item = Mode> + '_ {
        leaf_modes(self.shape().view(), self.stride().view())
    }
}

pub(crate) fn leaf_modes<'a>(shape: View<'a>, stride: View<'a>) -> impl Iterator<Item = Mode> + 'a {
    shape
        .leaves()
        .zip(stride.leaves())
        .map(|(extent, stride)| Mode { extent, stride })
}

/// The layout with these leaves: an integer shape for one of them, a tuple of depth 1 otherwise.
pub(crate) fn to_layout(modes: &[Mode]) -> Result<Layout, LayoutError> {
    let mut builder = LayoutBuilder::new();
    builder.leaf_or_tuple(modes.iter().copied());
    builder.finish()
}

/// The fewest leaves that are the same function: no extent of 1, no neighbours that go on where the last ended. One
/// leaf `1:0` or `0:0` where nothing else is left.
pub(crate) fn coalesce(modes: impl Iterator<Item = Mode>) -> Modes {
    let mut out = Modes::new();
    let mut empty = None;
    for mode in modes {
        match mode.extent.value() {
            0 => empty = Some(mode.extent),
            1 => {}
            _ => push_merged(&mut out, mode),
        }
    }
    if let Some(extent) = empty {
        return unit(extent);
    }
    match out.is_empty() {
        true => unit(Integer::ONE),
        false => out,
    }
}

#[inline]
fn push_merged(out: &mut Modes, mode: Mode) {
    if let Some(last) = out.last_mut()
        && let Ok(next) = last.stride.try_mul(last.extent)
        && next.value() == mode.stride.value()
        && let Ok(extent) = last.extent.try_mul(mode.extent)
    {
        last.extent = extent;
        return;
    }
    out.push(mode);
}

fn unit(extent: Integer) -> Modes {
    let stride = Integer::ZERO;
    Modes::from_iter([Mode { extent, stride }])
}

/// Writes the shape and the stride of a layout side by side.
pub(crate) struct LayoutBuilder {
    shape: Builder,
    stride: Builder,
}

impl LayoutBuilder {
    pub(crate) fn new() -> Self {
        Self {
            shape: Builder::new(),
            stride: Builder::new(),
        }
    }

    #[inline]
    pub(crate) fn open(&mut self) -> (Head, Head) {
        (self.shape.open(), self.stride.open())
    }

    #[inline]
    pub(crate) fn close(&mut self, (shape, stride): (Head, Head)) {
        self.shape.close(shape);
        self.stride.close(stride);
    }

    #[inline]
    pub(crate) fn leaf(&mut self, mode: Mode) {
        self.shape.leaf(mode.extent);
        self.stride.leaf(mode.stride);
    }

    /// One leaf as it is, several as a tuple.
    #[inline]
    pub(crate) fn leaf_or_tuple(&mut self, mut modes: impl ExactSizeIterator<Item = Mode>) {
        if modes.len() == 1 {
            return modes.by_ref().for_each(|mode| self.leaf(mode));
        }
        let head = self.open();
        modes.for_each(|mode| self.leaf(mode));
        self.close(head);
    }

    #[inline]
    pub(crate) fn append(&mut self, layout: &Layout) {
        self.shape.append(layout.shape().view());
        self.stride.append(layout.stride().view());
    }

    /// Mode `index` of `layout`, if there is one.
    pub(crate) fn append_mode(&mut self, layout: &Layout, index: usize) {
        let (shape, stride) = (layout.shape().view(), layout.stride().view());
        if let (Some(shape), Some(stride)) = (shape.mode(index), stride.mode(index)) {
            self.shape.append(shape);
            self.stride.append(stride);
        }
    }

    /// The modes of `layout`, each as a mode of what is open.
    pub(crate) fn append_modes(&mut self, layout: &Layout) {
        layout
            .shape()
            .view()
            .modes()
            .for_each(|mode| self.shape.append(mode));
        layout
            .stride()
            .view()
            .modes()
            .for_each(|mode| self.stride.append(mode));
    }

    #[inline]
    pub(crate) fn finish(self) -> Result<Layout, LayoutError> {
        // Both sides were written in step.
        Layout::from_congruent(self.shape.finish(), self.stride.finish())
    }
}
