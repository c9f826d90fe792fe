//! Lists of keys that are put in order again and again: what sorts and selections under load have in common.

use super::compare::{compare, list};
use super::setting::{Fault, Setting};
use cubecl::ir::{ElemType, UIntKind};
use cubecl::std::tensor::TensorHandle;
use girih_testkit::{Buffer, Rt};

/// Launches of a round, one after another without a wait.
const LAUNCHES: usize = 32;

/// The type of the keys, and of their places.
pub(super) const U32: ElemType = ElemType::UInt(UIntKind::U32);

/// Keys on the device, and those that come first in the order, with their places.
struct Keys {
    keys: Buffer<u32>,
    first: Buffer<u32>,
    places: Buffer<u32>,
}

/// Two lists, so that what a launch on one left behind is wrong for the next one, on the other.
pub(super) struct Lists {
    lists: [Keys; 2],
    length: usize,
}

impl Lists {
    /// Lists of so many keys, of which `in_order` gives the places of those that are wanted.
    pub(super) fn draw(
        setting: &mut Setting<'_>,
        length: usize,
        in_order: impl Fn(&[u32]) -> Vec<u32>,
    ) -> Self {
        let lists = [(); 2].map(|()| {
            // Of some lists all digits differ, of others few, so that many keys are equal.
            let mask = match setting.draw() % 3 {
                0 => u32::MAX,
                1 => 0xff00,
                _ => setting.draw(),
            };
            let keys: Vec<u32> = (0..length).map(|_| setting.draw() & mask).collect();
            let places = in_order(&keys);
            let first: Vec<u32> = places.iter().map(|&place| keys[place as usize]).collect();
            Keys {
                keys: setting.rt.put(&keys),
                first: setting.rt.put(&first),
                places: setting.rt.put(&places),
            }
        });
        Self { lists, length }
    }

    /// Launches on the lists in turn, and compares the keys and the places that come back. Gives the number of keys. `launch` is
    /// told how many launches were before it.
    pub(super) fn play(
        &self,
        setting: &mut Setting<'_>,
        launch: impl Fn(&Rt, &TensorHandle, usize) -> girih::Result<(TensorHandle, TensorHandle)>,
    ) -> Result<u64, Fault> {
        let (rt, wrong) = (setting.rt, setting.zeros(1));
        for turn in 0..LAUNCHES {
            let Keys {
                keys,
                first,
                places,
            } = &self.lists[turn % 2];
            let (found, found_places) =
                launch(rt, &list(keys), turn).map_err(|error| Fault::Broken(error.to_string()))?;
            compare(rt, &found, first, &wrong);
            compare(rt, &found_places, places, &wrong);
        }
        setting.launches += LAUNCHES as u64;
        let Self { length, .. } = self;
        match rt.read(&wrong)?[0] {
            0 => Ok((LAUNCHES * length) as u64),
            count => Err(Fault::Broken(format!(
                "{count} keys and places of {LAUNCHES} launches on {length} keys are wrong"
            ))),
        }
    }
}
