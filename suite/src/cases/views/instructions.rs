//! Views compiled for an NVIDIA GPU without one: 16 bytes an access for every element, nothing in local memory, offsets as
//! wide as addresses.

use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;
use girih_testkit::{
    Error, cases,
    offline::{
        Compiled, Toolkit, hopper, settings, target, tensor,
        types::{BF16, F16, F32, I8},
    },
};

cases! {
    in Toolkit;
    tiles_of_every_element_move_16_bytes,
    gathers_of_every_element_move_16_bytes,
    scatters_of_every_element_move_16_bytes,
    latency_is_the_number_of_loads_before_a_store,
    rules_along_runs_stay_out_of_local_memory,
    winners_and_combinations_stay_out_of_local_memory,
    offsets_are_as_wide_as_addresses,
}

/// Elements with as many of them as 16 bytes hold.
const ELEMENTS: [(ElemType, usize); 4] = [(F32, 4), (BF16, 8), (F16, 8), (I8, 16)];

#[cube(launch_unchecked, address_type = "dynamic")]
fn tiles<E: Numeric, N: Size, R: Size, C: Size>(
    x: &Tensor<Vector<E, N>>,
    out: &mut Tensor<Vector<E, N>>,
    #[define(E)] _element: ElemType,
) {
    let cube = this_cube();
    let tile = TileView::<E, (R, C)>::of(x).load_masked(&cube, Zero, (CUBE_POS, 0));
    TileViewMut::<E, (R, C)>::of(out).store_masked(&cube, tile, (CUBE_POS, 0));
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn gathers<E: Numeric, N: Size, R: Size, C: Size>(
    x: &Tensor<Vector<E, N>>,
    list: &Tensor<i32>,
    out: &mut Tensor<Vector<E, N>>,
    #[comptime] bounds: [Bounds; 2],
    #[define(E)] _element: ElemType,
) {
    let cube = this_cube();
    let rows = TileView::<i32, (R,)>::of(list).indices(CUBE_POS);
    let view = GatherScatterView::<E, (R, C), 0>::of(x).bounds(bounds);
    let tile = view.load_masked(&cube, Zero, (&rows, 0));
    TileViewMut::<E, (R, C)>::of(out).store_masked(&cube, tile, (CUBE_POS, 0));
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn scatters<E: Numeric, N: Size, R: Size, C: Size>(
    x: &Tensor<Vector<E, N>>,
    list: &Tensor<i32>,
    out: &mut Tensor<Vector<E, N>>,
    #[comptime] winner: girih::view::Winner,
    #[define(E)] _element: ElemType,
) {
    let cube = this_cube();
    let tile = TileView::<E, (R, C)>::of(x).load_masked(&cube, Zero, (CUBE_POS, 0));
    let rows = TileView::<i32, (R,)>::of(list).indices(CUBE_POS);
    let view = GatherScatterViewMut::<E, (R, C), 0>::of(out).keep(winner);
    let mut view = view;
    view.store_masked(&cube, tile, (&rows, 0));
}

/// Two packets of 16 bytes for each of 256 units.
fn moves_16_bytes(compiled: &Compiled) {
    assert_eq!(compiled.count_sass("LDG.E.128"), 2, "{}", compiled.sass);
    assert_eq!(compiled.count_sass("STG.E.128"), 2, "{}", compiled.sass);
    compiled.assert_in_registers(64);
}

fn tiles_of_every_element_move_16_bytes(toolkit: &Toolkit) -> Result<(), Error> {
    for (element, width) in ELEMENTS {
        let kernel = tiles::Tiles::new(
            settings(256),
            hopper(),
            target(),
            tensor(),
            tensor(),
            width,
            16,
            32 * width,
            element,
        );
        moves_16_bytes(&toolkit.compile(kernel)?);
    }
    Ok(())
}

fn gather(
    toolkit: &Toolkit,
    bounds: [Bounds; 2],
    element: ElemType,
    width: usize,
) -> Result<Compiled, Error> {
    let kernel = gathers::Gathers::new(
        settings(256),
        hopper(),
        target(),
        tensor(),
        tensor(),
        tensor(),
        width,
        16,
        32 * width,
        bounds,
        element,
    );
    toolkit.compile(kernel)
}

fn gathers_of_every_element_move_16_bytes(toolkit: &Toolkit) -> Result<(), Error> {
    for (element, width) in ELEMENTS {
        moves_16_bytes(&gather(toolkit, [Bounds::Mask; 2], element, width)?);
    }
    Ok(())
}

fn scatter(
    toolkit: &Toolkit,
    winner: girih::view::Winner,
    element: ElemType,
    width: usize,
) -> Result<Compiled, Error> {
    let kernel = scatters::Scatters::new(
        settings(256),
        hopper(),
        target(),
        tensor(),
        tensor(),
        tensor(),
        width,
        16,
        32 * width,
        winner,
        element,
    );
    toolkit.compile(kernel)
}

fn scatters_of_every_element_move_16_bytes(toolkit: &Toolkit) -> Result<(), Error> {
    for (element, width) in ELEMENTS {
        moves_16_bytes(&scatter(toolkit, girih::view::Winner::Any, element, width)?);
    }
    Ok(())
}

macro_rules! latencies {
    ($($module:ident $kernel:ident $latency:literal;)*) => {
        $(
            #[cube(launch_unchecked)]
            fn $module<N: Size>(x: &Tensor<Vector<f32, N>>, out: &mut Tensor<Vector<f32, N>>) {
                let cube = this_cube();
                let tile = TileView::<f32, shape![256, 128]>::of(x).load_masked(&cube, Zero, (CUBE_POS, 0));
                let mut view = TileViewMut::<f32, shape![256, 128]>::of(out).latency::<$latency>();
                view.store_masked(&cube, tile, (CUBE_POS, 0));
            }
        )*

        fn latency_is_the_number_of_loads_before_a_store(toolkit: &Toolkit) -> Result<(), Error> {
            $({
                // 32 packets a unit, of which a round has so many.
                let kernel = $module::$kernel::new(settings(256), hopper(), target(), tensor(), tensor(), 4);
                let compiled = toolkit.compile(kernel)?;
                // As they are given to ptxas, which may order them anew. A loop of its own, which loads nothing, stores
                // what a tile wholly outside has.
                let is_load = |line: &&str| line.contains("ld.global");
                let accesses = compiled.ptx.lines();
                let accesses = accesses.filter(|line| line.contains(".global") && line.contains(".v4"));
                let loads = accesses.skip_while(|line| !is_load(line)).take_while(is_load).count();
                assert_eq!(loads, $latency, "loads before the first store\n{}", compiled.ptx);
                compiled.assert_no_local_memory();
            })*
            Ok(())
        }
    };
}
latencies! {
    two_in_flight TwoInFlight 2;
    five_in_flight FiveInFlight 5;
    eight_in_flight EightInFlight 8;
}

fn rules_along_runs_stay_out_of_local_memory(toolkit: &Toolkit) -> Result<(), Error> {
    let (element, width) = ELEMENTS[0];
    for rule in [Bounds::Clamp, Bounds::Wrap] {
        let compiled = gather(toolkit, [rule, rule], element, width)?;
        compiled.assert_sass("LDG.E.128");
        compiled.assert_sass("STG.E.128");
        compiled.assert_no_local_memory();
    }
    Ok(())
}

#[cube(launch_unchecked)]
fn combines(x: &Tensor<f32>, list: &Tensor<i32>, out: &mut Tensor<f32>) {
    let cube = this_cube();
    let tile = TileView::<f32, shape![16, 64]>::of(x).load_masked(&cube, Zero, (CUBE_POS, 0));
    let rows = TileView::<i32, shape![16]>::of(list).indices(CUBE_POS);
    let mut view = GatherScatterViewMut::<f32, shape![16, 64], 0>::of(out);
    view.combine_masked::<girih::coop::Sum>(&cube, tile, (&rows, 0));
}

fn winners_and_combinations_stay_out_of_local_memory(toolkit: &Toolkit) -> Result<(), Error> {
    use girih::view::Winner;
    let (element, width) = ELEMENTS[0];
    for winner in [Winner::First, Winner::Last] {
        let compiled = scatter(toolkit, winner, element, width)?;
        compiled.assert_sass("STG.E.128");
        compiled.assert_no_local_memory();
    }
    let kernel = combines::Combines::new(
        settings(256),
        hopper(),
        target(),
        tensor(),
        tensor(),
        tensor(),
    );
    toolkit.compile(kernel)?.assert_no_local_memory();
    Ok(())
}

#[cube(launch_unchecked, address_type = "dynamic")]
fn far_element(x: &Tensor<f32>, row: u32, out: &mut Tensor<f32>) {
    let unit = this_unit();
    let rows = Tile::<u32, shape![1]>::full(row);
    let tile =
        GatherScatterView::<f32, shape![1, 1], 0>::of(x).load_masked(&unit, Zero, (&rows, 0));
    let mut out = TileViewMut::<f32, shape![1, 1]>::of(out);
    out.store(&unit, tile, (0, 0));
}

fn offsets_are_as_wide_as_addresses(toolkit: &Toolkit) -> Result<(), Error> {
    let compile = |addresses: AddressType| {
        let settings = settings(1).address_type(addresses);
        let kernel =
            far_element::FarElement::new(settings, hopper(), target(), tensor(), (), tensor());
        toolkit.compile(kernel)
    };
    // The product of an index and a stride: in 64 bits a full one, or one of two numbers of 32 bits.
    let long = compile(AddressType::U64)?;
    let products = [
        "mul.lo.s64",
        "mad.lo.s64",
        "mul.wide.u32",
        "mul.lo.u64",
        "mad.lo.u64",
    ];
    let full: usize = products[..2]
        .iter()
        .chain(&products[3..])
        .map(|product| long.count_ptx(product))
        .sum();
    assert!(full > 0, "no product of 64 bits\n{}", long.ptx);
    let short = compile(AddressType::U32)?;
    assert_eq!(
        short.count_ptx("mul.lo.s64") + short.count_ptx("mad.lo.s64"),
        0,
        "{}",
        short.ptx
    );
    Ok(())
}
