//! [`SpinLock`]: one unit at a time.

use super::orders::{Ordered, Orders};
use super::require;
use crate::device;
use crate::error::Result;
use crate::memory::access::Operation;
use crate::memory::atomic::{AtomicExt, AtomicExtExpand, AtomicRef};
use crate::memory::order::{MemoryOrder, Relaxed};
use crate::memory::scope::KnownScope;
use core::marker::PhantomData;
use cubecl::frontend::branch;
use cubecl::prelude::*;

/// A lock that units of the scope `S` take in turn: test, then test and set.
///
/// # Promise
/// Between a [`try_lock`](Self::try_lock) that gave true and the [`unlock`](Self::unlock) after it no other unit is
/// between its own, and the unit sees what those before it wrote there. Nothing is promised of the turns' order.
///
/// # Proof
/// *One at a time*: an exchange that reads 0 took the lock, and the next exchange reads 0 only after a store of 0, which
/// only the holder does. *Seen*: the holder's writes are before its `unlock`, a release. The next `try_lock` that
/// succeeds is an exchange that reads that 0, an acquire: the two synchronise, so that what was before the one is seen
/// after the other. The load that looks first has no order, and needs none: it only spares the exchange.
///
/// # Units of one plane
/// Where a plane runs in lockstep, a unit that spins keeps the holder beside it from ever reaching `unlock`. So
/// [`with`](Self::with) lets the units of a plane contend one after another, and holds the critical section within: it is
/// safe on every device, in any control flow. Of the bare `try_lock` only one unit of a plane may wait for success.
///
/// # Scopes
/// [`Device`](crate::memory::Device) over a cell of a buffer, [`Cube`](crate::memory::Cube) over one in shared memory,
/// which a unit must set to 0 and the cube sync before use. At a scope that is too narrow for its users the lock is no
/// lock.
///
/// # Backends
/// CUDA: `atom.acquire.exch` and `st.release` at the scope. CPU: `atomicrmw xchg acquire`, `store atomic release`.
/// Vulkan: the same with memory semantics; what is guarded belongs in atomics ([why](super#what-the-others-see)). WGSL:
/// refused.
///
/// ```
/// use cubecl::prelude::*;
/// use girih::memory::blocks::SpinLock;
/// use girih::prelude::*;
///
/// /// Keeps the smallest value and where it lies, which together are no single atomic.
/// #[cube(launch_unchecked)]
/// fn argmin(values: &[u32], best: &[Atomic<u32>], lock: &[Atomic<u32>]) {
///     let lock = SpinLock::<Device>::new(&lock[0]);
///     if ABSOLUTE_POS < values.len() {
///         let value = values[ABSOLUTE_POS];
///         lock.with(|| {
///             if value < best[0].at::<Device>().load::<Relaxed>() {
///                 best[0].at::<Device>().store::<Relaxed>(value);
///                 best[1].at::<Device>().store::<Relaxed>(ABSOLUTE_POS as u32);
///             }
///         });
///     }
/// }
/// # fn main() {}
/// ```
#[derive(CubeType, Clone, Copy)]
#[expand(derive(Clone, Copy))]
pub struct SpinLock<S: KnownScope, O: Orders = Ordered> {
    cell: AtomicRef<u32, S>,
    #[cube(comptime)]
    _orders: PhantomData<O>,
}

#[cube]
impl<S: KnownScope> SpinLock<S, Ordered> {
    /// A lock over a cell: 0 where nobody holds it.
    pub fn new(cell: &Atomic<u32>) -> Self {
        SpinLock::<S, Ordered>::with_orders(cell)
    }
}

#[cube]
impl<S: KnownScope, O: Orders> SpinLock<S, O> {
    #[doc(hidden)]
    pub fn with_orders(cell: &Atomic<u32>) -> Self {
        SpinLock::<S, O> {
            cell: cell.at::<S>(),
            _orders: PhantomData,
        }
    }

    /// Takes the lock if nobody holds it, and says whether it did. It does not wait.
    pub fn try_lock(&self) -> bool {
        let mut locked = false;
        if self.cell.load::<Relaxed>() == 0u32 {
            locked = self.cell.exchange::<O::Acquiring>(1u32) == 0u32;
        }
        locked
    }

