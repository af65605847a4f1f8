//! `lstm_block_cell` and `gru_block_cell`: one step of a recurrent network.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, DType, Dim, TensorShape, counted, shape};

use super::window::{dims_of, refuse, with_shape};
use crate::dtype;
use crate::error::{Error, Result};
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::array::concat;
use crate::ops::array::unstack::exactly;

/// The weights of an LSTM.
#[derive(Clone, Copy, Debug)]
pub struct LstmWeights<'g> {
    /// `[input + cell, 4 * cell]`: multiplies the inputs and the last outputs; one block of columns for each gate.
    pub w: Value<'g>,
    /// `[4 * cell]`: the bias of each gate.
    pub b: Value<'g>,
    /// The weights by which the input gate, the forget gate and the output gate read the state of the cell, each
    /// `[cell]`. `None`: the gates do not read the state.
    pub peepholes: Option<[Value<'g>; 3]>,
}

impl<'g> LstmWeights<'g> {
    /// Returns the operands `w, wci, wcf, wco, b`, and whether the peepholes are used. TensorFlow's op needs three
    /// peephole operands even if it does not read them; a block of `b` then stands in for each.
    pub(super) fn operands(self) -> Result<([Value<'g>; 5], bool)> {
        let [i, f, o] = match self.peepholes {
            Some(peepholes) => peepholes,
            None => [self.b.split::<4>(0)?[0]; 3],
        };
        Ok(([self.w, i, f, o, self.b], self.peepholes.is_some()))
    }
}

impl<'g> Value<'g> {
    /// Computes one step of a long short-term memory (LSTM) for the inputs `self` and the last state `cs_prev, h_prev`.
    ///
    /// With `[i', c', f', o'] = concat([x, h_prev], 1) · w + b`, split into four gates along the columns, the outputs,
    /// in this order, are
    ///
    /// ```text
    /// i  = sigmoid(i' + cs_prev * wci)
    /// cs = clip(ci * i + cs_prev * f)
    /// f  = sigmoid(f' + forget_bias + cs_prev * wcf)
    /// o  = sigmoid(o' + cs * wco)
    /// ci = tanh(c')
    /// co = tanh(cs)
    /// h  = co * o
    /// ```
    ///
    /// `wci`, `wcf` and `wco` are the peepholes, or 0. `clip` limits an element to `[-cell_clip, cell_clip]` if
    /// `cell_clip` is greater than 0.
    ///
    /// `x[batch, input], cs_prev[batch, cell], h_prev[batch, cell] -> 7 × [batch, cell]`, f32. As TensorFlow's
    /// `LSTMBlockCell`. The op is composed of other ops, which fuse into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, LstmWeights, Tensor};
    ///
    /// let g = Graph::new();
    /// let (x, zero) = (g.constant([[1.0f32]])?, g.constant([[0.0f32]])?);
    /// let (w, b) = (g.constant([[0.0f32, 9.0, 0.0, 0.0], [0.0; 4]])?, g.constant([0.0f32; 4])?);
    /// let weights = LstmWeights { w, b, peepholes: None };
    /// let [.., h] = x.lstm_block_cell([zero, zero], weights, 1.0, 0.0)?;
    /// let [h] = g.compile(h)?.run(&[])?;
    /// // tanh(0.5) / 2, because tanh(9) is almost 1 and sigmoid(0) is 0.5.
    /// h.allclose(&Tensor::from([[0.231_058_6f32]]), 1e-5, 0.0).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype or a rank is wrong, or sizes differ.
    #[doc(alias = "lstm")]
    #[track_caller]
    pub fn lstm_block_cell(
        self,
        [cs_prev, h_prev]: [Value<'g>; 2],
        weights: LstmWeights<'g>,
        forget_bias: f64,
        cell_clip: f64,
    ) -> Result<[Value<'g>; 7]> {
        let location = Location::caller();
        let (weights, use_peephole) = weights.operands().map_err(|error| error.or_at(location))?;
        let call = self.graph().op(&LSTM).data(self).data(cs_prev).data(h_prev);
        let call = weights.into_iter().fold(call, |call, operand| call.data(operand));
        let call = call.attr("forget_bias", forget_bias).attr("cell_clip", cell_clip);
        exactly(call.attr("use_peephole", use_peephole).finish_all_at(location)?.into_vec())
    }

    /// Computes one step of a gated recurrent unit (GRU) for the inputs `self` and the last output `h_prev`.
    ///
    /// ```text
    /// [r, u] = sigmoid(concat([x, h_prev], 1) · w_ru + b_ru), split along the columns
    /// c = tanh(concat([x, h_prev * r], 1) · w_c + b_c)
    /// h = u * h_prev + (1 - u) * c
    /// ```
    ///
    /// `x[batch, input], h_prev[batch, cell], w_ru[input + cell, 2 * cell], w_c[input + cell, cell], b_ru[2 * cell],
    /// b_c[cell] -> 4 × [batch, cell]`, f32: `r`, `u`, `c` and `h`. As TensorFlow's `GRUBlockCell`. The op is composed
    /// of other ops, which fuse into kernels.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let (x, h) = (g.constant([[0.0f32]])?, g.constant([[2.0f32]])?);
    /// let (w_ru, w_c) = (g.constant([[0.0f32; 2]; 2])?, g.constant([[0.0f32]; 2])?);
    /// let [.., h] = x.gru_block_cell(h, w_ru, w_c, g.constant([0.0f32; 2])?, g.constant([0.0f32])?)?;
    /// let [h] = g.compile(h)?.run(&[])?;
    /// assert_eq!(h.to_vec::<f32>()?, [1.0]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype or a rank is wrong, or sizes differ.
    #[doc(alias = "gru")]
    #[track_caller]
    pub fn gru_block_cell(
        self,
        h_prev: impl IntoOperand<'g>,
        w_ru: impl IntoOperand<'g>,
        w_c: impl IntoOperand<'g>,
        b_ru: impl IntoOperand<'g>,
        b_c: impl IntoOperand<'g>,
    ) -> Result<[Value<'g>; 4]> {
        let location = Location::caller();
        let [h_prev, w_ru] = [h_prev.into_operand(self, location), w_ru.into_operand(self, location)];
        let [w_c, b_ru] = [w_c.into_operand(self, location), b_ru.into_operand(self, location)];
        let call = self.graph().op(&GRU).data(self).data(h_prev).data(w_ru).data(w_c).data(b_ru);
        exactly(call.data(b_c.into_operand(self, location)).finish_all_at(location)?.into_vec())
    }
}

/// Checks that all operands are f32.
pub(super) fn all_f32(dtypes: &[DType]) -> Result<()> {
    match dtypes.iter().position(|dtype| *dtype != DType::F32) {
        Some(operand) => dtype::refuse(format!("operand {operand} must be f32, got {}", dtypes[operand])),
        None => Ok(()),
    }
}

fn wrong_count<T>() -> Result<T> {
    Err(Error::msg("a cell of a recurrent network got another number of operands than it declares"))
}

/// The sizes of a cell.
struct CellSizes {
    batch: Dim,
    inputs: Dim,
    cells: Dim,
}

impl CellSizes {
    /// Returns `x` with two axes, and the sizes that `x` and a state have.
    fn of<'g>(x: Value<'g>, state: Value<'g>) -> Result<(Value<'g>, CellSizes)> {
        let [x, state] = [matrix(x)?, matrix(state)?];
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

    /// Requires a state to have the sizes `[batch, cells]`. Returns the state.
    fn state<'g>(&self, name: &str, state: Value<'g>) -> Result<Value<'g>> {
        sized(name, state, &[self.batch.clone(), self.cells.clone()])
    }

