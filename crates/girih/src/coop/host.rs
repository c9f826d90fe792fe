//! [`HostGroup`]: what every unit of a group is told, on the host.

use super::Level;
use super::evaluate::{Site, apply};
use super::group::Group;
use super::lanes::LaneMask;
use super::machine::Host;
use super::mapping::{HostStep, Mapping, Step, Tag};
use super::properties;
use super::result::{MappingResult, Properties};
use super::sync::Barriers;
use crate::error::{Error, Precondition, Result};

/// A plane or cube with what a [`Group`] tells each of its units, evaluated as kernels do.
///
/// It is the picture of a mapping, and the check of its conditions before a launch whose sizes a kernel does not know.
///
/// ```
/// use girih::coop::{HostGroup, group_by};
///
/// let pairs = HostGroup::plane(4)?.partition(&group_by(2))?;
/// let picture = pairs.picture();
/// let table = "\
/// plane of 4: group_by(2)
///      0      1      2      3
///   +------+------+------+------+
/// 0 | G0U0 | G0U1 | G1U0 | G1U1 |
///   +------+------+------+------+
/// ";
/// assert_eq!(picture.to_string(), table);
/// assert!(picture.svg().starts_with("<svg"));
/// # Ok::<(), girih::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct HostGroup {
    level: Level,
    unit: Level,
    plane: u32,
    properties: Properties,
    units: Vec<MappingResult>,
    title: String,
}

impl HostGroup {
    /// The units of one plane, which has no others.
    ///
    /// # Errors
    /// [`Error::Size`] unless there are 1 to 128 of them.
    pub fn plane(units: u32) -> Result<Self> {
        let call = "HostGroup::plane";
        require(call, "units of a plane", units, 128)?;
        let title = format!("plane of {units}");
        Ok(Self::whole(Level::Plane, (units, units), title))
    }

    /// The units of one cube, which are in planes of `plane` units; the last may be cut short.
    ///
    /// # Errors
    /// [`Error::Size`] unless there are 1 to 65,536 units, in planes of 1 to 128.
    pub fn cube(units: u32, plane: u32) -> Result<Self> {
        let call = "HostGroup::cube";
        require(call, "units of a cube", units, 1 << 16)?;
        require(call, "units of a plane", plane, 128)?;
        let title = format!("cube of {units} in planes of {plane}");
        Ok(Self::whole(Level::Cube, (units, plane), title))
    }

    fn whole(level: Level, (units, plane): (u32, u32), title: String) -> Self {
        let of_one_group = Properties::of_one_group(Some(units));
        let properties = Properties {
            is_always_within_planes: level == Level::Plane,
            ..of_one_group
        }
        .settled(Some(plane));
        let result = |unit_rank: u32| {
            let before = unit_rank / plane * plane;
            let lanes = plane.min(units - before);
            MappingResult {
                properties,
                group_count: 1,
                group_rank: 0,
                unit_count: units,
                unit_rank,
                is_valid: true,
                lane_mask: LaneMask::from(u128::MAX >> (128 - lanes)),
            }
        };
        Self {
            level,
            unit: Level::Unit,
            plane,
            properties,
            units: (0..units).map(result).collect(),
            title,
        }
    }

    /// The same cube as a group of planes, as [`Group::planes`]: each unit is told what its plane is. Of anything but a
    /// whole cube it is the group itself.
    pub fn planes(&self) -> Self {
        if (self.level, self.unit) != (Level::Cube, Level::Unit)
            || self.properties.group_count != Some(1)
        {
            return self.clone();
        }
        let count = (self.units.len() as u32).div_ceil(self.plane);
        let properties = Properties::of_one_group(Some(count));
        let units = (0..)
            .zip(&self.units)
            .map(|(position, result)| MappingResult {
                properties,
                unit_count: count,
                unit_rank: position / self.plane,
                ..*result
            });
        Self {
            unit: Level::Plane,
            properties,
            units: units.collect(),
            title: format!("planes of a {}", self.title),
            ..*self
        }
    }

