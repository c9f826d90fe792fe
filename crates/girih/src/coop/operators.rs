//! Associative operations, which collectives combine values by.

use cubecl::prelude::*;

/// An operation that targets may have instructions for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Known {
    /// [`Sum`].
    Sum,
    /// [`Product`].
    Product,
    /// [`Min`].
    Min,
    /// [`Max`].
    Max,
    /// [`And`].
    And,
    /// [`Or`].
    Or,
    /// [`Xor`].
    Xor,
}

/// An associative operation on elements of type `E`: `combine(a, combine(b, c))` is `combine(combine(a, b), c)`. It need not
/// commute: collectives keep the order of ranks.
///
/// [`Sum`], [`Product`], [`Min`], [`Max`], [`And`], [`Or`] and [`Xor`] are such operations, and so is a type of one's own:
///
/// ```
/// use cubecl::prelude::*;
/// use girih::coop::Associative;
/// use girih::prelude::*;
///
/// /// Keeps the last number that is not 0.
/// struct LastNonZero;
///
/// #[cube]
/// impl Associative<u32> for LastNonZero {
///     fn combine(first: u32, second: u32) -> u32 {
///         select(second == 0, first, second)
///     }
/// }
///
/// #[cube(launch_unchecked)]
/// fn fill_gaps(values: &mut [u32]) {
///     let unit = UNIT_POS as usize;
///     values[unit] = this_cube().inclusive_scan::<u32, LastNonZero>(values[unit]);
/// }
/// # fn main() {}
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no associative operation on elements of type `{E}`",
    note = "`girih::coop` has `Sum`, `Product`, `Min` and `Max` of numbers, and `And`, `Or` and `Xor` of integers"
)]
pub trait Associative<E: CubePrimitive>: 'static + Send + Sync {
    /// Which operation it is, if it is one that targets may have instructions for; it then also commutes.
    const KNOWN: Option<Known> = None;

    /// The two combined; `first` is of a lower rank.
    fn combine(first: E, second: E) -> E;

    /// Expansion of [`combine`](Self::combine).
    fn __expand_combine(
        scope: &Scope,
        first: NativeExpand<E>,
        second: NativeExpand<E>,
    ) -> NativeExpand<E>;
}

macro_rules! operators {
    ($($(#[$doc:meta])* $name:ident of $bound:ident by |$scope:ident, $first:ident, $second:ident| $combined:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name;

        // What is missing is named by the trait's own words.
        #[diagnostic::do_not_recommend]
        impl<E: $bound> Associative<E> for $name {
            const KNOWN: Option<Known> = Some(Known::$name);

            fn combine(_first: E, _second: E) -> E {
                cubecl::unexpanded!()
            }

            fn __expand_combine(
                $scope: &Scope,
                $first: NativeExpand<E>,
                $second: NativeExpand<E>,
            ) -> NativeExpand<E> {
                $combined
            }
        }
    )*};
}
operators! {
    /// Addition; integers wrap.
    Sum of Numeric by |scope, first, second| first.__expand_add_method(scope, second);
    /// Multiplication; integers wrap.
    Product of Numeric by |scope, first, second| first.__expand_mul_method(scope, second);
    /// The smaller number. Of floats none may be NaN.
    Min of Numeric by |scope, first, second| {
        let is_smaller = second.__expand_lt_method(scope, &first);
        select::expand::<E>(scope, is_smaller, second, first)
    };
    /// The larger number. Of floats none may be NaN.
    Max of Numeric by |scope, first, second| {
        let is_larger = first.__expand_lt_method(scope, &second);
        select::expand::<E>(scope, is_larger, second, first)
    };
    /// Bitwise and.
    And of Int by |scope, first, second| first.__expand_bitand_method(scope, second);
    /// Bitwise or.
    Or of Int by |scope, first, second| first.__expand_bitor_method(scope, second);
    /// Bitwise exclusive or.
    Xor of Int by |scope, first, second| first.__expand_bitxor_method(scope, second);
}
