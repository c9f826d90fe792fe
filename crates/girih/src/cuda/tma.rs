//! Copies of tiles of a tensor into shared memory, started by one unit (`cp.async.bulk.tensor`).
//!
//! The launcher describes the tensor and the tile with a `TensorMapArg`. What lies outside of the tensor is 0; it counts
//! among the bytes that the barrier has to [expect](super::mbarrier::expect()) all the same.
//!
//! With `TensorMapSwizzle::B128` and tiles of 128 bytes a row, the tile starts on a multiple of 1024 bytes, and byte `c` of
//! row `r` lies at `128 r + (c ^ 16 (r % 8))`: the 16-byte parts of a row change places, so that neither those who read rows
//! nor those who read columns wait for one bank.

use super::emit::{Instruction, Since};
use cubecl::prelude::*;

const SINCE: Since = Since::Sm(90);

/// The address of a tensor map.
#[allow(unused_variables)]
fn address<E: CubePrimitive>(
    scope: &Scope,
    map: &NativeExpand<TensorMap<E, Tiled>>,
) -> pliron::value::Value {
    let map = map.value(scope);
    #[cfg(feature = "cuda")]
    if super::emit::allowed(scope, "tma", SINCE) {
        let op = cubecl_cpp::cuda::ptx::TensorMapAddrOp::new(scope.ctx_mut(), map);
        return scope.register_with_result(&op);
    }
    map
}

/// Starts a copy of the tile at column `x` of row `y` of matrix `z` to `to`, and counts its bytes at `barrier`.
#[cube]
pub fn load_3d<E: CubePrimitive>(
    map: &TensorMap<E, Tiled>,
    to: u32,
    barrier: u32,
    x: u32,
    y: u32,
    z: u32,
) {
    intrinsic!(|scope| {
        let map = address(scope, map);
        Instruction {
            call: "tma::load_3d",
            since: SINCE,
            text: "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes \
                   [$0], [$1, {$3, $4, $5}], [$2];",
            memory: true,
        }
        .run(
            scope,
            vec![
                to.read_value(scope),
                map,
                barrier.read_value(scope),
                x.read_value(scope),
                y.read_value(scope),
                z.read_value(scope),
            ],
        );
    })
}

/// As [`load_3d()`], to the same place of each cube of the cluster whose bit is set in `cubes`, where its bytes count at the
/// barrier in the same place.
#[cube]
pub fn load_3d_to_cubes<E: CubePrimitive>(
    map: &TensorMap<E, Tiled>,
    to: u32,
    barrier: u32,
    x: u32,
    y: u32,
    z: u32,
    #[comptime] cubes: u16,
) {
    intrinsic!(|scope| {
        let map = address(scope, map);
        let text = format!(
            "{{\n.reg .b16 cubes;\nmov.b16 cubes, {cubes};\n\
             cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
             [$0], [$1, {{$3, $4, $5}}], [$2], cubes;\n}}"
        );
        Instruction {
            call: "tma::load_3d_to_cubes",
            since: SINCE,
            text: &text,
            memory: true,
        }
        .run(
            scope,
            vec![
                to.read_value(scope),
                map,
                barrier.read_value(scope),
                x.read_value(scope),
                y.read_value(scope),
                z.read_value(scope),
            ],
        );
    })
}

/// Reads a tensor map ahead, before the first copy needs it.
#[cube]
pub fn prefetch_map<E: CubePrimitive>(map: &TensorMap<E, Tiled>) {
    intrinsic!(|scope| {
        let map = address(scope, map);
        Instruction {
            call: "tma::prefetch_map",
            since: SINCE,
            text: "prefetch.tensormap [$0];",
            memory: true,
        }
        .run(scope, vec![map]);
    })
}
