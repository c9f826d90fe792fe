//! What a launcher would do, without doing it.

use crate::along::{self, Lines};
use crate::paged::{FlatPages, Lists, page_rows_type};
use crate::plan::{Tiling, Walk, cube_units};
use crate::scatter::{self, Route};
use crate::{ScatterMode, ScatterOptions, ScatterPath, check};
use core::fmt;
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::std::tensor::TensorHandle;
use girih::Result;
use girih::device::Device;

/// Bytes that memory moves at least at a time, on the GPUs there are.
const SECTOR: u64 = 32;

/// How a gather or scatter is launched. Its `Display` is a table; `girih-suite explain` prints it.
///
/// ```
/// use cubecl::{client::Client, prelude::*, std::tensor::TensorHandle};
/// use girih_kernels::{Result, explain_gather};
///
/// fn rows(client: &Client) -> Result<()> {
///     let tensor = |shape: Vec<usize>, elem| {
///         let bytes = shape.iter().product::<usize>() * 4;
///         TensorHandle::new_contiguous(shape, client.empty(bytes), elem)
///     };
///     let table = tensor(vec![1000, 64], f32::elem_type_native());
///     let index = tensor(vec![500], i32::elem_type_native());
///     let plan = explain_gather(client, &table, &index, 0)?;
///     assert_eq!(plan.bytes_ideal, 2 * 500 * 64 * 4 + 500 * 4);
///     println!("{plan}");
///     Ok(())
/// }
/// # #[cfg(feature = "cpu")]
/// # rows(&cubecl::Device::Cpu(Default::default()).client()).unwrap();
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The launcher.
    pub call: &'static str,
    /// The element.
    pub element: ElemType,
    /// The kernels of a scatter.
    pub path: Option<ScatterPath>,
    /// Why it goes that path.
    pub reason: &'static str,
    /// Bytes of memory that the launch takes beside its arguments.
    pub temporary: u64,
    /// Elements of one access.
    pub width: usize,
    /// Extents of a cube's tile: along the outer axis, the indexed one, and the last one.
    pub tile: [usize; 3],
    /// Cubes, one to a tile.
    pub cubes: u64,
    /// Units of each.
    pub units: u32,
    /// Accesses that a unit has of each tensor. Access `v` of a tile is unit `v % units`'s, so that neighbouring units
    /// touch neighbouring addresses.
    pub packets: usize,
    /// 32-bit registers of a unit that hold data in flight; what addresses need comes on top.
    pub registers: usize,
    /// Axes that the kernel walks: 3, or 5 where the strides do not fold further.
    pub axes: usize,
    /// Whether the strides need so many axes that a contiguous copy is made first; the rest then is of the copy.
    pub copies: bool,
    /// Bytes that memory moves, in sectors of 32 bytes, if caches keep the indices of a tile but nothing between tiles.
    pub bytes_moved: u64,
    /// Bytes that must be moved: each index once, each slice in and out.
    pub bytes_ideal: u64,
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [slabs, rows, columns] = self.tile;
        writeln!(f, "{} of {}", self.call, self.element)?;
        let size = self.element.size();
        let bytes = self.width * size;
        if let Some(path) = self.path {
            writeln!(f, "  path           {path:?}: {}", self.reason)?;
            writeln!(f, "  temporary      {} bytes", self.temporary)?;
        }
        writeln!(
            f,
            "  vector width   {} ({bytes} bytes an access)",
            self.width
        )?;
        writeln!(f, "  tile           {slabs} x {rows} x {columns}")?;
        writeln!(
            f,
            "  distribution   access v of a tile: unit v % {}",
            self.units
        )?;
        writeln!(f, "  units          {} cubes of {}", self.cubes, self.units)?;
        writeln!(f, "  accesses       {} a unit", self.packets)?;
        writeln!(f, "  registers      {} a unit for data", self.registers)?;
        writeln!(f, "  axes           {}", self.axes)?;
        writeln!(
            f,
            "  copied first   {}",
            if self.copies { "yes" } else { "no" }
        )?;
        let ratio = self.bytes_moved as f64 / self.bytes_ideal.max(1) as f64;
        let (moved, ideal) = (self.bytes_moved, self.bytes_ideal);
        write!(
            f,
            "  bytes          {moved} of {ideal} at least ({ratio:.2} times)"
        )
    }
}

/// What [`gather`](crate::gather) would launch.
///
/// # Errors
///
/// As [`gather`](crate::gather).
pub fn explain_gather(
    client: &Client,
    input: &TensorHandle,
    index: &TensorHandle,
    axis: usize,
) -> Result<Plan> {
    const CALL: &str = "gather";
    let device = Device::of(client);
    check::axis(CALL, "input", input, axis)?;
    check::index(CALL, &device, index)?;
    check::element(CALL, &device, input.dtype)?;
    check::within(CALL, client, "input", input)?;
    let (mut shape, _) = check::dims(input);
    shape[axis] = index.shape()[0];
    let output = like(input, shape);
    Ok(of_gather(CALL, &device, [input, &output], index, axis))
}

