//! Comparisons of what a kernel wrote with what the host expects, with failures that say where.

use std::fmt::Debug;

use half::{bf16, f16};

/// An element with an exact comparison: a float is the same when its bits are, or when both are NaN.
pub trait Exact: Copy + Debug {
    /// Whether the two are the same.
    fn same(self, other: Self) -> bool;
}

macro_rules! exact_int {
    ($($t:ty)*) => {$(
        impl Exact for $t {
            fn same(self, other: Self) -> bool {
                self == other
            }
        }
    )*};
}
macro_rules! exact_float {
    ($($t:ty)*) => {$(
        impl Exact for $t {
            fn same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || (self.is_nan() && other.is_nan())
            }
        }
    )*};
}
exact_int!(i8 i16 i32 i64 u8 u16 u32 u64 bool);
exact_float!(f32 f64 f16 bf16);

/// Compares element by element, exactly.
///
/// # Errors
/// The lengths, or the first position that differs and how many do.
pub fn same<T: Exact>(got: &[T], want: &[T]) -> Result<(), String> {
    compare(got, want, T::same)
}

/// Compares element by element within `tolerance`, absolute below 1 and relative above; NaN equals NaN.
///
/// # Errors
/// The lengths, or the first position that differs and how many do.
pub fn close<T: Copy + Debug + Into<f64>>(
    got: &[T],
    want: &[T],
    tolerance: f64,
) -> Result<(), String> {
    compare(got, want, |got, want| {
        let (got, want) = (got.into(), want.into());
        (got.is_nan() && want.is_nan())
            || approx::relative_eq!(got, want, epsilon = tolerance, max_relative = tolerance)
    })
}

fn compare<T: Copy + Debug>(
    got: &[T],
    want: &[T],
    equal: impl Fn(T, T) -> bool,
) -> Result<(), String> {
    if got.len() != want.len() {
        return Err(format!("{} elements, not {}", got.len(), want.len()));
    }
    let wrong: Vec<usize> = (0..got.len())
        .filter(|&i| !equal(got[i], want[i]))
        .collect();
    match wrong.first() {
        None => Ok(()),
        Some(&first) => Err(format!(
            "element {first} is {:?}, not {:?} ({} of {} differ)",
            got[first],
            want[first],
            wrong.len(),
            got.len()
        )),
    }
}

/// Fails the test unless [`same`].
#[track_caller]
pub fn assert_same<T: Exact>(got: &[T], want: &[T]) {
    if let Err(difference) = same(got, want) {
        panic!("{difference}");
    }
}

/// Fails the test unless [`close`].
#[track_caller]
pub fn assert_close<T: Copy + Debug + Into<f64>>(got: &[T], want: &[T], tolerance: f64) {
    if let Err(difference) = close(got, want, tolerance) {
        panic!("{difference}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_tells_zeros_apart_and_takes_nans_as_one() {
        assert!(same(&[f32::NAN, 1.0], &[-f32::NAN, 1.0]).is_ok());
        let difference = same(&[1.0, 0.0, 2.0], &[1.0, -0.0, 3.0f32]).unwrap_err();
        assert_eq!(difference, "element 1 is 0.0, not -0.0 (2 of 3 differ)");
        assert_eq!(same(&[1u32], &[1, 2]).unwrap_err(), "1 elements, not 2");
    }

    #[test]
    fn close_is_relative_to_large_values() {
        assert!(close(&[1000.0f32], &[1000.5], 1e-3).is_ok());
        assert!(close(&[1.0f32], &[1.5], 1e-3).is_err());
        assert!(close(&[crate::buffer::poison::<f32>()], &[0.0], 1e-3).is_err());
        assert!(close(&[f32::NAN], &[0.0], 1e9).is_err());
    }
}
