//! Counts in shared memory, which a cube adds to those of all.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]

use crate::scan::zeroed;
use cubecl::prelude::*;
use cubecl::server::Handle;
use girih::device;
use girih::prelude::*;

/// Words that are sent to the device rather than set by a launch, which takes longer to enqueue; but for what a graph records, since
/// it would send whatever the host's memory has by then.
const FEW: usize = 1 << 14;

/// So many words of 32 bits, all 0; of none memory that holds an element of any type, since an empty buffer is none on some devices.
pub(crate) fn zeros(device: &device::Device, words: usize) -> Handle {
    let client = device.client();
    let words = if words == 0 { 2 } else { words };
    match words {
        0..=FEW if !client.is_capturing() => {
            client.create_from_slice(u32::as_bytes(&vec![0u32; words]))
        }
        _ => zeroed(device, 4 * words),
    }
}

/// Sets the cube's first `count` bins to 0, and waits until that is done.
#[cube]
pub(crate) fn clear<A: Numeric>(
    bins: &Shared<[Atomic<A>]>,
    #[comptime] count: usize,
    #[comptime] units: u32,
) {
    let mut bin = UNIT_POS as usize;
    while bin < count {
        bins[bin].at::<Cube>().store::<Relaxed>(A::from_int(0));
        bin += comptime!(units as usize);
    }
    sync_cube();
}

/// Adds the cube's first `count` bins to those of a buffer from `begin` on, once every unit has counted.
#[cube]
pub(crate) fn add_to<A: Numeric, C: Numeric>(
    bins: &Shared<[Atomic<A>]>,
    out: &[Atomic<C>],
    begin: usize,
    count: usize,
    #[comptime] units: u32,
) {
    sync_cube();
    let mut bin = UNIT_POS as usize;
    while bin < count {
        let sum = bins[bin].at::<Cube>().load::<Relaxed>();
        if sum != A::from_int(0) {
            out[begin + bin]
                .at::<Device>()
                .fetch_add::<Relaxed>(C::cast_from(sum));
        }
        bin += comptime!(units as usize);
    }
}
