//! How a pipelined scan is cut and staged.

use super::super::place::Cuts;
use super::super::tile::TilePlan;

/// Bytes of a vector: what bulk copies are counted in, and aligned to.
pub(super) const VECTOR: usize = 16;
/// Elements of a vector.
pub(super) const WIDTH: usize = 4;
/// Units of a plane, and tiles of a group.
pub(super) const LANES: usize = 32;
/// Planes that fetch and that carry.
pub(super) const HELPERS: usize = 2;
/// Shared memory that a multiprocessor keeps of each cube for itself.
const RESERVED: usize = 1 << 10;

/// How a multiprocessor is used: by how many cubes, and what each has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pipeline {
    /// Planes of a cube that scan tiles and store them.
    pub planes: usize,
    /// Vectors of 16 bytes that each of their units has of a tile; up to 8.
    pub vectors: usize,
    /// Tiles that a cube has room for in shared memory.
    pub stages: usize,
    /// Cubes of a multiprocessor.
    pub cubes: usize,
    /// Planes of a cube that combine tiles as soon as they have come, a tile each in turn.
    pub reducers: usize,
}

impl Pipeline {
    /// The launcher's own, where a cube may have so many bytes of shared memory.
    pub const fn of(shared: usize) -> Self {
        let one = Self {
            planes: 16,
            vectors: 4,
            stages: 1,
            cubes: 1,
            reducers: 4,
        };
        let stages = shared / one.shared_bytes();
        Self {
            stages: if stages < 6 { stages } else { 6 },
            ..one
        }
    }

    /// Bytes of a tile.
    pub const fn tile_bytes(&self) -> usize {
        self.planes * LANES * self.vectors * VECTOR
    }

    /// Elements of a tile.
    pub const fn tile(&self) -> usize {
        self.tile_bytes() / VECTOR * WIDTH
    }

    /// Units of a cube.
    pub const fn units(&self) -> usize {
        (self.planes + HELPERS + self.reducers) * LANES
    }

    /// Bytes of shared memory of a cube: its tiles, and for each of them three barriers, its number, what is before it, and what
    /// is before each plane's part of it.
    pub const fn shared_bytes(&self) -> usize {
        self.stages * (self.tile_bytes() + 3 * 8 + 4 + 4 + 4 * self.planes)
    }

    /// Whether there is such a kernel, and a multiprocessor with so many bytes of shared memory for a cube has room for the cubes.
    pub const fn is_possible(&self, shared: usize) -> bool {
        let parts =
            self.planes > 0 && self.planes <= LANES && self.vectors > 0 && self.reducers > 0;
        let sizes = self.vectors * WIDTH <= 32 && self.stages > 1 && self.units() <= 1024;
        let room = self.cubes * (self.shared_bytes() + RESERVED);
        parts && sizes && self.cubes > 0 && room <= shared + RESERVED
    }

    /// Planes whose parts are combined side by side: as many as registers allow.
    const fn at_once(&self) -> usize {
        let most = if self.cubes == 1 { 4 } else { 2 };
        let mut count = 1;
        while 2 * count <= most && self.planes.is_multiple_of(2 * count) {
            count *= 2;
        }
        count
    }

    /// What the kernel is compiled for, where there are so many multiprocessors.
    pub fn form(&self, processors: usize, exclusive: bool) -> Form {
        // From one tile of a cube to its next there are about as many as cubes, and those of the groups at both ends.
        let groups = (processors * self.cubes).div_ceil(LANES) + 1;
        Form {
            tile: TilePlan {
                width: WIDTH,
                vectors: self.vectors,
                lanes: LANES,
                planes: self.planes,
                aligned: true,
                single: true,
                exclusive,
                cuts: Cuts::Rows,
            },
            stages: self.stages,
            reducers: self.reducers,
            groups: groups.clamp(1, 16),
            at_once: self.at_once(),
        }
    }
}

/// What is known when the kernel is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Form {
    /// What those who scan have of a tile.
    pub tile: TilePlan,
    /// Tiles in shared memory.
    pub stages: usize,
    /// Planes that combine.
    pub reducers: usize,
    /// Groups of 32 tiles whose totals are asked for at once.
    pub groups: usize,
    /// Parts of a tile that one plane combines side by side, so that one's shuffles pass the time of another's.
    pub at_once: usize,
}

impl Form {
    /// Vectors of a tile.
    pub(super) const fn packets(&self) -> usize {
        self.tile.tile() / self.tile.width
    }

    /// Bytes of a tile.
    pub(super) const fn tile_bytes(&self) -> u32 {
        (self.packets() * VECTOR) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an H200 lets a cube have.
    const SHARED: usize = 227 << 10;

    #[test]
    fn sizes_are_in_bytes() {
        let pipeline = Pipeline::of(SHARED);
        assert_eq!(pipeline.tile_bytes(), 32 << 10);
        assert_eq!(pipeline.tile(), 8192);
        assert_eq!(pipeline.units(), 704);
        assert_eq!(pipeline.shared_bytes(), 6 * (32_768 + 96));
        assert_eq!(pipeline.form(132, false).groups, 6);
        assert_eq!(pipeline.form(132, false).at_once, 4);
        assert_eq!(
            Pipeline {
                planes: 6,
                ..pipeline
            }
            .form(132, false)
            .at_once,
            2
        );
        assert_eq!(pipeline.form(132, false).tile_bytes(), 32 << 10);
    }

    #[test]
    fn what_does_not_fit_is_not_possible() {
        let pipeline = Pipeline::of(SHARED);
        assert!(pipeline.is_possible(SHARED));
        for other in [
            Pipeline {
                stages: 8,
                ..pipeline
            },
            Pipeline {
                stages: 1,
                ..pipeline
            },
            Pipeline {
                cubes: 2,
                ..pipeline
            },
            Pipeline {
                cubes: 0,
                ..pipeline
            },
            Pipeline {
                vectors: 16,
                stages: 2,
                ..pipeline
            },
            Pipeline {
                planes: 32,
                vectors: 1,
                ..pipeline
            },
            Pipeline {
                reducers: 0,
                ..pipeline
            },
        ] {
            assert!(!other.is_possible(SHARED), "{other:?}");
        }
        // Of a processor for graphics.
        assert_eq!(Pipeline::of(99 << 10).stages, 3);
        assert!(Pipeline::of(99 << 10).is_possible(99 << 10));
        let halves = Pipeline {
            vectors: 2,
            stages: 6,
            cubes: 2,
            ..pipeline
        };
        assert!(halves.is_possible(SHARED));
        assert!(!halves.is_possible(SHARED / 2));
    }
}
