//! Coordinates: linear, one integer per mode, fully nested, or mixed.
//!
//! A coordinate fits a shape when at each level it is one integer (a linear coordinate into what is there) or a tuple
//! of the shape's rank. A linear coordinate counts colexicographically: the first mode moves fastest.

use crate::builder::Builder;
use crate::tuple::View;
use crate::{IntTuple, Integer, LayoutError};
use alloc::string::ToString;

/// The offset of `coord` in `shape:stride`: the sum of each leaf's coordinate times its stride.
///
/// # Errors
/// [`LayoutError::NotCongruent`] when shape and stride nest differently, [`LayoutError::CoordProfile`] when the
/// coordinate does not fit the shape, [`LayoutError::CoordOutOfRange`] when it is past an extent,
/// [`LayoutError::Overflow`].
///
/// ```
/// use girih_layout::{IntTuple, crd2idx};
///
/// let (shape, stride) = (IntTuple::from((2, (3, 4))), IntTuple::from((1, (2, 6))));
/// assert_eq!(crd2idx(&(1, (2, 3)).into(), &shape, &stride)?.value(), 23);
/// assert_eq!(crd2idx(&(1, 11).into(), &shape, &stride)?.value(), 23);
/// assert_eq!(crd2idx(&23.into(), &shape, &stride)?.value(), 23);
/// assert!(crd2idx(&24.into(), &shape, &stride).is_err());
/// # Ok::<(), girih_layout::LayoutError>(())
/// ```
pub fn crd2idx(
    coord: &IntTuple,
    shape: &IntTuple,
    stride: &IntTuple,
) -> Result<Integer, LayoutError> {
    require_congruent(shape, stride)?;
    Offset {
        coord,
        shape,
        bounded: true,
    }
    .of(coord.view(), shape.view(), stride.view())
}

/// The coordinate at linear coordinate `index`, nested like `shape`.
///
/// # Errors
/// [`LayoutError::CoordOutOfRange`] when `index` is not below the shape's size.
///
/// ```
/// use girih_layout::{IntTuple, idx2crd};
///
/// assert_eq!(idx2crd(23, &(2, (3, 4)).into())?, (1, (2, 3)).into());
/// # Ok::<(), girih_layout::LayoutError>(())
/// ```
pub fn idx2crd(index: impl Into<Integer>, shape: &IntTuple) -> Result<IntTuple, LayoutError> {
    let index = index.into();
    let size = shape.size()?;
    if index.value() >= size.value() {
        return Err(LayoutError::CoordOutOfRange {
            coord: index.to_string(),
            shape: shape.to_string(),
            value: index.value(),
            extent: size.value(),
        });
    }
    let mut builder = Builder::new();
    split(index, shape.view(), &mut builder)?;
    Ok(builder.finish())
}

/// The coordinate into `to` with the linear coordinate that `coord` has in `from`, nested like `to`.
///
/// # Errors
/// [`LayoutError::SizeMismatch`] when the shapes differ in size, and those of [`crd2idx`].
///
/// ```
/// use girih_layout::crd2crd;
///
/// assert_eq!(crd2crd(&(1, 2).into(), &(2, 6).into(), &(3, (2, 2)).into())?, (2, (1, 0)).into());
/// # Ok::<(), girih_layout::LayoutError>(())
/// ```
pub fn crd2crd(coord: &IntTuple, from: &IntTuple, to: &IntTuple) -> Result<IntTuple, LayoutError> {
    let (left, right) = (from.size()?, to.size()?);
    if left.value() != right.value() {
        return Err(LayoutError::SizeMismatch {
            left: from.to_string(),
            left_size: left.value(),
            right: to.to_string(),
            right_size: right.value(),
        });
    }
    let linear = crd2idx(coord, from, &compact_left(from)?)?;
    idx2crd(linear, to)
}

/// As [`crd2idx`], with the last leaf that a linear coordinate reaches taken as endless, so that no coordinate is past
/// the end.
pub(crate) fn crd2idx_extended(
    coord: &IntTuple,
    shape: &IntTuple,
    stride: &IntTuple,
) -> Result<Integer, LayoutError> {
    Offset {
        coord,
        shape,
        bounded: false,
    }
    .of(coord.view(), shape.view(), stride.view())
}

