//! CUDA: PTX with the order, the scope and the state space written out.
//!
//! The state space matters: of a generic address, an add of f32 becomes a branch on shared memory with a loop, and an
//! `atom` that returns; of a global one it is a single `red`. Sequential consistency is `fence.sc` before an acquire (or
//! a relaxed store), as NVIDIA's C++ library has it.

use super::super::ops::{
    AtScope, CompareExchangeOp, FenceOp, LoadOp, Number, Order, StoreOp, Update, UpdateOp,
};
use cubecl::frontend::reinterpret_value;
use cubecl::ir::dialect::general::PoisonOp;
use cubecl::ir::dialect::{InputKind, InputSpec, MemoryClobbers, RegSpec};
use cubecl::ir::interfaces::TypedExt;
use cubecl::ir::prelude::*;
use cubecl::ir::types::{PointerType, VectorType};
use cubecl::ir::{AddressSpace, Scope};
use cubecl_cpp::cuda::ptx::{GenericToSharedOp, InlinePtxOp};
use cubecl_cpp::shared::lowering::LowerOpAfterUnroll;
use cubecl_cpp::target::Cuda;
use pliron::builtin::types::{IntegerType, Signedness};
use pliron::value::Value;

fn scope_name(scope: AtScope) -> &'static str {
    match scope {
        // PTX has no narrower one.
        AtScope::Unit | AtScope::Cube => "cta",
        AtScope::Cluster => "cluster",
        AtScope::Device => "gpu",
        AtScope::System => "sys",
    }
}

/// The fence that goes before, and what the access itself is called.
fn qualifiers(order: Order, scope: AtScope, is_store: bool) -> (String, String) {
    let at = scope_name(scope);
    let named = |order: &str| (String::new(), format!("{order}.{at}"));
    match order {
        Order::Weak => (String::new(), "weak".to_owned()),
        Order::Relaxed => named("relaxed"),
        Order::Acquire => named("acquire"),
        Order::Release => named("release"),
        Order::AcqRel => named("acq_rel"),
        Order::SeqCst => {
            let access = if is_store { "relaxed" } else { "acquire" };
            (format!("fence.sc.{at}; "), format!("{access}.{at}"))
        }
    }
}

/// The suffix of the pointer's state space, and the address in it.
fn place(scope: &Scope, ptr: Value) -> (&'static str, Value) {
    let ctx = scope.ctx();
    let space = {
        let ty = ptr.get_type(ctx).deref(ctx);
        ty.downcast_ref::<PointerType>()
            .map(|ptr| ptr.address_space)
    };
    match space {
        // A generic address of global memory is the address in it.
        Some(AddressSpace::Global(_)) => (".global", ptr),
        Some(AddressSpace::Shared) => {
            let op = GenericToSharedOp::new(scope.ctx_mut(), ptr);
            (".shared", scope.register_with_result(&op))
        }
        _ => ("", ptr),
    }
}

/// Registers the instruction, whose first argument is a pointer. A relaxed one touches what it points at alone, so that
/// the kernel's other buffers keep their read-only loads.
fn emit(
    scope: &Scope,
    ty: Option<TypeHandle>,
    ptx: String,
    args: Vec<Value>,
    order: Order,
) -> Option<Value> {
    let ctx = scope.ctx_mut();
    let specs: Vec<_> = args
        .iter()
        .enumerate()
        .map(|(index, _)| InputSpec {
            kind: match index {
                0 => InputKind::MemInout,
                _ => InputKind::In,
            },
            class: RegSpec::Inferred,
        })
        .collect();
    let op = InlinePtxOp::new_volatile(ctx, ty, ptx, args);
    let clobbers = if order.is_local() {
        op.set_attr_cuda_inline_ptx_in_spec(ctx, specs.into());
        MemoryClobbers::Explicit {
            reads_spaces: vec![].into(),
            writes_spaces: vec![].into(),
        }
    } else {
        op.set_clobbers(ctx, vec!["memory".into()]);
        MemoryClobbers::ReadWrite
    };
    op.set_attr_cuda_inline_ptx_memory_clobbers(ctx, clobbers.into());
    scope.register(&op);
    op.result(ctx)
}

