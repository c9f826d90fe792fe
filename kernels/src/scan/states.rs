//! The memory of look-back's states, which launches of one stream use one after another.

use super::kernels::clear_kernel;
use super::launch::cubes;
use super::look_back::{LAUNCHES, words};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use std::cell::RefCell;

thread_local! {
    /// The states of the last launch of each kind. Launches may share memory that are of one device and stream, in the order in
    /// which this thread enqueues them, and have as many words for each tile: states of one word and of several lie at different
    /// places.
    static KEPT: RefCell<Vec<States>> = RefCell::default();
}

/// Words after the states, whose first one counts tickets, apart from what tiles publish: a line of the cache.
const TICKETS: usize = 16;

/// States of tiles for one launch.
#[derive(Clone)]
pub(crate) struct States {
    handle: Handle,
    /// Words of 64 bits, and those of each tile.
    words: usize,
    of_tile: usize,
    /// The number of the launch, which its states have; from 1 on.
    pub launch: u32,
    /// Words that the launch uses.
    used: usize,
}

impl States {
    /// States for so many tiles, whose totals have so many bytes. No state has the launch's number yet. What the client has just made,
    /// if there is something, is `made`.
    pub(crate) fn new(device: &Device, tiles: usize, bytes: usize, made: Option<&Handle>) -> Self {
        let client = device.client();
        let of_tile = words(bytes);
        let used = tiles * of_tile;
        // What a graph records is run again with the same number.
        if client.is_capturing() {
            return Self::cleared(device, used, of_tile, used);
        }
        // The stream that the client enqueues on, which it tells by the handles that it makes alone.
        let (service, stream) = match made {
            Some(made) => (made.service, made.stream),
            None => {
                let probe = client.empty(8);
                (probe.service, probe.stream)
            }
        };
        let shares = |kept: &&mut States| {
            let handle = &kept.handle;
            let is_there = handle.service == service && handle.stream == stream;
            is_there && kept.of_tile == of_tile
        };
        let cleared = || {
            let words = used.next_power_of_two().max(4096);
            Self::cleared(device, words, of_tile, used)
        };
        KEPT.with_borrow_mut(|kept| match kept.iter_mut().find(shares) {
            Some(last) => {
                *last = match last.words >= used && last.launch + 1 < LAUNCHES {
                    true => Self {
                        launch: last.launch + 1,
                        used,
                        ..last.clone()
                    },
                    false => cleared(),
                };
                last.clone()
            }
            None => {
                kept.push(cleared());
                kept[kept.len() - 1].clone()
            }
        })
    }

    /// States that are all 0, for the first launch.
    fn cleared(device: &Device, words: usize, of_tile: usize, used: usize) -> Self {
        let words = words.next_multiple_of(TICKETS);
        Self {
            handle: zeroed(device, (words + TICKETS) * 8),
            words,
            of_tile,
            launch: 1,
            used,
        }
    }

    /// All words as a kernel argument, that of tickets included.
    pub(crate) fn arg(&self) -> BufferArg {
        // SAFETY: the handle was made for so many words.
        unsafe { BufferArg::from_raw_parts(self.handle.clone(), self.words + TICKETS) }
    }

    /// Which word counts tickets: 0 before a launch, and to be 0 again after one that takes some.
    pub(crate) fn tickets(&self) -> usize {
        self.words
    }

    /// The words that the launch uses.
    pub(crate) fn tensor(&self) -> TensorHandle {
        TensorHandle::new_contiguous(
            vec![self.used],
            self.handle.clone(),
            u64::elem_type_native(),
        )
    }
}

/// Memory of so many bytes that are all 0.
pub(crate) fn zeroed(device: &Device, bytes: usize) -> Handle {
    let client = device.client();
    let words = bytes.div_ceil(8).max(1);
    let handle = client.empty(words * 8);
    let most = client.properties().hardware.max_units_per_cube;
    let units = 1u32 << most.clamp(1, 256).ilog2();
    // SAFETY: a unit writes one word, if there is one for it.
    unsafe {
        clear_kernel::launch_unchecked(
            client,
            cubes(device, words.div_ceil(units as usize)),
            CubeDim::new_1d(units),
            AddressType::from_len(words),
            BufferArg::from_raw_parts(handle.clone(), words),
        );
    }
    // Whoever reads all of it finds no more than was asked for.
    match words * 8 - bytes {
        extra @ 1..8 => handle.offset_end(extra as u64),
        _ => handle,
    }
}
