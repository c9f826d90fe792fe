//! A table of Markdown, and the page that it goes to.

use super::lines::{Line, best};

const BEGIN: &str = "<!-- measured -->\n";
const END: &str = "<!-- end of measured -->";

/// Every workload of girih's with what each peer takes of it: microseconds by single launches and by the window, and in times of
/// girih's own.
pub(super) fn table(lines: &[Line], source: &str) -> String {
    let mut peers: Vec<&str> = vec![];
    for line in lines {
        if line.peer != "girih" && !peers.contains(&line.peer.as_str()) {
            peers.push(&line.peer);
        }
    }
    let mut heads = vec!["workload".to_owned(), "girih us".into(), "GB/s".into()];
    heads.extend(
        peers
            .iter()
            .map(|peer| format!("{peer} us (times girih's)")),
    );
    let mut table = format!(
        "From `{source}`: medians of single launches / means in windows of launches back to back; GB/s by the window.\n\n{}{}",
        row(&heads),
        row(&["---"]
            .into_iter()
            .chain(heads.iter().skip(1).map(|_| "---:"))
            .map(str::to_owned)
            .collect::<Vec<_>>())
    );
    for line in lines.iter().filter(|line| line.peer == "girih") {
        let rate = line
            .gb_per_s()
            .map_or("-".into(), |rate| format!("{rate:.0}"));
        let mut cells = vec![line.name.clone(), times(line), rate];
        let others = best(lines, &line.workload);
        for peer in &peers {
            let their = others.iter().find(|one| one.peer == *peer);
            cells.push(their.map_or("-".into(), |their| {
                format!(
                    "{} ({:.2} / {:.2})",
                    times(their),
                    their.median_us / line.median_us,
                    their.window_us / line.window_us
                )
            }));
        }
        table += &row(&cells);
    }
    table
}

/// By single launches, and by the window.
fn times(line: &Line) -> String {
    format!("{:.1} / {:.1}", line.median_us, line.window_us)
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// The page with another table.
pub(super) fn with_table(page: &str, table: &str) -> Result<String, String> {
    let begin = page.find(BEGIN).map(|at| at + BEGIN.len());
    let parts = begin.and_then(|begin| Some((begin, page[begin..].find(END)? + begin)));
    let (begin, end) =
        parts.ok_or_else(|| format!("no part between {} and {END}", BEGIN.trim()))?;
    Ok(format!("{}{table}{}", &page[..begin], &page[end..]))
}