/// What PTX calls the bits of a value, and the type that holds them in registers: halves in pairs where they can be.
struct Registers {
    ty: TypeHandle,
    /// Registers at once: `.v2` to `.v8`, or nothing.
    vector: &'static str,
    /// `b` and the width of one.
    bits: String,
    /// Whether each holds two halves.
    paired: bool,
}

fn registers(ctx: &Context, ty: TypeHandle) -> Registers {
    let (scalar, count) = (ty.scalar_ty(ctx), ty.vector_size(ctx));
    let unsigned = |width: u32| IntegerType::get(ctx, width, Signedness::Unsigned).to_handle();
    let of = |element: TypeHandle, count: usize| match count {
        1 => element,
        _ => VectorType::get(ctx, element, count).to_handle(),
    };
    let bits = scalar.size_bits(ctx);
    let paired = bits == 16 && count > 1;
    let (ty, count, bits) = match (bits, paired) {
        (_, true) => (of(unsigned(32), count / 2), count / 2, 32),
        (16, false) => (unsigned(16), 1, 16),
        (bits, false) => (ty, count, bits),
    };
    let vector = match count {
        1 => "",
        2 => ".v2",
        4 => ".v4",
        8 => ".v8",
        _ => panic!("girih: no PTX access of {count} registers"),
    };
    Registers {
        ty,
        vector,
        bits: format!("b{bits}"),
        paired,
    }
}

#[op_interface_impl]
impl LowerOpAfterUnroll<Cuda> for LoadOp {
    fn lower(&self, scope: &Scope) -> Vec<Value> {
        let ctx = scope.ctx();
        let ty = self.get_result(ctx).get_type(ctx);
        let (order, at) = (*self.order(ctx), *self.scope(ctx));
        let (fence, named) = qualifiers(order, at, false);
        let Registers {
            ty: held,
            vector,
            bits,
            ..
        } = registers(ctx, ty);
        let (space, ptr) = place(scope, self.ptr(ctx));
        let ptx = format!("{fence}ld.{named}{space}{vector}.{bits} $0, [$1];");
        let value = emit(scope, Some(held), ptx, vec![ptr], order).expect("a load gives a value");
        vec![reinterpret_value(scope, value, ty)]
    }
}

#[op_interface_impl]
impl LowerOpAfterUnroll<Cuda> for StoreOp {
    fn lower(&self, scope: &Scope) -> Vec<Value> {
        let ctx = scope.ctx();
        let value = self.value(ctx);
        let (order, at) = (*self.order(ctx), *self.scope(ctx));
        let (fence, named) = qualifiers(order, at, true);
        let Registers {
            ty, vector, bits, ..
        } = registers(ctx, value.get_type(ctx));
        let value = reinterpret_value(scope, value, ty);
        let (space, ptr) = place(scope, self.ptr(ctx));
        let ptx = format!("{fence}st.{named}{space}{vector}.{bits} [$0], $1;");
        emit(scope, None, ptx, vec![ptr, value], order);
        vec![]
    }
}

/// The instruction's name for an update of numbers, such as `add.f32` or `min.noftz.v4.bf16x2`.
fn update_name(ctx: &Context, ty: TypeHandle, update: Update, number: Number) -> String {
    let scalar = ty.scalar_ty(ctx);
    let Registers {
        vector,
        bits,
        paired,
        ..
    } = registers(ctx, ty);
    let width = scalar.size_bits(ctx);
    let half = match (scalar.is_bfloat16(ctx), paired) {
        (true, true) => "bf16x2",
        (true, false) => "bf16",
        (false, true) => "f16x2",
        (false, false) => "f16",
    };
    let element = match (number, update) {
        (Number::Float, _) if width == 16 => half.to_owned(),
        (Number::Float, _) => format!("f{width}"),
        (Number::Signed, Update::Min | Update::Max) => format!("s{width}"),
        // Addition is the same for both, and PTX names the unsigned one.
        _ => format!("u{width}"),
    };
    let rounding = match width {
        16 => ".noftz",
        _ => "",
    };
    match update {
        Update::Exchange => format!("exch{vector}.{bits}"),
        Update::Add | Update::Sub => format!("add{rounding}{vector}.{element}"),
        Update::Min => format!("min{rounding}{vector}.{element}"),
        Update::Max => format!("max{rounding}{vector}.{element}"),
        Update::And => format!("and.{bits}"),
        Update::Or => format!("or.{bits}"),
        Update::Xor => format!("xor.{bits}"),
    }
}

