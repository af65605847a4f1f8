//! `lstm_block_cell`, `gru_block_cell`: one step of a recurrent net. [`LstmCell`] is the step of an LSTM for
//! precomputed gates.

use shapeflow_shape_fns::{Attribute, DType, Dim, IntoDim, TensorShape, Unknown};

use super::window::{dims_of, refuse, with_shape};
use crate::dtype;
use crate::error::Result;
use crate::graph::Value;
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::array::concat;
use crate::shape_fns;

/// An op for import only: a step of an LSTM. The outputs are `i`, `cs`, `f`, `o`, `ci`, `co` and `h`; see [`LstmCell`].
/// The name is that of TensorFlow's op `LSTMBlockCell`.
pub(crate) static LSTM: OpDef = OpDef::composite("lstm_block_cell", build_lstm)
    .attrs(&[
        Attribute::float_or("forget_bias", 1.0),
        Attribute::float_or("cell_clip", 3.0),
        Attribute::bool_or("use_peephole", false),
    ])
    .operands(&[
        Operand::Data("x"),
        Operand::Data("cs_prev"),
        Operand::Data("h_prev"),
        Operand::Data("w"),
        Operand::Data("wci"),
        Operand::Data("wcf"),
        Operand::Data("wco"),
        Operand::Data("b"),
    ])
    .outputs(|_, _| 7)
    .shape_fn(shape_fns::nn::lstm_block_cell)
    .dtype_rule(|dtypes, _| Ok(vec![dtype::common(dtypes, 0, 8, dtype::Class::Float)?; 7]))
    .tensorflow(&[TfOp::new("LSTMBlockCell")]);

/// An op for import only: a step of a GRU. With the gates `[r, u] = sigmoid([x, h_prev]·w_ru + b_ru)`, the outputs are
/// `r`, `u`, `c = tanh([x, r*h_prev]·w_c + b_c)` and `h = u*h_prev + (1 - u)*c`. The name is that of TensorFlow's op
/// `GRUBlockCell`.
pub(crate) static GRU: OpDef = OpDef::composite("gru_block_cell", build_gru)
    .operands(&[
        Operand::Data("x"),
        Operand::Data("h_prev"),
        Operand::Data("w_ru"),
        Operand::Data("w_c"),
        Operand::Data("b_ru"),
        Operand::Data("b_c"),
    ])
    .outputs(|_, _| 4)
    .shape_fn(shape_fns::nn::gru_block_cell)
    .dtype_rule(|dtypes, _| Ok(vec![dtype::common(dtypes, 0, 6, dtype::Class::Float)?; 4]))
    .tensorflow(&[TfOp::new("GRUBlockCell")]);

/// A step of an LSTM, after the product of inputs and weights.
pub(crate) struct LstmCell<'g> {
    /// Added to the gate `f` before its activation.
    pub forget_bias: f64,
    /// The largest absolute value of a state; no limit if it is not positive.
    pub cell_clip: f64,
    /// The weights of the state in the gates `i`, `f` and `o`.
    pub peepholes: Option<[Value<'g>; 3]>,
    /// Whether the order of the gates is `i, f, c, o`; else it is `i, c, f, o`.
    pub is_ifco: bool,
}

