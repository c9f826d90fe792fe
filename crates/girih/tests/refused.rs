//! What the compiler refuses, and in what words: each file of `refused/` fails with the text beside it.

#[test]
fn misuses_do_not_compile() {
    trybuild::TestCases::new().compile_fail("tests/refused/*.rs");
}
