//! Nested tuples in kernels: coordinates of every form, and the shapes and strides that they are for.

use super::number::Number;
use super::{IntTuple, Integer};
use crate::handle::comptime_handle;
use core::fmt;
use cubecl::prelude::*;

/// What a kernel can give as a coordinate: at each level one integer or as many as the shape has modes there.
///
/// A [linear, per-mode, nested or mixed](super::crd2idx) coordinate is a `u32`, a `usize`, a literal, a tuple of them, a
/// [`KernelTuple`], or an [`IntTuple`] that is a comptime value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a coordinate of a layout",
    note = "a coordinate is a `u32`, a `usize`, a literal, a tuple of coordinates, a `KernelTuple` or a comptime `IntTuple`"
)]
pub trait Coordinate {}
impl Coordinate for u32 {}
impl Coordinate for usize {}
impl Coordinate for i32 {}
impl Coordinate for KernelTuple {}
impl Coordinate for IntTuple {}

/// An integer or a nested tuple of integers in a kernel: an [`IntTuple`] whose integers may be values of the run.
///
/// It is a coordinate, shape or stride of a [`KernelLayout`](super::KernelLayout). How it nests is always known while
/// the kernel is expanded.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::layout::{KernelLayout, Layout};
///
/// /// The row and the column of element `i` of a matrix.
/// #[cube(launch_unchecked)]
/// fn place(matrix: KernelLayout, i: u32, out: &mut [u32]) {
///     let at = matrix.coordinate(i);
///     out[0] = at.get(0).value() as u32;
///     out[1] = at.get(1).value() as u32;
/// }
/// # fn main() {}
/// ```
#[derive(Clone)]
pub struct KernelTuple(());

/// What a [`KernelTuple`] is while the kernel is expanded.
#[derive(Clone)]
pub struct KernelTupleExpand(pub(super) Tree);

impl CubeType for KernelTuple {
    type ExpandType = KernelTupleExpand;
}
comptime_handle!([] KernelTupleExpand);

impl KernelTuple {
    /// Mode `index`, a comptime value; an integer has one mode, itself.
    #[allow(unused_variables)]
    pub fn get(&self, index: usize) -> KernelTuple {
        cubecl::unexpanded!()
    }
    /// The integer, where this is one; a tuple is refused while the kernel is expanded.
    pub fn value(&self) -> usize {
        cubecl::unexpanded!()
    }
    /// The product of all integers.
    pub fn size(&self) -> usize {
        cubecl::unexpanded!()
    }
    /// The number of modes; 1 for an integer.
    pub fn rank(&self) -> usize {
        cubecl::unexpanded!()
    }
}

impl KernelTupleExpand {
    /// Expansion of [`KernelTuple::get`].
    pub fn __expand_get_method(&self, _scope: &Scope, index: NativeExpand<usize>) -> Self {
        let index = comptime_index("KernelTuple::get", index);
        Self(self.0.mode("KernelTuple::get", index).clone())
    }
    /// Expansion of [`KernelTuple::value`].
    pub fn __expand_value_method(&self, scope: &Scope) -> NativeExpand<usize> {
        match &self.0 {
            Tree::Leaf(number) => number.wide(scope),
            tuple => panic!(
                "girih: KernelTuple::value: {tuple}; one integer is needed, `get` picks a mode"
            ),
        }
    }
    /// Expansion of [`KernelTuple::size`].
    pub fn __expand_size_method(&self, scope: &Scope) -> NativeExpand<usize> {
        self.0.size(scope).wide(scope)
    }
    /// Expansion of [`KernelTuple::rank`].
    pub fn __expand_rank_method(&self, _scope: &Scope) -> usize {
        self.0.rank()
    }
}

impl From<NativeExpand<u32>> for KernelTupleExpand {
    fn from(value: NativeExpand<u32>) -> Self {
        Self(Tree::Leaf(Number::below(value, u64::MAX)))
    }
}
impl From<NativeExpand<usize>> for KernelTupleExpand {
    fn from(value: NativeExpand<usize>) -> Self {
        Self(Tree::Leaf(match value.constant() {
            Some(constant) => Number::Known(constant.as_u64()),
            None => Number::Wide(value),
        }))
    }
}
impl From<NativeExpand<i32>> for KernelTupleExpand {
    /// A literal without a suffix; a value of the run could be negative.
    fn from(value: NativeExpand<i32>) -> Self {
        match value.constant().map(|constant| constant.as_i64()) {
            Some(constant) => Self::from(constant as i32),
            None => panic!(
                "girih: KernelLayout: a coordinate of type i32 that is no constant; u32 or usize is needed"
            ),
        }
    }
}
impl From<i32> for KernelTupleExpand {
    fn from(value: i32) -> Self {
        match u64::try_from(value) {
            Ok(value) => Self(Tree::Leaf(Number::Known(value))),
            Err(_) => panic!("girih: KernelLayout: coordinate {value}; 0 or more is needed"),
        }
    }
}
impl From<u32> for KernelTupleExpand {
    fn from(value: u32) -> Self {
        Self(Tree::Leaf(Number::Known(value.into())))
    }
}
impl From<usize> for KernelTupleExpand {
    fn from(value: usize) -> Self {
        Self(Tree::Leaf(Number::Known(value as u64)))
    }
}
impl From<IntTuple> for KernelTupleExpand {
    /// Every integer is known, also one that is dynamic for the host.
    fn from(tuple: IntTuple) -> Self {
        Self(Tree::of(&tuple, &mut |leaf| Number::Known(leaf.value())))
    }
}

