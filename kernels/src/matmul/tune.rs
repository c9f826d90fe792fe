//! The tile that is fastest for a class of shapes, found by CubeCL's autotuner.

use super::hopper::{self, Share};
use super::launch::{Reports, launch};
use super::plan::{OF_PLANES, Planned, TILES, Tiled, of_size};
use super::problem::Problem;
use super::{MatmulOptions, MatmulTile};
use core::fmt;
use cubecl::std::tensor::TensorHandle;
use cubecl::tune::{LocalTuner, Tunable, TunableSet, local_tuner};
use girih::Result;
use girih::device::Device;
use std::sync::Arc;

/// How a candidate computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By planes' fragments in such a tile of 16-bit elements.
    Planes(MatmulTile),
    /// By units in such a tile.
    Units(MatmulTile),
    /// As it would be without being measured: what suits where nothing else fits, for a CPU has few units.
    Usual,
    /// By the kernel for Hopper, with tiles of so many columns, in clusters that share so.
    Hopper(u32, Share),
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

/// What a candidate is run on.
#[derive(Clone)]
struct Inputs {
    device: Device,
    problem: Arc<Problem>,
    reports: Arc<Reports>,
}

type Set = TunableSet<String, Inputs, (), Way>;

// What was found is kept for a device and a class: by either kind of kernel.
static TILED: LocalTuner<String, String> = local_tuner!("tiled");
static HOPPER: LocalTuner<String, String> = local_tuner!("hopper");

/// Computes a problem with elements by the candidate that is fastest for its class, of those that `usual` is one of: measured at
/// the class's first call, which waits for the device, and remembered then.
pub(crate) fn launch_fastest(
    device: &Device,
    problem: &Problem,
    usual: &Planned,
    reports: Reports,
) {
    let id = device.name();
    let inputs = Inputs {
        device: device.clone(),
        problem: Arc::new(problem.clone()),
        reports: Arc::new(reports),
    };
    let client = device.client();
    match usual {
        Planned::Tiled(_) => TILED.execute(&id, client, TILED.init(&id, tiles), inputs),
        Planned::Hopper(_) => HOPPER.execute(&id, client, HOPPER.init(&id, forms), inputs),
    }
}

/// What [`launch_fastest`] has found for the problem's class, if it was called for it.
pub(crate) fn fastest(device: &Device, problem: &Problem, usual: &Planned) -> Option<Planned> {
    let (id, class) = (device.name(), class(problem));
    let way = match usual {
        Planned::Tiled(_) => TILED.fastest_identity(&id, &TILED.init(&id, tiles), &class),
        Planned::Hopper(_) => HOPPER.fastest_identity(&id, &HOPPER.init(&id, forms), &class),
    };
    planned(device, problem, way?).ok()
}

fn tiles() -> Set {
    let by_planes = OF_PLANES.map(Way::Planes);
    let by_units = TILES.map(Way::Units);
    set(by_planes.into_iter().chain(by_units).chain([Way::Usual]))
}

fn forms() -> Set {
    let shares = [Share::B, Share::A, Share::Nothing];
    set([256, 128, 64]
        .into_iter()
        .flat_map(|columns| shares.map(|share| Way::Hopper(columns, share))))
}

fn set(ways: impl Iterator<Item = Way>) -> Set {
    let empty = TunableSet::new(
        |inputs: &Inputs| class(&inputs.problem),
        |_: &String, inputs: &Inputs| inputs.apart(),
    );
    ways.fold(empty, |set, way| {
        set.with(Tunable::identified(way, move |inputs: Inputs| {
            inputs.run(way)
        }))
    })
}

/// What problems have in common that one tile suits: types, how operands lie, and extents up to a power of two.
fn class(problem: &Problem) -> String {
    let about = |extent: usize| extent.max(1).next_power_of_two();
    let Problem {
        element,
        factor,
        output,
        grouping,
        adds,
        ..
    } = *problem;
    let extents = [
        problem.matrices(),
        problem.rows,
        problem.columns,
        problem.inner,
        problem.groups,
    ];
    let unit = |strides: [usize; 2]| strides.map(|stride| stride == 1);
    format!(
        "{element} {factor} {output} {grouping:?} {adds} {:?} {:?} {:?} {}",
        extents.map(about),
        unit(problem.a_strides),
        unit(problem.b_strides),
        problem.gather.is_some(),
    )
}

/// The plan of a candidate, if the device can do it.
fn planned(device: &Device, problem: &Problem, way: Way) -> Result<Planned> {
    let of_tile = |tile| MatmulOptions {
        tile,
        ..MatmulOptions::default()
    };
    match way {
        Way::Planes(tile) => {
            let tile = of_size(tile, problem.element.size());
            Tiled::by_planes(device, problem, &of_tile(Some(tile))).map(Planned::Tiled)
        }
        Way::Units(tile) => {
            Tiled::by_units(device, problem, &of_tile(Some(tile))).map(Planned::Tiled)
        }
        Way::Usual => Tiled::by_units(device, problem, &of_tile(None)).map(Planned::Tiled),
        Way::Hopper(columns, share) => Planned::by_hopper_as(device, problem, |product| {
            hopper::form_of(product, columns, share)
        }),
    }
}

impl Inputs {
    /// The same with a result of its own, to which nothing was added.
    fn apart(&self) -> Self {
        let mut problem = (*self.problem).clone();
        let c = &problem.c;
        let handle = self.device.client().empty(c.handle.size() as usize);
        problem.c = TensorHandle {
            handle,
            metadata: c.metadata.clone(),
            dtype: c.dtype,
        };
        Self {
            problem: Arc::new(problem),
            ..self.clone()
        }
    }

    fn run(self, way: Way) -> core::result::Result<(), String> {
        let plan = planned(&self.device, &self.problem, way);
        let plan = plan.map_err(|refused| refused.to_string())?;
        launch(&self.device, &self.problem, &plan, &self.reports);
        Ok(())
    }
}
