//! Nested tuples of integers.

use crate::builder::Builder;
use crate::list::List;
use crate::{Integer, LayoutError, Path};
use alloc::string::ToString;

/// One entry of a tuple written in pre-order: a leaf, or the head of a sub-tuple whose entries follow it.
///
/// Every variant holds one `u64`, so that an entry travels in two registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Static(u64),
    Dynamic(u64),
    /// The rank in the upper half; in the lower the span, which counts the entries of the sub-tuple, its head included.
    Tuple(u64),
}

impl Node {
    #[inline]
    pub(crate) fn tuple(rank: usize, span: usize) -> Self {
        Self::Tuple((rank as u64) << 32 | span as u64)
    }

    #[inline]
    fn leaf(self) -> Option<Integer> {
        match self {
            Self::Static(value) => Some(Integer::Static(value)),
            Self::Dynamic(value) => Some(Integer::Dynamic(value)),
            Self::Tuple(_) => None,
        }
    }

    #[inline]
    pub(crate) fn span(self) -> usize {
        match self {
            Self::Tuple(counts) => counts as u32 as usize,
            _ => 1,
        }
    }

    #[inline]
    fn rank(self) -> usize {
        match self {
            Self::Tuple(counts) => (counts >> 32) as usize,
            _ => 1,
        }
    }
}

impl From<Integer> for Node {
    #[inline]
    fn from(leaf: Integer) -> Self {
        match leaf {
            Integer::Static(value) => Self::Static(value),
            Integer::Dynamic(value) => Self::Dynamic(value),
        }
    }
}

impl Default for Node {
    fn default() -> Self {
        Self::Static(0)
    }
}

/// An integer, or a tuple of `IntTuple`s: a shape, a stride or a coordinate.
///
/// Made from integers, [`Static`](crate::Static)s and Rust tuples of them (up to 8 wide), from a list of modes, or from
/// text. Tuples of up to 16 entries (leaves and parentheses) are kept in place, without allocation.
///
/// ```
/// use girih_layout::{IntTuple, consts::*};
///
/// let shape = IntTuple::from((2, (_3, _4)));
/// assert_eq!((shape.rank(), shape.depth()), (2, 2));
/// assert_eq!(shape.size()?.value(), 24);
/// assert_eq!(shape.get([1, 0])?.to_string(), "_3");
/// assert_eq!(shape, "(2,(_3,_4))".parse()?);
/// assert_eq!(format!("{shape:#}"), "(2,(3,4))");
/// # Ok::<(), girih_layout::LayoutError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IntTuple {
    pub(crate) nodes: Nodes,
}

/// A tuple's entries in pre-order.
pub(crate) type Nodes = List<Node, 16>;

impl IntTuple {
    /// A tuple with these modes, in this order.
    pub fn tuple(modes: impl IntoIterator<Item = IntTuple>) -> Self {
        let mut builder = Builder::new();
        let head = builder.open();
        for mode in modes {
            builder.append(mode.view());
        }
        builder.close(head);
        builder.finish()
    }

    /// The integer, where this is a leaf.
    pub fn as_integer(&self) -> Option<Integer> {
        self.view().leaf()
    }

    /// Whether this is one integer and no tuple.
    pub fn is_leaf(&self) -> bool {
        self.as_integer().is_some()
    }

    /// The number of modes; 1 for an integer.
    pub fn rank(&self) -> usize {
        self.view().rank()
    }

    /// How deep the tuple nests: 0 for an integer, 1 for a tuple of integers.
    pub fn depth(&self) -> usize {
        self.view().depth()
    }

    /// The product of all leaves: how many elements a shape holds.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] when the product needs more than 64 bits.
    pub fn size(&self) -> Result<Integer, LayoutError> {
        self.view().size()
    }

    /// The product of all leaves, as [`size`](IntTuple::size): CuTe has both names.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] when the product needs more than 64 bits.
    pub fn product(&self) -> Result<Integer, LayoutError> {
        self.size()
    }

