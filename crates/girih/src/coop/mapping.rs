//! Mappings: how a group's units are told apart into groups.

use super::Level;
use super::group::{Group, GroupExpand};
use super::lanes::LaneMask;
use super::result::{MappingResult, MappingResultExpand};
use crate::handle::comptime_handle;
use core::fmt;
use cubecl::prelude::*;
use std::rc::Rc;

/// How groups are made, as [`GroupMapping::map`](super::GroupMapping::map) is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// Every unit of the parent is to be in a group.
    Exhaustive,
    /// Units may be left over.
    NonExhaustive,
}

/// A number of units, as a mapping is given it: known at comptime, or not.
///
/// In a kernel any `u32` is one, and it is known if it is a literal or a comptime value. On the host it is known unless it
/// is made by [`Count::of_run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count<N = u32> {
    pub(super) number: N,
    pub(super) known: Option<u32>,
}

impl Count {
    /// A count that the kernel is to be given by the run: the groups are the same, but less of them is known.
    pub fn of_run(count: u32) -> Self {
        Self {
            number: count,
            known: None,
        }
    }
}

impl<N> fmt::Display for Count<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.known {
            Some(count) => write!(f, "{count}"),
            None => f.write_str("?"),
        }
    }
}

/// What a [`Count`] is while the kernel is expanded.
pub type CountExpand = Count<NativeExpand<u32>>;

impl From<u32> for Count {
    fn from(count: u32) -> Self {
        Self {
            number: count,
            known: Some(count),
        }
    }
}
impl From<u32> for CountExpand {
    fn from(count: u32) -> Self {
        Self {
            number: count.into(),
            known: Some(count),
        }
    }
}
impl From<NativeExpand<u32>> for CountExpand {
    fn from(number: NativeExpand<u32>) -> Self {
        Self {
            number,
            known: number.constant().map(|constant| constant.as_u64() as u32),
        }
    }
}
/// What a literal without a suffix is; a negative one is refused as the count beyond all groups that its bits are.
impl<N> From<i32> for Count<N>
where
    Count<N>: From<u32>,
{
    fn from(count: i32) -> Self {
        Self::from(count as u32)
    }
}

/// The numbers of units of several groups: an array, a `Vec`, a kernel's `Sequence`, or a tuple of up to eight, in which
/// some may be known and some not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts<N = u32>(pub(super) Vec<Count<N>>);

/// What [`Counts`] are while the kernel is expanded.
pub type CountsExpand = Counts<NativeExpand<u32>>;

impl<N, T: Into<Count<N>>> From<Vec<T>> for Counts<N> {
    fn from(counts: Vec<T>) -> Self {
        Self(counts.into_iter().map(Into::into).collect())
    }
}
impl<N, T: Into<Count<N>>, const K: usize> From<[T; K]> for Counts<N> {
    fn from(counts: [T; K]) -> Self {
        Self(counts.into_iter().map(Into::into).collect())
    }
}
impl From<Sequence<u32>> for Counts {
    fn from(_: Sequence<u32>) -> Self {
        cubecl::unexpanded!()
    }
}
impl From<SequenceExpand<u32>> for CountsExpand {
    fn from(counts: SequenceExpand<u32>) -> Self {
        Self(counts.into_iter().map(Into::into).collect())
    }
}
macro_rules! counts_of_tuples {
    ($(($($count:ident),*);)*) => {$(
        impl<N, $($count: Into<Count<N>>),*> From<($($count,)*)> for Counts<N> {
            #[allow(non_snake_case, reason = "a count is named as its type is")]
            fn from(($($count,)*): ($($count,)*)) -> Self {
                Self(vec![$($count.into()),*])
            }
        }
    )*};
}
counts_of_tuples! {
    (A);
    (A, B);
    (A, B, C);
    (A, B, C, D);
    (A, B, C, D, E);
    (A, B, C, D, E, F);
    (A, B, C, D, E, F, G);
    (A, B, C, D, E, F, G, H);
}

/// What every lane says to a question, on the host. In a kernel it is a `bool`, which each unit has for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Predicate(LaneMask);

impl Predicate {
    pub(super) fn lanes(&self) -> LaneMask {
        self.0
    }
}
impl From<LaneMask> for Predicate {
    fn from(lanes: LaneMask) -> Self {
        Self(lanes)
    }
}
impl From<bool> for Predicate {
    fn from(all: bool) -> Self {
        Self(LaneMask::from(if all { u128::MAX } else { 0 }))
    }
}

