//! [`AtomicRef`]: an atomic of a buffer or of shared memory, at a scope.

use super::access::{AtomicAccess, Operation, Path, bits_of};
use super::combine::by_compare_exchange;
use super::emit::{self, Site};
use super::order::{KnownOrder, LoadOrder, MemoryOrder, StoreOrder, UpdateOrder};
use super::scope::{KnownScope, Unit};
use crate::handle::comptime_handle;
use core::marker::PhantomData;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use pliron::value::Value;

/// An atomic, accessed at the scope `S`, by analogy with C++'s `cuda::atomic_ref<T, scope>`.
///
/// Each operation names its order: `cell.load::<Acquire>()`. An order that the operation cannot have does not compile.
/// `T` is an integer or a float of 32 or 64 bits, f16 or bf16 where the device has them, or a vector of them where it
/// combines vectors. Where a device lacks an operation but can compare and exchange the bits, that is tried until no
/// other unit came between, with the same promise. What a device can do neither way is refused by name
/// ([`Device::require_atomic`](crate::device::Device::require_atomic), or the first read after the kernel).
///
/// An old value that nobody reads is not fetched: on CUDA the operation is then a reduction (`red`).
///
/// ```
/// use cubecl::prelude::*;
/// use girih::prelude::*;
///
/// /// Each unit writes its share of the result, then says so.
/// #[cube(launch_unchecked)]
/// fn publish(result: &[Atomic<u32>], ready: &[Atomic<u32>], value: u32) {
///     result[UNIT_POS as usize].at::<Device>().store::<Relaxed>(value);
///     ready[0].at::<Device>().fetch_add::<Release>(1u32);
/// }
/// # fn main() {}
/// ```
pub struct AtomicRef<T: CubePrimitive, S: KnownScope> {
    _element: PhantomData<T>,
    _scope: PhantomData<S>,
}

impl<T: CubePrimitive, S: KnownScope> Clone for AtomicRef<T, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: CubePrimitive, S: KnownScope> Copy for AtomicRef<T, S> {}

/// What an [`AtomicRef`] is while the kernel is expanded.
pub struct AtomicRefExpand<T: CubePrimitive, S: KnownScope> {
    ptr: Value,
    /// What the memory is declared to hold.
    stored: ElemType,
    _ref: PhantomData<(T, S)>,
}

impl<T: CubePrimitive, S: KnownScope> Clone for AtomicRefExpand<T, S> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: CubePrimitive, S: KnownScope> Copy for AtomicRefExpand<T, S> {}
impl<T: CubePrimitive, S: KnownScope> CubeType for AtomicRef<T, S> {
    type ExpandType = AtomicRefExpand<T, S>;
}
comptime_handle!([T: CubePrimitive, S: KnownScope] AtomicRefExpand<T, S>);

/// What girih adds to CubeCL's [`Atomic`].
pub trait AtomicExt<T: CubePrimitive> {
    /// The atomic at a scope.
    fn at<S: KnownScope>(&self) -> AtomicRef<T, S> {
        cubecl::unexpanded!()
    }
    /// What the memory holds, by a load that is not atomic: for memory that no other unit writes at the same time.
    fn load_weak(&self) -> T {
        cubecl::unexpanded!()
    }
    /// Replaces what the memory holds, by a store that is not atomic: for memory that no other unit touches at the same
    /// time.
    #[allow(unused_variables)]
    fn store_weak(&self, value: T) {
        cubecl::unexpanded!()
    }
}
impl<T: CubePrimitive> AtomicExt<T> for Atomic<T> {}

/// Expansion of [`AtomicExt`].
pub trait AtomicExtExpand<T: CubePrimitive> {
    /// Expansion of [`AtomicExt::at`].
    fn __expand_at_method<S: KnownScope>(&self, scope: &Scope) -> AtomicRefExpand<T, S>;
    /// Expansion of [`AtomicExt::load_weak`].
    fn __expand_load_weak_method(&self, scope: &Scope) -> NativeExpand<T>;
    /// Expansion of [`AtomicExt::store_weak`].
    fn __expand_store_weak_method(&self, scope: &Scope, value: NativeExpand<T>);
}
impl<T: CubePrimitive> AtomicExtExpand<T> for NativeExpand<Atomic<T>> {
    fn __expand_at_method<S: KnownScope>(&self, scope: &Scope) -> AtomicRefExpand<T, S> {
        AtomicRefExpand {
            ptr: self.value(scope),
            stored: T::Scalar::elem_type(scope),
            _ref: PhantomData,
        }
    }
    fn __expand_load_weak_method(&self, scope: &Scope) -> NativeExpand<T> {
        let cell = self.__expand_at_method::<Unit>(scope);
        cell.load_ordered(scope, MemoryOrder::Weak)
    }
    fn __expand_store_weak_method(&self, scope: &Scope, value: NativeExpand<T>) {
        let cell = self.__expand_at_method::<Unit>(scope);
        cell.store_ordered(scope, value, MemoryOrder::Weak);
    }
}

