//! Comparisons, and casts.

use super::arithmetic::{convert, equal, unequal};
use super::packet::{join, lanes};
use super::{Operand, OperandExpand, Real, Tile, TileExpand, TileShape};
use cubecl::prelude::*;

macro_rules! comparisons {
    ($($(#[$doc:meta])* $name:ident $expand:ident $($bound:ident)?, |$scope:ident, $a:ident, $b:ident| $packet:expr;)*) => {
        /// Comparisons element by element, which give tiles of `bool`. NaN is neither less than, nor equal to, nor greater
        /// than anything.
        ///
        /// Such tiles are combined by `&`, `|`, `^` and `!`, choose by [`select`](Tile::select), count by
        /// [`cast`](Tile::cast), and are reduced by [`any`](Tile::any) and [`all`](Tile::all).
        impl<'a, E: Scalar, S: TileShape> Tile<'a, E, S> {
            $(
                $(#[$doc])*
                #[allow(unused_variables)]
                pub fn $name(&self, other: impl Operand<'a, E, S>) -> Tile<'a, bool, S>
                $(where E: $bound)?
                {
                    cubecl::unexpanded!()
                }
            )*
        }
        impl<E: Scalar, S: TileShape> TileExpand<E, S> {
            $(
                #[doc = concat!("Expansion of [`Tile::", stringify!($name), "`].")]
                pub fn $expand(&self, scope: &Scope, other: OperandExpand<E, S>) -> TileExpand<bool, S>
                $(where E: $bound)?
                {
                    let (other, _) = other.resolve(scope);
                    self.both(&other, |$scope, $a, $b| $packet)
                }
            )*
        }
    };
}
comparisons! {
    /// Whether the element is less than the other.
    lt __expand_lt_method Numeric, |scope, a, b| E::__expand_native_lt(scope, a.expand, b.expand).into();
    /// Whether the element is less than or equal to the other.
    le __expand_le_method Numeric, |scope, a, b| E::__expand_native_le(scope, a.expand, b.expand).into();
    /// Whether the element is greater than the other.
    gt __expand_gt_method Numeric, |scope, a, b| E::__expand_native_gt(scope, a.expand, b.expand).into();
    /// Whether the element is greater than or equal to the other.
    ge __expand_ge_method Numeric, |scope, a, b| E::__expand_native_ge(scope, a.expand, b.expand).into();
    /// Whether the element is equal to the other.
    eq __expand_eq_method, |scope, a, b| equal(scope, a, b);
    /// Whether the element is not equal to the other.
    ne __expand_ne_method, |scope, a, b| unequal(scope, a, b);
}

/// Elements of another type, and functions of one's own.
impl<'a, E: Scalar, S: TileShape> Tile<'a, E, S> {
    /// Whether each element is no number.
    pub fn is_nan(&self) -> Tile<'a, bool, S>
    where
        E: Real,
    {
        cubecl::unexpanded!()
    }

    /// The elements as those of another type, as `as` does where the other type has the value. Integers keep their low
    /// bits; a float that the other type cannot hold, or NaN as an integer, gives no matter what. `true` is 1, and what is
    /// not 0 is `true`.
    pub fn cast<F: Scalar>(&self) -> Tile<'a, F, S> {
        cubecl::unexpanded!()
    }

    /// What a function of one's own makes of each element. It names nothing of the kernel around it: what else it needs
    /// goes through [`zip`](Self::zip), as a tile.
    ///
    /// ```
    /// use cubecl::prelude::*;
    /// use girih::prelude::*;
    ///
    /// #[cube]
    /// fn swish(x: f32) -> f32 {
    ///     x / (1.0 + (-x).exp())
    /// }
    ///
    /// #[cube(launch_unchecked)]
    /// fn kernel(x: &[f32], out: &mut [f32]) {
    ///     let cube = this_cube();
    ///     let x = TileView::<f32, shape![256]>::of(x).load(&cube, CUBE_POS);
    ///     let y = x.map(|x| swish(x));
    ///     TileViewMut::<f32, shape![256]>::of(out).store(&cube, y, CUBE_POS);
    /// }
    /// # fn main() {}
    /// ```
    #[allow(unused_variables)]
    pub fn map<F: Scalar>(&self, function: impl Fn(E) -> F + 'static) -> Tile<'a, F, S> {
        cubecl::unexpanded!()
    }

    /// What a function of one's own makes of each element and that of another tile, as [`map`](Self::map).
    ///
    /// ```
    /// use cubecl::prelude::*;
    /// use girih::prelude::*;
    ///
    /// #[cube(launch_unchecked)]
    /// fn scale(x: &[f32], out: &mut [f32], factor: f32) {
    ///     let cube = this_cube();
    ///     let x = TileView::<f32, shape![256]>::of(x).load(&cube, CUBE_POS);
    ///     let factor = Tile::<f32, shape![256]>::full(factor);
    ///     let y = x.zip::<f32, f32>(&factor, |x, factor| x * factor + 1.0);
    ///     TileViewMut::<f32, shape![256]>::of(out).store(&cube, y, CUBE_POS);
    /// }
    /// # fn main() {}
    /// ```
    #[allow(unused_variables)]
    pub fn zip<G: Scalar, F: Scalar>(
        &self,
        other: &Tile<'a, G, S>,
        function: impl Fn(E, G) -> F + 'static,
    ) -> Tile<'a, F, S> {
        cubecl::unexpanded!()
    }
}

impl<E: Scalar, S: TileShape> TileExpand<E, S> {
    /// Expansion of [`Tile::is_nan`].
    pub fn __expand_is_nan_method(&self, _scope: &Scope) -> TileExpand<bool, S>
    where
        E: Real,
    {
        // What is not equal to itself is no number.
        self.each(|scope, a| unequal(scope, a, a))
    }
    /// Expansion of [`Tile::cast`].
    pub fn __expand_cast_method<F: Scalar>(&self, _scope: &Scope) -> TileExpand<F, S> {
        self.converted()
    }

    /// The same elements as those of another type.
    pub(super) fn converted<F: Scalar>(&self) -> TileExpand<F, S> {
        self.each(convert)
    }

    /// Expansion of [`Tile::map`].
    pub fn __expand_map_method<F: Scalar>(
        &self,
        _scope: &Scope,
        function: impl Fn(&Scope, NativeExpand<E>) -> NativeExpand<F> + 'static,
    ) -> TileExpand<F, S> {
        self.each(move |scope, a| {
            let mapped = lanes(scope, a).into_iter();
            let mapped: Vec<_> = mapped.map(|lane| function(scope, lane)).collect();
            join(scope, &mapped)
        })
    }
    /// Expansion of [`Tile::zip`].
    pub fn __expand_zip_method<G: Scalar, F: Scalar>(
        &self,
        _scope: &Scope,
        other: &TileExpand<G, S>,
        function: impl Fn(&Scope, NativeExpand<E>, NativeExpand<G>) -> NativeExpand<F> + 'static,
    ) -> TileExpand<F, S> {
        self.both(other, move |scope, a, b| {
            let pairs = lanes(scope, a).into_iter().zip(lanes(scope, b));
            let mapped: Vec<_> = pairs.map(|(a, b)| function(scope, a, b)).collect();
            join(scope, &mapped)
        })
    }
}
