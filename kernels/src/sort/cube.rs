//! The sort of rows that one cube holds.
// CubeCL's macro writes undocumented twins of the kernel.
#![allow(missing_docs)]

use super::order::decode;
use super::tile::{self, DIGIT_BITS, DIGITS, Digit, Tile};
use super::write::{Orders, Payload, Row};
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use girih::prelude::*;

/// Sorts each row by the bits from `begin` to before `end`, in one cube, which stays in shared memory from digit to digit.
#[cube(launch_unchecked, address_type = "dynamic")]
pub fn cube_kernel<K: Int, V: Int, W: Int>(
    keys_in: &[K],
    keys_out: &mut [K],
    payload_in: &[V],
    payload_out: &mut [V],
    row_len: usize,
    rows: u32,
    begin: u32,
    end: u32,
    #[comptime] tile: Tile,
    #[comptime] payload: Payload,
    #[comptime] order: Orders,
    #[define(K, V, W)] _types: [ElemType; 3],
) {
    let items = comptime!(tile.items as usize);
    let mut counters = shared::<u32>(comptime!(tile.planes() * DIGITS));
    let mut exchanged = shared::<W>(comptime!(tile.len()));
    let row = CUBE_POS as u32;
    if row < rows {
        let place = Row::of(row, 0u32, row_len, tile);
        let seat = tile::seat(tile);
        let mut keys = Array::<W>::new(items);
        tile::load::<K, W>(
            &mut keys,
            keys_in,
            place.start,
            place.valid,
            seat,
            comptime!(order.reading),
            tile,
        );
        let mut places = Array::<u32>::new(items);
        if comptime!(payload != Payload::None) {
            #[unroll(comptime!(tile.unroll))]
            for item in 0..items {
                places[item] = seat.first + item as u32 * seat.step;
            }
        }
        let own = comptime!(tile.digits_of_unit());
        let mut shift = begin;
        while shift < end {
            let bits = (end - shift).min(DIGIT_BITS.runtime());
            let digit = Digit {
                shift,
                mask: (1u32 << bits) - 1u32,
            };
            let mut ranks = Array::<u32>::new(items);
            tile::rank::<W>(&mut ranks, &mut counters, &keys, digit, seat, tile);
            sync_cube();
            let mut totals = Array::<u32>::new(own);
            let mut held = Array::<u32>::new(comptime!(own * tile.planes()));
            tile::count(&mut totals, &mut held, &counters, tile);
            let mut starts = Array::<u32>::new(own);
            tile::begin(&mut starts, &mut counters, &totals, &held, tile);
            sync_cube();
            tile::exchange::<W>(
                &mut exchanged,
                &mut ranks,
                &counters,
                &keys,
                digit,
                seat,
                tile,
            );
            sync_cube();
            #[unroll(comptime!(tile.unroll))]
            for item in 0..items {
                let at = seat.first + item as u32 * seat.step;
                keys[item] = exchanged[at as usize];
            }
            sync_cube();
            if comptime!(payload != Payload::None) {
                #[unroll(comptime!(tile.unroll))]
                for item in 0..items {
                    exchanged[ranks[item] as usize] = W::cast_from(places[item]);
                }
                sync_cube();
                #[unroll(comptime!(tile.unroll))]
                for item in 0..items {
                    let at = seat.first + item as u32 * seat.step;
                    places[item] = u32::cast_from(exchanged[at as usize]);
                }
                sync_cube();
            }
            shift += DIGIT_BITS;
        }
        #[unroll(comptime!(tile.unroll))]
        for item in 0..items {
            let at = seat.first + item as u32 * seat.step;
            if at < place.valid {
                if comptime!(order.keeps_keys) {
                    keys_out[place.begin + at as usize] =
                        K::cast_from(decode::<W>(keys[item], comptime!(order.writing)));
                }
                if comptime!(payload == Payload::Place) {
                    payload_out[place.begin + at as usize] = V::cast_from(places[item]);
                }
                if comptime!(payload == Payload::Given) {
                    payload_out[place.begin + at as usize] =
                        payload_in[place.begin + places[item] as usize];
                }
            }
        }
    }
}
