//! How a product is computed on a device.

use super::form::{Form, Grouping, Reading};
use super::hopper;
use super::problem::Problem;
use super::tensor::FRAGMENT;
use super::{MatmulOptions, MatmulPath, MatmulTile};
use crate::plan::start;
use core::fmt;
use cubecl::ir::features::MmaConfig;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::server::Handle;
use girih::device::{Device, Target};
use girih::{Error, Result};

/// How a product is launched. Its `Display` is a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatmulPlan {
    /// The launcher.
    pub call: &'static str,
    /// The elements of operands, sums and result.
    pub elements: [ElemType; 3],
    /// How it is computed.
    pub path: MatmulPath,
    /// Rows, columns and positions of K of a cube's tile.
    pub tile: [u32; 3],
    /// Elements of a vector in registers.
    pub vector: u32,
    /// How A and B are read.
    pub readings: [&'static str; 2],
    /// Whether the result is written in whole vectors.
    pub writes_vectors: bool,
    /// Cubes; of grouped products the most that there may be, of Hopper's tiles that cubes take in turn.
    pub cubes: u64,
    /// Units of each.
    pub units: u32,
    /// Bytes of shared memory of each.
    pub shared: usize,
    /// Multiplications and additions.
    pub flops: u64,
}

impl fmt::Display for MatmulPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [operand, sum, result] = self.elements;
        writeln!(
            f,
            "{} of {operand}, summed in {sum}, to {result}",
            self.call
        )?;
        writeln!(f, "  path           {:?}", self.path)?;
        let [rows, columns, depth] = self.tile;
        writeln!(f, "  tile           {rows} x {columns}, {depth} of K")?;
        writeln!(f, "  vector width   {}", self.vector)?;
        writeln!(f, "  A              {}", self.readings[0])?;
        writeln!(f, "  B              {}", self.readings[1])?;
        let vectors = if self.writes_vectors {
            "in vectors"
        } else {
            "element by element"
        };
        writeln!(f, "  result         {vectors}")?;
        writeln!(f, "  units          {} cubes of {}", self.cubes, self.units)?;
        writeln!(f, "  shared memory  {} bytes a cube", self.shared)?;
        write!(f, "  operations     {}", self.flops)
    }
}

/// How a product is computed.
#[derive(Clone, Debug)]
pub(crate) enum Planned {
    /// By the kernel for NVIDIA's Hopper.
    Hopper(hopper::Form),
    /// By kernels that stage tiles in shared memory.
    Tiled(Tiled),
}

impl Planned {
    /// By the kernel for Hopper, where it computes such a product on the device.
    pub(crate) fn by_hopper(device: &Device, problem: &Problem) -> Result<Self> {
        let refused = |lacking: &str| Error::Device {
            call: problem.call,
            device: device.name(),
            feature: format!("path Hopper, which needs {lacking}"),
        };
        let product = problem
            .of_hopper()
            .ok_or_else(|| refused("groups, or batches along one axis"))?;
        hopper::supports(device, &product).map_err(refused)?;
        Ok(Self::Hopper(hopper::form(device, &product)))
    }

    pub(crate) fn explain(&self, problem: &Problem) -> MatmulPlan {
        match self {
            Self::Hopper(form) => of_hopper(problem, form),
            Self::Tiled(tiled) => tiled.explain(problem),
        }
    }
}

/// What the kernel for Hopper does: a cluster goes from tile to tile.
fn of_hopper(problem: &Problem, form: &hopper::Form) -> MatmulPlan {
    let tiles = |extent: usize, at_once: u32| extent.div_ceil(at_once as usize) as u64;
    let [down, across] = [
        tiles(problem.rows, form.rows_at_once()),
        tiles(problem.columns, form.columns_at_once()),
    ];
    let matrices = match problem.grouping {
        Grouping::Rows => 1,
        _ => problem.matrices() as u64,
    };
    MatmulPlan {
        call: problem.call,
        elements: [problem.element, problem.work, problem.output],
        path: MatmulPath::Hopper,
        tile: [hopper::ROWS, form.columns, hopper::DEPTH],
        vector: 8,
        readings: ["by bulk copies"; 2],
        writes_vectors: form.vectors,
        cubes: matrices * down * across * u64::from(form.cubes()),
        units: hopper::UNITS,
        shared: form.shared_bytes() as usize,
        flops: problem.flops(),
    }
}

