//! The pictures of the book's chapter on groups are what the library draws.
//!
//! `GIRIH_WRITE_PICTURES=1 cargo test -p girih --test book_groups` writes them anew.

use cubecl::prelude::*;
use girih::coop::{
    Group, GroupMapping, GroupMappingExpand, HostGroup, LaneMask, Level, MappingResult, Tag,
    binary_partition, group_as, group_by, own, take,
};
use std::collections::BTreeMap;
use std::path::Path;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/img/groups");

/// Numbers the units of each group from its end.
#[derive(CubeType)]
struct Reverse {}

#[cube]
impl GroupMapping for Reverse {
    fn map(
        &self,
        #[comptime] _unit: Level,
        _parent: &Group,
        previous: MappingResult,
        #[comptime] _tag: Tag,
    ) -> MappingResult {
        MappingResult {
            properties: comptime!(previous.properties.reordered()),
            group_count: previous.group_count,
            group_rank: previous.group_rank,
            unit_count: previous.unit_count,
            unit_rank: previous.unit_count - 1 - previous.unit_rank,
            is_valid: previous.is_valid,
            lane_mask: previous.lane_mask,
        }
    }
}

fn pictures() -> girih::Result<BTreeMap<&'static str, String>> {
    let eight = HostGroup::plane(8)?;
    let thirds = LaneMask::from(0b0100_1001);
    let groups = [
        ("cube", HostGroup::cube(16, 8)?),
        ("group_by", eight.partition(&group_by(2))?),
        (
            "group_by_left_over",
            eight.partition_non_exhaustive(&group_by(3))?,
        ),
        ("group_as", eight.partition(&group_as([1, 3, 4]))?),
        ("take", eight.partition(&take(5))?),
        (
            "binary_partition",
            eight.partition(&binary_partition(thirds))?,
        ),
        (
            "chain",
            eight.partition(&(group_by(4) | binary_partition(thirds)))?,
        ),
        (
            "planes",
            HostGroup::cube(32, 8)?.planes().partition(&group_by(2))?,
        ),
        ("own", eight.partition(&(own(Reverse {}) | group_by(2)))?),
    ];
    Ok(groups
        .into_iter()
        .map(|(name, group)| (name, group.picture().svg()))
        .collect())
}

#[test]
fn the_files_are_what_the_library_draws() {
    let write = std::env::var_os("GIRIH_WRITE_PICTURES").is_some();
    for (name, picture) in pictures().expect("mappings that apply") {
        let file = Path::new(FOLDER).join(name).with_extension("svg");
        if write {
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
    let chapter = include_str!("../../../docs/src/groups.md");
    let pictures = pictures().expect("mappings that apply");
    for name in pictures.keys() {
        assert!(
            chapter.contains(&format!("(img/groups/{name}.svg)")),
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