/// PTX that gives `-$value` as `%negated`, since no target subtracts atomically.
fn negation(ctx: &Context, ty: TypeHandle, number: Number, value: &str) -> String {
    let Registers { bits, .. } = registers(ctx, ty);
    let width = ty.scalar_ty(ctx).size_bits(ctx);
    let kind = match number {
        Number::Float if ty.is_bfloat16(ctx) => "bf16".to_owned(),
        Number::Float => format!("f{width}"),
        _ => format!("s{width}"),
    };
    format!(".reg .{bits} negated; neg.{kind} negated, {value};")
}

#[op_interface_impl]
impl LowerOpAfterUnroll<Cuda> for UpdateOp {
    fn lower(&self, scope: &Scope) -> Vec<Value> {
        let ctx = scope.ctx();
        let (value, result) = (self.value(ctx), self.get_result(ctx));
        let (order, at) = (*self.order(ctx), *self.scope(ctx));
        let (update, number) = (*self.update(ctx), *self.number(ctx));
        let (fence, named) = qualifiers(order, at, false);
        let ty = value.get_type(ctx);
        let name = update_name(ctx, ty, update, number);
        let held = registers(ctx, ty).ty;
        let value = reinterpret_value(scope, value, held);
        let (space, ptr) = place(scope, self.ptr(ctx));
        // Nobody reads the old value: a reduction, which returns none, and so has none to acquire with.
        let reduces = update != Update::Exchange
            && !result.is_used(ctx)
            && matches!(order, Order::Relaxed | Order::Release);
        let (instruction, operands) = match reduces {
            true => (format!("red.{named}{space}.{name}"), "[$0], "),
            false => (format!("{fence}atom.{named}{space}.{name}"), "$0, [$1], "),
        };
        let argument = if reduces { "$1" } else { "$2" };
        let ptx = match update {
            Update::Sub => {
                let negation = negation(ctx, ty, number, argument);
                format!("{{ {negation} {instruction} {operands}negated; }}")
            }
            _ => format!("{instruction} {operands}{argument};"),
        };
        match emit(
            scope,
            (!reduces).then_some(held),
            ptx,
            vec![ptr, value],
            order,
        ) {
            Some(old) => vec![reinterpret_value(scope, old, ty)],
            None => vec![scope.register_with_result(&PoisonOp::new(scope.ctx_mut(), ty))],
        }
    }
}

#[op_interface_impl]
impl LowerOpAfterUnroll<Cuda> for CompareExchangeOp {
    fn lower(&self, scope: &Scope) -> Vec<Value> {
        let ctx = scope.ctx();
        let (expected, value) = (self.expected(ctx), self.value(ctx));
        let (order, at) = (*self.order(ctx), *self.scope(ctx));
        let (fence, named) = qualifiers(order, at, false);
        let ty = value.get_type(ctx);
        let Registers { ty: held, bits, .. } = registers(ctx, ty);
        let expected = reinterpret_value(scope, expected, held);
        let value = reinterpret_value(scope, value, held);
        let (space, ptr) = place(scope, self.ptr(ctx));
        let ptx = format!("{fence}atom.{named}{space}.cas.{bits} $0, [$1], $2, $3;");
        let args = vec![ptr, expected, value];
        let old = emit(scope, Some(held), ptx, args, order).expect("an exchange gives a value");
        vec![reinterpret_value(scope, old, ty)]
    }
}

#[op_interface_impl]
impl LowerOpAfterUnroll<Cuda> for FenceOp {
    fn lower(&self, scope: &Scope) -> Vec<Value> {
        let ctx = scope.ctx();
        let (order, at) = (*self.order(ctx), scope_name(*self.scope(ctx)));
        let fence = match order {
            Order::SeqCst => format!("fence.sc.{at};"),
            _ => format!("fence.acq_rel.{at};"),
        };
        emit(scope, None, fence, vec![], order);
        vec![]
    }
}
