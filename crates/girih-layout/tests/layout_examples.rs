//! The worked examples of the introduction to CuTe layouts that the library follows, each under the name that it has
//! there.

use girih_layout::consts::*;
use girih_layout::{IntTuple, Integer, Layout, LayoutError, Static};

fn text(tuple: &IntTuple) -> String {
    format!("{tuple:#}")
}

fn layout(text: &str) -> Layout {
    text.parse().expect("the example is a layout")
}

/// `rank`, `depth` and `size` of a tuple.
fn observed(tuple: &IntTuple) -> (usize, usize, u64) {
    (
        tuple.rank(),
        tuple.depth(),
        tuple.size().expect("small").value(),
    )
}

#[test]
fn integers() -> Result<(), LayoutError> {
    let n = Integer::from(4);
    // is_static
    assert!(Integer::from(_3).is_static());
    assert!(!n.is_static());
    // A static integer holds no data; its value belongs to its type.
    assert_eq!(size_of::<Static<3>>(), 0);
    assert_eq!(Static::<3>::VALUE, 3);
    // n + _3 = 7 (dynamic result)
    assert_eq!(n.try_add(_3.into())?, Integer::Dynamic(7));
    // _2 * _3 = _6 (still a static integer)
    assert_eq!(Integer::from(_2).try_mul(_3.into())?, Integer::Static(6));
    Ok(())
}

#[test]
fn rank_counts_the_outermost_modes() {
    let rank = |tuple: IntTuple| tuple.rank();
    assert_eq!(rank(5.into()), 1);
    assert_eq!(rank((3, 4).into()), 2);
    assert_eq!(rank((3, 4, 5).into()), 3);
    assert_eq!(rank((3, (4, 5)).into()), 2);
}

#[test]
fn depth_counts_the_nesting() {
    let depth = |tuple: IntTuple| tuple.depth();
    assert_eq!(depth(5.into()), 0);
    assert_eq!(depth((3, 4).into()), 1);
    assert_eq!(depth((3, (4, 5)).into()), 2);
}

#[test]
fn t1() -> Result<(), LayoutError> {
    let t1 = IntTuple::from(2);
    assert_eq!(observed(&t1), (1, 0, 2));
    assert_eq!(text(&t1.get(0)?), "2");
    // A leaf has depth 0, but `(2)` is a tuple.
    assert_eq!(IntTuple::from((2,)).depth(), 1);
    Ok(())
}

#[test]
fn t2() -> Result<(), LayoutError> {
    let t2 = IntTuple::from(_3);
    assert_eq!(observed(&t2), (1, 0, 3));
    assert_eq!(t2.get(0)?.as_integer(), Some(Integer::Static(3)));
    Ok(())
}

#[test]
fn t3() -> Result<(), LayoutError> {
    let t3 = IntTuple::from((2, _3));
    assert_eq!(observed(&t3), (2, 1, 6));
    assert_eq!(t3.get(0)?.as_integer(), Some(Integer::Dynamic(2)));
    assert_eq!(t3.get(1)?.as_integer(), Some(Integer::Static(3)));
    Ok(())
}

#[test]
fn t4() -> Result<(), LayoutError> {
    let t4 = IntTuple::from((42, (_1, 3), Static::<17>));
    assert_eq!(observed(&t4), (3, 2, 2142));
    assert_eq!(text(&t4.get(0)?), "42");
    assert_eq!((t4.get(1)?.rank(), t4.get(1)?.depth()), (2, 1));
    assert_eq!(text(&t4.get([1, 0])?), "1");
    assert_eq!(text(&t4.get([1, 1])?), "3");
    assert_eq!(text(&t4.get(2)?), "17");
    Ok(())
}

#[test]
fn a() {
    assert_eq!(observed(&6.into()), (1, 0, 6));
}

#[test]
fn b() {
    assert_eq!(observed(&(2,).into()), (1, 1, 2));
}

