//! girih's ops on Burn's tensors, and Burn's own, under load.

use burn::tensor::{Device, Int, Tensor, TensorData};
use girih_bench::host::{Call, POLICIES};
use girih_burn::{
    BagOptions, Bounds, Error, Grouping, Reduction, Scatter, Side, argsort, bincount, cummax,
    cumsum, embedding_bag, gather, histogram, paged_gather, scatter, scatter_sum, search_sorted,
    sort, sum_along_axis, take_along_axis, top_k, weighted_bincount,
};
use girih_testkit::Rt;

/// Calls of a burst: Burn's queue has 32 places, and a call takes up to four, for the op and for what is dropped.
const LAUNCHES: usize = 8;
/// Rows of tiny tensors, and elements of a row.
const TINY: [usize; 2] = [16, 16];

/// What the ops are given.
#[derive(Clone)]
struct Tiny {
    table: Tensor<2>,
    /// A number in range for each element of the table.
    numbers: Tensor<2, Int>,
    list: Tensor<1>,
    index: Tensor<1, Int>,
    /// Pages of four rows, the table of a sequence, and where it ends.
    pages: Tensor<3>,
    entries: Tensor<2, Int>,
    offsets: Tensor<1, Int>,
}

impl Tiny {
    fn new(device: &Device) -> Self {
        let [rows, columns] = TINY;
        let offsets = TensorData::new(vec![0, rows as i32], [2]);
        Self {
            table: Tensor::zeros(TINY, device),
            numbers: Tensor::zeros(TINY, device),
            list: Tensor::zeros([rows], device),
            index: Tensor::zeros([rows], device),
            pages: Tensor::zeros([4, 4, columns], device),
            entries: Tensor::zeros([1, 4], device),
            offsets: Tensor::from_data(offsets, device),
        }
    }
}

/// An op on tiny tensors.
type Op = fn(&Tiny) -> Result<(), Error>;

/// Calls on tiny tensors: girih's ops with and without autodiff, and Burn's `select` to hold them against.
pub fn calls(rt: &Rt) -> Vec<Call<'static>> {
    let device = Device::new(rt.device.clone());
    let tiny = Tiny::new(&device);
    let mut calls: Vec<Call<'static>> = POLICIES
        .into_iter()
        .map(|bounds| gathers("burn", &tiny.table, &tiny.index, bounds))
        .collect();
    let tracked = Tensor::zeros(TINY, &device.clone().autodiff()).require_grad();
    calls.push(gathers(
        "burn autodiff",
        &tracked,
        &tiny.index,
        Bounds::Mask,
    ));
    for (name, op) in under_mask() {
        calls.push(on(&tiny, name, "burn", Some(Bounds::Mask), op));
    }
    for (name, op) in without_bounds() {
        calls.push(on(&tiny, name, "burn", None, op));
    }
    for (name, op) in own() {
        calls.push(on(&tiny, name, "burn's own", None, op));
    }
    let in_bursts = |call: Call<'static>| {
        let device = device.clone();
        // What fusion has queued is not known to the client.
        call.in_bursts(LAUNCHES, move || {
            device.sync().map_err(|error| error.to_string())
        })
    };
    calls.into_iter().map(in_bursts).collect()
}

fn on(
    tiny: &Tiny,
    name: &'static str,
    way: &'static str,
    bounds: Option<Bounds>,
    op: Op,
) -> Call<'static> {
    let tiny = tiny.clone();
    Call::new(name, way, bounds, move || {
        op(&tiny).map_err(|error| error.to_string())
    })
}

/// girih's gather.
fn gathers(
    way: &'static str,
    table: &Tensor<2>,
    index: &Tensor<1, Int>,
    bounds: Bounds,
) -> Call<'static> {
    let (table, index) = (table.clone(), index.clone());
    Call::new("gather", way, Some(bounds), move || {
        gather(table.clone(), 0, index.clone(), bounds)
            .map(drop)
            .map_err(|error| error.to_string())
    })
}

/// girih's other ops whose indices may be out of range.
fn under_mask() -> [(&'static str, Op); 5] {
    const MASK: Bounds = Bounds::Mask;
    [
        ("scatter", |of| {
            let (target, updates) = (of.table.clone(), of.table.clone());
            scatter(target, 0, of.index.clone(), updates, Scatter::Add, MASK).map(drop)
        }),
        ("scatter_sum", |of| {
            scatter_sum(of.table.clone(), 0, of.index.clone(), TINY[0], MASK).map(drop)
        }),
        ("take_along_axis", |of| {
            take_along_axis(of.table.clone(), 0, of.numbers.clone(), MASK).map(drop)
        }),
        ("sum_along_axis", |of| {
            sum_along_axis(of.table.clone(), 0, of.numbers.clone(), TINY[0], MASK).map(drop)
        }),
        ("paged_gather", |of| {
            let (pages, entries) = (of.pages.clone(), of.entries.clone());
            paged_gather::<3, 2, _>(pages, entries, of.offsets.clone(), TINY[0], MASK).map(drop)
        }),
    ]
}

/// Those that have none.
fn without_bounds() -> [(&'static str, Op); 10] {
    [
        ("cumsum", |of| cumsum(of.list.clone(), 0).map(drop)),
        ("cummax rows", |of| cummax(of.numbers.clone(), 1).map(drop)),
        ("sort", |of| sort(of.list.clone(), 0, false).map(drop)),
        ("argsort", |of| argsort(of.list.clone(), 0, false).map(drop)),
        ("top_k", |of| top_k(of.list.clone(), 0, 4, true).map(drop)),
        ("search_sorted", |of| {
            search_sorted(of.list.clone(), of.list.clone(), Side::Left).map(drop)
        }),
        ("bincount", |of| bincount(of.index.clone(), 256).map(drop)),
        ("weighted_bincount", |of| {
            weighted_bincount(of.index.clone(), of.list.clone(), 256).map(drop)
        }),
        ("histogram", |of| {
            histogram(of.list.clone(), 64, [-1.0, 1.0]).map(drop)
        }),
        ("embedding_bag", |of| {
            let options = BagOptions::new(Reduction::Sum);
            let grouping = Grouping::Length(4);
            embedding_bag(of.table.clone(), of.index.clone(), grouping, options).map(drop)
        }),
    ]
}

/// Burn's.
fn own() -> [(&'static str, Op); 2] {
    [
        ("select", |of| {
            drop(of.table.clone().select(0, of.index.clone()));
            Ok(())
        }),
        ("gather", |of| {
            drop(of.table.clone().gather(0, of.numbers.clone()));
            Ok(())
        }),
    ]
}
