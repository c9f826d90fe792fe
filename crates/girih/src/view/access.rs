//! From coordinates of a tile to memory: the one place where views read and write.

use super::bounds::Policy;
use super::span::Memory;
use super::start::{Position, StartExpand, and};
use crate::coop::GroupExpand;
use crate::tile::{Held, Packet, Spread, TileExpand, TileShape, join, lane, splat, when};
use cubecl::frontend::branch;
use cubecl::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;

/// Gives the element that the list's entry `coordinate` points at, along an axis of that extent.
pub(super) type IndexList =
    Rc<dyn Fn(&Scope, NativeExpand<u32>, NativeExpand<usize>, &Policy) -> Position>;

/// Writes the vector (or lone element) at an offset, in vectors.
type Write<'a, E> = dyn Fn(&Scope, NativeExpand<usize>, Packet<E>) + 'a;

/// Where a tile goes, and how.
pub(super) struct Sink<'a, E: Scalar> {
    /// The call, for what it refuses.
    pub call: &'static str,
    /// Whether elements out of range are left out, or promised not to be there.
    pub masked: bool,
    /// What is done with each vector.
    pub write: &'a Write<'a, E>,
}

/// Takes what a tile has for the vector (or lone element) at an offset, and gives what memory held.
type Exchange<'a, E> = dyn Fn(&Scope, NativeExpand<usize>, Option<Packet<E>>) -> Packet<E> + 'a;

/// Where a tile comes from that is read once, and how.
pub(super) struct Source<'a, E: Scalar> {
    /// The call, for what it refuses.
    pub call: &'static str,
    /// What is given for places out of range, or a promise that there are none.
    pub fill: Option<NativeExpand<E>>,
    /// What is done with each vector.
    pub exchange: &'a Exchange<'a, E>,
}

/// How the coordinates of a tile map to one axis of memory.
#[derive(Clone)]
pub(super) enum Axis {
    /// A run of elements: tile dimension `dim`, from `start` (which counts in `step`s where it is a tile number).
    Run {
        dim: usize,
        step: usize,
        start: StartExpand,
    },
    /// Tile dimension `dim` lists the elements.
    List {
        dim: usize,
        list: IndexList,
        policy: Policy,
    },
}

/// Memory with the extents and strides that a view of it needs, read once.
pub(super) struct Region<E: Scalar> {
    memory: Rc<dyn Memory<E>>,
    /// Scalars per vector.
    width: usize,
    extents: Vec<NativeExpand<usize>>,
    /// Vectors from one element to the next; along the last axis of vectors, from one vector to the next.
    strides: Vec<NativeExpand<usize>>,
}

impl<E: Scalar> Clone for Region<E> {
    fn clone(&self) -> Self {
        Self {
            memory: self.memory.clone(),
            width: self.width,
            extents: self.extents.clone(),
            strides: self.strides.clone(),
        }
    }
}

impl<E: Scalar> Region<E> {
    pub(super) fn new(scope: &Scope, memory: Rc<dyn Memory<E>>, rank: usize) -> Self {
        let width = memory.width(scope);
        let extents = (0..rank).map(|axis| memory.extent(scope, axis)).collect();
        let strides = (0..rank)
            .map(|axis| match (width, axis + 1 == rank) {
                (1, _) => memory.stride(scope, axis),
                (_, true) => 1usize.into(),
                (_, false) => memory
                    .stride(scope, axis)
                    .__expand_div_method(scope, width.into()),
            })
            .collect();
        Self {
            memory,
            width,
            extents,
            strides,
        }
    }

    pub(super) fn width(&self) -> usize {
        self.width
    }

    pub(super) fn extent(&self, axis: usize) -> NativeExpand<usize> {
        self.extents[axis]
    }

    pub(super) fn memory(&self) -> Rc<dyn Memory<E>> {
        self.memory.clone()
    }

