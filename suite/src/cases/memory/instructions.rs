//! What each order, scope, operation and type becomes in PTX: no device is needed.

use std::collections::BTreeMap;

use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::memory as m;
use girih::memory::MemoryOrder::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use girih::memory::MemoryScope;
use girih::memory::Operation::{self, Add, And, Exchange, Max, Min, Mul, Or, Sub, Xor};
use girih::prelude::{AtomicExt, AtomicExtExpand, fence};
use girih_testkit::{
    Error, cases,
    offline::{
        Toolkit, buffer, hopper, settings, target,
        types::{BF16, F16, F32, F64, I32, I64, U32, U64},
    },
};
use half::{bf16, f16};

cases! {
    in Toolkit;
    ptx_of_updates_of_integers,
    ptx_of_updates_of_floats,
    ptx_of_updates_of_halves,
    ptx_of_reductions,
    ptx_of_loads_stores_and_fences,
    ptx_of_shared_memory,
}

/// Each order of an update at each scope, numbered.
macro_rules! for_each_update {
    ($with:ident! $arguments:tt) => {
        $with! { $arguments
            (Relaxed, Unit, 0) (Relaxed, Cube, 1) (Relaxed, Cluster, 2) (Relaxed, Device, 3) (Relaxed, System, 4)
            (Acquire, Unit, 5) (Acquire, Cube, 6) (Acquire, Cluster, 7) (Acquire, Device, 8) (Acquire, System, 9)
            (Release, Unit, 10) (Release, Cube, 11) (Release, Cluster, 12) (Release, Device, 13) (Release, System, 14)
            (AcqRel, Unit, 15) (AcqRel, Cube, 16) (AcqRel, Cluster, 17) (AcqRel, Device, 18) (AcqRel, System, 19)
            (SeqCst, Unit, 20) (SeqCst, Cube, 21) (SeqCst, Cluster, 22) (SeqCst, Device, 23) (SeqCst, System, 24)
        }
    };
}

const ORDERS: [MemoryOrder; 5] = [Relaxed, Acquire, Release, AcqRel, SeqCst];
const SCOPES: [MemoryScope; 5] = [
    MemoryScope::Unit,
    MemoryScope::Cube,
    MemoryScope::Cluster,
    MemoryScope::Device,
    MemoryScope::System,
];

/// A kernel with one operation in every order at every scope; the old value is kept, or not.
macro_rules! update_kernel {
    (($keep:ident, $drop:ident, $method:ident, $bound:ident) $(($order:ident, $scope:ident, $at:literal))*) => {
        #[cube(launch_unchecked)]
        fn $keep<T: $bound>(cells: &[Atomic<T>], out: &mut [T]) {
            let value = out[100];
            $(out[$at] = cells[$at].at::<m::$scope>().$method::<m::$order>(value);)*
        }
        #[cube(launch_unchecked)]
        fn $drop<T: $bound>(cells: &[Atomic<T>], out: &mut [T]) {
            let value = out[100];
            $(cells[$at].at::<m::$scope>().$method::<m::$order>(value);)*
            out[0] = value;
        }
    };
}
for_each_update!(update_kernel!(add, add_alone, fetch_add, Numeric));
for_each_update!(update_kernel!(sub, sub_alone, fetch_sub, Numeric));
for_each_update!(update_kernel!(mul, mul_alone, fetch_mul, Numeric));
for_each_update!(update_kernel!(min, min_alone, fetch_min, Numeric));
for_each_update!(update_kernel!(max, max_alone, fetch_max, Numeric));
for_each_update!(update_kernel!(and, and_alone, fetch_and, Int));
for_each_update!(update_kernel!(or, or_alone, fetch_or, Int));
for_each_update!(update_kernel!(xor, xor_alone, fetch_xor, Int));
for_each_update!(update_kernel!(exchange, exchange_alone, exchange, Numeric));

