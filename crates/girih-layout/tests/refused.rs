//! Inputs that have no result: each error names what was given and what is allowed.

use girih_layout::{
    IdentityLayout, IntTuple, Integer, Layout, LayoutError, ParseError, Swizzle, ThreadValueLayout,
    Tiler, crd2crd,
};

fn layout(text: &str) -> Layout {
    text.parse().expect("a layout")
}

fn message<T: std::fmt::Debug>(result: Result<T, LayoutError>) -> String {
    result.expect_err("refused").to_string()
}

fn parse_error(text: &str) -> ParseError {
    match text.parse::<Layout>() {
        Err(LayoutError::Parse(error)) => error,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn texts() {
    for (text, at, problem) in [
        ("", 0, "expected an integer or `(`, found the end"),
        ("(2,3", 4, "expected `,` or `)`, found the end"),
        ("(2 3)", 3, "expected `,` or `)`, found `3`"),
        ("2:1)", 3, "expected the end of the text, found `)`"),
        ("(2,3):(1,-2)", 9, "negative integers are not allowed"),
        ("_:1", 1, "expected an integer or `(`, found `:`"),
        ("(2,é):1", 3, "expected an integer or `(`, found `é`"),
        (
            "99999999999999999999:1",
            0,
            "99999999999999999999 is larger than 18446744073709551615",
        ),
        (
            "(2,3):(1,(2,3))",
            0,
            "shape (2,3) and stride (1,(2,3)) must nest in the same way",
        ),
    ] {
        let error = parse_error(text);
        assert_eq!((error.at(), error.problem()), (at, problem), "{text}");
    }
    let deep = "(".repeat(70);
    assert_eq!(parse_error(&deep).problem(), "nested deeper than 64 levels");
    assert_eq!(
        message("<2:1".parse::<Tiler>()),
        "expected `,` or `>`, found the end at character 4 of `<2:1`"
    );
    assert_eq!(
        message("Sw<3,0,2>".parse::<Swizzle>()),
        "Sw<3,0,2>: the shift must move by at least the 3 bits, and base + bits + |shift| be at most 64 \
         at character 0 of `Sw<3,0,2>`"
    );
}

#[test]
fn sizes_past_64_bits() {
    let huge = 1 << 40;
    assert_eq!(
        message(Layout::left((huge, huge))),
        "1099511627776 * 1099511627776 does not fit in 64 bits"
    );
    assert!(Layout::new((huge, 2), (huge, 1)).is_err());
    // An extent of 0 leaves nothing to overflow.
    assert_eq!(
        Layout::left((huge, huge, 0)).expect("empty").size().value(),
        0
    );
}

#[test]
fn coordinates() {
    let layout = layout("(2,(3,4)):(1,(2,6))");
    assert_eq!(
        message(layout.index((1, (3, 0)))),
        "coordinate (1,(3,0)) is outside shape (2,(3,4)): 3 must be below 3"
    );
    assert_eq!(
        message(layout.index((1, 2, 3))),
        "coordinate (1,2,3) does not fit shape (2,(3,4)): at each level it is one integer or has the shape's rank"
    );
    assert_eq!(
        message(layout.coord(24)),
        "coordinate 24 is outside shape (2,(3,4)): 24 must be below 24"
    );
    let sizes = crd2crd(&0.into(), &(2, 3).into(), &(2, 2).into());
    assert_eq!(
        message(sizes),
        "shape (2,3) holds 6 elements and shape (2,2) 4: the sizes must be equal"
    );
}

#[test]
fn paths() {
    let layout = layout("(2,(3,4)):(1,(2,6))");
    assert_eq!(
        message(layout.mode([1, 2])),
        "(2,(3,4)) has no mode at path [1, 2]: mode 2 is asked of a rank of 2"
    );
    assert!(layout.mode(2).is_err());
    assert!(IntTuple::from(3).get([0, 1]).is_err());
}

#[test]
fn compositions() {
    assert_eq!(
        message(layout("(4,3):(1,100)").composition(layout("4:3"))),
        "(4,3):(1,100) after 4:3 is no layout: the steps of the right one, and their sums, \
         must stay in one mode of the left one or cross its modes in whole parts"
    );
    // Each leaf would do, but not their sums.
    assert!(
        layout("(3,2):(6,1)")
            .composition(layout("(2,2):(1,2)"))
            .is_err()
    );
    assert_eq!(
        message(layout("4:1").composition((2, 2))),
        "tiler <2:_1,2:_1> has 2 modes, layout 4:1 has 1: at most as many are allowed"
    );
}

#[test]
fn complements_and_inverses() {
    assert_eq!(
        message(layout("(4,2):(1,3)").complement(24)),
        "(4,2):(1,3) has no complement: of its strides, sorted, each must be a multiple of the reach \
         before it, and 3 is no multiple of 4"
    );
    assert_eq!(
        message(layout("(4,2):(1,0)").left_inverse()),
        "(4,2):(1,0) reaches an offset from several coordinates: a mode of stride 0 must have extent 1 here"
    );
    for empty in [
        layout("(4,0):(1,4)").complement(24),
        layout("(4,0):(1,4)").right_inverse(),
        layout("(4,0):(1,4)").nullspace(),
    ] {
        assert_eq!(
            message(empty),
            "layout (4,0):(1,4) has an extent of 0: every extent must be at least 1 here"
        );
    }
}

#[test]
fn element_widths() {
    assert!(
        message(layout("4:3").upcast(2))
            .starts_with("4:3 cannot be read 2 elements at a time: each stride must divide 2")
    );
    // Steps of 1 and 2 leave a group of 4 that they start in.
    assert!(layout("(3,2):(1,2)").upcast(4).is_err());
    assert_eq!(
        message(layout("4:1").recast(16, 0)),
        "elements of 16 bits as elements of 0 bits: both must be at least 1"
    );
    assert_eq!(
        message(layout("4:1").upcast(0)),
        "1 / 0: the divisor must be at least 1"
    );
}

#[test]
fn units_and_threads() {
    let units = layout("(2,2):(1,4)");
    assert_eq!(
        message(layout("(4,4):(1,4)").local_partition(&units, 2)),
        "unit 2 is not in (2,2):(1,4), whose units are the offsets that it reaches"
    );
    assert_eq!(
        message(ThreadValueLayout::blocked(&units, &layout("2:1"))),
        "threads (2,2):(1,4) and values 2:1: each must reach every number below its size exactly once"
    );
    assert_eq!(
        message(ThreadValueLayout::new((2, 2), layout("(4,2):(1,4)"))),
        "(4,2):(1,4) does not spread a tile (2,2) over threads: it must have two modes, \
         threads and values, and reach offsets below the tile's size"
    );
    let spread = ThreadValueLayout::new((2, 2), layout("(2,2):(1,2)")).expect("a spread");
    assert_eq!(
        message(spread.partition(layout("(4,1):(1,4)"))),
        "shape (4,1) is not that of tile (2,2): each mode must have the same size"
    );
}

#[test]
fn tiles() {
    let matrix = layout("(8,12):(1,8)");
    assert!(message(matrix.local_tile((4, 3), (2, 0))).contains("2 must be below 2"));
    assert!(
        IdentityLayout::new((8, 12))
            .and_then(|whole| whole.local_tile((4, 3), (2, 0)))
            .is_err()
    );
}

#[test]
fn profiles() {
    let profile = layout("(_2,3):(_1,2)").profile();
    assert_eq!(
        message(profile.bind(&[3])),
        "profile (_2,?0):(_1,?1) takes 2 dynamic values, 1 were given"
    );
    assert_eq!(
        message(Integer::Static(1).try_rem(Integer::Static(0))),
        "1 / 0: the divisor must be at least 1"
    );
}
