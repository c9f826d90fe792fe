//! PTX in a kernel, refused by name where it means nothing.

use crate::device::{Target, architecture, expanded_for};
use cubecl::ir::Scope;
use cubecl::ir::dialect::general::PoisonOp;
use cubecl::ir::prelude::TypeHandle;
use cubecl::prelude::*;
use pliron::value::Value;

/// Architectures that have an instruction.
#[derive(Clone, Copy)]
pub(super) enum Since {
    /// From this one on.
    Sm(u32),
    /// This one alone.
    Only(u32),
}

/// Whether the kernel is expanded for a device that has the instruction; where not, it fails by name at the first read of
/// what it writes.
pub(super) fn allowed(scope: &Scope, call: &str, since: Since) -> bool {
    let Some((target, properties)) = expanded_for(scope) else {
        panic!("girih: a kernel with {call} is expanded for no device");
    };
    let (has, needs) = match (since, architecture(&properties)) {
        (Since::Sm(least), found) => (
            found.is_some_and(|found| found >= least),
            format!("sm_{least} or later"),
        ),
        (Since::Only(only), found) => (found == Some(only), format!("sm_{only}a alone")),
    };
    let has = has && target == Target::Cuda && target.is_lowered();
    if !has {
        let name = &properties.identity.name;
        scope.push_error(format!(
            "girih: {call}: the kernel is for {name}; NVIDIA GPUs of {needs} are allowed, through CUDA C++"
        ));
    }
    has
}

/// An instruction: what it is called, where it is, its text and its arguments, which the text has as `$0` and so on, after
/// the result if there is one.
pub(super) struct Instruction<'a> {
    pub call: &'static str,
    pub since: Since,
    pub text: &'a str,
    /// Whether it reads or writes memory; if so, accesses stay on their side of it.
    pub memory: bool,
}

impl Instruction<'_> {
    /// Without a result.
    pub(super) fn run(self, scope: &Scope, arguments: Vec<Value>) {
        self.emit(scope, None, arguments);
    }

    /// With a number of 32 bits.
    pub(super) fn number(self, scope: &Scope, arguments: Vec<Value>) -> NativeExpand<u32> {
        let ty = u32::__expand_as_type(scope);
        self.value(scope, ty, arguments).into()
    }

    /// With a value of a type; of one that stands for nothing where the instruction is refused.
    pub(super) fn value(self, scope: &Scope, ty: TypeHandle, arguments: Vec<Value>) -> Value {
        match self.emit(scope, Some(ty), arguments) {
            Some(value) => value,
            None => scope.register_with_result(&PoisonOp::new(scope.ctx_mut(), ty)),
        }
    }

    fn emit(self, scope: &Scope, ty: Option<TypeHandle>, arguments: Vec<Value>) -> Option<Value> {
        if !allowed(scope, self.call, self.since) {
            return None;
        }
        #[cfg(feature = "cuda")]
        {
            use cubecl::ir::dialect::MemoryClobbers;
            use cubecl_cpp::cuda::ptx::InlinePtxOp;

            let ctx = scope.ctx_mut();
            let op = InlinePtxOp::new_volatile(ctx, ty, self.text, arguments);
            if self.memory {
                op.set_clobbers(ctx, vec!["memory".into()]);
                op.set_attr_cuda_inline_ptx_memory_clobbers(ctx, MemoryClobbers::ReadWrite.into());
            }
            scope.register(&op);
            op.result(scope.ctx())
        }
        #[cfg(not(feature = "cuda"))]
        {
            let _ = (ty, arguments, self.text, self.memory);
            unreachable!("girih: without its feature `cuda` every instruction is refused");
        }
    }
}

/// Where a place of shared memory is, in the address space that PTX calls `.shared`.
#[cube]
#[allow(unused_variables)]
pub fn shared_address<E: CubePrimitive>(place: *const E) -> u32 {
    intrinsic!(|scope| {
        let ty = u32::__expand_as_type(scope);
        if !allowed(scope, "shared_address", Since::Sm(80)) {
            return scope
                .register_with_result(&PoisonOp::new(scope.ctx_mut(), ty))
                .into();
        }
        #[cfg(feature = "cuda")]
        {
            // SAFETY: the pointer is an expression of the kernel, which lives as long as its scope.
            let place = unsafe { *place }.value(scope);
            let op = cubecl_cpp::cuda::ptx::GenericToSharedOp::new(scope.ctx_mut(), place);
            scope.register_with_result(&op).into()
        }
        #[cfg(not(feature = "cuda"))]
        unreachable!("girih: without its feature `cuda` every instruction is refused")
    })
}

/// What this unit wrote to shared memory by plain stores becomes visible to bulk copies and tensor cores; those who start
/// them are to be waited for after it. Who starts copies calls it as well, after it waited for those who read a place by plain
/// loads, and before a copy writes the place.
#[cube]
pub fn fence_async() {
    intrinsic!(|scope| {
        Instruction {
            call: "fence_async",
            since: Since::Sm(90),
            text: "fence.proxy.async.shared::cta;",
            memory: true,
        }
        .run(scope, vec![]);
    })
}

/// Waits for every unit of the cluster, and sees what they wrote; each unit calls it as often as any other.
#[cube]
pub fn cluster_barrier() {
    intrinsic!(|scope| {
        Instruction {
            call: "cluster_barrier",
            since: Since::Sm(90),
            text: "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;",
            memory: true,
        }
        .run(scope, vec![]);
    })
}

/// Waits for `units` units, whole planes, at one of the cube's barriers, 1 to 15; 0 is that of `sync_cube`, and others are
/// given to groups that wait. Each sees what the others wrote before.
#[cube]
pub fn units_barrier(number: u32, #[comptime] units: u32) {
    intrinsic!(|scope| {
        Instruction {
            call: "units_barrier",
            since: Since::Sm(90),
            text: &format!("bar.sync $0, {units};"),
            memory: true,
        }
        .run(scope, vec![number.read_value(scope)]);
    })
}
