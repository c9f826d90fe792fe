//! Random memory: extents, and strides of dense, transposed, sliced, padded and expanded tensors.

use girih_testkit::buffer::storage_len;
use proptest::{collection::vec, prelude::*};

/// Extents and strides, in elements, and how many elements the storage has.
#[derive(Clone, Debug)]
pub struct Memory {
    pub extents: Vec<usize>,
    pub strides: Vec<usize>,
    pub len: usize,
}

/// What strides a tensor may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strides {
    /// Any, an axis of stride 0 among them: to be read.
    Any,
    /// Those under which no two indices are one place.
    Distinct,
    /// A contiguous last axis, all else multiples of so many elements.
    Vectors(usize),
}

/// Extents of a tensor of that rank, few enough in all to be asked one by one; now and then one is 0 or 1.
pub fn extents(rank: usize) -> BoxedStrategy<Vec<usize>> {
    let most = [120usize, 20, 9, 5, 4][rank - 1];
    let extent = prop_oneof![1 => Just(0), 4 => Just(1), 25 => 2..=most];
    vec(extent, rank).boxed()
}

/// The tensor of these extents in memory, with holes between rows, every second element only, axes in any order.
pub fn memory(extents: Vec<usize>, strides: Strides) -> BoxedStrategy<Memory> {
    let rank = extents.len();
    let order = Just((0..rank).collect::<Vec<_>>()).prop_shuffle();
    let holes = vec(prop_oneof![3 => Just(0usize), 1 => 1usize..4], rank);
    let every = prop_oneof![3 => Just(1usize), 1 => Just(2usize)];
    let expanded = proptest::option::weighted(0.2, 0..rank);
    (order, holes, every, expanded, 0usize..4)
        .prop_map(move |(order, holes, every, expanded, tail)| {
            place(&extents, strides, &order, &holes, (every, expanded, tail))
        })
        .boxed()
}

fn place(
    extents: &[usize],
    strides: Strides,
    order: &[usize],
    holes: &[usize],
    (every, expanded, tail): (usize, Option<usize>, usize),
) -> Memory {
    let last = extents.len() - 1;
    let (width, every) = match strides {
        Strides::Vectors(width) => (width, 1),
        _ => (1, every),
    };
    // Innermost first; vectors lie along the last axis.
    let mut order = order.to_vec();
    if width > 1 {
        order.retain(|&axis| axis != last);
        order.insert(0, last);
    }
    let mut placed = vec![0; extents.len()];
    let mut next = every;
    for (&axis, hole) in order.iter().zip(holes) {
        placed[axis] = next;
        next *= extents[axis].max(1);
        next += hole * width;
    }
    if let (Strides::Any, Some(axis)) = (strides, expanded) {
        placed[axis] = 0;
    }
    let len = storage_len(extents, &placed).max(1) + tail;
    Memory {
        extents: extents.to_vec(),
        len: len.next_multiple_of(width),
        strides: placed,
    }
}

impl Memory {
    /// The storage position of an index in range.
    pub fn position(&self, index: &[usize]) -> usize {
        index.iter().zip(&self.strides).map(|(i, s)| i * s).sum()
    }
}

/// Every coordinate of a tile of these extents, in row-major order.
pub fn coordinates(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![vec![]];
    for &extent in shape {
        let longer = |start: &Vec<usize>| {
            let start = start.clone();
            (0..extent).map(move |i| [start.as_slice(), &[i]].concat())
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}
