//! Cells and layers of recurrent nets.

use crate::{Dim, InferenceContext, Result, TensorShape};

/// `x[b, i], cs_prev[b, c], h_prev[b, c], w[i + c, 4*c], wci, wcf, wco, b[4*c]` to seven outputs `[b, c]`. The
/// peepholes `wci`, `wcf` and `wco` are `[c]` if `use_peephole`.
///
/// # Errors
/// An operand has the wrong rank, or sizes provably differ.
pub fn lstm_block_cell(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [batch, inputs] = cx.axes::<2>(0)?;
    let states = states(cx, batch, &[1, 2])?;
    lstm_weights(cx, &inputs, &states[1], 3)?;
    for output in 0..7 {
        cx.set_output(output, TensorShape::new(states.clone()));
    }
    Ok(())
}

/// `seq_len_max, x[t, b, i], cs_prev[b, c], h_prev[b, c], w[i + c, 4*c], wci, wcf, wco, b[4*c]` to seven outputs
/// `[t, b, c]`. The peepholes `wci`, `wcf` and `wco` are `[c]` if `use_peephole`.
///
/// # Errors
/// An operand has the wrong rank, or sizes provably differ.
pub fn block_lstm(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.with_rank(0, 0)?;
    let [steps, batch, inputs] = cx.axes::<3>(1)?;
    let [batch, cells] = states(cx, batch, &[2, 3])?;
    lstm_weights(cx, &inputs, &cells, 4)?;
    for output in 0..7 {
        cx.set_output(output, TensorShape::new([steps.clone(), batch.clone(), cells.clone()]));
    }
    Ok(())
}

/// `x[b, i], h_prev[b, c], w_ru[i + c, 2*c], w_c[i + c, c], b_ru[2*c], b_c[c]` to four outputs `[b, c]`.
///
/// # Errors
/// An operand has the wrong rank, or sizes provably differ.
pub fn gru_block_cell(cx: &mut InferenceContext<'_>) -> Result<()> {
    let [batch, inputs] = cx.axes::<2>(0)?;
    let states = states(cx, batch, &[1])?;
    let cells = states[1].clone();
    let (rows, gates) = (cx.add(&inputs, &cells)?, cx.mul(&Dim::known(2), &cells)?);
    require(cx, 2, [rows.clone(), gates.clone()])?;
    require(cx, 3, [rows, cells.clone()])?;
    require(cx, 4, [gates])?;
    require(cx, 5, [cells])?;
    for output in 0..4 {
        cx.set_output(output, TensorShape::new(states.clone()));
    }
    Ok(())
}

/// Returns the common sizes of the states: the batch size, and the number of cells.
fn states(cx: &mut InferenceContext<'_>, batch: Dim, operands: &[usize]) -> Result<[Dim; 2]> {
    let mut sizes = [batch, cx.fresh()];
    for &operand in operands {
        let given = cx.axes::<2>(operand)?;
        for (size, given) in sizes.iter_mut().zip(&given) {
            *size = cx.merge(size, given).map_err(|error| error.operand(operand))?;
        }
    }
    Ok(sizes)
}

/// Checks the weights of an LSTM, the operands from `first` on: `w`, `wci`, `wcf`, `wco` and `b`.
fn lstm_weights(cx: &mut InferenceContext<'_>, inputs: &Dim, cells: &Dim, first: usize) -> Result<()> {
    let (rows, gates) = (cx.add(inputs, cells)?, cx.mul(&Dim::known(4), cells)?);
    require(cx, first, [rows, gates.clone()])?;
    require(cx, first + 4, [gates])?;
    if cx.bool_or("use_peephole", false)? {
        for peephole in first + 1..first + 4 {
            require(cx, peephole, [cells.clone()])?;
        }
    }
    Ok(())
}

/// Requires these sizes of an operand.
fn require<const N: usize>(cx: &mut InferenceContext<'_>, operand: usize, sizes: [Dim; N]) -> Result<()> {
    let given = cx.axes::<N>(operand)?;
    for (size, given) in sizes.iter().zip(&given) {
        cx.merge(given, size).map_err(|error| error.operand(operand))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{block_lstm, gru_block_cell, lstm_block_cell};
    use crate::testing::shape_table;

    shape_table! { lstm_cells: lstm_block_cell, ["x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"];
        {} "[n, 3]; [n, 2]; [n, 2]; [5, 8]; [2]; [2]; [2]; [8]" => "[n, 2]; [n, 2]; [n, 2]; [n, 2]; [n, 2]; [n, 2]; [n, 2]";
        {} "[n, 3]; [n, 2]; [n, 2]; [4, 8]; [2]; [2]; [2]; [8]" => "error 4 and 5";
        {use_peephole: true} "[n, 3]; [n, 2]; [n, 2]; [5, 8]; [2]; [3]; [2]; [8]" => "error 3 and 2";
    }

    shape_table! { lstm_layers: block_lstm,
        ["seq_len_max", "x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"];
        {} "i64 []; [t, n, 3]; [n, 2]; [n, 2]; [5, 8]; [2]; [2]; [2]; [8]"
            => "[t, n, 2]; [t, n, 2]; [t, n, 2]; [t, n, 2]; [t, n, 2]; [t, n, 2]; [t, n, 2]";
        {} "i64 []; [t, n, 3]; [n, 2]; [n, 3]; [5, 8]; [2]; [2]; [2]; [8]" => "error 2 and 3";
    }

    shape_table! { gru_cells: gru_block_cell, ["x", "h_prev", "w_ru", "w_c", "b_ru", "b_c"];
        {} "[n, 3]; [n, 2]; [5, 4]; [5, 2]; [4]; [2]" => "[n, 2]; [n, 2]; [n, 2]; [n, 2]";
        {} "[n, 3]; [n, 2]; [5, 4]; [5, 3]; [4]; [2]" => "error 3 and 2";
    }
}
