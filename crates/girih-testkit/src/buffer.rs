//! Buffers and tensors of a test: poisoned where a kernel should write, guarded where it should not.

use std::marker::PhantomData;

use cubecl::{
    prelude::{BufferArg, CubeElement, TensorArg},
    server::Handle,
};

use crate::{Error, Rt};

/// Bytes of a guard row, before and after every buffer: a whole number of the offsets that any device wants aligned.
const GUARD: usize = 512;

/// Every byte of poisoned memory. As a float it is NaN or above 1e38, as an integer neither 0 nor -1: no comparison with
/// an answer, however tolerant, takes it for one.
const POISON: u8 = 0x7f;

/// The value that an element of poisoned memory has.
pub fn poison<T: CubeElement>() -> T {
    let bytes = [u64::from_ne_bytes([POISON; 8]); 2];
    T::from_bytes(&u64::as_bytes(&bytes)[..size_of::<T>()])[0]
}

/// Elements on a device, between two guard rows.
#[derive(Clone, Debug)]
pub struct Buffer<T> {
    /// The allocation with its guard rows.
    allocation: Handle,
    len: usize,
    element: PhantomData<T>,
}

impl<T: CubeElement> Buffer<T> {
    /// The number of elements.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements, without the guard rows.
    pub fn handle(&self) -> Handle {
        self.allocation
            .clone()
            .offset_start(GUARD as u64)
            .offset_end(GUARD as u64)
    }

    /// The elements, and the guard row after them. A device that drops what lies past the end of a binding would hide a
    /// stray write there; with this handle the write lands in the guard row, and [`Rt::read`] reports it. A kernel sees a
    /// buffer length that is too long, so this is for kernels that bound themselves by a tensor's shape.
    pub fn handle_with_guard(&self) -> Handle {
        self.allocation.clone().offset_start(GUARD as u64)
    }

    /// A kernel argument for `&[T]` or `&mut [T]`.
    pub fn arg(&self) -> BufferArg {
        // SAFETY: the handle spans `len` elements exactly.
        unsafe { BufferArg::from_raw_parts(self.handle(), self.len) }
    }

    /// The same memory as a tensor.
    ///
    /// # Panics
    /// If `shape` with `strides` (in elements) reaches past the end.
    pub fn tensor(&self, shape: &[usize], strides: &[usize]) -> Tensor<T> {
        let reach = storage_len(shape, strides);
        assert!(
            reach <= self.len,
            "shape {shape:?} with strides {strides:?} reaches {reach} elements of {}",
            self.len
        );
        Tensor {
            storage: self.clone(),
            shape: shape.to_vec(),
            strides: strides.to_vec(),
        }
    }
}

/// A tensor of any strides over a buffer.
#[derive(Clone, Debug)]
pub struct Tensor<T> {
    /// The memory it lies in.
    pub storage: Buffer<T>,
    /// Extents.
    pub shape: Vec<usize>,
    /// Strides, in elements.
    pub strides: Vec<usize>,
}

impl<T: CubeElement> Tensor<T> {
    /// A kernel argument for `&Tensor<T>` or `&mut Tensor<T>`.
    pub fn arg(&self) -> TensorArg {
        self.arg_over(self.storage.handle())
    }

    /// The same, over [`Buffer::handle_with_guard`].
    pub fn arg_with_guard(&self) -> TensorArg {
        self.arg_over(self.storage.handle_with_guard())
    }

    fn arg_over(&self, handle: Handle) -> TensorArg {
        let strides = self.strides.as_slice().into();
        // SAFETY: `Buffer::tensor` checked that no index reaches past the storage.
        unsafe { TensorArg::from_raw_parts(handle, strides, self.shape.clone().into()) }
    }

    /// The position in the storage of every element, in row-major order of the indices.
    pub fn positions(&self) -> Vec<usize> {
        positions(&self.shape, &self.strides)
    }
}

/// Strides, in elements, of a dense tensor whose last axis is contiguous.
pub fn row_major(shape: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis];
    }
    strides
}

