//! What is measured.

use cubecl::client::Client;
use girih::device::Device;
use serde::{Serialize, Serializer};

/// What a group does in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// The sum, which the group's first unit is told.
    Reduce,
    /// The sums up to each unit.
    InclusiveScan,
    /// The sums before each unit.
    ExclusiveScan,
}

impl Op {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Reduce, Self::InclusiveScan, Self::ExclusiveScan];

    /// The name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reduce => "reduce",
            Self::InclusiveScan => "inclusive_scan",
            Self::ExclusiveScan => "exclusive_scan",
        }
    }
}

/// The units of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Members {
    /// All of a cube.
    Cube,
    /// All of a plane.
    Plane,
    /// So many neighbours in a plane.
    Lanes(u32),
}

impl Members {
    /// The name, as in JSON.
    pub fn name(self) -> String {
        match self {
            Self::Cube => "cube".into(),
            Self::Plane => "plane".into(),
            Self::Lanes(count) => format!("{count} lanes"),
        }
    }
}

impl Serialize for Members {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name())
    }
}

/// What is summed: integers that wrap, or floats that hold integers so small that every sum is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Element {
    /// `u32`.
    U32,
    /// `f32`.
    F32,
}

impl Element {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::U32, Self::F32];

    /// The name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::U32 => "u32",
            Self::F32 => "f32",
        }
    }
}

/// One collective to measure. Each unit holds one value in a register, and its group does the collective `rounds` times in a
/// launch, each time on what the last round left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Workload {
    /// What is done.
    pub op: Op,
    /// Of what elements.
    pub element: Element,
    /// By which units.
    pub members: Members,
    /// Units of a cube.
    pub cube: u32,
    /// Cubes of a launch.
    pub cubes: u32,
    /// Rounds of a launch.
    pub rounds: u32,
}

impl Workload {
    /// The name in tables: operation, type, group, size of a cube, and how many cubes.
    pub fn name(&self) -> String {
        let op = self.op.name();
        let element = self.element.name();
        let members = self.members.name();
        format!(
            "collective {op} {element} {members} of {}x{}",
            self.cubes, self.cube
        )
    }

    /// Units of a launch.
    pub const fn units(&self) -> usize {
        self.cube as usize * self.cubes as usize
    }

    /// How many units a group has on the device.
    pub fn group(&self, client: &Client) -> u32 {
        match self.members {
            Members::Cube => self.cube,
            Members::Plane => client.properties().hardware.plane_size_max.max(1),
            Members::Lanes(count) => count,
        }
    }

    /// Whether the device does this.
    ///
    /// # Errors
    ///
    /// [`girih::Error::Device`], which names what it lacks.
    pub fn supported(&self, client: &Client) -> girih::Result<()> {
        let device = Device::of(client);
        let hardware = &client.properties().hardware;
        let call = "collective";
        if self.members != Members::Cube {
            let (least, most) = (hardware.plane_size_min, hardware.plane_size_max);
            device.require(least == most, call, "planes of one size")?;
            let group = self.group(client);
            let is_part = most.max(1).is_multiple_of(group);
            device.require(is_part, call, format!("planes of {group} units or more"))?;
        }
        let fits = self.cube <= hardware.max_units_per_cube;
        device.require(fits, call, format!("cubes of {} units", self.cube))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_who_does_what_how_often() {
        let workload = Workload {
            op: Op::InclusiveScan,
            element: Element::F32,
            members: Members::Lanes(8),
            cube: 256,
            cubes: 7,
            rounds: 3,
        };
        assert_eq!(
            workload.name(),
            "collective inclusive_scan f32 8 lanes of 7x256"
        );
        assert_eq!(workload.units(), 7 * 256);
    }
}
