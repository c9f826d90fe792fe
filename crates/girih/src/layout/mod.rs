//! Layouts: where an element lies.
//!
//! The algebra is that of [`girih_layout`], all of which is here too: it runs on the host, for launches and for comptime
//! values. In a kernel a layout is a [`KernelLayout`], a coordinate anything that is a [`Coordinate`].
//!
//! | host | kernel |
//! |---|---|
//! | [`Layout`], [`ComposedLayout`] | [`KernelLayout`] |
//! | [`IdentityLayout`] | [`KernelIdentity`] |
//! | [`IntTuple`] | [`KernelTuple`] |
//! | [`Layout::index_extended`] | [`KernelLayout::offset`] |
//! | [`idx2crd`], [`crd2crd`] | [`KernelLayout::coordinate`] |
//! | [`Layout::local_tile`], [`Layout::local_partition`] | [`KernelLayout::slice`] of a [divided](Layout::zipped_divide) layout |
//! | [`ThreadValueLayout::partition`] | [`KernelLayout::slice`] of what it gives |

mod adapter;
mod identity;
mod kernel;
mod launch;
mod number;
mod tuple;
mod walk;

pub use adapter::{ModeCoordinates, PerMode, PerModeExpand};
pub use girih_layout::*;
pub use identity::{KernelIdentity, KernelIdentityCompilationArg, KernelIdentityExpand};
pub use kernel::{KernelLayout, KernelLayoutExpand};
pub use launch::KernelLayoutCompilationArg;
pub(crate) use number::Number;
pub use tuple::{Coordinate, KernelTuple, KernelTupleExpand};
pub(crate) use walk::digits;

/// The book's chapter, whose examples run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/src/layouts.md")]
struct Book;