impl<'g> LstmCell<'g> {
    /// Returns `[i, cs, f, o, ci, co, h]` for the `gates` `[b, 4*c]` and the previous states `[b, c]`:
    ///
    /// ```text
    /// i  = sigmoid(gate_i + wci*cs_prev)
    /// f  = sigmoid(gate_f + forget_bias + wcf*cs_prev)
    /// ci = tanh(gate_c)
    /// cs = ci*i + cs_prev*f, limited to -cell_clip..=cell_clip
    /// co = tanh(cs)
    /// o  = sigmoid(gate_o + wco*cs)
    /// h  = co*o
    /// ```
    pub fn step(&self, gates: Value<'g>, cs_prev: Value<'g>) -> Result<[Value<'g>; 7]> {
        let [gate_i, second, third, gate_o] = gates.split::<4>(1)?;
        let (gate_c, gate_f) = if self.is_ifco { (third, second) } else { (second, third) };
        let seen = |gate: Value<'g>, which: usize, state: Value<'g>| match &self.peepholes {
            Some(weights) => gate.add(state.mul(weights[which])?),
            None => Ok(gate),
        };
        let i = seen(gate_i, 0, cs_prev)?.sigmoid()?;
        let f = seen(gate_f.add(self.forget_bias)?, 1, cs_prev)?.sigmoid()?;
        let ci = gate_c.tanh()?;
        let mut cs = ci.mul(i)?.add(cs_prev.mul(f)?)?;
        if self.cell_clip > 0.0 {
            cs = cs.clip_by_value(-self.cell_clip, self.cell_clip)?;
        }
        let co = cs.tanh()?;
        let o = seen(gate_o, 2, cs)?.sigmoid()?;
        Ok([i, cs, f, o, ci, co, co.mul(o)?])
    }
}

/// The sizes of a recurrent net.
pub(crate) struct CellSizes {
    pub batch: Dim,
    pub inputs: Dim,
    pub cells: Dim,
}

impl CellSizes {
    /// Returns the number of rows of the weights.
    pub fn rows(&self) -> Dim {
        &self.inputs + &self.cells
    }

    /// Returns the sizes of a state.
    pub fn state(&self) -> [Dim; 2] {
        [self.batch.clone(), self.cells.clone()]
    }

    /// Returns the operands of an LSTM, `cs_prev`, `h_prev`, `w` and `b`, with the sizes that they must have.
    pub fn lstm<'g>(&self, operands: [Value<'g>; 4]) -> Result<[Value<'g>; 4]> {
        let [cs_prev, h_prev, w, b] = operands;
        let gates = &self.cells * 4;
        Ok([
            with_rank("the shape of cs_prev and of a state", cs_prev, &self.state())?,
            with_rank("the shape of h_prev and of a state", h_prev, &self.state())?,
            with_rank("the shape of w and of the weights", w, &[self.rows(), gates.clone()])?,
            with_rank("the shape of b and of the gates", b, &[gates])?,
        ])
    }

    /// Returns the peepholes of an LSTM with the sizes that they must have.
    pub fn peepholes<'g>(&self, weights: [Value<'g>; 3]) -> Result<[Value<'g>; 3]> {
        let cells = std::slice::from_ref(&self.cells);
        let [i, f, o] =
            weights.map(|weights| with_rank("the shape of a peephole and of the cells", weights, cells));
        Ok([i?, f?, o?])
    }
}

/// Returns `x` with `N` axes.
pub(crate) fn axes<const N: usize>(x: Value<'_>) -> Result<Value<'_>> {
    match x.shape().rank() {
        Some(_) => x.ok(),
        None => x.ensure_shape(TensorShape::new((0..N).map(|_| Unknown.into_dim()))),
    }
}

/// Returns `x`, whose sizes must be `sizes`.
fn with_rank<'g>(what: &str, x: Value<'g>, sizes: &[Dim]) -> Result<Value<'g>> {
    match x.shape().rank() {
        Some(rank) if rank == sizes.len() => with_shape(what, x, sizes),
        Some(rank) => refuse(format!("{what} must agree, got {rank} and {} axes", sizes.len())),
        None => x.ensure_shape(TensorShape::from(sizes.to_vec())),
    }
}

/// Returns the sizes of the cell of input `x` and a previous state.
fn sizes_of<'g>(x: Value<'g>, state: Value<'g>) -> Result<(Value<'g>, CellSizes)> {
    let (x, state) = (axes::<2>(x)?, axes::<2>(state)?);
    match (&dims_of(x)[..], &dims_of(state)[..]) {
        ([batch, inputs], [_, cells]) => {
            let (batch, inputs, cells) = (batch.clone(), inputs.clone(), cells.clone());
            Ok((x, CellSizes { batch, inputs, cells }))
        }
        (x, state) => {
            refuse(format!("x and a state must be matrices, got {} and {} axes", x.len(), state.len()))
        }
    }
}

