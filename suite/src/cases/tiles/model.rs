//! The host's tiles, the groups that hold a device's, and elements to try.

use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{Rt, check::Exact};
use half::f16;
use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop_oneof};

/// One cube.
pub(super) const ONE_CUBE: CubeCount = CubeCount::Static(1, 1, 1);

/// Who holds a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum By {
    Cube,
    /// As many units of the cube.
    Part(u32),
    Plane,
    /// As many lanes of a plane.
    Lanes(u32),
    Unit,
}

#[cube]
pub(super) fn group_of(#[comptime] by: By) -> Group {
    match by {
        By::Cube => this_cube(),
        By::Part(count) => this_cube().partition(group_by(count)),
        By::Plane => this_plane(),
        By::Lanes(count) => this_plane().partition(group_by(count)),
        By::Unit => this_unit(),
    }
}

/// A cube, and the groups that it is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Party {
    pub by: By,
    /// Units of the cube.
    pub units: u32,
    /// Units of each group.
    pub size: u32,
}

impl Party {
    /// A group of each kind on a cube of a few planes.
    pub(super) fn all(rt: &Rt) -> Vec<Self> {
        let plane = rt.client.properties().hardware.plane_size_max;
        let units = rt.units.min(4 * plane);
        let lanes = plane.min(4);
        let kinds = [
            (By::Cube, units),
            (By::Plane, plane),
            (By::Lanes(lanes), lanes),
            (By::Unit, 1),
        ];
        kinds
            .into_iter()
            .map(|(by, size)| Self { by, units, size })
            .collect()
    }

    /// Every kind of group with a tile of odd extents, and the cube with every shape.
    pub(super) fn every_shape(rt: &Rt) -> Vec<(Self, [usize; 3])> {
        let cube = Self::all(rt)[0];
        let shapes = SHAPES.into_iter().map(|shape| (cube, shape));
        Self::every_group(rt).into_iter().chain(shapes).collect()
    }

    /// Every kind of group with a tile of odd extents.
    pub(super) fn every_group(rt: &Rt) -> Vec<(Self, [usize; 3])> {
        let parties = Self::all(rt).into_iter();
        parties.map(|party| (party, [3, 5, 7])).collect()
    }

    /// The cube and planes.
    pub(super) fn two_groups(rt: &Rt) -> Vec<(Self, [usize; 3])> {
        let parties = Self::all(rt).into_iter().take(2);
        parties.zip([[3, 5, 7], [2, 12, 4]]).collect()
    }

    pub(super) fn groups(&self) -> usize {
        (self.units / self.size) as usize
    }

    pub(super) fn dim(&self) -> CubeDim {
        CubeDim::new_1d(self.units)
    }
}

/// A host's tile of rank 3, in row-major order.
#[derive(Clone, Debug)]
pub(super) struct Host<T> {
    pub dims: [usize; 3],
    pub values: Vec<T>,
}

impl<T: Copy> Host<T> {
    pub(super) fn new(dims: [usize; 3], values: &[T]) -> Self {
        assert_eq!(dims.iter().product::<usize>(), values.len());
        Self {
            dims,
            values: values.to_vec(),
        }
    }

    /// What `f` makes of each line along `axis`, in whose place it stands.
    pub(super) fn lines<U: Copy>(&self, axis: usize, f: impl Fn(&[T]) -> Vec<U>) -> Vec<U> {
        let stride: usize = self.dims[axis + 1..].iter().product();
        let extent = self.dims[axis];
        let mut out: Vec<Option<U>> = vec![None; self.values.len()];
        let starts = (0..self.values.len()).filter(|at| (at / stride).is_multiple_of(extent));
        for start in starts {
            let at = |step: usize| start + step * stride;
            let line: Vec<T> = (0..extent).map(|step| self.values[at(step)]).collect();
            for (step, value) in f(&line).into_iter().enumerate() {
                out[at(step)] = Some(value);
            }
        }
        out.into_iter()
            .map(|value| value.expect("a line gives as many values as it has"))
            .collect()
    }

    /// The same value all along each line.
    pub(super) fn reduced<U: Copy>(&self, axis: usize, f: impl Fn(&[T]) -> U) -> Vec<U> {
        self.lines(axis, |line| vec![f(line); line.len()])
    }
}

/// Extents of the usual tiles: one element, powers of two, long dimensions.
const SHAPES: [[usize; 3]; 5] = [[1, 1, 1], [4, 8, 16], [1, 1, 100], [12, 1, 3], [1, 100, 5]];

/// An element that tiles are tried with.
pub(super) trait Element: Numeric + CubeElement + Exact + PartialOrd {
    /// The sum, wrapped where integers do.
    fn plus(self, other: Self) -> Self;
    /// The product, wrapped where integers do.
    fn times(self, other: Self) -> Self;
    /// Elements whose sums are exact in any order, and now and then one that is special.
    fn samples() -> BoxedStrategy<Self>;
    /// Elements whose products are exact in any order.
    fn factors() -> BoxedStrategy<Self>;

    #[allow(clippy::eq_op, reason = "NaN is what is not equal to itself")]
    fn is_no_number(self) -> bool {
        self != self
    }

    /// The same, where zeros of either sign are one.
    fn agrees(self, other: Self) -> bool {
        self == other || self.same(other)
    }
}

macro_rules! integers {
    ($($ty:ty)*) => {$(
        impl Element for $ty {
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn samples() -> BoxedStrategy<Self> {
                let special = [0, 1, <$ty>::MIN, <$ty>::MAX, (0 as $ty).wrapping_sub(1)];
                prop_oneof![
                    2 => any::<$ty>(),
                    2 => any::<u8>().prop_map(|small| (small % 9) as $ty),
                    1 => proptest::sample::select(special.to_vec()),
                ]
                .boxed()
            }
            fn factors() -> BoxedStrategy<Self> {
                Self::samples()
            }
        }
    )*};
}
integers!(u8 i32 u32 i64 u64);

macro_rules! floats {
    ($($ty:ty as $from:expr;)*) => {$(
        impl Element for $ty {
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn samples() -> BoxedStrategy<Self> {
                let from = $from;
                let special = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0].map(from);
                prop_oneof![
                    300 => (-8i8..=8).prop_map(move |half| from(f32::from(half) / 2.0)),
                    1 => proptest::sample::select(special.to_vec()),
                ]
                .boxed()
            }
            fn factors() -> BoxedStrategy<Self> {
                let from = $from;
                prop_oneof![
                    12 => Just(from(1.0)),
                    6 => Just(from(-1.0)),
                    1 => Just(from(2.0)),
                    1 => Just(from(0.5)),
                ]
                .boxed()
            }
        }
    )*};
}
floats! {
    f32 as |value: f32| value;
    f16 as f16::from_f32;
}

/// As many samples.
pub(super) fn many<T: Element>(count: usize) -> impl Strategy<Value = Vec<T>> {
    proptest::collection::vec(T::samples(), count)
}

/// Compares what tiles of one shape hold, one after the other, with what they are to.
pub(super) fn compare<T: Copy + core::fmt::Debug>(
    what: &str,
    got: &[T],
    want: &[T],
    agrees: impl Fn(T, T) -> bool,
) -> Result<(), String> {
    assert_eq!(got.len(), want.len(), "{what}");
    let wrong: Vec<usize> = (0..got.len())
        .filter(|&at| !agrees(got[at], want[at]))
        .collect();
    match wrong.first() {
        None => Ok(()),
        Some(&at) => Err(format!(
            "{what}: element {at} is {:?}, not {:?} ({} of {} differ)",
            got[at],
            want[at],
            wrong.len(),
            got.len()
        )),
    }
}
