//! Where each member is drawn: stress majorization (Gansner, Koren and North, 2004), which places
//! members so that distances on paper are close to distances in the graph.

use super::{ADMINISTRATOR, Club, INSTRUCTOR};

/// A place on paper, in units of one tie's length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Downwards.
    pub y: f64,
}

/// Steps of the majorization; each lowers the stress, and the club's no longer moves after these.
const STEPS: usize = 300;

/// The least distance between two members: room for their marks.
const APART: f64 = 0.5;

/// A place for every member, the same in every run. The instructor is on the left of the
/// administrator, at the same height; members with no path between them are drawn apart.
pub fn layout(club: &Club) -> Vec<Point> {
    let distances = distances(club);
    let mut places = circle(club.len());
    for _ in 0..STEPS {
        majorize(&mut places, &distances);
    }
    separate(&mut places);
    turn(&mut places);
    places
}

/// How many ties lie between each two members; as many as there are members where no path does.
fn distances(club: &Club) -> Vec<Vec<f64>> {
    let members = club.len();
    let mut distances = vec![vec![members as f64; members]; members];
    for (member, row) in distances.iter_mut().enumerate() {
        row[member] = 0.0;
    }
    for &(a, b) in &club.ties {
        distances[a][b] = 1.0;
        distances[b][a] = 1.0;
    }
    for via in 0..members {
        for a in 0..members {
            for b in 0..members {
                let around = distances[a][via] + distances[via][b];
                distances[a][b] = distances[a][b].min(around);
            }
        }
    }
    distances
}

/// The start: everybody on a circle, neighbours by number.
fn circle(members: usize) -> Vec<Point> {
    (0..members)
        .map(|member| {
            let angle = std::f64::consts::TAU * member as f64 / members as f64;
            Point {
                x: angle.cos(),
                y: angle.sin(),
            }
        })
        .collect()
}

/// One sweep: each member moves to where the others, each pulling towards the distance it should
/// have with the weight `distance^-2`, are in balance.
fn majorize(places: &mut [Point], distances: &[Vec<f64>]) {
    for member in 0..places.len() {
        let here = places[member];
        let (mut x, mut y, mut weights) = (0.0, 0.0, 0.0);
        for (other, &there) in places.iter().enumerate() {
            if other == member {
                continue;
            }
            let wanted = distances[member][other];
            let (dx, dy) = (here.x - there.x, here.y - there.y);
            let scale = wanted / dx.hypot(dy).max(1e-9);
            let weight = wanted.powi(-2);
            x += weight * (there.x + scale * dx);
            y += weight * (there.y + scale * dy);
            weights += weight;
        }
        if weights > 0.0 {
            places[member] = Point {
                x: x / weights,
                y: y / weights,
            };
        }
    }
}

/// Pushes pairs that are too close apart, each half of the way, until none is.
fn separate(places: &mut [Point]) {
    for _ in 0..STEPS {
        let mut moved = false;
        for b in 1..places.len() {
            for a in 0..b {
                let (dx, dy) = (places[b].x - places[a].x, places[b].y - places[a].y);
                let distance = dx.hypot(dy).max(1e-9);
                let missing = APART - distance;
                if missing > 1e-9 {
                    let half = missing / 2.0 / distance;
                    places[a].x -= half * dx;
                    places[a].y -= half * dy;
                    places[b].x += half * dx;
                    places[b].y += half * dy;
                    moved = true;
                }
            }
        }
        if !moved {
            break;
        }
    }
}

/// Turns the picture so that the two labelled members are level.
fn turn(places: &mut [Point]) {
    if places.len() <= ADMINISTRATOR {
        return;
    }
    let (from, to) = (places[INSTRUCTOR], places[ADMINISTRATOR]);
    let (sin, cos) = (to.y - from.y).atan2(to.x - from.x).sin_cos();
    for place in places {
        *place = Point {
            x: place.x * cos + place.y * sin,
            y: place.y * cos - place.x * sin,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(a: Point, b: Point) -> f64 {
        (a.x - b.x).hypot(a.y - b.y)
    }

    #[test]
    fn distances_on_paper_are_those_in_the_graph() {
        let club: Club = "faction Hi 1 2 3 4\ntie 1 2\ntie 2 3\ntie 3 4"
            .parse()
            .unwrap();
        let places = layout(&club);
        // The last bend of a path straightens slowly.
        for (a, b, wanted) in [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (0, 3, 3.0)] {
            approx::assert_abs_diff_eq!(between(places[a], places[b]), wanted, epsilon = 0.02);
        }
    }

    #[test]
    fn the_club_is_level_and_nobody_covers_another() {
        let places = layout(&Club::zachary());
        let (instructor, administrator) = (places[INSTRUCTOR], places[ADMINISTRATOR]);
        approx::assert_abs_diff_eq!(instructor.y, administrator.y, epsilon = 1e-9);
        assert!(instructor.x < administrator.x);
        for a in 0..places.len() {
            for b in 0..a {
                let apart = between(places[a], places[b]);
                assert!(
                    apart > APART - 1e-6,
                    "members {b} and {a} are {apart} apart"
                );
            }
        }
    }
}
