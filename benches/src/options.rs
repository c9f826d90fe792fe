//! What a run measures.

use crate::bags;
use crate::collectives;
use crate::dtype::Dtype;
use crate::gathered_product;
use crate::lookups;
use crate::products;
use crate::sorting;
use crate::sparse;
use crate::tensor_cores;
use crate::timing::Schedule;
use crate::workload::{Data, Op, Way, Workload};
use cubecl::client::Client;
use girih::Bounds;
use girih::device::{Device, Target};
use girih_kernels::raw::scan::Pipeline;
use girih_kernels::{Duplicates, ScatterPath};

/// Elements of a row, where the workload does not vary them.
const COLUMNS: usize = 128;

/// A workload, and how often it is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What is measured.
    pub workload: Workload,
    /// How often.
    pub schedule: Schedule,
}

/// The workloads of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    plans: Vec<Plan>,
    collectives: Vec<collectives::Plan>,
    sorts: Vec<sorting::Plan>,
    products: Vec<products::Plan>,
    tensor_cores: Vec<tensor_cores::Workload>,
    bags: Vec<bags::Plan>,
    lookups: Vec<lookups::Plan>,
    sparse: Vec<sparse::Plan>,
    gathered_products: Vec<gathered_product::Plan>,
}

/// How much a device can be asked for.
struct Scale {
    rows: usize,
    copied_rows: usize,
    widest_row: usize,
    schedule: Schedule,
    launches_of_few_rows: usize,
    /// Elements of lists that are scanned.
    lengths: &'static [usize],
    /// Planes, vectors, places, cubes and planes that combine of the pipelines that scan them.
    pipelines: &'static [[usize; 5]],
    /// Bytes of rows that are copied, as many as are gathered.
    copied_widths: &'static [usize],
    /// Bytes of rows that are gathered by bulk copies, and how many rows a cube has.
    bulk: &'static [(usize, &'static [usize])],
}

/// Fills the memory of a data centre's GPU past its caches.
const LARGE: Scale = Scale {
    rows: 1 << 20,
    copied_rows: 1 << 21,
    widest_row: 4096,
    schedule: Schedule {
        warmup: 6,
        launches: 30,
        windows: 3,
    },
    launches_of_few_rows: 1000,
    lengths: &[1 << 20, 1 << 24, 1 << 28],
    pipelines: &[
        [8, 8, 6, 1, 2],
        [8, 8, 7, 1, 2],
        [8, 8, 5, 1, 2],
        [8, 8, 4, 1, 2],
        [8, 8, 6, 1, 4],
        [16, 4, 6, 1, 4],
        [8, 8, 3, 2, 2],
        [8, 4, 12, 1, 4],
        [8, 4, 6, 2, 2],
        [8, 4, 4, 3, 2],
        [4, 8, 6, 2, 2],
        [8, 2, 12, 2, 2],
        [8, 2, 8, 3, 2],
        [16, 8, 3, 1, 4],
    ],
    copied_widths: &[64, 128, 256, 512, 1024, 2048, 4096],
    bulk: &[
        (512, &[8, 16, 32]),
        (1024, &[8, 16, 32]),
        (2048, &[4, 8, 16]),
        (4096, &[4, 8]),
    ],
};

/// Done within a minute on the host's cores, a software driver of Vulkan included.
const SMALL: Scale = Scale {
    rows: 1 << 14,
    copied_rows: 1 << 15,
    widest_row: 512,
    schedule: Schedule {
        warmup: 2,
        launches: 10,
        windows: 3,
    },
    launches_of_few_rows: 20,
    lengths: &[1 << 20],
    pipelines: &[],
    copied_widths: &[512],
    bulk: &[],
};

impl Options {
    /// The workloads that suit a device: large ones on CUDA, small ones elsewhere.
    pub fn of(client: &Client) -> Self {
        let options = match Device::of(client).target() {
            Target::Cuda => Self::scaled(&LARGE),
            _ => Self::scaled(&SMALL),
        };
        Self {
            collectives: collectives::plans(client),
            sorts: sorting::plans(client),
            products: products::plans(client),
            tensor_cores: tensor_cores::workloads(client),
            bags: bags::plans(client),
            lookups: lookups::plans(client),
            sparse: sparse::plans(client),
            gathered_products: gathered_product::plans(client),
            ..options
        }
    }