macro_rules! compare_exchange_kernel {
    (() $(($order:ident, $scope:ident, $at:literal))*) => {
        #[cube(launch_unchecked)]
        fn compare_exchange<T: Numeric>(cells: &[Atomic<T>], out: &mut [T]) {
            let (expected, value) = (out[100], out[101]);
            $(out[$at] = cells[$at].at::<m::$scope>().compare_exchange::<m::$order>(expected, value);)*
        }
    };
}
for_each_update!(compare_exchange_kernel!());

/// The PTX of a kernel of one type, with two buffers.
macro_rules! ptx {
    ($toolkit:expr, $module:ident::$kernel:ident<$t:ty>) => {
        $toolkit.compile_to_ptx($module::$kernel::<$t>::new(
            settings(32),
            hopper(),
            target(),
            buffer(),
            buffer(),
        ))?
    };
}

fn scope_name(scope: MemoryScope) -> &'static str {
    match scope {
        MemoryScope::Unit | MemoryScope::Cube => "cta",
        MemoryScope::Cluster => "cluster",
        MemoryScope::Device => "gpu",
        MemoryScope::System => "sys",
    }
}

fn order_name(order: MemoryOrder) -> &'static str {
    match order {
        MemoryOrder::Weak => "weak",
        Relaxed => "relaxed",
        Acquire => "acquire",
        Release => "release",
        AcqRel => "acq_rel",
        // Behind a fence.
        SeqCst => "acquire",
    }
}

/// That the text holds each of the lines as often as it is listed, and nothing else of the kind.
fn assert_counts(text: &str, kinds: &[&str], want: impl IntoIterator<Item = String>) {
    let mut counts = BTreeMap::<String, usize>::new();
    for line in want {
        *counts.entry(line).or_default() += 1;
    }
    for (line, &count) in &counts {
        let found = text.matches(line.as_str()).count();
        assert_eq!(found, count, "`{line}` in\n{text}");
    }
    let found: usize = kinds.iter().map(|kind| text.matches(kind).count()).sum();
    assert_eq!(
        found,
        counts.values().sum::<usize>(),
        "all of {kinds:?} in\n{text}"
    );
}

/// What PTX calls an update of numbers of a type.
fn instruction(operation: Operation, element: ElemType) -> String {
    let bits = element.size() * 8;
    let number = match element {
        F16 => "noftz.f16".to_owned(),
        BF16 => "noftz.bf16".to_owned(),
        ElemType::Float(_) => format!("f{bits}"),
        ElemType::Int(_) => format!("s{bits}"),
        _ => format!("u{bits}"),
    };
    let unsigned = number.replace('s', "u");
    match operation {
        Add | Sub if matches!(element, ElemType::Float(_)) => format!("add.{number}"),
        Add | Sub => format!("add.{unsigned}"),
        Min => format!("min.{number}"),
        Max => format!("max.{number}"),
        And => format!("and.b{bits}"),
        Or => format!("or.b{bits}"),
        Xor => format!("xor.b{bits}"),
        Exchange => format!("exch.b{bits}"),
        _ => format!("cas.b{bits}"),
    }
}

/// An atomic that gives the old value, in every order at every scope.
fn atoms(name: &str) -> Vec<String> {
    let each = ORDERS
        .iter()
        .flat_map(|&order| SCOPES.map(|scope| (order, scope)));
    each.map(|(order, scope)| {
        let (order, scope) = (order_name(order), scope_name(scope));
        format!("atom.{order}.{scope}.global.{name} ")
    })
    .collect()
}

/// The same where nobody reads it: orders that do not acquire need not fetch it.
fn reductions(name: &str) -> Vec<String> {
    let each = ORDERS
        .iter()
        .flat_map(|&order| SCOPES.map(|scope| (order, scope)));
    each.map(|(order, scope)| {
        let kind = if matches!(order, Relaxed | Release) {
            "red"
        } else {
            "atom"
        };
        let (order, scope) = (order_name(order), scope_name(scope));
        format!("{kind}.{order}.{scope}.global.{name} ")
    })
    .collect()
}

