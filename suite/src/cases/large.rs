//! Offsets of more than 31 and 32 bits: tensors that are as large.

pub mod lists;
pub mod rows;
pub mod sorted_lists;
pub mod starts;

use std::fs::File;

use cubecl::future::block_on;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use girih::{Bounds, prelude::*};
use girih_kernels::{ScatterMode, gather_into, scatter_into};
use girih_testkit::{
    Rt,
    case::Need,
    cases,
    check::{Exact, same},
    needs,
};
use half::bf16;

use super::kernels::model::{handle, list};

cases! {
    reaches_the_2_pow_31st_element needs [needs::U8, needs::I64, ROOM_31],
    reaches_the_2_pow_32nd_element needs [needs::U8, needs::I64, ADDRESSES_64, ROOM_32],
    moves_9_gigabytes_of_bf16 needs [needs::BF16, needs::I64, ADDRESSES_64, ROOM_BF16],
    adds_past_the_2_pow_32nd_element needs [needs::I64, ADDRESSES_64, ROOM_U32],
}

/// Elements of a row; every power of two of elements from here on is a whole number of rows.
const COLUMNS: usize = 512;
/// Rows past the last one of interest.
const REST: usize = 1 << 13;

const ROWS_31: usize = (1 << 31) / COLUMNS + REST;
const ROWS_32: usize = (1 << 32) / COLUMNS + REST;
const ROWS_BF16: usize = (1 << 32) / COLUMNS + (1 << 20);

const ADDRESSES_64: Need = Need {
    what: "64-bit addresses",
    met: |rt| {
        let features = rt.client.features();
        features.supports_address(AddressType::U64)
    },
};
const ROOM_31: Need = Need {
    what: "room for 2^31 bytes, six times over",
    met: |rt| has_room(rt, ROWS_31 * COLUMNS),
};
const ROOM_32: Need = Need {
    what: "room for 2^32 bytes, six times over",
    met: |rt| has_room(rt, ROWS_32 * COLUMNS),
};
const ROOM_BF16: Need = Need {
    what: "room for 2^32 elements of bf16, six times over",
    met: |rt| has_room(rt, 2 * ROWS_BF16 * COLUMNS),
};
const ROOM_U32: Need = Need {
    what: "room for 2^32 elements of u32, six times over",
    met: |rt| has_room(rt, 4 * ROWS_32 * COLUMNS),
};

/// What a case of much memory holds, so that no other has as much at the same time, in whichever process: several share a GPU.
struct Alone<'a> {
    rt: &'a Rt,
    _lock: File,
}

impl<'a> Alone<'a> {
    /// Waits until it is alone.
    fn new(rt: &'a Rt) -> Result<Self, String> {
        let path = std::env::temp_dir().join(format!("girih-large-{}.lock", rt.name()));
        let said = |error: std::io::Error| format!("{}: {error}", path.display());
        let lock = File::create(&path).map_err(said)?;
        lock.lock().map_err(said)?;
        Ok(Self { rt, _lock: lock })
    }
}

impl Drop for Alone<'_> {
    /// Gives the memory back, and waits until that is done. The lock goes with its file; a failure is one of the case's own.
    fn drop(&mut self) {
        let _ = self.rt.client.memory_cleanup();
        let _ = block_on(self.rt.client.sync());
    }
}

/// Whether a buffer of so many bytes is one that the device gives, and a small part of its memory: others use it too.
fn has_room(rt: &Rt, bytes: usize) -> bool {
    let memory = &rt.client.properties().memory;
    let most = memory.max_memory().unwrap_or(memory.max_page_size);
    memory.max_page_size >= bytes as u64 && most >= 6 * bytes as u64
}

/// Elements of a large memory as one axis: by a flat view, by a gather view, and as a tile.
#[cube(launch_unchecked, address_type = "dynamic")]
fn pick<E: Numeric>(
    x: &Tensor<E>,
    index: &[i64],
    number: usize,
    flat: &mut [E],
    listed: &mut [E],
    tile: &mut [E],
) {
    let cube = this_cube();
    let list = TileView::<i64, shape![32]>::of(index).load(&cube, 0u32);
    let each = FlatView::<E, shape![32]>::of(x).gather(&cube, Zero, &list);
    let chunks = GatherScatterView::<E, shape![32], 0>::of(x).load_masked(&cube, Zero, &list);
    let run = TileView::<E, shape![32]>::of(x).load_masked(&cube, Zero, number);
    TileViewMut::<E, shape![32]>::of(flat).store(&cube, each, 0u32);
    TileViewMut::<E, shape![32]>::of(listed).store(&cube, chunks, 0u32);
    TileViewMut::<E, shape![32]>::of(tile).store(&cube, run, 0u32);
}

