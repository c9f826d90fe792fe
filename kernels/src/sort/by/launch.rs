//! The launches of a sort by an order of the caller's own.

use super::SortOrder;
use super::merge::merge_kernel;
use super::tile::{MergeTile, tile_kernel};
use crate::scan::lanes;
use crate::sort::Rows;
use crate::sort::plan::word;
use crate::sort::turns::{Buffer, Carried, Turns, cubes};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use girih::device::{Device, Target};

/// The tile that suits the device, of elements of so many bytes. A unit has an odd number of them where memory is in banks: those of
/// neighbouring units then are in different ones.
fn tile(device: &Device, size: usize) -> MergeTile {
    let hardware = &device.client().properties().hardware;
    let most = 1 << hardware.max_units_per_cube.max(1).ilog2();
    let (units, items, unroll) = match device.target() {
        Target::Cuda => (256, if size == 8 { 9 } else { 17 }, true),
        // A unit is a thread, which keeps its elements in its cache.
        Target::Cpu => (most.min(8), 64, false),
        // Some thousand bytes of keys and places at the most: other devices have 16 KiB, and more cubes then run at once.
        _ => (most.min(128), 5, true),
    };
    let lanes = lanes(device).filter(|lanes| *lanes <= 32);
    MergeTile {
        units,
        items,
        unroll,
        lanes: lanes.map_or(1, |lanes| (lanes as u32).min(units)),
    }
}

/// Sorts; `compared` is the type that elements are compared in.
pub(super) fn launch<O: SortOrder>(
    device: &Device,
    keys: &TensorHandle,
    compared: ElemType,
    rows: &Rows,
    carried: Carried<'_>,
) -> (Option<TensorHandle>, Option<TensorHandle>) {
    let client = device.client();
    let element = carried.element();
    let len = rows.rows * rows.len;
    if len == 0 {
        let empty = |element| rows.scatter(device, client.empty(16), element);
        let keys = carried.keeps_keys().then(|| empty(keys.dtype));
        return (keys, element.map(empty));
    }
    let tile = tile(device, keys.dtype.size());
    let tiles_of_row = rows.len.div_ceil(tile.len());
    let passes = 1 + tiles_of_row.next_power_of_two().ilog2();
    let unused = Buffer::unused(client);
    let of_keys = Turns::new(client, rows.gather(device, keys), len, keys.dtype, passes);
    let of_payload = element.map(|element| {
        let given = match carried {
            Carried::Payload(payload) => rows.gather(device, payload),
            // Places are nobody's to read.
            _ => unused.handle.clone(),
        };
        Turns::new(client, given, len, element, passes)
    });
    let count = cubes(device, rows.rows * tiles_of_row);
    let dim = CubeDim::new_1d(tile.units);
    let address = AddressType::from_len(len);
    let types = [
        keys.dtype,
        compared,
        word(element.map_or(4, |element| element.size())),
    ];
    let mut width = tile.len();
    for pass in 0..passes {
        let [keys_in, keys_out] = of_keys.of(pass);
        let [payload_in, payload_out] = match &of_payload {
            Some(turns) => turns.of(pass),
            None => [unused.clone(), unused.clone()],
        };
        let kind = carried.of_pass(pass == 0);
        // SAFETY: every access is within a row of the buffers, which were made for all rows or checked to hold them.
        unsafe {
            match pass {
                0 => tile_kernel::launch_unchecked::<O>(
                    client,
                    count.clone(),
                    dim,
                    address,
                    keys_in.arg(),
                    keys_out.arg(),
                    payload_in.arg(),
                    payload_out.arg(),
                    rows.len,
                    tiles_of_row as u32,
                    rows.rows as u32,
                    tile,
                    kind,
                    types,
                ),
                _ => {
                    merge_kernel::launch_unchecked::<O>(
                        client,
                        count.clone(),
                        dim,
                        address,
                        keys_in.arg(),
                        keys_out.arg(),
                        payload_in.arg(),
                        payload_out.arg(),
                        rows.len,
                        tiles_of_row as u32,
                        rows.rows as u32,
                        width,
                        tile,
                        kind,
                        types,
                    );
                    width *= 2;
                }
            }
        }
    }
    let output = |turns: Turns, element| rows.scatter(device, turns.into_output(), element);
    let sorted = carried.keeps_keys().then(|| output(of_keys, keys.dtype));
    let payload = of_payload
        .zip(element)
        .map(|(turns, element)| output(turns, element));
    (sorted, payload)
}
