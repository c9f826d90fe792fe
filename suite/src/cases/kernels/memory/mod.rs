//! How much memory calls take beside their results.

pub(super) mod rows;

use super::keys::{Values, values};
use super::sort::{tensor, text};
use cubecl::MemoryScope;
use cubecl::prelude::*;
use girih_kernels::{
    CompactOptions, Result, ScanOperation, ScanOptions, SortOptions, SortPath, nonzero, scan, sort,
    sort_pairs, sort_with_indices,
};
use girih_testkit::{Rt, cases};

cases! {
    a_scan_takes_a_total_for_each_tile,
    a_compaction_takes_a_count_for_each_tile,
    a_sort_takes_one_more_buffer_of_what_it_moves,
    a_short_sort_takes_nothing_but_its_result,
}

/// Keys of 32 bits.
const LENGTH: usize = 1 << 18;
/// Buffers that say nothing, or a few words, whatever the length.
const FEW: u64 = 1 << 15;

/// Bytes that a call allocates together, its result among them.
///
/// What the pool keeps for later calls would be counted where it is not: each allocation of the call goes to the pool of exact
/// sizes, of a stream of its own.
fn allocated<T: Send>(
    rt: &Rt,
    call: impl FnOnce(&Rt) -> Result<T> + Send,
) -> std::result::Result<u64, String> {
    let reserved = || {
        let report = rt.client.memory_report(MemoryScope::CurrentStream);
        report
            .streams
            .iter()
            .map(|stream| stream.pools.persistent.usage.bytes_reserved)
            .sum::<u64>()
    };
    let measured = || {
        let before = reserved();
        let result = rt
            .client
            .memory_persistent_allocation((), |()| call(rt))
            .map_err(text)?;
        rt.client.flush().map_err(|error| error.to_string())?;
        let after = reserved();
        drop(result);
        Ok(after - before)
    };
    std::thread::scope(|scope| scope.spawn(measured).join())
        .map_err(|_| "the call panicked".to_owned())?
}

fn takes(what: &str, bytes: u64, least: usize, most: u64) -> std::result::Result<(), String> {
    match (least as u64..=most).contains(&bytes) {
        true => Ok(()),
        false => Err(format!("{what} takes {bytes} bytes, not {least} to {most}")),
    }
}

fn a_scan_takes_a_total_for_each_tile(rt: &Rt) -> std::result::Result<(), String> {
    let input = tensor::<u32>(rt, &values(Values::Any, LENGTH), &[LENGTH]);
    let bytes = allocated(rt, |rt| {
        let options = ScanOptions::inclusive();
        scan(&rt.client, &input, 0, ScanOperation::Sum, options)
    })?;
    let result = 4 * LENGTH;
    // A part has 64 elements at the least: its total, that scanned, and those of their own parts.
    takes(
        "a scan",
        bytes,
        result,
        result as u64 + result as u64 / 24 + FEW,
    )
}

fn a_compaction_takes_a_count_for_each_tile(rt: &Rt) -> std::result::Result<(), String> {
    let input = tensor::<u32>(rt, &values(Values::Any, LENGTH), &[LENGTH]);
    let bytes = allocated(rt, |rt| {
        nonzero(&rt.client, &input, CompactOptions::default())
    })?;
    let result = 4 * LENGTH;
    takes(
        "nonzero",
        bytes,
        result,
        result as u64 + result as u64 / 24 + FEW,
    )
}

/// The result, as much between passes, and 1 KiB for each tile of 512 keys or more.
fn most(moved: usize) -> u64 {
    let counts = LENGTH.div_ceil(512) * 1024;
    (2 * moved + counts) as u64 + FEW
}

fn a_sort_takes_one_more_buffer_of_what_it_moves(rt: &Rt) -> std::result::Result<(), String> {
    let keys = tensor::<u32>(rt, &values(Values::Any, LENGTH), &[LENGTH]);
    let payload = tensor::<u32>(rt, &values(Values::Any, LENGTH), &[LENGTH]);
    let mut paths = vec![SortPath::ThreeKernels];
    for path in [SortPath::OneSweep, SortPath::AtOnce] {
        let options = SortOptions {
            path: Some(path),
            ..SortOptions::default()
        };
        let shape = [1, LENGTH];
        if girih_kernels::sort_path(&rt.client, u32::cube_type(), None, shape, &options).is_ok() {
            paths.push(path);
        }
    }
    for path in paths {
        let options = SortOptions {
            path: Some(path),
            ..SortOptions::default()
        };
        let told = |error| format!("{path:?}: {error}");
        let of_keys = 4 * LENGTH;
        let bytes = allocated(rt, |rt| sort(&rt.client, &keys, 0, &options))?;
        takes("sort", bytes, 2 * of_keys, most(of_keys)).map_err(told)?;
        let bytes = allocated(rt, |rt| {
            sort_pairs(&rt.client, &keys, &payload, 0, &options)
        })?;
        takes("sort_pairs", bytes, 4 * of_keys, most(2 * of_keys)).map_err(told)?;
        let index = u32::cube_type();
        let bytes = allocated(rt, |rt| {
            sort_with_indices(&rt.client, &keys, 0, index, &options)
        })?;
        takes("sort_with_indices", bytes, 4 * of_keys, most(2 * of_keys)).map_err(told)?;
        // Keys of one digit are moved once.
        let byte = SortOptions {
            bits: Some(8..16),
            ..options
        };
        let bytes = allocated(rt, |rt| sort(&rt.client, &keys, 0, &byte))?;
        takes("a sort of one digit", bytes, of_keys, most(of_keys / 2)).map_err(told)?;
    }
    Ok(())
}

fn a_short_sort_takes_nothing_but_its_result(rt: &Rt) -> std::result::Result<(), String> {
    let keys = tensor::<u32>(rt, &values(Values::Any, 1 << 16), &[1 << 8, 1 << 8]);
    let bytes = allocated(rt, |rt| sort(&rt.client, &keys, 1, &SortOptions::default()))?;
    takes("a sort in one cube", bytes, 4 << 16, (4 << 16) + 4096)
}