pub(crate) fn require_congruent(shape: &IntTuple, stride: &IntTuple) -> Result<(), LayoutError> {
    match shape.congruent(stride) {
        true => Ok(()),
        false => Err(LayoutError::NotCongruent {
            left_name: "shape",
            left: shape.to_string(),
            right_name: "stride",
            right: stride.to_string(),
        }),
    }
}

/// The strides of `shape` with the leftmost leaf moving fastest: exclusive products from the left.
pub(crate) fn compact_left(shape: &IntTuple) -> Result<IntTuple, LayoutError> {
    // Products that include a 0 are 0: an empty shape has no offsets, and no product of it can overflow.
    let empty = shape.leaves().any(|leaf| leaf.value() == 0);
    let mut next = Integer::ONE;
    let mut failed = None;
    let strides = shape.map(|extent| {
        let stride = next;
        match next.try_mul(extent) {
            Ok(product) => next = product,
            Err(_) if empty => next = Integer::Dynamic(0),
            Err(error) => failed = Some(error),
        }
        stride
    });
    failed.map_or(Ok(strides), Err)
}

/// The offset of one coordinate; the whole coordinate and shape are kept for messages.
struct Offset<'a> {
    coord: &'a IntTuple,
    shape: &'a IntTuple,
    bounded: bool,
}

impl Offset<'_> {
    fn of(
        &self,
        coord: View<'_>,
        shape: View<'_>,
        stride: View<'_>,
    ) -> Result<Integer, LayoutError> {
        if let Some(linear) = coord.leaf() {
            if self.bounded {
                self.require_below(linear, shape.size()?)?;
            }
            return linear_offset(linear, shape, stride);
        }
        if shape.leaf().is_some() || coord.rank() != shape.rank() {
            return Err(LayoutError::CoordProfile {
                coord: self.coord.to_string(),
                shape: self.shape.to_string(),
            });
        }
        let modes = coord.modes().zip(shape.modes().zip(stride.modes()));
        let mut sum = Integer::ZERO;
        for (coord, (shape, stride)) in modes {
            sum = sum.try_add(self.of(coord, shape, stride)?)?;
        }
        Ok(sum)
    }

    fn require_below(&self, coord: Integer, extent: Integer) -> Result<(), LayoutError> {
        if coord.value() < extent.value() {
            return Ok(());
        }
        Err(LayoutError::CoordOutOfRange {
            coord: self.coord.to_string(),
            shape: self.shape.to_string(),
            value: coord.value(),
            extent: extent.value(),
        })
    }
}

/// The offset of a linear coordinate; past the end, the last leaf goes on.
fn linear_offset(
    linear: Integer,
    shape: View<'_>,
    stride: View<'_>,
) -> Result<Integer, LayoutError> {
    let mut rest = linear;
    let mut sum = Integer::ZERO;
    let mut leaves = shape.leaves().zip(stride.leaves()).peekable();
    while let Some((extent, stride)) = leaves.next() {
        let digit = match leaves.peek() {
            None => rest,
            Some(_) => rest.try_rem(extent)?,
        };
        sum = sum.try_add(digit.try_mul(stride)?)?;
        if leaves.peek().is_some() {
            rest = rest.try_div(extent)?;
        }
    }
    Ok(sum)
}

/// Writes the coordinate of `index` into `shape`, which `index` is inside of.
fn split(index: Integer, shape: View<'_>, out: &mut Builder) -> Result<(), LayoutError> {
    if shape.leaf().is_some() {
        out.leaf(index);
        return Ok(());
    }
    let head = out.open();
    let mut rest = index;
    let rank = shape.rank();
    for (i, mode) in shape.modes().enumerate() {
        if i + 1 == rank {
            split(rest, mode, out)?;
        } else {
            let size = mode.size()?;
            split(rest.try_rem(size)?, mode, out)?;
            rest = rest.try_div(size)?;
        }
    }
    out.close(head);
    Ok(())
}
