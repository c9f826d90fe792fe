//! Vectors of group mappings: what every unit of a plane or cube is told, or which condition does not hold.
//!
//! Each is evaluated on the host; then on the device, where its planes are the vector's.

mod kernels;
mod read;

pub use kernels::{Answer, answer};

use super::Outcome;
use crate::Rt;
use girih::coop::{
    Count, HostGroup, LaneMask, Mapping, MappingResult, Properties, binary_partition, group_as,
    group_by, identity, take,
};
use girih::{Error, Precondition};
use serde::Deserialize;

/// The level whose units are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// The units of one plane.
    Plane,
    /// The units of one cube.
    Cube,
}

/// How groups are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tag {
    /// No unit is left over.
    Exhaustive,
    /// Units may be left over.
    NonExhaustive,
}

/// One mapping of a chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Link {
    /// `identity()`.
    Identity {},
    /// `group_by(count)`.
    GroupBy {
        /// Units of each group.
        count: u32,
    },
    /// `group_as(counts)`.
    GroupAs {
        /// Units of the first group and of those after it.
        counts: Vec<u32>,
    },
    /// `take(count)`.
    Take {
        /// Units that are kept.
        count: u32,
    },
    /// `binary_partition(predicate)`.
    BinaryPartition {
        /// The lanes that say yes.
        lanes: u128,
    },
}

/// The least that must be promised at comptime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
struct Promised {
    group_count: Option<u32>,
    unit_count: Option<u32>,
    exhaustive: bool,
    contiguous: bool,
}

/// What a unit is to be told: nothing if it is in no group, else the counts, the ranks and the lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// How many groups there are.
    pub group_count: u32,
    /// The rank of the unit's group.
    pub group_rank: u32,
    /// How many units its group has.
    pub unit_count: u32,
    /// The rank of the unit in it.
    pub unit_rank: u32,
    /// The lanes of the unit's plane that are in its group.
    pub lanes: u128,
}

/// The question.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chain {
    /// Whose units are told apart.
    pub level: Level,
    /// How groups are made.
    pub tag: Tag,
    /// Whether a kernel is given the counts by the run.
    pub runtime: bool,
    /// The mappings, applied in this order.
    pub links: Vec<Link>,
}

impl Chain {
    /// Whether sizes of groups are known to the run alone.
    fn is_of_the_run(&self) -> bool {
        let votes = |link: &Link| matches!(link, Link::BinaryPartition { .. });
        self.runtime || self.links.iter().any(votes)
    }
}

/// A vector: a chain of mappings, and what each unit is told.
#[derive(Clone, Debug)]
pub struct GroupVector {
    chain: Chain,
    units: u32,
    plane: u32,
    right: Result<(Promised, Vec<Option<Told>>), String>,
}

/// Asks the host, and the device if its planes are the vector's.
pub fn ask(vector: &GroupVector, rt: Option<&Rt>) -> Outcome {
    let failed = |reason: String| Outcome::Failed(format!("{reason}; asked: {vector:?}"));
    let host = on_host(vector);
    if let Err(reason) = vector.compare_host(&host) {
        return failed(format!("on the host, {reason}"));
    }
    let Some(rt) = rt else {
        return Outcome::Passed;
    };
    let hardware = &rt.client.properties().hardware;
    if (hardware.plane_size_min, hardware.plane_size_max) != (vector.plane, vector.plane) {
        return Outcome::Skipped(format!("planes of {} units", vector.plane));
    }
    if vector.units > hardware.max_units_per_cube {
        return Outcome::Skipped("more units than the device's cubes have".to_owned());
    }
    match (&vector.right, answer(&vector.chain, vector.units, rt)) {
        (Err(right), Err(crate::Error::Kernel { reason, .. })) => {
            match reason.contains("girih: Group::partition") && reason.contains(words(right)) {
                true => Outcome::Passed,
                false => failed(format!("the device refused by {reason}")),
            }
        }
        // What only the run knows is the caller's promise there.
        (Err(_), Ok(_)) if vector.chain.is_of_the_run() => {
            Outcome::Skipped("a broken promise of the run".to_owned())
        }
        (Err(_), Ok(_)) => failed("the device did not refuse".to_owned()),
        (_, Err(error)) => failed(error.to_string()),
        (Ok((promised, told)), Ok(answer)) => {
            match compare(promised, told, &answer.properties, &answer.units) {
                Ok(()) => Outcome::Passed,
                Err(reason) => failed(format!("on the device, {reason}")),
            }
        }
    }
}

/// What girih's refusal says of a condition.
fn words(error: &str) -> &'static str {
    match error {
        "zero count" => "counts above 0 are allowed",
        "not exhaustive" => "counts that take up every unit are allowed",
        "too many units" => "no more units than a group has are allowed",
        _ => "groups of one size are allowed",
    }
}