/// One mapping of a chain.
#[derive(Clone, Debug)]
pub(super) enum Step<N, P, O> {
    GroupBy(Count<N>),
    GroupAs(Vec<Count<N>>),
    Take(Count<N>),
    BinaryPartition(P),
    Own(O),
}

type Map = dyn Fn(Level, &Group, MappingResult, Tag) -> MappingResult;
type MapExpand =
    dyn Fn(&Scope, Level, &GroupExpand, MappingResultExpand, Tag) -> MappingResultExpand;

/// A [`GroupMapping`](super::GroupMapping), on the host.
#[derive(Clone)]
pub(super) struct Own(pub Rc<Map>);

/// A [`GroupMapping`](super::GroupMapping), in a kernel.
#[derive(Clone)]
pub(super) struct OwnExpand(pub Rc<MapExpand>);

impl fmt::Debug for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("own")
    }
}

pub(super) type HostStep = Step<u32, Predicate, Own>;
pub(super) type KernelStep = Step<NativeExpand<u32>, NativeExpand<bool>, OwnExpand>;

/// How a group's units are told apart into groups: a chain of mappings, applied from left to right.
///
/// The functions of this module make one, and `|` joins two. The same text does so in a kernel, for
/// [`Group::partition`], and on the host, for [`HostGroup::partition`](super::HostGroup::partition) and pictures.
///
/// ```
/// use girih::coop::{HostGroup, group_as, group_by};
///
/// let quarters = HostGroup::plane(8)?.partition(&(group_by(4) | group_as([1, 3])))?;
/// let sixth = quarters.units()[6];
/// assert_eq!((sixth.group_rank, sixth.group_count), (3, 4));
/// assert_eq!((sixth.unit_rank, sixth.unit_count), (1, 3));
/// assert_eq!(sixth.lane_mask.bits(), 0b1110_0000);
/// # Ok::<(), girih::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Mapping {
    pub(super) steps: Vec<HostStep>,
}

/// What a [`Mapping`] is while the kernel is expanded.
#[derive(Clone, Default)]
pub struct MappingExpand {
    pub(super) steps: Vec<KernelStep>,
}

impl CubeType for Mapping {
    type ExpandType = MappingExpand;
}
comptime_handle!([] MappingExpand);

impl core::ops::BitOr for Mapping {
    type Output = Self;
    fn bitor(mut self, then: Self) -> Self {
        self.steps.extend(then.steps);
        self
    }
}

impl MappingExpand {
    fn of(step: KernelStep) -> Self {
        Self { steps: vec![step] }
    }

    /// Expansion of `|`.
    pub fn __expand_bitor_method(mut self, _scope: &Scope, then: Self) -> Self {
        self.steps.extend(then.steps);
        self
    }
}

impl Mapping {
    fn of(step: HostStep) -> Self {
        Self { steps: vec![step] }
    }
}

/// The mapping that changes nothing.
pub fn identity() -> Mapping {
    Mapping::default()
}
/// Expansion of [`identity`](identity()).
pub mod identity {
    use super::*;
    /// See the [module](self).
    pub fn expand(_scope: &Scope) -> MappingExpand {
        MappingExpand::default()
    }
}

/// Splits each group into groups of `count` units, which must divide it, or leave units over with the non-exhaustive tag.
/// The groups split must be equal in size, and `count` above 0.
///
/// ```
/// use girih::coop::{HostGroup, group_by};
///
/// let thirds = HostGroup::plane(8)?.partition_non_exhaustive(&group_by(3))?;
/// assert_eq!(thirds.units()[5].group_rank, 1);
/// assert!(!thirds.units()[6].is_valid);
/// let refused = HostGroup::plane(8)?.partition(&group_by(3)).unwrap_err();
/// assert!(refused.to_string().starts_with("group_by(3): groups of 8 units"));
/// # Ok::<(), girih::Error>(())
/// ```
pub fn group_by(count: impl Into<Count>) -> Mapping {
    Mapping::of(Step::GroupBy(count.into()))
}
/// Expansion of [`group_by`](group_by()).
pub mod group_by {
    use super::*;
    /// See the [module](self).
    pub fn expand(scope: &Scope, count: CountExpand) -> MappingExpand {
        MappingExpand::of(Step::GroupBy(count.read(scope)))
    }
}

