//! Benchmarks of girih: gather and scatter beside the device's own copy, the [`collectives`] of groups, [`sorting`], and [`products`] of matrices.
//!
//! [`run`] times every [`Workload`] of [`Options`] and every collective on one device, checks what was written, and prints a table as it
//! goes. A [`Measurement`] is one line of JSON; the peers (`benches/peers`) write lines with the same fields, so that
//! both sides of one workload can be set beside each other. `benches/results/README.md` says what the fields mean.
#![deny(missing_docs)]

pub mod bags;
mod buffers;
pub mod collectives;
mod data;
mod dtype;
mod error;
pub mod gathered_product;
pub mod host;
pub mod lookups;
mod measurement;
mod options;
mod prepared;
pub mod products;
mod random;
mod relative_error;
pub mod sorting;
pub mod sparse;
pub mod tensor_cores;
mod timing;
mod verify;
mod workload;

pub use dtype::Dtype;
pub use error::{Error, Result};
pub use measurement::Measurement;
pub use options::{Options, Plan};
pub use prepared::Prepared;
pub use timing::{Clock, Schedule, Time, measure_launches};
pub use workload::{Data, Op, Way, Workload};

use cubecl::client::Client;

/// What a run gave.
#[derive(Debug, Default)]
pub struct Run {
    /// What was measured, and whose output was right.
    pub measured: Vec<Measurement>,
    /// The collectives that were measured, and were right.
    pub collectives: Vec<collectives::Measurement>,
    /// The sorts that were measured, and were right.
    pub sorts: Vec<sorting::Measurement>,
    /// The products that were measured, and were right.
    pub products: Vec<products::Measurement>,
    /// The segments and bags that were measured, and were right.
    pub bags: Vec<bags::Measurement>,
    /// The lookups that were measured, and were right.
    pub lookups: Vec<lookups::Measurement>,
    /// The gradients of few rows that were measured, and were right.
    pub sparse: Vec<sparse::Measurement>,
    /// The products of gathered rows that were measured, and were right.
    pub gathered_products: Vec<gathered_product::Measurement>,
    /// What calls cost the host.
    pub host: Vec<host::Measurement>,
    /// The products by tensor cores that were measured, and were right.
    pub tensor_cores: Vec<tensor_cores::Measurement>,
    /// What the device cannot do: the workload's name, and what is lacking.
    pub left_out: Vec<(String, girih::Error)>,
    /// What went wrong: the workload's name, and how. It has no number.
    pub failed: Vec<(String, Error)>,
}

impl Run {
    /// Whether the device does a workload; one that it does not is left out, and its line says why.
    fn does(&mut self, name: &str, width: usize, supported: girih::Result<()>) -> bool {
        match supported {
            Ok(()) => true,
            Err(lacking) => {
                println!("{name:<width$} left out: {lacking}");
                self.left_out.push((name.to_owned(), lacking));
                false
            }
        }
    }

    /// A measurement and its line in the table, or the line of what went wrong.
    fn taken<M>(
        &mut self,
        name: String,
        width: usize,
        taken: Result<M>,
        row: fn(&M) -> String,
    ) -> Option<M> {
        match taken {
            Ok(measurement) => {
                println!("{}", row(&measurement));
                Some(measurement)
            }
            Err(error) => {
                println!("{name:<width$} FAILED: {error}");
                self.failed.push((name, error));
                None
            }
        }
    }
}

/// Times the workloads of `options` one after another, and prints a table of them on standard output, and under it what
/// reports cost.
///
/// A workload that fails does not keep the others from being measured.
pub fn run(client: &Client, options: &Options) -> Run {
    let mut run = Run::default();
    println!("{}", Measurement::header(client));
    for Plan { workload, schedule } in options.plans() {
        let name = workload.name();
        if run.does(&name, 42, workload.supported(client)) {
            let taken = Measurement::take(client, workload, *schedule);
            let kept = run.taken(name, 42, taken, Measurement::row);
            run.measured.extend(kept);
        }
    }
    for line in Measurement::costs_of_reports(&run.measured)
        .into_iter()
        .chain(Measurement::parts_of_copies(&run.measured))
    {
        println!("{line}");
    }
    run_lookups(client, options, &mut run);
    run_collectives(client, options, &mut run);
    run_sorts(client, options, &mut run);
    run_products(client, options, &mut run);
    run_tensor_cores(client, options, &mut run);
    run_bags(client, options, &mut run);
    run_sparse(client, options, &mut run);
    run_gathered_products(client, options, &mut run);
    run
}

