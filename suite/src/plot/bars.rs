//! How long each peer takes of what girih takes, as bars.

use super::lines::{Line, best};
use super::{colour, head, stroke, text};

const WIDTH: f64 = 900.0;
/// Where the names end and the bars begin.
const LEFT: f64 = 300.0;
const RIGHT: f64 = 820.0;
const TOP: f64 = 70.0;
const BAR: f64 = 13.0;
const GAP: f64 = 12.0;
/// Bars are cut here: what is longer says how long.
const MOST: f64 = 4.0;

/// The picture, of every workload that girih and a peer both have; `None` where there is none.
pub(super) fn of_peers(lines: &[Line]) -> Option<String> {
    let own = lines
        .iter()
        .filter(|line| line.peer == "girih" && line.usual);
    let mut groups: Vec<(&Line, Vec<(&Line, f64)>)> = vec![];
    for line in own {
        if groups
            .iter()
            .any(|(known, _)| known.workload == line.workload)
        {
            continue;
        }
        let others = best(lines, &line.workload);
        let ours = others.iter().find(|one| one.peer == "girih")?.window_us;
        let ratios = others
            .into_iter()
            .filter(|one| one.peer != "girih")
            .map(|one| (one, one.window_us / ours))
            .collect::<Vec<_>>();
        if !ratios.is_empty() {
            groups.push((line, ratios));
        }
    }
    let bars: usize = groups.iter().map(|(_, ratios)| ratios.len()).sum();
    if bars == 0 {
        return None;
    }
    let height = TOP + bars as f64 * BAR + groups.len() as f64 * GAP + 40.0;
    let x = |ratio: f64| LEFT + ratio.min(MOST) / MOST * (RIGHT - LEFT);
    let title = "How long peers take, in times of girih's own (windows of launches; right of the line girih is faster)";
    let mut svg = head(WIDTH, height, title);
    let mut y = TOP;
    for (line, ratios) in &groups {
        let middle = y + ratios.len() as f64 * BAR / 2.0 + 4.0;
        svg += &text(LEFT - 12.0, middle, "end", 12, &line.name);
        for (peer, ratio) in ratios {
            svg += &format!(
                "<rect x=\"{LEFT}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"{}\"/>\n",
                x(*ratio) - LEFT,
                BAR - 2.0,
                colour(&peer.peer)
            );
            let words = format!("{} {ratio:.2}", peer.peer);
            svg += &text(x(*ratio) + 5.0, y + BAR - 3.0, "start", 11, &words);
            y += BAR;
        }
        y += GAP;
    }
    svg += &stroke((x(1.0), TOP - 10.0), (x(1.0), y), "#1f2430", 1.5, "5 4");
    svg += &text(x(1.0), TOP - 16.0, "middle", 12, "girih");
    Some(svg + "</svg>\n")
}