    /// Requires weights to have the sizes `[inputs + cells, gates * cells]`. Returns the weights.
    fn weights<'g>(&self, name: &str, weights: Value<'g>, gates: i64) -> Result<Value<'g>> {
        sized(name, weights, &[&self.inputs + &self.cells, &self.cells * gates])
    }

    /// Requires a vector to have `gates * cells` elements. Returns the vector.
    fn vector<'g>(&self, name: &str, vector: Value<'g>, gates: i64) -> Result<Value<'g>> {
        sized(name, vector, &[&self.cells * gates])
    }
}

fn matrix(x: Value<'_>) -> Result<Value<'_>> {
    match x.shape().rank() {
        Some(_) => Ok(x),
        None => x.ensure_shape(shape![?, ?]),
    }
}

/// Returns `x`, whose sizes must be `sizes`.
fn sized<'g>(name: &str, x: Value<'g>, sizes: &[Dim]) -> Result<Value<'g>> {
    match x.shape().rank() {
        Some(rank) if rank == sizes.len() => {
            with_shape(&format!("the sizes of {name} and of the cell"), x, sizes)
        }
        Some(rank) => refuse(format!("{name} must have {}, got {rank}", counted(sizes.len(), "axis"))),
        None => x.ensure_shape(TensorShape::from(sizes.to_vec())),
    }
}

/// Adds the weighted state of the cell to a gate.
fn peephole<'g>(gate: Value<'g>, state: Value<'g>, weights: Value<'g>) -> Result<Value<'g>> {
    gate.add(state.mul(weights)?)
}

