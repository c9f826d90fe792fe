//! girih's ops and Burn's own for the same, both below fusion, on the device's clock.

use std::sync::Mutex;

use burn::backend::ops::{FloatTensorOps, IntTensorOps};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{FloatDType, IndexingUpdateOp, Shape, TensorData};
use girih_bench::{Schedule, Time, measure_launches};
use girih_burn::{Bounds, CubeBackend, IndexBackend, LookupBackend};
use girih_testkit::Rt;
use serde_json::{Value, json};

/// Elements of a row.
const COLUMNS: usize = 32;

/// What the ops are given, a power of two of rows: a table, rows to add, an index of rows, and one of the table's rank.
pub struct Inputs {
    rows: usize,
    table: FloatTensor<CubeBackend>,
    index: IntTensor<CubeBackend>,
    places: IntTensor<CubeBackend>,
    device: cubecl::Device,
}

/// An op on inputs.
pub type Run = fn(&Inputs) -> FloatTensor<CubeBackend>;
/// Where in the output, and which elements of the table it is the sum of.
pub type Expect = fn(rows: usize, at: usize) -> Vec<usize>;

/// An op, by girih and by Burn.
pub struct Rival {
    /// What is done, by Burn's name.
    pub op: &'static str,
    /// By girih.
    pub ours: Run,
    /// By Burn.
    pub theirs: Run,
    /// What both give.
    pub expect: Expect,
    /// Whether Burn's goes through all rows for each element of one.
    pub is_slow: bool,
}

/// The row that an index names.
fn row(rows: usize, at: usize) -> usize {
    // Each row once, in no order: an odd number times the place, of a power of two.
    at.wrapping_mul(0x9e37_79b1) % rows
}

/// The column that an index along rows names.
fn column(at: usize) -> usize {
    (at * 7 + at / COLUMNS) % COLUMNS
}

/// The element of the table at a position: whole numbers, whose sums are exact.
fn element(at: usize) -> f32 {
    (at % 251) as f32
}

fn zeros(of: &Inputs) -> FloatTensor<CubeBackend> {
    CubeBackend::float_zeros(Shape::from([of.rows, COLUMNS]), &of.device, FloatDType::F32)
}

/// Every op.
pub fn rivals() -> [Rival; 4] {
    [
        Rival {
            op: "select",
            ours: |of| {
                let (table, index) = (of.table.clone(), of.index.clone());
                CubeBackend::gather_float_alone(table, index, 0, Bounds::Mask.into())
            },
            theirs: |of| CubeBackend::float_select(of.table.clone(), 0, of.index.clone()),
            expect: |rows, at| vec![row(rows, at / COLUMNS) * COLUMNS + at % COLUMNS],
            is_slow: false,
        },
        Rival {
            op: "select_gradient",
            ours: |of| {
                let (updates, index) = (of.table.clone(), of.index.clone());
                CubeBackend::scatter_sum_float_alone(
                    updates,
                    index,
                    0,
                    of.rows,
                    Bounds::Mask.into(),
                )
            },
            theirs: |of| {
                let (index, updates) = (of.index.clone(), of.table.clone());
                let add = IndexingUpdateOp::Add;
                CubeBackend::float_select_assign(zeros(of), 0, index, updates, add)
            },
            expect: |rows, at| {
                let own = (0..rows).filter(|&from| row(rows, from) == at / COLUMNS);
                own.map(|from| from * COLUMNS + at % COLUMNS).collect()
            },
            is_slow: true,
        },
        Rival {
            op: "gather",
            ours: |of| {
                let (table, places) = (of.table.clone(), of.places.clone());
                CubeBackend::take_along_float_alone(table, places, 1, Bounds::Mask)
            },
            theirs: |of| CubeBackend::float_gather(1, of.table.clone(), of.places.clone()),
            expect: |_, at| vec![at / COLUMNS * COLUMNS + column(at)],
            is_slow: false,
        },
        Rival {
            op: "scatter_add",
            ours: |of| {
                let (updates, places) = (of.table.clone(), of.places.clone());
                CubeBackend::sum_along_float_alone(updates, places, 1, COLUMNS, Bounds::Mask)
            },
            theirs: |of| {
                let (places, updates) = (of.places.clone(), of.table.clone());
                CubeBackend::float_scatter(1, zeros(of), places, updates, IndexingUpdateOp::Add)
            },
            expect: |_, at| {
                let first = at / COLUMNS * COLUMNS;
                let own = (first..first + COLUMNS).filter(|&from| column(from) == at % COLUMNS);
                own.collect()
            },
            is_slow: false,
        },
    ]
}

