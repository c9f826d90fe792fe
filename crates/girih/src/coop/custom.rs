//! [`GroupMapping`]: mappings of one's own.
// CubeCL's macros write undocumented twins of the items here.
#![allow(missing_docs)]

use super::mapping::Tag;
use super::result::MappingResult;
use super::{Group, Level};
use cubecl::prelude::*;

/// A mapping of one's own. It becomes a link of a chain by [`own`](super::own()).
///
/// Written with plain arithmetic, as `#[cube]` allows it, it runs in kernels and on the host, which draws it.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::coop::{
///     Group, GroupMapping, GroupMappingExpand, HostGroup, Level, MappingResult, Tag, group_by, own,
/// };
///
/// /// Numbers the units of each group from its end.
/// #[derive(CubeType)]
/// struct Reverse {}
///
/// #[cube]
/// impl GroupMapping for Reverse {
///     fn map(
///         &self,
///         #[comptime] _unit: Level,
///         _parent: &Group,
///         previous: MappingResult,
///         #[comptime] _tag: Tag,
///     ) -> MappingResult {
///         MappingResult {
///             properties: comptime!(previous.properties.reordered()),
///             group_count: previous.group_count,
///             group_rank: previous.group_rank,
///             unit_count: previous.unit_count,
///             unit_rank: previous.unit_count - 1 - previous.unit_rank,
///             is_valid: previous.is_valid,
///             lane_mask: previous.lane_mask,
///         }
///     }
/// }
///
/// # fn main() -> Result<(), girih::Error> {
/// let mapping = own(Reverse {}) | group_by(2);
/// let pairs = HostGroup::plane(4)?.partition(&mapping)?;
/// let ranks: Vec<_> = pairs.units().iter().map(|unit| unit.group_rank).collect();
/// assert_eq!(ranks, [1, 1, 0, 0]);
/// # Ok(())
/// # }
/// ```
#[cube]
pub trait GroupMapping {
    /// The result that this mapping makes of a unit's previous one.
    ///
    /// `unit` is what `parent`, the group that is split, counts. With [`Tag::NonExhaustive`] units may be left over: their
    /// result is not valid. A unit that was not valid must not become so. The result must be true: what its
    /// [`properties`](MappingResult::properties) promise, and, for each group, as many units as `unit_count`, ranked from
    /// 0 without gaps. Its lane mask must be that of the units of the group in this plane.
    fn map(
        &self,
        #[comptime] unit: Level,
        parent: &Group,
        previous: MappingResult,
        #[comptime] tag: Tag,
    ) -> MappingResult;
}
