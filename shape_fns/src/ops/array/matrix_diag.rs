//! `matrix_diag(diagonal)`, `matrix_diag_part(input)` and `matrix_set_diag(input, diagonal)`: diagonals of matrices.

use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, List, Result, ShapeError, TensorShape, counted};

/// The range of diagonals that `k` selects. Diagonals are numbered upwards from the main diagonal, which is 0.
enum Band {
    /// The lowest and the highest diagonal.
    Known(i64, i64),
    /// A single diagonal with an unknown number.
    Single,
    /// Unknown diagonals.
    Unknown,
}

impl Band {
    /// Reads parameter `k`: one diagonal, or the lowest and the highest. The default is the main diagonal. Sets the
    /// derived parameter `k` to the lowest and the highest diagonal if both are known. Checks attribute `align`, which
    /// only the body of the op reads.
    fn of(cx: &mut InferenceContext<'_>) -> Result<Band> {
        let align = cx.str_or("align", "RIGHT_LEFT")?;
        if !["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"].contains(&align) {
            bail!("align must be RIGHT_LEFT, LEFT_RIGHT, LEFT_LEFT or RIGHT_RIGHT, got {align:?}");
        }
        let band = Band::given(cx)?;
        if let Band::Known(low, high) = band {
            cx.set_derived("k", [low, high].map(Dim::known));
        }
        Ok(band)
    }

    fn given(cx: &mut InferenceContext<'_>) -> Result<Band> {
        if let Some(index) = cx.operand("k") {
            cx.with_rank_at_most(index, 1)?;
        }
        let list = match cx.param_list("k")? {
            List::Absent => return Ok(Band::Known(0, 0)),
            list => list,
        };
        if let Some(count) = list.known_len().filter(|count| !(1..=2).contains(count)) {
            return Err(cx.blame_param(
                "k",
                format_args!(
                    "must hold one or two diagonals, got {count}",
                    count = counted(count, "element")
                ),
            ));
        }
        match list.as_known().as_deref() {
            Some(&[only]) => Ok(Band::Known(only, only)),
            Some(&[low, high]) if low <= high => Ok(Band::Known(low, high)),
            Some(&[low, high]) => Err(
                cx.blame_param("k", format_args!("must hold the lower diagonal first, got {low} and {high}"))
            ),
            _ if list.known_len() == Some(1) => Ok(Band::Single),
            _ => Ok(Band::Unknown),
        }
    }
}

/// Returns the number of diagonals from `low` to `high`.
fn diagonal_count(low: i64, high: i64) -> Result<Dim> {
    match high.checked_sub(low).and_then(|more| more.checked_add(1)) {
        Some(count) => Ok(Dim::known(count)),
        None => bail!("k must hold diagonals of a matrix, got {low} and {high}"),
    }
}

/// Returns the length of the longest diagonal of a band: `min(rows + min(high, 0), columns - max(low, 0))`.
fn longest_diagonal(
    cx: &mut InferenceContext<'_>,
    rows: &Dim,
    columns: &Dim,
    low: i64,
    high: i64,
) -> Result<Dim> {
    let row_limit = cx.add(rows, &Dim::known(high.min(0)))?;
    let column_limit = cx.sub(columns, &Dim::known(low.max(0)))?;
    cx.min(&row_limit, &column_limit)
}

/// Returns the last axes of packed diagonals: `[longest]` if `low == high`, else `[number of diagonals, longest]`.
fn band_axes(low: i64, high: i64, longest: Dim) -> Result<TensorShape> {
    Ok(match low == high {
        true => TensorShape::new([longest]),
        false => TensorShape::new([diagonal_count(low, high)?, longest]),
    })
}

/// A requested number of rows or columns.
enum Size {
    /// An explicit size.
    Given(Dim),
    /// -1 or absent: the smallest size that fits the diagonals.
    Needed,
    /// An unknown number, which may be a size or -1.
    Unknown,
}

impl Size {
    /// Reads parameter `name`.
    fn of(cx: &mut InferenceContext<'_>, name: &str) -> Result<Size> {
        Ok(match cx.param_scalar(name)? {
            Some(size) if size == -1 => Size::Needed,
            Some(size) if cx.at_least(&size, &Dim::known(0)) => Size::Given(size),
            Some(size) if size.is_known() => {
                return Err(cx.blame_param(name, format_args!("must be a size or -1, got {size}")));
            }
            None if cx.operand(name).is_none() => Size::Needed,
            _ => Size::Unknown,
        })
    }
}

