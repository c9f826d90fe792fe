//! Barriers in shared memory that count arrivals and bytes (`mbarrier`).
//!
//! A barrier is 8 bytes, on a multiple of 8. It is in one of its phases, which are numbered from 0. A phase ends when as many
//! arrivals as [`init()`] was told have come and every byte that was [expected](expect()) has; the next begins at once, and waits
//! for as many. A phase is known by its parity: [`wait()`] returns once the phase of that parity which is under way, if it
//! is, has ended. Hence of a new barrier the parity 1 is waited for already: its phase "-1" has ended.
//!
//! The usual ring of buffers between one who fills and those who use, with a barrier `full` and one `empty` for each buffer:
//!
//! * who fills waits for `empty` with parity `1 ^ round % 2`, and then [expects](expect()) bytes at `full`;
//! * who uses waits for `full` with parity `round % 2`, and then arrives at `empty`,
//!
//! where `round` counts how often the ring was gone around. Who fills is thus at most a round ahead, and no phase is waited
//! for after the next one of the same parity may have begun.
//!
//! Written by hand, for CubeCL's own `Barrier` includes a header that takes NVRTC a second or two to read.

use super::emit::{Instruction, Since};
use cubecl::prelude::*;

/// How long a barrier is waited for, in nanoseconds, before the kernel ends with an error of the device (status 719), so that one that
/// would wait for ever cannot keep a device.
///
/// It is time by the device's clock from when a wait did not end at once, and begins anew with each wait. Waits of a kernel that gets
/// on are for a few tiles to be loaded, multiplied or stored, microseconds: one that ends so waits for arrivals or bytes that never
/// come. But the clock goes on while a debugger holds the kernel or the device is given to others, and a tool that slows each
/// instruction some thousandfold may reach the end too.
pub const PATIENCE: u64 = 20_000_000_000;

const SINCE: Since = Since::Sm(90);

/// Makes a barrier whose phases each need `arrivals`. One unit calls it; then [`publish()`], and a barrier of the cube, or of
/// the cluster where other cubes arrive too.
#[cube]
pub fn init(barrier: u32, arrivals: u32) {
    intrinsic!(|scope| {
        Instruction {
            call: "mbarrier::init",
            since: SINCE,
            text: "mbarrier.init.shared::cta.b64 [$0], $1;",
            memory: true,
        }
        .run(
            scope,
            vec![barrier.read_value(scope), arrivals.read_value(scope)],
        );
    })
}

/// Makes barriers that this unit made known to other cubes of the cluster and to bulk copies.
#[cube]
pub fn publish() {
    intrinsic!(|scope| {
        Instruction {
            call: "mbarrier::publish",
            since: SINCE,
            text: "fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;",
            memory: true,
        }
        .run(scope, vec![]);
    })
}

/// Arrives, and has the phase last until so many bytes came by bulk copies.
#[cube]
pub fn expect(barrier: u32, bytes: u32) {
    intrinsic!(|scope| {
        Instruction {
            call: "mbarrier::expect",
            since: SINCE,
            text: "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
            memory: true,
        }
        .run(
            scope,
            vec![barrier.read_value(scope), bytes.read_value(scope)],
        );
    })
}

/// Arrives: what this unit did before it is done for those who wait.
#[cube]
pub fn arrive(barrier: u32) {
    intrinsic!(|scope| {
        Instruction {
            call: "mbarrier::arrive",
            since: SINCE,
            text: "mbarrier.arrive.shared::cta.b64 _, [$0];",
            memory: true,
        }
        .run(scope, vec![barrier.read_value(scope)]);
    })
}

/// Arrives if this unit's `lane` is 0. Nothing branches, so that the plane stays together.
#[cube]
pub fn arrive_once(barrier: u32, lane: u32) {
    intrinsic!(|scope| {
        Instruction {
            call: "mbarrier::arrive_once",
            since: SINCE,
            text: "{\n.reg .pred p;\nsetp.eq.u32 p, $1, 0;\n@p mbarrier.arrive.shared::cta.b64 _, [$0];\n}",
            memory: true,
        }
        .run(
            scope,
            vec![barrier.read_value(scope), lane.read_value(scope)],
        );
    })
}

/// Of a plane, its first `cubes` lanes each arrive at the barrier that the cube of the lane's number has at this address in
/// the cluster. Nothing branches, so that the plane stays together.
#[cube]
pub fn arrive_in_cluster(barrier: u32, lane: u32, cubes: u32) {
    intrinsic!(|scope| {
        Instruction {
            call: "mbarrier::arrive_in_cluster",
            since: SINCE,
            text: "{\n.reg .pred p;\n.reg .b32 there;\nsetp.lt.u32 p, $1, $2;\n\
                   @p mapa.shared::cluster.u32 there, $0, $1;\n\
                   @p mbarrier.arrive.shared::cluster.b64 _, [there];\n}",
            memory: true,
        }
        .run(
            scope,
            vec![
                barrier.read_value(scope),
                lane.read_value(scope),
                cubes.read_value(scope),
            ],
        );
    })
}

/// Waits until the phase of this parity has ended, and sees what those did who arrived; for [`PATIENCE`] at most, whereupon the kernel ends
/// with an error of the device.
#[cube]
pub fn wait(barrier: u32, parity: u32) {
    intrinsic!(|scope| {
        let attempt = "mbarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\n@done bra END;";
        let text = format!(
            "{{\n.reg .pred done;\n.reg .pred patient;\n.reg .u64 start, now;\n{attempt}\n\
             mov.u64 start, %%globaltimer;\nAGAIN:\n{attempt}\n\
             mov.u64 now, %%globaltimer;\nsub.u64 now, now, start;\nsetp.lt.u64 patient, now, {PATIENCE};\n\
             @patient bra AGAIN;\ntrap;\nEND:\n}}"
        );
        Instruction {
            call: "mbarrier::wait",
            since: SINCE,
            text: &text,
            memory: true,
        }
        .run(
            scope,
            vec![barrier.read_value(scope), parity.read_value(scope)],
        );
    })
}
