//! Values as their text: `"(_2,4):(_1,2)"`.

use crate::{ComposedLayout, IntTuple, Integer, Layout, Swizzle, Tiler};
use core::fmt::{self, Formatter};
use core::marker::PhantomData;
use core::str::FromStr;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

/// Reads a value from its text.
struct FromText<T>(PhantomData<T>);

impl<T: FromStr<Err = crate::LayoutError>> Visitor<'_> for FromText<T> {
    type Value = T;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("the text of a layout, or of a part of one")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

macro_rules! as_text {
    ($($type:ty),*) => {
        $(
            impl Serialize for $type {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }

            impl<'de> Deserialize<'de> for $type {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    deserializer.deserialize_str(FromText(PhantomData))
                }
            }
        )*
    };
}
as_text!(ComposedLayout, IntTuple, Integer, Layout, Swizzle, Tiler);
