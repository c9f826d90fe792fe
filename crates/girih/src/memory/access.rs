//! One kind of atomic access, as a value, and whether a target keeps it.

use super::order::MemoryOrder;
use super::scope::MemoryScope;
use crate::device::Target;
use core::fmt;
use cubecl::ir::features::AtomicUsage;
use cubecl::ir::{DeviceProperties, ElemType, FloatKind, IntKind, Type, UIntKind};

/// What an access does to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Gives what memory holds.
    Load,
    /// Replaces what memory holds.
    Store,
    /// Replaces what memory holds, and gives what it held.
    Exchange,
    /// Replaces what memory holds if it is as expected, and gives what it held.
    CompareExchange,
    /// Adds; integers wrap.
    Add,
    /// Subtracts; integers wrap.
    Sub,
    /// Multiplies; integers wrap.
    Mul,
    /// Keeps the smaller number: -0 is below +0, and a NaN yields to a number.
    Min,
    /// Keeps the larger number: +0 is above -0, and a NaN yields to a number.
    Max,
    /// Bitwise and, of integers.
    And,
    /// Bitwise or, of integers.
    Or,
    /// Bitwise exclusive or, of integers.
    Xor,
    /// Orders the accesses around it, and touches no memory itself.
    Fence,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Exchange => "exchange",
            Self::CompareExchange => "compare-exchange",
            Self::Add => "add",
            Self::Sub => "sub",
            Self::Mul => "mul",
            Self::Min => "min",
            Self::Max => "max",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
            Self::Fence => "fence",
        })
    }
}

/// One kind of atomic access: what [`Device::require_atomic`](crate::device::Device::require_atomic) is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AtomicAccess {
    /// What it does.
    pub operation: Operation,
    /// The elements that it works on.
    pub element: ElemType,
    /// The elements that the memory is declared to hold: `element`, or the unsigned integer whose bits are read as it.
    pub stored: ElemType,
    /// Elements at once; more than one where the device combines vectors.
    pub width: usize,
    /// Its order.
    pub order: MemoryOrder,
    /// Its scope.
    pub scope: MemoryScope,
}

impl AtomicAccess {
    /// An access to one element of memory that is declared to hold them, relaxed, at device scope.
    pub fn new(operation: Operation, element: ElemType) -> Self {
        Self {
            operation,
            element,
            stored: element,
            width: 1,
            order: MemoryOrder::Relaxed,
            scope: MemoryScope::Device,
        }
    }

    /// The same access with another order and scope.
    pub fn ordered(self, order: MemoryOrder, scope: MemoryScope) -> Self {
        Self {
            order,
            scope,
            ..self
        }
    }

    /// The same access to vectors of `width` elements.
    pub fn vectors(self, width: usize) -> Self {
        Self { width, ..self }
    }

    /// The same access to memory that is declared to hold `stored`, whose bits are read as the element.
    pub fn in_bits_of(self, stored: ElemType) -> Self {
        Self { stored, ..self }
    }
}

impl fmt::Display for AtomicAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            operation,
            element,
            stored,
            width,
            order,
            scope,
        } = self;
        if *operation == Operation::Fence {
            return write!(f, "fence of order {order:?} at scope {scope:?}");
        }
        write!(f, "atomic {operation} of {element}")?;
        if *width > 1 {
            write!(f, " x {width}")?;
        }
        if stored != element {
            write!(f, " in bits of {stored}")?;
        }
        write!(f, " of order {order:?} at scope {scope:?}")
    }
}

/// How a target does an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Path {
    /// By an operation of its own.
    Native,
    /// On the bits as an unsigned integer; a read-modify-write by a compare-exchange, tried until nothing came between.
    Bits,
}

/// How the target does the access; `None` where it cannot keep what the access promises.
pub(crate) fn path(
    target: Target,
    properties: &DeviceProperties,
    access: &AtomicAccess,
) -> Option<Path> {
    if !keeps(target, properties, access.order, access.scope) {
        return None;
    }
    if access.operation == Operation::Fence {
        return Some(Path::Native);
    }
    if access.stored == access.element && is_native(target, properties, access) {
        return Some(Path::Native);
    }
    by_compare_exchange(target, properties, access).then_some(Path::Bits)
}

