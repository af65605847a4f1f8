//! `row` and `at`: one row or one item of a ragged tensor.

use super::{RaggedItem, RaggedTensor};
use crate::error::{Error, ErrorKind, Phase, Result, at_caller};

impl RaggedTensor {
    /// Returns row `i`; a negative `i` counts from the end.
    ///
    /// ```
    /// use shapeflow::ragged;
    ///
    /// let rt = ragged![[[1, 2], [3]], [], [[4, 5, 6]]];
    /// assert_eq!(rt.row(0)?.ragged()?.to_string(), "[[1, 2], [3]]");
    /// assert_eq!(rt.row(-1)?.to_string(), "[[4, 5, 6]]");
    /// assert!(rt.row(3).unwrap_err().message().starts_with("a row must be in [-3, 3), got 3"));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such row.
    #[track_caller]
    pub fn row(&self, i: i64) -> Result<RaggedItem> {
        at_caller(|| {
            let row = position("a row", i, self.nrows())?;
            self.values().take(&[self.partition().range(row)])
        })
    }

    /// Returns item `j` of row `i`; negative numbers count from the end.
    ///
    /// ```
    /// use shapeflow::ragged;
    ///
    /// let rt = ragged![[3, 1, 4, 1], [], [5, 9, 2]];
    /// assert_eq!(rt.at(2, -1)?.dense()?.item::<i32>()?, 2);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such row or item.
    #[track_caller]
    pub fn at(&self, i: i64, j: i64) -> Result<RaggedItem> {
        at_caller(|| self.row(i)?.item_at(j))
    }
}

impl RaggedItem {
    /// Returns the item at a position along axis 0, without this axis.
    pub(crate) fn item_at(&self, position: i64) -> Result<RaggedItem> {
        match self {
            RaggedItem::Ragged(ragged) => ragged.row(position),
            RaggedItem::Dense(tensor) => {
                let Some((&count, sizes)) = tensor.sizes().split_first() else {
                    return Err(super::shape_error("a scalar has no items".to_string()));
                };
                let index = self::position("an item", position, count)?;
                let item = self.take(std::slice::from_ref(&(index..index + 1)))?.dense()?;
                Ok(RaggedItem::Dense(item.reshape(sizes)?))
            }
        }
    }
}

/// Returns a position as an index; a negative position counts from the end.
fn position(what: &str, position: i64, count: usize) -> Result<usize> {
    let length = count as i64;
    let index = if position < 0 { position + length } else { position };
    if (0..length).contains(&index) {
        return Ok(index as usize);
    }
    let message = format!("{what} must be in [{}, {length}), got {position}", -length);
    Err(Error::new(ErrorKind::Index, Phase::Run, message))
}
