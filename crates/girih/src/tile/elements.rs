//! Operations element by element, in the notation of numbers.

use super::arithmetic::{
    both, choose, differ, distance, divide, either, is_plain_divisor, larger, magnitude, quotient,
    remainder, smaller,
};
use super::packet::Width;
use super::{Operand, OperandExpand, Packet, Tile, TileExpand, TileShape};
use core::ops;
use cubecl::ir::ExpandValue;
use cubecl::prelude::*;

impl<E: Scalar, S: TileShape> TileExpand<E, S> {
    /// The tile of what `f` makes of each packet.
    pub(super) fn each<F: Scalar>(
        &self,
        f: impl Fn(&Scope, Packet<E>) -> Packet<F> + 'static,
    ) -> TileExpand<F, S> {
        let tile = self.clone();
        TileExpand::of(self.grain(), move |scope, place, width| {
            f(scope, tile.packet(scope, place, width))
        })
    }

    /// The tile of what `f` makes of each packet and that of another tile at the same place.
    pub(super) fn both<G: Scalar, F: Scalar>(
        &self,
        other: &TileExpand<G, S>,
        f: impl Fn(&Scope, Packet<E>, Packet<G>) -> Packet<F> + 'static,
    ) -> TileExpand<F, S> {
        let (tile, other) = (self.clone(), other.clone());
        let grain = self.grain().with(other.grain());
        TileExpand::of(grain, move |scope, place, width| {
            let first = tile.packet(scope, place, width);
            let second = other.packet(scope, place, width);
            f(scope, first, second)
        })
    }

    /// The same of three.
    pub(super) fn three<G: Scalar, F: Scalar>(
        &self,
        [second, third]: [&TileExpand<G, S>; 2],
        f: impl Fn(&Scope, Packet<E>, Packet<G>, Packet<G>) -> Packet<F> + 'static,
    ) -> TileExpand<F, S> {
        let tile = self.clone();
        let (second, third) = (second.clone(), third.clone());
        let grain = self.grain().with(second.grain()).with(third.grain());
        TileExpand::of(grain, move |scope, place, width| {
            let first = tile.packet(scope, place, width);
            let second = second.packet(scope, place, width);
            let third = third.packet(scope, place, width);
            f(scope, first, second, third)
        })
    }
}

/// An element that has bitwise, or logical, operations.
#[diagnostic::on_unimplemented(
    message = "tiles of `{Self}` have no bitwise operations",
    note = "`&`, `|`, `^` and `!` work on tiles of integers, bit by bit, and on tiles of `bool`"
)]
pub trait Bits: Scalar + CubeNot {}
#[diagnostic::do_not_recommend]
impl<E: Scalar + CubeNot> Bits for E {}

/// What there is in two values of each operation: of their bits, or of truth values.
struct Bitwise {
    of_bits: fn(&Scope, ExpandValue, ExpandValue) -> ExpandValue,
    of_truth: fn(&Scope, Packet<bool>, Packet<bool>) -> Packet<bool>,
}

impl Bitwise {
    // The instructions are the same for integers of every type.
    const AND: Self = Self {
        of_bits: u32::__expand_native_bitand,
        of_truth: both,
    };
    const OR: Self = Self {
        of_bits: u32::__expand_native_bitor,
        of_truth: either,
    };
    const XOR: Self = Self {
        of_bits: u32::__expand_native_bitxor,
        of_truth: differ,
    };

    fn apply<E: Bits>(&self, scope: &Scope, a: Packet<E>, b: Packet<E>) -> Packet<E> {
        match E::elem_type(scope).is_bool() {
            true => (self.of_truth)(scope, a.expand.into(), b.expand.into())
                .expand
                .into(),
            false => (self.of_bits)(scope, a.expand, b.expand).into(),
        }
    }
}

