//! Vectors as their files have them. Masks of lanes are numbers of up to 128 bits, which only typed reading keeps.

use super::{Chain, GroupVector, Level, Link, Promised, Tag, Told};
use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

impl<'de> Deserialize<'de> for GroupVector {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Fields {
            level: Level,
            units: u32,
            plane: u32,
            chain: Vec<Link>,
            tag: Tag,
            runtime: bool,
            #[serde(rename = "static")]
            promised: Option<Promised>,
            result: Option<Vec<Row>>,
            error: Option<String>,
        }
        let fields = Fields::deserialize(deserializer)?;
        let right = match (fields.error, fields.promised, fields.result) {
            (Some(error), None, None) => Err(error),
            (None, Some(promised), Some(rows)) => {
                Ok((promised, rows.into_iter().map(|row| row.0).collect()))
            }
            _ => {
                return Err(D::Error::custom(
                    "neither an error nor a result with what is static",
                ));
            }
        };
        Ok(Self {
            chain: Chain {
                level: fields.level,
                tag: fields.tag,
                runtime: fields.runtime,
                links: fields.chain,
            },
            units: fields.units,
            plane: fields.plane,
            right,
        })
    }
}

/// What a unit is told, as the file has it: `[false]`, or `[true, ..]`.
struct Row(Option<Told>);

/// The next element of a list, which must have it.
fn next<'de, T: Deserialize<'de>, A: SeqAccess<'de>>(list: &mut A) -> Result<T, A::Error> {
    list.next_element()?
        .ok_or_else(|| A::Error::custom("a list ends too early"))
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rows;
        impl<'de> Visitor<'de> for Rows {
            type Value = Row;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("what a unit is told")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Row, A::Error> {
                let valid: bool = next(&mut list)?;
                if !valid {
                    return Ok(Row(None));
                }
                Ok(Row(Some(Told {
                    group_count: next(&mut list)?,
                    group_rank: next(&mut list)?,
                    unit_count: next(&mut list)?,
                    unit_rank: next(&mut list)?,
                    lanes: next(&mut list)?,
                })))
            }
        }
        deserializer.deserialize_seq(Rows)
    }
}

impl<'de> Deserialize<'de> for Link {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Links;
        impl<'de> Visitor<'de> for Links {
            type Value = Link;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a mapping")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Link, A::Error> {
                let name: String = next(&mut list)?;
                Ok(match name.as_str() {
                    "identity" => Link::Identity {},
                    "group_by" => Link::GroupBy {
                        count: next(&mut list)?,
                    },
                    "take" => Link::Take {
                        count: next(&mut list)?,
                    },
                    "group_as" => Link::GroupAs {
                        counts: next(&mut list)?,
                    },
                    "binary_partition" => Link::BinaryPartition {
                        lanes: next(&mut list)?,
                    },
                    other => return Err(A::Error::custom(format!("no mapping is `{other}`"))),
                })
            }
        }
        deserializer.deserialize_seq(Links)
    }
}
