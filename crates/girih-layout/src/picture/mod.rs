//! Pictures of layouts, as text tables and as SVG.

mod banks;
mod svg;
mod table;

use crate::{ComposedLayout, LayoutError, ThreadValueLayout};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

pub use banks::{Access, Banks};

/// A grid of labelled cells. Its `Display` is a text table, [`svg`](Picture::svg) an image.
///
/// ```
/// use girih_layout::{Layout, Picture};
///
/// let layout: Layout = "(2,3):(3,1)".parse()?;
/// let table = "\
/// (2,3):(3,1)
///     0   1   2
///   +---+---+---+
/// 0 | 0 | 1 | 2 |
///   +---+---+---+
/// 1 | 3 | 4 | 5 |
///   +---+---+---+
/// ";
/// assert_eq!(Picture::of_layout(&layout)?.to_string(), table);
/// # Ok::<(), girih_layout::LayoutError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    title: String,
    columns: usize,
    /// Row by row.
    cells: Vec<Cell>,
}

/// What a cell says and how it is filled.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Cell {
    /// Said in both forms.
    label: String,
    /// Said in small letters below, in images alone.
    note: String,
    fill: Fill,
}

/// Fills by meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    Nothing,
    /// One of eight greys, by offset.
    Offset(u64),
    /// A colour for each thread; the values of a thread are shades of it.
    Thread(u64, u64),
    /// Green without conflict, then yellow to red by how many accesses one bank must serve.
    Conflict(u64),
}

impl Picture {
    /// No picture has more cells.
    pub const MAX_CELLS: u64 = 1 << 16;

    /// The offset at each coordinate: rows are mode 0, columns mode 1. A layout of rank 1 is one row.
    ///
    /// # Errors
    /// [`LayoutError::Picture`] for another rank, or more than [`MAX_CELLS`](Picture::MAX_CELLS) elements.
    pub fn of_layout(layout: impl Into<ComposedLayout>) -> Result<Self, LayoutError> {
        let layout = layout.into();
        let grid = Grid::of(&layout)?;
        let cell = |offset: u64| Cell {
            label: offset.to_string(),
            note: String::new(),
            fill: Fill::Offset(offset),
        };
        Ok(Self {
            title: title(&layout),
            columns: grid.columns,
            cells: grid.offsets.into_iter().map(cell).collect(),
        })
    }

    /// The thread and value that hold each element of a tile, coloured by thread: `T3V1`, and `T3V1+2` where two more
    /// do. Rows are mode 0 of the tile, columns mode 1.
    ///
    /// # Errors
    /// [`LayoutError::Picture`] for a tile of rank above 2, or more than [`MAX_CELLS`](Picture::MAX_CELLS) elements.
    pub fn of_threads(spread: &ThreadValueLayout) -> Result<Self, LayoutError> {
        let tile = crate::Layout::left(spread.tile_shape())?;
        let grid = Grid::of(&tile.into())?;
        let threads = spread.threads().size().value();
        require_few(spread.layout())?;
        let mut holders = alloc::vec![(None, 0u64); grid.offsets.len()];
        for (holder, element) in (0..).zip(spread.layout().offsets()) {
            let (first, count) = &mut holders[element as usize];
            *first = first.or(Some((holder % threads, holder / threads)));
            *count += 1;
        }
        let cells = grid
            .offsets
            .iter()
            .map(|&element| thread_cell(holders[element as usize]));
        Ok(Self {
            title: format!("{spread:#}"),
            columns: grid.columns,
            cells: cells.collect(),
        })
    }

    /// The memory bank of each element, coloured by how many different words of that bank an access needs: the access
    /// takes that many times as long. Each row, or each column, is one access.
    ///
    /// # Errors
    /// [`LayoutError::Picture`] for a rank above 2, or more than [`MAX_CELLS`](Picture::MAX_CELLS) elements;
    /// [`LayoutError::Banks`] when `banks` has a size of 0; [`LayoutError::Overflow`] when an address needs more than
    /// 64 bits.
    pub fn of_banks(
        layout: impl Into<ComposedLayout>,
        banks: Banks,
        access: Access,
    ) -> Result<Self, LayoutError> {
        let layout = layout.into();
        let grid = Grid::of(&layout)?;
        let conflicts = banks.conflicts(&grid.offsets, grid.columns, access)?;
        let cell = |(&offset, (bank, ways)): (&u64, (u64, u64))| Cell {
            label: if ways > 1 {
                format!("{bank}x{ways}")
            } else {
                bank.to_string()
            },
            note: format!("@{offset}"),
            fill: Fill::Conflict(ways),
        };
        Ok(Self {
            title: title(&layout),
            columns: grid.columns,
            cells: grid.offsets.iter().zip(conflicts).map(cell).collect(),
        })
    }

