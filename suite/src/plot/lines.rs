//! Measurements as they lie in files: one JSON object a line.

use std::path::Path;

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
    pub window_us: f64,
    /// Whether it is the usual call: masked, and as the launcher does it.
    pub usual: bool,
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
            usual: own_way && bounds.is_none_or(|bounds| bounds == "mask" || bounds == "none"),
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

/// The measurements of every `*.jsonl` and `*.log` of a folder, in the order of their names.
pub(super) fn read(folder: &Path) -> Result<Vec<Line>, String> {
    let said = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut files = vec![];
    for entry in std::fs::read_dir(folder).map_err(said)? {
        let path = entry.map_err(said)?.path();
        let kind = path.extension().and_then(|kind| kind.to_str());
        if matches!(kind, Some("jsonl" | "log")) {
            files.push(path);
        }
    }
    files.sort();
    let mut lines = vec![];
    for file in files {
        let bytes = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        lines.extend(
            String::from_utf8_lossy(&bytes)
                .lines()
                .filter_map(Line::parse),
        );
    }
    Ok(lines)
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
