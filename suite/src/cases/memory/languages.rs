//! What each order and scope becomes in the languages of the other targets: no device is needed.

use std::collections::BTreeMap;

use cubecl::prelude::*;
use girih::memory as m;
use girih::memory::MemoryOrder::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use girih::prelude::{AtomicExt, AtomicExtExpand, fence};
use girih_testkit::{
    Error, cases,
    offline::{Language, Toolkit, buffer, settings, target},
};

cases! {
    in Toolkit;
    llvm_of_every_order,
    spirv_of_every_order,
    spirv_of_a_fence_alone,
    hip_of_every_order,
    metal_of_every_order,
}

/// A kernel with every operation in one order at one scope.
#[cube(launch_unchecked)]
fn all<U: m::UpdateOrder, L: m::LoadOrder, W: m::StoreOrder, F: m::FenceOrder, S: m::KnownScope>(
    cells: &[Atomic<u32>],
    out: &mut [u32],
) {
    let value = out[100];
    out[0] = cells[0].at::<S>().load::<L>();
    cells[1].at::<S>().store::<W>(value);
    out[2] = cells[2].at::<S>().fetch_add::<U>(value);
    out[3] = cells[3].at::<S>().fetch_sub::<U>(value);
    out[4] = cells[4].at::<S>().fetch_min::<U>(value);
    out[5] = cells[5].at::<S>().fetch_max::<U>(value);
    out[6] = cells[6].at::<S>().fetch_and::<U>(value);
    out[7] = cells[7].at::<S>().fetch_or::<U>(value);
    out[8] = cells[8].at::<S>().fetch_xor::<U>(value);
    out[9] = cells[9].at::<S>().exchange::<U>(value);
    out[10] = cells[10].at::<S>().compare_exchange::<U>(value, out[101]);
    fence::<F, S>();
}

/// [`all`] with its orders and scope, in a language.
fn written<
    U: m::UpdateOrder,
    L: m::LoadOrder,
    W: m::StoreOrder,
    F: m::FenceOrder,
    S: m::KnownScope,
>(
    language: Language,
) -> Result<String, Error> {
    language.write(all::All::<U, L, W, F, S>::new(
        settings(32),
        language.properties(),
        target(),
        buffer(),
        buffer(),
    ))
}

/// That the text has each of the parts, on one line each.
fn assert_lines(text: &str, lines: &[&[&str]]) {
    for parts in lines {
        let found = text
            .lines()
            .any(|line| parts.iter().all(|part| line.contains(part)));
        assert!(found, "no line with {parts:?} in\n{text}");
    }
}

/// Orders of updates, loads, stores and fences.
type Orders = [MemoryOrder; 4];

/// Writes [`all`] in each combination of orders at one scope, and hands each text to a check.
macro_rules! in_every_order {
    ($language:expr, $scope:ident, $check:expr) => {
        $check(
            &written::<m::Relaxed, m::Relaxed, m::Relaxed, m::AcqRel, m::$scope>($language)?,
            [Relaxed, Relaxed, Relaxed, AcqRel],
        );
        $check(
            &written::<m::Acquire, m::Acquire, m::Relaxed, m::Acquire, m::$scope>($language)?,
            [Acquire, Acquire, Relaxed, Acquire],
        );
        $check(
            &written::<m::Release, m::Relaxed, m::Release, m::Release, m::$scope>($language)?,
            [Release, Relaxed, Release, Release],
        );
        $check(
            &written::<m::AcqRel, m::Acquire, m::Release, m::AcqRel, m::$scope>($language)?,
            [AcqRel, Acquire, Release, AcqRel],
        );
    };
}

fn check_llvm(text: &str, [update, load, store, fence]: Orders) {
    let name = |order| match order {
        Relaxed => "Monotonic",
        Acquire => "Acquire",
        Release => "Release",
        AcqRel => "AcqRel",
        SeqCst => "SeqCst",
        order => panic!("{order:?} is not in the list"),
    };
    for kind in ["Add", "Sub", "UMin", "UMax", "And", "Or", "Xor", "Xchg"] {
        assert_lines(text, &[&["llvm.atomicrmw", kind, name(update)]]);
    }
    assert_lines(
        text,
        &[
            &["llvm.atomic_load", name(load)],
            &["llvm.atomic_store", name(store)],
            &["llvm.cmpxchg", name(update)],
            &["llvm.fence", name(fence)],
        ],
    );
}

