//! The tile that is fastest for a class of shapes, found by CubeCL's autotuner.

use super::launch::{Reports, launch};
use super::plan::{OF_PLANES, TILES, Tiled, of_size};
use super::problem::Problem;
use super::{MatmulOptions, MatmulPath, MatmulTile};
use cubecl::std::tensor::TensorHandle;
use cubecl::tune::{LocalTuner, Tunable, TunableSet, local_tuner};
use girih::device::Device;
use std::sync::Arc;

/// What a candidate is run on.
#[derive(Clone)]
struct Inputs {
    device: Device,
    problem: Arc<Problem>,
    reports: Arc<Reports>,
}

static TUNER: LocalTuner<String, String> = local_tuner!();

/// Computes a problem with elements by the tile that is fastest for its class: measured at the class's first call, which
/// waits for the device, and remembered then.
pub(crate) fn launch_fastest(device: &Device, problem: &Problem, reports: Reports) {
    let id = device.name();
    let inputs = Inputs {
        device: device.clone(),
        problem: Arc::new(problem.clone()),
        reports: Arc::new(reports),
    };
    let set = TUNER.init(&id, candidates);
    TUNER.execute(&id, device.client(), set, inputs);
}

fn candidates() -> TunableSet<String, Inputs, ()> {
    let mut set = TunableSet::new(class, |_: &String, inputs: &Inputs| inputs.apart());
    let by_planes = OF_PLANES.map(|tile| (MatmulPath::TensorCores, tile));
    let by_units = TILES.map(|tile| (MatmulPath::Portable, tile));
    for (path, tile) in by_planes.into_iter().chain(by_units) {
        let name = format!("{path:?} {tile:?}");
        let run = move |inputs: Inputs| inputs.run(path, tile);
        set = set.with(Tunable::new(&name, run));
    }
    // What suits where nothing of these fits: a CPU has few units.
    let usual = |inputs: Inputs| {
        let options = MatmulOptions::default();
        let plan = Tiled::by_units(&inputs.device, &inputs.problem, &options);
        inputs.launch(plan)
    };
    set.with(Tunable::new("usual", usual))
}

/// What problems have in common that one tile suits: types, how operands lie, and extents up to a power of two.
fn class(inputs: &Inputs) -> String {
    let problem = &inputs.problem;
    let about = |extent: usize| extent.max(1).next_power_of_two();
    let Problem {
        element,
        factor,
        output,
        grouping,
        adds,
        ..
    } = **problem;
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

    fn run(self, path: MatmulPath, tile: MatmulTile) -> Result<(), String> {
        let tile = match path {
            MatmulPath::TensorCores => of_size(tile, self.problem.element.size()),
            _ => tile,
        };
        let options = MatmulOptions {
            tile: Some(tile),
            ..Default::default()
        };
        let plan = match path {
            MatmulPath::TensorCores => Tiled::by_planes(&self.device, &self.problem, &options),
            _ => Tiled::by_units(&self.device, &self.problem, &options),
        };
        self.launch(plan)
    }

    fn launch(self, plan: girih::Result<Tiled>) -> Result<(), String> {
        let plan = plan.map_err(|refused| refused.to_string())?;
        launch(&self.device, &self.problem, &plan, &self.reports);
        Ok(())
    }
}
