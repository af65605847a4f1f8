//! Cells of recurrent networks: `lstm_block_cell`, `gru_block_cell`, and `block_lstm` over all times.

use crate::{Dim, InferenceContext, Result, ShapeError, TensorShape, counted};

/// Unifies two dimensions. `what` names them in the error about operand `index`.
fn agree(cx: &mut InferenceContext<'_>, index: usize, what: &str, a: &Dim, b: &Dim) -> Result<Dim> {
    cx.agree(what, a, b).map_err(|error: ShapeError| error.operand(index))
}

/// Reads a state `[batch, cell]`, and unifies its sizes with those given.
fn state(cx: &mut InferenceContext<'_>, index: usize, given: [&Dim; 2]) -> Result<[Dim; 2]> {
    let [batch, cell] = cx.axes::<2>(index)?;
    Ok([
        agree(cx, index, "the batch sizes", given[0], &batch)?,
        agree(cx, index, "the sizes of the cell", given[1], &cell)?,
    ])
}

/// Reads weights `[input + cell, gates * cell]` and a bias `[gates * cell]`.
fn weights(cx: &mut InferenceContext<'_>, at: [usize; 2], input: &Dim, cell: &Dim, gates: i64) -> Result<()> {
    let ([rows, columns], [biases]) = (cx.axes::<2>(at[0])?, cx.axes::<1>(at[1])?);
    let inner = cx.add(input, cell)?;
    agree(cx, at[0], "the size of x and of the cell together, and the rows of the weights,", &inner, &rows)?;
    let outer = cx.mul(cell, &Dim::known(gates))?;
    agree(cx, at[0], "the size of all gates and the columns of the weights", &outer, &columns)?;
    agree(cx, at[1], "the size of all gates and the length of the bias", &outer, &biases)?;
    Ok(())
}

/// The operands of an LSTM from `x` on: `x[.., batch, input], cs_prev[batch, cell], h_prev[batch, cell], w[input +
/// cell, 4 * cell], wci[cell], wcf[cell], wco[cell], b[4 * cell]`. Operand `first` is `x`, whose last sizes are given.
/// Returns the batch size and the size of the cell.
fn lstm(cx: &mut InferenceContext<'_>, first: usize, batch: &Dim, input: &Dim) -> Result<[Dim; 2]> {
    let [biases] = cx.axes::<1>(first + 7)?;
    let cell = cx.exact_div(&biases, &Dim::known(4)).map_err(|_| {
        cx.blame(
            first + 7,
            format_args!(
                "must have four gates of one size, got {biases}",
                biases = counted(biases, "element")
            ),
        )
    })?;
    let [batch, cell] = state(cx, first + 1, [batch, &cell])?;
    let [batch, cell] = state(cx, first + 2, [&batch, &cell])?;
    weights(cx, [first + 3, first + 7], input, &cell, 4)?;
    let is_read = cx.bool_or("use_peephole", false)?;
    for index in first + 4..first + 7 {
        let [length] = cx.axes::<1>(index)?;
        if is_read {
            agree(cx, index, "the size of the cell and the length of a peephole", &cell, &length)?;
        }
    }
    Ok([batch, cell])
}

/// `x[batch, input], cs_prev[batch, cell], h_prev[batch, cell], w[input + cell, 4 * cell], wci[cell], wcf[cell],
/// wco[cell], b[4 * cell]` to seven outputs `[batch, cell]`. The peepholes `wci`, `wcf` and `wco` may have any length
/// unless `use_peephole` is set.
///
/// # Errors
/// An operand has the wrong rank, or sizes provably differ.
pub fn lstm_block_cell(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [batch, input] = cx.axes::<2>(0)?;
    let output = TensorShape::new(lstm(cx, 0, &batch, &input)?);
    for i in 0..7 {
        cx.set_output(i, output.clone());
    }
    Ok(())
}