/// `[.., d] -> [.., d, d]`.
///
/// Parameter `k` selects one diagonal, or a range by its lowest and highest diagonal. For a range, `[.., b, d]` holds
/// `b` diagonals of at most `d` elements. `num_rows` and `num_cols` are the sizes of the matrices; -1 means the
/// smallest size that fits.
///
/// # Errors
/// The rank is too small, the number of diagonals provably differs from the number that `k` selects, or the diagonals
/// provably do not fit `num_rows` and `num_cols`.
pub fn matrix_diag(cx: &mut InferenceContext<'_>) -> Result<()> {
    let diagonal = cx.with_rank_at_least(0, 1)?;
    cx.scalars(&["num_rows", "num_cols", "padding_value"])?;
    let (low, high) = match Band::of(cx)? {
        Band::Known(low, high) => (low, high),
        Band::Single => {
            if let Some((leading, _)) = cx.last_axes::<1>(0)? {
                let matrix = cx.unknown_shape_of_rank(2);
                cx.set_output(0, leading.concatenate(&matrix));
            }
            return Ok(());
        }
        Band::Unknown => return Ok(()),
    };
    let (leading, length) = if low == high {
        let Some((leading, [length])) = cx.last_axes::<1>(0)? else { return Ok(()) };
        (leading, length)
    } else {
        let Some((leading, [count, length])) = cx.last_axes::<2>(0)? else { return Ok(()) };
        let selected = diagonal_count(low, high)?;
        cx.merge(&count, &selected).map_err(|_| {
            ShapeError::new(format_args!(
                "diagonal must hold the {selected} that k selects, got {count} in {diagonal}",
                selected = counted(selected, "diagonal")
            ))
            .operand(0)
        })?;
        (leading, length)
    };
    let least_rows = cx.sub(&length, &Dim::known(high.min(0)))?;
    let least_columns = cx.add(&length, &Dim::known(low.max(0)))?;
    let (given_rows, given_columns) = (Size::of(cx, "num_rows")?, Size::of(cx, "num_cols")?);
    // The smallest square matrix fits by construction.
    let fits = matches!((&given_rows, &given_columns), (Size::Needed, Size::Needed));
    let (rows, columns) = match (given_rows, given_columns) {
        (Size::Needed, Size::Needed) => {
            let size = cx.max(&least_rows, &least_columns)?;
            (size.clone(), size)
        }
        // The smallest size that fits depends on whether the other size is given.
        (Size::Unknown, Size::Needed | Size::Unknown) | (Size::Needed, Size::Unknown) => {
            (cx.fresh(), cx.fresh())
        }
        (Size::Unknown, Size::Given(columns)) => (cx.fresh(), columns),
        (Size::Given(rows), Size::Unknown) => (rows, cx.fresh()),
        (Size::Given(rows), Size::Needed) => (rows, least_columns),
        (Size::Needed, Size::Given(columns)) => (least_rows, columns),
        (Size::Given(rows), Size::Given(columns)) => (rows, columns),
    };
    let fitting_length = longest_diagonal(cx, &rows, &columns, low, high)?;
    if !fits {
        cx.require(Guard::Eq(fitting_length, length.clone())).map_err(|_| {
            ShapeError::new(format_args!(
                "num_rows and num_cols must fit the diagonals, got {rows} and {columns} for diagonals {low} to {high} \
                 of {}",
                counted(length, "element")
            ))
        })?;
    }
    cx.set_output(0, leading.concatenate(&TensorShape::new([rows, columns])));
    Ok(())
}

