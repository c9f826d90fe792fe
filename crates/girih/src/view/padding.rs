//! What a masked load gives where memory has no element.

use cubecl::prelude::*;

/// A padding that elements of type `E` can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` padding cannot be used with element type `{E}`",
    note = "`Zero` and `Pad(value)` suit every numeric element; `NegZero`, `NaN`, `PosInf` and `NegInf` need a floating point element"
)]
pub trait Padding<E: Scalar>: Copy + 'static {
    /// The value, as an instruction of the kernel that is being expanded.
    fn expand(self, scope: &Scope) -> NativeExpand<E>;
}

macro_rules! paddings {
    ($($(#[$doc:meta])* $name:ident: $bound:ident => |$scope:ident| $value:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name;
        #[diagnostic::do_not_recommend]
        impl<E: $bound> Padding<E> for $name {
            fn expand(self, $scope: &Scope) -> NativeExpand<E> {
                $value
            }
        }
    )*};
}
paddings! {
    /// The additive identity.
    Zero: Numeric => |scope| E::__expand_from_int(scope, 0i64.into());
    /// Minus zero.
    NegZero: Float => |scope| from_bits(scope, 0x8000_0000);
    /// A quiet NaN.
    NaN: Float => |scope| from_bits(scope, 0x7fc0_0000);
    /// Plus infinity.
    PosInf: Float => |scope| from_bits(scope, 0x7f80_0000);
    /// Minus infinity.
    NegInf: Float => |scope| from_bits(scope, 0xff80_0000);
}

/// Any value that is known when the kernel is expanded: `comptime!(Pad(2.5f32))`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pad<T>(pub T);
#[diagnostic::do_not_recommend]
impl<E: Numeric> Padding<E> for Pad<E> {
    fn expand(self, scope: &Scope) -> NativeExpand<E> {
        self.0.__expand_runtime_method(scope)
    }
}

/// Goes through the bits, since WGSL has no literal for a value that is not finite, and through an unfolded
/// value, since an optimiser may take -0 for 0.
fn from_bits<E: Float>(scope: &Scope, bits: u32) -> NativeExpand<E> {
    let single = f32::__expand_reinterpret::<u32>(scope, bits.into());
    E::__expand_cast_from(scope, single)
}

/// Any [`Padding`] as an argument of a method of an expanded kernel.
pub struct PadValue<E: Scalar>(Box<Value<E>>);

/// Emits the value.
type Value<E> = dyn Fn(&Scope) -> NativeExpand<E>;

impl<E: Scalar> PadValue<E> {
    pub(crate) fn value(&self, scope: &Scope) -> NativeExpand<E> {
        (self.0)(scope)
    }
}
impl<E: Scalar, P: Padding<E>> From<P> for PadValue<E> {
    fn from(padding: P) -> Self {
        PadValue(Box::new(move |scope| padding.expand(scope)))
    }
}