    fn scaled(scale: &Scale) -> Self {
        let rows = scale.rows;
        let gather = Workload::gather(Dtype::F32, rows, COLUMNS);
        let mut workloads = vec![Workload::copy(scale.copied_rows, COLUMNS)];
        // What a gather of as wide rows may be held against.
        for width in scale.copied_widths {
            workloads.push(Workload::copy(rows, width / Dtype::F32.size()));
        }
        for dtype in [Dtype::F32, Dtype::Bf16] {
            let widths = (6..=12).map(|log| 1 << log);
            for width in widths.filter(|width| *width <= scale.widest_row) {
                let of_width = Workload::gather(dtype, rows, width / dtype.size());
                workloads.push(of_width);
                if of_width == gather {
                    // Side by side, so that what the report costs is not what the device has heated up in between.
                    workloads.push(gather.under(Bounds::Report));
                }
            }
        }
        for (width, cubes) in scale.bulk {
            let columns = width / Dtype::F32.size();
            let of_width = Workload::gather(Dtype::F32, rows, columns);
            workloads.extend(cubes.iter().map(|rows| of_width.bulk(*rows)));
        }
        // As many rows as a product with a one-hot matrix can be asked for.
        for dtype in [Dtype::F32, Dtype::Bf16] {
            workloads.push(Workload::gather(dtype, 8192, COLUMNS));
        }
        workloads.extend(scatters(rows));
        for &length in scale.lengths {
            let scan = Workload::scan(length);
            workloads.push(scan);
            workloads.extend(scale.pipelines.iter().map(
                |&[planes, vectors, stages, cubes, reducers]| {
                    scan.pipelined(Pipeline {
                        planes,
                        vectors,
                        stages,
                        cubes,
                        reducers,
                    })
                },
            ));
            for op in [Op::Nonzero, Op::MaskedSelect] {
                workloads.push(Workload::compaction(op, length));
            }
        }
        let schedule = scale.schedule;
        let large = workloads
            .into_iter()
            .map(|workload| Plan { workload, schedule });

        // So few rows that the host's work is what a launch costs.
        let few = Workload::gather(Dtype::F32, 1024, COLUMNS);
        let policies = [
            Bounds::Assume,
            Bounds::Mask,
            Bounds::Clamp,
            Bounds::Wrap,
            Bounds::Report,
        ];
        let small = policies.map(|bounds| Plan {
            workload: few.under(bounds),
            schedule: Schedule {
                launches: scale.launches_of_few_rows,
                ..schedule
            },
        });
        Self {
            plans: large.chain(small).collect(),
            collectives: vec![],
            sorts: vec![],
            products: vec![],
            tensor_cores: vec![],
            bags: vec![],
            lookups: vec![],
            sparse: vec![],
            gathered_products: vec![],
        }
    }

    /// Only those whose name contains one of the filters; all, where there are none.
    pub fn only(mut self, filters: &[String]) -> Self {
        let wanted =
            |name: String| filters.is_empty() || filters.iter().any(|filter| name.contains(filter));
        // Trials, which have to be asked for: where one by bulk copies fails it takes the device with it.
        let asked = |word| filters.iter().any(|filter: &String| filter.contains(word));
        let bulk = asked("bulk");
        let pipelined = asked("scan") || asked("pipelined");
        self.plans.retain(|plan| match plan.workload.way {
            Way::Launcher => true,
            Way::Bulk(_) => bulk,
            Way::Path(_) => bulk || asked("by "),
            Way::Pipelined(_) => pipelined,
        });
        self.plans.retain(|plan| wanted(plan.workload.name()));
        self.collectives.retain(|plan| wanted(plan.workload.name()));
        let tiles = filters.iter().any(|filter| filter.contains("tiles"));
        self.sorts
            .retain(|plan| tiles || plan.workload.trial.is_none());
        self.sorts.retain(|plan| wanted(plan.workload.name()));
        self.products.retain(|plan| wanted(plan.workload.name()));
        self.tensor_cores.retain(|workload| wanted(workload.name()));
        self.bags.retain(|plan| wanted(plan.workload.name()));
        self.lookups.retain(|plan| wanted(plan.workload.name()));
        self.sparse.retain(|plan| wanted(plan.workload.name()));
        self.gathered_products
            .retain(|plan| wanted(plan.workload.name()));
        self
    }

    /// What will be measured, in this order.
    pub fn plans(&self) -> &[Plan] {
        &self.plans
    }

    /// Which products will be measured, after the sorts.
    pub fn products(&self) -> &[products::Plan] {
        &self.products
    }

