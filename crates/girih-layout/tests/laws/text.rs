//! What is printed parses back, and no text makes the parser fail other than by an error.

use crate::config;
use crate::inputs::{layout, shape, small};
use crate::swizzle::swizzle;
use girih_layout::{ComposedLayout, IntTuple, Layout, LayoutError, Swizzle, Tiler};
use proptest::prelude::*;
use std::fmt::{Debug, Display};
use std::str::FromStr;

fn parses_back<T: FromStr<Err = LayoutError> + Display + Debug + PartialEq>(
    value: &T,
) -> Result<(), TestCaseError> {
    prop_assert_eq!(&value.to_string().parse::<T>()?, value);
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn printed_values_parse_back(
        shape in shape(), layout in layout(), tile in small(), swizzle in swizzle(), offset: u32
    ) {
        parses_back(&shape)?;
        parses_back(&layout)?;
        parses_back(&swizzle)?;
        parses_back(&ComposedLayout::new(swizzle, u64::from(offset), layout.clone())?)?;
        parses_back(&Tiler::Modes(vec![layout.into(), Tiler::Modes(vec![tile.into()])]))?;
    }

    #[test]
    fn plain_text_is_the_dynamic_layout(layout in layout()) {
        prop_assert_eq!(format!("{layout:#}").parse::<Layout>()?, layout.to_dynamic());
        prop_assert_eq!(format!("{layout:#}"), layout.to_dynamic().to_string());
    }

    #[test]
    fn any_text_is_a_value_or_an_error_in_it(text in "[-0-9(),:_<>Swo é]{0,24}") {
        let errors = [
            text.parse::<IntTuple>().err(),
            text.parse::<Layout>().err(),
            text.parse::<Tiler>().err(),
            text.parse::<Swizzle>().err(),
            text.parse::<ComposedLayout>().err(),
        ];
        for error in errors.into_iter().flatten() {
            let LayoutError::Parse(error) = error else { panic!("{error}") };
            prop_assert!(error.at() <= text.chars().count());
            prop_assert_eq!(error.text(), &text);
            prop_assert!(error.caret().starts_with(&text));
        }
    }
}