macro_rules! coordinate_tuples {
    ($($name:ident $index:tt),*) => {
        impl<$($name: Coordinate),*> Coordinate for ($($name,)*) {}
        impl<$($name: Into<KernelTupleExpand>),*> From<($($name,)*)> for KernelTupleExpand {
            fn from(modes: ($($name,)*)) -> Self {
                Self(Tree::Tuple(vec![$(modes.$index.into().0),*]))
            }
        }
    };
}
coordinate_tuples!(A 0);
coordinate_tuples!(A 0, B 1);
coordinate_tuples!(A 0, B 1, C 2);
coordinate_tuples!(A 0, B 1, C 2, D 3);
coordinate_tuples!(A 0, B 1, C 2, D 3, E 4);
coordinate_tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
coordinate_tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
coordinate_tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);

/// The comptime value of a mode's index.
pub(super) fn comptime_index(call: &str, index: NativeExpand<usize>) -> usize {
    match index.constant() {
        Some(constant) => constant.as_usize(),
        None => panic!("girih: {call}: an index of the run; a comptime one is needed"),
    }
}

/// A nested tuple of numbers.
#[derive(Clone)]
pub(super) enum Tree {
    Leaf(Number),
    Tuple(Vec<Tree>),
}

impl Tree {
    /// The tuple with each integer as `number` gives it, in order.
    pub(super) fn of(tuple: &IntTuple, number: &mut dyn FnMut(Integer) -> Number) -> Self {
        match tuple.as_integer() {
            Some(leaf) => Self::Leaf(number(leaf)),
            None => Self::Tuple(tuple.modes().map(|mode| Self::of(&mode, number)).collect()),
        }
    }

    /// An integer has one mode, itself.
    pub(super) fn modes(&self) -> &[Tree] {
        match self {
            Self::Leaf(_) => core::slice::from_ref(self),
            Self::Tuple(modes) => modes,
        }
    }

    pub(super) fn rank(&self) -> usize {
        self.modes().len()
    }

    pub(super) fn mode(&self, call: &str, index: usize) -> &Tree {
        match self.modes().get(index) {
            Some(mode) => mode,
            None => panic!(
                "girih: {call}: mode {index} of {self}; a mode below its rank of {} is needed",
                self.rank()
            ),
        }
    }

    pub(super) fn leaves(&self) -> Vec<Number> {
        match self {
            Self::Leaf(number) => vec![*number],
            Self::Tuple(modes) => modes.iter().flat_map(Self::leaves).collect(),
        }
    }

    /// The product of all leaves, with what is known multiplied first.
    pub(super) fn size(&self, scope: &Scope) -> Number {
        let (known, computed): (Vec<_>, Vec<_>) = self
            .leaves()
            .into_iter()
            .partition(|leaf| matches!(leaf, Number::Known(_)));
        let leaves = known.into_iter().chain(computed);
        leaves.fold(Number::Known(1), |size, leaf| size.mul(scope, leaf))
    }

    /// Values as they are now, whatever the kernel assigns later.
    pub(super) fn read(&self, scope: &Scope) -> Self {
        match self {
            Self::Leaf(number) => Self::Leaf(number.read(scope)),
            Self::Tuple(modes) => Self::Tuple(modes.iter().map(|mode| mode.read(scope)).collect()),
        }
    }

    /// Whether this is a coordinate into `shape`: at each level one integer, or of the shape's rank.
    pub(super) fn fits(&self, shape: &Tree) -> bool {
        match (self, shape) {
            (Self::Leaf(_), _) => true,
            (Self::Tuple(_), Self::Leaf(_)) => false,
            (Self::Tuple(coords), Self::Tuple(modes)) => {
                coords.len() == modes.len()
                    && coords
                        .iter()
                        .zip(modes)
                        .all(|(coord, mode)| coord.fits(mode))
            }
        }
    }
}

impl fmt::Display for Tree {
    /// Numbers that are known as static ones, `?` for those of the run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leaf(Number::Known(value)) => write!(f, "_{value}"),
            Self::Leaf(_) => f.write_str("?"),
            Self::Tuple(modes) => {
                f.write_str("(")?;
                for (i, mode) in modes.iter().enumerate() {
                    if i > 0 {
                        f.write_str(",")?;
                    }
                    mode.fmt(f)?;
                }
                f.write_str(")")
            }
        }
    }
}
