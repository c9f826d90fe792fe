//! Mappings as text and as pictures.

use super::HostGroup;
use super::mapping::{Count, HostStep, Mapping, Step};
use core::fmt;
use girih_layout::Picture;

impl HostGroup {
    /// Which unit is in which group: `G1U3` is the unit of rank 3 in group 1. Each row is a plane; the units of a group have
    /// one colour, and those in no group none.
    ///
    /// Its `Display` is a text table, [`svg`](Picture::svg) an image.
    pub fn picture(&self) -> Picture {
        let owners = self.units().iter().map(|unit| {
            let owner = (u64::from(unit.group_rank), u64::from(unit.unit_rank));
            unit.is_valid.then_some(owner)
        });
        Picture::of_groups(self.title(), self.plane_size() as usize, owners)
    }
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.steps.is_empty() {
            return f.write_str("identity");
        }
        for (index, step) in self.steps.iter().enumerate() {
            if index > 0 {
                f.write_str(" | ")?;
            }
            write_step(f, step)?;
        }
        Ok(())
    }
}

fn write_step(f: &mut fmt::Formatter<'_>, step: &HostStep) -> fmt::Result {
    match step {
        Step::GroupBy(count) => write!(f, "group_by({count})"),
        Step::GroupAs(counts) => {
            let counts: Vec<_> = counts.iter().map(Count::to_string).collect();
            write!(f, "group_as([{}])", counts.join(", "))
        }
        Step::Take(count) => write!(f, "take({count})"),
        Step::BinaryPartition(predicate) => write!(f, "binary_partition({})", predicate.lanes()),
        Step::Own(_) => f.write_str("own"),
    }
}
