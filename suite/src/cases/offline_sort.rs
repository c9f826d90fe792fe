//! The sort compiled for an NVIDIA GPU: keys stay in registers, and the instructions that its speed hangs on are there.

use cubecl::ir::{ElemType, UIntKind};
use cubecl::prelude::*;
use girih_kernels::SortOrder;
use girih_kernels::raw::sort::{
    Counting, Kind, Matching, Moved, Order, Orders, Payload, Tile, cube_kernel, histogram_kernel,
    sort_kernel, sweep_kernel,
};
use girih_kernels::raw::sort::{MergeTile, merge_kernel, tile_kernel};
use girih_kernels::raw::top_k::{AtOnce, select_kernel};
use girih_testkit::{
    Error, cases,
    offline::{
        Compiled, Toolkit, buffer, hopper, settings, target,
        types::{U32, U64},
    },
};

cases! {
    in Toolkit;
    a_sweep_of_u32_keeps_its_keys_in_registers,
    a_sweep_of_pairs_keeps_both_in_registers,
    a_sweep_of_u64_keeps_its_keys_in_registers,
    a_sweep_of_f32_orders_its_keys_in_registers,
    a_sweep_of_narrow_numbers_moves_as_few_bytes,
    a_sort_in_one_launch_keeps_its_keys_in_registers,
    a_sort_in_one_launch_reads_what_others_wrote,
    a_count_of_digits_reads_16_bytes_and_reduces_in_shared_memory,
    a_row_in_one_cube_keeps_its_keys_in_registers,
    a_selection_reads_16_bytes_and_keeps_them_in_registers,
    tiles_are_merged_in_registers,
}

fn tile(units: u32, items: u32, matching: Matching) -> Tile {
    Tile {
        units,
        items,
        plane: 32,
        words: 1,
        unroll: true,
        matching,
        window: 4,
    }
}

fn sweep(
    toolkit: &Toolkit,
    tile: Tile,
    moved: Moved,
    order: Option<Order>,
    types: [ElemType; 4],
) -> Result<Compiled, Error> {
    let kernel = sweep_kernel::SweepKernel::new(
        KernelSettings::new(
            *CubeDim::new_1d(tile.units),
            ExecutionMode::Unchecked,
            AddressType::U64,
        ),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        (),
        (),
        (),
        (),
        (),
        (),
        (),
        tile,
        moved,
        order,
        32,
        types,
    );
    toolkit.compile(kernel)
}

fn a_sweep_of_u32_keeps_its_keys_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let tile = tile(384, 23, Matching::Ptx);
    let compiled = sweep(toolkit, tile, Moved::Nothing, None, [U32; 4])?;
    compiled.assert_no_local_memory();
    // Three cubes in the registers of a processor.
    compiled.assert_registers_at_most(56);
    assert_instructions_at_most(&compiled, 2000);
    Ok(())
}

/// The first launch waits for the compiler, whose time is that of so many instructions: what reads and what writes keys is there once,
/// however many buffers they may be in.
#[track_caller]
fn assert_instructions_at_most(compiled: &Compiled, most: usize) {
    let instructions = compiled.count_ptx("");
    assert!(
        instructions <= most,
        "{instructions} instructions of PTX, more than {most}"
    );
}

fn a_sweep_of_pairs_keeps_both_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let tile = tile(384, 23, Matching::Ptx);
    let compiled = sweep(toolkit, tile, Moved::Payload, None, [U32; 4])?;
    compiled.assert_no_local_memory();
    // Two cubes in the registers of a processor.
    compiled.assert_registers_at_most(80);
    assert_instructions_at_most(&compiled, 2400);
    Ok(())
}

fn a_sweep_of_u64_keeps_its_keys_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let tile = tile(384, 12, Matching::Ptx);
    let compiled = sweep(toolkit, tile, Moved::Nothing, None, [U64, U32, U64, U32])?;
    compiled.assert_no_local_memory();
    // Three cubes in the registers of a processor.
    compiled.assert_registers_at_most(56);
    Ok(())
}

fn a_sweep_of_f32_orders_its_keys_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let order = Order {
        kind: Kind::Float { fraction: 23 },
        bits: 32,
        descending: true,
    };
    let tile = tile(384, 23, Matching::Ptx);
    let compiled = sweep(toolkit, tile, Moved::Places, Some(order), [U32; 4])?;
    compiled.assert_no_local_memory();
    // Two cubes in the registers of a processor.
    compiled.assert_registers_at_most(80);
    Ok(())
}

/// Registers are wider than the numbers, which are read and written as they are in memory nonetheless.
fn a_sweep_of_narrow_numbers_moves_as_few_bytes(toolkit: &Toolkit) -> Result<(), Error> {
    let tile = tile(384, 23, Matching::Ptx);
    let [keys, payload] = [UIntKind::U8, UIntKind::U16].map(ElemType::UInt);
    let types = [keys, payload, U32, U32];
    let compiled = sweep(toolkit, tile, Moved::Payload, None, types)?;
    compiled.assert_no_local_memory();
    for instruction in [
        "ld.global.b8",
        "st.global.b8",
        "ld.global.b16",
        "st.global.b16",
    ] {
        compiled.assert_ptx(instruction);
    }
    Ok(())
}

