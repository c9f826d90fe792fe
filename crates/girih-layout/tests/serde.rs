//! Layouts and their parts in JSON.

use girih_layout::{ComposedLayout, IntTuple, Integer, Layout, Swizzle, Tiler};
use serde::{Serialize, de::DeserializeOwned};
use std::fmt::Debug;

fn round_trip<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, json: &str) {
    assert_eq!(serde_json::to_string(value).expect("text"), json);
    assert_eq!(&serde_json::from_str::<T>(json).expect("a value"), value);
}

#[test]
fn values_are_their_text() {
    let layout: Layout = "(_2,(3,4)):(_1,(2,6))".parse().expect("a layout");
    round_trip(&layout, r#""(_2,(3,4)):(_1,(2,6))""#);
    round_trip(layout.shape(), r#""(_2,(3,4))""#);
    round_trip(&Integer::Static(4), r#""_4""#);
    round_trip(&IntTuple::from(7), r#""7""#);
    round_trip(
        &Tiler::from((3, &layout)),
        r#""<3:_1,(_2,(3,4)):(_1,(2,6))>""#,
    );
    let swizzle = Swizzle::new(3, 3, -3).expect("a swizzle");
    round_trip(&swizzle, r#""Sw<3,3,-3>""#);
    let composed = ComposedLayout::new(swizzle, 5, layout).expect("small");
    round_trip(&composed, r#""Sw<3,3,-3> o 5 o (_2,(3,4)):(_1,(2,6))""#);
}

#[test]
fn wrong_text_is_an_error_that_names_the_place() {
    let error = serde_json::from_str::<Layout>(r#""(2,x):1""#).expect_err("refused");
    assert!(
        error.to_string().contains("found `x` at character 3"),
        "{error}"
    );
    assert!(serde_json::from_str::<Layout>("3").is_err());
}