#[test]
fn c() {
    assert_eq!(observed(&(4, 3).into()), (2, 1, 12));
}

#[test]
fn d() -> Result<(), LayoutError> {
    let d = IntTuple::from((3, (6, 2), 8));
    assert_eq!(observed(&d), (3, 2, 288));
    assert_eq!(text(&d.get(0)?), "3");
    assert_eq!(observed(&d.get(1)?), (2, 1, 12));
    assert_eq!(text(&d.get([1, 0])?), "6");
    assert_eq!(text(&d.get([1, 1])?), "2");
    assert_eq!(text(&d.get(2)?), "8");
    Ok(())
}

#[test]
fn cosize_counts_the_holes() {
    // 2 x 3 elements, columns 4 apart: offsets 0, 1, 4, 5, 8, 9.
    let padded = layout("(2,3):(1,4)");
    assert!(padded.offsets().eq([0, 1, 4, 5, 8, 9]));
    assert_eq!(padded.size().value(), 6);
    assert_eq!(padded.cosize().value(), 10);
}

#[test]
fn coordinate_to_index() -> Result<(), LayoutError> {
    let layout = layout("(2,(3,4)):(1,(2,3))");
    for (i, j, k) in (0..24).map(|x| (x % 2, x / 2 % 3, x / 6)) {
        assert_eq!(layout.index((i, (j, k)))?.value(), i + j * 2 + k * 3);
    }
    Ok(())
}

#[test]
fn layout_left() -> Result<(), LayoutError> {
    assert_eq!(text(Layout::left((2, 3, 4))?.stride()), "(1,2,6)");
    // It is what a shape without strides means.
    assert_eq!(layout("(2,3,4)"), Layout::left((2, 3, 4))?);
    // The leftmost coordinate moves fastest.
    assert_eq!(Layout::left((2, 3, 4))?.index((1, 0, 0))?.value(), 1);
    Ok(())
}

#[test]
fn layout_right() -> Result<(), LayoutError> {
    assert_eq!(text(Layout::right((2, 3, 4))?.stride()), "(12,4,1)");
    // The rightmost coordinate moves fastest.
    assert_eq!(Layout::right((2, 3, 4))?.index((0, 0, 1))?.value(), 1);
    Ok(())
}

#[test]
fn s2xh4() -> Result<(), LayoutError> {
    let s2xh4 = layout("(2,(2,2)):(4,(2,1))");
    assert_eq!((s2xh4.rank(), s2xh4.depth()), (2, 2));
    assert_eq!(s2xh4.size().value(), 8);
    assert_eq!(s2xh4.cosize().value(), 8);
    assert_eq!(text(s2xh4.shape()), "(2,(2,2))");
    assert_eq!(text(s2xh4.stride()), "(4,(2,1))");
    assert_eq!(s2xh4.mode(0)?.to_string(), "2:4");
    assert_eq!(s2xh4.mode(1)?.to_string(), "(2,2):(2,1)");
    assert_eq!(s2xh4.index(s2xh4.size().value() - 1)?.value() + 1, 8);
    Ok(())
}

#[test]
fn s2xh4_by_path() -> Result<(), LayoutError> {
    let s2xh4 = layout("(2,(2,2)):(4,(2,1))");
    assert_eq!(s2xh4.mode([1, 0])?.to_string(), "2:2");
    assert_eq!(s2xh4.mode([1, 1])?.to_string(), "2:1");
    assert_eq!(s2xh4.mode(1)?.rank(), 2);
    assert_eq!(s2xh4.mode(1)?.depth(), 1);
    assert_eq!(text(s2xh4.mode(0)?.shape()), "2");
    assert_eq!(text(s2xh4.mode(1)?.shape()), "(2,2)");
    assert_eq!(s2xh4.mode(0)?.size().value(), 2);
    assert_eq!(s2xh4.mode(1)?.size().value(), 4);
    assert_eq!(s2xh4.mode([1, 0])?.size().value(), 2);
    Ok(())
}