/// The four ways in which `a * b` can own or borrow two tiles, and `a * 2.0`: rustc checks kernels against them.
macro_rules! operators {
    ($($trait:ident::$method:ident of $bound:ident: $expand:ident,
        |$scope:ident, $a:ident, $b:ident, $known:ident| $packet:expr;)*) => {$(
        operators!(@ $trait $method $bound, Tile<'a, E, S>, Tile<'a, E, S>, 'a);
        operators!(@ $trait $method $bound, Tile<'a, E, S>, &Tile<'a, E, S>, 'a);
        operators!(@ $trait $method $bound, &Tile<'a, E, S>, Tile<'a, E, S>, 'a);
        operators!(@ $trait $method $bound, &Tile<'a, E, S>, &Tile<'a, E, S>, 'a);
        operators!(@ $trait $method $bound, Tile<'a, E, S>, E, 'a);
        operators!(@ $trait $method $bound, &Tile<'a, E, S>, E, 'a);

        impl<E: $bound, S: TileShape> TileExpand<E, S> {
            #[doc = concat!("Expansion of the operator of [`", stringify!($trait), "`](ops::", stringify!($trait), ").")]
            pub fn $expand<O: Into<OperandExpand<E, S>>>(&self, scope: &Scope, other: O) -> Self {
                let (other, $known) = other.into().resolve(scope);
                self.both(&other, move |$scope, $a, $b| $packet)
            }
        }
    )*};
    (@ $trait:ident $method:ident $bound:ident, $left:ty, $right:ty, $lifetime:lifetime) => {
        impl<$lifetime, E: $bound, S: TileShape> ops::$trait<$right> for $left {
            type Output = Tile<$lifetime, E, S>;
            fn $method(self, _other: $right) -> Tile<$lifetime, E, S> {
                cubecl::unexpanded!()
            }
        }
    };
}
operators! {
    Add::add of Numeric: __expand_add_method, |scope, a, b, _known| {
        E::__expand_native_add(scope, a.expand, b.expand).into()
    };
    Sub::sub of Numeric: __expand_sub_method, |scope, a, b, _known| {
        E::__expand_native_sub(scope, a.expand, b.expand).into()
    };
    Mul::mul of Numeric: __expand_mul_method, |scope, a, b, _known| {
        E::__expand_native_mul(scope, a.expand, b.expand).into()
    };
    Div::div of Numeric: __expand_div_method, |scope, a, b, known| {
        match is_plain_divisor::<E>(scope, known) {
            true => divide(scope, a, b),
            false => quotient(scope, a, b),
        }
    };
    Rem::rem of Numeric: __expand_rem_method, |scope, a, b, known| {
        match is_plain_divisor::<E>(scope, known) {
            true => E::__expand_native_rem(scope, a.expand, b.expand).into(),
            false => remainder(scope, a, b),
        }
    };
    BitAnd::bitand of Bits: __expand_bitand_method, |scope, a, b, _known| Bitwise::AND.apply(scope, a, b);
    BitOr::bitor of Bits: __expand_bitor_method, |scope, a, b, _known| Bitwise::OR.apply(scope, a, b);
    BitXor::bitxor of Bits: __expand_bitxor_method, |scope, a, b, _known| Bitwise::XOR.apply(scope, a, b);
    Shl::shl of Int: __expand_shl_method, |scope, a, b, _known| {
        E::__expand_native_shl(scope, a.expand, distance(scope, b).expand).into()
    };
    Shr::shr of Int: __expand_shr_method, |scope, a, b, _known| {
        E::__expand_native_shr(scope, a.expand, distance(scope, b).expand).into()
    };
}

/// An element that can be negated.
#[diagnostic::on_unimplemented(
    message = "tiles of `{Self}` have no negative",
    note = "floats and signed integers have; `Tile::full(0) - tile` wraps"
)]
pub trait Signed: Numeric + ScalarNeg {}
#[diagnostic::do_not_recommend]
impl<E: Numeric + ScalarNeg> Signed for E {}

macro_rules! prefixes {
    ($($trait:ident::$method:ident of $bound:ident: $expand:ident, |$scope:ident, $a:ident| $packet:expr;)*) => {$(
        impl<'a, E: $bound, S: TileShape> ops::$trait for Tile<'a, E, S> {
            type Output = Tile<'a, E, S>;
            fn $method(self) -> Tile<'a, E, S> {
                cubecl::unexpanded!()
            }
        }
        impl<'a, E: $bound, S: TileShape> ops::$trait for &Tile<'a, E, S> {
            type Output = Tile<'a, E, S>;
            fn $method(self) -> Tile<'a, E, S> {
                cubecl::unexpanded!()
            }
        }
        impl<E: $bound, S: TileShape> TileExpand<E, S> {
            #[doc = concat!("Expansion of the operator of [`", stringify!($trait), "`](ops::", stringify!($trait), ").")]
            pub fn $expand(&self, _scope: &Scope) -> Self {
                self.each(|$scope, $a| $packet)
            }
        }
    )*};
}
prefixes! {
    Neg::neg of Signed: __expand_neg_method, |scope, a| E::__expand_native_neg(scope, a.expand).into();
    Not::not of Bits: __expand_not_method, |scope, a| not::expand::<Vector<E, Width>>(scope, a);
}

