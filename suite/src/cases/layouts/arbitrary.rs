//! Random layouts, small enough to ask for every coordinate.

use girih_layout::{IntTuple, Integer, Layout};
use proptest::{collection::vec, prelude::*};

/// A layout with some of its integers dynamic, a shape between its own and its size, and a coordinate.
#[derive(Clone, Debug)]
pub struct Sample {
    /// Every integer is static.
    pub fixed: Layout,
    /// The same numbers, some dynamic.
    pub mixed: Layout,
    /// The shape of the layout with some of its tuples replaced by their size: a coordinate into it is a mixed one of
    /// the layout.
    pub coarse: IntTuple,
    /// A linear coordinate in the layout.
    pub linear: u64,
}

/// Layouts of rank 1 to 4 and depth 0 to 3, with extents of 1 and strides of 0 among them.
pub fn samples() -> impl Strategy<Value = Sample> {
    let shape = shapes().prop_filter("an extent for every test", |shape| {
        shape.size().is_ok_and(|size| size.value() <= 256)
    });
    shape.prop_flat_map(|shape| {
        let leaves = shape.leaves().count();
        (
            Just(shape),
            vec(stride(), leaves),
            vec(any::<bool>(), 2 * leaves),
            any::<u64>(),
        )
            .prop_map(|(shape, strides, flags, number)| sample(&shape, &strides, &flags, number))
    })
}

fn shapes() -> impl Strategy<Value = IntTuple> {
    let extent = || prop_oneof![1 => Just(1u64), 3 => 2u64..=5].prop_map(IntTuple::from);
    let tuple = |mode, longest| vec(mode, 1..=longest).prop_map(IntTuple::tuple);
    let deepest = prop_oneof![2 => extent(), 1 => tuple(extent().boxed(), 2usize)].boxed();
    let mode = prop_oneof![1 => extent(), 1 => tuple(deepest, 3usize)].boxed();
    prop_oneof![1 => extent(), 12 => tuple(mode, 4usize)]
}

fn stride() -> impl Strategy<Value = u64> {
    prop_oneof![1 => Just(0), 2 => Just(1), 6 => 2u64..100]
}

fn sample(shape: &IntTuple, strides: &[u64], dynamic: &[bool], number: u64) -> Sample {
    let mut strides = strides.iter().copied();
    let stride = fill(shape, &mut |_| Integer::Static(strides.next().unwrap_or(0)));
    let mut dynamic = dynamic.iter().copied();
    let mut some = |leaf: Integer| match dynamic.next() {
        Some(true) => leaf.to_dynamic(),
        _ => leaf.to_static(),
    };
    let (mixed_shape, mixed_stride) = (fill(shape, &mut some), fill(&stride, &mut some));
    let layout = |shape, stride| Layout::new(shape, stride).expect("small numbers");
    let mut bits = number;
    Sample {
        fixed: layout(shape.to_static(), stride),
        mixed: layout(mixed_shape, mixed_stride),
        coarse: coarsened(&shape.to_static(), &mut bits),
        linear: number % shape.size().expect("a small shape").value(),
    }
}

/// The same nesting with every leaf changed.
fn fill(tuple: &IntTuple, change: &mut dyn FnMut(Integer) -> Integer) -> IntTuple {
    match tuple.as_integer() {
        Some(leaf) => change(leaf).into(),
        None => IntTuple::tuple(tuple.modes().map(|mode| fill(&mode, change))),
    }
}

/// Each tuple stays or becomes its size, as the next of the bits says.
fn coarsened(shape: &IntTuple, bits: &mut u64) -> IntTuple {
    if shape.is_leaf() {
        return shape.clone();
    }
    let whole = *bits & 1 == 1;
    *bits >>= 1;
    match whole {
        true => shape.size().expect("a small shape").into(),
        false => IntTuple::tuple(shape.modes().map(|mode| coarsened(&mode, bits))),
    }
}
