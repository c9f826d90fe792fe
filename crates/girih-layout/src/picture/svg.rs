//! Pictures as SVG.

use super::{Cell, Fill, Picture};
use alloc::format;
use alloc::string::String;
use core::fmt::{self, Write};

/// Pixels.
const CELL_HEIGHT: usize = 32;
const MIN_CELL_WIDTH: usize = 40;
const LETTER_WIDTH: usize = 8;
const MARGIN: usize = 36;
const TITLE_HEIGHT: usize = 28;

impl Picture {
    /// The picture as an SVG document: numbered rows and columns, cells filled by what they mean, the layout's text on
    /// top.
    pub fn svg(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_svg(&mut out);
        out
    }

    fn write_svg(&self, out: &mut impl Write) -> fmt::Result {
        let labels = self
            .cells
            .iter()
            .map(|cell| cell.label.len().max(cell.note.len()));
        let cell_width = MIN_CELL_WIDTH.max(labels.max().unwrap_or(0) * LETTER_WIDTH + 8);
        let rows = self.rows().count();
        let title_width = self.title.chars().count() * LETTER_WIDTH + 16;
        let width = (MARGIN + self.columns * cell_width + 8).max(title_width);
        let height = TITLE_HEIGHT + MARGIN + rows * CELL_HEIGHT + 8;
        writeln!(
            out,
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">"#
        )?;
        writeln!(out, "<title>{}</title>", escaped(&self.title))?;
        writeln!(
            out,
            "<style>text{{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:13px;text-anchor:middle;fill:#1b1b1b}}\
             .note{{font-size:9px;fill:#555}}.axis{{fill:#777;font-size:11px}}.title{{text-anchor:start;font-size:13px}}\
             rect{{stroke:#444;stroke-width:1}}</style>"
        )?;
        writeln!(
            out,
            r##"<rect width="{width}" height="{height}" fill="#fff" style="stroke:none"/>"##
        )?;
        writeln!(
            out,
            r#"<text class="title" x="8" y="18">{}</text>"#,
            escaped(&self.title)
        )?;
        for column in 0..self.columns {
            let x = MARGIN + column * cell_width + cell_width / 2;
            let y = TITLE_HEIGHT + MARGIN - 8;
            writeln!(out, r#"<text class="axis" x="{x}" y="{y}">{column}</text>"#)?;
        }
        for (i, row) in self.rows().enumerate() {
            let y = TITLE_HEIGHT + MARGIN + i * CELL_HEIGHT;
            let (x, middle) = (MARGIN / 2, y + CELL_HEIGHT / 2 + 4);
            writeln!(out, r#"<text class="axis" x="{x}" y="{middle}">{i}</text>"#)?;
            for (j, cell) in row.iter().enumerate() {
                write_cell(out, cell, (MARGIN + j * cell_width, y), cell_width)?;
            }
        }
        writeln!(out, "</svg>")
    }
}

fn write_cell(
    out: &mut impl Write,
    cell: &Cell,
    (x, y): (usize, usize),
    width: usize,
) -> fmt::Result {
    let fill = colour(cell.fill);
    write!(
        out,
        r#"<rect x="{x}" y="{y}" width="{width}" height="{CELL_HEIGHT}" fill="{fill}"/>"#
    )?;
    let centre = x + width / 2;
    let baseline = y + if cell.note.is_empty() { 21 } else { 16 };
    if !cell.label.is_empty() {
        write!(
            out,
            r#"<text x="{centre}" y="{baseline}">{}</text>"#,
            escaped(&cell.label)
        )?;
    }
    if !cell.note.is_empty() {
        let below = y + 27;
        write!(
            out,
            r#"<text class="note" x="{centre}" y="{below}">{}</text>"#,
            escaped(&cell.note)
        )?;
    }
    writeln!(out)
}

fn colour(fill: Fill) -> String {
    match fill {
        Fill::Nothing => String::from("#fff"),
        Fill::Offset(offset) => format!("hsl(210,20%,{}%)", 98 - 4 * (offset % 8)),
        // Steps of the golden angle keep neighbours apart.
        Fill::Thread(thread, value) => {
            format!(
                "hsl({},65%,{}%)",
                thread % 360 * 137 % 360,
                86 - 3 * (value % 8)
            )
        }
        Fill::Conflict(0 | 1) => String::from("hsl(135,45%,85%)"),
        Fill::Conflict(ways) => format!("hsl({},90%,72%)", 60u32.saturating_sub(12 * ways.ilog2())),
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