/// Whether the target keeps the order at the scope.
fn keeps(
    target: Target,
    properties: &DeviceProperties,
    order: MemoryOrder,
    scope: MemoryScope,
) -> bool {
    use MemoryOrder::{Relaxed, SeqCst, Weak};
    use MemoryScope::{Cluster, System};
    let plain = matches!(order, Weak | Relaxed);
    match target {
        // PTX has each order at each scope; clusters came with sm_90.
        Target::Cuda => {
            target.is_lowered() && (scope != Cluster || properties.features.cube_cluster)
        }
        Target::Cpu => plain || target.is_lowered(),
        Target::Hip => plain || target.is_lowered(),
        // Vulkan's memory model has neither sequential consistency nor a scope beyond the device.
        Target::Vulkan => {
            scope != System
                && order != SeqCst
                && (plain || (target.is_lowered() && properties.features.device_memory_scope))
        }
        // Metal's atomics are relaxed; its fences, from MSL 3.2 on, have every order up to the device.
        Target::Metal => scope != System && (plain || target.is_lowered()),
        // WGSL's atomics are relaxed, those of storage buffers at the scope of the device's queue.
        Target::Wgsl | Target::Other => plain && scope != System,
    }
}

/// Whether the target has the operation for the element itself.
pub(super) fn is_native(
    target: Target,
    properties: &DeviceProperties,
    access: &AtomicAccess,
) -> bool {
    use Operation::{Add, CompareExchange, Exchange, Load, Max, Min, Mul, Store, Sub};
    let operation = access.operation;
    if operation == Mul {
        return false;
    }
    let float = matches!(access.element, ElemType::Float(_));
    let listed = |usage| lists(properties, access.element, access.width, usage);
    match target {
        Target::Cuda if target.is_lowered() && access.width == 1 => match access.element {
            ElemType::Int(IntKind::I32 | IntKind::I64)
            | ElemType::UInt(UIntKind::U32 | UIntKind::U64) => true,
            // CubeCL lists less than PTX has, and nothing of scalars of bf16.
            ElemType::Float(FloatKind::F32 | FloatKind::F64) => {
                matches!(operation, Load | Store | Exchange | Add | Sub)
            }
            ElemType::Float(FloatKind::F16) => matches!(operation, Load | Store | Add | Sub),
            ElemType::Float(FloatKind::BF16) => {
                matches!(operation, Load | Store)
                    || (matches!(operation, Add | Sub) && properties.features.cube_cluster)
            }
            _ => false,
        },
        // LLVM leaves the order of zeros open in its float minimum and maximum.
        Target::Cpu if float && matches!(operation, Min | Max) => false,
        Target::Cpu if float && operation == CompareExchange => false,
        Target::Vulkan if float && matches!(operation, Min | Max | CompareExchange) => false,
        // WGSL's compare-exchange may fail with nothing in between, and CubeCL does not say whether it did.
        Target::Wgsl if operation == CompareExchange => false,
        // WGSL has these for every atomic integer by its specification, though CubeCL does not list them.
        Target::Wgsl if !float => listed(AtomicUsage::Add),
        _ => match operation {
            Load | Store => listed(AtomicUsage::LoadStore),
            Exchange => listed(AtomicUsage::Exchange),
            CompareExchange => listed(AtomicUsage::CompareExchange),
            Add | Sub => listed(AtomicUsage::Add),
            Min | Max => listed(AtomicUsage::MinMax),
            _ => listed(AtomicUsage::Bitwise),
        },
    }
}

/// Whether the target can compare and exchange the bits of the element.
fn by_compare_exchange(
    target: Target,
    properties: &DeviceProperties,
    access: &AtomicAccess,
) -> bool {
    let Some(bits) = bits_of(access.element) else {
        return false;
    };
    if access.width != 1 || access.operation == Operation::Load && access.stored == access.element {
        return false;
    }
    match target {
        Target::Cuda => target.is_lowered() && access.element.size() >= 2,
        Target::Cpu => {
            target.is_lowered() && lists(properties, bits, 1, AtomicUsage::CompareExchange)
        }
        Target::Hip => target.is_lowered() && access.element.size() >= 4,
        // Pointers have types there: the memory must be declared as the integers that are exchanged.
        Target::Vulkan | Target::Metal => {
            target.is_lowered()
                && is_integer(access.stored)
                && lists(properties, access.stored, 1, AtomicUsage::CompareExchange)
        }
        Target::Wgsl | Target::Other => false,
    }
}

fn lists(
    properties: &DeviceProperties,
    element: ElemType,
    width: usize,
    usage: AtomicUsage,
) -> bool {
    let ty = match width {
        1 => Type::new(element),
        _ => Type::new(element).with_vector_size(width),
    };
    properties
        .atomic_type_usage(Type::atomic(ty))
        .contains(usage)
}

fn is_integer(element: ElemType) -> bool {
    matches!(element, ElemType::Int(_) | ElemType::UInt(_))
}

/// The unsigned integer as wide as the element; `None` where no atomic is.
pub(crate) fn bits_of(element: ElemType) -> Option<ElemType> {
    Some(ElemType::UInt(match element.size() {
        1 => UIntKind::U8,
        2 => UIntKind::U16,
        4 => UIntKind::U32,
        8 => UIntKind::U64,
        _ => return None,
    }))
}