    /// The part at `path`: mode `i` for an index, further down for an array of them. An integer has one mode, itself.
    ///
    /// # Errors
    /// [`LayoutError::NoMode`] where the path leads nowhere.
    pub fn get(&self, path: impl Path) -> Result<IntTuple, LayoutError> {
        self.view_at(path.indices()).map(View::to_tuple)
    }

    /// The modes in order; an integer has one, itself.
    pub fn modes(&self) -> impl ExactSizeIterator<Item = IntTuple> + '_ {
        self.view().modes().map(View::to_tuple)
    }

    /// All integers in order, without the nesting.
    pub fn leaves(&self) -> impl Iterator<Item = Integer> + '_ {
        self.view().leaves()
    }

    /// The leaves as a tuple of depth 1; an integer stays one.
    pub fn flatten(&self) -> IntTuple {
        match self.is_leaf() {
            true => self.clone(),
            false => Self::tuple(self.leaves().map(IntTuple::from)),
        }
    }

    /// The size of each mode, as a tuple of depth 1; an integer stays one. CuTe's `product_each`.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] when a product needs more than 64 bits.
    pub fn product_each(&self) -> Result<IntTuple, LayoutError> {
        if self.is_leaf() {
            return Ok(self.clone());
        }
        let mut builder = Builder::new();
        let head = builder.open();
        for mode in self.view().modes() {
            builder.leaf(mode.size()?);
        }
        builder.close(head);
        Ok(builder.finish())
    }

    /// Whether every leaf is static.
    pub fn is_static(&self) -> bool {
        self.leaves().all(Integer::is_static)
    }

    /// The same numbers, all static.
    pub fn to_static(&self) -> IntTuple {
        self.map(Integer::to_static)
    }

    /// The same numbers, all dynamic.
    pub fn to_dynamic(&self) -> IntTuple {
        self.map(Integer::to_dynamic)
    }

    /// Whether both nest in the same way.
    pub fn congruent(&self, other: &IntTuple) -> bool {
        self.view().congruent(other.view())
    }

    /// Whether `self` nests like `other` where `other` has tuples: an integer of `self` may stand for a sub-tuple of
    /// `other`.
    pub fn weakly_congruent(&self, other: &IntTuple) -> bool {
        self.view().weakly_congruent(other.view())
    }

    /// Whether every coordinate into `self` is a coordinate into `other` too: `self` is weakly congruent to `other` and
    /// each of its integers equals the size of what stands there.
    pub fn compatible(&self, other: &IntTuple) -> bool {
        self.view().compatible(other.view())
    }

    /// The same nesting with every leaf changed by `change`.
    pub(crate) fn map(&self, mut change: impl FnMut(Integer) -> Integer) -> IntTuple {
        let mut tuple = self.clone();
        for node in tuple.nodes.iter_mut() {
            if let Some(leaf) = node.leaf() {
                *node = change(leaf).into();
            }
        }
        tuple
    }

    pub(crate) fn view(&self) -> View<'_> {
        View(&self.nodes)
    }

    pub(crate) fn view_at(&self, path: &[usize]) -> Result<View<'_>, LayoutError> {
        path.iter().try_fold(self.view(), |at, &index| {
            at.mode(index).ok_or_else(|| LayoutError::NoMode {
                tuple: self.to_string(),
                path: path.into(),
                index,
                rank: at.rank(),
            })
        })
    }
}

/// A part of a tuple: the entries of one leaf or sub-tuple.
#[derive(Clone, Copy)]
pub(crate) struct View<'a>(pub(crate) &'a [Node]);

impl<'a> View<'a> {
    pub(crate) fn leaf(self) -> Option<Integer> {
        match self.0 {
            [node] => node.leaf(),
            _ => None,
        }
    }

    pub(crate) fn rank(self) -> usize {
        self.0.first().map_or(1, |head| head.rank())
    }

