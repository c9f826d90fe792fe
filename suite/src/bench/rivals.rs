//! girih's ops and Burn's own for the same, both below fusion, on the device's clock.

use std::sync::Mutex;

use burn::backend::ops::{FloatTensorOps, IntTensorOps, ModuleOps};
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::tensor::{FloatDType, IndexingUpdateOp, Shape, TensorData};
use girih_bench::{Schedule, Time, measure_launches};
use girih_burn::{Bounds, CubeBackend, IndexBackend, LookupBackend};
use girih_testkit::{DeviceKind, Rt};
use serde_json::{Value, json};

/// What an op is done to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Rows of the table.
    pub rows: usize,
    /// Elements of a row.
    pub columns: usize,
    /// Indices of rows, and rows to add.
    pub entries: usize,
}

/// What the ops are given: a table, rows to add, an index of rows, and two of the rank of those rows, along either axis.
pub struct Inputs {
    size: Size,
    table: FloatTensor<CubeBackend>,
    updates: FloatTensor<CubeBackend>,
    index: IntTensor<CubeBackend>,
    places: IntTensor<CubeBackend>,
    device: cubecl::Device,
}

/// An op on inputs.
pub type Run = fn(&Inputs) -> FloatTensor<CubeBackend>;
/// Where in the output, and which elements it is the sum of: of the table, or of the rows to add.
pub type Expect = fn(size: Size, at: usize) -> Vec<usize>;

/// An op, by girih and by Burn.
#[derive(Clone, Copy)]
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

/// The row that an index names: each as likely as any other.
fn row(rows: usize, at: usize) -> usize {
    let mut hash = (at as u32).wrapping_mul(0x9e37_79b1);
    hash ^= hash >> 15;
    hash = hash.wrapping_mul(0x85eb_ca77);
    hash ^= hash >> 13;
    ((u64::from(hash) * rows as u64) >> 32) as usize
}

/// The column that an index along rows names.
fn column(columns: usize, at: usize) -> usize {
    (at * 7 + at / columns) % columns
}

/// The element of the table, or of the rows to add, at a position: whole numbers, whose sums are exact.
fn element(at: usize) -> f32 {
    (at % 251) as f32
}

fn zeros(of: &Inputs) -> FloatTensor<CubeBackend> {
    let Size { rows, columns, .. } = of.size;
    CubeBackend::float_zeros(Shape::from([rows, columns]), &of.device, FloatDType::F32)
}

/// The rows to add that go to the row of a place, at its column.
fn added(size: Size, at: usize) -> Vec<usize> {
    let Size {
        rows,
        columns,
        entries,
    } = size;
    let own = (0..entries).filter(|&from| row(rows, from) == at / columns);
    own.map(|from| from * columns + at % columns).collect()
}

/// Rows by their numbers.
const SELECT: Rival = Rival {
    op: "select",
    ours: |of| {
        let (table, index) = (of.table.clone(), of.index.clone());
        CubeBackend::gather_float_alone(table, index, 0, Bounds::Mask.into())
    },
    theirs: |of| CubeBackend::float_select(of.table.clone(), 0, of.index.clone()),
    expect: |size, at| {
        let Size { rows, columns, .. } = size;
        vec![row(rows, at / columns) * columns + at % columns]
    },
    is_slow: false,
};

/// Rows added to those of a table of zeros.
const SELECT_GRADIENT: Rival = Rival {
    op: "select_gradient",
    ours: |of| {
        let (updates, index) = (of.updates.clone(), of.index.clone());
        let rows = of.size.rows;
        CubeBackend::scatter_sum_float_alone(updates, index, 0, rows, Bounds::Mask.into())
    },
    theirs: |of| {
        let (index, updates) = (of.index.clone(), of.updates.clone());
        let add = IndexingUpdateOp::Add;
        CubeBackend::float_select_assign(zeros(of), 0, index, updates, add)
    },
    expect: added,
    is_slow: true,
};