/// A floating point element.
#[diagnostic::on_unimplemented(
    message = "tiles of `{Self}` have no functions of real numbers",
    note = "`exp`, `sqrt`, `powf` and the like work on tiles of floats: `cast` converts, as in `tile.cast::<f32>().exp()`"
)]
pub trait Real: Float {}
#[diagnostic::do_not_recommend]
impl<E: Float> Real for E {}

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident $expand:ident of $bound:ident, |$scope:ident, $a:ident| $packet:expr;)*) => {
        /// Functions of each element.
        ///
        /// Devices differ in the last digits of what is not exact in floating point, and some by more (see CubeCL's own
        /// functions, which these are).
        ///
        /// ```
        /// use cubecl::prelude::*;
        /// use girih::prelude::*;
        ///
        /// /// The Gaussian error linear unit.
        /// #[cube(launch_unchecked)]
        /// fn gelu(x: &[f32], out: &mut [f32]) {
        ///     let cube = this_cube();
        ///     let x = TileView::<f32, shape![1024]>::of(x).load(&cube, CUBE_POS);
        ///     let y = &x * 0.5 * ((&x * 0.707_106_77).erf() + 1.0);
        ///     TileViewMut::<f32, shape![1024]>::of(out).store(&cube, y, CUBE_POS);
        /// }
        /// # fn main() {}
        /// ```
        impl<'a, E: Scalar, S: TileShape> Tile<'a, E, S> {
            $(
                $(#[$doc])*
                pub fn $name(&self) -> Tile<'a, E, S>
                where
                    E: $bound,
                {
                    cubecl::unexpanded!()
                }
            )*
        }
        impl<E: Scalar, S: TileShape> TileExpand<E, S> {
            $(
                #[doc = concat!("Expansion of [`Tile::", stringify!($name), "`].")]
                pub fn $expand(&self, _scope: &Scope) -> Self
                where
                    E: $bound,
                {
                    self.each(|$scope, $a| $packet)
                }
            )*
        }
    };
}
functions! {
    /// The magnitude. That of the least integer is itself.
    abs __expand_abs_method of Numeric, |scope, a| magnitude(scope, a);
    /// e to the element.
    exp __expand_exp_method of Real, |scope, a| E::__expand_native_exp(scope, a.expand).into();
    /// The natural logarithm.
    ln __expand_ln_method of Real, |scope, a| E::__expand_native_ln(scope, a.expand).into();
    /// The square root.
    sqrt __expand_sqrt_method of Real, |scope, a| E::__expand_native_sqrt(scope, a.expand).into();
    /// 1 over the square root.
    inverse_sqrt __expand_inverse_sqrt_method of Real, |scope, a| E::__expand_native_inverse_sqrt(scope, a.expand).into();
    /// 1 over the element.
    recip __expand_recip_method of Real, |scope, a| E::__expand_native_recip(scope, a.expand).into();
    /// The sine of radians.
    sin __expand_sin_method of Real, |scope, a| E::__expand_native_sin(scope, a.expand).into();
    /// The cosine of radians.
    cos __expand_cos_method of Real, |scope, a| E::__expand_native_cos(scope, a.expand).into();
    /// The hyperbolic tangent.
    tanh __expand_tanh_method of Real, |scope, a| E::__expand_native_tanh(scope, a.expand).into();
    /// The error function.
    erf __expand_erf_method of Real, |scope, a| E::__expand_native_erf(scope, a.expand).into();
    /// The nearest whole number that is not above.
    floor __expand_floor_method of Real, |scope, a| E::__expand_native_floor(scope, a.expand).into();
    /// The nearest whole number that is not below.
    ceil __expand_ceil_method of Real, |scope, a| E::__expand_native_ceil(scope, a.expand).into();
    /// The whole number towards 0.
    trunc __expand_trunc_method of Real, |scope, a| E::__expand_native_trunc(scope, a.expand).into();
    /// The nearest whole number; of two, the even one.
    round __expand_round_method of Real, |scope, a| E::__expand_native_round(scope, a.expand).into();
}

