//! Tile kernels in CubeCL's `#[cube]` Rust.
//!
//! > A **layout** says where an element lies, a **view** says which elements a tile covers, a **group** says which
//! > units hold the tile, and an **order** says when others see a write.
//!
//! Each of the four is a module that can be learned alone; a kernel is their composition:
//!
//! ```
//! use cubecl::prelude::*;
//! use girih::prelude::*;
//!
//! /// out[n, :] = table[index[n], :], a zero row where the index is out of range.
//! #[cube(launch_unchecked)]
//! fn gather_rows<E: Numeric, I: Int>(table: &Tensor<E>, index: &Tensor<I>, out: &mut Tensor<E>) {
//!     let cube = this_cube();
//!     let rows = TileView::<I, shape![8]>::of(index).load_masked(&cube, Zero, CUBE_POS);
//!     let view = GatherScatterView::<E, shape![8, 256], 0>::of(table);
//!     let tile = view.load_masked(&cube, Zero, (&rows, 0));
//!     TileViewMut::<E, shape![8, 256]>::of(out).store_masked(&cube, tile, (CUBE_POS, 0));
//! }
//! # fn main() {}
//! ```
//!
//! Indices count from 0. Offsets are computed in the kernel's address type, 64-bit where a buffer needs it.
#![deny(missing_docs)]

pub mod coop;
pub mod cuda;
pub mod device;
mod error;
pub mod layout;
pub mod memory;
pub mod prelude;
pub mod tile;
pub mod view;

mod handle;

pub use error::{Error, Precondition, Result};
pub use view::{Bounds, Checked};
