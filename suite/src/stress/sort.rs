//! Sorts whose tiles look back at those before them, and whose cubes take numbered work: however they come to run, each key goes where
//! it belongs, and its place with it.

use super::lists::{Lists, U32};
use super::setting::{Fault, Setting};
use girih::device::Device;
use girih_kernels::{SortOptions, SortPath, sort_path, sort_with_indices};

/// The paths that take turns.
const PATHS: [SortPath; 2] = [SortPath::AtOnce, SortPath::OneSweep];

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

/// The places of all keys, of equal ones as they are.
fn sorted(keys: &[u32]) -> Vec<u32> {
    let mut places: Vec<u32> = (0..keys.len() as u32).collect();
    places.sort_by_key(|&place| keys[place as usize]);
    places
}

/// Sorts lists in turn, two of them by a path. Gives the number of keys.
pub(super) fn round(setting: &mut Setting<'_>) -> Result<u64, Fault> {
    let cubes = setting.cubes();
    // A tile has 8832 keys on a GPU.
    let length = (cubes * setting.between(1, 2048)) as usize;
    let lists = Lists::draw(setting, length, sorted);
    lists.play(setting, |rt, keys, turn| {
        let options = options(PATHS[turn / 2 % 2]);
        sort_with_indices(&rt.client, keys, 0, U32, &options)
    })
}
