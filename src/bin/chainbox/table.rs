//! Tables in plain columns.

use core::fmt;

use comfy_table::{CellAlignment, presets};

/// A table whose numbers are aligned to the right.
#[derive(Debug)]
pub(crate) struct Table(comfy_table::Table);

impl Table {
    /// Creates a table with headings; the first column is aligned to the left.
    pub(crate) fn new(headings: &[&str]) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_header(headings.iter().copied());
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        Self(table)
    }

    /// Creates a table with headings, all of whose columns are aligned to the left.
    #[cfg(feature = "server")]
    pub(crate) fn of_words(headings: &[&str]) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_header(headings.iter().copied());
        Self(table)
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.add_row(cells.into_iter().collect::<Vec<_>>());
    }
}

/// Formats the table without trailing spaces.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.lines().try_for_each(|line| writeln!(f, "{}", line.trim_end()))
    }
}
