//! Measurements as they lie in files: one JSON object a line.

use std::path::{Path, PathBuf};

use serde_json::Value;

/// What two measurements share that may be set beside each other.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Workload {
    pub op: String,
    pub dtype: String,
    pub rows: u64,
    pub columns: u64,
    pub data: String,
}

/// One measurement.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub peer: String,
    /// The workload in words, where the line has them.
    pub name: String,
    pub workload: Workload,
    /// Bytes read and written, where that is known.
    pub bytes: Option<f64>,
    /// Mean in a window of launches.
    pub window_us: f64,
    /// Median of single launches.
    pub median_us: f64,
    /// Whether it is the usual call: masked, and as the launcher does it.
    pub usual: bool,
    /// What a line of another run has too: everything but times and rates.
    subject: String,
}

impl Line {
    /// The measurement of a line of text, if it is one of a workload.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(text.trim()).ok()?;
        let word = |field: &str| value[field].as_str().map(str::to_owned);
        let peer = word("peer")?;
        let bounds = word("bounds");
        let own_way = peer != "girih" || value["way"].is_null();
        Some(Self {
            workload: Workload {
                op: word("op")?,
                dtype: word("dtype")?,
                rows: value["rows"].as_u64()?,
                columns: value["columns"].as_u64()?,
                data: word("data")?,
            },
            name: word("name").unwrap_or_default(),
            bytes: value["bytes"].as_f64(),
            window_us: value["window_us"].as_f64()?,
            median_us: value["median_us"].as_f64()?,
            usual: own_way && bounds.is_none_or(|bounds| bounds == "mask" || bounds == "none"),
            subject: subject(&value),
            peer,
        })
    }

    /// Bytes a second, in 10^9, by the window.
    pub(super) fn gb_per_s(&self) -> Option<f64> {
        Some(self.bytes? / self.window_us / 1e3)
    }

    /// Bytes of a row.
    pub(super) fn row_bytes(&self) -> Option<u64> {
        let size = match self.workload.dtype.as_str() {
            "f64" | "i64" | "u64" => 8,
            "f32" | "i32" | "u32" => 4,
            "bf16" | "f16" => 2,
            "i8" | "u8" => 1,
            _ => return None,
        };
        Some(size * self.workload.columns)
    }
}

/// The fields that are no times or rates, in their order.
fn subject(value: &Value) -> String {
    let fields = value.as_object().into_iter().flatten();
    let is_time = |field: &str| field.ends_with("_us") || field.contains("_per_");
    let rest = fields.filter(|(field, _)| !is_time(field));
    rest.map(|(field, value)| format!("{field}={value};"))
        .collect()
}

/// The measurements of every `*.jsonl` and `*.log` of a folder, in the order of their names; where runs lie in folders `run-*` of
/// it, what several have is their median.
pub(super) fn read(folder: &Path) -> Result<Vec<Line>, String> {
    let is_run = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        path.is_dir() && name.is_some_and(|name| name.starts_with("run-"))
    };
    let mut runs = vec![read_run(folder)?];
    for run in entries(folder)?.into_iter().filter(is_run) {
        runs.push(read_run(&run)?);
    }
    runs.retain(|run| !run.is_empty());
    Ok(match runs.len() {
        0 | 1 => runs.pop().unwrap_or_default(),
        _ => medians(runs),
    })
}

/// What lies in a folder, in the order of the names.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let said = |error: std::io::Error| format!("{}: {error}", folder.display());
    let paths = std::fs::read_dir(folder)
        .map_err(said)?
        .map(|entry| Ok(entry.map_err(said)?.path()));
    let mut paths = paths.collect::<Result<Vec<_>, String>>()?;
    paths.sort();
    Ok(paths)
}

/// The measurements of one folder's files.
fn read_run(folder: &Path) -> Result<Vec<Line>, String> {
    let mut lines = vec![];
    for file in entries(folder)? {
        let kind = file.extension().and_then(|kind| kind.to_str());
        if !file.is_file() || !matches!(kind, Some("jsonl" | "log")) {
            continue;
        }
        let bytes = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        lines.extend(
            String::from_utf8_lossy(&bytes)
                .lines()
                .filter_map(Line::parse),
        );
    }
    Ok(lines)
}

/// One line for each subject, with the median of its times.
fn medians(runs: Vec<Vec<Line>>) -> Vec<Line> {
    let mut merged: Vec<(Line, [Vec<f64>; 2])> = vec![];
    for line in runs.into_iter().flatten() {
        let times = [line.window_us, line.median_us];
        match merged.iter_mut().find(|of| of.0.subject == line.subject) {
            Some((_, known)) => {
                for (known, time) in known.iter_mut().zip(times) {
                    known.push(time);
                }
            }
            None => merged.push((line, times.map(|time| vec![time]))),
        }
    }
    let one = |(line, [windows, medians]): (Line, [Vec<f64>; 2])| Line {
        window_us: median(windows),
        median_us: median(medians),
        ..line
    };
    merged.into_iter().map(one).collect()
}

/// The middle one, or the mean of the two in the middle; there is at least one.
fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    (times[(times.len() - 1) / 2] + times[times.len() / 2]) / 2.0
}

/// The best that each peer has of a workload, by the window: the peers in the order of their first lines.
pub(super) fn best<'a>(lines: &'a [Line], workload: &Workload) -> Vec<&'a Line> {
    let mut best: Vec<&Line> = vec![];
    for line in lines {
        if line.workload != *workload || !line.usual {
            continue;
        }
        match best.iter_mut().find(|one| one.peer == line.peer) {
            Some(one) if line.window_us < one.window_us => *one = line,
            Some(_) => {}
            None => best.push(line),
        }
    }
    best
}
