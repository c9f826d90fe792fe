//! Cooperative groups: which units work together.
//!
//! A [`Group`] is one of a [`Level`] of the hardware, or one of those that a [`Mapping`] makes of another group. What a
//! mapping does is evaluated by one piece of code, in kernels and on the host ([`HostGroup`]), which also draws it.

mod collective;
mod custom;
mod evaluate;
mod group;
mod host;
mod lanes;
mod level;
mod levels;
mod lower;
mod machine;
mod mapping;
mod operators;
mod picture;
mod properties;
mod reach;
mod result;
mod seat;
mod sync;
mod words;

pub use collective::{grid_scratch_len, reduce_grid};
pub use custom::{GroupMapping, GroupMappingExpand};
pub(crate) use group::Members;
pub use group::{Group, GroupExpand};
pub use host::HostGroup;
pub use lanes::{LaneMask, LaneMaskExpand};
pub use level::Level;
pub use levels::{this_cluster, this_cube, this_grid, this_plane, this_unit};
pub use mapping::{
    Count, CountExpand, Counts, CountsExpand, Mapping, MappingExpand, Predicate, Tag,
    binary_partition, group_as, group_by, identity, own, take,
};
pub use operators::{And, Associative, Known, Max, Min, Or, Product, Sum, Xor};
pub use result::{MappingResult, MappingResultExpand, Properties};

/// The book's chapter, whose examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/src/groups.md")]
struct Book;