fn assert_updates(ptx: &str, operation: Operation, element: ElemType) {
    assert_counts(
        ptx,
        &["atom.", "red."],
        atoms(&instruction(operation, element)),
    );
    assert_eq!(ptx.matches("fence.sc.").count(), SCOPES.len(), "{ptx}");
}

fn ptx_of_updates_of_integers(toolkit: &Toolkit) -> Result<(), Error> {
    macro_rules! check {
        ($($t:ty: $element:expr;)*) => {$(
            assert_updates(&ptx!(toolkit, add::Add<$t>), Add, $element);
            assert_updates(&ptx!(toolkit, sub::Sub<$t>), Sub, $element);
            assert_updates(&ptx!(toolkit, mul::Mul<$t>), Mul, $element);
            assert_updates(&ptx!(toolkit, min::Min<$t>), Min, $element);
            assert_updates(&ptx!(toolkit, max::Max<$t>), Max, $element);
            assert_updates(&ptx!(toolkit, and::And<$t>), And, $element);
            assert_updates(&ptx!(toolkit, or::Or<$t>), Or, $element);
            assert_updates(&ptx!(toolkit, xor::Xor<$t>), Xor, $element);
            assert_updates(&ptx!(toolkit, exchange::Exchange<$t>), Exchange, $element);
            let swaps = ptx!(toolkit, compare_exchange::CompareExchange<$t>);
            assert_updates(&swaps, Operation::CompareExchange, $element);
        )*};
    }
    check! {
        u32: U32;
        i32: I32;
        u64: U64;
        i64: I64;
    }
    Ok(())
}

fn ptx_of_updates_of_floats(toolkit: &Toolkit) -> Result<(), Error> {
    macro_rules! check {
        ($($t:ty: $element:expr;)*) => {$(
            assert_updates(&ptx!(toolkit, add::Add<$t>), Add, $element);
            assert_updates(&ptx!(toolkit, sub::Sub<$t>), Sub, $element);
            assert_updates(&ptx!(toolkit, exchange::Exchange<$t>), Exchange, $element);
            // By compare-exchange on the bits.
            assert_updates(&ptx!(toolkit, mul::Mul<$t>), Mul, $element);
            assert_updates(&ptx!(toolkit, min::Min<$t>), Mul, $element);
            assert_updates(&ptx!(toolkit, max::Max<$t>), Mul, $element);
            let swaps = ptx!(toolkit, compare_exchange::CompareExchange<$t>);
            assert_updates(&swaps, Operation::CompareExchange, $element);
        )*};
    }
    check! {
        f32: F32;
        f64: F64;
    }
    Ok(())
}

fn ptx_of_updates_of_halves(toolkit: &Toolkit) -> Result<(), Error> {
    macro_rules! check {
        ($($t:ty: $element:expr;)*) => {$(
            assert_updates(&ptx!(toolkit, add::Add<$t>), Add, $element);
            assert_updates(&ptx!(toolkit, sub::Sub<$t>), Sub, $element);
            assert_updates(&ptx!(toolkit, mul::Mul<$t>), Mul, $element);
            assert_updates(&ptx!(toolkit, max::Max<$t>), Mul, $element);
            assert_updates(&ptx!(toolkit, exchange::Exchange<$t>), Mul, $element);
        )*};
    }
    check! {
        f16: F16;
        bf16: BF16;
    }
    Ok(())
}

