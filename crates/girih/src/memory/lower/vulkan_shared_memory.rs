//! Shared memory on Vulkan devices without `VK_KHR_workgroup_memory_explicit_layout`.
//!
//! There CubeCL 0.11.3 declares each shared variable with the type of its address, a pointer, and gives the address the
//! type of the variable: the two are exchanged. [`SharedRepairOp`] puts the variable right once all is in SPIR-V's dialect,
//! just before the module is written: as CubeCL collects the capabilities of each operation, this one looks around.

use crate::device::{Target, expanded_for};
use cubecl::ir::prelude::*;
use cubecl::ir::{HasSideEffects, Scope};
use cubecl_spirv::CustomCapabilitiesOp;
use pliron::builtin::op_interfaces::SymbolOpInterface;
use pliron::linked_list::ContainsLinkedList;
use pliron_spirv::ops::{AddressOfOp, GlobalVariableOp};
use pliron_spirv::spirv::{Capability, StorageClass};
use pliron_spirv::types::PointerType;
use pliron_spirv::{PlironBuilder, ToSpirvOp};

/// Stands in a kernel that has shared memory, and writes nothing.
#[cube_op(name = "girih.shared_repair")]
#[result_ty(none)]
#[op_traits(HasSideEffects)]
pub(crate) struct SharedRepairOp {}

/// Puts a [`SharedRepairOp`] in a kernel for Vulkan.
pub(in crate::memory) fn register(scope: &Scope) {
    if expanded_for(scope).is_some_and(|(target, _)| target == Target::Vulkan) {
        scope.register(&SharedRepairOp::new(scope.ctx_mut()));
    }
}

#[op_interface_impl]
impl ToSpirvOp for SharedRepairOp {
    fn to_spirv(&self, _ctx: &Context, _builder: &mut PlironBuilder) -> Result<()> {
        Ok(())
    }
}

#[op_interface_impl]
impl CustomCapabilitiesOp for SharedRepairOp {
    fn custom_capabilities(&self, ctx: &Context) -> Vec<Capability> {
        let mut module = self.get_operation();
        while let Some(parent) = { module.deref(ctx).get_parent_op(ctx) } {
            module = parent;
        }
        repair(ctx, module);
        vec![]
    }
}

/// Gives each variable of shared memory that has the type of a pointer that of its address, which is the variable's.
fn repair(ctx: &Context, module: Ptr<Operation>) {
    let (mut variables, mut addresses) = (vec![], vec![]);
    walk(ctx, module, &mut |op| {
        if let Some(variable) = Operation::get_op::<GlobalVariableOp>(op, ctx) {
            variables.push(variable);
        } else if let Some(address) = Operation::get_op::<AddressOfOp>(op, ctx) {
            addresses.push(address);
        }
    });
    for variable in variables {
        let (ty, class) = {
            let ty = variable.get_attr_spirv_global_variable_type(ctx);
            let class = variable.get_attr_spirv_global_variable_storage_class(ctx);
            match (ty, class) {
                (Some(ty), Some(class)) => (ty.get_type(ctx), class.0),
                _ => continue,
            }
        };
        if class != StorageClass::Workgroup || !ty.deref(ctx).is::<PointerType>() {
            continue;
        }
        let name = variable.get_symbol_name(ctx);
        let address = addresses.iter().find(|address| {
            let variable = address.get_attr_spirv_addressof_variable(ctx);
            variable.is_some_and(|variable| {
                pliron::identifier::Identifier::from(variable.clone()) == name
            })
        });
        if let Some(address) = address {
            let value_ty = address.get_result(ctx).get_type(ctx);
            variable.set_attr_spirv_global_variable_type(ctx, value_ty.into());
            address.get_result(ctx).set_type(ctx, ty);
        }
    }
}

/// Visits the operation and all that are in it.
fn walk(ctx: &Context, op: Ptr<Operation>, visit: &mut impl FnMut(Ptr<Operation>)) {
    visit(op);
    let regions: Vec<_> = op.deref(ctx).regions().collect();
    for region in regions {
        let blocks: Vec<_> = region.deref(ctx).iter(ctx).collect();
        for block in blocks {
            let ops: Vec<_> = block.deref(ctx).iter(ctx).collect();
            for op in ops {
                walk(ctx, op, visit);
            }
        }
    }
}