/// A product by kernels that stage tiles in shared memory.
#[derive(Clone, Debug)]
pub(crate) struct Tiled {
    pub form: Form,
    /// Whether planes multiply fragments.
    pub by_planes: bool,
    /// Vector widths of A, B and the result.
    pub widths: [usize; 3],
    /// Elements that a unit writes at a time.
    pub written: usize,
    pub row_tiles: usize,
    pub column_tiles: usize,
}

impl Tiled {
    /// By units, each for itself.
    pub(crate) fn by_units(
        device: &Device,
        problem: &Problem,
        options: &MatmulOptions<'_>,
    ) -> Result<Self> {
        let vector = vector(device, problem);
        let cut = Cut {
            vector,
            written: vector,
            tile: options
                .tile
                .unwrap_or_else(|| tile(device, problem, vector)),
            plane: 0,
        };
        Self::new(device, problem, cut)
    }

    /// By planes that multiply fragments, where the device does so with such elements.
    pub(crate) fn by_planes(
        device: &Device,
        problem: &Problem,
        options: &MatmulOptions<'_>,
    ) -> Result<Self> {
        let feature = format!("path TensorCores for {}", problem.element);
        device.require(has_fragments(device, problem), problem.call, feature)?;
        let hardware = &device.client().properties().hardware;
        let size = problem.element.size();
        let widths = device.vector_widths(size);
        let vector = 16 / size;
        let written = device.vector_widths(problem.work.size());
        let cut = Cut {
            vector,
            written: if written.contains(&4) { 4 } else { 1 },
            tile: options.tile.unwrap_or_else(|| of_planes(device, problem)),
            plane: hardware.plane_size_max,
        };
        device.require(
            widths.contains(&vector),
            problem.call,
            format!("vectors of {vector} {}", problem.element),
        )?;
        Self::new(device, problem, cut)
    }

    fn new(device: &Device, problem: &Problem, cut: Cut) -> Result<Self> {
        let Cut {
            vector,
            written,
            tile,
            plane,
        } = cut;
        let reads = device
            .vector_widths(problem.element.size())
            .contains(&vector);
        let readings = match reads {
            true => [reading_a(problem, vector), reading_b(problem, vector)],
            false => [problem.a_strides, swapped(problem.b_strides)].map(elements),
        };
        let width = |reading| match reading {
            Reading::Elements { .. } => 1,
            _ => vector,
        };
        let along = |reading| {
            let elements = Reading::Elements { along_lines: true };
            plane > 0 && (reading == Reading::AlongLines || reading == elements)
        };
        let writes = device
            .vector_widths(problem.output.size())
            .contains(&written)
            && writes_vectors(device, problem, written);
        let form = Form {
            vector: vector as u32,
            tile,
            plane,
            readings,
            by_line: readings.map(along),
            grouping: problem.grouping,
            activation: problem.activation,
            bounds: problem.bounds,
        };
        fits(device, problem, &form)?;
        let row_tiles = problem.rows.div_ceil(tile.rows as usize);
        Ok(Self {
            form,
            by_planes: plane > 0,
            widths: [
                width(readings[0]),
                width(readings[1]),
                if writes { written } else { 1 },
            ],
            written,
            // Each group may end within a tile.
            row_tiles: match problem.grouping {
                Grouping::Rows => row_tiles + problem.groups,
                _ => row_tiles,
            },
            column_tiles: problem.columns.div_ceil(tile.columns as usize),
        })
    }

    pub(crate) fn tiles(&self, problem: &Problem) -> usize {
        problem.matrices() * self.row_tiles * self.column_tiles
    }