    /// Offset of the vector that holds the element, in vectors.
    pub(super) fn offset(
        &self,
        scope: &Scope,
        elements: &[NativeExpand<usize>],
    ) -> NativeExpand<usize> {
        let last = elements.len() - 1;
        let mut offset: Option<NativeExpand<usize>> = None;
        for (axis, element) in elements.iter().enumerate() {
            let term = match (self.width, axis == last) {
                (1, _) | (_, false) => element.__expand_mul_method(scope, self.strides[axis]),
                (_, true) => element.__expand_div_method(scope, self.width.into()),
            };
            offset = Some(match offset {
                Some(sum) => sum.__expand_add_method(scope, term),
                None => term,
            });
        }
        offset.expect("a region has at least one axis")
    }

    /// The element alone, out of its vector.
    pub(super) fn read_one(&self, scope: &Scope, elements: &[NativeExpand<usize>]) -> Packet<E> {
        let vector = self.memory.read(scope, self.offset(scope, elements));
        if self.width == 1 {
            return vector;
        }
        let last = elements[elements.len() - 1];
        let index = last.__expand_rem_method(scope, self.width.into());
        join(
            scope,
            &[vector.__expand_extract_dynamic_method(scope, index)],
        )
    }
}

/// One call's map from a tile to a region.
#[derive(Clone)]
pub(super) struct Access {
    /// One per axis of memory.
    pub axes: Vec<Axis>,
}

impl Access {
    /// The elements at these tile coordinates, one per axis, and whether all are in range.
    fn locate<E: Scalar>(
        &self,
        scope: &Scope,
        region: &Region<E>,
        at: &[NativeExpand<u32>],
    ) -> (Vec<NativeExpand<usize>>, Option<NativeExpand<bool>>) {
        let mut elements = vec![];
        let mut in_range: Option<NativeExpand<bool>> = None;
        for (axis, &extent) in self.axes.iter().zip(&region.extents) {
            let position = match axis {
                Axis::Run { dim, step, start } => start.position(scope, *step, at[*dim], extent),
                Axis::List { dim, list, policy } => list(scope, at[*dim], extent, policy),
            };
            elements.push(position.element);
            in_range = match (in_range, position.in_range) {
                (Some(a), Some(b)) => Some(and(scope, a, b)),
                (a, b) => a.or(b),
            };
        }
        (elements, in_range)
    }

    /// Whether every packet of the spread is a whole vector of memory that is made of vectors of the packets' width:
    /// `None` where only the kernel can say.
    fn whole_vectors(&self, spread: &Spread, rank: usize) -> Option<bool> {
        let strides = self.strides(spread.width() as u64, rank);
        let whole = |start| spread.is_whole_vectors(&strides, start);
        match self.aligned(spread.width()) {
            Some(aligned) => Some(whole(u64::from(!aligned))),
            None if whole(0) => None,
            None => Some(false),
        }
    }

    /// How far one step along each tile dimension leads in memory of vectors of `width` elements, as far as it is known
    /// before the kernel runs: along the last axis one element, along any other some multiple of the width, for which
    /// the width stands. A list along the last axis leads anywhere, for which one more than the width stands: neither
    /// the next element nor an aligned one.
    fn strides(&self, width: u64, rank: usize) -> Vec<u64> {
        let mut strides = vec![0; rank];
        let last = self.axes.len() - 1;
        for (at, axis) in self.axes.iter().enumerate() {
            match axis {
                Axis::Run { dim, .. } if at == last => strides[*dim] = 1,
                Axis::List { dim, .. } if at == last => strides[*dim] = width + 1,
                Axis::Run { dim, .. } | Axis::List { dim, .. } => strides[*dim] = width,
            }
        }
        strides
    }

    /// Whether the tile starts at a multiple of `width` elements along the last axis: `None` where only the kernel can
    /// say.
    fn aligned(&self, width: usize) -> Option<bool> {
        match self.axes.last() {
            Some(Axis::Run { step, start, .. }) => start.aligned(*step, width),
            _ => Some(true),
        }
    }