/// Functions of several elements at one place. Where an operand is an element, it is that for all.
impl<'a, E: Scalar, S: TileShape> Tile<'a, E, S> {
    /// The smaller of two; NaN where either is. Of zeros of either sign one is given.
    #[allow(unused_variables)]
    pub fn minimum(&self, other: impl Operand<'a, E, S>) -> Tile<'a, E, S>
    where
        E: Numeric,
    {
        cubecl::unexpanded!()
    }

    /// The larger of two; NaN where either is. Of zeros of either sign one is given.
    #[allow(unused_variables)]
    pub fn maximum(&self, other: impl Operand<'a, E, S>) -> Tile<'a, E, S>
    where
        E: Numeric,
    {
        cubecl::unexpanded!()
    }

    /// The element moved to the nearest of `least..=most`; NaN where any is. `most` where `least` is above it.
    #[allow(unused_variables)]
    pub fn clamp(
        &self,
        least: impl Operand<'a, E, S>,
        most: impl Operand<'a, E, S>,
    ) -> Tile<'a, E, S>
    where
        E: Numeric,
    {
        cubecl::unexpanded!()
    }

    /// The element to a power.
    #[allow(unused_variables)]
    pub fn powf(&self, power: impl Operand<'a, E, S>) -> Tile<'a, E, S>
    where
        E: Real,
    {
        cubecl::unexpanded!()
    }

    /// `self * factor + term`, rounded once on devices that can.
    #[allow(unused_variables)]
    pub fn fma(
        &self,
        factor: impl Operand<'a, E, S>,
        term: impl Operand<'a, E, S>,
    ) -> Tile<'a, E, S>
    where
        E: Real,
    {
        cubecl::unexpanded!()
    }

    /// This element where the mask is true, the other elsewhere. Both are computed.
    ///
    /// ```
    /// use cubecl::prelude::*;
    /// use girih::prelude::*;
    ///
    /// /// A rectified linear unit with a slope below 0.
    /// #[cube(launch_unchecked)]
    /// fn leaky(x: &[f32], out: &mut [f32], slope: f32) {
    ///     let cube = this_cube();
    ///     let x = TileView::<f32, shape![256]>::of(x).load(&cube, CUBE_POS);
    ///     let y = x.select(x.gt(0.0), &x * slope);
    ///     TileViewMut::<f32, shape![256]>::of(out).store(&cube, y, CUBE_POS);
    /// }
    /// # fn main() {}
    /// ```
    #[allow(unused_variables)]
    pub fn select(
        &self,
        mask: impl Operand<'a, bool, S>,
        other: impl Operand<'a, E, S>,
    ) -> Tile<'a, E, S> {
        cubecl::unexpanded!()
    }
}

impl<E: Scalar, S: TileShape> TileExpand<E, S> {
    /// Expansion of [`Tile::minimum`].
    pub fn __expand_minimum_method(&self, scope: &Scope, other: OperandExpand<E, S>) -> Self
    where
        E: Numeric,
    {
        let (other, _) = other.resolve(scope);
        self.both(&other, smaller)
    }
    /// Expansion of [`Tile::maximum`].
    pub fn __expand_maximum_method(&self, scope: &Scope, other: OperandExpand<E, S>) -> Self
    where
        E: Numeric,
    {
        let (other, _) = other.resolve(scope);
        self.both(&other, larger)
    }
    /// Expansion of [`Tile::clamp`].
    pub fn __expand_clamp_method(
        &self,
        scope: &Scope,
        least: OperandExpand<E, S>,
        most: OperandExpand<E, S>,
    ) -> Self
    where
        E: Numeric,
    {
        let bounds = [least.resolve(scope).0, most.resolve(scope).0];
        self.three([&bounds[0], &bounds[1]], |scope, a, least, most| {
            smaller(scope, larger(scope, a, least), most)
        })
    }
    /// Expansion of [`Tile::powf`].
    pub fn __expand_powf_method(&self, scope: &Scope, power: OperandExpand<E, S>) -> Self
    where
        E: Real,
    {
        let (power, _) = power.resolve(scope);
        self.both(&power, |scope, a, power| {
            E::__expand_native_powf(scope, a.expand, power.expand).into()
        })
    }
    /// Expansion of [`Tile::fma`].
    pub fn __expand_fma_method(
        &self,
        scope: &Scope,
        factor: OperandExpand<E, S>,
        term: OperandExpand<E, S>,
    ) -> Self
    where
        E: Real,
    {
        let others = [factor.resolve(scope).0, term.resolve(scope).0];
        self.three([&others[0], &others[1]], |scope, a, factor, term| {
            fma::expand::<Vector<E, Width>>(scope, a, factor, term)
        })
    }
    /// Expansion of [`Tile::select`].
    pub fn __expand_select_method(
        &self,
        scope: &Scope,
        mask: OperandExpand<bool, S>,
        other: OperandExpand<E, S>,
    ) -> Self {
        let (mask, _) = mask.resolve(scope);
        let (other, _) = other.resolve(scope);
        let grain = self.grain().with(other.grain()).with(mask.grain());
        let tile = self.clone();
        TileExpand::of(grain, move |scope, place, width| {
            let mask = mask.packet(scope, place, width);
            let then = tile.packet(scope, place, width);
            let otherwise = other.packet(scope, place, width);
            choose(scope, mask, then, otherwise)
        })
    }
}