/// Elements from the first to the last that an index reaches.
pub fn storage_len(shape: &[usize], strides: &[usize]) -> usize {
    if shape.contains(&0) {
        return 0;
    }
    1 + shape
        .iter()
        .zip(strides)
        .map(|(extent, stride)| (extent - 1) * stride)
        .sum::<usize>()
}

/// Offset of every index of `shape` with `strides`, in row-major order.
pub fn positions(shape: &[usize], strides: &[usize]) -> Vec<usize> {
    let mut offsets = vec![0];
    for (&extent, &stride) in shape.iter().zip(strides) {
        offsets = offsets
            .iter()
            .flat_map(|base| (0..extent).map(move |i| base + i * stride))
            .collect();
    }
    offsets
}

impl Rt {
    /// A buffer that holds `values`.
    pub fn put<T: CubeElement>(&self, values: &[T]) -> Buffer<T> {
        let elements = T::as_bytes(values);
        let mut bytes = vec![POISON; elements.len() + 2 * GUARD];
        bytes[GUARD..GUARD + elements.len()].copy_from_slice(elements);
        Buffer {
            allocation: self.client.create_from_slice(&bytes),
            len: values.len(),
            element: PhantomData,
        }
    }

    /// A buffer of `len` elements that are all [`poison`], for a kernel to write.
    pub fn poisoned<T: CubeElement>(&self, len: usize) -> Buffer<T> {
        self.put(&vec![poison::<T>(); len])
    }

    /// A dense row-major tensor of `values`.
    ///
    /// # Panics
    /// If there are not as many values as indices.
    pub fn put_tensor<T: CubeElement>(&self, values: &[T], shape: &[usize]) -> Tensor<T> {
        self.put_strided(values, shape, &row_major(shape))
    }

    /// A tensor with `strides` (in elements) of `values` given in row-major order; elements of the storage between them are
    /// [`poison`].
    ///
    /// # Panics
    /// If there are not as many values as indices.
    pub fn put_strided<T: CubeElement>(
        &self,
        values: &[T],
        shape: &[usize],
        strides: &[usize],
    ) -> Tensor<T> {
        let positions = positions(shape, strides);
        assert_eq!(
            values.len(),
            positions.len(),
            "values for a tensor of shape {shape:?}"
        );
        let mut storage = vec![poison::<T>(); storage_len(shape, strides)];
        for (value, position) in values.iter().zip(positions) {
            storage[position] = *value;
        }
        self.put(&storage).tensor(shape, strides)
    }

    /// A tensor with `strides` (in elements) whose elements are all [`poison`], for a kernel to write.
    pub fn poisoned_tensor<T: CubeElement>(&self, shape: &[usize], strides: &[usize]) -> Tensor<T> {
        self.poisoned(storage_len(shape, strides))
            .tensor(shape, strides)
    }

    /// The elements, once every kernel that writes them has run.
    ///
    /// # Errors
    /// [`Error::Kernel`] if such a kernel failed, [`Error::Guard`] if one wrote outside the buffer.
    pub fn read<T: CubeElement>(&self, buffer: &Buffer<T>) -> Result<Vec<T>, Error> {
        let bytes = self
            .client
            .read_one(buffer.allocation.clone())
            .map_err(|error| Error::Kernel {
                kind: self.kind,
                reason: error.to_string(),
            })?;
        let size = buffer.len * size_of::<T>();
        let (before, rest) = bytes.split_at(GUARD);
        let (elements, after) = rest.split_at(size);
        let guard = |side, offset: usize| Error::Guard {
            kind: self.kind,
            side,
            offset,
            bytes: size,
        };
        if let Some(last) = before.iter().rposition(|&byte| byte != POISON) {
            return Err(guard("before", GUARD - last));
        }
        if let Some(first) = after[..GUARD].iter().position(|&byte| byte != POISON) {
            return Err(guard("after", first + 1));
        }
        Ok(T::from_bytes(elements).to_vec())
    }

