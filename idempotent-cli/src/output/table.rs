//! Tables for people.

use super::{Out, Paint};

/// Rows of cells; each column is as wide as its widest cell.
#[derive(Debug)]
pub(crate) struct Table<const N: usize> {
    head: Option<[&'static str; N]>,
    rows: Vec<[(String, Paint); N]>,
}

impl<const N: usize> Table<N> {
    pub(crate) fn new(head: [&'static str; N]) -> Self {
        Self { head: Some(head), rows: Vec::new() }
    }

    /// Goes on with a table whose head was shown.
    pub(crate) fn headless() -> Self {
        Self { head: None, rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: [(String, Paint); N]) {
        self.rows.push(cells.map(|(text, paint)| (printable(&text), paint)));
    }

    pub(crate) fn text(&self, out: Out) -> String {
        let head = self.head.map(|head| head.map(|cell| (cell.to_owned(), Paint::Bold)));
        let rows: Vec<_> = head.iter().chain(&self.rows).collect();
        let mut widths = [0; N];
        for row in &rows {
            for (width, (cell, _)) in widths.iter_mut().zip(row.iter()) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let mut text = String::new();
        for row in rows {
            for (at, ((cell, paint), width)) in row.iter().zip(widths).enumerate() {
                text.push_str(&out.paint(cell, *paint));
                if at + 1 < N {
                    text.extend(std::iter::repeat_n(' ', width - cell.chars().count() + 2));
                }
            }
            text.truncate(text.trim_end_matches(' ').len());
            text.push('\n');
        }
        text
    }
}

/// What stands in a store was written by others: nothing in it may move a cursor.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { '\u{fffd}' } else { char }).collect()
}