    pub(crate) fn modes(self) -> Modes<'a> {
        let rest = match self.0 {
            [Node::Tuple(_), rest @ ..] => rest,
            leaf => leaf,
        };
        Modes {
            rest,
            left: self.rank(),
        }
    }

    pub(crate) fn mode(self, index: usize) -> Option<View<'a>> {
        self.modes().nth(index)
    }

    pub(crate) fn leaves(self) -> impl Iterator<Item = Integer> + 'a {
        self.0.iter().filter_map(|node| node.leaf())
    }

    pub(crate) fn to_tuple(self) -> IntTuple {
        let mut builder = Builder::new();
        builder.append(self);
        builder.finish()
    }

    fn depth(self) -> usize {
        match self.leaf() {
            Some(_) => 0,
            None => 1 + self.modes().map(View::depth).max().unwrap_or(0),
        }
    }

    pub(crate) fn size(self) -> Result<Integer, LayoutError> {
        let mut product = Integer::ONE;
        let mut failed = None;
        for leaf in self.leaves() {
            match product.try_mul(leaf) {
                Ok(next) => product = next,
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            // A 0 anywhere makes the product 0, also where the others alone would overflow.
            Some(error) if product.value() != 0 => Err(error),
            _ => Ok(product),
        }
    }

    pub(crate) fn congruent(self, other: View<'_>) -> bool {
        self.0.len() == other.0.len()
            && self
                .0
                .iter()
                .zip(other.0)
                .all(|(a, b)| match (a.leaf(), b.leaf()) {
                    (Some(_), Some(_)) => true,
                    _ => a == b,
                })
    }

    fn weakly_congruent(self, other: View<'_>) -> bool {
        self.leaf().is_some() || self.pairwise(other, View::weakly_congruent)
    }

    fn compatible(self, other: View<'_>) -> bool {
        match self.leaf() {
            Some(leaf) => other.size().is_ok_and(|size| size.value() == leaf.value()),
            None => self.pairwise(other, View::compatible),
        }
    }

    fn pairwise(self, other: View<'_>, holds: impl Fn(Self, View<'_>) -> bool) -> bool {
        other.leaf().is_none()
            && self.rank() == other.rank()
            && self.modes().zip(other.modes()).all(|(a, b)| holds(a, b))
    }
}

/// The modes of a [`View`].
pub(crate) struct Modes<'a> {
    rest: &'a [Node],
    left: usize,
}

impl<'a> Iterator for Modes<'a> {
    type Item = View<'a>;

    fn next(&mut self) -> Option<View<'a>> {
        if self.left == 0 {
            return None;
        }
        let span = self.rest.first()?.span();
        let (mode, rest) = self.rest.split_at(span);
        self.rest = rest;
        self.left -= 1;
        Some(View(mode))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Modes<'_> {}

impl From<Integer> for IntTuple {
    fn from(leaf: Integer) -> Self {
        let mut builder = Builder::new();
        builder.leaf(leaf);
        builder.finish()
    }
}

impl From<u64> for IntTuple {
    /// A dynamic integer.
    fn from(value: u64) -> Self {
        Integer::from(value).into()
    }
}

impl<const N: u64> From<crate::Static<N>> for IntTuple {
    fn from(value: crate::Static<N>) -> Self {
        Integer::from(value).into()
    }
}

impl From<&IntTuple> for IntTuple {
    fn from(tuple: &IntTuple) -> Self {
        tuple.clone()
    }
}

macro_rules! from_tuples {
    ($($name:ident $index:tt),*) => {
        impl<$($name: Into<IntTuple>),*> From<($($name,)*)> for IntTuple {
            fn from(modes: ($($name,)*)) -> Self {
                IntTuple::tuple([$(modes.$index.into()),*])
            }
        }
    };
}
from_tuples!(A 0);
from_tuples!(A 0, B 1);
from_tuples!(A 0, B 1, C 2);
from_tuples!(A 0, B 1, C 2, D 3);
from_tuples!(A 0, B 1, C 2, D 3, E 4);
from_tuples!(A 0, B 1, C 2, D 3, E 4, F 5);
from_tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
from_tuples!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
