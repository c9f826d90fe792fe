//! The memory of look-back's states, which launches of one stream use one after another.

use super::kernels::clear_kernel;
use super::launch::cubes;
use super::look_back::{LAUNCHES, words};
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// What launches may share memory: those of one device and stream, in the order in which this thread enqueues them. States
/// of one word and of several lie at different places.
type Key = (String, usize);

thread_local! {
    /// The states of the last launch of each kind.
    static KEPT: RefCell<HashMap<Key, States>> = RefCell::default();
}

/// States of tiles for one launch.
#[derive(Clone)]
pub(crate) struct States {
    handle: Handle,
    /// Words of 64 bits.
    words: usize,
    /// The number of the launch, which its states have; from 1 on.
    pub launch: u32,
    /// Words that the launch uses.
    used: usize,
    /// Tickets that launches have taken so far.
    drawn: Rc<Cell<u32>>,
}

impl States {
    /// States for so many tiles, whose totals have so many bytes. No state has the launch's number yet.
    pub(crate) fn new(device: &Device, tiles: usize, bytes: usize) -> Self {
        let client = device.client();
        let used = tiles * words(bytes);
        // What a graph records is run again with the same number.
        if client.is_capturing() {
            return Self::cleared(device, used, used);
        }
        // The stream that the client enqueues on, which it tells by the handles that it makes.
        let probe = client.empty(8);
        let key = (
            format!("{} {:?}", probe.service, probe.stream),
            words(bytes),
        );
        KEPT.with_borrow_mut(|kept| {
            let next = match kept.get(&key) {
                Some(last) if last.words >= used && last.launch + 1 < LAUNCHES => Self {
                    launch: last.launch + 1,
                    used,
                    ..last.clone()
                },
                _ => Self::cleared(device, used.next_power_of_two().max(4096), used),
            };
            kept.insert(key, next.clone());
            next
        })
    }

    /// States that are all 0, for the first launch.
    fn cleared(device: &Device, words: usize, used: usize) -> Self {
        let client = device.client();
        // One more for tickets.
        let handle = client.empty((words + 1) * 8);
        let most = client.properties().hardware.max_units_per_cube;
        let units = 1u32 << most.clamp(1, 256).ilog2();
        let states = Self {
            handle,
            words,
            launch: 1,
            used,
            drawn: Rc::default(),
        };
        // SAFETY: a unit writes one word, if there is one for it.
        unsafe {
            clear_kernel::launch_unchecked(
                client,
                cubes(device, (words + 1).div_ceil(units as usize)),
                CubeDim::new_1d(units),
                AddressType::from_len(words),
                states.arg(),
            );
        }
        states
    }

    /// The place of the counter of tickets, and what it counts from in a launch that takes so many.
    pub(crate) fn draw(&self, count: u32) -> (usize, u32) {
        let base = self.drawn.get();
        self.drawn.set(base.wrapping_add(count));
        (self.words, base)
    }

    /// All words as a kernel argument.
    pub(crate) fn arg(&self) -> BufferArg {
        // SAFETY: the handle was made for so many words and one more.
        unsafe { BufferArg::from_raw_parts(self.handle.clone(), self.words + 1) }
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
