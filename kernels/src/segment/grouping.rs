//! Which entries belong to a segment.
// CubeCL's macro writes undocumented twins of the kernels.
#![allow(missing_docs)]

use super::launch::{Ends, buffer, room};
use crate::check::{self, list};
use crate::sort::{SortOptions, sort_with_indices};
use cubecl::ir::{ElemType, UIntKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};
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

/// Where segments begin, and where each place in their order has its entry, unless they are in order.
pub(crate) struct Grouped {
    pub ends: Ends,
    pub order: Option<TensorHandle>,
}

impl Grouping<'_> {
    /// Finds where the segments of so many entries are; refuses what does not fit them.
    pub(crate) fn group(
        self,
        call: &'static str,
        device: &Device,
        entries: usize,
    ) -> Result<Grouped> {
        let segments = match self {
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
        let by = |offsets, segments| Ends {
            offsets: Some(offsets),
            length: 0,
            segments,
            entries,
        };
        match self {
            Self::Length(length) => {
                let fits = length > 0 && entries.is_multiple_of(length);
                if !fits {
                    return Err(Error::Argument {
                        call,
                        argument: "the length of segments",
                        given: length.to_string(),
                        allowed: format!("a divisor of the number of entries, {entries}"),
                    });
                }
                let ends = Ends {
                    offsets: None,
                    length,
                    segments: entries / length,
                    entries,
                };
                Ok(Grouped { ends, order: None })
            }
            Self::Offsets(offsets) => {
                named(call, device, "offsets", offsets)?;
                let segments = offsets.shape()[0].checked_sub(1).ok_or(Error::Shape {
                    call,
                    argument: "offsets",
                    given: vec![0],
                    allowed: vec![1],
                })?;
                let offsets = list(device.client(), offsets);
                Ok(Grouped {
                    ends: by(offsets, segments),
                    order: None,
                })
            }
            Self::SortedIds { ids, segments } => {
                named(call, device, "ids", ids)?;
                check::shape(call, "ids", ids, &[entries])?;
                let offsets = offsets_of(device, &list(device.client(), ids), segments);
                Ok(Grouped {
                    ends: by(offsets, segments),
                    order: None,
                })
            }
            Self::Ids { ids, segments } => {
                named(call, device, "ids", ids)?;
                check::shape(call, "ids", ids, &[entries])?;
                let client = device.client();
                let places = ElemType::UInt(UIntKind::U32);
                let options = SortOptions::default();
                let (ids, order) = sort_with_indices(client, ids, 0, places, &options)?;
                let offsets = offsets_of(device, &ids, segments);
                Ok(Grouped {
                    ends: by(offsets, segments),
                    order: Some(order),
                })
            }
        }
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
    let units = 1u32
        << client
            .properties()
            .hardware
            .max_units_per_cube
            .clamp(1, 256)
            .ilog2();
    let all = (segments + 1).div_ceil(units as usize);
    let all = match device.target() {
        Target::Cpu => all.min(16),
        _ => all,
    };
    let handle = match count {
        // Never read.
        0 => room(client, 1, ids.dtype.size()),
        _ => ids.handle.clone(),
    };
    // SAFETY: places are below `count`, segments below their number.
    unsafe {
        offsets_kernel::launch_unchecked(
            client,
            crate::scan::cubes(device, all),
            CubeDim::new_1d(units),
            AddressType::from_len(count.max(segments) + (1 << 20)),
            buffer(&handle, count.max(1)),
            buffer(&offsets, segments + 1),
            count,
            segments,
            ids.dtype,
        );
    }
    TensorHandle::new_contiguous(vec![segments + 1], offsets, ElemType::UInt(UIntKind::U32))
}
