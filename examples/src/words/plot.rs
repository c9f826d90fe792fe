//! The picture: how the loss fell.

use svg::Document;
use svg::node::element::{Line, Polyline, Rectangle, Style, Text, Title};

/// The page, in pixels.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
/// What the curve keeps clear of on each side.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 30.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = 60.0;

const STYLE: &str = "
text { font-family: system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2430; }
.title { font-size: 22px; font-weight: 600; }
.axis { font-size: 14px; fill: #4a5162; }
.grid { stroke: #d8dce6; stroke-width: 1; }
.curve { fill: none; stroke: #2f6db3; stroke-width: 2; }
";

/// The curve of losses, each with the number of steps before it.
pub fn plot(losses: &[(usize, f32)]) -> Document {
    let steps = losses.last().map_or(1, |last| last.0).max(1) as f64;
    let most = losses
        .iter()
        .map(|loss| f64::from(loss.1))
        .fold(0.0, f64::max);
    let top = most.ceil().max(1.0);
    let x = |step: f64| LEFT + (WIDTH - LEFT - RIGHT) * step / steps;
    let y = |loss: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * loss / top;
    let title = "Skip-gram on girih's book: loss by step";
    let mut document = Document::new()
        .set("viewBox", (0.0, 0.0, WIDTH, HEIGHT))
        .set("width", WIDTH)
        .set("height", HEIGHT)
        .set("role", "img")
        .add(Title::new(title))
        .add(Style::new(STYLE))
        .add(
            Rectangle::new()
                .set("width", WIDTH)
                .set("height", HEIGHT)
                .set("rx", 14)
                .set("fill", "#fbfbfd"),
        )
        .add(text(title, LEFT, 40.0, "title", "start"));
    for level in 0..=top as usize {
        let at = y(level as f64);
        let line = Line::new()
            .set("class", "grid")
            .set("x1", LEFT)
            .set("x2", WIDTH - RIGHT)
            .set("y1", at)
            .set("y2", at);
        let label = text(&level.to_string(), LEFT - 10.0, at + 5.0, "axis", "end");
        document = document.add(line).add(label);
    }
    for part in 0..=4 {
        let step = steps * f64::from(part) / 4.0;
        let label = format!("{step:.0}");
        document = document.add(text(
            &label,
            x(step),
            HEIGHT - BOTTOM + 24.0,
            "axis",
            "middle",
        ));
    }
    let middle = (LEFT + WIDTH - RIGHT) / 2.0;
    let points: Vec<String> = losses
        .iter()
        .map(|&(step, loss)| format!("{:.1},{:.1}", x(step as f64), y(loss.into())))
        .collect();
    document
        .add(text("steps", middle, HEIGHT - 14.0, "axis", "middle"))
        .add(text("nats", LEFT - 10.0, TOP - 16.0, "axis", "end"))
        .add(
            Polyline::new()
                .set("class", "curve")
                .set("points", points.join(" ")),
        )
}

fn text(content: &str, x: f64, y: f64, class: &str, anchor: &str) -> Text {
    Text::new(content)
        .set("class", class)
        .set("x", x)
        .set("y", y)
        .set("text-anchor", anchor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_for_each_loss() {
        let drawing = plot(&[(1, 4.0), (10, 3.0), (20, 2.5)]).to_string();
        let points = drawing
            .split("points=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        assert_eq!(
            points.map(|points| points.split(' ').count()),
            Some(3),
            "{drawing}"
        );
        assert!(plot(&[]).to_string().contains("nats"));
    }
}
