//! Products by kernels that stage tiles in shared memory.

use super::MatmulPlan;
use super::reading::{elements, reading_a, reading_b, swapped, writes_vectors};
use super::tile::{fits, of_planes, tile, vector};
use crate::matmul::form::{FRAGMENT, Form, Grouping, Reading};
use crate::matmul::problem::Problem;
use crate::matmul::{MatmulOptions, MatmulPath, MatmulTile};
use girih::Result;
use girih::device::Device;

/// A product by kernels that stage tiles in shared memory.
#[derive(Clone, Debug)]
pub(crate) struct Tiled {
    pub form: Form,
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
            fragment: 0,
        };
        Self::new(device, problem, cut)
    }

    /// By planes that multiply fragments, where the device does so with such elements.
    pub(crate) fn by_planes(
        device: &Device,
        problem: &Problem,
        options: &MatmulOptions<'_>,
    ) -> Result<Self> {
        let require = |has, feature| device.require(has, problem.call, feature);
        let fragment = fragment(device, problem).unwrap_or(0);
        require(
            fragment > 0,
            format!("path TensorCores for {}", problem.factor),
        )?;
        let size = problem.element.size();
        let vector = 16 / size;
        let widths = device.vector_widths(size);
        require(
            widths.contains(&vector),
            format!("vectors of {vector} {}", problem.element),
        )?;
        let plane = device.client().properties().hardware.plane_size_max;
        let fours = device.vector_widths(problem.work.size()).contains(&4);
        let written = if fours { 4 } else { 1 };
        // The units that write a row of a fragment are of one plane.
        require(
            plane.is_multiple_of(FRAGMENT / written),
            format!("vectors of 4 {}", problem.work),
        )?;
        let by = |tile| {
            let cut = Cut {
                vector,
                written: written as usize,
                tile,
                plane,
                fragment,
            };
            Self::new(device, problem, cut)
        };
        if let Some(tile) = options.tile {
            return by(tile);
        }
        let mut made = of_planes(device, problem).map(by);
        let first = made.next().expect("there is a smallest tile");
        first.or_else(|refused| made.find_map(Result::ok).ok_or(refused))
    }

    fn new(device: &Device, problem: &Problem, cut: Cut) -> Result<Self> {
        let Cut {
            vector,
            written,
            tile,
            plane,
            fragment,
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
            fragment,
            buffers: 1,
            readings,
            by_line: readings.map(along),
            grouping: problem.grouping,
            activation: problem.activation,
            bounds: problem.bounds,
        };
        fits(device, problem, &form)?;
        let form = overlapped(device, problem, form);
        let row_tiles = problem.rows.div_ceil(tile.rows as usize);
        Ok(Self {
            form,
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
            factor: match self.form.plane {
                0 => problem.element,
                _ => problem.factor,
            },
            path: match self.form.plane {
                0 => MatmulPath::Portable,
                _ => MatmulPath::TensorCores,
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
            measured: false,
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
    /// Positions of K of a fragment.
    fragment: u32,
}

/// Vectors that a unit reads ahead at most: registers that it has beside its sums.
const AHEAD: u32 = 8;

/// The same form with two buffers, where planes multiply what is read in vectors, a unit has the registers and a cube the shared
/// memory.
fn overlapped(device: &Device, problem: &Problem, form: Form) -> Form {
    let two = Form { buffers: 2, ..form };
    let sides = [form.side_a(false), form.side_b()];
    let in_vectors = sides.iter().all(|side| !side.is_by_element());
    let ahead: u32 = sides.iter().map(|&side| form.steps(side)).sum();
    let hardware = &device.client().properties().hardware;
    let fits = two.shared_bytes(sizes(problem, &two)) <= hardware.max_shared_memory_size;
    match form.plane > 0 && in_vectors && ahead <= AHEAD && fits {
        true => two,
        false => form,
    }
}

/// Bytes of an element in shared memory, and of a sum.
pub(super) fn sizes(problem: &Problem, form: &Form) -> [usize; 2] {
    let sum = problem.work.size();
    match form.plane {
        0 => [sum; 2],
        _ => [problem.element.size(), sum],
    }
}

/// Positions of K of the fragments that planes multiply, of the elements, with sums of the type that products have: the most
/// that the device lists.
fn fragment(device: &Device, problem: &Problem) -> Option<u32> {
    let properties = device.client().properties();
    let hardware = &properties.hardware;
    let planes = hardware.plane_size_min == hardware.plane_size_max
        && hardware.plane_size_max.is_power_of_two()
        && (4..=64).contains(&hardware.plane_size_max);
    let listed = properties.features.matmul.cmma.iter().filter(|form| {
        [form.a_type, form.b_type, form.cd_type] == [problem.factor, problem.factor, problem.work]
            && [form.m, form.n] == [FRAGMENT; 2]
    });
    listed.map(|form| form.k).max().filter(|_| planes)
}
