//! Vectors of views: gathers and scatters through a view, partition tiles, and flat gathers and scatters.
//!
//! Elements are f32. The source holds 0, 1, 2, ... in row-major order of its extents, and -1 between the elements that its
//! strides reach; what is stored is 1000, 1001, ... in row-major order of the tile. An index below 0 or not below its extent is
//! out of range: a load gives the padding there, a store does nothing.

use std::hash::{Hash, Hasher};

use serde::{Deserialize, Deserializer};

use super::Outcome;
use crate::{
    Rt,
    buffer::{positions, storage_len},
    check::same,
};

mod flat;
mod kernels;

/// The `op`s of these vectors.
pub(super) const OPS: [&str; 6] = [
    "gather_load",
    "gather_store",
    "tile_load",
    "tile_store",
    "gather_flat",
    "scatter_flat",
];

/// What the storage holds between the elements of the source.
const HOLE: f32 = -1.0;

/// The first value that a store writes.
const FIRST_STORED: f32 = 1000.0;

/// One vector.
#[derive(Clone, Debug, Deserialize)]
pub struct ViewVector {
    /// Extents of the source, or of the destination.
    pub extents: Vec<usize>,
    /// Its strides, in elements.
    pub strides: Vec<usize>,
    /// Extents of the tile.
    pub tile_shape: Vec<usize>,
    /// Which elements the tile covers.
    #[serde(flatten)]
    pub access: Access,
    /// The loaded tile in row-major order, or the whole storage after a store.
    #[serde(deserialize_with = "floats")]
    pub result: Vec<f32>,
}

/// Which elements a tile covers, and what is done with them.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Access {
    /// A load through a gather view.
    GatherLoad {
        /// Where the tile lies.
        #[serde(flatten)]
        at: GatherAt,
        /// What an out-of-range index gives.
        padding: Padding,
    },
    /// A store through a scatter view.
    GatherStore {
        /// Where the tile lies.
        #[serde(flatten)]
        at: GatherAt,
    },
    /// A load of a partition tile.
    TileLoad {
        /// Where the tile lies.
        #[serde(flatten)]
        at: TileAt,
        /// What an out-of-range index gives.
        padding: Padding,
    },
    /// A store of a partition tile.
    TileStore {
        /// Where the tile lies.
        #[serde(flatten)]
        at: TileAt,
    },
    /// An element-wise load.
    GatherFlat {
        /// Where each element lies.
        #[serde(flatten)]
        at: FlatAt,
        /// What an element out of range or masked out gives.
        padding: Padding,
    },
    /// An element-wise store.
    ScatterFlat {
        /// Where each element goes.
        #[serde(flatten)]
        at: FlatAt,
    },
}

/// A tile whose indices are listed along one dimension and consecutive along the others.
#[derive(Clone, Debug, Deserialize)]
pub struct GatherAt {
    /// The dimension whose indices are listed.
    pub gather_dim: usize,
    /// The first index along every other dimension; 0 along the listed one.
    pub start: Vec<i32>,
    /// The indices along the gather dimension.
    pub idx: Vec<i32>,
}

/// A tile at a place of a regular partition.
#[derive(Clone, Debug, Deserialize)]
pub struct TileAt {
    /// The source's dimension for each of the tile's.
    pub order: Vec<usize>,
    /// Distance between tiles, for each of the tile's dimensions.
    pub step: Vec<usize>,
    /// The place of the tile, for each of its dimensions, from 0.
    pub tile_index: Vec<u32>,
}

/// A tile whose elements each have their own index.
#[derive(Clone, Debug, Deserialize)]
pub struct FlatAt {
    /// Indices along each dimension of the source, to be broadcast to the tile.
    pub idx: Vec<IndexTile>,
    /// Which elements of the tile take part; all without it.
    pub mask: Option<Vec<bool>>,
}

