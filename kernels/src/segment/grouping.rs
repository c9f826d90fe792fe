//! Which entries belong to a segment.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]

use super::gradient::each;
use super::rows::{address, buffer, room};
use crate::check::{self, list};
use crate::sort::{SortOptions, sort_with_indices};
use cubecl::ir::{ElemType, UIntKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::Device;
use girih::view::{Bounds, resolve};
use girih::{Error, Result};

/// Which rows, or entries of a list of indices, belong to each segment, or bag.
#[derive(Clone, Copy, Debug)]
pub enum Grouping<'a> {
    /// Segment `s` has those from `offsets[s]` to before `offsets[s + 1]`: one more offset than there are segments, in ascending
    /// order. An offset out of range is moved to the nearest in range; where one is before the last, results say nothing of the
    /// segments around it.
    Offsets(&'a TensorHandle),
    /// Every segment has so many, one after another.
    Length(usize),
    /// Each belongs to the segment that its id names, and ids are in ascending order. One whose id is not in `0..segments` is in
    /// none.
    SortedIds {
        /// An id for each.
        ids: &'a TensorHandle,
        /// How many segments there are.
        segments: usize,
    },
    /// As [`SortedIds`](Self::SortedIds), in any order: ids are sorted first, in a stable way, so that those of one segment are
    /// combined in their own order, and the result is the same in every run.
    Ids {
        /// An id for each.
        ids: &'a TensorHandle,
        /// How many segments there are.
        segments: usize,
    },
}

/// Most entries of all segments together: their numbers are `i32`.
pub(crate) const MOST_ENTRIES: usize = i32::MAX as usize;

/// Where segments begin and end.
#[derive(Clone)]
pub(crate) struct Ends {
    /// A list of one more offsets than there are segments; without, they all have `length` entries.
    pub offsets: Option<TensorHandle>,
    pub length: usize,
    pub segments: usize,
    /// How many entries there are.
    pub entries: usize,
}

impl Ends {
    /// By offsets in ascending order.
    pub(crate) fn by(offsets: TensorHandle, segments: usize, entries: usize) -> Self {
        Self {
            offsets: Some(offsets),
            length: 0,
            segments,
            entries,
        }
    }

    pub(crate) fn offsets_arg(&self) -> Option<BufferArg> {
        let offsets = self.offsets.as_ref()?;
        Some(buffer(&offsets.handle, self.segments + 1))
    }

    pub(crate) fn offset_type(&self) -> ElemType {
        let none = ElemType::UInt(UIntKind::U32);
        self.offsets.as_ref().map_or(none, |offsets| offsets.dtype)
    }

    /// The most entries that a team takes by itself: so few that long segments give work to the whole device.
    pub(crate) fn longest(&self) -> usize {
        const TEAMS: usize = 2048;
        self.entries.div_ceil(TEAMS).next_power_of_two().max(64)
    }

    /// The windows of so many entries that longer segments are cut into; none where there can be no such segment.
    pub(crate) fn windows(&self) -> usize {
        let most = match self.offsets {
            Some(_) => self.entries,
            None => self.length,
        };
        match most > self.longest() {
            true => self.entries.div_ceil(self.longest()),
            false => 0,
        }
    }

    /// Entries of a segment, on average.
    pub(crate) fn mean(&self) -> usize {
        self.entries / self.segments.max(1)
    }
}

/// Where segments begin, and where each place in their order has its entry, unless they are in order.
pub(crate) struct Grouped {
    pub ends: Ends,
    pub order: Option<TensorHandle>,
}

impl Grouping<'_> {
    /// How many segments there are of so many entries; refuses what does not fit them.
    pub(crate) fn segments(
        &self,
        call: &'static str,
        device: &Device,
        entries: usize,
    ) -> Result<usize> {
        let segments = match *self {
            Self::SortedIds { segments, .. } | Self::Ids { segments, .. } => segments,
            Self::Offsets(_) | Self::Length(_) => 0,
        };
        for (argument, given) in [
            ("the number of entries", entries),
            ("the number of segments", segments),
        ] {
            if given > MOST_ENTRIES {
                return Err(Error::Size {
                    call,
                    argument,
                    given: given as u64,
                    allowed: MOST_ENTRIES as u64,
                });
            }
        }
        match *self {
            Self::Length(length) => match length > 0 && entries.is_multiple_of(length) {
                true => Ok(entries / length),
                false => Err(Error::Argument {
                    call,
                    argument: "the length of segments",
                    given: length.to_string(),
                    allowed: format!("a divisor of the number of entries, {entries}"),
                }),
            },
            Self::Offsets(offsets) => {
                named(call, device, "offsets", offsets)?;
                offsets.shape()[0].checked_sub(1).ok_or(Error::Shape {
                    call,
                    argument: "offsets",
                    given: vec![0],
                    allowed: vec![1],
                })
            }
            Self::SortedIds { ids, segments } | Self::Ids { ids, segments } => {
                named(call, device, "ids", ids)?;
                check::shape(call, "ids", ids, &[entries])?;
                Ok(segments)
            }
        }
    }

    /// Finds where the segments of so many entries are; refuses what does not fit them.
    pub(crate) fn group(
        self,
        call: &'static str,
        device: &Device,
        entries: usize,
    ) -> Result<Grouped> {
        let segments = self.segments(call, device, entries)?;
        let client = device.client();
        let by = |offsets, order| Grouped {
            ends: Ends::by(offsets, segments, entries),
            order,
        };
        Ok(match self {
            Self::Length(length) => Grouped {
                ends: Ends {
                    offsets: None,
                    length,
                    segments,
                    entries,
                },
                order: None,
            },
            Self::Offsets(offsets) => by(list(client, offsets), None),
            Self::SortedIds { ids, .. } => {
                by(offsets_of(device, &list(client, ids), segments), None)
            }
            Self::Ids { ids, .. } => {
                let places = ElemType::UInt(UIntKind::U32);
                let options = SortOptions::default();
                let (ids, order) = sort_with_indices(client, ids, 0, places, &options)?;
                by(offsets_of(device, &ids, segments), Some(order))
            }
        })
    }
}

