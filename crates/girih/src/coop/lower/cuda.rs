//! CUDA: PTX that names the lanes that take part. Planes have 32, so that the first word of a mask is all of it.

use super::super::lanes::each_word;
use super::super::machine::{Kernel, Machine};
use super::super::operators::Known;
use super::{WordType, Words};
use cubecl::ir::dialect::MemoryClobbers;
use cubecl::prelude::*;
use cubecl_cpp::cuda::ptx::{GenericToSharedOp, InlinePtxOp};
use pliron::value::Value;

/// The first architecture that combines the integers of a plane in one instruction.
const REDUX: u32 = 80;

/// An instruction that gives a number and touches no memory.
fn compute(kernel: &Kernel<'_>, ptx: &str, arguments: &[NativeExpand<u32>]) -> NativeExpand<u32> {
    fetch(kernel, ptx, arguments, MemoryClobbers::Nomem)
}

/// An instruction that gives a number or a vector of them, and may read memory for it.
fn fetch<T: CubePrimitive>(
    kernel: &Kernel<'_>,
    ptx: &str,
    arguments: &[NativeExpand<u32>],
    memory: MemoryClobbers,
) -> NativeExpand<T> {
    let scope = kernel.scope();
    let arguments = arguments
        .iter()
        .map(|value| value.read_value(scope))
        .collect();
    let ty = T::__expand_as_type(scope);
    let ctx = scope.ctx_mut();
    let op = InlinePtxOp::new_volatile(ctx, Some(ty), ptx, arguments);
    op.set_attr_cuda_inline_ptx_memory_clobbers(ctx, memory.into());
    scope.register(&op);
    let result = op.result(scope.ctx());
    result.expect("the instruction gives something").into()
}

/// An instruction that waits: what was written before it is written, and what is read after it is read anew.
fn wait(kernel: &Kernel<'_>, ptx: &str, arguments: &[NativeExpand<u32>]) {
    let scope = kernel.scope();
    let arguments = arguments
        .iter()
        .map(|value| value.read_value(scope))
        .collect();
    let ctx = scope.ctx_mut();
    let op = InlinePtxOp::new_volatile(ctx, None, ptx, arguments);
    op.set_clobbers(ctx, vec!["memory".into()]);
    op.set_attr_cuda_inline_ptx_memory_clobbers(ctx, MemoryClobbers::ReadWrite.into());
    scope.register(&op);
}

/// Lanes to name as those that take part: at least `lanes`, and all of the plane where all are here. A mask that is not
/// constant costs a comparison and a second path, for planes that came apart.
fn participants(kernel: &Kernel<'_>, lanes: Words) -> NativeExpand<u32> {
    match kernel.is_converged() {
        true => u32::MAX.into(),
        false => lanes[0],
    }
}

pub(in crate::coop) fn ballot(
    kernel: &Kernel<'_>,
    predicate: NativeExpand<bool>,
    lanes: Words,
) -> Words {
    let vote = select::expand::<u32>(kernel.scope(), predicate, 1u32.into(), 0u32.into());
    let ptx = "{\n.reg .pred yes;\nsetp.ne.u32 yes, $1, 0;\nvote.sync.ballot.b32 $0, yes, $2;\n}";
    let votes = compute(kernel, ptx, &[vote, participants(kernel, lanes)]);
    each_word(kernel, |_| votes)
}

pub(in crate::coop) fn matching(
    kernel: &Kernel<'_>,
    number: NativeExpand<u32>,
    lanes: Words,
) -> Words {
    let same = compute(
        kernel,
        "match.any.sync.b32 $0, $1, $2;",
        &[number, participants(kernel, lanes)],
    );
    each_word(kernel, |_| kernel.bitand(same, lanes[0]))
}

pub(in crate::coop) fn shuffle(
    kernel: &Kernel<'_>,
    value: NativeExpand<u32>,
    from: NativeExpand<u32>,
    lanes: Words,
) -> NativeExpand<u32> {
    let ptx = "shfl.sync.idx.b32 $0, $1, $2, 31, $3;";
    compute(kernel, ptx, &[value, from, participants(kernel, lanes)])
}

pub(in crate::coop) fn exchange(
    kernel: &Kernel<'_>,
    value: NativeExpand<u32>,
    bits: u32,
    lanes: Words,
) -> NativeExpand<u32> {
    let ptx = format!("shfl.sync.bfly.b32 $0, $1, {bits}, 31, $2;");
    compute(kernel, &ptx, &[value, participants(kernel, lanes)])
}

pub(in crate::coop) fn reduces(kernel: &Kernel<'_>, operation: Known) -> bool {
    kernel.architecture() >= REDUX && operation != Known::Product
}

