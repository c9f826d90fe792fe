//! What layouts are composed with, divided by and multiplied by.

use crate::{IntTuple, Integer, Layout, LayoutError, Static};
use alloc::vec::Vec;

/// A layout for the whole, or one tiler for each mode, written `<3:4,8:2>`.
///
/// An integer `n` is the layout `n:1`, so a shape such as `(128, 64)` is a tiler that takes so many consecutive
/// coordinates of each mode.
///
/// ```
/// use girih_layout::{Layout, Tiler, consts::*};
///
/// let tiler = Tiler::from((_128, 64));
/// assert_eq!(tiler.to_string(), "<_128:_1,64:_1>");
/// let whole = Tiler::from(Layout::left((_4, _8))?);
/// assert_eq!(whole.to_string(), "(_4,_8):(_1,_4)");
/// # Ok::<(), girih_layout::LayoutError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
#[expect(
    clippy::large_enum_variant,
    reason = "a box would make the usual tiler, one layout, allocate"
)]
pub enum Tiler {
    /// A layout, for the whole.
    Layout(Layout),
    /// A tiler for each mode, from the first on.
    Modes(Vec<Tiler>),
}

impl Tiler {
    /// The shape of coordinates that every layout composed with this tiler has; modes without a tiler are those of
    /// `composed`, each as one integer.
    pub(crate) fn shape_on(&self, composed: &IntTuple) -> Result<IntTuple, LayoutError> {
        match self {
            Self::Layout(layout) => Ok(layout.shape().clone()),
            Self::Modes(tilers) => {
                let mut tilers = tilers.iter();
                let shape_of = |mode: IntTuple| match tilers.next() {
                    Some(tiler) => tiler.shape_on(&mode),
                    None => mode.size().map(IntTuple::from),
                };
                let modes = composed
                    .modes()
                    .map(shape_of)
                    .collect::<Result<Vec<_>, _>>()?;
                Ok(IntTuple::tuple(modes))
            }
        }
    }
}

impl From<Layout> for Tiler {
    fn from(layout: Layout) -> Self {
        Self::Layout(layout)
    }
}

impl From<&Layout> for Tiler {
    fn from(layout: &Layout) -> Self {
        Self::Layout(layout.clone())
    }
}

impl From<&Tiler> for Tiler {
    fn from(tiler: &Tiler) -> Self {
        tiler.clone()
    }
}

impl From<Integer> for Tiler {
    fn from(extent: Integer) -> Self {
        Self::Layout(Layout::consecutive(extent))
    }
}

impl From<u64> for Tiler {
    fn from(extent: u64) -> Self {
        Integer::from(extent).into()
    }
}

impl<const N: u64> From<Static<N>> for Tiler {
    fn from(extent: Static<N>) -> Self {
        Integer::from(extent).into()
    }
}

impl From<&IntTuple> for Tiler {
    /// The tiler that takes a block of this shape.
    fn from(shape: &IntTuple) -> Self {
        match shape.as_integer() {
            Some(extent) => extent.into(),
            None => Self::Modes(shape.modes().map(|mode| Self::from(&mode)).collect()),
        }
    }
}

impl From<IntTuple> for Tiler {
    fn from(shape: IntTuple) -> Self {
        Self::from(&shape)
    }
}

macro_rules! from_tuples {
    ($($name:ident $index:tt),*) => {
        impl<$($name: Into<Tiler>),*> From<($($name,)*)> for Tiler {
            fn from(modes: ($($name,)*)) -> Self {
                Tiler::Modes(Vec::from([$(modes.$index.into()),*]))
            }
        }
    };
}
from_tuples!(A 0);
from_tuples!(A 0, B 1);
from_tuples!(A 0, B 1, C 2);
from_tuples!(A 0, B 1, C 2, D 3);
from_tuples!(A 0, B 1, C 2, D 3, E 4);
