//! Selections in one launch, whose cubes take numbered work: however they come to run, the largest keys are found, and where they were.

use super::lists::{Lists, U32};
use super::setting::{Fault, Setting};
use girih::device::Device;
use girih_kernels::TopKPath;
use girih_kernels::raw::top_k::{require_at_once, top_k_by};
use std::cmp::Reverse;

/// Whether a device selects in one launch.
pub(super) fn require(device: &Device) -> girih::Result<()> {
    require_at_once(device)
}

/// The places of the largest keys, of equal ones the first.
fn largest(keys: &[u32], k: usize) -> Vec<u32> {
    let mut places: Vec<u32> = (0..keys.len() as u32).collect();
    let order = |place: &u32| (Reverse(keys[*place as usize]), *place);
    places.select_nth_unstable_by_key(k - 1, order);
    places.truncate(k);
    places.sort_unstable_by_key(order);
    places
}

/// Selects from lists in turn. Gives the number of keys.
pub(super) fn round(setting: &mut Setting<'_>) -> Result<u64, Fault> {
    let cubes = setting.cubes();
    let length = (cubes * setting.between(1, 4096)) as usize;
    let k = setting.between(1, 512).min(length as u32) as usize;
    let lists = Lists::draw(setting, length, |keys| largest(keys, k));
    lists.play(setting, |rt, keys, _| {
        let path = Some(TopKPath::AtOnce);
        top_k_by(&rt.client, keys, 0, k, true, U32, path)
    })
}