/// Elements by their columns.
const GATHER: Rival = Rival {
    op: "gather",
    ours: |of| {
        let (table, places) = (of.updates.clone(), of.places.clone());
        CubeBackend::take_along_float_alone(table, places, 1, Bounds::Mask)
    },
    theirs: |of| CubeBackend::float_gather(1, of.updates.clone(), of.places.clone()),
    expect: |size, at| vec![at / size.columns * size.columns + column(size.columns, at)],
    is_slow: false,
};

/// Elements added to the columns that they name.
const SCATTER_ADD: Rival = Rival {
    op: "scatter_add",
    ours: |of| {
        let (updates, places) = (of.updates.clone(), of.places.clone());
        CubeBackend::sum_along_float_alone(updates, places, 1, of.size.columns, Bounds::Mask)
    },
    theirs: |of| {
        let (places, updates) = (of.places.clone(), of.updates.clone());
        CubeBackend::float_scatter(1, zeros(of), places, updates, IndexingUpdateOp::Add)
    },
    expect: |size, at| {
        let columns = size.columns;
        let first = at / columns * columns;
        let own = (first..first + columns).filter(|&from| column(columns, from) == at % columns);
        own.collect()
    },
    is_slow: false,
};

/// Rows by their numbers, and the gradient of the table.
const EMBEDDING: Rival = Rival {
    op: "embedding forward+backward",
    ours: |of| {
        let taken = (SELECT.ours)(of);
        let gradient = (SELECT_GRADIENT.ours)(of);
        drop(taken);
        gradient
    },
    theirs: |of| {
        let Size {
            entries, columns, ..
        } = of.size;
        let index = CubeBackend::int_reshape(of.index.clone(), Shape::from([1, entries]));
        let shape = Shape::from([1, entries, columns]);
        let slopes = CubeBackend::float_reshape(of.updates.clone(), shape);
        let taken = CubeBackend::embedding(of.table.clone(), index.clone());
        let gradient = CubeBackend::embedding_backward(of.table.clone(), slopes, index);
        drop(taken);
        gradient
    },
    expect: added,
    is_slow: true,
};

/// Every op that criterion's benchmark has.
pub fn rivals() -> [Rival; 4] {
    [SELECT, SELECT_GRADIENT, GATHER, SCATTER_ADD]
}

impl Inputs {
    /// Inputs on a device: a table of so many rows of 32, and as many indices.
    pub fn new(rt: &Rt, rows: usize) -> Self {
        Self::of(rt, square(rows, 32))
    }

    fn of(rt: &Rt, size: Size) -> Self {
        let Size {
            rows,
            columns,
            entries,
        } = size;
        let device = rt.device.clone();
        let floats = |rows: usize| {
            let values: Vec<f32> = (0..rows * columns).map(element).collect();
            CubeBackend::float_from_data(TensorData::new(values, [rows, columns]), &device)
        };
        let ints = |values: Vec<i32>, shape: &[usize]| {
            CubeBackend::int_from_data(TensorData::new(values, shape.to_vec()), &device)
        };
        let index = (0..entries).map(|at| row(rows, at) as i32);
        let places = (0..entries * columns).map(|at| column(columns, at) as i32);
        Self {
            size,
            table: floats(rows),
            updates: floats(entries),
            index: ints(index.collect(), &[entries]),
            places: ints(places.collect(), &[entries, columns]),
            device,
        }
    }
}

/// As many indices as rows.
const fn square(rows: usize, columns: usize) -> Size {
    Size {
        rows,
        columns,
        entries: rows,
    }
}

/// An op at a size, as it is reported.
struct Subject {
    rival: Rival,
    size: Size,
    /// The op and the data, by the names that the same workload has elsewhere.
    op: String,
    data: String,
}

impl Subject {
    /// One that only this file has.
    fn of_burn(rival: Rival, size: Size) -> Self {
        Self {
            rival,
            size,
            op: format!("burn_{}", rival.op),
            data: "uniform".into(),
        }
    }

    /// One that girih's kernels and torch are measured by too.
    fn of_all(rival: Rival, op: &str, size: Size) -> Self {
        Self {
            rival,
            size,
            op: op.into(),
            data: format!("{} uniform", size.entries),
        }
    }

