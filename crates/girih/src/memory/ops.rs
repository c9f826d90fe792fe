//! The IR operations that carry an order and a scope to a target's lowering.
//!
//! Not public: kernels reach them through [`AtomicRef`](super::AtomicRef) and [`fence`](super::fence).

use super::order::MemoryOrder;
use super::scope::MemoryScope;
use cubecl::ir::{
    CanMaterialize, HasSideEffects,
    interfaces::side_effects::{MemoryEffect, MemoryEffectsOp},
    prelude::*,
};
use pliron::value::Value;

/// [`MemoryOrder`] as an attribute.
#[pliron_attr(name = "girih.order", format, verifier = "succ")]
#[derive(PartialEq, Eq, Hash, Clone, Copy, Debug)]
pub(crate) enum Order {
    Weak,
    Relaxed,
    Acquire,
    Release,
    AcqRel,
    SeqCst,
}

impl From<MemoryOrder> for Order {
    fn from(order: MemoryOrder) -> Self {
        match order {
            MemoryOrder::Weak => Self::Weak,
            MemoryOrder::Relaxed => Self::Relaxed,
            MemoryOrder::Acquire => Self::Acquire,
            MemoryOrder::Release => Self::Release,
            MemoryOrder::AcqRel => Self::AcqRel,
            MemoryOrder::SeqCst => Self::SeqCst,
        }
    }
}

/// [`MemoryScope`] as an attribute.
#[pliron_attr(name = "girih.memory_scope", format, verifier = "succ")]
#[derive(PartialEq, Eq, Hash, Clone, Copy, Debug)]
pub(crate) enum AtScope {
    Unit,
    Cube,
    Cluster,
    Device,
    System,
}

impl From<MemoryScope> for AtScope {
    fn from(scope: MemoryScope) -> Self {
        match scope {
            MemoryScope::Unit => Self::Unit,
            MemoryScope::Cube => Self::Cube,
            MemoryScope::Cluster => Self::Cluster,
            MemoryScope::Device => Self::Device,
            MemoryScope::System => Self::System,
        }
    }
}

/// What a read-modify-write does; what is not here is made of [`CompareExchangeOp`].
#[pliron_attr(name = "girih.update", format, verifier = "succ")]
#[derive(PartialEq, Eq, Hash, Clone, Copy, Debug)]
pub(crate) enum Update {
    Exchange,
    Add,
    Sub,
    Min,
    Max,
    And,
    Or,
    Xor,
}

/// How the bits of a value are to be read. Targets forget it, so that the operation keeps it.
#[pliron_attr(name = "girih.number", format, verifier = "succ")]
#[derive(PartialEq, Eq, Hash, Clone, Copy, Debug)]
pub(crate) enum Number {
    Signed,
    Unsigned,
    Float,
}

/// Gives what memory holds.
#[cube_op(name = "girih.atomic_load")]
#[result_ty(argument)]
#[op_traits(CanMaterialize, HasSideEffects)]
pub(crate) struct LoadOp {
    pub ptr: Value,
    pub order: Order,
    pub scope: AtScope,
}

/// Replaces what memory holds.
#[cube_op(name = "girih.atomic_store")]
#[result_ty(none)]
#[op_traits(CanMaterialize, HasSideEffects)]
pub(crate) struct StoreOp {
    pub ptr: Value,
    pub value: Value,
    pub order: Order,
    pub scope: AtScope,
}

/// Changes what memory holds, and gives what it held.
#[cube_op(name = "girih.atomic_update")]
#[result_ty(same_as = value)]
#[op_traits(CanMaterialize, HasSideEffects)]
pub(crate) struct UpdateOp {
    pub ptr: Value,
    pub value: Value,
    pub update: Update,
    pub number: Number,
    pub order: Order,
    pub scope: AtScope,
}

/// Replaces what memory holds if it is as expected, and gives what it held.
#[cube_op(name = "girih.atomic_compare_exchange")]
#[result_ty(same_as = value)]
#[op_traits(CanMaterialize, HasSideEffects)]
pub(crate) struct CompareExchangeOp {
    pub ptr: Value,
    pub expected: Value,
    pub value: Value,
    pub order: Order,
    pub scope: AtScope,
}

/// Orders the accesses around it.
#[cube_op(name = "girih.fence")]
#[result_ty(none)]
#[op_traits(CanMaterialize, HasSideEffects)]
pub(crate) struct FenceOp {
    pub order: Order,
    pub scope: AtScope,
}

impl Order {
    /// What a compare-exchange that fails has done: a load.
    #[cfg(any(feature = "cpu", feature = "hip", feature = "vulkan"))]
    pub(crate) fn of_failure(self) -> Self {
        match self {
            Self::Release => Self::Relaxed,
            Self::AcqRel => Self::Acquire,
            order => order,
        }
    }

    /// Whether accesses to other memory may move across.
    pub(crate) fn is_local(self) -> bool {
        matches!(self, Self::Weak | Self::Relaxed)
    }
}

/// An ordered access may not be crossed by any other: it reads and writes everything. That also keeps plain loads of
/// the kernel's buffers off the non-coherent path, where what another unit published would not be seen.
fn effects(ptr: Option<Value>, order: Order) -> Vec<MemoryEffect> {
    let mut effects = vec![];
    if let Some(ptr) = ptr {
        effects.extend([MemoryEffect::Read(ptr), MemoryEffect::Write(ptr)]);
    }
    if !order.is_local() {
        effects.extend([MemoryEffect::ReadAll, MemoryEffect::WriteAll]);
    }
    effects
}

macro_rules! effects_at_a_pointer {
    ($($op:ident),*) => {$(
        #[op_interface_impl]
        impl MemoryEffectsOp for $op {
            fn memory_effects(&self, ctx: &Context) -> Vec<MemoryEffect> {
                effects(Some(self.ptr(ctx)), *self.order(ctx))
            }
        }
    )*};
}
effects_at_a_pointer!(LoadOp, StoreOp, UpdateOp, CompareExchangeOp);

#[op_interface_impl]
impl MemoryEffectsOp for FenceOp {
    fn memory_effects(&self, ctx: &Context) -> Vec<MemoryEffect> {
        effects(None, *self.order(ctx))
    }
}