/// The row at the 2^31st element, or in the middle of a table that has not got it.
const fn turn(rows: usize) -> usize {
    let turn = (1 << 31) / COLUMNS;
    if turn < rows { turn } else { rows / 2 }
}

/// A table whose elements are more than 31 bits can count, and what the host knows of some of its rows.
struct Large<'a, E> {
    rt: &'a Rt,
    table: TensorHandle,
    /// The rows whose elements are known, each with one that 31 or 32 bits would take for it.
    rows: Vec<i32>,
    values: Vec<E>,
}

impl<'a, E: CubeElement + Numeric + Exact> Large<'a, E> {
    /// Memory that is written nowhere but where a test writes it.
    fn new(rt: &'a Rt, rows: usize) -> Self {
        let elem: ElemType = E::elem_type_native();
        let buffer: Handle = rt.client.empty(rows * COLUMNS * elem.size());
        let table = TensorHandle::new(buffer, vec![rows, COLUMNS], vec![COLUMNS, 1], elem);
        let known = Self::known(rows);
        let values = (0..known.len() * COLUMNS).map(|at| small(at, 7)).collect();
        Self {
            rt,
            table,
            rows: known,
            values,
        }
    }

    /// Rows of a table, each with one that 31 or 32 bits would take for it.
    fn known(rows: usize) -> Vec<i32> {
        let turns = [0, turn(rows), (1 << 32) / COLUMNS];
        let around = turns
            .iter()
            .flat_map(|turn| [turn.wrapping_sub(1), *turn, turn + 1]);
        let around = around.filter(|&row| row < rows - 1).chain([rows - 1]);
        let mut known: Vec<i32> = around.map(|row| row as i32).collect();
        // Not in order, so that neighbours in the list are no neighbours in memory.
        known.rotate_left(2);
        known
    }

    fn len(&self) -> usize {
        self.table.shape().iter().product()
    }

    fn scatter(&self, values: &[E], mode: ScatterMode) -> Result<(), String> {
        let updates = self.rt.put_tensor(values, &[self.rows.len(), COLUMNS]);
        let index = self.rt.put(&self.rows);
        let (client, updates, index) = (&self.rt.client, handle(&updates), list(&index));
        scatter_into(
            client,
            &self.table,
            &index,
            &updates,
            0,
            mode,
            Bounds::Report,
        )
        .and_then(|checked| checked.check())
        .map_err(|error| error.to_string())
    }

    /// The known rows are these, by a gather and by a copy of their bytes to the host.
    fn check(&self, values: &[E]) -> Result<(), String> {
        let index = self.rt.put(&self.rows);
        let out = self
            .rt
            .poisoned_tensor::<E>(&[self.rows.len(), COLUMNS], &[COLUMNS, 1]);
        let client = &self.rt.client;
        gather_into(
            client,
            &self.table,
            &list(&index),
            &handle(&out),
            0,
            Bounds::Report,
        )
        .and_then(|checked| checked.check())
        .map_err(|error| error.to_string())?;
        let got = self
            .rt
            .read_tensor(&out)
            .map_err(|error| error.to_string())?;
        same(&got, values).map_err(|reason| format!("gathered: {reason}"))?;
        let size = (COLUMNS * size_of::<E>()) as u64;
        let last = self.table.shape()[0] as u64 - 1;
        for (&row, want) in self.rows.iter().zip(values.chunks(COLUMNS)) {
            let buffer = self.table.handle.clone();
            let buffer = buffer.offset_start(row as u64 * size);
            let bytes = client.read_one(buffer.offset_end((last - row as u64) * size));
            let bytes = bytes.map_err(|error| error.to_string())?;
            same(E::from_bytes(&bytes), want).map_err(|reason| format!("row {row}: {reason}"))?;
        }
        Ok(())
    }