impl Inputs {
    /// Inputs on a device.
    pub fn new(rt: &Rt, rows: usize) -> Self {
        let device = rt.device.clone();
        let table: Vec<f32> = (0..rows * COLUMNS).map(element).collect();
        let index: Vec<i32> = (0..rows).map(|at| row(rows, at) as i32).collect();
        let places: Vec<i32> = (0..rows * COLUMNS).map(|at| column(at) as i32).collect();
        let ints = |values: Vec<i32>, shape: &[usize]| {
            CubeBackend::int_from_data(TensorData::new(values, shape.to_vec()), &device)
        };
        Self {
            rows,
            table: CubeBackend::float_from_data(TensorData::new(table, [rows, COLUMNS]), &device),
            index: ints(index, &[rows]),
            places: ints(places, &[rows, COLUMNS]),
            device,
        }
    }
}

/// Times every op whose name contains one of the filters, by girih and by Burn, and prints a table of them; the names of
/// those that failed are the second.
pub(super) fn run(rt: &Rt, filters: &[String]) -> (Vec<Value>, Vec<String>) {
    let rows = 1 << 20;
    let name = |op: &str, peer: &str| format!("burn {op} f32 {rows}x{COLUMNS} by {peer}");
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|part| name.contains(part));
    let (mut measured, mut failed) = (vec![], vec![]);
    let mut inputs = None;
    for rival in rivals() {
        for (peer, call) in [("girih", rival.ours), ("burn", rival.theirs)] {
            let name = name(rival.op, peer);
            if !wanted(&name) {
                continue;
            }
            let inputs = inputs.get_or_insert_with(|| Inputs::new(rt, rows));
            let is_slow = rival.is_slow && peer == "burn";
            match measure(rt, inputs, call, rival.expect, is_slow) {
                Ok(time) => {
                    println!(
                        "{name:<48} {:>11.2} {:>11.2} {:>11.2}",
                        time.median_us, time.window_us, time.enqueue_us
                    );
                    measured.push(json!({
                        "peer": peer, "name": name, "op": format!("burn_{}", rival.op),
                        "dtype": "f32", "rows": rows, "columns": COLUMNS, "data": "uniform",
                        "median_us": time.median_us, "window_us": time.window_us, "enqueue_us": time.enqueue_us,
                        "clock": time.clock, "device": girih::device::Device::of(&rt.client).name(),
                    }));
                }
                Err(reason) => {
                    println!("{name:<48} FAILED: {reason}");
                    failed.push(name);
                }
            }
        }
    }
    (measured, failed)
}

fn measure(
    rt: &Rt,
    inputs: &Inputs,
    call: Run,
    expect: Expect,
    is_slow: bool,
) -> Result<Time, String> {
    let schedule = Schedule {
        warmup: 2,
        launches: if is_slow { 1 } else { 10 },
        windows: if is_slow { 1 } else { 3 },
    };
    let last = Mutex::new(call(inputs));
    let launch = |_| {
        *last.lock().unwrap_or_else(|held| held.into_inner()) = call(inputs);
        Ok(())
    };
    let time = measure_launches(&rt.client, launch, schedule).map_err(|error| error.to_string())?;
    let output = last.into_inner().unwrap_or_else(|held| held.into_inner());
    verify(inputs, output, expect)?;
    Ok(time)
}

/// Compares elements of an op's result with what is expected.
///
/// # Errors
///
/// Which element is another, or how the device failed.
pub fn verify(
    inputs: &Inputs,
    output: FloatTensor<CubeBackend>,
    expect: Expect,
) -> Result<(), String> {
    let data = burn::tensor::read_sync(CubeBackend::float_into_data(output))
        .map_err(|error| error.to_string())?;
    let found: Vec<f32> = data.iter::<f32>().collect();
    let step = (found.len() / 61).max(1);
    for at in (0..found.len()).step_by(step) {
        let want: f32 = expect(inputs.rows, at).into_iter().map(element).sum();
        if found[at] != want {
            return Err(format!("element {at} is {}, not {want}", found[at]));
        }
    }
    Ok(())
}