    /// Gives the lock back; for the unit that holds it.
    pub fn unlock(&self) {
        self.cell.store::<O::Releasing>(0u32);
    }
}

impl<S: KnownScope, O: Orders> SpinLock<S, O> {
    /// Runs `body` while this unit alone holds the lock; waits for the lock as long as it takes.
    ///
    /// The units of a plane come one after another. `body` must neither sync the cube or the plane nor take the same
    /// lock.
    #[allow(unused_variables)]
    pub fn with(&self, body: impl FnMut()) {
        cubecl::unexpanded!()
    }

    /// [`with`](Self::with), unless the lock was found held `tries` times: whether `body` ran.
    #[allow(unused_variables)]
    pub fn with_at_most(&self, tries: u32, body: impl FnMut()) -> bool {
        cubecl::unexpanded!()
    }
}

impl<S: KnownScope> SpinLock<S, Ordered> {
    /// Whether the device can run it.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) with the access that the device lacks.
    pub fn require(device: &device::Device) -> Result<()> {
        let accesses = [
            (Operation::Load, MemoryOrder::Relaxed),
            (Operation::Exchange, MemoryOrder::Acquire),
            (Operation::Store, MemoryOrder::Release),
        ];
        require(device, "SpinLock", S::SCOPE, &accesses)
    }
}

impl<S: KnownScope, O: Orders> SpinLockExpand<S, O> {
    /// Expansion of [`SpinLock::with`].
    pub fn __expand_with_method(&self, scope: &Scope, mut body: impl FnMut(&Scope)) {
        self.in_turn(scope, None, &mut body);
    }

    /// Expansion of [`SpinLock::with_at_most`].
    pub fn __expand_with_at_most_method(
        &self,
        scope: &Scope,
        tries: NativeExpand<u32>,
        mut body: impl FnMut(&Scope),
    ) -> NativeExpand<bool> {
        self.in_turn(scope, Some(tries), &mut body)
    }

    /// One unit of the plane after another: no unit then waits for one that cannot go on before it has stopped waiting.
    fn in_turn(
        &self,
        scope: &Scope,
        tries: Option<NativeExpand<u32>>,
        body: &mut dyn FnMut(&Scope),
    ) -> NativeExpand<bool> {
        let mut ran = NativeExpand::from(false).into_mut(scope);
        let turns = RangeExpand::new(0u32.into(), PLANE_DIM::expand(scope));
        branch::for_expand(scope, turns, false, |scope, turn| {
            let mine = is_this_unit::expand(scope, turn);
            branch::if_expand(scope, mine, |scope| {
                self.once(scope, tries, &mut ran, body);
            });
        });
        ran
    }

    /// Tries until the lock is this unit's, or the tries are used up; runs the body within the try that succeeds.
    fn once(
        &self,
        scope: &Scope,
        tries: Option<NativeExpand<u32>>,
        ran: &mut NativeExpand<bool>,
        body: &mut dyn FnMut(&Scope),
    ) {
        let mut waiting = NativeExpand::from(true).into_mut(scope);
        let mut left = tries.unwrap_or(0u32.into()).into_mut(scope);
        branch::WhileBuilder::new(scope, |_| waiting).with_body(scope, |scope| {
            let locked = self.__expand_try_lock_method(scope);
            branch::if_else_expand(scope, locked, |scope| {
                body(scope);
                self.__expand_unlock_method(scope);
                ran.__expand_assign_method(scope, true.into());
                waiting.__expand_assign_method(scope, false.into());
            })
            .or_else(scope, |scope| {
                if tries.is_some() {
                    let less = one_less::expand(scope, left);
                    left.__expand_assign_method(scope, less);
                    let more = some_left::expand(scope, less);
                    waiting.__expand_assign_method(scope, more);
                }
            });
        });
    }
}

/// Whether the unit is the one of that number in its plane.
#[cube]
fn is_this_unit(number: u32) -> bool {
    UNIT_POS_PLANE == number
}

/// One try less, down to none.
#[cube]
fn one_less(tries: u32) -> u32 {
    tries - u32::cast_from(tries > 0u32)
}

/// Whether there are tries left.
#[cube]
fn some_left(tries: u32) -> bool {
    tries > 0u32
}