    /// Where the run of the last axis starts, modulo `width`.
    fn misalignment(&self, scope: &Scope, width: usize) -> NativeExpand<usize> {
        let start = match self.axes.last() {
            Some(Axis::Run {
                start: StartExpand::Unsigned(start),
                ..
            }) => *start,
            Some(Axis::Run {
                start: StartExpand::Unsigned32(start),
                ..
            }) => usize::__expand_cast_from(scope, *start),
            Some(Axis::Run {
                start: StartExpand::Signed(start),
                ..
            }) => usize::__expand_cast_from(scope, *start),
            _ => unreachable!("only a run has an alignment that the kernel must ask"),
        };
        start.__expand_rem_method(scope, width.into())
    }

    /// The packet at these coordinates; `fill` where it is out of range, or a promise that it never is.
    pub(super) fn fetch<E: Scalar>(
        &self,
        scope: &Scope,
        region: &Region<E>,
        at: &[NativeExpand<u32>],
        width: usize,
        fill: Option<NativeExpand<E>>,
    ) -> Packet<E> {
        if width == 1 {
            return self.read(scope, region, at, width, fill, |scope, elements| {
                region.read_one(scope, elements)
            });
        }
        let lanes = |scope: &Scope| {
            let lanes: Vec<_> = (0..width)
                .map(|index| {
                    let one = self.fetch(scope, region, &shifted(scope, at, index), 1, fill);
                    NativeExpand::<E>::from(one.read_value(scope))
                })
                .collect();
            join(scope, &lanes)
        };
        let vector = |scope: &Scope| {
            self.read(scope, region, at, width, fill, |scope, elements| {
                region.memory.read(scope, region.offset(scope, elements))
            })
        };
        let packet = Spread::packet(at.len(), width);
        match (region.width == width, self.whole_vectors(&packet, at.len())) {
            (true, Some(true)) => vector(scope),
            (false, _) | (true, Some(false)) => lanes(scope),
            (true, None) => {
                let misalignment = self.misalignment(scope, width);
                let aligned = misalignment.__expand_eq_method(scope, &0usize.into());
                when(scope, aligned, vector, lanes)
            }
        }
    }

    /// The element at these coordinates, or 0 where it is out of range, and whether it was in range.
    pub(super) fn fetch_present<E: Numeric>(
        &self,
        scope: &Scope,
        region: &Region<E>,
        at: &[NativeExpand<u32>],
    ) -> (Packet<E>, Option<NativeExpand<bool>>) {
        let (elements, in_range) = self.locate(scope, region, at);
        let read = |scope: &Scope| region.read_one(scope, &elements);
        let value = match in_range {
            Some(in_range) => when(scope, in_range, read, |scope| {
                splat(scope, E::__expand_from_int(scope, 0i64.into()), 1)
            }),
            None => read(scope),
        };
        (value, in_range)
    }

    fn read<E: Scalar>(
        &self,
        scope: &Scope,
        region: &Region<E>,
        at: &[NativeExpand<u32>],
        width: usize,
        fill: Option<NativeExpand<E>>,
        read: impl FnOnce(&Scope, &[NativeExpand<usize>]) -> Packet<E>,
    ) -> Packet<E> {
        let (elements, in_range) = self.locate(scope, region, at);
        match (fill, in_range) {
            (Some(fill), Some(in_range)) => when(
                scope,
                in_range,
                |scope| read(scope, &elements),
                |scope| splat(scope, fill, width),
            ),
            _ => read(scope, &elements),
        }
    }

