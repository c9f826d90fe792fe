//! The command `girih-layout`.

use std::process::{Command, Output};

fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_girih-layout"))
        .args(args)
        .output()
        .expect("the command starts")
}

fn stdout(args: &[&str]) -> String {
    let output = run(args);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).expect("text")
}

fn stderr(args: &[&str]) -> String {
    let output = run(args);
    assert!(!output.status.success());
    String::from_utf8(output.stderr).expect("text")
}

#[test]
fn show_draws_a_table() {
    let expected = "\
rank 2, depth 1, size 6, cosize 6
(2,3):(3,1)
    0   1   2
  +---+---+---+
0 | 0 | 1 | 2 |
  +---+---+---+
1 | 3 | 4 | 5 |
  +---+---+---+
";
    assert_eq!(stdout(&["show", "(2,3):(3,1)"]), expected);
}

#[test]
fn show_writes_svg() {
    let file = std::env::temp_dir().join(format!("girih-layout-{}.svg", std::process::id()));
    let path = file.to_str().expect("a path");
    assert!(stdout(&["show", "((2,4),8):((1,16),2)", "--svg", path]).starts_with("rank 2"));
    let svg = std::fs::read_to_string(&file).expect("the picture");
    std::fs::remove_file(&file).expect("removed");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    // A cell for each element, and the background.
    assert_eq!(svg.matches("<rect ").count(), 64 + 1);
}

#[test]
fn show_draws_threads_and_banks() {
    let threads = stdout(&["show", "((2,2),2):((4,1),2)", "--tile", "(4,2)"]);
    assert!(threads.contains("| T0V0 | T1V0 |"), "{threads}");
    let banks = stdout(&["show", "(4,2):(32,1)", "--banks", "4"]);
    assert!(banks.contains("| 0x4 | 1x4 |"), "{banks}");
    let swizzled = stdout(&["show", "Sw<2,0,5> o 0 o (4,4):(32,1)", "--banks", "4"]);
    assert!(swizzled.contains("3 | 3 | 2 | 1 | 0 |"), "{swizzled}");
}

#[test]
fn operations_print_their_result() {
    let first_line = |args: &[&str]| stdout(args).lines().next().expect("a result").to_string();
    assert_eq!(
        first_line(&["compose", "(6,2):(8,2)", "(4,3):(3,1)"]),
        "((2,2),3):((24,2),8)"
    );
    assert_eq!(
        first_line(&["compose", "(12,(4,8)):(59,(13,1))", "<3:4,8:2>"]),
        "(3,(2,4)):(236,(26,1))"
    );
    assert_eq!(
        first_line(&["divide", "(4,2,3):(2,1,8)", "4:2"]),
        "((2,2),(2,3)):((4,1),(2,8))"
    );
    assert_eq!(
        first_line(&["divide", "(8,12)", "<4,3>", "--kind", "flat"]),
        "(4,3,2,4):(1,8,4,24)"
    );
    assert_eq!(
        first_line(&["product", "(2,2):(4,1)", "6:1"]),
        "((2,2),(2,3)):((4,1),(2,8))"
    );
    assert_eq!(
        first_line(&["complement", "(2,2):(1,6)", "24"]),
        "(3,2):(2,12)"
    );
    assert_eq!(
        first_line(&["complement", "(_2,_2):(_1,_6)", "24", "--marks"]),
        "(_3,2):(_2,_12)"
    );
    assert_eq!(first_line(&["invert", "(3,4):(4,1)"]), "(4,3):(3,1)");
    assert_eq!(
        first_line(&["invert", "(4,3):(1,8)", "--side", "left"]),
        "(4,2,3):(1,12,4)"
    );
}

#[test]
fn errors_point_at_the_character() {
    let error = stderr(&["show", "((2,x),8):((1,16),2)"]);
    assert!(
        error.contains("\n  ((2,x),8):((1,16),2)\n      ^ expected an integer or `(`, found `x`\n"),
        "{error}"
    );
    let refused = stderr(&["complement", "(4,2):(1,3)", "24"]);
    assert!(
        refused.starts_with("error: (4,2):(1,3) has no complement"),
        "{refused}"
    );
    let file = stderr(&["show", "4:1", "--svg", "/no/such/folder/out.svg"]);
    assert!(
        file.starts_with("error: cannot write /no/such/folder/out.svg"),
        "{file}"
    );
}

#[test]
fn help_names_every_operation() {
    let help = stdout(&["--help"]);
    for operation in [
        "show",
        "compose",
        "divide",
        "product",
        "complement",
        "invert",
    ] {
        assert!(help.contains(operation), "{help}");
    }
}