    /// The groups that the mapping makes of this one, as [`Group::partition`].
    ///
    /// # Errors
    /// [`Error::Mapping`] with the first condition of a mapping that does not hold.
    pub fn partition(&self, mapping: &Mapping) -> Result<Self> {
        self.split(mapping, Tag::Exhaustive)
    }

    /// The groups that the mapping makes of this one, as [`Group::partition_non_exhaustive`].
    ///
    /// # Errors
    /// [`Error::Mapping`] with the first condition of a mapping that does not hold.
    pub fn partition_non_exhaustive(&self, mapping: &Mapping) -> Result<Self> {
        self.split(mapping, Tag::NonExhaustive)
    }

    /// What each unit is told, by its position.
    pub fn units(&self) -> &[MappingResult] {
        &self.units
    }

    /// What kernels know of the groups at comptime.
    pub fn properties(&self) -> Properties {
        self.properties
    }

    /// How many units a plane has.
    pub fn plane_size(&self) -> u32 {
        self.plane
    }

    pub(super) fn title(&self) -> &str {
        &self.title
    }

    fn split(&self, mapping: &Mapping, tag: Tag) -> Result<Self> {
        let first = |result: &MappingResult| MappingResult {
            properties: self.properties.of_parent(),
            group_count: 1,
            group_rank: 0,
            ..*result
        };
        let site = Site {
            unit: self.unit,
            tag,
            plane: (self.unit == Level::Unit).then_some(self.plane),
        };
        let mut next = self.clone();
        next.properties = self.properties.of_parent();
        next.units = self.units.iter().map(first).collect();
        for step in &mapping.steps {
            next.require_equal_groups(step)?;
            next.apply(self, step, site)?;
        }
        let joint = if self.title.contains(": ") {
            " / "
        } else {
            ": "
        };
        let tagged = match tag {
            Tag::Exhaustive => "",
            Tag::NonExhaustive => ", non-exhaustive",
        };
        next.title = format!("{}{joint}{mapping}{tagged}", self.title);
        Ok(next)
    }

    /// Replaces each unit's result by that after one more mapping.
    fn apply(&mut self, parent: &Self, step: &HostStep, site: Site) -> Result<()> {
        let plane = self.plane;
        // Where no unit is in a group, what a mapping promises is still what it says.
        self.properties = properties::after(step, self.properties, site.tag, site.plane);
        let units = (0..).zip(&mut self.units);
        for (position, result) in units.filter(|(_, result)| result.is_valid) {
            *result = match step {
                Step::Own(own) => {
                    let group = parent.group(position);
                    own.0(site.unit, &group, *result, site.tag)
                }
                step => apply(
                    &Host::of_plane(position, plane),
                    step,
                    site,
                    (*result).into(),
                )?
                .into(),
            };
            self.properties = result.properties;
        }
        if !self.properties.is_always_ascending {
            self.match_lanes();
        }
        Ok(())
    }

    /// Gives each unit the lanes of its plane that are in its group, whatever their order.
    fn match_lanes(&mut self) {
        for plane in self.units.chunks_mut(self.plane as usize) {
            let groups: Vec<_> = plane
                .iter()
                .map(|result| result.is_valid.then_some(result.group_rank))
                .collect();
            for result in plane.iter_mut().filter(|result| result.is_valid) {
                let mates = (0..)
                    .zip(&groups)
                    .filter(|(_, group)| **group == Some(result.group_rank));
                let bits = mates.fold(0u128, |bits, (lane, _)| bits | 1 << lane);
                result.lane_mask = LaneMask::from(bits);
            }
        }
    }

    /// The group as one unit sees it.
    fn group(&self, position: u32) -> Group {
        Group {
            level: self.level,
            unit: self.unit,
            origin: None,
            peers: None,
            peer_rank: 0,
            barriers: Barriers::default(),
            has_own: false,
            result: self.units[position as usize],
        }
    }