/// `seq_len_max[], x[times, batch, input]`, then the operands of [`lstm_block_cell`] from `cs_prev` on, to seven
/// outputs `[times, batch, cell]`.
///
/// # Errors
/// As [`lstm_block_cell`].
pub fn block_lstm(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(0)?;
    let [times, batch, input] = cx.axes::<3>(1)?;
    let [batch, cell] = lstm(cx, 1, &batch, &input)?;
    let output = TensorShape::new([times, batch, cell]);
    for i in 0..7 {
        cx.set_output(i, output.clone());
    }
    Ok(())
}

/// `x[batch, input], h_prev[batch, cell], w_ru[input + cell, 2 * cell], w_c[input + cell, cell], b_ru[2 * cell],
/// b_c[cell]` to four outputs `[batch, cell]`.
///
/// # Errors
/// An operand has the wrong rank, or sizes provably differ.
pub fn gru_block_cell(cx: &mut InferenceContext<'_>) -> Result<()> {
    let ([batch, input], [cell]) = (cx.axes::<2>(0)?, cx.axes::<1>(5)?);
    let [batch, cell] = state(cx, 1, [&batch, &cell])?;
    weights(cx, [2, 4], &input, &cell, 2)?;
    weights(cx, [3, 5], &input, &cell, 1)?;
    let output = TensorShape::new([batch, cell]);
    for i in 0..4 {
        cx.set_output(i, output.clone());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{block_lstm, gru_block_cell, lstm_block_cell};
    use crate::testing::shape_table;

    shape_table! { cells: lstm_block_cell, ["x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"];
        {} "[n, 3]; [n, 2]; [n, 2]; [5, 8]; [2]; [2]; [2]; [8]" => "[n, 2]; [n, 2]; [n, 2]; [n, 2]; [n, 2]; [n, 2]; [n, 2]";
        {} "[n, 3]; ?; ?; ?; [0]; [0]; [0]; [8]" => "[n, 2]; [n, 2]; [n, 2]; [n, 2]; [n, 2]; [n, 2]; [n, 2]";
        {use_peephole: true} "[n, 3]; ?; ?; ?; [3]; [2]; [2]; [8]" => "error(7 outputs) the size of the cell and the length of a peephole must agree, got 2 and 3";
        {} "[n, 3]; [n, 2]; [n, 2]; [6, 8]; [2]; [2]; [2]; [8]" => "error(7 outputs) must agree, got 5 and 6";
        {} "[n, 3]; [n, 3]; [n, 2]; [5, 8]; [2]; [2]; [2]; [8]" => "error(7 outputs) the sizes of the cell must agree, got 2 and 3";
        {} "[4, 3]; [5, 2]; [n, 2]; [5, 8]; [2]; [2]; [2]; [8]" => "error(7 outputs) the batch sizes must agree, got 4 and 5";
        {} "[n, 3]; ?; ?; ?; [2]; [2]; [2]; [7]" => "error(7 outputs) b must have four gates of one size, got 7 elements";
    }
    shape_table! { layers: block_lstm, ["seq_len_max", "x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"];
        {} "i64 []; [t, n, 3]; [n, 2]; [n, 2]; [5, 8]; [2]; [2]; [2]; [8]" => "[t, n, 2]; [t, n, 2]; [t, n, 2]; [t, n, 2]; [t, n, 2]; [t, n, 2]; [t, n, 2]";
        {} "i64 [1]; [t, n, 3]; [n, 2]; [n, 2]; [5, 8]; [2]; [2]; [2]; [8]" => "error(7 outputs) seq_len_max must have rank 0";
    }
    shape_table! { gated: gru_block_cell, ["x", "h_prev", "w_ru", "w_c", "b_ru", "b_c"];
        {} "[n, 3]; [n, 2]; [5, 4]; [5, 2]; [4]; [2]" => "[n, 2]; [n, 2]; [n, 2]; [n, 2]";
        {} "[n, 3]; [n, 2]; [5, 4]; [5, 2]; [4]; [3]" => "error(4 outputs) the sizes of the cell must agree, got 3 and 2";
        {} "[n, 3]; [n, 2]; [5, 4]; [4, 2]; [4]; [2]" => "error(4 outputs) must agree, got 5 and 4";
    }
}