    /// The elements of a tensor in row-major order, once every kernel that writes them has run.
    ///
    /// # Errors
    /// As [`read`](Self::read), and [`Error::Hole`] if a kernel wrote between the elements of the tensor.
    pub fn read_tensor<T: CubeElement>(&self, tensor: &Tensor<T>) -> Result<Vec<T>, Error> {
        let storage = self.read(&tensor.storage)?;
        let positions = tensor.positions();
        let mut reached = vec![false; storage.len()];
        for &position in &positions {
            reached[position] = true;
        }
        let hole = T::as_bytes(&[poison::<T>()]).to_vec();
        for (position, value) in storage.iter().enumerate() {
            if !reached[position] && T::as_bytes(std::slice::from_ref(value)) != hole {
                return Err(Error::Hole {
                    kind: self.kind,
                    position,
                    shape: tensor.shape.clone(),
                    strides: tensor.strides.clone(),
                });
            }
        }
        Ok(positions.into_iter().map(|p| storage[p]).collect())
    }
}

#[cfg(test)]
mod tests {
    use cubecl::prelude::*;
    use half::{bf16, f16};

    use super::*;

    #[test]
    fn poison_is_no_plausible_answer() {
        assert!(poison::<f32>() > 1e38);
        assert!(poison::<f64>() > 1e300);
        assert!(poison::<f16>().is_nan());
        assert!(poison::<bf16>() > bf16::from_f32(1e38));
        assert_eq!(poison::<i32>(), 0x7f7f_7f7f);
        assert_eq!(poison::<u64>(), 0x7f7f_7f7f_7f7f_7f7f);
        assert_eq!(poison::<u8>(), 0x7f);
    }

    #[test]
    fn positions_follow_the_strides() {
        assert_eq!(row_major(&[2, 3, 4]), [12, 4, 1]);
        assert_eq!(positions(&[2, 3], &[1, 4]), [0, 4, 8, 1, 5, 9]);
        assert_eq!(storage_len(&[2, 3], &[1, 4]), 10);
        assert_eq!(storage_len(&[2, 0], &[1, 4]), 0);
        assert_eq!(positions(&[], &[]), [0]);
        assert_eq!(storage_len(&[], &[]), 1);
    }

    #[test]
    fn what_is_put_is_read_back() {
        for rt in Rt::present() {
            let halves: Vec<f16> = (0..3).map(|i| f16::from_f32(i as f32)).collect();
            assert_eq!(rt.read(&rt.put(&halves)), Ok(halves));
            assert_eq!(rt.read(&rt.put::<f32>(&[])), Ok(vec![]));
            assert_eq!(rt.read(&rt.poisoned::<i32>(5)), Ok(vec![poison(); 5]));
            let values: Vec<f32> = (0..6).map(|i| i as f32).collect();
            let tensor = rt.put_strided(&values, &[2, 3], &[1, 4]);
            assert_eq!(rt.read_tensor(&tensor), Ok(values));
        }
    }
    #[cube(launch_unchecked)]
    fn write_one(memory: &mut [u32], position: u32) {
        memory[position as usize] = 1u32;
    }

    /// What a read says of a buffer of 4 elements after a kernel that is given all of its allocation wrote one.
    fn after_write(rt: &Rt, position: usize) -> Result<Vec<u32>, Error> {
        let buffer = rt.poisoned::<u32>(4);
        let elements = 4 + 2 * GUARD / size_of::<u32>();
        // SAFETY: the allocation holds the elements and both guard rows, and `position` is in it.
        unsafe {
            write_one::launch_unchecked(
                &rt.client,
                CubeCount::new_single(),
                CubeDim::new_single(),
                BufferArg::from_raw_parts(buffer.allocation.clone(), elements),
                position as u32,
            );
        }
        rt.read(&buffer)
    }

    #[test]
    fn a_write_into_either_guard_row_is_an_error() {
        let first = GUARD / size_of::<u32>();
        for rt in Rt::present() {
            let guard = |side, offset| {
                Err(Error::Guard {
                    kind: rt.kind,
                    side,
                    offset,
                    bytes: 16,
                })
            };
            assert_eq!(after_write(rt, first - 1), guard("before", 1));
            assert_eq!(after_write(rt, 0), guard("before", GUARD - 3));
            assert_eq!(
                after_write(rt, first),
                Ok(vec![1, poison(), poison(), poison()])
            );
            assert_eq!(after_write(rt, first + 4), guard("after", 1));
            assert_eq!(after_write(rt, 2 * first + 3), guard("after", GUARD - 3));
        }
    }
}