    /// `group_by` counts groups by the size of the unit's own.
    fn require_equal_groups(&self, step: &HostStep) -> Result<()> {
        let Step::GroupBy(count) = step else {
            return Ok(());
        };
        let mut sizes = self
            .units
            .iter()
            .filter(|unit| unit.is_valid)
            .map(|unit| unit.unit_count);
        let first = sizes.next();
        match sizes.find(|size| Some(*size) != first) {
            Some(other) if count.number > 0 => Err(Error::Mapping {
                rule: Precondition::UnequalGroups,
                mapping: format!("group_by({count})"),
                given: format!("groups of {} and of {other} units", first.unwrap_or(0)),
            }),
            _ => Ok(()),
        }
    }
}

fn require(call: &'static str, argument: &'static str, given: u32, allowed: u32) -> Result<()> {
    match (1..=allowed).contains(&given) {
        true => Ok(()),
        false => Err(Error::Size {
            call,
            argument,
            given: given.into(),
            allowed: allowed.into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::mapping::{Count, binary_partition, group_as, group_by, identity, take};
    use super::*;

    /// The rule that a refusal names.
    fn broken(result: Result<HostGroup>) -> Precondition {
        match result {
            Err(Error::Mapping { rule, .. }) => rule,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_mapping_needs_is_refused_by_name() {
        let eight = HostGroup::plane(8).unwrap();
        let rules = [
            (group_by(0), Precondition::ZeroCount),
            (group_as([4, 0, 4]), Precondition::ZeroCount),
            (group_as(Vec::<u32>::new()), Precondition::ZeroCount),
            (group_by(3), Precondition::NotExhaustive),
            (group_as([3, 4]), Precondition::NotExhaustive),
            (take(9), Precondition::TooManyUnits),
            (group_by(-1), Precondition::NotExhaustive),
            (group_as([u32::MAX, 2]), Precondition::TooManyUnits),
            (group_as([3, 5]) | group_by(1), Precondition::UnequalGroups),
        ];
        for (mapping, rule) in rules {
            assert_eq!(broken(eight.partition(&mapping)), rule, "{mapping}");
        }
        let cube = HostGroup::cube(16, 8).unwrap();
        let vote = binary_partition(true);
        assert_eq!(broken(cube.partition(&vote)), Precondition::AcrossPlanes);
        assert_eq!(
            broken(cube.planes().partition(&vote)),
            Precondition::AcrossPlanes
        );
        assert!(cube.partition(&(group_by(4) | vote)).is_ok());
    }

    #[test]
    fn sizes_have_bounds() {
        assert!(HostGroup::plane(0).is_err());
        assert!(HostGroup::plane(129).is_err());
        assert!(HostGroup::cube(1, 0).is_err());
        assert!(HostGroup::cube(1 << 17, 32).is_err());
    }

    #[test]
    fn planes_are_told_apart_as_wholes() {
        let planes = HostGroup::cube(20, 8).unwrap().planes();
        let pairs = planes.partition_non_exhaustive(&group_by(2)).unwrap();
        let ranks = |position: usize| {
            (
                pairs.units()[position].group_rank,
                pairs.units()[position].unit_rank,
            )
        };
        assert_eq!(
            [ranks(0), ranks(7), ranks(8), ranks(15)],
            [(0, 0), (0, 0), (0, 1), (0, 1)]
        );
        assert!(!pairs.units()[16].is_valid);
        assert_eq!(pairs.units()[3].lane_mask.bits(), 0xff);
    }

    #[test]
    fn groups_of_groups_start_anew() {
        let halves = HostGroup::plane(8)
            .unwrap()
            .partition(&group_by(4))
            .unwrap();
        let pairs = halves
            .partition(&(identity() | group_by(Count::of_run(2))))
            .unwrap();
        let last = pairs.units()[7];
        assert_eq!(
            (last.group_count, last.group_rank, last.lane_mask.bits()),
            (2, 1, 0xc0)
        );
        assert_eq!(pairs.properties().unit_count, None);
        assert!(pairs.properties().is_always_exhaustive);
    }
}