/// A shuffle says whether there is such a lane, which nothing has to compute. All steps are one operation to the compiler,
/// which then finds loops of scans small enough to unroll.
pub(in crate::coop) fn sums_of_neighbours(
    kernel: &Kernel<'_>,
    value: NativeExpand<u32>,
    ty: WordType,
    strides: &[u32],
    first: NativeExpand<u32>,
    lanes: Words,
) -> Option<NativeExpand<u32>> {
    let add = match ty {
        WordType::Signed | WordType::Unsigned => "add.u32",
        WordType::Float => "add.rn.f32",
    };
    let steps = strides.iter().map(|stride| {
        format!(
            "shfl.sync.up.b32 told|there, sum, {stride}, $2, $3;\n@there {add} sum, told, sum;\n"
        )
    });
    let steps: String = steps.collect();
    let ptx = format!(
        "{{\n.reg .b32 sum, told;\n.reg .pred there;\nmov.b32 sum, $1;\n{steps}mov.b32 $0, sum;\n}}"
    );
    let arguments = [value, first, participants(kernel, lanes)];
    Some(compute(kernel, &ptx, &arguments))
}

pub(in crate::coop) fn sums_and_before(
    kernel: &Kernel<'_>,
    value: NativeExpand<u32>,
    strides: &[u32],
    first: NativeExpand<u32>,
    lanes: Words,
) -> Option<[NativeExpand<u32>; 2]> {
    let steps = strides.iter().map(|stride| {
        let before = match stride {
            1 => "mov.b32 before, told",
            _ => "@there add.rn.f32 before, told, before",
        };
        format!(
            "shfl.sync.up.b32 told|there, sum, {stride}, $2, $3;\n@there add.rn.f32 sum, told, sum;\n{before};\n"
        )
    });
    let steps: String = steps.collect();
    let ptx = format!(
        "{{\n.reg .b32 sum, before, told;\n.reg .pred there;\n.reg .b64 both;\nmov.b32 sum, $1;\n{steps}mov.b64 both, {{sum, \
         before}};\nmov.b64 $0, both;\n}}"
    );
    let arguments = [value, first, participants(kernel, lanes)];
    let both = fetch::<Vector<u32, Const<2>>>(kernel, &ptx, &arguments, MemoryClobbers::Nomem);
    Some([0, 1].map(|index| both.__expand_extract_method(kernel.scope(), index)))
}

pub(in crate::coop) fn reduce(
    kernel: &Kernel<'_>,
    value: NativeExpand<u32>,
    operation: Known,
    is_signed: bool,
    lanes: Words,
) -> Option<NativeExpand<u32>> {
    let number = if is_signed { "s32" } else { "u32" };
    let (name, ty) = match operation {
        _ if !reduces(kernel, operation) => return None,
        Known::Sum => ("add", number),
        Known::Min => ("min", number),
        Known::Max => ("max", number),
        Known::And => ("and", "b32"),
        Known::Or => ("or", "b32"),
        Known::Xor => ("xor", "b32"),
        Known::Product => return None,
    };
    let ptx = format!("redux.sync.{name}.{ty} $0, $1, $2;");
    Some(compute(kernel, &ptx, &[value, lanes[0]]))
}

pub(in crate::coop) fn sync_lanes(kernel: &Kernel<'_>, lanes: Words) {
    wait(kernel, "bar.warp.sync $0;", &[lanes[0]]);
}

pub(in crate::coop) fn sync_named(
    kernel: &Kernel<'_>,
    id: NativeExpand<u32>,
    units: NativeExpand<u32>,
) -> bool {
    wait(kernel, "bar.sync $0, $1;", &[id, units]);
    true
}

pub(in crate::coop) fn sync_cluster(kernel: &Kernel<'_>) -> bool {
    let ptx = "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;";
    wait(kernel, ptx, &[]);
    true
}

pub(in crate::coop) fn shared_address(
    kernel: &Kernel<'_>,
    place: Value,
) -> Option<NativeExpand<u32>> {
    let scope = kernel.scope();
    let op = GenericToSharedOp::new(scope.ctx_mut(), place);
    Some(scope.register_with_result(&op).into())
}

pub(in crate::coop) fn load_of_cube(
    kernel: &Kernel<'_>,
    address: NativeExpand<u32>,
    cube: NativeExpand<u32>,
) -> Option<NativeExpand<u32>> {
    let ptx = "{\n.reg .u32 there;\nmapa.shared::cluster.u32 there, $1, $2;\nld.shared::cluster.b32 $0, [there];\n}";
    Some(fetch(
        kernel,
        ptx,
        &[address, cube],
        MemoryClobbers::Readonly,
    ))
}
