//! Pictures and a table of what benchmarks measured.

mod bars;
mod lines;
mod page;
mod roofline;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use lines::Line;

/// What is drawn, and where it goes.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// A folder of measurements, such as one of benches/results: every line of JSON of its *.jsonl and *.log files. Of runs in folders
    /// run-* of it, the medians are taken
    results: PathBuf,
    /// Where the pictures go
    #[arg(long, value_name = "DIR", default_value = "docs/src/img")]
    out: PathBuf,
    /// A page of Markdown whose part between `<!-- measured -->` and `<!-- end of measured -->` becomes the table
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

/// Draws; the exit code is a failure where nothing was measured, or a file cannot be read or written.
pub fn main(options: &Options) -> ExitCode {
    match plot(options) {
        Ok(written) => {
            for path in written {
                println!("{}", path.display());
            }
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}

/// Writes the pictures and the table, and says where.
fn plot(options: &Options) -> Result<Vec<PathBuf>, String> {
    let measured = lines::read(&options.results)?;
    if measured.is_empty() {
        return Err(format!(
            "{}: no line is a measurement",
            options.results.display()
        ));
    }
    std::fs::create_dir_all(&options.out).map_err(|error| said(&options.out, &error))?;
    let mut written = vec![];
    for (name, svg) in pictures(&measured) {
        let path = options.out.join(name);
        std::fs::write(&path, svg).map_err(|error| said(&path, &error))?;
        written.push(path);
    }
    if let Some(page) = &options.page {
        let text = std::fs::read_to_string(page).map_err(|error| said(page, &error))?;
        let source = options
            .results
            .file_name()
            .unwrap_or_default()
            .to_string_lossy();
        let text = page::with_table(&text, &page::table(&measured, &source))
            .map_err(|reason| format!("{}: {reason}", page.display()))?;
        std::fs::write(page, text).map_err(|error| said(page, &error))?;
        written.push(page.clone());
    }
    Ok(written)
}

fn said(path: &Path, error: &std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Each picture's file name, and what is in it.
fn pictures(measured: &[Line]) -> Vec<(String, String)> {
    let mut pictures = vec![];
    for dtype in ["f32", "bf16"] {
        if let Some(svg) = roofline::of_gathers(measured, dtype) {
            pictures.push((format!("roofline-gather-{dtype}.svg"), svg));
        }
    }
    if let Some(svg) = bars::of_peers(measured) {
        pictures.push(("peers.svg".into(), svg));
    }
    pictures
}

/// The colour of whoever was measured.
fn colour(peer: &str) -> &'static str {
    match peer {
        "girih" => "#1f6f8b",
        "triton" => "#c7561d",
        "torch" => "#7a4fa3",
        "burn" => "#3f8f4f",
        "cublas" => "#b0892f",
        "cub" => "#5a6b7b",
        _ => "#8c5566",
    }
}

/// The head of a picture of that size: its title, for those who do not see it too.
fn head(width: f64, height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         role=\"img\" font-family=\"system-ui, 'Segoe UI', Helvetica, Arial, sans-serif\" font-size=\"13\">\n\
         <title>{title}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"10\" fill=\"#fbfbfd\"/>\n",
        title = escaped(title),
    ) + &text(24.0, 32.0, "start", 18, title)
}

/// Words at a place: `anchor` is `start`, `middle` or `end`.
fn text(x: f64, y: f64, anchor: &str, size: u32, words: &str) -> String {
    format!(
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\" fill=\"#1f2430\">{}</text>\n",
        escaped(words)
    )
}

fn stroke(from: (f64, f64), to: (f64, f64), colour: &str, width: f64, dashes: &str) -> String {
    let ((x1, y1), (x2, y2)) = (from, to);
    format!(
        "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\" \
         stroke-dasharray=\"{dashes}\"/>\n"
    )
}

fn escaped(words: &str) -> String {
    words
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run in small: a copy, gathers of two widths by two peers, a line of a log, and a workload that one peer has.
    const RUN: &str = r#"
{"peer":"girih","name":"copy f32 1024x128","op":"copy","dtype":"f32","rows":1024,"columns":128,"data":"in order","bounds":"mask","bytes":1000000,"median_us":1.1,"window_us":1.0}
{"peer":"girih","name":"gather f32 1024x16","op":"gather","dtype":"f32","rows":1024,"columns":16,"data":"uniform","bounds":"mask","bytes":135168,"median_us":0.3,"window_us":0.2}
{"peer":"girih","name":"gather f32 1024x128","op":"gather","dtype":"f32","rows":1024,"columns":128,"data":"uniform","bounds":"mask","bytes":1052672,"median_us":1.2,"window_us":1.1}
{"peer":"girih","name":"sort_keys u32 9","op":"sort_keys","dtype":"u32","rows":9,"columns":1,"data":"uniform","bytes":72,"median_us":2.0,"window_us":2.0}
not a measurement
{"peer": "triton", "op": "gather", "dtype": "f32", "rows": 1024, "columns": 16, "data": "uniform", "bytes": 135168, "median_us": 0.5, "window_us": 0.4, "warps": 4}
{"peer": "triton", "op": "gather", "dtype": "f32", "rows": 1024, "columns": 16, "data": "uniform", "bytes": 135168, "median_us": 0.6, "window_us": 0.3, "warps": 8}
{"peer": "triton", "op": "gather", "dtype": "f32", "rows": 1024, "columns": 128, "data": "uniform", "bytes": 1052672, "median_us": 1.3, "window_us": 1.1}
{"peer": "torch", "op": "sort_keys", "dtype": "u32", "rows": 9, "columns": 1, "data": "uniform", "median_us": 6.0, "window_us": 5.0}
"#;

    fn measured() -> Vec<Line> {
        RUN.lines().filter_map(Line::parse).collect()
    }

    #[test]
    fn a_run_becomes_pictures_that_name_who_was_measured() {
        let pictures = pictures(&measured());
        let names: Vec<_> = pictures.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["roofline-gather-f32.svg", "peers.svg"]);
        for (name, svg) in &pictures {
            assert!(
                svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"),
                "{name}"
            );
            assert!(svg.contains("triton"), "{name}");
            assert!(
                !svg.contains("NaN") && !svg.contains("inf"),
                "{name}: {svg}"
            );
            let (opened, closed) = (svg.matches("<text").count(), svg.matches("</text>").count());
            assert_eq!(opened, closed, "{name}");
        }
        // The copy's rate is the roof: 10^6 bytes in a microsecond.
        assert!(pictures[0].1.contains("1000 GB/s"), "{}", pictures[0].1);
        // The peer's best of both configurations is 0.3 us, and that is 1.5 times as long.
        assert!(pictures[1].1.contains("1.50"), "{}", pictures[1].1);
        assert!(pictures[1].1.contains("2.50"), "{}", pictures[1].1);
    }

    #[test]
    fn a_folder_is_drawn_and_its_page_written_anew() {
        let folder = std::env::temp_dir().join(format!("girih-plot-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("bench.jsonl"), RUN).unwrap();
        let page = folder.join("page.md");
        std::fs::write(
            &page,
            "# A\n<!-- measured -->\nold\n<!-- end of measured -->\nend\n",
        )
        .unwrap();
        let options = Options {
            results: folder.clone(),
            out: folder.join("img"),
            page: Some(page.clone()),
        };
        let written = plot(&options).unwrap();
        assert_eq!(written.len(), 3);
        assert!(written.iter().all(|path| path.exists()));
        let once = std::fs::read_to_string(&page).unwrap();
        assert!(once.starts_with("# A\n") && once.ends_with("end\n") && !once.contains("old"));
        let row = "| gather f32 1024x16 | 0.3 / 0.2 | 676 | 0.6 / 0.3 (2.00 / 1.50) | - |";
        assert!(once.contains(row), "{once}");
        plot(&options).unwrap();
        assert_eq!(std::fs::read_to_string(&page).unwrap(), once);
        std::fs::write(&page, "no part for it").unwrap();
        assert!(plot(&options).unwrap_err().contains("<!-- measured -->"));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn the_runs_of_a_folder_become_their_medians() {
        let folder = std::env::temp_dir().join(format!("girih-plot-runs-{}", std::process::id()));
        for (run, window) in [("run-1", "5.0"), ("run-2", "1.0"), ("run-3", "4.0")] {
            let run = folder.join(run);
            std::fs::create_dir_all(&run).unwrap();
            let text = RUN.replace("\"window_us\":1.1", &format!("\"window_us\":{window}"));
            std::fs::write(run.join("bench.jsonl"), text).unwrap();
        }
        let lines = lines::read(&folder).unwrap();
        assert_eq!(lines.len(), measured().len());
        let gather = lines.iter().find(|line| line.name == "gather f32 1024x128");
        assert_eq!(gather.unwrap().window_us, 4.0);
        // Configurations of a peer stay apart.
        let triton = lines.iter().filter(|line| line.peer == "triton");
        let times: Vec<f64> = triton.map(|line| line.window_us).collect();
        assert_eq!(times, [0.4, 0.3, 1.1]);
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_folder_without_measurements_is_refused() {
        let folder = std::env::temp_dir().join(format!("girih-no-plot-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let options = Options {
            results: folder.clone(),
            out: folder.clone(),
            page: None,
        };
        assert!(
            plot(&options)
                .unwrap_err()
                .ends_with("no line is a measurement")
        );
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