    pub(crate) fn explain(&self, problem: &Problem) -> MatmulPlan {
        let MatmulTile {
            rows,
            columns,
            depth,
            ..
        } = self.form.tile;
        let name = |reading| match reading {
            Reading::AcrossLines => "in vectors across K",
            Reading::AlongLines => "in vectors along K",
            Reading::Elements { .. } => "element by element",
        };
        MatmulPlan {
            call: problem.call,
            elements: [problem.element, problem.work, problem.output],
            path: match self.by_planes {
                true => MatmulPath::TensorCores,
                false => MatmulPath::Portable,
            },
            tile: [rows, columns, depth],
            vector: self.form.vector,
            readings: self.form.readings.map(name),
            writes_vectors: self.widths[2] > 1,
            cubes: match problem.is_empty() {
                true => 0,
                false => self.tiles(problem) as u64,
            },
            units: self.form.units()[1],
            shared: self.form.shared_bytes(sizes(problem, &self.form)),
            flops: problem.flops(),
        }
    }
}

/// How a product is cut.
struct Cut {
    /// Elements of a staged vector.
    vector: usize,
    /// Elements that a unit writes at a time.
    written: usize,
    tile: MatmulTile,
    /// Units of a plane, where planes multiply fragments.
    plane: u32,
}

/// Bytes of an element in shared memory, and of a sum.
fn sizes(problem: &Problem, form: &Form) -> [usize; 2] {
    let sum = problem.work.size();
    match form.plane {
        0 => [sum; 2],
        _ => [problem.element.size(), sum],
    }
}

/// Whether planes multiply fragments of the elements, with sums of the type that products have.
fn has_fragments(device: &Device, problem: &Problem) -> bool {
    let properties = device.client().properties();
    let halves = matches!(
        problem.element,
        ElemType::Float(FloatKind::F16 | FloatKind::BF16)
    );
    let wanted = MmaConfig {
        a_type: problem.element,
        b_type: problem.element,
        cd_type: problem.work,
        m: FRAGMENT,
        n: FRAGMENT,
        k: FRAGMENT,
    };
    let hardware = &properties.hardware;
    halves
        && hardware.plane_size_min == hardware.plane_size_max
        && hardware.plane_size_max.is_power_of_two()
        && (4..=64).contains(&hardware.plane_size_max)
        && properties.features.matmul.cmma.contains(&wanted)
}

fn swapped([inner, column]: [usize; 2]) -> [usize; 2] {
    [column, inner]
}

/// Element by element, of an operand with these strides from line to line and along lines.
fn elements([line, along]: [usize; 2]) -> Reading {
    Reading::Elements {
        along_lines: along <= line,
    }
}

/// Elements of a vector in registers: 16 bytes on a GPU, 32 on a CPU.
fn vector(device: &Device, problem: &Problem) -> usize {
    let bytes = match device.target() {
        Target::Cpu => 32,
        _ => 16,
    };
    let size = problem.work.size();
    let widths = device.vector_widths(size);
    let fits = |width: &usize| width * size <= bytes && *width <= 8;
    widths.into_iter().find(fits).unwrap_or(1)
}

/// Where a matrix begins, and what steps lead from part to part of it.
fn is_aligned(handle: &Handle, size: usize, vector: usize, steps: &[usize]) -> bool {
    start(handle, size).is_multiple_of(vector as u64)
        && steps.iter().all(|step| step.is_multiple_of(vector))
}

/// The reading of an operand whose lines are `line` apart, and whose positions of K are `along` apart.
#[allow(clippy::too_many_arguments)]
fn reading(
    handle: &Handle,
    size: usize,
    vector: usize,
    [line, along]: [usize; 2],
    [lines, inner]: [usize; 2],
    groups: &[usize],
    crosses: bool,
    runs: bool,
) -> Reading {
    let steps = |step: usize, extent: usize| {
        let mut steps = groups.to_vec();
        steps.push(if extent > 1 { step } else { 0 });
        steps
    };
    let whole = |extent: usize| extent.is_multiple_of(vector);
    if crosses
        && line == 1
        && whole(lines)
        && is_aligned(handle, size, vector, &steps(along, inner))
    {
        return Reading::AcrossLines;
    }
    if runs && along == 1 && whole(inner) && is_aligned(handle, size, vector, &steps(line, lines)) {
        return Reading::AlongLines;
    }
    elements([line, along])
}