/// The argument is a list of integers.
fn named(
    call: &'static str,
    device: &Device,
    argument: &'static str,
    tensor: &TensorHandle,
) -> Result<()> {
    let rank = tensor.shape().len();
    if rank != 1 {
        return Err(Error::Rank {
            call,
            argument,
            given: rank,
            allowed: "1".into(),
        });
    }
    if !matches!(tensor.dtype, ElemType::Int(_) | ElemType::UInt(_)) {
        return Err(Error::Element {
            call,
            argument,
            given: tensor.dtype,
            allowed: "an integer type".into(),
        });
    }
    check::element(call, device, tensor.dtype)?;
    check::within(call, device.client(), argument, tensor)
}

/// `offsets[s]` is the number of ids below `s`, of ids in ascending order.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn offsets_kernel<I: Int>(
    ids: &[I],
    offsets: &mut [u32],
    count: usize,
    segments: usize,
    #[define(I)] _type: ElemType,
) {
    let mut segment = ABSOLUTE_POS;
    let step = CUBE_COUNT * CUBE_DIM as usize;
    while segment <= segments {
        let mut low = 0usize;
        let mut high = count;
        while low < high {
            let middle = low + (high - low) / 2;
            let id = ids[middle];
            let (place, is_there) = resolve::<I>(id, segments, Bounds::Mask);
            let mut is_below = id < I::from_int(0);
            if is_there {
                is_below = place < segment;
            }
            if is_below {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        offsets[segment] = low as u32;
        segment += step;
    }
}

/// The offsets of segments whose sorted ids these are.
pub(crate) fn offsets_of(device: &Device, ids: &TensorHandle, segments: usize) -> TensorHandle {
    let client = device.client();
    let count = ids.shape()[0];
    let offsets = room(client, segments + 1, 4);
    let (cubes, cube) = each(device, segments + 1);
    let handle = match count {
        // Never read.
        0 => room(client, 1, ids.dtype.size()),
        _ => ids.handle.clone(),
    };
    // SAFETY: places are below `count`, segments below their number.
    unsafe {
        offsets_kernel::launch_unchecked(
            client,
            cubes,
            cube,
            address(&[count, segments]),
            buffer(&handle, count.max(1)),
            buffer(&offsets, segments + 1),
            count,
            segments,
            ids.dtype,
        );
    }
    TensorHandle::new_contiguous(vec![segments + 1], offsets, ElemType::UInt(UIntKind::U32))
}