    /// Single elements of the table as one axis, by 64-bit indices: known ones, and ones out of range.
    fn check_as_one_axis(&self, values: &[E]) -> Result<(), String> {
        let len = self.len();
        let known = |at: usize| {
            let (row, column) = (at % self.rows.len(), at * 37 % COLUMNS);
            let index = self.rows[row] as usize * COLUMNS + column;
            (index as i64, values[row * COLUMNS + column])
        };
        let beyond = [
            len as i64,
            (len + (1 << 31)) as i64,
            (len + (1 << 32)) as i64,
            -1,
            i64::MAX,
            i64::MIN,
        ];
        let none = beyond.into_iter().map(|index| (index, E::from_int(0)));
        let (index, want): (Vec<_>, Vec<_>) = (0..26).map(known).chain(none).unzip();

        let rt = self.rt;
        let (index, outs) = (rt.put(&index), [(); 3].map(|()| rt.poisoned::<E>(32)));
        // The first 32 elements of the last row.
        let number = (len - COLUMNS) / 32;
        let buffer = self.table.handle.clone();
        // SAFETY: loads are masked, or of 32 indices as there are; stores cover the outputs.
        unsafe {
            pick::launch_unchecked::<E>(
                &rt.client,
                CubeCount::new_single(),
                rt.cube_dim(),
                AddressType::from_len(len),
                TensorArg::from_raw_parts(buffer, [1][..].into(), vec![len].into()),
                index.arg(),
                number,
                outs[0].arg(),
                outs[1].arg(),
                outs[2].arg(),
            );
        }
        let last = self
            .rows
            .iter()
            .position(|&row| row as usize == len / COLUMNS - 1);
        let last = last.ok_or("the last row is a known one")? * COLUMNS;
        let want = [want.as_slice(), want.as_slice(), &values[last..last + 32]];
        for ((out, want), what) in outs.iter().zip(want).zip(["flat", "listed", "as a tile"]) {
            let got = rt.read(out).map_err(|error| error.to_string())?;
            same(&got, want).map_err(|reason| format!("{what}: {reason}"))?;
        }
        Ok(())
    }

    /// Gives the memory back, which is more than other tests leave.
    fn done(self) -> Result<(), String> {
        let client = self.rt.client.clone();
        drop(self);
        client.memory_cleanup().map_err(|error| error.to_string())
    }
}

/// Small numbers, exact in every type, of which few in a row are alike.
fn small<E: Numeric>(at: usize, turn: usize) -> E {
    E::from_int((at * turn % 113 + at / COLUMNS) as i64 % 120 + 1)
}

fn sets<E: CubeElement + Numeric + Exact>(rt: &Rt, rows: usize) -> Result<(), String> {
    let large = Large::<E>::new(rt, rows);
    large.scatter(&large.values, ScatterMode::Set)?;
    large.check(&large.values)?;
    large.check_as_one_axis(&large.values)?;
    large.done()
}

fn reaches_the_2_pow_31st_element(rt: &Rt) -> Result<(), String> {
    let _alone = Alone::new(rt)?;
    sets::<u8>(rt, ROWS_31)
}

fn reaches_the_2_pow_32nd_element(rt: &Rt) -> Result<(), String> {
    let _alone = Alone::new(rt)?;
    sets::<u8>(rt, ROWS_32)
}

fn moves_9_gigabytes_of_bf16(rt: &Rt) -> Result<(), String> {
    let _alone = Alone::new(rt)?;
    sets::<bf16>(rt, ROWS_BF16)
}

fn adds_past_the_2_pow_32nd_element(rt: &Rt) -> Result<(), String> {
    let _alone = Alone::new(rt)?;
    let large = Large::<u32>::new(rt, ROWS_32);
    large.scatter(&large.values, ScatterMode::Set)?;
    let more: Vec<u32> = (0..large.values.len()).map(|at| small(at, 11)).collect();
    large.scatter(&more, ScatterMode::Add)?;
    let sums = large.values.iter().zip(&more).map(|(a, b)| a + b);
    let sums: Vec<u32> = sums.collect();
    large.check(&sums)?;
    large.check_as_one_axis(&sums)?;
    large.done()
}
