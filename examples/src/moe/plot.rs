//! The plot: the loss of each step that was read back.

use svg::Document;
use svg::node::element::{Group, Line, Polyline, Rectangle, Style, Text as Words, Title};

/// The page, in pixels, and the margins of the plot within it.
const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 480.0;
const LEFT: f64 = 72.0;
const RIGHT: f64 = 28.0;
const TOP: f64 = 72.0;
const BOTTOM: f64 = 60.0;

const STYLE: &str = "
text { font-family: system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #4a5162; font-size: 14px; }
.title { font-size: 22px; font-weight: 600; fill: #1f2430; }
.end { text-anchor: end; }
.middle { text-anchor: middle; }
.grid { stroke: #d5d9e2; stroke-width: 1; }
.guess { stroke: #c7561d; stroke-width: 1.5; stroke-dasharray: 6 4; }
.loss { fill: none; stroke: #2f6db3; stroke-width: 2.5; stroke-linejoin: round; }
";

/// The losses by step, in nats a character, beside that of a guess among `characters`.
pub fn plot(losses: &[(usize, f32)], characters: usize) -> Document {
    let steps = losses.last().map_or(1, |last| last.0.max(1)) as f64;
    let guess = (characters.max(1) as f64).ln();
    let most = losses
        .iter()
        .map(|loss| f64::from(loss.1))
        .filter(|loss| loss.is_finite())
        .fold(guess, f64::max)
        .ceil()
        .max(1.0);
    let x = |step: f64| LEFT + (WIDTH - LEFT - RIGHT) * step / steps;
    let y = |loss: f64| HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * loss / most;
    let points: Vec<String> = losses
        .iter()
        .filter(|loss| loss.1.is_finite())
        .map(|&(step, loss)| format!("{:.1},{:.1}", x(step as f64), y(f64::from(loss))))
        .collect();
    let curve = Polyline::new()
        .set("class", "loss")
        .set("points", points.join(" "));
    Document::new()
        .set("viewBox", (0.0, 0.0, WIDTH, HEIGHT))
        .set("width", WIDTH)
        .set("height", HEIGHT)
        .set("role", "img")
        .add(Title::new("The loss of a mixture of experts, step by step"))
        .add(Style::new(STYLE))
        .add(
            Rectangle::new()
                .set("width", WIDTH)
                .set("height", HEIGHT)
                .set("rx", 14)
                .set("fill", "#fbfbfd"),
        )
        .add(words(
            "title",
            LEFT,
            40.0,
            "A mixture of experts learns sonnets",
        ))
        .add(grid(steps, most, &x, &y))
        .add(line("guess", [x(0.0), y(guess)], [x(steps), y(guess)]))
        .add(words("end", WIDTH - RIGHT, y(guess) - 8.0, "a guess"))
        .add(curve)
}

fn grid(steps: f64, most: f64, x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) -> Group {
    let mut group = Group::new();
    for loss in 0..=most as usize {
        let height = y(loss as f64);
        group = group
            .add(line("grid", [x(0.0), height], [x(steps), height]))
            .add(words("end", LEFT - 10.0, height + 5.0, &loss.to_string()));
    }
    for quarter in 0..=4 {
        let step = steps * f64::from(quarter) / 4.0;
        let below = HEIGHT - BOTTOM + 22.0;
        group = group.add(words("middle", x(step), below, &format!("{step:.0}")));
    }
    group
        .add(words("middle", x(steps / 2.0), HEIGHT - 14.0, "step"))
        .add(words("", LEFT - 52.0, TOP - 10.0, "nats a character"))
}

fn line(class: &str, from: [f64; 2], to: [f64; 2]) -> Line {
    Line::new()
        .set("class", class)
        .set("x1", from[0])
        .set("y1", from[1])
        .set("x2", to[0])
        .set("y2", to[1])
}

fn words(class: &str, x: f64, y: f64, content: &str) -> Words {
    Words::new(content)
        .set("class", class)
        .set("x", x)
        .set("y", y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_for_each_loss() {
        let drawing = plot(&[(0, 4.0), (10, 2.0), (20, f32::NAN), (30, 1.0)], 50).to_string();
        let points = drawing
            .split("points=\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        let points: Vec<&str> = points.expect("a curve").split(' ').collect();
        assert_eq!(points.len(), 3, "{points:?}");
        assert!(points[0].starts_with("72.0,"), "{points:?}");
        assert!(!drawing.contains("NaN"));
        // Nothing was read back.
        assert!(plot(&[], 50).to_string().contains("points=\"\""));
    }
}