impl<T: CubePrimitive, S: KnownScope> AtomicRef<T, S> {
    /// The same memory, its bits read as `F`, a number of the same size.
    ///
    /// Memory that is declared as unsigned integers has every operation on floats on every device that can compare and
    /// exchange those integers, also where the device has no atomic floats (Vulkan's `min`, `max` and `mul`, say).
    pub fn reinterpret<F: Scalar>(&self) -> AtomicRef<F, S> {
        cubecl::unexpanded!()
    }
    /// What the memory holds.
    pub fn load<O: LoadOrder>(&self) -> T {
        cubecl::unexpanded!()
    }
    /// Replaces what the memory holds.
    #[allow(unused_variables)]
    pub fn store<O: StoreOrder>(&self, value: T) {
        cubecl::unexpanded!()
    }
    /// Replaces what the memory holds, and gives what it held.
    #[allow(unused_variables)]
    pub fn exchange<O: UpdateOrder>(&self, value: T) -> T
    where
        T::Scalar: Numeric,
    {
        cubecl::unexpanded!()
    }
    /// Replaces what the memory holds if that is, bit for bit, `expected`, and gives what it held: the exchange was done
    /// if that is `expected`. It never fails without cause. A failure has the order's half of a read.
    #[allow(unused_variables)]
    pub fn compare_exchange<O: UpdateOrder>(&self, expected: T, value: T) -> T {
        cubecl::unexpanded!()
    }
}

