//! From offsets back to coordinates.

use crate::list::List;
use crate::modes::{Mode, Modes, coalesce, to_layout};
use crate::{Integer, Layout, LayoutError};
use alloc::string::ToString;

/// A mode of a layout together with its place among the linear coordinates.
#[derive(Clone, Copy, Default)]
struct Placed {
    mode: Mode,
    /// The linear coordinate at which this mode is 1 and all others are 0.
    place: Integer,
    /// How many offsets, from 0 on, can be reached by a chain that goes on from this mode; and the mode that is next.
    reach: u64,
    next: Option<usize>,
}

impl Layout {
    /// The layout that finds offsets `0, 1, 2, ...` as far as they go.
    ///
    /// Law: `L(R(i)) = i` for every `i < size(R)`, and `R` is the largest such layout among those whose modes each step
    /// along one mode of `L` (up to its whole extent). Where the strides of `L`, sorted, are each a multiple of the
    /// reach before them, that is the largest of all: offset `size(R)` is not reached by `L`. `1:0` obeys the law for
    /// every layout that is not empty.
    ///
    /// # Errors
    /// [`LayoutError::Empty`] for a layout without elements.
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let rows: Layout = "(3,4):(4,1)".parse()?;
    /// assert_eq!(format!("{:#}", rows.right_inverse()?), "(4,3):(3,1)");
    /// // Offset 4 is in the padding.
    /// let padded: Layout = "(4,3):(1,8)".parse()?;
    /// assert_eq!(padded.right_inverse()?.size().value(), 4);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn right_inverse(&self) -> Result<Layout, LayoutError> {
        self.require_elements()?;
        let mut placed = place(&coalesce(self.leaf_modes()))?;
        placed.sort_unstable_by_key(|placed| placed.mode.stride.value());
        link(&mut placed);
        let mut out = Modes::new();
        let mut at = longest(&placed, |placed| placed.mode.stride.value() == 1);
        while let Some(here) = at.map(|at| placed[at]) {
            let extent = match here.next {
                None => here.mode.extent,
                Some(next) => up_to(here.mode, placed[next].mode)?,
            };
            out.push(Mode {
                extent,
                stride: here.place,
            });
            at = here.next;
        }
        to_layout(&coalesce(out.iter().copied()))
    }

    /// The layout that finds the coordinate of every offset.
    ///
    /// Law: `R(L(i)) = i` for every `i < size(L)`. It is the right inverse of `(L, complement(L))`.
    ///
    /// # Errors
    /// [`LayoutError::NotInjective`] when a mode has stride 0, so that an offset has several coordinates;
    /// [`LayoutError::NoComplement`] as for [`complement`](Layout::complement); [`LayoutError::Empty`].
    ///
    /// ```
    /// # use girih_layout::Layout;
    /// let padded: Layout = "(4,3):(1,8)".parse()?;
    /// let inverse = padded.left_inverse()?;
    /// assert_eq!(inverse.index(17)?.value(), 9);
    /// assert_eq!(padded.index(9)?.value(), 17);
    /// # Ok::<(), girih_layout::LayoutError>(())
    /// ```
    pub fn left_inverse(&self) -> Result<Layout, LayoutError> {
        let still = self
            .leaf_modes()
            .any(|mode| mode.stride.value() == 0 && mode.extent.value() > 1);
        if still {
            return Err(LayoutError::NotInjective {
                layout: self.to_string(),
            });
        }
        let rest = self.complement(Integer::ONE)?;
        let modes: Modes = self.leaf_modes().chain(rest.leaf_modes()).collect();
        to_layout(&modes)?.right_inverse()
    }
}

/// The modes that move, each with its place.
fn place(modes: &[Mode]) -> Result<List<Placed, 8>, LayoutError> {
    let mut placed = List::new();
    let mut place = Integer::ONE;
    for mode in modes {
        if mode.stride.value() != 0 {
            placed.push(Placed {
                mode: *mode,
                place,
                reach: 0,
                next: None,
            });
        }
        place = place.try_mul(mode.extent)?;
    }
    Ok(placed)
}

/// Finds for each mode the best to go on with: one whose stride is a multiple of its own that it reaches. Strides
/// ascend.
fn link(placed: &mut [Placed]) {
    for at in (0..placed.len()).rev() {
        let Mode { extent, stride } = placed[at].mode;
        let (extent, stride) = (extent.value(), stride.value());
        let follows = |next: &Placed| {
            let next = next.mode.stride.value();
            next > stride && next.is_multiple_of(stride) && next / stride <= extent
        };
        // A mode reaches no further than its layout's cosize, 1 past its last offset at most a stride: saturation only
        // ties.
        let alone = stride.saturating_mul(extent);
        let next = longest(placed, follows).filter(|&next| placed[next].reach > alone);
        placed[at].next = next;
        placed[at].reach = next.map_or(alone, |next| placed[next].reach);
    }
}

fn longest(placed: &[Placed], allowed: impl Fn(&Placed) -> bool) -> Option<usize> {
    (0..placed.len())
        .filter(|&at| allowed(&placed[at]))
        .max_by_key(|&at| placed[at].reach)
}

/// How many steps of `mode` lead to the stride of `next`: the extent itself where that is all of it.
fn up_to(mode: Mode, next: Mode) -> Result<Integer, LayoutError> {
    let steps = next.stride.try_div(mode.stride)?;
    Ok(match steps.value() == mode.extent.value() {
        true => mode.extent,
        false => steps,
    })
}