    /// The group and the rank in it of each unit, coloured by group: `G1U3` is the unit of rank 3 in group 1. A unit without
    /// either is in no group. Units fill the rows, `columns` in each; cells past [`MAX_CELLS`](Picture::MAX_CELLS) are
    /// left out.
    ///
    /// ```
    /// use girih_layout::Picture;
    ///
    /// let pairs = Picture::of_groups("pairs", 3, [Some((0, 0)), Some((0, 1)), None]);
    /// assert!(pairs.to_string().contains("| G0U0 | G0U1 |      |"));
    /// ```
    pub fn of_groups(
        title: impl Into<String>,
        columns: usize,
        units: impl IntoIterator<Item = Option<(u64, u64)>>,
    ) -> Self {
        let cell = |unit: Option<(u64, u64)>| Cell {
            label: unit.map_or(String::new(), |(group, rank)| format!("G{group}U{rank}")),
            note: String::new(),
            fill: unit.map_or(Fill::Nothing, |(group, rank)| Fill::Thread(group, rank)),
        };
        let units = units.into_iter().take(Self::MAX_CELLS as usize);
        Self {
            title: title.into(),
            columns,
            cells: units.map(cell).collect(),
        }
    }

    /// A table of labels in rows of `columns`, each in one of eight colours or none; cells past
    /// [`MAX_CELLS`](Picture::MAX_CELLS) are left out.
    ///
    /// ```
    /// use girih_layout::Picture;
    ///
    /// let cells = [("a", Some(0)), ("b", None)].map(|(label, colour)| (label.into(), colour));
    /// assert!(Picture::of_cells("two", 2, cells).to_string().contains("| a | b |"));
    /// ```
    pub fn of_cells(
        title: impl Into<String>,
        columns: usize,
        cells: impl IntoIterator<Item = (String, Option<u64>)>,
    ) -> Self {
        let cell = |(label, colour): (String, Option<u64>)| Cell {
            label,
            note: String::new(),
            fill: colour.map_or(Fill::Nothing, |colour| Fill::Thread(colour, 0)),
        };
        let cells = cells.into_iter().take(Self::MAX_CELLS as usize);
        Self {
            title: title.into(),
            columns,
            cells: cells.map(cell).collect(),
        }
    }

    fn rows(&self) -> impl Iterator<Item = &[Cell]> {
        self.cells.chunks(self.columns.max(1))
    }
}

fn thread_cell((first, count): (Option<(u64, u64)>, u64)) -> Cell {
    let Some((thread, value)) = first else {
        return Cell {
            label: String::new(),
            note: String::new(),
            fill: Fill::Nothing,
        };
    };
    Cell {
        label: match count {
            1 => format!("T{thread}V{value}"),
            _ => format!("T{thread}V{value}+{}", count - 1),
        },
        note: String::new(),
        fill: Fill::Thread(thread, value),
    }
}

/// The layout's text; without the swizzle and offset that do nothing.
fn title(layout: &ComposedLayout) -> String {
    match layout.swizzle().is_identity() && layout.offset().value() == 0 {
        true => format!("{:#}", layout.layout()),
        false => format!("{layout:#}"),
    }
}

/// The offsets of a layout of rank 1 or 2, row by row.
struct Grid {
    columns: usize,
    offsets: Vec<u64>,
}

impl Grid {
    fn of(layout: &ComposedLayout) -> Result<Self, LayoutError> {
        require_few(layout.layout())?;
        let sizes: Vec<_> = layout
            .layout()
            .modes()
            .map(|mode| mode.size().value())
            .collect();
        let (rows, columns) = match sizes[..] {
            [columns] => (1, columns),
            [rows, columns] => (rows, columns),
            _ => {
                return Err(LayoutError::Picture {
                    layout: layout.layout().to_string(),
                    rank: layout.rank(),
                    size: layout.size().value(),
                    max_size: Picture::MAX_CELLS,
                });
            }
        };
        let linear = (0..rows).flat_map(|row| (0..columns).map(move |column| row + column * rows));
        let offsets = linear.map(|x| layout.index(x).map(|offset| offset.value()));
        Ok(Self {
            columns: columns as usize,
            offsets: offsets.collect::<Result<_, _>>()?,
        })
    }
}

fn require_few(layout: &crate::Layout) -> Result<(), LayoutError> {
    // Without elements, a mode can still be long.
    let sizes = layout.modes().map(|mode| mode.size().value());
    let longest = sizes.chain([layout.size().value()]).max().unwrap_or(0);
    match longest <= Picture::MAX_CELLS {
        true => Ok(()),
        false => Err(LayoutError::Picture {
            layout: layout.to_string(),
            rank: layout.rank(),
            size: layout.size().value(),
            max_size: Picture::MAX_CELLS,
        }),
    }
}
