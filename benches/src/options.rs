//! What a run measures.

use crate::collectives;
use crate::sorting;
use crate::timing::Schedule;
use crate::workload::{Data, Dtype, Op, TRIALS, Workload};
use cubecl::client::Client;
use girih::Bounds;
use girih::device::{Device, Target};

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
            ..options
        }
    }

    fn scaled(scale: &Scale) -> Self {
        let rows = scale.rows;
        let gather = Workload::gather(Dtype::F32, rows, COLUMNS);
        let mut workloads = vec![Workload::copy(scale.copied_rows, COLUMNS)];
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
        for data in [Data::Uniform, Data::Among(1024), Data::Among(16)] {
            workloads.push(Workload::scatter(Op::ScatterAdd, rows, COLUMNS, data));
        }
        workloads.push(Workload::scatter(
            Op::ScatterSet,
            rows,
            COLUMNS,
            Data::Uniform,
        ));
        for &length in scale.lengths {
            workloads.push(Workload::scan(length));
            if scale.rows > SMALL.rows {
                workloads.extend((0..TRIALS.len()).map(|trial| Workload::trial(trial, length)));
            }
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
        }
    }

    /// Only those whose name contains one of the filters; all, where there are none.
    pub fn only(mut self, filters: &[String]) -> Self {
        let wanted =
            |name: String| filters.is_empty() || filters.iter().any(|filter| name.contains(filter));
        self.plans.retain(|plan| wanted(plan.workload.name()));
        self.collectives.retain(|plan| wanted(plan.workload.name()));
        self.sorts.retain(|plan| wanted(plan.workload.name()));
        self
    }

    /// What will be measured, in this order.
    pub fn plans(&self) -> &[Plan] {
        &self.plans
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
        assert_eq!(all.clone().only(&[]), all);
        let chosen = all.clone().only(&["scatter_set".into(), "copy".into()]);
        let ops: Vec<_> = chosen.plans().iter().map(|p| p.workload.op).collect();
        assert_eq!(ops, [Op::Copy, Op::ScatterSet]);
        assert!(all.only(&["no such thing".into()]).plans().is_empty());
    }

    #[test]
    fn positions_in_a_table_are_32_bit() {
        for plan in Options::scaled(&LARGE).plans() {
            assert!(plan.workload.rows * plan.workload.columns < 1 << 32);
        }
    }
}