fn ptx_of_reductions(toolkit: &Toolkit) -> Result<(), Error> {
    let check = |ptx: String, operation, element| {
        let want = reductions(&instruction(operation, element));
        assert_counts(&ptx, &["atom.", "red."], want);
    };
    check(ptx!(toolkit, add_alone::AddAlone<u32>), Add, U32);
    check(ptx!(toolkit, sub_alone::SubAlone<u32>), Sub, U32);
    check(ptx!(toolkit, and_alone::AndAlone<u32>), And, U32);
    check(ptx!(toolkit, or_alone::OrAlone<u32>), Or, U32);
    check(ptx!(toolkit, xor_alone::XorAlone<u32>), Xor, U32);
    check(ptx!(toolkit, min_alone::MinAlone<i64>), Min, I64);
    check(ptx!(toolkit, max_alone::MaxAlone<i64>), Max, I64);
    check(ptx!(toolkit, add_alone::AddAlone<f32>), Add, F32);
    // An exchange is never a reduction, and neither is a compare-exchange.
    let exchanges = ptx!(toolkit, exchange_alone::ExchangeAlone<f32>);
    assert_updates(&exchanges, Exchange, F32);
    assert_updates(&ptx!(toolkit, mul_alone::MulAlone<f32>), Mul, F32);
    Ok(())
}

macro_rules! plain_kernel {
    ($(($scope:ident, $at:literal))*) => {
        #[cube(launch_unchecked)]
        fn plain<T: Numeric>(cells: &[Atomic<T>], out: &mut [T]) {
            let value = out[100];
            $(
                out[3usize * $at] = cells[$at].at::<m::$scope>().load::<m::Relaxed>();
                out[3usize * $at + 1usize] = cells[$at].at::<m::$scope>().load::<m::Acquire>();
                out[3usize * $at + 2usize] = cells[$at].at::<m::$scope>().load::<m::SeqCst>();
                cells[$at].at::<m::$scope>().store::<m::Relaxed>(value);
                cells[$at].at::<m::$scope>().store::<m::Release>(value);
                cells[$at].at::<m::$scope>().store::<m::SeqCst>(value);
                fence::<m::Acquire, m::$scope>();
                fence::<m::Release, m::$scope>();
                fence::<m::AcqRel, m::$scope>();
                fence::<m::SeqCst, m::$scope>();
            )*
            out[50] = cells[50].load_weak();
            cells[51].store_weak(value);
        }
    };
}
plain_kernel!((Unit, 0)(Cube, 1)(Cluster, 2)(Device, 3)(System, 4));

fn ptx_of_loads_stores_and_fences(toolkit: &Toolkit) -> Result<(), Error> {
    let check = |ptx: String, bits: usize| {
        let mut want = vec![];
        for scope in SCOPES.map(scope_name) {
            for order in ["relaxed", "acquire", "acquire"] {
                want.push(format!("ld.{order}.{scope}.global.b{bits} "));
            }
            for order in ["relaxed", "release", "relaxed"] {
                want.push(format!("st.{order}.{scope}.global.b{bits} "));
            }
            for order in ["acq_rel", "acq_rel", "acq_rel", "sc", "sc", "sc"] {
                want.push(format!("fence.{order}.{scope};"));
            }
        }
        want.push(format!("ld.weak.global.b{bits} "));
        want.push(format!("st.weak.global.b{bits} "));
        let kinds = [
            "ld.relaxed",
            "ld.acquire",
            "ld.weak",
            "st.relaxed",
            "st.release",
            "st.weak",
            "fence.",
        ];
        assert_counts(&ptx, &kinds, want);
    };
    check(ptx!(toolkit, plain::Plain<u32>), 32);
    check(ptx!(toolkit, plain::Plain<i64>), 64);
    check(ptx!(toolkit, plain::Plain<f32>), 32);
    check(ptx!(toolkit, plain::Plain<f64>), 64);
    check(ptx!(toolkit, plain::Plain<f16>), 16);
    check(ptx!(toolkit, plain::Plain<bf16>), 16);
    Ok(())
}

fn ptx_of_shared_memory(toolkit: &Toolkit) -> Result<(), Error> {
    let kernel = super::orders::count_in_shared::CountInShared::new(
        settings(256),
        hopper(),
        target(),
        buffer(),
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_ptx("st.relaxed.cta.shared.b32");
    compiled.assert_ptx("red.relaxed.cta.shared.add.u32");
    compiled.assert_ptx("ld.relaxed.cta.shared.b32");
    compiled.assert_no_local_memory();
    Ok(())
}