fn llvm_of_every_order(_: &Toolkit) -> Result<(), Error> {
    in_every_order!(Language::Llvm, Unit, check_llvm);
    in_every_order!(Language::Llvm, Cube, check_llvm);
    in_every_order!(Language::Llvm, Device, check_llvm);
    in_every_order!(Language::Llvm, System, check_llvm);
    let all = written::<m::SeqCst, m::SeqCst, m::SeqCst, m::SeqCst, m::Device>(Language::Llvm)?;
    check_llvm(&all, [SeqCst; 4]);
    Ok(())
}

/// The integer constants of a disassembled module, by name.
fn constants(text: &str) -> BTreeMap<&str, u32> {
    let lines = text.lines().filter_map(|line| {
        let (name, rest) = line.split_once(" = OpConstant ")?;
        let value = rest.split_whitespace().nth(1)?.parse().ok()?;
        Some((name.trim(), value))
    });
    lines.collect()
}

/// SPIR-V's semantics of an order over buffers and shared memory, as its specification numbers them.
fn spirv_semantics(order: MemoryOrder) -> u32 {
    const BUFFERS_AND_SHARED: u32 = 0x40 | 0x100;
    const MAKE_AVAILABLE: u32 = 0x2000;
    const MAKE_VISIBLE: u32 = 0x4000;
    match order {
        Acquire => 0x2 | BUFFERS_AND_SHARED | MAKE_VISIBLE,
        Release => 0x4 | BUFFERS_AND_SHARED | MAKE_AVAILABLE,
        AcqRel => 0x8 | BUFFERS_AND_SHARED | MAKE_AVAILABLE | MAKE_VISIBLE,
        _ => 0,
    }
}

/// That each instruction of that name has the scope and semantics among its operands, in this order.
fn assert_spirv(text: &str, name: &str, scope: u32, semantics: &[u32]) {
    let constants = constants(text);
    let mut lines = text
        .lines()
        .filter(|line| line.split_whitespace().any(|word| word == name))
        .peekable();
    assert!(lines.peek().is_some(), "no {name} in\n{text}");
    for line in lines {
        let operands = line
            .split(name)
            .nth(1)
            .unwrap_or_default()
            .split_whitespace();
        let values: Vec<u32> = operands
            .filter_map(|word| constants.get(word).copied())
            .collect();
        let want: Vec<u32> = [scope].iter().chain(semantics).copied().collect();
        assert!(
            values.starts_with(&want),
            "{line}: {values:?}, not {want:?}"
        );
    }
}

const SPIRV_UPDATES: [&str; 8] = [
    "OpAtomicIAdd",
    "OpAtomicISub",
    "OpAtomicUMin",
    "OpAtomicUMax",
    "OpAtomicAnd",
    "OpAtomicOr",
    "OpAtomicXor",
    "OpAtomicExchange",
];

fn check_spirv(text: &str, scope: u32, [update, load, store, fence]: Orders) {
    for name in SPIRV_UPDATES {
        assert_spirv(text, name, scope, &[spirv_semantics(update)]);
    }
    assert_spirv(text, "OpAtomicLoad", scope, &[spirv_semantics(load)]);
    assert_spirv(text, "OpAtomicStore", scope, &[spirv_semantics(store)]);
    assert_spirv(text, "OpMemoryBarrier", scope, &[spirv_semantics(fence)]);
    let failure = match update {
        Release => Relaxed,
        AcqRel => Acquire,
        order => order,
    };
    let semantics = [spirv_semantics(update), spirv_semantics(failure)];
    assert_spirv(text, "OpAtomicCompareExchange", scope, &semantics);
}

fn spirv_of_every_order(_: &Toolkit) -> Result<(), Error> {
    // SPIR-V's numbers of its scopes.
    let (device, workgroup, invocation) = (1, 2, 4);
    let at = |scope| move |text: &str, orders: Orders| check_spirv(text, scope, orders);
    in_every_order!(Language::Spirv, Unit, at(invocation));
    in_every_order!(Language::Spirv, Cube, at(workgroup));
    in_every_order!(Language::Spirv, Cluster, at(device));
    in_every_order!(Language::Spirv, Device, at(device));
    Ok(())
}