/// What [`take_along_axis`](crate::take_along_axis) would launch: a tile is what a cube takes.
///
/// # Errors
///
/// As [`take_along_axis`](crate::take_along_axis).
pub fn explain_take_along_axis(
    client: &Client,
    table: &TensorHandle,
    index: &TensorHandle,
    axis: usize,
) -> Result<Plan> {
    const CALL: &str = "take_along_axis";
    let device = Device::of(client);
    along::check(CALL, &device, table, index, axis)?;
    let (element, size) = (table.dtype, table.dtype.size());
    let output = like(table, check::dims(index).0);
    let lines = Lines::new(&device, table, index, &output, axis);
    let (width, units) = (lines.width, cube_units(&device));
    let packets = along::packets_of_unit(&device);
    let elements: usize = index.shape().iter().product();
    let (count, by) = (elements as u64, index.dtype.size() as u64);
    // Neighbours share a sector where their indices agree; at worst none do.
    let taken = count * (size as u64).max(SECTOR);
    Ok(Plan {
        call: CALL,
        element,
        path: None,
        reason: "",
        temporary: 0,
        width,
        tile: [1, 1, units as usize * packets * width],
        cubes: (elements / width).div_ceil(units as usize * packets) as u64,
        units,
        packets,
        registers: (width * (size + index.dtype.size())).div_ceil(4),
        axes: lines.rank(),
        copies: false,
        bytes_moved: taken + count * (size as u64 + by),
        bytes_ideal: count * (2 * size as u64 + by),
    })
}

/// What [`paged_gather`](crate::paged_gather) would launch, beside the short kernel that finds each row's place.
///
/// # Errors
///
/// As [`paged_gather`](crate::paged_gather).
pub fn explain_paged_gather(
    client: &Client,
    pages: &TensorHandle,
    table: &TensorHandle,
    offsets: &TensorHandle,
    rows: usize,
) -> Result<Plan> {
    const CALL: &str = "paged_gather";
    let device = Device::of(client);
    let flat = FlatPages::new(&device, pages)?;
    Lists::new(&device, table, offsets)?;
    let mut shape = check::dims(&flat.tensor).0;
    let list = page_rows_type(shape[0]);
    shape[0] = rows;
    let output = like(pages, shape);
    let list = TensorHandle::new_contiguous([rows], table.handle.clone(), list);
    Ok(of_gather(CALL, &device, [&flat.tensor, &output], &list, 0))
}

/// What [`scatter_into`](crate::scatter_into) would launch, and why it would go that path.
///
/// The tile is that of the kernel that moves slices, if there are several.
///
/// # Errors
///
/// As [`scatter_into`](crate::scatter_into).
pub fn explain_scatter(
    client: &Client,
    target: &TensorHandle,
    index: &TensorHandle,
    updates: &TensorHandle,
    axis: usize,
    mode: ScatterMode,
    options: impl Into<ScatterOptions>,
) -> Result<Plan> {
    let device = Device::of(client);
    scatter::checked(&device, target, index, updates, axis)?;
    let packed = like(updates, check::dims(updates).0);
    let (walk, copies) = match Walk::new(target, updates, axis) {
        Some(walk) => (walk, false),
        None => (scatter::unfolded(target, &packed, axis)?, true),
    };
    let updates = if copies { &packed } else { updates };
    let extent = target.shape()[axis].max(1);
    let handles = [&target.handle, &updates.handle];
    let route = scatter::route(
        &device,
        target.dtype,
        mode,
        extent,
        &walk,
        handles,
        &options.into(),
    )?;
    let plan = Cutting {
        call: scatter::CALL,
        device: &device,
        element: target.dtype,
        index,
        walk: &walk,
        copies,
    };
    Ok(plan.of_scatter(&route))
}

/// The plan of a gather of slices along an axis.
fn of_gather(
    call: &'static str,
    device: &Device,
    [input, output]: [&TensorHandle; 2],
    index: &TensorHandle,
    axis: usize,
) -> Plan {
    let (walk, tensors, copies) = match Walk::new(input, output, axis) {
        Some(walk) => (walk, [input.clone(), output.clone()], false),
        None => {
            let packed = [input, output].map(|tensor| like(tensor, check::dims(tensor).0));
            let walk = Walk::new(&packed[0], &packed[1], axis);
            (
                walk.expect("contiguous tensors fold to three axes"),
                packed,
                true,
            )
        }
    };
    let size = input.dtype.size();
    let width = walk.width(
        &device.vector_widths(size),
        [&tensors[0].handle, &tensors[1].handle],
        size,
    );
    let cutting = Cutting {
        call,
        device,
        element: input.dtype,
        index,
        walk: &walk,
        copies,
    };
    cutting.plan(width)
}

/// A contiguous tensor of that shape, of which only the extents are looked at.
fn like(tensor: &TensorHandle, shape: Vec<usize>) -> TensorHandle {
    TensorHandle::new_contiguous(shape, tensor.handle.clone(), tensor.dtype)
}

