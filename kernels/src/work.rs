//! Words that the cubes of a launch count their work in, and leave as they found them: all 0. To send zeros to the device before each
//! launch takes longer than what a short one does.
// CubeCL's macro writes undocumented twins of the function.
#![allow(missing_docs)]

use crate::bins::zeros;
use cubecl::prelude::*;
use cubecl::server::Handle;
use girih::device;
use girih::prelude::*;
use std::cell::RefCell;

thread_local! {
    /// The words of the last launches, of each stream. Launches that this thread enqueues on one stream run one after another: so each
    /// finds all 0.
    static KEPT: RefCell<Vec<Handle>> = RefCell::default();
}

/// Words that are kept at the least.
const LEAST: usize = 4096;

/// At least so many words of 32 bits, all 0, for a launch that leaves them so. What the client has just made is `made`: it tells the
/// stream that the client enqueues on.
pub(crate) fn words(device: &device::Device, words: usize, made: &Handle) -> Handle {
    // A graph has memory of its own.
    if device.client().is_capturing() {
        return zeros(device, words);
    }
    let fresh = || zeros(device, words.next_power_of_two().max(LEAST));
    let is_there = |kept: &&mut Handle| kept.service == made.service && kept.stream == made.stream;
    KEPT.with_borrow_mut(|kept| match kept.iter_mut().find(is_there) {
        Some(last) => {
            if (last.size_in_used() as usize) < 4 * words {
                *last = fresh();
            }
            last.clone()
        }
        None => {
            kept.push(fresh());
            kept[kept.len() - 1].clone()
        }
    })
}

/// Sets words to 0, by all units of the cube.
#[cube]
pub(crate) fn clear<C: Int>(
    words: &[Atomic<C>],
    from: usize,
    count: usize,
    #[comptime] units: u32,
) {
    let mut word = UNIT_POS as usize;
    while word < count {
        words[from + word]
            .at::<Device>()
            .store::<Relaxed>(C::new(0i64));
        word += comptime!(units as usize);
    }
}
