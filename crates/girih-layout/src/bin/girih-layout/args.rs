//! What can be asked on the command line.

use clap::{Parser, Subcommand, ValueEnum};
use girih_layout::{ComposedLayout, IntTuple, Integer, Layout, LayoutError, Tiler, picture};
use std::path::PathBuf;
use std::str::FromStr;

/// CuTe's layout algebra: layouts are written shape:stride, as in ((2,4),8):((1,16),2).
///
/// A shape alone means compact strides, leftmost fastest. Static integers are written _4. Tilers are layouts, or one
/// for each mode: <3:4,8:2>.
#[derive(Parser)]
#[command(name = "girih-layout", version)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Draw a layout: rows are mode 0, columns mode 1.
    Show {
        /// The layout, or a swizzled one: Sw<3,0,3> o 0 o (8,8):(8,1).
        #[arg(value_parser = parse::<ComposedLayout>)]
        layout: ComposedLayout,
        /// Take the layout as (thread, value) -> element of a tile of this shape, and draw which thread holds which
        /// element.
        #[arg(long, value_name = "SHAPE", value_parser = parse::<IntTuple>, conflicts_with = "banks")]
        tile: Option<IntTuple>,
        /// Draw the shared-memory bank of each element of so many bytes, with the conflicts.
        #[arg(long, value_name = "BYTES")]
        banks: Option<u64>,
        /// Which elements are accessed at the same time.
        #[arg(long, value_enum, default_value_t = Accessed::Columns, requires = "banks")]
        access: Accessed,
        #[command(flatten)]
        output: Output,
    },
    /// The layout A after B: R(c) = A(B(c)).
    Compose {
        /// The layout that goes last.
        #[arg(value_name = "A", value_parser = parse::<Layout>)]
        outer: Layout,
        /// The layout that goes first, or one for each mode.
        #[arg(value_name = "B", value_parser = parse::<Tiler>)]
        tiler: Tiler,
        #[command(flatten)]
        output: Output,
    },
    /// A layout cut into tiles.
    Divide {
        /// The layout to cut.
        #[arg(value_parser = parse::<Layout>)]
        layout: Layout,
        /// The tile, or one for each mode.
        #[arg(value_parser = parse::<Tiler>)]
        tiler: Tiler,
        /// How the modes of the result are grouped.
        #[arg(long, value_enum, default_value_t = Kind::Logical)]
        kind: Kind,
        #[command(flatten)]
        output: Output,
    },
    /// A layout repeated.
    Product {
        /// The layout to repeat.
        #[arg(value_parser = parse::<Layout>)]
        layout: Layout,
        /// Where the copies go, or where for each mode.
        #[arg(value_parser = parse::<Tiler>)]
        tiler: Tiler,
        /// How the modes of the result are grouped.
        #[arg(long, value_enum, default_value_t = Kind::Logical)]
        kind: Kind,
        #[command(flatten)]
        output: Output,
    },
    /// Where to repeat a layout so that the copies fill a range.
    Complement {
        /// The layout.
        #[arg(value_parser = parse::<Layout>)]
        layout: Layout,
        /// The length of the range.
        #[arg(value_parser = parse::<Integer>)]
        max: Integer,
        #[command(flatten)]
        output: Output,
    },
    /// The inverse of a layout.
    Invert {
        /// The layout.
        #[arg(value_parser = parse::<Layout>)]
        layout: Layout,
        /// Right: L(R(i)) = i as far as the offsets 0, 1, 2, ... go. Left: R(L(i)) = i everywhere.
        #[arg(long, value_enum, default_value_t = Side::Right)]
        side: Side,
        #[command(flatten)]
        output: Output,
    },
}

#[derive(clap::Args)]
pub struct Output {
    /// Write the picture to this file instead of drawing it as text.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Mark static integers in the result: _4.
    #[arg(long)]
    pub marks: bool,
}

/// How the modes of a division or product are grouped.
#[derive(Clone, Copy, ValueEnum)]
pub enum Kind {
    /// ((tile, rest), ...): a pair for each mode.
    Logical,
    /// ((tile, ...), (rest, ...)).
    Zipped,
    /// ((tile, ...), rest, ...).
    Tiled,
    /// (tile, ..., rest, ...).
    Flat,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Side {
    Left,
    Right,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Accessed {
    Rows,
    Columns,
}

impl From<Accessed> for picture::Access {
    fn from(access: Accessed) -> Self {
        match access {
            Accessed::Rows => Self::Rows,
            Accessed::Columns => Self::Columns,
        }
    }
}

/// Reads an argument; where it is wrong, the message points at the character.
fn parse<T: FromStr<Err = LayoutError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error| match error {
        LayoutError::Parse(error) => format!("\n\n  {}", error.caret().replace('\n', "\n  ")),
        error => error.to_string(),
    })
}