/// `[.., m, n] -> [.., min(m, n)]`.
///
/// Parameter `k` selects one diagonal, or a range by its lowest and highest diagonal. The last axis has the length of
/// the longest diagonal. For a range, the axis before the last has the number of diagonals.
///
/// # Errors
/// The rank is less than 2, or a diagonal is provably outside the matrices.
pub fn matrix_diag_part(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.with_rank_at_least(0, 2)?;
    cx.scalars(&["padding_value"])?;
    let band = Band::of(cx)?;
    let Some((leading, [rows, columns])) = cx.last_axes::<2>(0)? else { return Ok(()) };
    let (low, high) = match band {
        Band::Known(low, high) => (low, high),
        Band::Single => {
            let only = cx.unknown_shape_of_rank(1);
            cx.set_output(0, leading.concatenate(&only));
            return Ok(());
        }
        Band::Unknown => return Ok(()),
    };
    check_band(cx, &input, &rows, &columns, low, high)?;
    let longest = longest_diagonal(cx, &rows, &columns, low, high)?;
    let last = band_axes(low, high, longest)?;
    cx.set_output(0, leading.concatenate(&last));
    Ok(())
}

/// Refuses diagonals that are provably outside the matrices: `k` must be 0 or in `(-rows, columns)`.
fn check_band(
    cx: &mut InferenceContext<'_>,
    input: &TensorShape,
    rows: &Dim,
    columns: &Dim,
    low: i64,
    high: i64,
) -> Result<()> {
    let one = Dim::known(1);
    for diagonal in [low, high].into_iter().filter(|diagonal| *diagonal != 0) {
        let offset = Dim::known(diagonal);
        let rows_left = cx.add(&offset, rows)?;
        let columns_left = cx.sub(columns, &offset)?;
        for length in [rows_left, columns_left] {
            cx.require(Guard::Ge(length, one.clone())).map_err(|_| {
                cx.blame_param(
                    "k",
                    format_args!("must hold diagonals of the matrices, got {diagonal} for {input}"),
                )
            })?;
        }
    }
    Ok(())
}

