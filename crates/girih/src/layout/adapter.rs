//! Layouts as CubeCL's layouts, so that `tensor.view(layout)` works.
// CubeCL's derive writes an undocumented twin of `PerMode`.
#![allow(missing_docs)]

use super::{KernelLayout, KernelLayoutExpand};
use core::marker::PhantomData;
use cubecl::prelude::*;
use cubecl::std::tensor::layout::{Coordinates, Coords1d, Layout, LayoutExpand};

/// By its linear coordinate. An offset counts the elements of what is viewed, which may be vectors.
#[cube]
impl Layout for KernelLayout {
    type Coordinates = Coords1d;
    type SourceCoordinates = Coords1d;

    fn to_source_pos(&self, pos: Coords1d) -> Coords1d {
        self.offset(pos)
    }

    fn to_source_pos_checked(&self, pos: Coords1d) -> (Coords1d, bool) {
        (self.offset(pos), self.is_in_bounds(pos))
    }

    fn shape(&self) -> Coords1d {
        self.size()
    }

    fn is_in_bounds(&self, pos: Coords1d) -> bool {
        self.is_in_bounds(pos)
    }
}

/// A [`KernelLayout`] as a CubeCL layout by one coordinate per mode ([`KernelLayout::per_mode`]).
#[derive(CubeType, Clone)]
#[expand(derive(Clone))]
pub struct PerMode<C: ModeCoordinates> {
    layout: KernelLayout,
    #[cube(comptime)]
    _coordinates: PhantomData<C>,
}

/// One `u32` per mode: CubeCL's `Coords2d` to `Coords5d`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not one coordinate per mode",
    note = "it is `Coords2d`, `Coords3d`, `Coords4d` or `Coords5d`"
)]
pub trait ModeCoordinates: Coordinates {
    /// How many modes.
    const RANK: usize;
}

impl KernelLayout {
    /// The layout as a CubeCL layout by one coordinate per mode; another rank than that of `C` is refused while the
    /// kernel is expanded.
    ///
    /// ```
    /// use cubecl::{prelude::*, std::tensor::{AsView, AsViewExpand, layout::Coords2d}};
    /// use girih::layout::KernelLayout;
    ///
    /// #[cube(launch_unchecked)]
    /// fn diagonal(x: &Tensor<f32>, matrix: KernelLayout, out: &mut [f32]) {
    ///     let view = x.view(matrix.per_mode::<Coords2d>());
    ///     let i = ABSOLUTE_POS as u32;
    ///     out[ABSOLUTE_POS] = view.read((i, i));
    /// }
    /// # fn main() {}
    /// ```
    pub fn per_mode<C: ModeCoordinates>(&self) -> PerMode<C> {
        cubecl::unexpanded!()
    }
}

impl KernelLayoutExpand {
    /// Expansion of [`KernelLayout::per_mode`].
    pub fn __expand_per_mode_method<C: ModeCoordinates>(&self, _scope: &Scope) -> PerModeExpand<C> {
        assert!(
            self.shape.rank() == C::RANK,
            "girih: KernelLayout::per_mode: {} coordinates for shape {}; as many as it has modes are needed",
            C::RANK,
            self.shape
        );
        PerModeExpand {
            layout: self.clone(),
            _coordinates: PhantomData,
        }
    }
}

macro_rules! per_mode {
    ($rank:literal: ($($coordinate:ty),*), [$($index:literal),*]) => {
        impl ModeCoordinates for ($($coordinate),*) {
            const RANK: usize = $rank;
        }

        #[cube]
        impl Layout for PerMode<($($coordinate),*)> {
            type Coordinates = ($($coordinate),*);
            type SourceCoordinates = Coords1d;

            fn to_source_pos(&self, pos: Self::Coordinates) -> Coords1d {
                self.layout.offset(pos)
            }

            fn to_source_pos_checked(&self, pos: Self::Coordinates) -> (Coords1d, bool) {
                (self.layout.offset(pos), self.layout.is_in_bounds(pos))
            }

            fn shape(&self) -> Self::Coordinates {
                let shape = self.layout.shape();
                ($(shape.get($index).size() as u32),*)
            }

            fn is_in_bounds(&self, pos: Self::Coordinates) -> bool {
                self.layout.is_in_bounds(pos)
            }
        }
    };
}
per_mode!(2: (u32, u32), [0, 1]);
per_mode!(3: (u32, u32, u32), [0, 1, 2]);
per_mode!(4: (u32, u32, u32, u32), [0, 1, 2, 3]);
per_mode!(5: (u32, u32, u32, u32, u32), [0, 1, 2, 3, 4]);
