//! Selections in one launch, whose cubes take numbered work: however they come to run, the largest keys are found, and where they were.

use super::compare::{compare, list};
use super::setting::{Fault, Setting};
use cubecl::ir::{ElemType, UIntKind};
use girih::device::Device;
use girih_kernels::TopKPath;
use girih_kernels::raw::top_k::{require_at_once, top_k_by};
use girih_testkit::Buffer;
use std::cmp::Reverse;

/// Launches of a round, one after another without a wait.
const LAUNCHES: usize = 32;
const U32: ElemType = ElemType::UInt(UIntKind::U32);

/// Whether a device selects in one launch.
pub(super) fn require(device: &Device) -> girih::Result<()> {
    require_at_once(device)
}

/// Keys on the device, and those that the host finds to be the largest, with their places.
struct Keys {
    keys: Buffer<u32>,
    largest: Buffer<u32>,
    places: Buffer<u32>,
}

impl Keys {
    fn new(setting: &mut Setting<'_>, length: usize, k: usize) -> Self {
        // Of some lists all digits differ, of others few, so that the places of equal keys are asked for.
        let mask = match setting.draw() % 3 {
            0 => u32::MAX,
            1 => 0xff00,
            _ => setting.draw(),
        };
        let keys: Vec<u32> = (0..length).map(|_| setting.draw() & mask).collect();
        let mut places: Vec<u32> = (0..length as u32).collect();
        // Of equal keys the first.
        let order = |place: &u32| (Reverse(keys[*place as usize]), *place);
        places.select_nth_unstable_by_key(k - 1, order);
        places.truncate(k);
        places.sort_unstable_by_key(order);
        let largest: Vec<u32> = places.iter().map(|&place| keys[place as usize]).collect();
        Self {
            keys: setting.rt.put(&keys),
            largest: setting.rt.put(&largest),
            places: setting.rt.put(&places),
        }
    }
}

/// Selects from two lists in turn, so that what a launch left behind is wrong for the next one. Gives the number of keys.
pub(super) fn round(setting: &mut Setting<'_>) -> Result<u64, Fault> {
    let cubes = setting.cubes();
    let length = (cubes * setting.between(1, 4096)) as usize;
    let k = setting.between(1, 512).min(length as u32) as usize;
    let lists = [(); 2].map(|()| Keys::new(setting, length, k));
    let (rt, wrong) = (setting.rt, setting.zeros(1));
    for turn in 0..LAUNCHES {
        let Keys {
            keys,
            largest,
            places,
        } = &lists[turn % 2];
        let path = Some(TopKPath::AtOnce);
        let (found, found_places) = top_k_by(&rt.client, &list(keys), 0, k, true, U32, path)
            .map_err(|error| Fault::Broken(error.to_string()))?;
        compare(rt, &found, largest, &wrong);
        compare(rt, &found_places, places, &wrong);
    }
    setting.launches += LAUNCHES as u64;
    match rt.read(&wrong)?[0] {
        0 => Ok((LAUNCHES * length) as u64),
        count => Err(Fault::Broken(format!(
            "{count} keys and places of {LAUNCHES} selections of {k} of {length} keys are wrong"
        ))),
    }
}