macro_rules! updates {
    ($($(#[$doc:meta])* $method:ident, $expand:ident, $operation:ident, $bound:ident;)*) => {
        impl<T: CubePrimitive, S: KnownScope> AtomicRef<T, S> {$(
            $(#[$doc])*
            #[allow(unused_variables)]
            pub fn $method<O: UpdateOrder>(&self, value: T) -> T
            where
                T::Scalar: $bound,
            {
                cubecl::unexpanded!()
            }
        )*}
        impl<T: CubePrimitive, S: KnownScope> AtomicRefExpand<T, S> {$(
            #[doc = concat!("Expansion of [`AtomicRef::", stringify!($method), "`].")]
            pub fn $expand<O: UpdateOrder>(&self, scope: &Scope, value: NativeExpand<T>) -> NativeExpand<T>
            where
                T::Scalar: $bound,
            {
                self.update::<O>(scope, value, Operation::$operation)
            }
        )*}
    };
}
updates! {
    /// Adds to what the memory holds, and gives what it held. Integers wrap.
    fetch_add, __expand_fetch_add_method, Add, Numeric;
    /// Subtracts from what the memory holds, and gives what it held. Integers wrap.
    fetch_sub, __expand_fetch_sub_method, Sub, Numeric;
    /// Multiplies what the memory holds, and gives what it held. Integers wrap.
    fetch_mul, __expand_fetch_mul_method, Mul, Numeric;
    /// Keeps the smaller of what the memory holds and `value`, and gives what it held. -0 is below +0; of a number and a
    /// NaN the number is kept (IEEE 754-2019 `minimumNumber`).
    fetch_min, __expand_fetch_min_method, Min, Numeric;
    /// Keeps the larger of what the memory holds and `value`, and gives what it held. +0 is above -0; of a number and a
    /// NaN the number is kept (IEEE 754-2019 `maximumNumber`).
    fetch_max, __expand_fetch_max_method, Max, Numeric;
    /// Bitwise and of what the memory holds and `value`; gives what it held.
    fetch_and, __expand_fetch_and_method, And, Int;
    /// Bitwise or of what the memory holds and `value`; gives what it held.
    fetch_or, __expand_fetch_or_method, Or, Int;
    /// Bitwise exclusive or of what the memory holds and `value`; gives what it held.
    fetch_xor, __expand_fetch_xor_method, Xor, Int;
}

/// Runs a generic body with the unsigned integer as wide as the element of `$self`.
macro_rules! with_bits {
    ($scope:expr, $element:expr, $bits:ident => $body:expr) => {
        match $element.size() {
            1 => {
                type $bits = u8;
                $body
            }
            2 => {
                type $bits = u16;
                $body
            }
            4 => {
                type $bits = u32;
                $body
            }
            _ => {
                type $bits = u64;
                $body
            }
        }
    };
}

impl<T: CubePrimitive, S: KnownScope> AtomicRefExpand<T, S> {
    /// Expansion of [`AtomicRef::reinterpret`].
    pub fn __expand_reinterpret_method<F: Scalar>(&self, scope: &Scope) -> AtomicRefExpand<F, S> {
        let (from, to) = (T::Scalar::elem_type(scope), F::elem_type(scope));
        assert!(
            T::__expand_vector_size(scope) == 1 && from.size() == to.size(),
            "girih: AtomicRef::reinterpret: {from} as {to}; a scalar of the same size"
        );
        AtomicRefExpand {
            ptr: self.ptr,
            stored: self.stored,
            _ref: PhantomData,
        }
    }
    /// Expansion of [`AtomicRef::load`].
    pub fn __expand_load_method<O: LoadOrder>(&self, scope: &Scope) -> NativeExpand<T> {
        self.load_ordered(scope, O::ORDER)
    }
    /// Expansion of [`AtomicRef::store`].
    pub fn __expand_store_method<O: StoreOrder>(&self, scope: &Scope, value: NativeExpand<T>) {
        self.store_ordered(scope, value, O::ORDER);
    }
    /// Expansion of [`AtomicRef::exchange`].
    pub fn __expand_exchange_method<O: UpdateOrder>(
        &self,
        scope: &Scope,
        value: NativeExpand<T>,
    ) -> NativeExpand<T>
    where
        T::Scalar: Numeric,
    {
        self.update::<O>(scope, value, Operation::Exchange)
    }
    /// Expansion of [`AtomicRef::compare_exchange`].
    pub fn __expand_compare_exchange_method<O: UpdateOrder>(
        &self,
        scope: &Scope,
        expected: NativeExpand<T>,
        value: NativeExpand<T>,
    ) -> NativeExpand<T> {
        let site = self.site(O::ORDER);
        let Some(path) = self.path(scope, Operation::CompareExchange, O::ORDER) else {
            return self.nothing(scope);
        };
        let (expected, value) = (expected.read_value(scope), value.read_value(scope));
        match path {
            Path::Native => emit::compare_exchange(scope, site, expected, value).into(),
            Path::Bits => with_bits!(scope, self.element(scope), U => {
                let bits = |value: Value| {
                    U::__expand_reinterpret::<T>(scope, value.into()).read_value(scope)
                };
                let old = emit::compare_exchange(scope, site, bits(expected), bits(value));
                T::__expand_reinterpret::<U>(scope, old.into()).read_value(scope).into()
            }),
        }
    }

    fn element(&self, scope: &Scope) -> ElemType {
        T::Scalar::elem_type(scope)
    }

    fn site(&self, order: MemoryOrder) -> Site {
        Site {
            ptr: self.ptr,
            order,
            scope: S::SCOPE,
        }
    }

    fn path(&self, scope: &Scope, operation: Operation, order: MemoryOrder) -> Option<Path> {
        let access = AtomicAccess::new(operation, self.element(scope))
            .in_bits_of(self.stored)
            .vectors(T::__expand_vector_size(scope))
            .ordered(order, S::SCOPE);
        emit::checked(scope, &access)
    }

    fn nothing(&self, scope: &Scope) -> NativeExpand<T> {
        emit::poison(scope, T::__expand_as_type(scope)).into()
    }

    /// The same memory as unsigned integers, which it is then taken to be declared as.
    fn bits<U: Int>(&self, scope: &Scope) -> AtomicRefExpand<U, S> {
        AtomicRefExpand {
            ptr: self.ptr,
            stored: U::elem_type(scope),
            _ref: PhantomData,
        }
    }

    fn load_ordered(&self, scope: &Scope, order: MemoryOrder) -> NativeExpand<T> {
        let site = self.site(order);
        match self.path(scope, Operation::Load, order) {
            None => self.nothing(scope),
            Some(Path::Native) => emit::load(scope, site, T::__expand_as_type(scope)).into(),
            Some(Path::Bits) => with_bits!(scope, self.element(scope), U => {
                let held = emit::load(scope, site, U::__expand_as_type(scope));
                T::__expand_reinterpret::<U>(scope, held.into()).read_value(scope).into()
            }),
        }
    }

    fn store_ordered(&self, scope: &Scope, value: NativeExpand<T>, order: MemoryOrder) {
        let site = self.site(order);
        let value = value.read_value(scope);
        match self.path(scope, Operation::Store, order) {
            None => {}
            Some(Path::Native) => emit::store(scope, site, value),
            Some(Path::Bits) => with_bits!(scope, self.element(scope), U => {
                let bits = U::__expand_reinterpret::<T>(scope, value.into()).read_value(scope);
                emit::store(scope, site, bits);
            }),
        }
    }

    fn update<O: KnownOrder>(
        &self,
        scope: &Scope,
        value: NativeExpand<T>,
        operation: Operation,
    ) -> NativeExpand<T>
    where
        T::Scalar: Numeric,
    {
        let element = self.element(scope);
        let site = self.site(O::ORDER);
        let Some(path) = self.path(scope, operation, O::ORDER) else {
            return self.nothing(scope);
        };
        let value = value.read_value(scope);
        if path == Path::Native {
            return emit::update(scope, site, value, operation, element).into();
        }
        with_bits!(scope, element, U => {
            let bits = U::__expand_reinterpret::<T>(scope, value.into());
            let native = bits_of(element).is_some_and(|bits| emit::exchanges_bits(scope, bits));
            let old: NativeExpand<U> = if operation == Operation::Exchange && native {
                let bits = bits.read_value(scope);
                emit::update(scope, site, bits, operation, U::elem_type(scope)).into()
            } else {
                let cell = self.bits::<U>(scope);
                by_compare_exchange::expand::<T::Scalar, U, S, O>(scope, cell, bits, operation)
            };
            T::__expand_reinterpret::<U>(scope, old).read_value(scope).into()
        })
    }

    /// Expansion of [`AtomicRef::swap`].
    pub(super) fn __expand_swap_method<O: KnownOrder>(
        &self,
        scope: &Scope,
        expected: NativeExpand<T>,
        value: NativeExpand<T>,
    ) -> NativeExpand<T> {
        let (expected, value) = (expected.read_value(scope), value.read_value(scope));
        emit::compare_exchange(scope, self.site(O::ORDER), expected, value).into()
    }

    /// Expansion of [`AtomicRef::peek`].
    pub(super) fn __expand_peek_method(&self, scope: &Scope) -> NativeExpand<T> {
        let ty = T::__expand_as_type(scope);
        emit::load(scope, self.site(MemoryOrder::Relaxed), ty).into()
    }
}

/// What [`by_compare_exchange`] is made of: the device was found to have both.
impl<T: CubePrimitive, S: KnownScope> AtomicRef<T, S> {
    /// [`compare_exchange`](Self::compare_exchange), in any order.
    #[allow(unused_variables)]
    pub(super) fn swap<O: KnownOrder>(&self, expected: T, value: T) -> T {
        cubecl::unexpanded!()
    }
    /// A relaxed load.
    pub(super) fn peek(&self) -> T {
        cubecl::unexpanded!()
    }
}

/// Orders the accesses around it at the scope `S`: what is before stays before what follows it, as the order says.
///
/// A fence and a relaxed access beside it make an acquire or a release out of the two. WGSL has none, and refuses.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::prelude::*;
///
/// #[cube(launch_unchecked)]
/// fn publish(data: &[Atomic<u32>], flag: &[Atomic<u32>]) {
///     data[0].at::<Device>().store::<Relaxed>(42u32);
///     fence::<Release, Device>();
///     flag[0].at::<Device>().store::<Relaxed>(1u32);
/// }
/// # fn main() {}
/// ```
pub fn fence<O: super::FenceOrder, S: KnownScope>() {
    cubecl::unexpanded!()
}

/// Expansion of [`fence`](fn@fence).
pub mod fence {
    use super::{AtomicAccess, KnownScope, Operation, emit};
    use crate::memory::FenceOrder;
    use cubecl::ir::{ElemType, UIntKind};
    use cubecl::prelude::Scope;

    /// Registers the fence.
    pub fn expand<O: FenceOrder, S: KnownScope>(scope: &Scope) {
        let access = AtomicAccess::new(Operation::Fence, ElemType::UInt(UIntKind::U32))
            .ordered(O::ORDER, S::SCOPE);
        if emit::checked(scope, &access).is_some() {
            emit::fence(scope, O::ORDER, S::SCOPE);
        }
    }
}
