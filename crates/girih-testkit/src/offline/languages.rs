//! Kernels to the languages of the other targets: what a lowering wrote, with no device.

use std::sync::Arc;

use cubecl::{
    CompilationError, Compiler, CubeKernel, WgpuCompilationOptions, define_kernel,
    ir::{
        DeviceProperties, NamedRewrite,
        prelude::{
            Context, DialectConversion, DialectConversionRewriter, Op, OperandsInfo, Operation,
            Ptr, TypeHandle, op_cast,
        },
        rewrite::DialectConversionPass,
    },
};
use cubecl_cpp::{MslCompiler, shared::CppCompiler, target::Hip};
use cubecl_llvm::{LlvmTarget, shared::to_llvm::ToLLVMDialect, target::CtxTarget};
use cubecl_spirv::SpirvCompiler;
use pliron::{
    builtin::ops::{FuncOp, ModuleOp},
    pass::{AnalysisManager, NestedOpsPass, OpPass, Pass, Passes},
    printable::Printable,
};

use super::{hopper, properties::options};
use crate::Error;

/// A language that kernels are compiled to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// The LLVM dialect, for the host's processor.
    Llvm,
    /// SPIR-V, disassembled.
    Spirv,
    /// HIP C++.
    Hip,
    /// Metal's shading language.
    Metal,
}

impl Language {
    /// A device of that language, with the element types of [`hopper`].
    pub fn properties(self) -> Arc<DeviceProperties> {
        let mut properties = (*hopper()).clone();
        let fingerprint = match self {
            Self::Llvm => "cpu_x86_64",
            Self::Spirv => "spirv_offline",
            Self::Hip => "hip-kernel_gfx942",
            Self::Metal => "msl_offline",
        };
        properties.identity.fingerprint = fingerprint.to_owned();
        properties.identity.name = format!("{self:?}, offline");
        Arc::new(properties)
    }

    /// The kernel in the language. It must have been made for a device of [that language](Self::properties).
    ///
    /// # Errors
    /// [`Error::Compile`] with what the compiler said.
    pub fn write(self, kernel: impl CubeKernel) -> Result<String, Error> {
        let definition = define_kernel(&kernel).map_err(refused)?;
        match self {
            Self::Llvm => llvm(definition),
            Self::Spirv => SpirvCompiler
                .compile(definition, &vulkan())
                .map(|kernel| kernel.to_string())
                .map_err(refused),
            Self::Hip => CppCompiler::<Hip>::default()
                .compile(definition, &options())
                .map(|kernel| kernel.source)
                .map_err(refused),
            Self::Metal => MslCompiler::default()
                .compile(definition, &options())
                .map(|kernel| kernel.source)
                .map_err(refused),
        }
    }
}

fn refused(error: CompilationError) -> Error {
    Error::Compile {
        stage: "CubeCL",
        log: error.to_string(),
    }
}

/// How the SPIR-V compiler is set on a device of Vulkan 1.2.
fn vulkan() -> WgpuCompilationOptions {
    let mut options = WgpuCompilationOptions {
        supports_u64: true,
        supports_vulkan_compiler: true,
        ..Default::default()
    };
    options.vulkan.max_spirv_version = (1, 5);
    options.vulkan.max_vector_size = 4;
    options
}

/// The kernel with the operations of girih's memory dialect in LLVM's; CubeCL's are left as they are.
fn llvm(definition: cubecl::prelude::KernelDefinition) -> Result<String, Error> {
    let module = definition.body.state().module.get_operation();
    let mut ctx = definition
        .body
        .into_context()
        .ok_or_else(|| Error::Compile {
            stage: "CubeCL",
            log: "the kernel's scope is still in use".to_owned(),
        })?;
    ctx.set_target(LlvmTarget::Cpu);
    let mut function = OpPass::<FuncOp, Passes>::default();
    function.add_pass(DialectConversionPass::<MemoryToLlvm>::default());
    let mut passes = OpPass::<ModuleOp, Passes>::default();
    passes.add_pass(NestedOpsPass::new(function));
    passes
        .run(module, &mut ctx, &mut AnalysisManager::default())
        .map_err(|error| Error::Compile {
            stage: "LLVM",
            log: error.disp(&ctx).to_string(),
        })?;
    Ok(module.disp(&ctx).to_string())
}

/// CubeCL's conversion, for operations of girih's alone: the rest of it needs what only CubeCL can set.
#[derive(Default, NamedRewrite)]
struct MemoryToLlvm;

impl DialectConversion for MemoryToLlvm {
    fn can_convert_op(&self, ctx: &Context, op: Ptr<Operation>) -> bool {
        Operation::get_opid(op, ctx).dialect.to_string() == "girih"
    }

    fn can_convert_type(&self, _ctx: &Context, _ty: TypeHandle) -> bool {
        false
    }

    fn convert_type(
        &mut self,
        _ctx: &mut Context,
        ty: TypeHandle,
    ) -> pliron::result::Result<TypeHandle> {
        Ok(ty)
    }

    fn rewrite(
        &mut self,
        ctx: &mut Context,
        rewriter: &mut DialectConversionRewriter,
        op: Ptr<Operation>,
        operands: &OperandsInfo,
    ) -> pliron::result::Result<()> {
        let op = Operation::get_op_dyn(op, ctx);
        let op = op_cast::<dyn ToLLVMDialect>(&*op).expect("girih lowers what it has to LLVM");
        op.rewrite(ctx, rewriter, operands)
    }
}
