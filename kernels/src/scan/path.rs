//! Which way a scan can go.

use super::look_back::words;
use super::{CALL, Determinism, ScanOptions, ScanPath};
use cubecl::ir::{ElemType, UIntKind};
use girih::device::{Device, Target};
use girih::memory::{AtomicAccess, MemoryOrder, MemoryScope, Operation};
use girih::{Error, Result};

/// Whether the order in which values are combined shows in the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exactness {
    /// It does not.
    Exact,
    /// It does, in the last bits.
    Rounds,
}

/// The path asked for, if one is, can be taken, and keeps what is promised.
pub(crate) fn require(
    device: &Device,
    sum: ElemType,
    exactness: Exactness,
    options: &ScanOptions<'_>,
) -> Result<()> {
    if options.path == Some(ScanPath::Pipelined) {
        return require_pipelined(device, CALL);
    }
    if options.path != Some(ScanPath::LookBack) {
        return Ok(());
    }
    if exactness == Exactness::Rounds && options.determinism == Determinism::RunToRun {
        return Err(Error::Argument {
            call: CALL,
            argument: "path",
            given: "LookBack, of floats, whose rounding depends on the run".into(),
            allowed: "ReduceThenScan for results that do not".into(),
        });
    }
    require_look_back(device, CALL, sum)
}

/// An error that names what the device lacks for look-back, if it lacks anything.
pub fn require_look_back(device: &Device, call: &'static str, sum: ElemType) -> Result<()> {
    let goes_on = matches!(device.target(), Target::Cuda | Target::Cpu);
    device.require(
        goes_on,
        call,
        "forward progress of cubes that others wait for, for look-back",
    )?;
    let lanes = lanes(device).is_some_and(|lanes| lanes <= 32);
    device.require(
        lanes,
        call,
        "planes of one size, up to 32 units, for look-back",
    )?;
    let word = ElemType::UInt(UIntKind::U64);
    let (load, store) = match words(sum.size()) {
        1 => (MemoryOrder::Relaxed, MemoryOrder::Relaxed),
        _ => (MemoryOrder::Acquire, MemoryOrder::Release),
    };
    for (operation, order) in [(Operation::Load, load), (Operation::Store, store)] {
        let access = AtomicAccess::new(operation, word).ordered(order, MemoryScope::Device);
        device.require_atomic(call, &access)?;
    }
    Ok(())
}

/// An error that names what the device lacks for pipelined scans, if it lacks anything.
pub fn require_pipelined(device: &Device, call: &'static str) -> Result<()> {
    let copies = device.copies_in_bulk() && lanes(device) == Some(32);
    device.require(
        copies,
        call,
        "bulk copies to shared memory, for pipelined scans",
    )?;
    let word = ElemType::UInt(UIntKind::U64);
    for operation in [Operation::Load, Operation::Store, Operation::Add] {
        let access = AtomicAccess::new(operation, word);
        let access = access.ordered(MemoryOrder::Relaxed, MemoryScope::Device);
        device.require_atomic(call, &access)?;
    }
    Ok(())
}

/// Whether look-back is the launcher's own choice, for rows of several tiles.
pub(crate) fn prefers_look_back(
    device: &Device,
    sum: ElemType,
    exactness: Exactness,
    determinism: Determinism,
) -> bool {
    let may_differ = exactness == Exactness::Exact || determinism == Determinism::Any;
    device.target() == Target::Cuda && may_differ && require_look_back(device, CALL, sum).is_ok()
}

/// How many units a plane has, where every plane has as many.
pub(crate) fn lanes(device: &Device) -> Option<usize> {
    let hardware = &device.client().properties().hardware;
    let (least, most) = (hardware.plane_size_min, hardware.plane_size_max);
    (least == most).then_some(most.max(1) as usize)
}
