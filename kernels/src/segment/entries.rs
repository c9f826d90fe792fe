//! The rows of a segment: a range of entries, each of which is a row or names one.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]
// A kernel has no checked division.
#![allow(clippy::manual_checked_ops)]
// In a kernel both sides of `&&` are evaluated.
#![allow(clippy::collapsible_if)]
#![allow(clippy::explicit_auto_deref)]

use super::Rules;
use cubecl::prelude::*;
use girih::prelude::*;
use girih::view::resolve;

/// The entries of all segments, one after another.
#[derive(CubeType)]
pub(crate) struct Entries<I: Int, W: Numeric> {
    /// Where each place in the order of segments has its entry, if the entries are not in that order.
    pub order: ComptimeOption<Box<[u32]>>,
    /// The row that each entry names, if it is not itself the row.
    pub index: ComptimeOption<Box<[I]>>,
    /// What each entry's row is multiplied by.
    pub weights: ComptimeOption<Box<[W]>>,
    /// Where the first index out of range is kept.
    pub record: ComptimeOption<Box<[Atomic<u32>]>>,
    /// How many rows there are.
    pub extent: usize,
    /// The row that does not count.
    pub padding: usize,
}

/// What an entry is.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct Entry {
    /// Its number in the lists of indices and weights.
    pub number: usize,
    /// Its row; one that can be read where it does not count.
    pub row: usize,
    /// Whether it counts.
    pub counts: bool,
}

/// The entry at a place in the order of segments.
#[cube]
pub(crate) fn entry_at<I: Int, W: Numeric>(
    entries: &Entries<I, W>,
    place: usize,
    reports: bool,
    #[comptime] rules: Rules,
) -> Entry {
    let mut number = place;
    #[comptime]
    match &entries.order {
        ComptimeOption::Some(order) => number = order[place] as usize,
        ComptimeOption::None => {}
    }
    let mut row = number;
    let mut counts = true.runtime();
    #[comptime]
    match &entries.index {
        ComptimeOption::Some(index) => {
            let (found, is_there) = resolve::<I>(index[number], entries.extent, rules.bounds);
            counts = is_there;
            #[comptime]
            match &entries.record {
                ComptimeOption::Some(record) => {
                    if !is_there && reports {
                        record[0].at::<Device>().fetch_min::<Relaxed>(number as u32);
                    }
                }
                ComptimeOption::None => {}
            }
            if comptime!(rules.has_padding) {
                counts = counts && found != entries.padding;
            }
            row = found;
            if comptime!(rules.bounds != Bounds::Assume) {
                row = select(is_there, found, 0usize);
            }
        }
        ComptimeOption::None => {}
    }
    Entry {
        number,
        row,
        counts,
    }
}

/// An entry's weight, 1 without weights.
#[cube]
pub(crate) fn weight_of<I: Int, W: Numeric, A: Numeric>(
    entries: &Entries<I, W>,
    entry: Entry,
) -> A {
    let mut weight = A::from_int(1);
    #[comptime]
    match &entries.weights {
        ComptimeOption::Some(weights) => weight = A::cast_from(weights[entry.number]),
        ComptimeOption::None => {}
    }
    weight
}

/// What says where segments begin: a list of one more offsets than there are segments, or their length.
#[derive(CubeType)]
pub(crate) struct Ends<F: Int> {
    pub offsets: ComptimeOption<Box<[F]>>,
    /// Entries of every segment, where there are no offsets.
    pub length: usize,
    /// How many segments there are.
    pub segments: usize,
    /// How many entries there are.
    pub entries: usize,
}

/// The first place of a segment, and the one behind its last; within the entries whatever the offsets are.
#[cube]
pub(crate) fn range_of<F: Int>(ends: &Ends<F>, segment: usize) -> (usize, usize) {
    let mut begin = segment * ends.length;
    let mut end = begin + ends.length;
    #[comptime]
    match &ends.offsets {
        ComptimeOption::Some(offsets) => {
            begin = within::<F>(offsets[segment], ends.entries);
            end = within::<F>(offsets[segment + 1], ends.entries);
        }
        ComptimeOption::None => {}
    }
    if end < begin {
        end = begin;
    }
    (begin, end)
}

/// An offset, moved to the nearest of `0..=entries`.
#[cube]
pub(crate) fn within<F: Int>(offset: F, entries: usize) -> usize {
    let (place, is_there) = resolve::<F>(offset, entries + 1, Bounds::Clamp);
    select(is_there, place, 0usize)
}

/// Offsets that a step of a search reads at once, plus one: what is left of the list after it is this part of it.
const WAYS: usize = 4;

/// The segment that has a place, or any number that is none where none has it. By the number of offsets that are not behind the
/// place, so that of segments which begin there it is the last, the one that is not empty.
#[cube]
pub(crate) fn segment_of<F: Int>(ends: &Ends<F>, place: usize) -> usize {
    let mut found = ends.segments;
    #[comptime]
    match &ends.offsets {
        ComptimeOption::Some(offsets) => {
            // Between these numbers is that of the offsets which are not behind.
            let mut low = 0usize;
            let mut high = ends.segments + 1;
            while low < high {
                let step = (high - low) / comptime!(WAYS) + 1;
                let mut next_low = low;
                let mut next_high = high;
                #[unroll]
                for way in 1..WAYS {
                    let mut probe = low + way * step - 1;
                    if probe >= high {
                        probe = high - 1;
                    }
                    // Each is behind or none, as the ones before it are: the last that is not behind and the first that is stay.
                    if within::<F>(offsets[probe], ends.entries) <= place {
                        next_low = probe + 1;
                    } else if probe < next_high {
                        next_high = probe;
                    }
                }
                low = next_low;
                high = next_high;
            }
            if low > 0 {
                found = low - 1;
            }
        }
        ComptimeOption::None => {
            if ends.length > 0 {
                found = place / ends.length;
            }
        }
    }
    found
}
