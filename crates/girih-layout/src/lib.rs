//! CuTe's layout algebra: shapes, strides, coordinates and the maps between them.
//!
//! A [`Layout`] is a function from coordinates to offsets, written `shape:stride`. Shapes nest, so one layout describes
//! a matrix, a tile of a matrix, or which thread holds which element of a tile.
//!
//! ```
//! use girih_layout::Layout;
//!
//! let layout: Layout = "(2,(3,4)):(1,(2,6))".parse()?;
//! assert_eq!(layout.rank(), 2);
//! assert_eq!(layout.size().value(), 24);
//! // By its nested coordinate, by one coordinate per mode, by its linear coordinate.
//! assert_eq!(layout.index((1, (2, 3)))?.value(), 23);
//! assert_eq!(layout.index((1, 11))?.value(), 23);
//! assert_eq!(layout.index(23)?.value(), 23);
//! # Ok::<(), girih_layout::LayoutError>(())
//! ```
//!
//! Every [`Integer`] in a shape or a stride is static (a constant, printed `_4`) or dynamic (printed `4`). Values are
//! 64 bits wide and arithmetic is checked: an overflow is an error.
//!
//! The crate is `no_std` (it needs `alloc`) and has no unsafe code.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

extern crate alloc;

mod algebra;
mod builder;
mod composed;
pub mod consts;
mod coord;
mod error;
mod identity;
mod int;
mod layout;
mod list;
mod modes;
mod path;
pub mod picture;
mod profile;
#[cfg(feature = "serde")]
mod serde;
mod swizzle;
mod text;
mod thread_value;
mod tiler;
mod tiling;
mod tuple;
mod warp_matrix;

pub use composed::ComposedLayout;
pub use consts::Static;
pub use coord::{crd2crd, crd2idx, idx2crd};
pub use error::LayoutError;
pub use identity::IdentityLayout;
pub use int::Integer;
pub use layout::Layout;
pub use path::Path;
pub use picture::Picture;
pub use profile::Profile;
pub use swizzle::Swizzle;
pub use text::ParseError;
pub use thread_value::ThreadValueLayout;
pub use tiler::Tiler;
pub use tuple::IntTuple;
pub use warp_matrix::WarpMatrix;