/// Refuses operands that are not floats of one dtype.
fn require_floats(values: &[Value<'_>]) -> Result<()> {
    let dtypes: Vec<DType> = values.iter().map(|value| value.dtype()).collect();
    dtype::common(&dtypes, 0, values.len(), dtype::Class::Float).map(drop)
}

fn build_lstm<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x, cs_prev, h_prev, w, wci, wcf, wco, b] = *values else {
        return refuse("lstm_block_cell needs x, cs_prev, h_prev, w, wci, wcf, wco and b".to_string());
    };
    require_floats(values)?;
    let (x, sizes) = sizes_of(x, cs_prev)?;
    let [cs_prev, h_prev, w, b] = sizes.lstm([cs_prev, h_prev, w, b])?;
    let has_peepholes = cx.attrs().bool("use_peephole");
    let cell = LstmCell {
        forget_bias: cx.attrs().float("forget_bias"),
        cell_clip: cx.attrs().float("cell_clip"),
        peepholes: if has_peepholes { Some(sizes.peepholes([wci, wcf, wco])?) } else { None },
        is_ifco: false,
    };
    let gates = concat(&[x, h_prev], 1)?.matmul(w)?.add(b)?;
    Ok(cell.step(gates, cs_prev)?.to_vec())
}

fn build_gru<'g>(_: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x, h_prev, w_ru, w_c, b_ru, b_c] = *values else {
        return refuse("gru_block_cell needs x, h_prev, w_ru, w_c, b_ru and b_c".to_string());
    };
    require_floats(values)?;
    let (x, sizes) = sizes_of(x, h_prev)?;
    let (rows, cells, gates) = (sizes.rows(), sizes.cells.clone(), &sizes.cells * 2);
    let h_prev = with_rank("the shape of h_prev and of a state", h_prev, &sizes.state())?;
    let w_ru = with_rank("the shape of w_ru and of the weights", w_ru, &[rows.clone(), gates.clone()])?;
    let w_c = with_rank("the shape of w_c and of the weights", w_c, &[rows, cells.clone()])?;
    let b_ru = with_rank("the shape of b_ru and of the gates", b_ru, &[gates])?;
    let b_c = with_rank("the shape of b_c and of the cells", b_c, &[cells])?;
    let [r, u] = concat(&[x, h_prev], 1)?.matmul(w_ru)?.add(b_ru)?.sigmoid()?.split::<2>(1)?;
    let c = concat(&[x, h_prev.mul(r)?], 1)?.matmul(w_c)?.add(b_c)?.tanh()?;
    let h = u.mul(h_prev)?.add(u.neg()?.add(1.0)?.mul(c)?)?;
    Ok(vec![r, u, c, h])
}

#[cfg(test)]
mod tests {
    use super::{GRU, LSTM};
    use crate::ops::testing::shape_table;

    shape_table! { lstm_shapes: LSTM, {},
        "[n, 3]; [n, 2]; [n, 2]; [5, 8]; [2]; [2]; [2]; [8]"
            => "[n, 2]; [n, 2]; [n, 2]; [n, 2]; [n, 2]; [n, 2]; [n, 2]",
        "[n, 3]; [n, 2]; [n, 2]; [5, 7]; [2]; [2]; [2]; [8]" => error "must agree, got [5, 7] and [5, 8]",
    }

    shape_table! { gru_shapes: GRU, {},
        "[n, 3]; [n, 2]; [5, 4]; [5, 2]; [4]; [2]" => "[n, 2]; [n, 2]; [n, 2]; [n, 2]",
        "[n, 3]; [n, 2]; [5, 4]; [5, 2]; [4]; [1]" => error "must agree, got [1] and [2]",
    }
}