fn reading_a(problem: &Problem, vector: usize) -> Reading {
    let groups: Vec<usize> = problem.batch.iter().map(|axis| axis[1]).collect();
    let in_order = problem.gather.is_none() && problem.grouping != Grouping::Rows;
    reading(
        &problem.a.handle,
        problem.element.size(),
        vector,
        problem.a_strides,
        [problem.rows_a, problem.inner],
        &groups,
        in_order,
        problem.grouping != Grouping::Inner,
    )
}

fn reading_b(problem: &Problem, vector: usize) -> Reading {
    let mut groups: Vec<usize> = problem.batch.iter().map(|axis| axis[2]).collect();
    groups.push(problem.b_group);
    reading(
        &problem.b.handle,
        problem.element.size(),
        vector,
        swapped(problem.b_strides),
        [problem.columns, problem.inner],
        &groups,
        true,
        problem.grouping != Grouping::Inner,
    )
}

fn writes_vectors(device: &Device, problem: &Problem, vector: usize) -> bool {
    let [row, column] = problem.c_strides;
    let mut steps: Vec<usize> = problem.batch.iter().map(|axis| axis[3]).collect();
    steps.extend([problem.c_group, if problem.rows_c > 1 { row } else { 0 }]);
    let adds = !problem.adds || device.adds_atomically(problem.output, vector);
    adds && column == 1
        && problem.columns.is_multiple_of(vector)
        && is_aligned(&problem.c.handle, problem.output.size(), vector, &steps)
}

/// The tile that suits: the largest of which there are enough to give each processor one.
fn tile(device: &Device, problem: &Problem, vector: usize) -> MatmulTile {
    let hardware = &device.client().properties().hardware;
    if device.target() == Target::Cpu {
        let units = 1 << hardware.max_units_per_cube.clamp(1, 16).ilog2();
        let vector = vector as u32;
        let (rows, columns) = (vector.max(8), vector.max(8) * 2);
        return MatmulTile::new([rows, columns * units, 64], [rows, columns]);
    }
    let processors = hardware.num_streaming_multiprocessors.unwrap_or(8) as usize;
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

/// Tiles for planes, largest first: those of a cube, and of each of its planes.
pub(crate) const OF_PLANES: [MatmulTile; 3] = [
    MatmulTile::new([128, 128, 32], [32, 64]),
    MatmulTile::new([64, 64, 32], [32, 32]),
    MatmulTile::new([32, 32, 32], [16, 16]),
];

/// The tile for planes that suits: the largest of which there are enough to give each processor one.
fn of_planes(device: &Device, problem: &Problem) -> MatmulTile {
    let hardware = &device.client().properties().hardware;
    let processors = hardware.num_streaming_multiprocessors.unwrap_or(8) as usize;
    let suits = |tile: &&MatmulTile| {
        let tiles = problem.matrices()
            * problem.rows.div_ceil(tile.rows as usize)
            * problem.columns.div_ceil(tile.columns as usize);
        let planes = (tile.rows / tile.unit_rows) * (tile.columns / tile.unit_columns);
        tiles >= processors && planes * hardware.plane_size_max <= hardware.max_units_per_cube
    };
    *OF_PLANES.iter().find(suits).unwrap_or(&OF_PLANES[2])
}

/// A tile that the device can do.
fn fits(device: &Device, problem: &Problem, form: &Form) -> Result<()> {
    let tile = form.tile;
    let hardware = &device.client().properties().hardware;
    let vector = match form.plane {
        0 => form.vector,
        _ => FRAGMENT,
    };
    let divides = |part: u32, whole: u32| part > 0 && whole > 0 && whole.is_multiple_of(part);
    let whole = [
        (tile.unit_rows, tile.rows),
        (tile.unit_columns, tile.columns),
        (vector, tile.unit_rows),
        (vector, tile.unit_columns),
        (vector, tile.depth),
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
            "units' rows and columns that divide the cube's, and are multiples of {vector}, as the depth is"
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
