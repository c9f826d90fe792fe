//! Values to texts.

use crate::tuple::View;
use crate::{
    ComposedLayout, IntTuple, Integer, Layout, Profile, Swizzle, ThreadValueLayout, Tiler,
};
use core::fmt::{self, Debug, Display, Formatter};

impl Display for Integer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Static(value) if !f.alternate() => write!(f, "_{value}"),
            _ => write!(f, "{}", self.value()),
        }
    }
}

impl Display for IntTuple {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_tuple(f, self.view(), &Display::fmt)
    }
}

impl Display for Layout {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_pair(f, self.shape(), self.stride(), &Display::fmt)
    }
}

impl Display for Profile {
    /// As a layout, with `?0`, `?1` and so on for the dynamic values.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_pair(f, self.shape(), self.stride(), &|leaf, f| match leaf {
            Integer::Static(_) => Display::fmt(leaf, f),
            Integer::Dynamic(number) => write!(f, "?{number}"),
        })
    }
}

impl Display for Swizzle {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Sw<{},{},{}>", self.bits(), self.base(), self.shift())
    }
}

impl Display for ComposedLayout {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} o ", self.swizzle())?;
        Display::fmt(&self.offset(), f)?;
        f.write_str(" o ")?;
        Display::fmt(self.layout(), f)
    }
}

impl Display for ThreadValueLayout {
    /// The layout of threads and values, and the tile's shape after it.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self.layout(), f)?;
        f.write_str(" in ")?;
        Display::fmt(self.tile_shape(), f)
    }
}

impl Display for Tiler {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let tilers = match self {
            Self::Layout(layout) => return Display::fmt(layout, f),
            Self::Modes(tilers) => tilers,
        };
        f.write_str("<")?;
        for (i, tiler) in tilers.iter().enumerate() {
            if i > 0 {
                f.write_str(",")?;
            }
            Display::fmt(tiler, f)?;
        }
        f.write_str(">")
    }
}

type WriteLeaf<'a> = &'a dyn Fn(&Integer, &mut Formatter<'_>) -> fmt::Result;

fn write_pair(
    f: &mut Formatter<'_>,
    shape: &IntTuple,
    stride: &IntTuple,
    leaf: WriteLeaf<'_>,
) -> fmt::Result {
    write_tuple(f, shape.view(), leaf)?;
    f.write_str(":")?;
    write_tuple(f, stride.view(), leaf)
}

fn write_tuple(f: &mut Formatter<'_>, tuple: View<'_>, leaf: WriteLeaf<'_>) -> fmt::Result {
    if let Some(value) = tuple.leaf() {
        return leaf(&value, f);
    }
    f.write_str("(")?;
    for (i, mode) in tuple.modes().enumerate() {
        if i > 0 {
            f.write_str(",")?;
        }
        write_tuple(f, mode, leaf)?;
    }
    f.write_str(")")
}

// The text says it all, and more readably than the fields would.
macro_rules! debug_as_text {
    ($($type:ty),*) => {
        $(
            impl Debug for $type {
                fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                    Display::fmt(self, f)
                }
            }
        )*
    };
}
debug_as_text!(
    ComposedLayout,
    IntTuple,
    Layout,
    Profile,
    Swizzle,
    ThreadValueLayout,
    Tiler
);
