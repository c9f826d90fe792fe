//! Static integers as values without data, and names for the common ones.
//!
//! ```
//! use girih_layout::Layout;
//! use girih_layout::consts::*;
//!
//! // Two static extents and a dynamic one.
//! let layout = Layout::left((_2, (_3, 4)))?;
//! assert_eq!(layout.to_string(), "(_2,(_3,4)):(_1,(_2,_6))");
//! # Ok::<(), girih_layout::LayoutError>(())
//! ```

use crate::Integer;

/// The static integer `N`, CuTe's `Int<N>`: a type, whose value holds no data.
///
/// ```
/// use girih_layout::{Integer, Static};
///
/// assert_eq!(size_of::<Static<3>>(), 0);
/// assert_eq!(Static::<3>::VALUE, 3);
/// assert_eq!(Integer::from(Static::<3>), Integer::Static(3));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Static<const N: u64>;

impl<const N: u64> Static<N> {
    /// The number.
    pub const VALUE: u64 = N;
}

impl<const N: u64> From<Static<N>> for Integer {
    fn from(_: Static<N>) -> Self {
        Self::Static(N)
    }
}

macro_rules! names {
    ($($name:ident $value:literal),* $(,)?) => {
        $(
            #[doc = concat!("The static integer ", $value, ".")]
            pub const $name: Static<$value> = Static;
        )*
    };
}

names! {
    _0 0, _1 1, _2 2, _3 3, _4 4, _5 5, _6 6, _7 7, _8 8, _9 9, _10 10, _11 11, _12 12, _13 13, _14 14, _15 15, _16 16,
    _24 24, _32 32, _48 48, _64 64, _96 96, _128 128, _192 192, _256 256, _384 384, _512 512, _1024 1024, _2048 2048,
    _4096 4096, _8192 8192,
}
