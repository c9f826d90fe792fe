//! What the launchers compute, element by element on the host, and random calls of them.

use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::Bounds;
use girih_testkit::{Buffer, Tensor};
use proptest::prelude::*;

/// One random call: shapes, strides and indices, but for the element type.
#[derive(Clone, Debug)]
pub struct Call {
    pub shape: Vec<usize>,
    pub axis: usize,
    /// Strides of the table (gather's input, scatter's target) and of the slices (its output, its updates).
    pub strides: [Vec<usize>; 2],
    pub indices: Vec<i64>,
    pub bounds: Bounds,
}

impl Call {
    /// The shape of the slices: the table's with one entry per index along the axis.
    pub fn slices(&self) -> Vec<usize> {
        let mut shape = self.shape.clone();
        shape[self.axis] = self.indices.len();
        shape
    }

    /// Where an index points, if anywhere.
    pub fn place(&self, index: i64) -> Option<usize> {
        place(index, self.shape[self.axis], self.bounds)
    }

    /// For each slice element in row-major order, the row-major position of its table element, if any.
    pub fn sources(&self) -> Vec<Option<usize>> {
        let inner: usize = self.shape[self.axis + 1..].iter().product();
        let outer: usize = self.shape[..self.axis].iter().product();
        let extent = self.shape[self.axis];
        let mut sources = vec![];
        for o in 0..outer {
            for &index in &self.indices {
                let place = self.place(index);
                sources.extend(
                    (0..inner).map(|i| place.map(|place| (o * extent + place) * inner + i)),
                );
            }
        }
        sources
    }

    /// The first index that is out of range, with its position.
    pub fn offence(&self) -> Option<(usize, i64)> {
        let mut entries = self.indices.iter().copied().enumerate();
        entries.find(|&(_, index)| self.place(index).is_none())
    }
}

/// Where an index points along an axis of that extent, if anywhere.
pub fn place(index: i64, extent: usize, bounds: Bounds) -> Option<usize> {
    let extent = extent as i64;
    let place = match bounds {
        Bounds::Assume | Bounds::Mask | Bounds::Report => index,
        Bounds::Clamp => index.clamp(0, (extent - 1).max(0)),
        Bounds::Wrap if index < 0 => index + extent,
        Bounds::Wrap => index,
    };
    (0..extent).contains(&place).then_some(place as usize)
}

/// Random calls on small tensors of rank 1 to 4. Extents are of few kinds, since each makes a kernel of its own.
pub fn calls(bounds: &'static [Bounds]) -> impl Strategy<Value = Call> {
    let extent = prop::sample::select(vec![1usize, 3, 8]);
    let shape = prop::collection::vec(extent, 1..=4);
    let padding = prop::sample::select(vec![0usize, 0, 4, 1]);
    (
        shape,
        any::<prop::sample::Index>(),
        0..3usize,
        0..3usize,
        padding,
        prop::sample::select(bounds),
    )
        .prop_flat_map(|(shape, axis, table, slices, padding, bounds)| {
            let axis = axis.index(shape.len());
            let extent = shape[axis] as i64;
            let count = prop::sample::select(vec![0usize, 1, 7, 40]);
            let indices = count
                .prop_flat_map(move |count| prop::collection::vec(-extent - 2..extent + 3, count));
            indices.prop_map(move |indices| {
                let mut slice_shape = shape.clone();
                slice_shape[axis] = indices.len();
                let strides = [
                    strides(&shape, table, padding),
                    strides(&slice_shape, slices, padding),
                ];
                Call {
                    shape: shape.clone(),
                    axis,
                    strides,
                    indices,
                    bounds,
                }
            })
        })
}

/// Strides of a tensor whose axes lie in row-major order, reversed, or rotated, with holes between them.
pub fn strides(shape: &[usize], order: usize, padding: usize) -> Vec<usize> {
    let mut axes: Vec<usize> = (0..shape.len()).rev().collect();
    match order {
        1 => axes.reverse(),
        2 => axes.rotate_left(1),
        _ => {}
    }
    let mut strides = vec![0; shape.len()];
    let mut next = 1;
    for (level, axis) in axes.into_iter().enumerate() {
        strides[axis] = next;
        next *= shape[axis].max(1) + if level == 0 { padding } else { 0 };
    }
    strides
}

/// A tensor of the testkit as the launchers take it.
pub fn handle<T: CubeElement + Scalar>(tensor: &Tensor<T>) -> TensorHandle {
    let dtype: ElemType = T::elem_type_native();
    TensorHandle::new(
        tensor.storage.handle(),
        tensor.shape.clone(),
        tensor.strides.clone(),
        dtype,
    )
}

/// A list of the testkit as the launchers take it.
pub fn list<T: CubeElement + Scalar>(buffer: &Buffer<T>) -> TensorHandle {
    let dtype: ElemType = T::elem_type_native();
    TensorHandle::new(buffer.handle(), vec![buffer.len()], vec![1usize], dtype)
}

/// An index type of the launchers.
pub trait Index: CubeElement + Numeric {
    /// The index, where the type has it.
    fn of(index: i64) -> Option<Self>;
}
macro_rules! indices {
    ($($index:ty),*) => {$(
        impl Index for $index {
            fn of(index: i64) -> Option<Self> {
                Self::try_from(index).ok()
            }
        }
    )*};
}
indices!(i8, i16, i32, i64, u8, u16, u32, u64);
