//! Random layouts.

use girih_layout::{IntTuple, Integer, Layout};
use proptest::prelude::*;

/// No input has more elements.
const MAX_SIZE: u64 = 36;

/// Shapes up to 3 deep with extents up to 8, and at most 36 elements.
pub fn shape() -> impl Strategy<Value = IntTuple> {
    let extent = (0usize..10, any::<bool>()).prop_map(|(extent, is_static)| {
        let extent = [1, 2, 3, 4, 5, 6, 8, 2, 4, 1][extent];
        IntTuple::from(integer(extent, is_static))
    });
    extent
        .prop_recursive(3, 8, 3, |part| {
            prop::collection::vec(part, 1..=3).prop_map(IntTuple::tuple)
        })
        .prop_map(|shape| bounded(&shape))
}

/// How the strides of a random layout come about.
#[derive(Clone, Copy, Debug)]
enum Strides {
    Left,
    Right,
    /// Compact in a random order.
    Permuted,
    /// As permuted, with gaps.
    Padded,
    /// As left, with stride 0 in places.
    Broadcast,
    /// Anything small.
    Free,
}

/// Any layout.
pub fn layout() -> impl Strategy<Value = Layout> {
    let kinds = [
        Strides::Left,
        Strides::Right,
        Strides::Permuted,
        Strides::Padded,
        Strides::Broadcast,
        Strides::Free,
    ];
    layout_of(&kinds)
}

/// Layouts that reach each of their offsets once, strides in multiples of what is below them.
pub fn injective() -> impl Strategy<Value = Layout> {
    layout_of(&[
        Strides::Left,
        Strides::Right,
        Strides::Permuted,
        Strides::Padded,
    ])
}

/// Layouts that reach every offset below their size once.
pub fn compact() -> impl Strategy<Value = Layout> {
    layout_of(&[Strides::Left, Strides::Right, Strides::Permuted])
}

/// Layouts of one leaf or of few, as tilers are.
pub fn small() -> impl Strategy<Value = Layout> {
    layout().prop_map(|layout| match layout.mode(0) {
        Ok(first) if layout.size().value() > 12 => first,
        _ => layout,
    })
}

fn layout_of(kinds: &[Strides]) -> impl Strategy<Value = Layout> + use<> {
    let kinds = kinds.to_vec();
    (shape(), 0..kinds.len(), any::<u64>()).prop_map(move |(shape, kind, noise)| {
        let stride = strides(&shape, kinds[kind], noise);
        Layout::new(shape, stride).expect("small layouts fit in 64 bits")
    })
}

fn integer(value: u64, is_static: bool) -> Integer {
    match is_static {
        true => Integer::Static(value),
        false => Integer::Dynamic(value),
    }
}

/// The shape with extents set to 1 where the product would become too large.
fn bounded(shape: &IntTuple) -> IntTuple {
    let mut size = 1;
    map(shape, &mut |leaf| {
        if size * leaf.value() > MAX_SIZE {
            return integer(1, leaf.is_static());
        }
        size *= leaf.value();
        leaf
    })
}

fn strides(shape: &IntTuple, kind: Strides, noise: u64) -> IntTuple {
    let extents: Vec<_> = shape.leaves().map(Integer::value).collect();
    let random = |leaf: usize, below: u64| noise.rotate_left(7 * leaf as u32) % below;
    let mut order: Vec<_> = (0..extents.len()).collect();
    match kind {
        Strides::Right => order.reverse(),
        Strides::Permuted | Strides::Padded => order.sort_by_key(|&leaf| random(leaf, 64)),
        Strides::Left | Strides::Broadcast | Strides::Free => {}
    }
    let mut values = vec![0; extents.len()];
    let mut next = 1;
    for leaf in order {
        if matches!(kind, Strides::Padded) {
            next *= [1, 1, 2, 3][random(leaf, 4) as usize];
        }
        values[leaf] = next;
        next *= extents[leaf];
    }
    for (leaf, value) in values.iter_mut().enumerate() {
        match kind {
            Strides::Broadcast if random(leaf, 3) == 0 => *value = 0,
            Strides::Free => {
                *value = [0, 1, 2, 3, 4, 6, 8, 12, 16, 5, 7][random(leaf, 11) as usize]
            }
            _ => {}
        }
    }
    let mut leaf = 0;
    map(shape, &mut |_| {
        leaf += 1;
        integer(values[leaf - 1], random(leaf + 3, 2) == 0)
    })
}

/// The tuple with each leaf changed.
pub fn map(tuple: &IntTuple, change: &mut impl FnMut(Integer) -> Integer) -> IntTuple {
    match tuple.as_integer() {
        Some(leaf) => change(leaf).into(),
        None => IntTuple::tuple(
            tuple
                .modes()
                .map(|mode| map(&mode, change))
                .collect::<Vec<_>>(),
        ),
    }
}
