//! The README's code is code that the tests run: each of its blocks stands, letter for letter, in a test of the device suite.

const README: &str = include_str!("../../README.md");
const TESTED: [&str; 2] = [
    include_str!("../../suite/src/cases/views.rs"),
    include_str!("../../suite/src/cases/burn/readme.rs"),
];

/// A text without white space, and without its imports.
fn letters(text: &str) -> String {
    text.lines()
        .filter(|line| !line.starts_with("use "))
        .flat_map(str::split_whitespace)
        .collect()
}

#[test]
fn every_block_of_rust_is_tested() {
    let tested = TESTED.map(letters);
    let blocks: Vec<&str> = README
        .split("```rust\n")
        .skip(1)
        .map(|rest| rest.split("```").next().expect("a block"))
        .collect();
    assert_eq!(
        blocks.len(),
        2,
        "the README has a first kernel and a first call"
    );
    for block in blocks {
        let found = tested.iter().any(|file| file.contains(&letters(block)));
        assert!(found, "no test holds this block of the README:\n{block}");
    }
}
