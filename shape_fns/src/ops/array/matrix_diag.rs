//! `matrix_diag(diagonal)`, `matrix_diag_part(input)` and `matrix_set_diag(input, diagonal)`: diagonals of matrices.

use crate::error::bail;
use crate::{Dim, Guard, InferenceContext, List, Result, ShapeError, TensorShape};

/// The lowest and the highest diagonal.
enum Band {
    /// Counted from the main one, which is 0, upwards.
    Known(i64, i64),
    /// One, and not known which.
    Single,
    /// Not known.
    Unknown,
}

impl Band {
    /// The parameter `k`: one diagonal, or the lowest and the highest; the main one where it is absent.
    fn of(cx: &mut InferenceContext<'_>) -> Result<Band> {
        if let Some(index) = cx.operand("k") {
            cx.with_rank_at_most(index, 1)?;
        }
        let list = match cx.param_list("k")? {
            List::Absent => return Ok(Band::Known(0, 0)),
            list => list,
        };
        if let Some(count) = list.known_len().filter(|count| !(1..=2).contains(count)) {
            return Err(
                cx.blame_param("k", format_args!("must be one diagonal or two, got {count} elements"))
            );
        }
        match list.as_known().as_deref() {
            Some(&[only]) => Ok(Band::Known(only, only)),
            Some(&[low, high]) if low <= high => Ok(Band::Known(low, high)),
            Some(&[low, high]) => Err(
                cx.blame_param("k", format_args!("must name the lower diagonal first, got {low} and {high}"))
            ),
            _ if list.known_len() == Some(1) => Ok(Band::Single),
            _ => Ok(Band::Unknown),
        }
    }
}

/// The number of diagonals from one to another.
fn breadth(low: i64, high: i64) -> Result<Dim> {
    match high.checked_sub(low).and_then(|more| more.checked_add(1)) {
        Some(count) => Ok(Dim::known(count)),
        None => bail!("k must name diagonals of a matrix, got {low} and {high}"),
    }
}

/// The length of the longest diagonal of a band: `min(rows + min(high, 0), columns - max(low, 0))`.
fn longest(cx: &mut InferenceContext<'_>, rows: &Dim, columns: &Dim, low: i64, high: i64) -> Result<Dim> {
    let down = cx.add(rows, &Dim::known(high.min(0)))?;
    let along = cx.sub(columns, &Dim::known(low.max(0)))?;
    cx.min(&down, &along)
}

/// The axes of the diagonals of a band: their number, where it may be more than one, and the longest.
fn band_axes(low: i64, high: i64, longest: Dim) -> Result<TensorShape> {
    Ok(match low == high {
        true => TensorShape::new([longest]),
        false => TensorShape::new([breadth(low, high)?, longest]),
    })
}

/// The number of rows or of columns.
enum Size {
    /// So many.
    Given(Dim),
    /// As many as the diagonals need: -1, or absent.
    Needed,
    /// Not known which.
    Unknown,
}

impl Size {
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

/// `[.., d] -> [.., d, d]`. With `k`, one diagonal or the lowest and the highest, `[.., b, d]` has `b` diagonals of at
/// most `d` elements, and `num_rows` and `num_cols` are the sizes of the matrices, -1 for the smallest that have room.
///
/// # Errors
/// The rank is too small, the number of diagonals is provably not that of `k`, or the sizes do provably not fit.
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
        let named = breadth(low, high)?;
        cx.merge(&count, &named).map_err(|_| {
            ShapeError::new(format_args!(
                "diagonal must have as many diagonals as k names, got {count} in {diagonal} and {named}"
            ))
            .operand(0)
        })?;
        (leading, length)
    };
    let least_rows = cx.sub(&length, &Dim::known(high.min(0)))?;
    let least_columns = cx.add(&length, &Dim::known(low.max(0)))?;
    let (rows, columns) = match (Size::of(cx, "num_rows")?, Size::of(cx, "num_cols")?) {
        (Size::Needed, Size::Needed) => {
            let size = cx.max(&least_rows, &least_columns)?;
            (size.clone(), size)
        }
        // What is needed depends on whether the other is given.
        (Size::Unknown, Size::Needed | Size::Unknown) | (Size::Needed, Size::Unknown) => {
            (cx.fresh(), cx.fresh())
        }
        (Size::Unknown, Size::Given(columns)) => (cx.fresh(), columns),
        (Size::Given(rows), Size::Unknown) => (rows, cx.fresh()),
        (Size::Given(rows), Size::Needed) => (rows, least_columns),
        (Size::Needed, Size::Given(columns)) => (least_rows, columns),
        (Size::Given(rows), Size::Given(columns)) => (rows, columns),
    };
    let found = longest(cx, &rows, &columns, low, high)?;
    if found.same(&length) == Some(false) {
        bail!(
            "num_rows and num_cols must be those of a matrix with such diagonals, got {rows} and {columns} for {length} \
             elements from diagonal {low} to {high}"
        );
    }
    cx.set_output(0, leading.concatenate(&TensorShape::new([rows, columns])));
    Ok(())
}