/// `input[.., m, n], diagonal[.., min(m, n)] -> [.., m, n]`. With `k`, `diagonal` has the shape that
/// [`matrix_diag_part`] returns.
///
/// # Errors
/// A rank is too small, the ranks do not fit each other, a diagonal is provably outside the matrices, or sizes
/// provably differ.
pub fn matrix_set_diag(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.with_rank_at_least(0, 2)?;
    let diagonal = cx.with_rank_at_least(1, 1)?;
    let band = Band::of(cx)?;
    let diagonal_axes = match band {
        Band::Known(low, high) if low < high => 2,
        // Several diagonals have one more axis than a single diagonal.
        Band::Unknown => match (input.rank(), diagonal.rank()) {
            (Some(rank), Some(other)) if other + 1 == rank || other == rank => other + 2 - rank,
            (Some(_), Some(_)) => {
                return Err(cx.blame(
                    1,
                    format_args!("must have the rank of input or one less, got {diagonal} for {input}"),
                ));
            }
            _ => {
                cx.set_output(0, input);
                return Ok(());
            }
        },
        _ => 1,
    };
    let diagonal = if diagonal_axes == 2 { cx.with_rank_at_least(1, 2)? } else { diagonal };
    let Some((leading, [rows, columns])) = cx.last_axes::<2>(0)? else {
        if let Some(dims) = diagonal.dims() {
            let leading = TensorShape::from(&dims[..dims.len() - diagonal_axes]);
            let matrix = cx.unknown_shape_of_rank(2);
            cx.set_output(0, leading.concatenate(&matrix));
        }
        return Ok(());
    };
    let last = match band {
        Band::Known(low, high) => {
            check_band(cx, &input, &rows, &columns, low, high)?;
            let longest = longest_diagonal(cx, &rows, &columns, low, high)?;
            band_axes(low, high, longest)?
        }
        _ if diagonal.rank().is_none() => {
            cx.set_output(0, input);
            return Ok(());
        }
        _ => diagonal.slice(-(diagonal_axes as i64)..),
    };
    let expected = leading.concatenate(&last);
    let merged = cx.merge_shapes(&expected, &diagonal).map_err(|_| {
        ShapeError::new(format_args!("diagonal must have shape {expected} to fit {input}, got {diagonal}"))
            .operand(1)
    })?;
    let leading = merged.slice(..i64::try_from(leading.rank().unwrap_or(0)).unwrap_or(0));
    cx.set_output(0, leading.concatenate(&TensorShape::new([rows, columns])));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{matrix_diag, matrix_diag_part, matrix_set_diag};
    use crate::testing::shape_table;

    shape_table! { matrices: matrix_diag, ["diagonal", "k", "num_rows", "num_cols"];
        {} "[n, ?]" => "[n, d0_1, d0_1]";
        {} "[n, 3]; [] = -1; [] = -1; [] = -1" => "[n, 4, 4]";
        {} "[n, 2, 3]; [2] = [0, 1]; [] = -1; [] = -1" => "[n, 3, 3]";
        {} "[n, ?, m]; [2] = [-1, 1]; [] = -1; [] = -1" => "[n, m, m]";
        {} "[n, 3]; [] = -1; [] = 7; [] = 3" => "[n, 7, 3]";
        {} "[n, 3]; [] = 0; [] = 3; [] = -1" => "[n, 3, 3]";
        {} "[n, 3]; i32 []; [] = -1; [] = -1" => "[n, ?, ?]";
        {} "[n, 3]; i32 [2]; [] = -1; [] = -1" => "?";
        {} "[n, 3]; i32 [2]; [] = -1; i32 [1]" => "error num_cols must have rank 0";
        {} "[n, 3]; [] = 0; i32 []; [] = -1" => "[n, ?, ?]";
        {} "[n, 3]; [] = 0; i32 []; [] = 3" => "[n, ?, 3]";
        {} "?" => "?";
        {} "[n, 3, 3]; [2] = [0, 1]; [] = -1; [] = -1" => "error diagonal must hold the 2 diagonals that k selects, got 3 in [n, 3, 3]";
        {} "[n, 3]; [] = -1; [] = 2; [] = 3" => "error num_rows and num_cols must fit the diagonals, got 2 and 3 for diagonals -1 to -1 of 3 elements";
        {} "[n, 3]; [2] = [1, 0]; [] = -1; [] = -1" => "error k must hold the lower diagonal first, got 1 and 0";
        {} "[n, 3]; [3] = [1, 0, 2]; [] = -1; [] = -1" => "error k must hold one or two diagonals, got 3 elements";
        {} "[]" => "error diagonal must have rank at least 1";
    }
    shape_table! { parts: matrix_diag_part, ["input", "k"];
        {} "[b, 3, ?]" => "[b, min(3, d0_2)]";
        {} "[b, n, n]" => "[b, n]";
        {} "[b, 3, 4]; [2] = [-1, 1]" => "[b, 3, 3]";
        {} "[b, 3, 4]; [1] = [2]" => "[b, 2]";
        {} "[b, ?, 4]; [] = -1" => "[b, min(4, d0_1-1)] if d0_1-1 >= 1";
        {} "[b, 3, 4]; i32 []" => "[b, ?]";
        {} "[b, 3, 4]; i32 [2]" => "?";
        {} "[b, 3, 4]; [] = -3" => "error k must hold diagonals of the matrices, got -3 for [b, 3, 4]";
        {} "[b, 3, 4]; [] = 4" => "error k must hold diagonals of the matrices, got 4 for [b, 3, 4]";
        {} "[b]" => "error input must have rank at least 2";
    }
    shape_table! { set: matrix_set_diag, ["input", "diagonal", "k"];
        {} "[?, 3, 4]; [b, 3]" => "[b, 3, 4]";
        {} "[?, ?, 3]; [2, 1]" => "[2, d0_1, 3]";
        {} "[b, 3, 4]; [b, 2, ?]; [2] = [0, 1]" => "[b, 3, 4]";
        {} "?; [b, 3]" => "[b, ?, ?]";
        {} "?; ?" => "?";
        {} "[b, 3, 4]; ?; i32 [2]" => "[b, 3, 4]";
        {} "[?, 3, 4]; [b, ?, ?]; i32 [?]" => "[b, 3, 4]";
        {} "[?, 3, 4]; [3]; i32 [?]" => "error diagonal must have the rank of input or one less, got [3] for [?, 3, 4]";
        {} "[b, 3, 4]; ?; i32 [1, 1]" => "error k must have rank at most 1";
        {} "[?, 3, 4]; [b, ?]; i32 []" => "[b, 3, 4]";
        {} "[b, 3, ?]; ?; i32 [1]" => "[b, 3, d0_2]";
        {} "?; [b, ?]; i32 [1]" => "[b, ?, ?]";
        {} "[3, 4]; [4]" => "error diagonal must have shape [3] to fit [3, 4], got [4]";
        {} "[b, 3, 4]; [3]" => "error diagonal must have shape [b, 3] to fit [b, 3, 4], got [3]";
    }
}
