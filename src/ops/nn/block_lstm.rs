//! `block_lstm`: a long short-term memory (LSTM) over all times of a sequence.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::recurrent::{LAYER_OPERANDS, LstmWeights, all_f32};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, TfOp};
use crate::ops::array::unstack::exactly;
use crate::ops::row_major::RowMajor;
use crate::shape_fns;
use crate::tensor::reserved_vec;
use crate::tiles::AddMultiple;

/// The number of outputs: `i`, `cs`, `f`, `o`, `ci`, `co` and `h`.
const OUTPUTS: usize = 7;

impl<'g> Value<'g> {
    /// Computes a long short-term memory (LSTM) over the times of `self`, from the state `cs_prev, h_prev` on. The
    /// steps are those of [`Value::lstm_block_cell`] with a forget bias of 0, except that the blocks of columns of the
    /// weights belong to `i`, `f`, `c` and `o`, in this order.
    ///
    /// `x[times, batch, input], steps i64[], cs_prev[batch, cell], h_prev[batch, cell] -> 7 × [times, batch, cell]`,
    /// f32: `i`, `cs`, `f`, `o`, `ci`, `co` and `h` of each time. Only the first `steps` times are computed; the
    /// outputs of later times are 0. As TensorFlow's `BlockLSTMV2`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, LstmWeights, Tensor};
    ///
    /// let g = Graph::new();
    /// let (x, zero) = (g.constant([[[1.0f32]], [[1.0]]])?, g.constant([[0.0f32]])?);
    /// let (w, b) = (g.constant([[0.0f32, 0.0, 9.0, 0.0], [0.0; 4]])?, g.constant([0.0f32; 4])?);
    /// let weights = LstmWeights { w, b, peepholes: None };
    /// let [_, cs, ..] = x.block_lstm(g.constant(2i64)?, [zero, zero], weights, 0.0)?;
    /// let [cs] = g.compile(cs)?.run(&[])?;
    /// cs.allclose(&Tensor::from([[[0.5f32]], [[0.75]]]), 1e-5, 0.0).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype or a rank is wrong, or sizes differ. The run fails if `steps` is negative or greater than `times`.
    #[doc(alias = "lstm")]
    #[track_caller]
    pub fn block_lstm(
        self,
        steps: impl IntoOperand<'g>,
        [cs_prev, h_prev]: [Value<'g>; 2],
        weights: LstmWeights<'g>,
        cell_clip: f64,
    ) -> Result<[Value<'g>; 7]> {
        let location = Location::caller();
        let (weights, use_peephole) = weights.operands().map_err(|error| error.or_at(location))?;
        let call = self.graph().op(&DEF).data(steps.into_own_operand(self.graph(), location)).data(self);
        let call =
            weights.into_iter().fold(call.data(cs_prev).data(h_prev), |call, operand| call.data(operand));
        let call = call.attr("cell_clip", cell_clip).attr("use_peephole", use_peephole);
        exactly(call.finish_all_at(location)?.into_vec())
    }
}

pub(crate) static DEF: OpDef = OpDef::host("block_lstm", |cx| run(cx, [0, 2, 1, 3], 0.0))
    .attrs(&[Attribute::float_or("cell_clip", 0.0), Attribute::bool_or("use_peephole", false)])
    .operands(LAYER_OPERANDS)
    .outputs(|_, _| OUTPUTS)
    .shape_fn(shape_fns::nn::block_lstm)
    .dtype_rule(output_dtypes)
    .tensorflow(&[TfOp::new("BlockLSTMV2")]);

/// The blocks of columns of the weights belong to `i`, `c`, `f` and `o`, in this order, and the forget gate has a bias.
pub(crate) static WITH_FORGET_BIAS: OpDef = OpDef::host("block_lstm_with_forget_bias", |cx| {
    let forget_bias = cx.attrs().float("forget_bias") as f32;
    run(cx, [0, 1, 2, 3], forget_bias)
})
.attrs(&[
    Attribute::float_or("forget_bias", 1.0),
    Attribute::float_or("cell_clip", 3.0),
    Attribute::bool_or("use_peephole", false),
])
.operands(LAYER_OPERANDS)
.outputs(|_, _| OUTPUTS)
.shape_fn(shape_fns::nn::block_lstm)
.dtype_rule(output_dtypes)
.tensorflow(&[TfOp::new("BlockLSTM")]);

fn output_dtypes(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    match dtypes.split_first() {
        Some((DType::I64, rest)) => all_f32(rest)?,
        Some((other, _)) => return dtype::refuse(format!("seq_len_max must be i64, got {other}")),
        None => {}
    }
    Ok(vec![DType::F32; OUTPUTS])
}

/// The positions of the new state of the cell and of `h` among the outputs.
const CS: usize = 1;
const H: usize = 6;

/// The positions of the cell's state and of `h` in the state between steps.
const CS_STATE: usize = 0;
const H_STATE: usize = 1;

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// Computes all steps. `blocks` has the block of columns of `i`, `c`, `f` and `o`.
fn run(cx: &mut HostCx<'_>, blocks: [usize; 4], forget_bias: f32) -> Result<()> {
    let steps = cx.input(0)?.to_vec::<i64>()?.first().copied().unwrap_or(0);
    let operands: Vec<RowMajor<'_>> = (1..9).map(|i| RowMajor::new(cx.input(i)?)).collect::<Result<_>>()?;
    let views: Vec<_> = operands.iter().map(RowMajor::view).collect();
    let (&[times, batch, inputs], &[_, cell]) = (views[0].sizes(), views[1].sizes()) else {
        unreachable!("the shape function checks the ranks");
    };
    let Some(steps) = usize::try_from(steps).ok().filter(|steps| *steps <= times) else {
        let message = format!("seq_len_max must be from 0 to {times}, the number of times, got {steps}");
        return Err(Error::new(ErrorKind::Data, Phase::Run, message));
    };
    let numbers = views.iter().map(|view| view.as_slice::<f32>()).collect::<Result<Vec<_>>>()?;
    let &[x, cs_first, h_first, w, wci, wcf, wco, b] = &numbers[..] else {
        unreachable!("an LSTM has eight operands of numbers");
    };
    let limit = cx.attrs().float("cell_clip") as f32;
    let use_peephole = cx.attrs().bool("use_peephole");
    let mut gates = reserved_vec(batch * 4 * cell)?;
    let mut last = [cs_first, h_first].map(<[f32]>::to_vec);
    let sizes = vec![vec![times, batch, cell]; OUTPUTS];
    let mut outputs = cx.unfilled_outputs(&sizes)?;
    let mut outputs =
        outputs.iter_mut().map(|output| output.as_mut_slice::<f32>()).collect::<Result<Vec<_>>>()?;
    let (state, width) = (batch * cell, 4 * cell);
    for output in &mut outputs {
        output[steps * state..].fill(0.0);
    }
    // Without cells, the outputs are empty.
    let steps = if cell == 0 { 0 } else { steps };
    for step in 0..steps {
        gates.clear();
        gates.resize(batch * width, 0.0);
        // Each row of the weights is read once for the whole batch.
        for (number, weights) in w.chunks_exact(width).enumerate() {
            for (row, gates) in gates.chunks_exact_mut(width).enumerate() {
                let factor = match number.checked_sub(inputs) {
                    None => x[(step * batch + row) * inputs + number],
                    Some(number) => last[H_STATE][row * cell + number],
                };
                f32::add_multiple(gates, weights, factor);
            }
        }
        for (row, gates) in gates.chunks_exact_mut(width).enumerate() {
            for (gate, bias) in gates.iter_mut().zip(b) {
                *gate += bias;
            }
            for at in 0..cell {
                let [mut i, c, mut f, mut o] = blocks.map(|block| gates[block * cell + at]);
                let before = last[CS_STATE][row * cell + at];
                f += forget_bias;
                if use_peephole {
                    i += before * wci[at];
                    f += before * wcf[at];
                }
                let (i, f, ci) = (sigmoid(i), sigmoid(f), c.tanh());
                let mut cs = ci * i + before * f;
                if limit > 0.0 {
                    cs = cs.max(-limit).min(limit);
                }
                if use_peephole {
                    o += cs * wco[at];
                }
                let (o, co) = (sigmoid(o), cs.tanh());
                for (output, number) in outputs.iter_mut().zip([i, cs, f, o, ci, co, co * o]) {
                    output[step * state + row * cell + at] = number;
                }
            }
        }
        last[CS_STATE].copy_from_slice(&outputs[CS][step * state..][..state]);
        last[H_STATE].copy_from_slice(&outputs[H][step * state..][..state]);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::nn::recurrent::LSTM;
    use crate::ops::testing::{run, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { DEF, {},
        "i64[]; [t, n, 3]; [n, 2]; [n, 2]; [5, 8]; [2]; [2]; [2]; [8]" => "[t, n, 2]; [t, n, 2]; [t, n, 2]; [t, n, 2]; [t, n, 2]; [t, n, 2]; [t, n, 2]",
        "i32[]; [t, n, 3]; [n, 2]; [n, 2]; [5, 8]; [2]; [2]; [2]; [8]" => error "seq_len_max must be i64, got i32",
        "i64[]; [t, n, 3]; f64[n, 2]; [n, 2]; [5, 8]; [2]; [2]; [2]; [8]" => error "must be f32, got f64",
    }
    shape_table! { cell: LSTM, {},
        "[n, 3]; [n, 2]; [n, 2]; [5, 8]; [2]; [2]; [2]; [8]" => "[n, 2]; [n, 2]; [n, 2]; [n, 2]; [n, 2]; [n, 2]; [n, 2]",
        "[n, 3]; [n, 2]; [n, 2]; [6, 8]; [2]; [2]; [2]; [8]" => error "the sizes of w and of the cell must agree, got [6, 8] and [5, 8]",
        "[n, 3]; [n, 1]; [n, 2]; [5, 8]; [2]; [2]; [2]; [8]" => error "the sizes of h_prev and of the cell must agree, got [n, 2] and [n, 1]",
    }

    fn numbers(sizes: &[usize], seed: usize) -> Tensor {
        let count: usize = sizes.iter().product();
        let all: Vec<f32> = (0..count).map(|i| ((i * 37 + seed * 11) % 41) as f32 / 20.0 - 1.0).collect();
        tensor(sizes, &all)
    }

    /// A loop of cells gives the outputs of all times.
    #[test]
    fn a_layer_is_a_loop_of_cells() {
        let (times, batch, inputs, cell) = (4, 2, 3, 2);
        let x = numbers(&[times, batch, inputs], 1);
        let [cs, h] = [2, 3].map(|seed| numbers(&[batch, cell], seed));
        let w = numbers(&[inputs + cell, 4 * cell], 4);
        let [wci, wcf, wco] = [5, 6, 7].map(|seed| numbers(&[cell], seed));
        let b = numbers(&[4 * cell], 8);
        for (use_peephole, limit) in [(false, 0.0), (true, 0.25), (true, 3.0)] {
            let attrs = Attrs::new().with("cell_clip", limit).with("use_peephole", use_peephole);
            let shared = [&w, &wci, &wcf, &wco, &b].map(Tensor::clone);
            let of_layer = |steps: i64| {
                let mut operands = vec![Tensor::from(steps), x.clone(), cs.clone(), h.clone()];
                operands.extend(shared.clone());
                run(&WITH_FORGET_BIAS, &attrs, &operands).unwrap()
            };
            let (got, cut) = (of_layer(times as i64), of_layer(2));
            let (mut cs, mut h) = (cs.clone(), h.clone());
            let x = x.to_vec::<f32>().unwrap();
            for time in 0..times {
                let now = tensor(&[batch, inputs], &x[time * batch * inputs..][..batch * inputs]);
                let mut operands = vec![now, cs, h];
                operands.extend(shared.clone());
                let expected = of_cell(&attrs, &operands);
                for (output, expected) in expected.iter().enumerate() {
                    let part =
                        |all: &[Tensor]| all[output].to_vec::<f32>().unwrap()[time * 4..][..4].to_vec();
                    let got = tensor(&[batch, cell], &part(&got));
                    got.allclose(expected, 1e-5, 1e-6).unwrap();
                    let kept = if time < 2 { got.to_vec::<f32>().unwrap() } else { vec![0.0; 4] };
                    assert_eq!(part(&cut), kept);
                }
                (cs, h) = (expected[CS].clone(), expected[H].clone());
            }
        }
        let mut operands = vec![Tensor::from(5i64), x, cs, h];
        operands.extend([w, wci, wcf, wco, b]);
        let error = run(&DEF, &Attrs::new(), &operands).unwrap_err();
        assert!(error.message().contains("seq_len_max must be from 0 to 4"), "{error}");
    }

    /// Runs one cell through a graph.
    fn of_cell(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
        let g = crate::graph::Graph::new();
        let mut call = g.op(&LSTM);
        for operand in operands {
            call = call.data(g.constant(operand.clone()).unwrap());
        }
        for (name, attr) in attrs.iter() {
            call = call.attr(name.to_string().leak(), attr.clone());
        }
        let outputs = call.finish_all().unwrap();
        g.compile(&outputs[..]).unwrap().run_all(&[]).unwrap()
    }
}