/// `[.., m, n] -> [.., min(m, n)]`. With `k`, one diagonal or the lowest and the highest, so many elements as the longest
/// has, after an axis for the diagonals where they are more than one.
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
    let longest = longest(cx, &rows, &columns, low, high)?;
    let last = band_axes(low, high, longest)?;
    cx.set_output(0, leading.concatenate(&last));
    Ok(())
}

/// Refuses diagonals that are provably outside: `k` is more than `-rows` and less than `columns`, or 0.
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
        let place = Dim::known(diagonal);
        let below = cx.add(&place, rows)?;
        let above = cx.sub(columns, &place)?;
        for room in [below, above] {
            cx.require(Guard::Ge(room, one.clone())).map_err(|_| {
                cx.blame_param(
                    "k",
                    format_args!("must name diagonals of the matrices, got {diagonal} for {input}"),
                )
            })?;
        }
    }
    Ok(())
}

/// `input[.., m, n], diagonal[.., min(m, n)] -> [.., m, n]`; with `k` the diagonals are as
/// [`matrix_diag_part`] gives them.
///
/// # Errors
/// A rank is too small or not that of the other operand, a diagonal is provably outside the matrices, or sizes provably
/// differ.
pub fn matrix_set_diag(cx: &mut InferenceContext<'_>) -> Result<()> {
    let input = cx.with_rank_at_least(0, 2)?;
    let diagonal = cx.with_rank_at_least(1, 1)?;
    let band = Band::of(cx)?;
    let own = match band {
        Band::Known(low, high) if low < high => 2,
        // Of several diagonals there is an axis more.
        Band::Unknown => match (input.rank(), diagonal.rank()) {
            (Some(rank), Some(own)) if own + 1 == rank || own == rank => own + 2 - rank,
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
    let diagonal = if own == 2 { cx.with_rank_at_least(1, 2)? } else { diagonal };
    let Some((leading, [rows, columns])) = cx.last_axes::<2>(0)? else {
        if let Some(dims) = diagonal.dims() {
            let leading = TensorShape::from(&dims[..dims.len() - own]);
            let matrix = cx.unknown_shape_of_rank(2);
            cx.set_output(0, leading.concatenate(&matrix));
        }
        return Ok(());
    };
    let last = match band {
        Band::Known(low, high) => {
            check_band(cx, &input, &rows, &columns, low, high)?;
            let longest = longest(cx, &rows, &columns, low, high)?;
            band_axes(low, high, longest)?
        }
        _ if diagonal.rank().is_none() => {
            cx.set_output(0, input);
            return Ok(());
        }
        _ => diagonal.slice(-(own as i64)..),
    };
    let wanted = leading.concatenate(&last);
    let merged = cx.merge_shapes(&wanted, &diagonal).map_err(|_| {
        ShapeError::new(format_args!(
            "diagonal must be shaped as the diagonals of input, got {diagonal} and {wanted} of {input}"
        ))
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

    shape_table! { made: matrix_diag, ["diagonal", "k", "num_rows", "num_cols"];
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
        {} "[n, 3, 3]; [2] = [0, 1]; [] = -1; [] = -1" => "error diagonal must have as many diagonals as k names, got 3 in [n, 3, 3] and 2";
        {} "[n, 3]; [] = -1; [] = 2; [] = 3" => "error num_rows and num_cols must be those of a matrix with such diagonals, got 2 and 3 for 3 elements";
        {} "[n, 3]; [2] = [1, 0]; [] = -1; [] = -1" => "error k must name the lower diagonal first, got 1 and 0";
        {} "[n, 3]; [3] = [1, 0, 2]; [] = -1; [] = -1" => "error k must be one diagonal or two, got 3 elements";
        {} "[]" => "error diagonal must have rank at least 1";
    }
    shape_table! { taken: matrix_diag_part, ["input", "k"];
        {} "[b, 3, ?]" => "[b, min(3, d0_2)]";
        {} "[b, n, n]" => "[b, n]";
        {} "[b, 3, 4]; [2] = [-1, 1]" => "[b, 3, 3]";
        {} "[b, 3, 4]; [1] = [2]" => "[b, 2]";
        {} "[b, ?, 4]; [] = -1" => "[b, min(4, d0_1-1)] if d0_1-1 >= 1";
        {} "[b, 3, 4]; i32 []" => "[b, ?]";
        {} "[b, 3, 4]; i32 [2]" => "?";
        {} "[b, 3, 4]; [] = -3" => "error k must name diagonals of the matrices, got -3 for [b, 3, 4]";
        {} "[b, 3, 4]; [] = 4" => "error k must name diagonals of the matrices, got 4 for [b, 3, 4]";
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
        {} "[3, 4]; [4]" => "error diagonal must be shaped as the diagonals of input, got [4] and [3] of [3, 4]";
        {} "[b, 3, 4]; [3]" => "error diagonal must be shaped as the diagonals of input, got [3] and [b, 3] of [b, 3, 4]";
    }
}
