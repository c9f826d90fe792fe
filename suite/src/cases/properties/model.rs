//! What a view does to memory, element by element, as the specification says it.

use super::element::{number, same};
use super::memory::Memory;
use cubecl::ir::ElemType;
use girih::Bounds;

/// A wrong rule, to show that the tests would find it in a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// The element after the right one.
    NextElement,
    /// -1 is taken for the last element where it should be masked.
    MinusOneIsLast,
    /// Indices past the end are moved to the last element but one.
    ClampsShort,
    /// -extent is out of range.
    FirstFromEndIsOut,
    /// The largest position is kept, not the smallest.
    LastOffence,
}

/// The model, right unless an error is planted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Model {
    pub planted: Option<Planted>,
}

/// What an element of a tile does with an index along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The call that promises that everything is in range.
    Promise,
    /// A masked call, under these bounds.
    Under(Bounds),
}

impl Rule {
    /// Every rule, in an order that spreads them over configurations.
    pub const ALL: [Self; 6] = [
        Self::Under(Bounds::Mask),
        Self::Under(Bounds::Clamp),
        Self::Under(Bounds::Wrap),
        Self::Under(Bounds::Report),
        Self::Under(Bounds::Assume),
        Self::Promise,
    ];

    /// Whether indices out of range may be given.
    pub fn checks(self) -> bool {
        !matches!(self, Self::Promise | Self::Under(Bounds::Assume))
    }

    /// The policy; under a promise it does not matter.
    pub fn bounds(self) -> Bounds {
        match self {
            Self::Promise => Bounds::Mask,
            Self::Under(bounds) => bounds,
        }
    }
}

impl Model {
    /// Where an index leads along an axis of that extent, if anywhere.
    pub fn place(self, index: i128, extent: usize, bounds: Bounds) -> Option<usize> {
        let extent = extent as i128;
        let moved = match bounds {
            Bounds::Clamp if self.planted == Some(Planted::ClampsShort) => {
                index.clamp(0, (extent - 2).max(0))
            }
            Bounds::Clamp => index.clamp(0, (extent - 1).max(0)),
            Bounds::Wrap
                if self.planted == Some(Planted::FirstFromEndIsOut) && index == -extent =>
            {
                index
            }
            Bounds::Wrap if index < 0 => index + extent,
            Bounds::Mask if self.planted == Some(Planted::MinusOneIsLast) && index == -1 => {
                extent - 1
            }
            Bounds::Mask | Bounds::Report | Bounds::Wrap => index,
            Bounds::Assume if self.planted == Some(Planted::NextElement) => {
                (index + 1).min(extent - 1)
            }
            Bounds::Assume => index,
        };
        (0..extent).contains(&moved).then_some(moved as usize)
    }

    /// The position that a reporter keeps of those that were out of range.
    pub fn offence(self, positions: impl Iterator<Item = usize> + Clone) -> Option<usize> {
        match self.planted {
            Some(Planted::LastOffence) => positions.max(),
            _ => positions.min(),
        }
    }
}

/// What a loaded tile holds; a target is a storage position.
pub fn loaded(
    targets: &[Option<usize>],
    storage: &[u64],
    padding: impl Fn(usize) -> u64,
) -> Vec<u64> {
    let elements = targets.iter().enumerate();
    elements
        .map(|(at, target)| target.map_or_else(|| padding(at), |target| storage[target]))
        .collect()
}

/// An error that names the first element which is not as it should be.
pub fn compare(element: ElemType, got: &[u64], want: &[u64]) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{} elements, not {}", got.len(), want.len()));
    }
    let wrong = |at: &usize| !same(element, got[*at], want[*at]);
    match (0..got.len()).find(wrong) {
        Some(at) => Err(format!(
            "element {at} is {:#x}, not {:#x}",
            got[at], want[at]
        )),
        None => Ok(()),
    }
}

/// Compares storage after a store: a place that elements of the tile went to holds one of them, every other what it held.
pub fn compare_stored(
    element: ElemType,
    got: &[u64],
    before: &[u64],
    stored: &[(usize, u64)],
) -> Result<(), String> {
    let mut allowed: Vec<Vec<u64>> = vec![vec![]; before.len()];
    for &(place, bits) in stored {
        allowed[place].push(bits);
    }
    for (place, allowed) in allowed.iter().enumerate() {
        let fits = match allowed.as_slice() {
            [] => got[place] == before[place],
            some => some.iter().any(|&bits| same(element, got[place], bits)),
        };
        if !fits {
            let held = before[place];
            return Err(format!(
                "storage position {place} is {:#x}; it held {held:#x}, and {allowed:#x?} were stored there",
                got[place]
            ));
        }
    }
    Ok(())
}

/// Storage after an addition of small integers, which is exact in whatever order.
pub fn summed(element: ElemType, before: &[i64], added: &[(usize, i64)]) -> Vec<u64> {
    let mut sums = before.to_vec();
    for &(place, value) in added {
        sums[place] += value;
    }
    sums.iter().map(|&sum| number(element, sum)).collect()
}

/// Storage positions of indices, one per axis, where all lead somewhere.
pub fn target(memory: &Memory, places: &[Option<usize>]) -> Option<usize> {
    let index: Option<Vec<usize>> = places.iter().copied().collect();
    index.map(|index| memory.position(&index))
}