    /// Spreads the tile over the units of the group, and hands the sink what each of them holds.
    pub(super) fn store<E: Scalar, S: TileShape>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        region: &Region<E>,
        tile: &TileExpand<E, S>,
        sink: Sink<'_, E>,
    ) {
        let dims = S::__expand_dims(scope);
        if dims.contains(&0) {
            return;
        }
        let spread = self.spread(sink.call, region, &dims, group, tile.width());
        spread.walk(
            scope,
            group,
            tile.unroll(scope),
            &|scope, place| tile.packet(scope, place, spread.width()),
            &|scope, place, value| {
                self.commit(scope, region, place.at, value, sink.masked, sink.write);
            },
        );
    }

    /// Spreads the tile over the units of the group, gives each place of memory what the tile has for it (if there is a
    /// tile), and keeps what comes back in registers: `fill` where the place is out of range.
    pub(super) fn hold<E: Numeric, S: TileShape>(
        &self,
        scope: &Scope,
        group: &GroupExpand,
        region: &Region<E>,
        tile: Option<&TileExpand<E, S>>,
        source: Source<'_, E>,
    ) -> TileExpand<E, S> {
        let dims = S::__expand_dims(scope);
        let spread = self.spread(source.call, region, &dims, group, region.width);
        let held = RefCell::new(Held::new(scope, source.call, &spread, group));
        if !dims.contains(&0) {
            spread.walk(
                scope,
                group,
                Held::<E>::unroll(scope),
                &|scope, place| {
                    let given = tile.map(|tile| tile.packet(scope, place, region.width));
                    let (elements, in_range) = self.locate(scope, region, place.at);
                    let read = |scope: &Scope| {
                        (source.exchange)(scope, region.offset(scope, &elements), given)
                    };
                    match (source.fill, in_range) {
                        (Some(fill), Some(in_range)) => when(scope, in_range, read, |scope| {
                            splat(scope, fill, region.width)
                        }),
                        _ => read(scope),
                    }
                },
                &|scope, place, value| held.borrow_mut().set(scope, place, value),
            );
        }
        TileExpand::held(held.into_inner())
    }

    /// Hands `write` the offset of each vector (or lone element) that the packet covers and its value, where it is in
    /// range (`masked`) or as promised.
    fn commit<E: Scalar>(
        &self,
        scope: &Scope,
        region: &Region<E>,
        at: &[NativeExpand<u32>],
        value: Packet<E>,
        masked: bool,
        write: &Write<'_, E>,
    ) {
        let width = crate::tile::width(scope, &value);
        if region.width == 1 && width > 1 {
            for index in 0..width {
                let one = join(scope, &[lane(scope, value, index)]);
                self.commit(
                    scope,
                    region,
                    &shifted(scope, at, index),
                    one,
                    masked,
                    write,
                );
            }
            return;
        }
        let (elements, in_range) = self.locate(scope, region, at);
        match in_range {
            Some(in_range) if masked => branch::if_expand(scope, in_range, |scope| {
                write(scope, region.offset(scope, &elements), value);
            }),
            _ => write(scope, region.offset(scope, &elements), value),
        }
    }

    /// How to spread a tile that is stored, whose packets come most cheaply at width `tile`.
    ///
    /// Vectors are written whole, since two units may not write lanes of one: a tile that cannot is refused.
    fn spread<E: Scalar>(
        &self,
        call: &str,
        region: &Region<E>,
        dims: &[usize],
        group: &GroupExpand,
        tile: usize,
    ) -> Spread {
        let units = group.holders(call) as usize;
        if region.width == 1 {
            // Lone elements can be written from any packet that the tile gives: a part of one row.
            let mut rows = vec![tile as u64; dims.len()];
            rows[dims.len() - 1] = 1;
            let packets = Spread::new(dims, units, tile);
            return match packets.is_whole_vectors(&rows, 0) {
                true => packets,
                false => Spread::new(dims, units, 1),
            };
        }
        let vectors = Spread::new(dims, units, region.width);
        assert!(
            self.whole_vectors(&vectors, dims.len()) == Some(true),
            "girih: {call}: a tile of extents {dims:?} stored to vectors of {} elements; the last axis must be a run \
             of the tile's last dimension, of whole vectors from a start that is known to be a multiple of them \
             (a constant, or `chunk(i)`), or the tensor one of scalars",
            region.width
        );
        vectors
    }
}

/// These coordinates, `lanes` further along the last dimension.
fn shifted(scope: &Scope, at: &[NativeExpand<u32>], lanes: usize) -> Vec<NativeExpand<u32>> {
    let mut at = at.to_vec();
    if let Some(last) = at.last_mut() {
        *last = last.__expand_add_method(scope, (lanes as u32).into());
    }
    at
}