    /// Which segments and bags will be measured, after the sorts.
    pub fn bags(&self) -> &[bags::Plan] {
        &self.bags
    }

    /// Which products by tensor cores will be measured, last of all.
    pub fn tensor_cores(&self) -> &[tensor_cores::Workload] {
        &self.tensor_cores
    }

    /// Which gradients of few rows will be measured, after segments and bags.
    pub fn sparse(&self) -> &[sparse::Plan] {
        &self.sparse
    }

    /// Which products of gathered rows will be measured, after those.
    pub fn gathered_products(&self) -> &[gathered_product::Plan] {
        &self.gathered_products
    }

    /// Which lookups will be measured, after the plans.
    pub fn lookups(&self) -> &[lookups::Plan] {
        &self.lookups
    }

    /// Which sorts will be measured, after the collectives.
    pub fn sorts(&self) -> &[sorting::Plan] {
        &self.sorts
    }

    /// Which collectives will be measured, after those.
    pub fn collectives(&self) -> &[collectives::Plan] {
        &self.collectives
    }
}

/// Where the rows of a scatter go, from spread to contended.
const SPREADS: [Data; 7] = [
    Data::Uniform,
    Data::Sorted,
    Data::Zipf,
    Data::TenthInOne,
    Data::Among(1024),
    Data::Among(16),
    Data::Among(1),
];

/// Scatters of so many rows: by the launcher's choice and by each path, one after another.
fn scatters(rows: usize) -> Vec<Workload> {
    let mut workloads = vec![];
    for data in SPREADS {
        let add = Workload::scatter(Op::ScatterAdd, rows, COLUMNS, data);
        workloads.push(add);
        workloads.push(add.by(ScatterPath::Atomic));
        if matches!(data, Data::Among(few) if few <= 16) {
            workloads.push(add.by(ScatterPath::Combined));
        }
        workloads.push(add.promising(Duplicates::Deterministic));
    }
    for data in [Data::Uniform, Data::Zipf, Data::Among(1)] {
        let add = Workload::scatter(Op::ScatterAdd, rows, COLUMNS, data).of(Dtype::Bf16);
        workloads.extend([
            add,
            add.by(ScatterPath::Atomic),
            add.promising(Duplicates::Deterministic),
        ]);
        let elements = Workload::scatter(Op::ScatterAdd, rows, 1, data);
        workloads.extend([elements, elements.by(ScatterPath::Atomic)]);
    }
    let set = Workload::scatter(Op::ScatterSet, rows, COLUMNS, Data::Uniform);
    workloads.extend([set, set.promising(Duplicates::LastWins)]);
    workloads
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_workload_has_a_name_of_its_own() {
        for scale in [&LARGE, &SMALL] {
            let options = Options::scaled(scale);
            let names: HashSet<_> = options.plans().iter().map(|p| p.workload.name()).collect();
            assert_eq!(names.len(), options.plans().len());
        }
    }

    #[test]
    fn filters_choose_by_name() {
        let all = Options::scaled(&LARGE);
        let usual = all.clone().only(&[]);
        assert!(
            usual
                .plans()
                .iter()
                .all(|p| p.workload.way == Way::Launcher)
        );
        let trials = all.clone().only(&["bulk".into()]);
        assert!(
            trials
                .plans()
                .iter()
                .all(|p| p.workload.way != Way::Launcher)
        );
        assert!(!trials.plans().is_empty());
        let scans = all.clone().only(&["scan".into()]);
        let staying = |plan: &&Plan| matches!(plan.workload.way, Way::Pipelined(_));
        assert!(scans.plans().iter().all(|p| p.workload.op == Op::Scan));
        assert_eq!(
            scans.plans().iter().filter(staying).count(),
            LARGE.pipelines.len() * LARGE.lengths.len()
        );
        let chosen = all.clone().only(&["scatter_set".into(), "copy".into()]);
        let ops: Vec<_> = chosen.plans().iter().map(|p| p.workload.op).collect();
        assert!(ops.contains(&Op::Copy) && ops.contains(&Op::ScatterSet));
        assert!(ops.iter().all(|op| matches!(op, Op::Copy | Op::ScatterSet)));
        assert!(all.only(&["no such thing".into()]).plans().is_empty());
    }

    #[test]
    fn positions_in_a_table_are_32_bit() {
        for plan in Options::scaled(&LARGE).plans() {
            assert!(plan.workload.rows * plan.workload.columns < 1 << 32);
        }
    }
}
