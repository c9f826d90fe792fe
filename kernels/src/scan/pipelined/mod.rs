//! Scans of a list by cubes that stay: tiles are fetched ahead by bulk copies, and combined as soon as they have come.
//!
//! A cube has a ring of tiles in shared memory, and planes that each do one thing, with barriers in shared memory between them
//! ([`mbarrier`](girih::cuda::mbarrier)):
//!
//! * one unit *fetches*: it takes the next tile by a ticket as soon as a place of the ring is free, and asks for all of it at
//!   once;
//! * some planes *combine*: one a tile, as soon as the tile has come. The tile's total is published at once, long before the
//!   tile is scanned, and what the tile has before each scanning plane's part is handed to those;
//! * one plane *carries*: from one tile of the cube to its next it adds the totals of all tiles between, which other cubes have
//!   published. It waits for totals alone, never for what another cube has found to be before a tile: there is no chain from
//!   tile to tile, as there is in look-back ([`look_back`](super::look_back)), where a plane sees 32 tiles a round trip to the cache;
//! * the others *finish*: each scans its part of a tile from shared memory in registers, waits for what is before it, frees its
//!   part of the place and stores.
//!
//! The bits of the result depend on the list and the pipeline alone: totals are combined by one plane in one way, groups of 32
//! tiles by the plane's collective, and groups one after another, whoever took which tile.
//!
//! # That nobody waits for ever, and nobody overwrites what is still read
//!
//! * All of a cube go around the ring in the same order, a place in its round `r` by parity `r % 2`, until they find a number past
//!   the last tile.
//! * `full` ends its phase `r` when the unit that fetches has arrived and the bytes of the tile have come; it has written the
//!   tile's number before. It does so after it waited for phase `r - 1` of `empty`.
//! * `ready` ends its phase `r` when the plane that carries and the one that combined the tile have arrived, after their writes. Both
//!   have waited for phase `r` of `full`.
//! * `empty` ends its phase `r` when every plane that finishes and every one that combines, whether this tile or not, has arrived,
//!   after its last read of the place. Those that finish have waited for phase `r` of `full` and of `ready`. Hence phase `r + 1`
//!   of any of the three ends only after every plane has waited for phase `r`, and a parity tells them apart.
//! * One lane arrives for its plane, after a barrier of the plane (`sync_plane`), which orders what the others have read and written
//!   before. The unit that fetches waits for `empty` and then fences the proxies ([`fence_async`](girih::cuda::fence_async)), so that
//!   the bulk copy that it starts next comes after those loads.
//! * A plane that carries waits for totals of tiles with smaller tickets. Who took them had room for them, so that their bytes are on
//!   their way, and combines them without waiting for anything but those. So it waits for cubes that run, however many of the
//!   launch do.
//!
//! compute-sanitizer's racecheck of CUDA 13.0 names the copy into a place as a race with what lanes 1 to 31 of a plane have read of
//! it, though not with what lane 0 has, and so for a tile's number and what is before it: it follows a lane from its own arrival to
//! who waits, and not through the plane's barrier before, which ptxas leaves as a `NOP`. That barrier and phase `r` of `empty`, which
//! the unit that fetches waits for before it writes the place for round `r + 1`, are what orders them.
//!
//! # What must be under way
//!
//! An H200 reads and writes 4.3 TB/s together, so a scan at that rate reads 16 GB/s for each of its 132 multiprocessors: 16 KiB a
//! microsecond, and with a microsecond from request to arrival there are 16 KiB on their way to each; with 1.5 under load, 24 KiB.
//! A tile keeps its place longer: about 0.7 us of ticket, 1.5 of memory, 0.5 to combine, 1.2 until all have published and all see
//! it, 0.5 to carry and 0.4 to scan, 5 us or 80 KiB at the full rate. What the ring has beyond is for those who come late: all
//! wait for the slowest tile before theirs.
//!
//! | planes x vectors | tile | places | cubes | ring of a multiprocessor, of 227 KiB | tiles a us and cube | units, two planes combining |
//! |---|---|---|---|---|---|---|
//! | 16 x 4 | 32 KiB | 6 | 1 | 192 KiB | 0.5 | 640; 704 of four |
//! | 8 x 8 | 32 KiB | 6 | 1 | 192 KiB | 0.5 | 384 |
//! | 8 x 8 | 32 KiB | 4 | 1 | 128 KiB | 0.5 | 384 |
//! | 8 x 8 | 32 KiB | 3 | 2 | 192 KiB | 0.25 | 768 |
//! | 8 x 4 | 16 KiB | 12 | 1 | 192 KiB | 1 | 384 |
//! | 8 x 4 | 16 KiB | 6 | 2 | 192 KiB | 0.5 | 768 |
//! | 8 x 2 | 8 KiB | 8 | 3 | 192 KiB | 0.7 | 1152 |
//!
//! The first, with four planes that combine, is the launcher's own: on an H200 it took 541 us for 2^28 f32, and 521 in a window, where
//! the second took 555 and 525.
//!
//! A plane that carries asks for about as many totals a tile as there are cubes, in one round trip of 0.7 us: a cube is to have
//! no more than one tile a microsecond. Their traffic is 8 bytes a cube and tile: of 132 cubes 1 KiB for each 32 KiB of elements,
//! of 396 cubes 3 KiB for each 8 KiB. A unit takes 40 to 67 registers for sums of f32, and 56 where a multiprocessor has several cubes:
//! three of 384 units have room.
// The kernels' parts take what they work on one by one.
#![allow(clippy::too_many_arguments)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]
// The expansions use them.
#![allow(clippy::extra_unused_type_parameters)]

mod carry;
mod combine;
mod fetch;
mod finish;
mod form;
mod kernel;
mod launch;
mod ring;

pub use form::{Form, Pipeline};
pub use kernel::pipelined_kernel;
pub use launch::pipelined_states;
pub(crate) use launch::{pipelined, require};
