//! The rate of gathers by the width of their rows, under the rate of a copy.

use super::lines::Line;
use super::{colour, head, stroke, text};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 480.0;
/// Where the axes are.
const LEFT: f64 = 80.0;
const RIGHT: f64 = 690.0;
const TOP: f64 = 60.0;
const BOTTOM: f64 = 420.0;

/// One peer's rates: bytes of a row, and 10^9 bytes a second.
struct Series<'a> {
    peer: &'a str,
    rates: Vec<(u64, f64)>,
}

/// The picture for uniform indices of the most rows that were measured; `None` where girih gathered none of the type, or
/// nothing was copied.
pub(super) fn of_gathers(lines: &[Line], dtype: &str) -> Option<String> {
    let copies = lines
        .iter()
        .filter(|line| line.workload.op == "copy" && line.usual);
    let roof = copies.filter_map(Line::gb_per_s).reduce(f64::max)?;
    let is_one = |line: &&Line| {
        let of = &line.workload;
        of.op == "gather" && of.dtype == dtype && of.data == "uniform" && line.usual
    };
    let gathers: Vec<&Line> = lines.iter().filter(is_one).collect();
    let own = gathers.iter().filter(|line| line.peer == "girih");
    let rows = own.map(|line| line.workload.rows).max()?;
    let series = series(
        gathers
            .into_iter()
            .filter(|line| line.workload.rows == rows),
    );
    let widths = || {
        series
            .iter()
            .flat_map(|one| one.rates.iter().map(|rate| rate.0))
    };
    let (least, most) = (widths().min()?, widths().max()?);
    let highest = series
        .iter()
        .flat_map(|one| one.rates.iter().map(|rate| rate.1));
    let top = highest.fold(roof, f64::max) * 1.08;
    let spread = (most as f64 / least as f64).log2().max(1.0);
    let x = |bytes: u64| LEFT + (bytes as f64 / least as f64).log2() / spread * (RIGHT - LEFT);
    let y = |rate: f64| BOTTOM - rate / top * (BOTTOM - TOP);

    let title =
        format!("Gather of {rows} rows of {dtype}, uniform indices: rate by the width of a row");
    let mut svg = head(WIDTH, HEIGHT, &title);
    svg += &axes(&x, &y, least, most, top);
    svg += &stroke((LEFT, y(roof)), (RIGHT, y(roof)), "#1f2430", 2.0, "7 4");
    let of_roof = format!("copy: {roof:.0} GB/s");
    svg += &text(RIGHT - 4.0, y(roof) - 7.0, "end", 13, &of_roof);
    for (at, one) in series.iter().enumerate() {
        svg += &curve(one, &x, &y);
        svg += &legend(one, at, roof);
    }
    Some(svg + "</svg>\n")
}

/// The best rate of each peer at each width, the peers in the order of their first lines.
fn series<'a>(gathers: impl Iterator<Item = &'a Line>) -> Vec<Series<'a>> {
    let mut series: Vec<Series> = vec![];
    for line in gathers {
        let (Some(bytes), Some(rate)) = (line.row_bytes(), line.gb_per_s()) else {
            continue;
        };
        let at = series.iter().position(|one| one.peer == line.peer);
        let at = at.unwrap_or_else(|| {
            series.push(Series {
                peer: &line.peer,
                rates: vec![],
            });
            series.len() - 1
        });
        let rates = &mut series[at].rates;
        match rates.iter_mut().find(|known| known.0 == bytes) {
            Some(known) => known.1 = known.1.max(rate),
            None => rates.push((bytes, rate)),
        }
    }
    for one in &mut series {
        one.rates.sort_unstable_by_key(|rate| rate.0);
    }
    series
}

fn axes(
    x: &impl Fn(u64) -> f64,
    y: &impl Fn(f64) -> f64,
    least: u64,
    most: u64,
    top: f64,
) -> String {
    let mut svg = String::new();
    let step = 10f64.powf((top / 5.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * step);
    let step = step
        .into_iter()
        .find(|step| top / step <= 6.0)
        .unwrap_or(top);
    let mut rate = 0.0;
    while rate <= top {
        svg += &stroke((LEFT, y(rate)), (RIGHT, y(rate)), "#dfe3ea", 1.0, "");
        svg += &text(LEFT - 8.0, y(rate) + 4.0, "end", 12, &format!("{rate:.0}"));
        rate += step;
    }
    let mut bytes = least;
    while bytes <= most && bytes > 0 {
        svg += &stroke(
            (x(bytes), BOTTOM),
            (x(bytes), BOTTOM + 5.0),
            "#1f2430",
            1.0,
            "",
        );
        svg += &text(x(bytes), BOTTOM + 20.0, "middle", 12, &bytes.to_string());
        bytes *= 2;
    }
    svg += &stroke((LEFT, BOTTOM), (RIGHT, BOTTOM), "#1f2430", 1.0, "");
    svg += &text(
        (LEFT + RIGHT) / 2.0,
        BOTTOM + 42.0,
        "middle",
        13,
        "bytes of a row",
    );
    svg + &text(LEFT - 8.0, TOP - 8.0, "end", 12, "GB/s")
}

fn curve(series: &Series, x: &impl Fn(u64) -> f64, y: &impl Fn(f64) -> f64) -> String {
    let colour = colour(series.peer);
    let places: Vec<(f64, f64)> = series
        .rates
        .iter()
        .map(|&(bytes, rate)| (x(bytes), y(rate)))
        .collect();
    let points: Vec<String> = places
        .iter()
        .map(|(x, y)| format!("{x:.1},{y:.1}"))
        .collect();
    let mut svg = format!(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2.5\"/>\n",
        points.join(" ")
    );
    for (&(cx, cy), (bytes, rate)) in places.iter().zip(&series.rates) {
        svg += &format!(
            "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"4\" fill=\"{colour}\"><title>{} at {bytes} bytes: {rate:.0} GB/s</title></circle>\n",
            series.peer
        );
    }
    svg
}

/// The peer's name and how near to the copy it comes at best.
fn legend(series: &Series, at: usize, roof: f64) -> String {
    let y = TOP + 24.0 * at as f64 + 10.0;
    let best = series.rates.iter().map(|rate| rate.1).fold(0.0, f64::max);
    let words = format!("{}, up to {:.0} %", series.peer, best / roof * 100.0);
    let x = RIGHT + 16.0;
    stroke(
        (x, y - 4.0),
        (x + 22.0, y - 4.0),
        colour(series.peer),
        3.0,
        "",
    ) + &text(x + 28.0, y, "start", 13, &words)
}
