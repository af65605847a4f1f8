//! Formats the text that commands print: documents and tables.

use std::fmt::Write;

/// Maximum number of characters of a column of a table. A wider cell shifts the rest of its row.
const WIDEST: usize = 60;

/// Returns a text as bytes, with a line break at its end.
pub(crate) fn with_final_newline(mut text: String) -> Vec<u8> {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.into_bytes()
}

/// Formats rows with aligned columns.
pub(crate) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count().min(WIDEST));
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Returns a number of bytes: `256 bytes`, `1.5 KiB` or `20.0 MiB`.
pub(crate) fn bytes_text(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    match bytes {
        ..KIB => format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" }),
        KIB..MIB => format!("{:.1} KiB", bytes as f64 / KIB as f64),
        MIB.. => format!("{:.1} MiB", bytes as f64 / MIB as f64),
    }
}

/// Returns `1 run` or `n runs`.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
