//! [`AtomicRef`]: an atomic of a buffer or of shared memory, at a scope.

use super::access::{AtomicAccess, Operation};
use super::cell::{CellExpand, Strength};
use super::emit;
use super::order::{KnownOrder, LoadOrder, MemoryOrder, StoreOrder, UpdateOrder};
use super::scope::{KnownScope, MemoryScope};
use crate::handle::comptime_handle;
use core::marker::PhantomData;
use cubecl::prelude::*;

/// No order, and so no scope that matters.
const WEAK: Strength = Strength {
    order: MemoryOrder::Weak,
    scope: MemoryScope::Unit,
};

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
    cell: CellExpand<T>,
    _scope: PhantomData<S>,
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
            cell: CellExpand::of(scope, self),
            _scope: PhantomData,
        }
    }
    fn __expand_load_weak_method(&self, scope: &Scope) -> NativeExpand<T> {
        CellExpand::of(scope, self).load(scope, WEAK)
    }
    fn __expand_store_weak_method(&self, scope: &Scope, value: NativeExpand<T>) {
        CellExpand::of(scope, self).store(scope, value, WEAK);
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
                self.cell.update(scope, value, Operation::$operation, strength::<O, S>())
            }
        )*}
    };
}
updates! {
    /// Replaces what the memory holds, and gives what it held.
    exchange, __expand_exchange_method, Exchange, Numeric;
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

impl<T: CubePrimitive, S: KnownScope> AtomicRefExpand<T, S> {
    /// Expansion of [`AtomicRef::reinterpret`].
    pub fn __expand_reinterpret_method<F: Scalar>(&self, scope: &Scope) -> AtomicRefExpand<F, S> {
        AtomicRefExpand {
            cell: self.cell.reinterpret(scope),
            _scope: PhantomData,
        }
    }
    /// Expansion of [`AtomicRef::load`].
    pub fn __expand_load_method<O: LoadOrder>(&self, scope: &Scope) -> NativeExpand<T> {
        self.cell.load(scope, strength::<O, S>())
    }
    /// Expansion of [`AtomicRef::store`].
    pub fn __expand_store_method<O: StoreOrder>(&self, scope: &Scope, value: NativeExpand<T>) {
        self.cell.store(scope, value, strength::<O, S>());
    }
    /// Expansion of [`AtomicRef::compare_exchange`].
    pub fn __expand_compare_exchange_method<O: UpdateOrder>(
        &self,
        scope: &Scope,
        expected: NativeExpand<T>,
        value: NativeExpand<T>,
    ) -> NativeExpand<T> {
        self.cell
            .compare_exchange(scope, expected, value, strength::<O, S>())
    }
}

fn strength<O: KnownOrder, S: KnownScope>() -> Strength {
    Strength {
        order: O::ORDER,
        scope: S::SCOPE,
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
