//! Sorts whose tiles look back at those before them, and whose cubes take numbered work: however they come to run, each key goes where
//! it belongs, and its place with it.

use super::compare::{compare, list};
use super::setting::{Fault, Setting};
use cubecl::ir::{ElemType, UIntKind};
use girih::device::Device;
use girih_kernels::{SortOptions, SortPath, sort_path, sort_with_indices};
use girih_testkit::Buffer;

/// Launches of a round, one after another without a wait.
const LAUNCHES: usize = 32;
/// The paths that take turns.
const PATHS: [SortPath; 2] = [SortPath::AtOnce, SortPath::OneSweep];
const U32: ElemType = ElemType::UInt(UIntKind::U32);

fn options(path: SortPath) -> SortOptions {
    SortOptions {
        path: Some(path),
        ..SortOptions::default()
    }
}

/// Whether a device goes the paths.
pub(super) fn require(device: &Device) -> girih::Result<()> {
    for path in PATHS {
        sort_path(device.client(), U32, Some(U32), [1, 1], &options(path))?;
    }
    Ok(())
}

/// Keys on the device, and where the host puts them.
struct Keys {
    keys: Buffer<u32>,
    sorted: Buffer<u32>,
    places: Buffer<u32>,
}

impl Keys {
    fn new(setting: &mut Setting<'_>, length: usize) -> Self {
        // Of some lists all digits differ, of others few.
        let mask = match setting.draw() % 3 {
            0 => u32::MAX,
            1 => 0xff00,
            _ => setting.draw(),
        };
        let keys: Vec<u32> = (0..length).map(|_| setting.draw() & mask).collect();
        let mut places: Vec<u32> = (0..length as u32).collect();
        places.sort_by_key(|&place| keys[place as usize]);
        let sorted: Vec<u32> = places.iter().map(|&place| keys[place as usize]).collect();
        Self {
            keys: setting.rt.put(&keys),
            sorted: setting.rt.put(&sorted),
            places: setting.rt.put(&places),
        }
    }
}

/// Sorts two lists in turn, so that what a launch left behind is wrong for the next one. Gives the number of keys.
pub(super) fn round(setting: &mut Setting<'_>) -> Result<u64, Fault> {
    let cubes = setting.cubes();
    // A tile has 8832 keys on a GPU.
    let length = (cubes * setting.between(1, 2048)) as usize;
    let lists = [(); 2].map(|()| Keys::new(setting, length));
    let (rt, wrong) = (setting.rt, setting.zeros(1));
    for turn in 0..LAUNCHES {
        let Keys {
            keys,
            sorted,
            places,
        } = &lists[turn % 2];
        let options = options(PATHS[turn / 2 % 2]);
        let (found, found_places) = sort_with_indices(&rt.client, &list(keys), 0, U32, &options)
            .map_err(|error| Fault::Broken(error.to_string()))?;
        compare(rt, &found, sorted, &wrong);
        compare(rt, &found_places, places, &wrong);
    }
    setting.launches += LAUNCHES as u64;
    match rt.read(&wrong)?[0] {
        0 => Ok((LAUNCHES * length) as u64),
        count => Err(Fault::Broken(format!(
            "{count} keys and places of {LAUNCHES} sorts of {length} keys are wrong"
        ))),
    }
}
