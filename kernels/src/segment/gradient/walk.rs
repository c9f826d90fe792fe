//! How the kernels of gradients go through entries.
//!
//! Each goes by windows of entries, a team of units to a window, so that long segments take no longer than short ones. A team looks
//! for the segment of its first entry, and again where that segment ends.
// CubeCL's macro writes undocumented twins of the functions.
#![allow(missing_docs)]

use super::super::entries::{Ends, range_of, segment_of};
use cubecl::prelude::*;

/// Entries of a team, one after another.
pub(crate) const WINDOW: usize = 32;

/// The segment that a walk is in.
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub(crate) struct At {
    /// Its number; none, where that is the number of segments.
    pub segment: usize,
    pub begin: usize,
    /// Where the next one has to be looked for.
    pub end: usize,
}

/// The segment of a place.
#[cube]
pub(crate) fn at<F: Int>(ends: &Ends<F>, place: usize) -> At {
    let mut segment = segment_of::<F>(ends, place);
    let mut begin = place;
    let mut end = place + 1;
    if segment < ends.segments {
        let (first, behind) = range_of::<F>(ends, segment);
        begin = first;
        end = behind;
        // Offsets that are not in order may name one that has not the place.
        if first > place || behind <= place {
            segment = ends.segments;
            end = place + 1;
        }
    } else {
        segment = ends.segments;
    }
    At {
        segment,
        begin,
        end,
    }
}