/// Indices along one dimension of the source.
#[derive(Clone, Debug, Deserialize)]
pub struct IndexTile {
    /// Extents: the tile's, or 1 where the tile is broadcast.
    pub shape: Vec<usize>,
    /// The indices, in row-major order.
    pub values: Vec<i32>,
}

/// What an out-of-range index gives.
#[derive(Clone, Copy, Debug)]
pub enum Padding {
    /// 0.
    Zero,
    /// -0.
    NegZero,
    /// NaN.
    NaN,
    /// The positive infinity.
    PosInf,
    /// The negative infinity.
    NegInf,
    /// A number.
    Value(f32),
}

impl Padding {
    /// As a float.
    pub const fn value(self) -> f32 {
        match self {
            Self::Zero => 0.0,
            Self::NegZero => -0.0,
            Self::NaN => f32::NAN,
            Self::PosInf => f32::INFINITY,
            Self::NegInf => f32::NEG_INFINITY,
            Self::Value(value) => value,
        }
    }
}

/// Two paddings are the same if their bits are: a padding is part of what a kernel is compiled for.
impl PartialEq for Padding {
    fn eq(&self, other: &Self) -> bool {
        self.value().to_bits() == other.value().to_bits()
    }
}

impl Eq for Padding {}

impl Hash for Padding {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.value().to_bits().hash(state);
    }
}

impl<'de> Deserialize<'de> for Padding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Spelling {
            Name(String),
            Number(f32),
        }
        Ok(match Spelling::deserialize(deserializer)? {
            Spelling::Number(value) => Self::Value(value),
            Spelling::Name(name) => match name.as_str() {
                "zero" => Self::Zero,
                "neg_zero" => Self::NegZero,
                "nan" => Self::NaN,
                "pos_inf" => Self::PosInf,
                "neg_inf" => Self::NegInf,
                "value" => Self::Value(-7.5),
                _ => {
                    return Err(serde::de::Error::custom(format!(
                        "no padding is called `{name}`"
                    )));
                }
            },
        })
    }
}

/// Numbers, and the names of those that JSON lacks.
fn floats<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Spelling {
        Number(f32),
        Name(String),
    }
    Vec::<Spelling>::deserialize(deserializer)?
        .into_iter()
        .map(|spelling| match spelling {
            Spelling::Number(value) => Ok(value),
            Spelling::Name(name) => match name.as_str() {
                "nan" => Ok(f32::NAN),
                "inf" => Ok(f32::INFINITY),
                "-inf" => Ok(f32::NEG_INFINITY),
                "-0" => Ok(-0.0),
                _ => Err(serde::de::Error::custom(format!(
                    "no float is called `{name}`"
                ))),
            },
        })
        .collect()
}

impl ViewVector {
    /// The storage of the source before anything is stored.
    pub fn storage(&self) -> Vec<f32> {
        let mut storage = vec![HOLE; storage_len(&self.extents, &self.strides)];
        for (value, position) in positions(&self.extents, &self.strides)
            .into_iter()
            .enumerate()
        {
            storage[position] = value as f32;
        }
        storage
    }

    /// What kind of access this is, in words.
    fn kind(&self) -> String {
        let (what, rank) = match &self.access {
            Access::GatherLoad { .. } => ("loads through gather views", self.tile_shape.len()),
            Access::GatherStore { .. } => ("stores through scatter views", self.tile_shape.len()),
            Access::TileLoad { .. } => ("loads of partition tiles", self.tile_shape.len()),
            Access::TileStore { .. } => ("stores of partition tiles", self.tile_shape.len()),
            Access::GatherFlat { .. } => ("flat gathers", self.extents.len()),
            Access::ScatterFlat { .. } => ("flat scatters", self.extents.len()),
        };
        format!("{what} of rank {rank}")
    }

    /// The values that a store writes, in row-major order of the tile.
    pub fn stored(&self) -> Vec<f32> {
        let count = self.tile_shape.iter().product();
        (0..count).map(|n: usize| FIRST_STORED + n as f32).collect()
    }
}

