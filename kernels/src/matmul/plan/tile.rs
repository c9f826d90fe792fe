//! How a product is cut: tiles that suit, and that the device can do.

use super::tiled::sizes;
use crate::matmul::MatmulTile;
use crate::matmul::form::{FRAGMENT, Form};
use crate::matmul::problem::Problem;
use girih::device::{Device, Target};
use girih::{Error, Result};

/// Elements of a vector in registers: 16 bytes on a GPU, 32 on a CPU.
pub(super) fn vector(device: &Device, problem: &Problem) -> usize {
    let bytes = match device.target() {
        Target::Cpu => 32,
        _ => 16,
    };
    let size = problem.work.size();
    let widths = device.vector_widths(size);
    let fits = |width: &usize| width * size <= bytes && *width <= 8;
    widths.into_iter().find(fits).unwrap_or(1)
}

/// The tile that suits: the largest of which there are enough to give each processor one.
pub(super) fn tile(device: &Device, problem: &Problem, vector: usize) -> MatmulTile {
    let hardware = &device.client().properties().hardware;
    if device.target() == Target::Cpu {
        let units = 1 << hardware.max_units_per_cube.clamp(1, 16).ilog2();
        let vector = vector as u32;
        let (rows, columns) = (vector.max(8), vector.max(8) * 2);
        return MatmulTile::new([rows, columns * units, 64], [rows, columns]);
    }
    let processors = device.processors();
    let wide = problem.work.size() > 4;
    let fits = |tile: &&MatmulTile| {
        let cut = |extent: usize, of: u32| extent.div_ceil(of as usize);
        let tiles =
            problem.matrices() * cut(problem.rows, tile.rows) * cut(problem.columns, tile.columns);
        let units = (tile.rows / tile.unit_rows) * (tile.columns / tile.unit_columns);
        tiles >= processors && !(wide && tile.unit_rows > 4) && units <= hardware.max_units_per_cube
    };
    let smallest = TILES[TILES.len() - 1];
    *TILES.iter().find(fits).unwrap_or(&smallest)
}

/// Tiles for GPUs, largest first.
pub(crate) const TILES: [MatmulTile; 3] = [
    MatmulTile::new([128, 128, 8], [8, 8]),
    MatmulTile::new([64, 64, 16], [4, 4]),
    MatmulTile::new([32, 32, 16], [4, 4]),
];

/// Tiles for planes of 16-bit elements, largest first: those of a cube, and of each of its planes.
pub(crate) const OF_PLANES: [MatmulTile; 3] = [
    MatmulTile::new([128, 128, 32], [32, 64]),
    MatmulTile::new([64, 64, 32], [32, 32]),
    MatmulTile::new([32, 32, 32], [16, 16]),
];

/// The same of elements of so many bytes: as many bytes along K.
pub(crate) fn of_size(tile: MatmulTile, size: usize) -> MatmulTile {
    MatmulTile {
        depth: tile.depth * 2 / size as u32,
        ..tile
    }
}

/// The tiles for planes of which there are enough to give each processor one, and the smallest.
pub(super) fn of_planes(device: &Device, problem: &Problem) -> impl Iterator<Item = MatmulTile> {
    let hardware = &device.client().properties().hardware;
    let (most, plane) = (hardware.max_units_per_cube, hardware.plane_size_max);
    let processors = device.processors();
    let [matrices, rows, columns] = [problem.matrices(), problem.rows, problem.columns];
    let suits = move |tile: &MatmulTile| {
        let tiles =
            matrices * rows.div_ceil(tile.rows as usize) * columns.div_ceil(tile.columns as usize);
        let planes = (tile.rows / tile.unit_rows) * (tile.columns / tile.unit_columns);
        tiles >= processors && planes * plane <= most
    };
    let size = problem.element.size();
    let suiting = OF_PLANES.into_iter().filter(suits);
    suiting
        .chain([OF_PLANES[OF_PLANES.len() - 1]])
        .map(move |tile| of_size(tile, size))
}

/// A tile that the device can do.
pub(super) fn fits(device: &Device, problem: &Problem, form: &Form) -> Result<()> {
    let tile = form.tile;
    let hardware = &device.client().properties().hardware;
    // What units' or planes' blocks, lines and depths consist of.
    let (block, deep) = match form.plane {
        0 => (form.vector, form.vector),
        _ => (FRAGMENT, form.fragment.max(form.vector)),
    };
    let divides = |part: u32, whole: u32| part > 0 && whole > 0 && whole.is_multiple_of(part);
    let whole = [
        (tile.unit_rows, tile.rows),
        (tile.unit_columns, tile.columns),
        (block, tile.unit_rows),
        (block, tile.unit_columns),
        (deep, tile.depth),
    ];
    let refuse = |allowed: String| {
        Err(Error::Argument {
            call: problem.call,
            argument: "tile",
            given: format!("{tile:?}"),
            allowed,
        })
    };
    if !whole.into_iter().all(|(part, whole)| divides(part, whole)) {
        return refuse(format!(
            "units' rows and columns that divide the cube's, and are multiples of {block}; a depth that is one of {deep}"
        ));
    }
    let (units, most) = (form.units()[1], hardware.max_units_per_cube);
    if units > most {
        return refuse(format!("at most {most} units; these are {units}"));
    }
    let (bytes, most) = (
        form.shared_bytes(sizes(problem, form)),
        hardware.max_shared_memory_size,
    );
    if bytes > most {
        return refuse(format!(
            "at most {most} bytes of shared memory; these are {bytes}"
        ));
    }
    Ok(())
}