/// What a plan is made from.
struct Cutting<'a> {
    call: &'static str,
    device: &'a Device,
    element: ElemType,
    index: &'a TensorHandle,
    walk: &'a Walk,
    copies: bool,
}

impl Cutting<'_> {
    /// The plan whose accesses have `width` elements.
    fn plan(&self, width: usize) -> Plan {
        let (walk, size) = (self.walk, self.element.size());
        // Where nothing is gathered there is no tile; its extents may as well be those of one element.
        let extents = walk.extents.map(|extent| extent.max(1));
        let tiling = Tiling::new(self.device, extents, width);
        let packets = tiling.tile.iter().product::<usize>() / width;
        let packets = packets.div_ceil(tiling.units as usize);
        let elements: u64 = walk.extents.iter().map(|&extent| extent as u64).product();
        let cubes: u64 = match elements {
            0 => 0,
            _ => tiling.tiles.iter().map(|&tiles| tiles as u64).product(),
        };
        let indices = (self.index.shape()[0] * self.index.dtype.size()) as u64;
        // Each tile reads the indices of its rows.
        let index_tiles = cubes / (tiling.tiles[2] as u64).max(1);
        let slices = [0, 1].map(|tensor| moved(walk.extents, walk.strides[tensor], size));
        Plan {
            call: self.call,
            element: self.element,
            path: None,
            reason: "",
            temporary: 0,
            width,
            tile: tiling.tile,
            cubes,
            units: tiling.units,
            packets,
            registers: registers(packets, width * size),
            axes: if walk.is_short() { 3 } else { 5 },
            copies: self.copies,
            bytes_moved: slices.iter().sum::<u64>() + indices * index_tiles,
            bytes_ideal: 2 * elements * size as u64 + indices,
        }
    }

    fn of_scatter(&self, route: &Route) -> Plan {
        let plan = self.plan(route.width);
        let plan = Plan {
            path: Some(route.path),
            reason: route.reason,
            temporary: route.temporary,
            ..plan
        };
        let Some(rows) = route.rows else {
            return plan;
        };
        // Each unit does one packet of so many slices.
        let indices = self.walk.extents[2];
        let elements: usize = self.walk.extents.iter().product();
        let row = elements / indices.max(1);
        let packets = row / route.width * indices.div_ceil(rows);
        // What is written beside the arguments is read again.
        let moved = 2 * route.temporary + plan.bytes_moved;
        Plan {
            tile: [1, rows, row],
            cubes: packets.div_ceil(plan.units as usize) as u64,
            packets: rows,
            registers: registers(rows, route.width * self.element.size()),
            axes: 5,
            bytes_moved: if elements == 0 {
                plan.bytes_moved
            } else {
                moved
            },
            ..plan
        }
    }
}

/// Registers of a unit that has up to four packets of so many bytes in flight.
fn registers(packets: usize, bytes: usize) -> usize {
    (packets.min(4) * bytes).div_ceil(4)
}

/// Bytes that memory moves for every slice of a tensor, in sectors: rows side by side if they are neighbours, else each
/// with what it shares its first and last sector with.
fn moved(extents: [usize; 5], strides: [usize; 5], size: usize) -> u64 {
    let rows: u64 = extents[..4].iter().map(|&extent| extent as u64).product();
    let (row, size) = (extents[4] as u64, size as u64);
    let sectors = |bytes: u64| bytes.div_ceil(SECTOR) * SECTOR;
    if strides[4] != 1 && row > 1 {
        let step = (strides[4] as u64 * size).min(SECTOR);
        return rows * sectors(row * step);
    }
    let apart = strides[..4].iter().zip(extents);
    let aligned = apart
        .filter(|(_, extent)| *extent > 1)
        .all(|(&stride, _)| (stride as u64 * size).is_multiple_of(SECTOR));
    match aligned || rows == 1 {
        true => rows * sectors(row * size),
        // A row that starts anywhere touches part of one sector more, on average.
        false => rows * (sectors(row * size) + SECTOR - size.min(SECTOR)),
    }
}

#[cfg(test)]
mod tests {
    use super::moved;

    #[test]
    fn rows_move_in_sectors() {
        // 64 floats, aligned; 3 floats, which take part of a sector more each; floats that are 2 apart.
        assert_eq!(moved([1, 1, 10, 1, 64], [0, 0, 64, 0, 1], 4), 10 * 256);
        assert_eq!(moved([1, 1, 10, 1, 3], [0, 0, 3, 0, 1], 4), 10 * (32 + 28));
        assert_eq!(moved([1, 1, 10, 1, 64], [0, 0, 128, 0, 2], 4), 10 * 512);
        assert_eq!(moved([1, 1, 1, 1, 9], [0, 0, 0, 0, 100], 4), 9 * 32);
        assert_eq!(moved([1, 1, 0, 1, 64], [0, 0, 64, 0, 1], 4), 0);
    }
}
