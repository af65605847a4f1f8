//! `Display` and `Debug` of ragged tensors: nested brackets on one line.

use std::fmt::{self, Write};

use super::{RaggedItem, RaggedTensor};

/// The greatest number of characters of the elements that `Debug` prints.
const SHORT: usize = 400;

/// Prints the elements in nested brackets, on one line: `[[3, 1, 4, 1], [], [5, 9, 2], [6], []]`.
impl fmt::Display for RaggedTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_rows(f, self, 0, 0..self.nrows())
    }
}

/// Prints dtype, shape and elements; long text is cut.
impl fmt::Debug for RaggedTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.to_string();
        write!(f, "{}{} ", self.dtype(), self.shape())?;
        match text.char_indices().nth(SHORT) {
            Some((end, _)) => write!(f, "{}…", &text[..end]),
            None => f.write_str(&text),
        }
    }
}

/// Prints the elements in nested brackets, on one line.
impl fmt::Display for RaggedItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RaggedItem::Dense(tensor) => f.write_str(&tensor.elements_text(usize::MAX)),
            RaggedItem::Ragged(ragged) => fmt::Display::fmt(ragged, f),
        }
    }
}

/// Writes rows of partition number `level` in brackets.
fn write_rows(
    f: &mut fmt::Formatter<'_>,
    ragged: &RaggedTensor,
    level: usize,
    rows: std::ops::Range<usize>,
) -> fmt::Result {
    f.write_char('[')?;
    for row in rows.clone() {
        if row > rows.start {
            f.write_str(", ")?;
        }
        let Some(partition) = ragged.partitions.get(level) else {
            // Rows of flat values are few here, so a copy of each row costs little.
            let item = super::take_rows(ragged.flat.view(), std::slice::from_ref(&(row..row + 1)))
                .map_err(|_| fmt::Error)?;
            let item = item.reshape(&ragged.flat.sizes()[1..]).map_err(|_| fmt::Error)?;
            f.write_str(&item.elements_text(usize::MAX))?;
            continue;
        };
        write_rows(f, ragged, level + 1, partition.range(row))?;
    }
    f.write_char(']')
}