    fn name(&self, peer: &str) -> String {
        let Size {
            rows,
            columns,
            entries,
        } = self.size;
        let indices = match entries == rows {
            true => String::new(),
            false => format!(" {entries} indices"),
        };
        format!(
            "burn {} f32 {rows}x{columns}{indices} by {peer}",
            self.rival.op
        )
    }
}

/// The ops by size, so that inputs of one size are made once.
fn subjects(kind: DeviceKind) -> Vec<Subject> {
    let is_large = kind == DeviceKind::Cuda;
    let mut subjects: Vec<Subject> = rivals()
        .into_iter()
        .map(|rival| Subject::of_burn(rival, square(1 << 20, 32)))
        .collect();
    let scaled = |size: usize| if is_large { size } else { size >> 9 };
    let wide = square(scaled(1 << 20), 128);
    subjects.extend([
        Subject::of_burn(GATHER, wide),
        Subject::of_burn(SCATTER_ADD, wide),
        Subject::of_all(SELECT_GRADIENT, "select backward", wide),
        Subject::of_all(EMBEDDING, EMBEDDING.op, wide),
    ]);
    let words = Size {
        rows: scaled(50_000),
        columns: 256,
        entries: scaled(1 << 16),
    };
    subjects.push(Subject::of_all(EMBEDDING, EMBEDDING.op, words));
    subjects
}

/// Times every op whose name contains one of the filters, by girih and by Burn, and prints a table of them; the names of
/// those that failed are the second.
pub(super) fn run(rt: &Rt, filters: &[String]) -> (Vec<Value>, Vec<String>) {
    let wanted = |name: &str| filters.is_empty() || filters.iter().any(|part| name.contains(part));
    let (mut measured, mut failed) = (vec![], vec![]);
    let mut made: Option<Inputs> = None;
    for subject in subjects(rt.kind) {
        let rival = subject.rival;
        for (peer, call) in [("girih", rival.ours), ("burn", rival.theirs)] {
            let name = subject.name(peer);
            if !wanted(&name) {
                continue;
            }
            // Not both at once.
            made = made.filter(|inputs| inputs.size == subject.size);
            let inputs = made.get_or_insert_with(|| Inputs::of(rt, subject.size));
            let is_slow = rival.is_slow && peer == "burn";
            match measure(rt, inputs, call, rival.expect, is_slow) {
                Ok(time) => {
                    println!(
                        "{name:<64} {:>11.2} {:>11.2} {:>11.2}",
                        time.median_us, time.window_us, time.enqueue_us
                    );
                    measured.push(line(rt, &subject, peer, &time));
                }
                Err(reason) => {
                    println!("{name:<64} FAILED: {reason}");
                    failed.push(name);
                }
            }
        }
    }
    (measured, failed)
}

/// The line of JSON. girih's op on Burn's tensors says so, since its kernel alone has a line of the same workload.
fn line(rt: &Rt, subject: &Subject, peer: &str, time: &Time) -> Value {
    let mut line = json!({
        "peer": peer, "name": subject.name(peer), "op": subject.op, "dtype": "f32",
        "rows": subject.size.rows, "columns": subject.size.columns, "data": subject.data,
        "median_us": time.median_us, "window_us": time.window_us, "enqueue_us": time.enqueue_us,
        "clock": time.clock, "device": girih::device::Device::of(&rt.client).name(),
    });
    if peer == "girih" && !subject.op.starts_with("burn_") {
        line["way"] = "op".into();
    }
    line
}

fn measure(
    rt: &Rt,
    inputs: &Inputs,
    call: Run,
    expect: Expect,
    is_slow: bool,
) -> Result<Time, String> {
    let schedule = match is_slow {
        // Up to half a second each.
        true => Schedule {
            warmup: 1,
            launches: 3,
            windows: 1,
        },
        false => Schedule {
            warmup: 2,
            launches: 10,
            windows: 3,
        },
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
        let want: f32 = expect(inputs.size, at).into_iter().map(element).sum();
        if found[at] != want {
            return Err(format!("element {at} is {}, not {want}", found[at]));
        }
    }
    Ok(())
}
