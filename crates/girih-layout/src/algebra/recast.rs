//! Layouts of the same bits as elements of another width.

use super::gcd;
use crate::modes::{LayoutBuilder, Mode};
use crate::tuple::View;
use crate::{Integer, Layout, LayoutError};
use alloc::string::ToString;

impl Layout {
    /// The layout of the same memory as elements of `new_bits` each instead of `old_bits`.
    ///
    /// Law: [downcast](Layout::downcast) to the greatest common width, then [upcast](Layout::upcast) from there.
    ///
    /// # Errors
    /// [`LayoutError::ElementWidth`] for a width of 0, and those of [`upcast`](Layout::upcast) and
    /// [`downcast`](Layout::downcast).
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// // A row-major matrix of 16-bit elements, as 32-bit ones and as bytes.
    /// let halves: Layout = "(4,8):(8,1)".parse()?;
    /// assert_eq!(halves.recast(16, 32)?.to_dynamic(), "(4,4):(4,1)".parse()?);
    /// assert_eq!(halves.recast(16, 8)?.to_dynamic(), "(4,16):(16,1)".parse()?);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn recast(&self, old_bits: u64, new_bits: u64) -> Result<Layout, LayoutError> {
        let common = gcd(old_bits, new_bits);
        if old_bits == 0 || new_bits == 0 {
            return Err(LayoutError::ElementWidth { old_bits, new_bits });
        }
        self.downcast(old_bits / common)?.upcast(new_bits / common)
    }

    /// The layout with `count` elements taken as one.
    ///
    /// Law: `R(c') = floor(L(c) / count)`, where each leaf of `c'` is that of `c` divided by how many steps of its
    /// stride fit in `count`, rounded down.
    ///
    /// # Errors
    /// [`LayoutError::Upcast`] when a stride neither divides `count` nor is a multiple of it, or when modes of small
    /// stride together leave the wide element they started in; [`LayoutError::DivisionByZero`] for a `count` of 0.
    pub fn upcast(&self, count: u64) -> Result<Layout, LayoutError> {
        Integer::ONE.try_div(Integer::Static(count))?;
        self.require_elements()?;
        let refused = || LayoutError::Upcast {
            layout: self.to_string(),
            count,
        };
        let mut within = 0u64;
        for mode in self.leaf_modes() {
            let stride = mode.stride.value();
            if stride == 0 || mode.extent.value() == 1 || stride.is_multiple_of(count) {
                continue;
            }
            if !count.is_multiple_of(stride) {
                return Err(refused());
            }
            let steps = mode.extent.value().min(count / stride) - 1;
            within = within.saturating_add(steps * stride);
        }
        match within < count {
            true => self.map_modes(|mode| widen(mode, count)),
            false => Err(refused()),
        }
    }

    /// The layout with each element split in `count`.
    ///
    /// Law: with `s` the first leaf of stride 1, `R(c') = count * L(c) + b`, where `c'` has `count * c_s + b` for that
    /// leaf and is `c` elsewhere, for every `b < count`. Without such a leaf, the first leaf is split into `(count,
    /// extent)` and has `(b, c_0)` for `c_0`.
    ///
    /// # Errors
    /// [`LayoutError::DivisionByZero`] for a `count` of 0, [`LayoutError::Overflow`].
    pub fn downcast(&self, count: u64) -> Result<Layout, LayoutError> {
        Integer::ONE.try_div(Integer::Static(count))?;
        if count == 1 {
            return Ok(self.clone());
        }
        let count = Integer::Static(count);
        let consecutive = self.leaf_modes().position(|mode| mode.stride.value() == 1);
        let split = consecutive.unwrap_or(0);
        let mut leaf = 0;
        self.write_modes(|mode, out| {
            let wider = Mode {
                extent: mode.extent,
                stride: mode.stride.try_mul(count)?,
            };
            match (leaf == split, consecutive) {
                (true, Some(_)) => out.leaf(Mode {
                    extent: mode.extent.try_mul(count)?,
                    stride: mode.stride,
                }),
                (true, None) => out.leaf_or_tuple(
                    [
                        Mode {
                            extent: count,
                            stride: Integer::ONE,
                        },
                        wider,
                    ]
                    .into_iter(),
                ),
                _ => out.leaf(wider),
            }
            leaf += 1;
            Ok(())
        })
    }

    fn map_modes(
        &self,
        mut change: impl FnMut(Mode) -> Result<Mode, LayoutError>,
    ) -> Result<Layout, LayoutError> {
        self.write_modes(|mode, out| {
            out.leaf(change(mode)?);
            Ok(())
        })
    }

    /// The layout with each leaf replaced by what `write` writes for it.
    fn write_modes(
        &self,
        mut write: impl FnMut(Mode, &mut LayoutBuilder) -> Result<(), LayoutError>,
    ) -> Result<Layout, LayoutError> {
        let mut out = LayoutBuilder::new();
        write_part(
            self.shape().view(),
            self.stride().view(),
            &mut out,
            &mut write,
        )?;
        out.finish()
    }
}

fn write_part(
    shape: View<'_>,
    stride: View<'_>,
    out: &mut LayoutBuilder,
    write: &mut impl FnMut(Mode, &mut LayoutBuilder) -> Result<(), LayoutError>,
) -> Result<(), LayoutError> {
    if let (Some(extent), Some(stride)) = (shape.leaf(), stride.leaf()) {
        return write(Mode { extent, stride }, out);
    }
    let head = out.open();
    for (shape, stride) in shape.modes().zip(stride.modes()) {
        write_part(shape, stride, out, write)?;
    }
    out.close(head);
    Ok(())
}

fn widen(mode: Mode, count: u64) -> Result<Mode, LayoutError> {
    let stride = mode.stride.value();
    if stride == 0 || mode.extent.value() == 1 && !stride.is_multiple_of(count) {
        return Ok(Mode {
            extent: mode.extent,
            stride: mode.stride.with_value(mode.stride, stride / count),
        });
    }
    if stride.is_multiple_of(count) {
        return Ok(Mode {
            extent: mode.extent,
            stride: mode.stride.try_div(Integer::Static(count))?,
        });
    }
    let steps = Integer::Static(count).try_div(mode.stride)?;
    Ok(Mode {
        extent: mode.extent.try_div_ceil(steps)?,
        stride: mode.stride.with_value(mode.stride, 1),
    })
}