fn rule(error: &str) -> Option<Precondition> {
    Some(match error {
        "zero count" => Precondition::ZeroCount,
        "not exhaustive" => Precondition::NotExhaustive,
        "too many units" => Precondition::TooManyUnits,
        "unequal groups" => Precondition::UnequalGroups,
        _ => return None,
    })
}

fn on_host(vector: &GroupVector) -> girih::Result<HostGroup> {
    let chain = &vector.chain;
    let parent = match chain.level {
        Level::Plane => HostGroup::plane(vector.units)?,
        Level::Cube => HostGroup::cube(vector.units, vector.plane)?,
    };
    let count = |count: u32| match chain.runtime {
        true => Count::of_run(count),
        false => count.into(),
    };
    let mappings = chain.links.iter().map(|link| match link {
        Link::Identity {} => identity(),
        Link::GroupBy { count: n } => group_by(count(*n)),
        Link::Take { count: n } => take(count(*n)),
        Link::GroupAs { counts } => group_as(counts.iter().map(|&n| count(n)).collect::<Vec<_>>()),
        Link::BinaryPartition { lanes } => binary_partition(LaneMask::from(*lanes)),
    });
    let mapping = mappings.fold(Mapping::default(), |chain, link| chain | link);
    match chain.tag {
        Tag::Exhaustive => parent.partition(&mapping),
        Tag::NonExhaustive => parent.partition_non_exhaustive(&mapping),
    }
}

impl GroupVector {
    fn compare_host(&self, host: &girih::Result<HostGroup>) -> Result<(), String> {
        match (&self.right, host) {
            (Ok((promised, told)), Ok(group)) => {
                let units: Vec<_> = group.units().iter().map(told_of).collect();
                compare(promised, told, &group.properties(), &units)
            }
            (Err(right), Err(Error::Mapping { rule: broken, .. }))
                if rule(right) == Some(*broken) =>
            {
                Ok(())
            }
            (Ok(_), Err(error)) => Err(format!("refused by {error}")),
            (Err(_), Ok(_)) => Err("not refused".to_owned()),
            (Err(_), Err(error)) => Err(format!("refused by another condition, {error}")),
        }
    }
}

fn told_of(result: &MappingResult) -> Option<Told> {
    result.is_valid.then(|| Told {
        group_count: result.group_count,
        group_rank: result.group_rank,
        unit_count: result.unit_count,
        unit_rank: result.unit_rank,
        lanes: result.lane_mask.bits(),
    })
}

fn compare(
    promised: &Promised,
    right: &[Option<Told>],
    properties: &Properties,
    units: &[Option<Told>],
) -> Result<(), String> {
    if units != right {
        let differs = units
            .iter()
            .zip(right)
            .position(|(unit, right)| unit != right);
        let at = differs.unwrap_or(right.len());
        return Err(format!(
            "unit {at} was told {:?}, not {:?}",
            units.get(at),
            right.get(at)
        ));
    }
    let members = || units.iter().flatten();
    let promises = [
        (
            "group_count",
            promised
                .group_count
                .is_none_or(|count| properties.group_count == Some(count))
                && properties
                    .group_count
                    .is_none_or(|count| members().all(|unit| unit.group_count == count)),
        ),
        (
            "unit_count",
            promised
                .unit_count
                .is_none_or(|count| properties.unit_count == Some(count))
                && properties
                    .unit_count
                    .is_none_or(|count| members().all(|unit| unit.unit_count == count)),
        ),
        (
            "exhaustive",
            properties.is_always_exhaustive >= promised.exhaustive
                && (!properties.is_always_exhaustive || units.iter().all(Option::is_some)),
        ),
        (
            "contiguous",
            properties.is_always_contiguous >= promised.contiguous
                && (!properties.is_always_contiguous || is_contiguous(units)),
        ),
    ];
    match promises.iter().find(|(_, kept)| !kept) {
        None => Ok(()),
        Some((name, _)) => Err(format!("`{name}` of {properties:?} is not {promised:?}")),
    }
}

/// Whether each unit past the first of its group follows the one before it.
fn is_contiguous(units: &[Option<Told>]) -> bool {
    (0..).zip(units).all(|(at, unit): (usize, _)| match unit {
        Some(unit) if unit.unit_rank > 0 => {
            let before = at.checked_sub(1).and_then(|before| units[before]);
            before.is_some_and(|before| {
                (before.group_rank, before.unit_rank + 1) == (unit.group_rank, unit.unit_rank)
            })
        }
        _ => true,
    })
}