/// A fence and nothing else that has an order.
#[cube(launch_unchecked)]
fn fence_alone(out: &mut [u32]) {
    out[0] = 1u32;
    fence::<m::Release, m::Device>();
    out[1] = 1u32;
}

fn spirv_of_a_fence_alone(_: &Toolkit) -> Result<(), Error> {
    let properties = Language::Spirv.properties();
    let kernel = fence_alone::FenceAlone::new(settings(32), properties, target(), buffer());
    let text = Language::Spirv.write(kernel)?;
    assert_spirv(&text, "OpMemoryBarrier", 1, &[spirv_semantics(Release)]);
    assert_lines(&text, &[&["OpCapability", "VulkanMemoryModelDeviceScope"]]);
    Ok(())
}

fn check_hip(text: &str, scope: &str, fence_scope: &str, [update, load, store, fence]: Orders) {
    let name = |order| match order {
        Relaxed => "__ATOMIC_RELAXED",
        Acquire => "__ATOMIC_ACQUIRE",
        Release => "__ATOMIC_RELEASE",
        AcqRel => "__ATOMIC_ACQ_REL",
        order => panic!("{order:?} is not in the list"),
    };
    let functions = ["add", "sub", "min", "max", "and", "or", "xor"];
    for function in functions.map(|function| format!("__hip_atomic_fetch_{function}(")) {
        assert_lines(text, &[&[&function, name(update), scope]]);
    }
    assert_lines(
        text,
        &[
            &["__hip_atomic_exchange(", name(update), scope],
            &["__hip_atomic_compare_exchange_strong(", name(update), scope],
            &["__hip_atomic_load(", name(load), scope],
            &["__hip_atomic_store(", name(store), scope],
            &["__builtin_amdgcn_fence(", name(fence), fence_scope],
        ],
    );
}

fn hip_of_every_order(_: &Toolkit) -> Result<(), Error> {
    let at = |scope, fence| move |text: &str, orders: Orders| check_hip(text, scope, fence, orders);
    let (cube, device) = ("__HIP_MEMORY_SCOPE_WORKGROUP", "__HIP_MEMORY_SCOPE_AGENT");
    in_every_order!(Language::Hip, Cube, at(cube, "\"workgroup\""));
    in_every_order!(Language::Hip, Cluster, at(device, "\"agent\""));
    in_every_order!(Language::Hip, Device, at(device, "\"agent\""));
    in_every_order!(
        Language::Hip,
        System,
        at("__HIP_MEMORY_SCOPE_SYSTEM", "\"\"")
    );
    Ok(())
}

/// That each access has the fences of its order on the lines around it, and no others.
fn check_metal(text: &str, scope: &str, [update, load, store, _]: Orders) {
    let lines: Vec<&str> = text.lines().collect();
    let fence = |at: Option<usize>, order: &str| {
        let line = at.and_then(|at| lines.get(at)).unwrap_or(&"");
        line.contains("atomic_thread_fence(") && line.contains(order) && line.contains(scope)
    };
    let mut accesses = 0;
    for (at, line) in lines.iter().enumerate() {
        let order = match line {
            line if line.contains("atomic_load_explicit(") => load,
            line if line.contains("atomic_store_explicit(") => store,
            line if line.contains("_explicit(") => update,
            _ => continue,
        };
        accesses += 1;
        assert!(line.contains("memory_order_relaxed"), "{line}");
        let releases = fence(at.checked_sub(1), "memory_order_release");
        let acquires = fence(Some(at + 1), "memory_order_acquire");
        assert_eq!(
            (releases, acquires),
            (order.releases(), order.acquires()),
            "{line}"
        );
    }
    assert_eq!(accesses, 11, "{text}");
}

fn metal_of_every_order(_: &Toolkit) -> Result<(), Error> {
    let at = |scope| move |text: &str, orders: Orders| check_metal(text, scope, orders);
    in_every_order!(Language::Metal, Cube, at("thread_scope_threadgroup"));
    in_every_order!(Language::Metal, Device, at("thread_scope_device"));
    Ok(())
}