/// The same of the collectives.
fn run_collectives(client: &Client, options: &Options, run: &mut Run) {
    use collectives::{Measurement, Plan};
    if options.collectives().is_empty() {
        return;
    }
    println!("{}", Measurement::header());
    for Plan { workload, schedule } in options.collectives() {
        let name = workload.name();
        if run.does(&name, 54, workload.supported(client)) {
            let taken = Measurement::take(client, workload, *schedule);
            let kept = run.taken(name, 54, taken, Measurement::row);
            run.collectives.extend(kept);
        }
    }
}

/// The same of the lookups.
fn run_lookups(client: &Client, options: &Options, run: &mut Run) {
    use lookups::{Measurement, Plan};
    if options.lookups().is_empty() {
        return;
    }
    println!("{}", Measurement::header());
    for Plan { workload, schedule } in options.lookups() {
        let name = workload.name();
        if run.does(&name, 42, workload.supported(client)) {
            let taken = Measurement::take(client, workload, *schedule);
            let kept = run.taken(name, 42, taken, Measurement::row);
            run.lookups.extend(kept);
        }
    }
}

/// The same of the sorts.
fn run_sorts(client: &Client, options: &Options, run: &mut Run) {
    use sorting::{Measurement, Plan};
    if options.sorts().is_empty() {
        return;
    }
    println!("{}", Measurement::header());
    for Plan { workload, schedule } in options.sorts() {
        let taken = Measurement::take(client, workload, *schedule);
        let kept = run.taken(workload.name(), 42, taken, Measurement::row);
        run.sorts.extend(kept);
    }
}

/// The same of the products.
fn run_products(client: &Client, options: &Options, run: &mut Run) {
    use products::{Measurement, Plan};
    if options.products().is_empty() {
        return;
    }
    println!("{}", Measurement::header());
    for Plan { workload, schedule } in options.products() {
        let taken = Measurement::take(client, workload, *schedule);
        let kept = run.taken(workload.name(), 56, taken, Measurement::row);
        run.products.extend(kept);
    }
}

/// The same of segments and bags.
fn run_bags(client: &Client, options: &Options, run: &mut Run) {
    use bags::{Measurement, Plan};
    if options.bags().is_empty() {
        return;
    }
    println!("{}", Measurement::header());
    for Plan { workload, schedule } in options.bags() {
        let name = workload.name();
        if run.does(&name, 72, workload.supported(client)) {
            let taken = Measurement::take(client, workload, *schedule);
            let kept = run.taken(name, 72, taken, Measurement::row);
            run.bags.extend(kept);
        }
    }
}

/// The same of gradients of few rows.
fn run_sparse(client: &Client, options: &Options, run: &mut Run) {
    use sparse::{Measurement, Plan};
    if options.sparse().is_empty() {
        return;
    }
    println!("{}", Measurement::header());
    for Plan { workload, schedule } in options.sparse() {
        let name = workload.name();
        if run.does(&name, 56, workload.supported(client)) {
            let taken = Measurement::take(client, workload, *schedule);
            let kept = run.taken(name, 56, taken, Measurement::row);
            run.sparse.extend(kept);
        }
    }
}

/// The same of products of gathered rows.
fn run_gathered_products(client: &Client, options: &Options, run: &mut Run) {
    use gathered_product::{Measurement, Plan};
    for Plan { workload, schedule } in options.gathered_products() {
        let name = workload.name();
        if run.does(&name, 56, workload.supported(client)) {
            let taken = Measurement::take(client, workload, *schedule);
            let kept = run.taken(name, 56, taken, Measurement::row);
            run.gathered_products.extend(kept);
        }
    }
}

/// The same of products by tensor cores.
fn run_tensor_cores(client: &Client, options: &Options, run: &mut Run) {
    use tensor_cores::Measurement;
    for workload in options.tensor_cores() {
        let taken = Measurement::take(client, workload);
        let kept = run.taken(workload.name(), 64, taken, Measurement::row);
        run.tensor_cores.extend(kept);
    }
}
