//! The pictures of layouts in the book are what the library draws.
//!
//! `GIRIH_WRITE_PICTURES=1 cargo test -p girih-layout --test book_pictures` writes them anew.

use girih_layout::picture::{Access, Banks};
use girih_layout::{ComposedLayout, Layout, Picture, ThreadValueLayout, WarpMatrix};
use std::collections::BTreeMap;
use std::path::Path;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/img/layouts");

fn layout(text: &str) -> Layout {
    text.parse().expect("a layout")
}

fn offsets(layout: &Layout) -> Picture {
    Picture::of_layout(layout).expect("a small grid")
}

fn banks(text: &str) -> Picture {
    let layout: ComposedLayout = text.parse().expect("a layout");
    Picture::of_banks(layout, Banks::shared_memory(4), Access::Columns).expect("a small grid")
}

fn threads(spread: ThreadValueLayout) -> Picture {
    Picture::of_threads(&spread).expect("a small grid")
}

fn pictures() -> BTreeMap<&'static str, Picture> {
    let matrix = layout("(8,12):(1,8)");
    let (block, grid) = (layout("(2,3):(3,1)"), layout("(3,2):(1,3)"));
    let with_complement = |tile: &Layout| {
        let rest = tile.complement(24).expect("it exists");
        Layout::from_modes(&[tile.clone(), rest]).expect("small")
    };
    let (units, values) = (layout("(2,4):(4,1)"), layout("(2,2):(2,1)"));
    let halves = WarpMatrix::new(16, 16).expect("there is one");
    BTreeMap::from([
        ("left", offsets(&layout("(4,6):(1,4)"))),
        ("right", offsets(&layout("(4,6):(6,1)"))),
        ("padded", offsets(&layout("(4,6):(8,1)"))),
        ("nested", offsets(&layout("((2,2),(2,4)):((1,4),(2,8))"))),
        (
            "composition",
            offsets(
                &layout("20:2")
                    .composition(layout("(5,4):(4,1)"))
                    .expect("it exists"),
            ),
        ),
        (
            "complement",
            offsets(&with_complement(&layout("(2,2):(1,6)"))),
        ),
        ("matrix", offsets(&matrix)),
        (
            "zipped_divide",
            offsets(&matrix.zipped_divide((4, 3)).expect("it exists")),
        ),
        (
            "blocked_product",
            offsets(&block.blocked_product(&grid).expect("it exists")),
        ),
        (
            "raked_product",
            offsets(&block.raked_product(&grid).expect("it exists")),
        ),
        (
            "threads_blocked",
            threads(ThreadValueLayout::blocked(&units, &values).expect("compact")),
        ),
        (
            "threads_striped",
            threads(ThreadValueLayout::striped(&units, &values).expect("compact")),
        ),
        ("fragment_left", threads(halves.left())),
        ("fragment_right", threads(halves.right())),
        ("fragment_sums", threads(WarpMatrix::sums())),
        ("banks", banks("(8,32):(32,1)")),
        ("banks_swizzled", banks("Sw<3,0,5> o 0 o (8,32):(32,1)")),
    ])
}

#[test]
fn the_files_are_what_the_library_draws() {
    let write = std::env::var_os("GIRIH_WRITE_PICTURES").is_some();
    for (name, picture) in pictures() {
        let file = Path::new(FOLDER).join(name).with_extension("svg");
        if write {
            std::fs::write(&file, picture.svg()).expect("the folder is there");
        }
        let found = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            found == picture.svg(),
            "{name}.svg differs: see the head of this file"
        );
    }
}

#[test]
fn every_picture_is_drawn_and_shown() {
    let chapters = concat!(
        include_str!("../../../docs/src/layouts.md"),
        include_str!("../../../docs/src/tensor-cores.md")
    );
    let pictures = pictures();
    for name in pictures.keys() {
        assert!(
            chapters.contains(&format!("(img/layouts/{name}.svg)")),
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