fn at_once(
    toolkit: &Toolkit,
    tile: Tile,
    moved: Moved,
    order: Option<Order>,
    types: [ElemType; 4],
) -> Result<Compiled, Error> {
    let tile = Tile { window: 8, ..tile };
    let counting = Counting {
        units: tile.units,
        items: 6,
        passes: types[0].size() as u32,
    };
    let kernel = sort_kernel::SortKernel::new(
        KernelSettings::new(
            *CubeDim::new_1d(tile.units),
            ExecutionMode::Unchecked,
            AddressType::U64,
        ),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        (),
        (),
        (),
        (),
        (),
        16 / types[0].size(),
        counting,
        tile,
        moved,
        order,
        32,
        types,
    );
    toolkit.compile(kernel)
}

fn a_sort_in_one_launch_keeps_its_keys_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let order = Order {
        kind: Kind::Float { fraction: 23 },
        bits: 32,
        descending: true,
    };
    let narrow = tile(384, 23, Matching::Ptx);
    let wide = tile(384, 12, Matching::Ptx);
    for (tile, moved, order, types, instructions) in [
        (narrow, Moved::Nothing, None, [U32; 4], 3000),
        (narrow, Moved::Payload, None, [U32; 4], 3300),
        (narrow, Moved::Places, Some(order), [U32; 4], 4600),
        (wide, Moved::Nothing, None, [U64, U32, U64, U32], 2500),
    ] {
        let compiled = at_once(toolkit, tile, moved, order, types)?;
        compiled.assert_no_local_memory();
        assert_instructions_at_most(&compiled, instructions);
    }
    Ok(())
}

/// What other cubes wrote in the pass before must come from where they wrote it, not from the cache of constants; what the caller
/// gave is read 16 bytes at once for the counts.
fn a_sort_in_one_launch_reads_what_others_wrote(toolkit: &Toolkit) -> Result<(), Error> {
    let tile = tile(384, 23, Matching::Ptx);
    let compiled = at_once(toolkit, tile, Moved::Payload, None, [U32; 4])?;
    compiled.assert_sass("LDG.E.128");
    // Of 23 keys and their payload each: of whole tiles, and of the last one.
    let plain = compiled.count_ptx("ld.global.u32") + compiled.count_ptx("ld.global.b32");
    assert!(plain >= 2 * 2 * 23, "{plain} plain loads");
    compiled.assert_ptx("ld.acquire.gpu");
    Ok(())
}

fn a_count_of_digits_reads_16_bytes_and_reduces_in_shared_memory(
    toolkit: &Toolkit,
) -> Result<(), Error> {
    let counting = Counting {
        units: 512,
        items: 4,
        passes: 4,
    };
    let kernel = histogram_kernel::HistogramKernel::new(
        settings(512),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        (),
        (),
        (),
        (),
        4,
        counting,
        None,
        [U32; 3],
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_no_local_memory();
    compiled.assert_sass("LDG.E.128");
    Ok(())
}

fn a_row_in_one_cube_keeps_its_keys_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let tile = tile(384, 16, Matching::Ptx);
    let order = Order {
        kind: Kind::Float { fraction: 23 },
        bits: 32,
        descending: false,
    };
    let orders = Orders {
        reading: Some(order),
        writing: Some(order),
        keeps_keys: true,
    };
    let kernel = cube_kernel::CubeKernel::new(
        settings(tile.units),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        (),
        (),
        (),
        (),
        tile,
        Payload::Place,
        orders,
        [U32; 3],
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_no_local_memory();
    Ok(())
}

fn a_selection_reads_16_bytes_and_keeps_them_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let plan = AtOnce {
        units: 1024,
        items: 2,
        key_digits: 4,
        place_digits: 3,
        ranked: 512,
    };
    let kernel = select_kernel::SelectKernel::new(
        settings(1024),
        hopper(),
        target(),
        buffer(),
        buffer(),
        buffer(),
        buffer(),
        (),
        (),
        (),
        (),
        4,
        plan,
        None,
        [U32; 3],
    );
    let compiled = toolkit.compile(kernel)?;
    compiled.assert_no_local_memory();
    compiled.assert_sass("LDG.E.128");
    Ok(())
}

/// Small numbers first.
struct SmallestFirst;

#[cube]
impl SortOrder for SmallestFirst {
    fn is_before<A: Numeric>(first: A, second: A) -> bool {
        first < second
    }
}

fn tiles_are_merged_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    for (items, types) in [(17, [U32; 3]), (9, [U64, U64, U32])] {
        let tile = MergeTile {
            units: 256,
            items,
            unroll: true,
            lanes: 32,
        };
        for payload in [Payload::None, Payload::Place] {
            let kernel = tile_kernel::TileKernel::<SmallestFirst>::new(
                settings(256),
                hopper(),
                target(),
                buffer(),
                buffer(),
                buffer(),
                buffer(),
                (),
                (),
                (),
                tile,
                payload,
                types,
            );
            toolkit.compile(kernel)?.assert_no_local_memory();
        }
        for payload in [Payload::None, Payload::Given] {
            let kernel = merge_kernel::MergeKernel::<SmallestFirst>::new(
                settings(256),
                hopper(),
                target(),
                buffer(),
                buffer(),
                buffer(),
                buffer(),
                (),
                (),
                (),
                (),
                tile,
                payload,
                types,
            );
            let compiled = toolkit.compile(kernel)?;
            compiled.assert_no_local_memory();
            // Four cubes in the registers of a processor.
            compiled.assert_registers_at_most(64);
        }
    }
    Ok(())
}