/// Asks a device for the answer and compares it with the right one, bit by bit.
pub(super) fn ask(vector: &ViewVector, rt: &Rt) -> Outcome {
    match kernels::answer(vector, rt) {
        None => Outcome::Skipped(format!("{} are not in this build", vector.kind())),
        Some(Err(error)) => Outcome::Failed(error.to_string()),
        Some(Ok(answer)) => match same(&answer, &vector.result) {
            Ok(()) => Outcome::Passed,
            Err(difference) => Outcome::Failed(format!("{}: {difference}", vector.kind())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::assert_same;

    /// The source index of every element of the tile, `None` where one is out of range or masked out.
    fn positions_of(vector: &ViewVector) -> Vec<Option<usize>> {
        let coordinates = |shape: &[usize]| {
            let strides = crate::buffer::row_major(shape);
            let shape = shape.to_vec();
            (0..shape.iter().product())
                .map(move |n: usize| -> Vec<usize> {
                    shape
                        .iter()
                        .zip(&strides)
                        .map(|(extent, stride)| n / stride % extent)
                        .collect()
                })
                .collect::<Vec<_>>()
        };
        let index_of = |n: usize, j: &[usize]| -> Option<Vec<i64>> {
            match &vector.access {
                Access::GatherLoad { at, .. } | Access::GatherStore { at } => Some(
                    (0..j.len())
                        .map(|d| {
                            if d == at.gather_dim {
                                at.idx[j[d]].into()
                            } else {
                                i64::from(at.start[d]) + j[d] as i64
                            }
                        })
                        .collect(),
                ),
                Access::TileLoad { at, .. } | Access::TileStore { at } => {
                    let mut index = vec![0; j.len()];
                    for k in 0..j.len() {
                        index[at.order[k]] = (at.tile_index[k] as usize * at.step[k] + j[k]) as i64;
                    }
                    Some(index)
                }
                Access::GatherFlat { at, .. } | Access::ScatterFlat { at } => {
                    at.mask.as_ref().is_none_or(|mask| mask[n]).then(|| {
                        at.idx
                            .iter()
                            .map(|tile| tile.values[broadcast(&tile.shape, j)].into())
                            .collect()
                    })
                }
            }
        };
        coordinates(&vector.tile_shape)
            .into_iter()
            .enumerate()
            .map(|(n, j)| {
                let index = index_of(n, &j)?;
                let inside = index
                    .iter()
                    .zip(&vector.extents)
                    .all(|(&i, &e)| (0..e as i64).contains(&i));
                inside.then(|| {
                    index
                        .iter()
                        .zip(&vector.strides)
                        .map(|(&i, s)| i as usize * s)
                        .sum()
                })
            })
            .collect()
    }

    /// The row-major position of tile coordinate `j` in an index tile of `shape`.
    fn broadcast(shape: &[usize], j: &[usize]) -> usize {
        shape.iter().zip(j).fold(0, |position, (&extent, &j)| {
            position * extent + if extent == 1 { 0 } else { j }
        })
    }

    #[test]
    fn every_vector_agrees_with_its_definition() {
        let text = include_str!("../../../vectors/views.jsonl");
        let mut count = 0;
        for line in text.lines() {
            let vector: ViewVector = serde_json::from_str(line).expect(line);
            let positions = positions_of(&vector);
            let mut storage = vector.storage();
            let answer = match &vector.access {
                Access::GatherLoad { padding, .. }
                | Access::TileLoad { padding, .. }
                | Access::GatherFlat { padding, .. } => positions
                    .iter()
                    .map(|p| p.map_or(padding.value(), |p| storage[p]))
                    .collect(),
                Access::GatherStore { .. }
                | Access::TileStore { .. }
                | Access::ScatterFlat { .. } => {
                    for (value, position) in vector.stored().into_iter().zip(positions) {
                        if let Some(position) = position {
                            storage[position] = value;
                        }
                    }
                    storage
                }
            };
            assert_same(&answer, &vector.result);
            count += 1;
        }
        assert_eq!(count, 700);
    }
}