/// The operands of an LSTM over a sequence. A cell has the same operands without the first one.
pub(super) const LAYER_OPERANDS: &[Operand] = &[
    Operand::Data("seq_len_max"),
    Operand::Data("x"),
    Operand::Data("cs_prev"),
    Operand::Data("h_prev"),
    Operand::Data("w"),
    Operand::Data("wci"),
    Operand::Data("wcf"),
    Operand::Data("wco"),
    Operand::Data("b"),
];

pub(crate) static LSTM: OpDef = OpDef::composite("lstm_block_cell", |cx, values| {
    let &[x, cs_prev, h_prev, w, wci, wcf, wco, b] = values else { return wrong_count() };
    all_f32(&values.iter().map(|value| value.dtype()).collect::<Vec<_>>())?;
    let attrs = cx.attrs();
    let (x, sizes) = CellSizes::of(x, cs_prev)?;
    let (cs_prev, h_prev) = (sizes.state("cs_prev", cs_prev)?, sizes.state("h_prev", h_prev)?);
    let (w, b) = (sizes.weights("w", w, 4)?, sizes.vector("b", b, 4)?);
    let reads_state = attrs.bool("use_peephole");
    let mut peepholes = [("wci", wci), ("wcf", wcf), ("wco", wco)];
    for (name, weights) in peepholes.iter_mut().filter(|_| reads_state) {
        *weights = sizes.vector(name, *weights, 1)?;
    }
    let [wci, wcf, wco] = peepholes.map(|(_, weights)| weights);
    let [i, c, f, o] = concat(&[x, h_prev], 1)?.matmul(w)?.add(b)?.split::<4>(1)?;
    let i = if reads_state { peephole(i, cs_prev, wci)? } else { i }.sigmoid()?;
    let ci = c.tanh()?;
    let f = f.add(attrs.float("forget_bias") as f32)?;
    let f = if reads_state { peephole(f, cs_prev, wcf)? } else { f }.sigmoid()?;
    let cs = ci.mul(i)?.add(cs_prev.mul(f)?)?;
    let limit = attrs.float("cell_clip") as f32;
    let cs = if limit > 0.0 { cs.clip_by_value(-limit, limit)? } else { cs };
    let co = cs.tanh()?;
    let o = if reads_state { peephole(o, cs, wco)? } else { o }.sigmoid()?;
    let h = co.mul(o)?;
    Ok(vec![i, cs, f, o, ci, co, h])
})
.attrs(&[
    Attribute::float_or("forget_bias", 1.0),
    Attribute::float_or("cell_clip", 3.0),
    Attribute::bool_or("use_peephole", false),
])
.operands(LAYER_OPERANDS.split_at(1).1)
.outputs(|_, _| 7)
.dtype_rule(|dtypes, _| all_f32(dtypes).map(|()| vec![DType::F32; 7]))
.tensorflow(&[TfOp::new("LSTMBlockCell")]);

pub(crate) static GRU: OpDef = OpDef::composite("gru_block_cell", |_, values| {
    let &[x, h_prev, w_ru, w_c, b_ru, b_c] = values else { return wrong_count() };
    all_f32(&values.iter().map(|value| value.dtype()).collect::<Vec<_>>())?;
    let (x, sizes) = CellSizes::of(x, h_prev)?;
    let h_prev = sizes.state("h_prev", h_prev)?;
    let (w_ru, w_c) = (sizes.weights("w_ru", w_ru, 2)?, sizes.weights("w_c", w_c, 1)?);
    let (b_ru, b_c) = (sizes.vector("b_ru", b_ru, 2)?, sizes.vector("b_c", b_c, 1)?);
    let [r, u] = concat(&[x, h_prev], 1)?.matmul(w_ru)?.add(b_ru)?.sigmoid()?.split::<2>(1)?;
    let c = concat(&[x, h_prev.mul(r)?], 1)?.matmul(w_c)?.add(b_c)?.tanh()?;
    let h = u.mul(h_prev)?.add(u.neg()?.add(1.0f32)?.mul(c)?)?;
    Ok(vec![r, u, c, h])
})
.operands(&[
    Operand::Data("x"),
    Operand::Data("h_prev"),
    Operand::Data("w_ru"),
    Operand::Data("w_c"),
    Operand::Data("b_ru"),
    Operand::Data("b_c"),
])
.outputs(|_, _| 4)
.dtype_rule(|dtypes, _| all_f32(dtypes).map(|()| vec![DType::F32; 4]))
.tensorflow(&[TfOp::new("GRUBlockCell")]);
