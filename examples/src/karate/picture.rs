//! The picture: the graph, coloured by predicted side, mistakes marked.

use svg::Document;
use svg::node::element::{Circle, Group, Line, Rectangle, Style, Text, Title};

use super::{ADMINISTRATOR, Club, Faction, INSTRUCTOR, Point, layout};

/// The page, in pixels.
const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 720.0;
/// What the graph keeps clear of on each side: margins, the heading above, the legend below.
const MARGIN: f64 = 60.0;
const HEADING: f64 = 110.0;
const LEGEND: f64 = 96.0;

const RADIUS: f64 = 15.0;
const TOLD_RADIUS: f64 = 22.0;

const STYLE: &str = "
text { font-family: system-ui, 'Segoe UI', Helvetica, Arial, sans-serif; fill: #1f2430; }
.title { font-size: 26px; font-weight: 600; }
.subtitle, .legend { font-size: 16px; fill: #4a5162; }
.number { font-size: 13px; font-weight: 600; fill: #ffffff; text-anchor: middle; }
.tie { stroke: #9aa3b5; stroke-width: 1.4; stroke-opacity: 0.55; }
.across { stroke-dasharray: 5 4; }
.hi { fill: #2f6db3; stroke: #ffffff; stroke-width: 1.5; }
.officers { fill: #c7561d; stroke: #ffffff; stroke-width: 1.5; }
.told { fill: none; stroke: #1f2430; stroke-width: 2.5; }
.mistake { fill: none; stroke: #d4147d; stroke-width: 3.5; stroke-dasharray: 6 3; }
";

/// The club with each member in the colour of its predicted side.
pub fn picture(club: &Club, sides: &[Faction]) -> Document {
    let places = on_page(&layout(club));
    let mistakes = club.mistakes(sides);
    Document::new()
        .set("viewBox", (0.0, 0.0, WIDTH, HEIGHT))
        .set("width", WIDTH)
        .set("height", HEIGHT)
        .set("role", "img")
        .add(Title::new(headline(club, &mistakes)))
        .add(Style::new(STYLE))
        .add(
            Rectangle::new()
                .set("width", WIDTH)
                .set("height", HEIGHT)
                .set("rx", 14)
                .set("fill", "#fbfbfd"),
        )
        .add(heading(club, &mistakes))
        .add(ties(club, sides, &places))
        .add(members(club, sides, &places, &mistakes))
        .add(legend())
}

/// How well it went, in a line.
fn headline(club: &Club, mistakes: &[usize]) -> String {
    let members = club.len();
    let right = members - mistakes.len();
    format!("Zachary's karate club: {right} of {members} sides found")
}

fn heading(club: &Club, mistakes: &[usize]) -> Group {
    let wrong = match mistakes {
        [] => "no mistakes".to_owned(),
        some => {
            let numbers: Vec<String> = some.iter().map(|member| number(*member)).collect();
            format!("mistaken: {}", numbers.join(", "))
        }
    };
    let subtitle = format!("A graph convolution told only the sides of members 1 and 34; {wrong}");
    Group::new()
        .add(text("title", MARGIN, 52.0, headline(club, mistakes)))
        .add(text("subtitle", MARGIN, 80.0, subtitle))
}

/// Members as they are numbered in the paper.
fn number(member: usize) -> String {
    (member + 1).to_string()
}

fn ties(club: &Club, sides: &[Faction], places: &[Point]) -> Group {
    club.ties.iter().fold(Group::new(), |group, &(a, b)| {
        let class = match sides[a] == sides[b] {
            true => "tie",
            false => "tie across",
        };
        group.add(line(class, places[a], places[b]))
    })
}

fn members(club: &Club, sides: &[Faction], places: &[Point], mistakes: &[usize]) -> Group {
    let told = [INSTRUCTOR, ADMINISTRATOR];
    (0..club.len()).fold(Group::new(), |group, member| {
        let place = places[member];
        let is_told = told.contains(&member);
        let radius = if is_told { TOLD_RADIUS } else { RADIUS };
        let mut mark = Group::new()
            .add(Title::new(story(club, sides, member)))
            .add(circle(class(sides[member]), place, radius));
        if is_told {
            mark = mark.add(circle("told", place, radius + 4.5));
        }
        if mistakes.contains(&member) {
            mark = mark.add(circle("mistake", place, radius + 5.0));
        }
        group.add(mark.add(text("number", place.x, place.y + 4.5, number(member))))
    })
}

/// What a pointer over a member is told.
fn story(club: &Club, sides: &[Faction], member: usize) -> String {
    let (joined, predicted) = (club.factions[member], sides[member]);
    let number = number(member);
    format!(
        "Member {number}: joined {}, predicted {}",
        joined.name(),
        predicted.name()
    )
}

fn legend() -> Group {
    let y = HEIGHT - 40.0;
    let at = |x: f64| Point { x, y };
    let label = |x: f64, words: &str| text("legend", x, y + 5.5, words.to_owned());
    Group::new()
        .add(circle("hi", at(70.0), 10.0))
        .add(label(88.0, "predicted: Mr. Hi"))
        .add(circle("officers", at(250.0), 10.0))
        .add(label(268.0, "predicted: the officers"))
        .add(circle("told", at(482.0), 10.0))
        .add(label(500.0, "side was told"))
        .add(circle("mistake", at(640.0), 10.0))
        .add(label(658.0, "mistake"))
        .add(line("tie across", at(744.0), at(780.0)))
        .add(label(788.0, "tie between sides"))
}

fn class(side: Faction) -> &'static str {
    match side {
        Faction::Hi => "hi",
        Faction::Officers => "officers",
    }
}

fn circle(class: &str, place: Point, radius: f64) -> Circle {
    Circle::new()
        .set("class", class)
        .set("cx", tenths(place.x))
        .set("cy", tenths(place.y))
        .set("r", radius)
}

fn line(class: &str, from: Point, to: Point) -> Line {
    Line::new()
        .set("class", class)
        .set("x1", tenths(from.x))
        .set("y1", tenths(from.y))
        .set("x2", tenths(to.x))
        .set("y2", tenths(to.y))
}

fn text(class: &str, x: f64, y: f64, words: String) -> Text {
    Text::new(words)
        .set("class", class)
        .set("x", tenths(x))
        .set("y", tenths(y))
}

/// Positions to a tenth of a pixel: nobody sees more, and the file stays the same from one
/// machine to the next.
fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

/// The places scaled to fill the page between heading and legend, as large as both axes allow.
fn on_page(places: &[Point]) -> Vec<Point> {
    let (left, right) = extent(places.iter().map(|place| place.x));
    let (top, bottom) = extent(places.iter().map(|place| place.y));
    let wide = WIDTH - 2.0 * MARGIN;
    let high = HEIGHT - HEADING - LEGEND - 2.0 * TOLD_RADIUS;
    let scale = (wide / (right - left).max(1e-9)).min(high / (bottom - top).max(1e-9));
    let middle = HEADING + TOLD_RADIUS + high / 2.0;
    places
        .iter()
        .map(|place| Point {
            x: WIDTH / 2.0 + scale * (place.x - (left + right) / 2.0),
            y: middle + scale * (place.y - (top + bottom) / 2.0),
        })
        .collect()
}

/// The least and the greatest of `values`.
fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold(
        (f64::INFINITY, f64::NEG_INFINITY),
        |(least, most), value| (least.min(value), most.max(value)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(haystack: &str, needle: &str) -> usize {
        haystack.matches(needle).count()
    }

    #[test]
    fn every_member_tie_and_mistake_is_drawn_once() {
        let club = Club::zachary();
        let mut sides = club.factions.clone();
        sides[8] = Faction::Officers;
        let drawn = picture(&club, &sides).to_string();
        // One more of each in the legend.
        assert_eq!(count(&drawn, "class=\"hi\""), 16 + 1);
        assert_eq!(count(&drawn, "class=\"officers\""), 18 + 1);
        assert_eq!(count(&drawn, "class=\"told\""), 2 + 1);
        assert_eq!(count(&drawn, "class=\"mistake\""), 1 + 1);
        assert_eq!(count(&drawn, "class=\"number\""), 34);
        assert_eq!(count(&drawn, "class=\"tie"), 78 + 1);
        assert!(drawn.contains("33 of 34 sides found"));
        assert!(drawn.contains("mistaken: 9"));
    }

    #[test]
    fn the_graph_stays_on_the_page() {
        for place in on_page(&layout(&Club::zachary())) {
            assert!((MARGIN..=WIDTH - MARGIN).contains(&place.x), "{place:?}");
            let below_heading = HEADING + TOLD_RADIUS - 1e-9;
            let above_legend = HEIGHT - LEGEND - TOLD_RADIUS + 1e-9;
            assert!(
                (below_heading..=above_legend).contains(&place.y),
                "{place:?}"
            );
        }
    }
}
