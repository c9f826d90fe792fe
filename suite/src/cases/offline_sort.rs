//! The sort compiled for an NVIDIA GPU: keys stay in registers, and the instructions that its speed hangs on are there.

use cubecl::ir::{ElemType, UIntKind};
use girih_kernels::raw::sort::{
    Counting, Kind, Matching, Order, Orders, Payload, Tile, cube_kernel, histogram_kernel,
    sweep_kernel,
};
use girih_testkit::{
    Error, cases,
    offline::{Compiled, Toolkit, buffer, hopper, settings, target},
};

cases! {
    in Toolkit;
    a_sweep_of_u32_keeps_its_keys_in_registers,
    a_sweep_of_pairs_keeps_both_in_registers,
    a_sweep_of_u64_keeps_its_keys_in_registers,
    a_sweep_of_f32_orders_its_keys_in_registers,
    a_count_of_digits_reads_16_bytes_and_reduces_in_shared_memory,
    a_row_in_one_cube_keeps_its_keys_in_registers,
}

const U32: ElemType = ElemType::UInt(UIntKind::U32);
const U64: ElemType = ElemType::UInt(UIntKind::U64);

/// Keys as they are.
const PLAIN: Orders = Orders {
    reading: None,
    writing: None,
    keeps_keys: true,
};

fn tile(units: u32, items: u32, matching: Matching) -> Tile {
    Tile {
        units,
        items,
        plane: 32,
        words: 1,
        unroll: true,
        matching,
    }
}

fn sweep(
    toolkit: &Toolkit,
    tile: Tile,
    payload: Payload,
    orders: Orders,
    types: [ElemType; 4],
) -> Result<Compiled, Error> {
    let kernel = sweep_kernel::SweepKernel::new(
        settings(tile.units),
        hopper(),
        target(),
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
        tile,
        payload,
        orders,
        32,
        types,
    );
    toolkit.compile(kernel)
}

fn a_sweep_of_u32_keeps_its_keys_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let tile = tile(384, 23, Matching::Ptx);
    let compiled = sweep(toolkit, tile, Payload::None, PLAIN, [U32; 4])?;
    compiled.assert_no_local_memory();
    Ok(())
}

fn a_sweep_of_pairs_keeps_both_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let tile = tile(384, 18, Matching::Ptx);
    let compiled = sweep(toolkit, tile, Payload::Given, PLAIN, [U32; 4])?;
    compiled.assert_no_local_memory();
    Ok(())
}

fn a_sweep_of_u64_keeps_its_keys_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let tile = tile(384, 12, Matching::Ptx);
    let compiled = sweep(toolkit, tile, Payload::None, PLAIN, [U64, U32, U64, U32])?;
    compiled.assert_no_local_memory();
    Ok(())
}

fn a_sweep_of_f32_orders_its_keys_in_registers(toolkit: &Toolkit) -> Result<(), Error> {
    let order = Order {
        kind: Kind::Float { fraction: 23 },
        bits: 32,
        descending: true,
    };
    let orders = Orders {
        reading: Some(order),
        writing: Some(order),
        keeps_keys: true,
    };
    let tile = tile(384, 18, Matching::Ptx);
    let compiled = sweep(toolkit, tile, Payload::Place, orders, [U32; 4])?;
    compiled.assert_no_local_memory();
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
