//! How a product is computed on a device.

mod reading;
mod tile;
mod tiled;

pub(crate) use tile::{OF_PLANES, TILES, of_size};
pub(crate) use tiled::Tiled;

use super::form::Grouping;
use super::hopper;
use super::problem::Problem;
use super::tune::fastest;
use super::{MatmulOptions, MatmulPath};
use core::fmt;
use cubecl::ir::ElemType;
use girih::device::Device;
use girih::{Error, Result};

/// How a product is launched. Its `Display` is a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatmulPlan {
    /// The launcher.
    pub call: &'static str,
    /// The elements of operands, sums and result.
    pub elements: [ElemType; 3],
    /// What operands are multiplied as.
    pub factor: ElemType,
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
    /// Whether the tile is the fastest of those that were measured ([`MatmulOptions::tune`]), rather than one that suits.
    pub measured: bool,
}

impl fmt::Display for MatmulPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [operand, sum, result] = self.elements;
        write!(f, "{} of {operand}", self.call)?;
        if self.factor != operand {
            write!(f, " as {}", self.factor)?;
        }
        writeln!(f, ", summed in {sum}, to {result}")?;
        writeln!(f, "  path           {:?}", self.path)?;
        let [rows, columns, depth] = self.tile;
        let why = if self.measured { ", measured" } else { "" };
        writeln!(f, "  tile           {rows} x {columns}, {depth} of K{why}")?;
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
    /// By the kernel for Hopper, where it computes such a product on the device, in the form that suits.
    pub(crate) fn by_hopper(device: &Device, problem: &Problem) -> Result<Self> {
        Self::by_hopper_as(device, problem, |product| hopper::form(device, product))
    }

    /// The same in a form of one's own.
    pub(crate) fn by_hopper_as(
        device: &Device,
        problem: &Problem,
        form: impl Fn(&hopper::Product<'_>) -> hopper::Form,
    ) -> Result<Self> {
        let refused = |lacking: &str| Error::Device {
            call: problem.call,
            device: device.name(),
            feature: format!("path Hopper, which needs {lacking}"),
        };
        let product = problem
            .of_hopper()
            .ok_or_else(|| refused("groups, or batches along one axis"))?;
        hopper::supports(device, &product).map_err(refused)?;
        let form = form(&product);
        match form.is_possible() {
            true => Ok(Self::Hopper(form)),
            false => Err(refused("another tile")),
        }
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
        factor: problem.element,
        path: MatmulPath::Hopper,
        tile: [hopper::ROWS, form.columns, hopper::DEPTH],
        vector: 8,
        readings: ["by bulk copies"; 2],
        writes_vectors: form.vectors,
        cubes: matrices * down * across * u64::from(form.cubes()),
        units: hopper::UNITS,
        shared: form.shared_bytes() as usize,
        flops: problem.flops(),
        measured: false,
    }
}

/// The plan for a problem: the path asked for, or the fastest that there is; where that is measured, what was found for its class.
pub(crate) fn plan(
    device: &Device,
    problem: &Problem,
    options: &MatmulOptions<'_>,
) -> Result<Planned> {
    let usual = usual(device, problem, options)?;
    Ok(measured(device, problem, options, &usual).unwrap_or(usual))
}

/// What [`plan`] gives, in words.
pub(crate) fn explained(
    device: &Device,
    problem: &Problem,
    options: &MatmulOptions<'_>,
) -> Result<MatmulPlan> {
    let usual = usual(device, problem, options)?;
    let found = measured(device, problem, options, &usual);
    Ok(MatmulPlan {
        measured: found.is_some(),
        ..found.unwrap_or(usual).explain(problem)
    })
}

fn measured(
    device: &Device,
    problem: &Problem,
    options: &MatmulOptions<'_>,
    usual: &Planned,
) -> Option<Planned> {
    match options.tunes() {
        true => fastest(device, problem, usual),
        false => None,
    }
}

/// The path asked for, or the fastest that there is, with a tile that suits.
fn usual(device: &Device, problem: &Problem, options: &MatmulOptions<'_>) -> Result<Planned> {
    let hopper = || Planned::by_hopper(device, problem);
    let planes = || Tiled::by_planes(device, problem, options).map(Planned::Tiled);
    let units = || Tiled::by_units(device, problem, options).map(Planned::Tiled);
    match options.path {
        Some(MatmulPath::Portable) => units(),
        Some(MatmulPath::TensorCores) => planes(),
        Some(MatmulPath::Hopper) => hopper(),
        None if options.tile.is_some() => units(),
        None => hopper().or_else(|_| planes()).or_else(|_| units()),
    }
}
