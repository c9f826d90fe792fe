//! The host's processor: LLVM's atomics with LLVM's orderings.
//!
//! Every scope beyond the unit is LLVM's widest: units are threads, and a processor keeps its caches coherent anyway.

use super::super::ops::{
    AtScope, CompareExchangeOp, FenceOp, LoadOp, Number, Order, StoreOp, Update, UpdateOp,
};
use cubecl_llvm::shared::to_llvm::prelude::*;

fn ordering(order: Order) -> AtomicOrderingAttr {
    match order {
        Order::Weak | Order::Relaxed => AtomicOrderingAttr::Monotonic,
        Order::Acquire => AtomicOrderingAttr::Acquire,
        Order::Release => AtomicOrderingAttr::Release,
        Order::AcqRel => AtomicOrderingAttr::AcqRel,
        Order::SeqCst => AtomicOrderingAttr::SeqCst,
    }
}

fn sync_scope(scope: AtScope) -> SyncScopeAttr {
    match scope {
        AtScope::Unit => SyncScopeAttr::SingleThread,
        _ => SyncScopeAttr::System,
    }
}

/// What an update is to LLVM. Floats have no minimum here: LLVM leaves the order of zeros open, so that they are made
/// of compare-exchanges.
fn kind(update: Update, number: Number) -> AtomicRmwKindAttr {
    match (update, number) {
        (Update::Exchange, _) => AtomicRmwKindAttr::Xchg,
        (Update::Add, Number::Float) => AtomicRmwKindAttr::FAdd,
        (Update::Add, _) => AtomicRmwKindAttr::Add,
        (Update::Sub, Number::Float) => AtomicRmwKindAttr::FSub,
        (Update::Sub, _) => AtomicRmwKindAttr::Sub,
        (Update::Min, Number::Unsigned) => AtomicRmwKindAttr::UMin,
        (Update::Min, _) => AtomicRmwKindAttr::Min,
        (Update::Max, Number::Unsigned) => AtomicRmwKindAttr::UMax,
        (Update::Max, _) => AtomicRmwKindAttr::Max,
        (Update::And, _) => AtomicRmwKindAttr::And,
        (Update::Or, _) => AtomicRmwKindAttr::Or,
        (Update::Xor, _) => AtomicRmwKindAttr::Xor,
    }
}

#[op_interface_impl]
impl ToLLVMDialect for LoadOp {
    fn rewrite(
        &self,
        ctx: &mut Context,
        rewriter: &mut DialectConversionRewriter,
        operands: &OperandsInfo,
    ) -> Result<()> {
        let result = self.get_result(ctx);
        let ty = operands
            .lookup_most_recent_type(result)
            .unwrap_or_else(|| result.get_type(ctx));
        let (align, llvm_ty) = (scalar_alignment(ctx, ty), cube_type_to_llvm(ctx, ty));
        let ptr = self.ptr(ctx);
        let (order, scope) = (*self.order(ctx), *self.scope(ctx));
        let op = llvm::AtomicLoadOp::new(ctx, ptr, llvm_ty, ordering(order), sync_scope(scope));
        op.set_alignment(ctx, align);
        rewriter.insert_op(ctx, &op);
        rewriter.replace_operation_with_values(ctx, self.get_operation(), vec![op.get_result(ctx)]);
        Ok(())
    }
}

#[op_interface_impl]
impl ToLLVMDialect for StoreOp {
    fn rewrite(
        &self,
        ctx: &mut Context,
        rewriter: &mut DialectConversionRewriter,
        operands: &OperandsInfo,
    ) -> Result<()> {
        let (ptr, value) = (self.ptr(ctx), self.value(ctx));
        let ty = operands
            .lookup_most_recent_type(value)
            .unwrap_or_else(|| value.get_type(ctx));
        let align = scalar_alignment(ctx, ty);
        let (order, scope) = (*self.order(ctx), *self.scope(ctx));
        let op = llvm::AtomicStoreOp::new(ctx, value, ptr, ordering(order), sync_scope(scope));
        op.set_alignment(ctx, align);
        rewriter.insert_op(ctx, &op);
        rewriter.replace_operation(ctx, self.get_operation(), op.get_operation());
        Ok(())
    }
}

#[op_interface_impl]
impl ToLLVMDialect for UpdateOp {
    fn rewrite(
        &self,
        ctx: &mut Context,
        rewriter: &mut DialectConversionRewriter,
        _operands: &OperandsInfo,
    ) -> Result<()> {
        let (ptr, value) = (self.ptr(ctx), self.value(ctx));
        let (update, number) = (*self.update(ctx), *self.number(ctx));
        let (order, scope) = (*self.order(ctx), *self.scope(ctx));
        let kind = kind(update, number);
        let op = llvm::AtomicRmwOp::new(ctx, ptr, value, kind, ordering(order), sync_scope(scope));
        rewriter.insert_op(ctx, &op);
        rewriter.replace_operation_with_values(ctx, self.get_operation(), vec![op.get_result(ctx)]);
        Ok(())
    }
}

#[op_interface_impl]
impl ToLLVMDialect for CompareExchangeOp {
    fn rewrite(
        &self,
        ctx: &mut Context,
        rewriter: &mut DialectConversionRewriter,
        _operands: &OperandsInfo,
    ) -> Result<()> {
        let (ptr, expected, value) = (self.ptr(ctx), self.expected(ctx), self.value(ctx));
        let (order, scope) = (*self.order(ctx), *self.scope(ctx));
        let op = llvm::AtomicCmpxchgOp::new(
            ctx,
            ptr,
            expected,
            value,
            ordering(order),
            ordering(order.of_failure()),
            sync_scope(scope),
        );
        rewriter.insert_op(ctx, &op);
        // LLVM gives what it read and whether it exchanged; the operation is what it read.
        let old = llvm::ExtractValueOp::new(ctx, op.get_result(ctx), vec![0])?;
        rewriter.insert_op(ctx, &old);
        rewriter.replace_operation_with_values(
            ctx,
            self.get_operation(),
            vec![old.get_result(ctx)],
        );
        Ok(())
    }
}

#[op_interface_impl]
impl ToLLVMDialect for FenceOp {
    fn rewrite(
        &self,
        ctx: &mut Context,
        rewriter: &mut DialectConversionRewriter,
        _operands: &OperandsInfo,
    ) -> Result<()> {
        let (order, scope) = (*self.order(ctx), *self.scope(ctx));
        let op = llvm::FenceOp::new(ctx, ordering(order), sync_scope(scope));
        rewriter.insert_op(ctx, &op);
        rewriter.erase_operation(ctx, self.get_operation());
        Ok(())
    }
}