/// Splits each group into one of each of the `counts`, in that order. Each is above 0; their sum is the units of each
/// group, or no more than those with the non-exhaustive tag.
///
/// ```
/// use girih::coop::{HostGroup, group_as};
///
/// let parts = HostGroup::plane(32)?.partition(&group_as([3, 5, 1, 1, 22]))?;
/// assert_eq!(parts.units()[9].group_rank, 3);
/// # Ok::<(), girih::Error>(())
/// ```
pub fn group_as(counts: impl Into<Counts>) -> Mapping {
    Mapping::of(Step::GroupAs(counts.into().0))
}
/// Expansion of [`group_as`](group_as()).
pub mod group_as {
    use super::*;
    /// See the [module](self).
    pub fn expand(scope: &Scope, counts: CountsExpand) -> MappingExpand {
        let counts = counts.0.into_iter().map(|count| count.read(scope));
        MappingExpand::of(Step::GroupAs(counts.collect()))
    }
}

/// The first `count` units of each group, of which there are at least as many; the others are in no group.
///
/// ```
/// use girih::coop::{HostGroup, group_by, take};
///
/// let heads = HostGroup::plane(8)?.partition(&(group_by(4) | take(1)))?;
/// let valid: Vec<_> = heads.units().iter().map(|unit| unit.is_valid).collect();
/// assert_eq!(valid, [true, false, false, false, true, false, false, false]);
/// # Ok::<(), girih::Error>(())
/// ```
pub fn take(count: impl Into<Count>) -> Mapping {
    Mapping::of(Step::Take(count.into()))
}
/// Expansion of [`take`](take()).
pub mod take {
    use super::*;
    /// See the [module](self).
    pub fn expand(scope: &Scope, count: CountExpand) -> MappingExpand {
        MappingExpand::of(Step::Take(count.read(scope)))
    }
}

/// Splits each group, which must be of one plane, into those who say no and those who say yes: all groups of the former
/// come first. All units of the group call it.
///
/// ```
/// use girih::coop::{HostGroup, LaneMask, binary_partition};
///
/// let odd = LaneMask::from(0b1010_1010);
/// let sides = HostGroup::plane(8)?.partition(&binary_partition(odd))?;
/// assert_eq!(sides.units()[5].lane_mask, odd);
/// assert_eq!(sides.units()[5].unit_rank, 2);
/// # Ok::<(), girih::Error>(())
/// ```
pub fn binary_partition(predicate: impl Into<Predicate>) -> Mapping {
    Mapping::of(Step::BinaryPartition(predicate.into()))
}
/// Expansion of [`binary_partition`](binary_partition()).
pub mod binary_partition {
    use super::*;
    /// See the [module](self).
    pub fn expand(scope: &Scope, predicate: NativeExpand<bool>) -> MappingExpand {
        let predicate = match predicate.constant() {
            Some(_) => predicate,
            None => predicate.read_value(scope).into(),
        };
        MappingExpand::of(Step::BinaryPartition(predicate))
    }
}

/// A mapping of one's own, as a link of a chain; in a kernel its type is named, `own::<Reverse>(Reverse {})`.
///
/// See [`GroupMapping`](super::GroupMapping).
pub fn own<G: super::GroupMapping + 'static>(mapping: G) -> Mapping {
    Mapping::of(Step::Own(Own(Rc::new(
        move |unit, parent, previous, tag| mapping.map(unit, parent, previous, tag),
    ))))
}
/// Expansion of [`own`](own()).
pub mod own {
    use super::super::{GroupMapping, GroupMappingExpand};
    use super::*;
    /// See the [module](self).
    pub fn expand<G: GroupMapping<ExpandType: 'static>>(
        _scope: &Scope,
        mapping: G::ExpandType,
    ) -> MappingExpand {
        MappingExpand::of(Step::Own(OwnExpand(Rc::new(
            move |scope, unit, parent, previous, tag| {
                mapping.__expand_map_method(scope, unit, parent, previous, tag)
            },
        ))))
    }
}

impl CountExpand {
    /// The same count, which stays what it is now when the kernel assigns to the variable that it came from.
    fn read(self, scope: &Scope) -> Self {
        match self.known {
            Some(_) => self,
            None => Self {
                number: self.number.read_value(scope).into(),
                known: None,
            },
        }
    }
}
