//! What a scan combines by.
// CubeCL's macro writes undocumented twins of the trait's functions.
#![allow(missing_docs)]
// The expansions use them.
#![allow(clippy::extra_unused_type_parameters)]

use core::marker::PhantomData;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use girih::coop::{Associative, Known};

/// An associative operation that [`scan_with`](crate::scan_with) combines elements by, written once for every element type.
///
/// It need not commute: a scan keeps the order of elements. A scan of f16 or bf16 computes in f32.
///
/// ```
/// use cubecl::prelude::*;
/// use girih_kernels::ScanOperator;
///
/// /// Keeps the last number that is not 0: a scan by it fills gaps.
/// struct LastNonZero;
///
/// #[cube]
/// impl ScanOperator for LastNonZero {
///     fn identity<A: Numeric>() -> A {
///         A::from_int(0)
///     }
///     fn combine<A: Numeric>(first: A, second: A) -> A {
///         select(second == A::from_int(0), first, second)
///     }
/// }
/// # fn main() {}
/// ```
#[cube]
pub trait ScanOperator: 'static + Send + Sync {
    /// Which of the operations it is that planes have instructions for, if it is one.
    const KNOWN: Option<Known> = None;
    /// Whether an exclusive scan of floats gives 0 where -0 is before an element, as a sum that begins with 0 does.
    const UNSIGNED_ZERO: bool = false;

    /// What leaves every value as it is, on both sides.
    fn identity<A: Numeric>() -> A;

    /// The two combined; `first` comes before `second`.
    fn combine<A: Numeric>(first: A, second: A) -> A;
}

/// What an exclusive scan gives for what is before an element.
///
/// By the bits: an optimiser takes the sum of 0 and a value for the value, and drops what the sum does to a sign.
#[cube]
#[allow(unused_variables)]
pub(crate) fn excluded<A: Numeric, O: ScanOperator>(before: A) -> A {
    intrinsic!(|scope| {
        match A::elem_type(scope) {
            ElemType::Float(kind) if O::UNSIGNED_ZERO => match kind {
                FloatKind::F64 => without_sign_of_zero::<A, u64>(scope, before, 1 << 63),
                _ => without_sign_of_zero::<A, u32>(scope, before, 1 << 31),
            },
            // As it is now, whatever is assigned later to the variable that it came from.
            _ => before.read_value(scope).into(),
        }
    })
}

/// The value, or 0 for -0, which has these bits.
fn without_sign_of_zero<A: Numeric, B: Int>(
    scope: &Scope,
    value: NativeExpand<A>,
    negative_zero: i128,
) -> NativeExpand<A> {
    let bits = B::__expand_reinterpret::<A>(scope, value);
    let negative_zero = B::from_int_128(negative_zero).__expand_runtime_method(scope);
    let is_it = bits.__expand_eq_method(scope, &negative_zero);
    let zero = B::from_int(0).__expand_runtime_method(scope);
    let bits = select::expand::<B>(scope, is_it, zero, bits);
    A::__expand_reinterpret::<B>(scope, bits).expand.into()
}

/// A [`ScanOperator`] as the collectives take it.
pub(crate) struct By<O>(PhantomData<O>);

impl<A: Numeric, O: ScanOperator> Associative<A> for By<O> {
    const KNOWN: Option<Known> = O::KNOWN;

    fn combine(_first: A, _second: A) -> A {
        cubecl::unexpanded!()
    }

    fn __expand_combine(
        scope: &Scope,
        first: NativeExpand<A>,
        second: NativeExpand<A>,
    ) -> NativeExpand<A> {
        O::__expand_combine::<A>(scope, first, second)
    }
}

/// Addition; integers wrap.
pub struct Sum;

#[cube]
impl ScanOperator for Sum {
    const KNOWN: Option<Known> = Some(Known::Sum);
    const UNSIGNED_ZERO: bool = true;

    fn identity<A: Numeric>() -> A {
        negative_zero::<A>()
    }
    fn combine<A: Numeric>(first: A, second: A) -> A {
        first + second
    }
}

/// Multiplication; integers wrap.
pub struct Product;

#[cube]
impl ScanOperator for Product {
    const KNOWN: Option<Known> = Some(Known::Product);

    fn identity<A: Numeric>() -> A {
        A::from_int(1)
    }
    fn combine<A: Numeric>(first: A, second: A) -> A {
        first * second
    }
}

/// The smaller, of equal ones the first; a NaN stays.
pub struct Min;

#[cube]
impl ScanOperator for Min {
    fn identity<A: Numeric>() -> A {
        extreme::<A>(true)
    }
    fn combine<A: Numeric>(first: A, second: A) -> A {
        select(second < first || is_nan::<A>(second), second, first)
    }
}

/// The larger, of equal ones the first; a NaN stays.
pub struct Max;

#[cube]
impl ScanOperator for Max {
    fn identity<A: Numeric>() -> A {
        extreme::<A>(false)
    }
    fn combine<A: Numeric>(first: A, second: A) -> A {
        select(first < second || is_nan::<A>(second), second, first)
    }
}

/// Adding it changes no value: minus zero of floats, whose sum with itself keeps its sign.
#[cube]
fn negative_zero<A: Numeric>() -> A {
    intrinsic!(|scope| {
        match A::elem_type(scope) {
            ElemType::Float(_) => of_bits::<A>(scope, 0x8000_0000),
            _ => A::__expand_from_int(scope, 0i64.into()),
        }
    })
}

/// The largest value of the type, or the smallest: of floats an infinity.
#[cube]
pub(crate) fn extreme<A: Numeric>(#[comptime] largest: bool) -> A {
    intrinsic!(|scope| {
        match A::elem_type(scope) {
            ElemType::Float(_) if largest => of_bits::<A>(scope, 0x7f80_0000),
            ElemType::Float(_) => of_bits::<A>(scope, 0xff80_0000),
            _ if largest => A::__expand_max_value(scope),
            _ => A::__expand_min_value(scope),
        }
    })
}

/// Through the bits, since WGSL has no literal for a value that is not finite, and an optimiser may take -0 for 0.
fn of_bits<A: Numeric>(scope: &Scope, bits: u32) -> NativeExpand<A> {
    let single = f32::__expand_reinterpret::<u32>(scope, bits.into());
    A::__expand_cast_from(scope, single)
}

/// Whether a value is no number; integers all are.
#[cube]
#[allow(unused_variables)]
fn is_nan<A: Numeric>(value: A) -> bool {
    intrinsic!(|scope| {
        match A::elem_type(scope) {
            ElemType::Float(_) => {
                let equal = value.__expand_eq_method(scope, &value);
                equal.__expand_not_method(scope)
            }
            _ => false.into(),
        }
    })
}
