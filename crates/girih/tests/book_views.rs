//! The pictures of the book's chapter on views: which element of memory each element of a tile is, computed by the rule that
//! the chapter states.
//!
//! `GIRIH_WRITE_PICTURES=1 cargo test -p girih --test book_views` writes them anew.

use girih::view::Bounds;
use girih_layout::Picture;
use std::collections::BTreeMap;
use std::path::Path;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/img/views");

/// What one dimension of a tile is given.
enum Entry {
    List(&'static [i64]),
    Run(i64, usize),
}
use Entry::{List, Run};

impl Entry {
    fn indices(&self) -> Vec<i64> {
        match self {
            List(list) => list.to_vec(),
            Run(start, extent) => (0..*extent as i64).map(|j| start + j).collect(),
        }
    }
}

/// Labels and colours of a matrix's cells.
type Cells = Vec<(String, Option<u64>)>;

/// A matrix of which each cell says which elements of the tile it is, coloured by the tile's row or column; tile
/// coordinates that lead nowhere are told in the title.
fn covered(
    title: &str,
    [rows, columns]: [usize; 2],
    colour_by: usize,
    places: impl IntoIterator<Item = ([usize; 2], [i64; 2])>,
) -> Picture {
    let mut cells: Cells = vec![(String::new(), None); rows * columns];
    let mut outside = 0;
    for (at, place) in places {
        let inside = place[0] >= 0 && place[1] >= 0;
        let (row, column) = (place[0] as usize, place[1] as usize);
        if !inside || row >= rows || column >= columns {
            outside += 1;
            continue;
        }
        let (label, colour) = &mut cells[row * columns + column];
        if !label.is_empty() {
            label.push(' ');
        }
        label.push_str(&format!("{},{}", at[0], at[1]));
        colour.get_or_insert(at[colour_by] as u64);
    }
    let title = match outside {
        0 => title.to_owned(),
        _ => format!("{title}; {outside} elements out of range"),
    };
    Picture::of_cells(title, columns, cells)
}

/// The elements of a tile of two dimensions.
fn gathered(title: &str, extents: [usize; 2], colour_by: usize, pack: [Entry; 2]) -> Picture {
    let [first, second] = pack.map(|entry| entry.indices());
    let places = first.iter().enumerate().flat_map(|(i, &row)| {
        let columns = second.iter().enumerate();
        columns.map(move |(j, &column)| ([i, j], [row, column]))
    });
    covered(title, extents, colour_by, places)
}

/// A tensor of three axes as one matrix: row `(i, j)` is row `3 i + j`.
fn paired(title: &str, first: &[i64], second: &[i64], start: i64, extent: usize) -> Picture {
    let places = first
        .iter()
        .zip(second)
        .enumerate()
        .flat_map(|(n, (&i, &j))| {
            (0..extent).map(move |k| ([n, k], [3 * i + j, start + k as i64]))
        });
    covered(title, [6, 8], 0, places)
}

/// Which tiles of a partition each element of a matrix is in.
fn tiles(
    title: &str,
    extents: [usize; 2],
    tile: [usize; 2],
    step: [usize; 2],
    order: [usize; 2],
) -> Picture {
    let counts = [0, 1].map(|dim| extents[order[dim]].div_ceil(step[dim]));
    let cells = (0..extents[0] * extents[1]).map(|position| {
        let place = [position / extents[1], position % extents[1]];
        let holds = |number: [usize; 2]| {
            (0..2).all(|dim| {
                let first = number[dim] * step[dim];
                (first..first + tile[dim]).contains(&place[order[dim]])
            })
        };
        let numbers = (0..counts[0]).flat_map(|i| (0..counts[1]).map(move |j| [i, j]));
        let holding: Vec<_> = numbers.filter(|number| holds(*number)).collect();
        let labels: Vec<_> = holding.iter().map(|[i, j]| format!("{i},{j}")).collect();
        let colour = holding.first().map(|[i, j]| (i * counts[1] + j) as u64);
        (labels.join(" "), colour)
    });
    Picture::of_cells(title, extents[1], cells.collect::<Vec<_>>())
}

/// Where indices from -6 to 9 lead along an axis of 4, a row for each rule.
fn bounds() -> Picture {
    let indices = -6..10i64;
    let mut cells: Cells = indices
        .clone()
        .map(|index| (index.to_string(), None))
        .collect();
    for rule in [Bounds::Mask, Bounds::Clamp, Bounds::Wrap] {
        cells.extend(indices.clone().map(|index| {
            let place = match rule {
                Bounds::Clamp => index.clamp(0, 3),
                Bounds::Wrap if index < 0 => index + 4,
                _ => index,
            };
            match (0..4).contains(&place) {
                true => (place.to_string(), Some(place as u64)),
                false => ("-".to_owned(), None),
            }
        }));
    }
    Picture::of_cells("index, Mask, Clamp, Wrap on an extent of 4", 16, cells)
}

fn pictures() -> BTreeMap<&'static str, String> {
    let pictures = [
        (
            "gather_rows",
            gathered(
                "rows 5 0 3 5, columns from 3",
                [8, 10],
                0,
                [List(&[5, 0, 3, 5]), Run(3, 4)],
            ),
        ),
        (
            "gather_columns",
            gathered(
                "rows from 3, columns 5 6 10 1",
                [6, 10],
                1,
                [Run(3, 4), List(&[5, 6, 10, 1])],
            ),
        ),
        (
            "scatter_rows",
            gathered(
                "rows 3 1, columns from 1",
                [6, 10],
                0,
                [List(&[3, 1]), Run(1, 4)],
            ),
        ),
        (
            "gather_crossed",
            gathered(
                "rows 4 0 2, columns 6 1",
                [6, 8],
                0,
                [List(&[4, 0, 2]), List(&[6, 1])],
            ),
        ),
        (
            "gather_paired",
            paired("(1,0) (0,2) (1,1), from 2", &[1, 0, 1], &[0, 2, 1], 2, 4),
        ),
        (
            "tiles",
            tiles("tiles of 2 x 4", [5, 10], [2, 4], [2, 4], [0, 1]),
        ),
        (
            "tiles_overlap",
            tiles(
                "tiles of 2 x 4, 2 x 2 apart",
                [4, 8],
                [2, 4],
                [2, 2],
                [0, 1],
            ),
        ),
        (
            "tiles_gaps",
            tiles(
                "tiles of 2 x 4, 3 x 5 apart",
                [6, 10],
                [2, 4],
                [3, 5],
                [0, 1],
            ),
        ),
        (
            "tiles_order",
            tiles("tiles of 4 x 2, order 1 0", [4, 8], [4, 2], [4, 2], [1, 0]),
        ),
        ("bounds", bounds()),
    ];
    pictures
        .into_iter()
        .map(|(name, picture)| (name, picture.svg()))
        .collect()
}

#[test]
fn the_files_are_what_the_rules_say() {
    let write = std::env::var_os("GIRIH_WRITE_PICTURES").is_some();
    for (name, picture) in pictures() {
        let file = Path::new(FOLDER).join(name).with_extension("svg");
        if write {
            std::fs::create_dir_all(FOLDER).expect("a folder beside the others");
            std::fs::write(&file, &picture).expect("the folder is there");
        }
        let found = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            found == picture,
            "{name}.svg differs: see the head of this file"
        );
    }
}

#[test]
fn every_picture_is_drawn_and_shown() {
    let chapter = include_str!("../../../docs/src/views.md");
    let pictures = pictures();
    for name in pictures.keys() {
        assert!(
            chapter.contains(&format!("(img/views/{name}.svg)")),
            "{name} is not shown"
        );
    }
    for entry in std::fs::read_dir(FOLDER).expect("the folder is there") {
        let name = entry.expect("an entry").file_name();
        let name = name
            .to_str()
            .and_then(|name| name.strip_suffix(".svg"))
            .expect("an SVG file");
        assert!(
            pictures.contains_key(name),
            "{name}.svg is drawn by nothing"
        );
    }
}
