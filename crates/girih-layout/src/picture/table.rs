//! Pictures as text.

use super::Picture;
use core::fmt::{self, Display, Formatter};

impl Display for Picture {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        let width = self.cell_width();
        let margin = digits(self.rows().count().saturating_sub(1));
        write!(f, "{:margin$}", "")?;
        for column in 0..self.columns {
            // Centred over the cell; the last column does not pad its end.
            let left = (width + 3 - digits(column)).div_ceil(2) + usize::from(column == 0);
            write!(f, "{:left$}{column}", "")?;
            if column + 1 < self.columns {
                let right = width + 3 + usize::from(column == 0) - left - digits(column);
                write!(f, "{:right$}", "")?;
            }
        }
        writeln!(f)?;
        self.write_rule(f, margin, width)?;
        for (i, row) in self.rows().enumerate() {
            write!(f, "{i:>margin$} |")?;
            for cell in row {
                write!(f, " {:>width$} |", cell.label)?;
            }
            writeln!(f)?;
            self.write_rule(f, margin, width)?;
        }
        Ok(())
    }
}

impl Picture {
    fn cell_width(&self) -> usize {
        let labels = self.cells.iter().map(|cell| cell.label.len());
        labels
            .chain([digits(self.columns.saturating_sub(1))])
            .max()
            .unwrap_or(1)
    }

    fn write_rule(&self, f: &mut Formatter<'_>, margin: usize, width: usize) -> fmt::Result {
        write!(f, "{:margin$} ", "")?;
        for _ in 0..self.columns {
            write!(f, "+{:-<1$}", "", width + 2)?;
        }
        writeln!(f, "+")
    }
}

fn digits(number: usize) -> usize {
    number.checked_ilog10().unwrap_or(0) as usize + 1
}
