//! Imports `BlockLSTM` and `BlockLSTMV2`, the layers of an LSTM, as a loop over the steps.

use shapeflow_shape_fns::Dim;

use super::super::proto::AttrKind;
use super::built::{Built, ImportedValue};
use super::frame::{Frame, damaged};
use super::importer::Importer;
use crate::error::Result;
use crate::graph::Value;
use crate::ops::nn::recurrent::{CellSizes, LstmCell, axes};

/// Returns whether [`Importer::block_lstm`] imports the op type.
pub(super) fn is_block_lstm(op: &str) -> bool {
    matches!(op, "BlockLSTM" | "BlockLSTMV2")
}

impl<'a, 'g> Importer<'a, 'g> {
    /// Imports a layer of an LSTM. The inputs are `seq_len_max`, `x`, `cs_prev`, `h_prev`, `w`, `wci`, `wcf`, `wco` and
    /// `b`. The outputs `i`, `cs`, `f`, `o`, `ci`, `co` and `h` are 0 from step `seq_len_max` on.
    pub(super) fn block_lstm(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        let op = frame.nodes[index].op.as_str();
        let values: Vec<Value<'g>> = inputs.iter().map(|input| input.value).collect();
        let [count, x, cs_prev, h_prev, w, wci, wcf, wco, b] = values[..] else {
            return damaged(format!("{op} must have 9 inputs, got {}", values.len()));
        };
        let number = |name: &str, default: f64| match frame.attr(index, name) {
            Some(AttrKind::F(number)) => f64::from(*number),
            _ => default,
        };
        let is_ifco = op == "BlockLSTMV2";
        let (forget_bias, cell_clip) = match is_ifco {
            true => (0.0, number("cell_clip", 0.0)),
            false => (number("forget_bias", 1.0), number("cell_clip", 3.0)),
        };
        let has_peepholes = matches!(frame.attr(index, "use_peephole"), Some(AttrKind::B(true)));
        let graph = self.graph;
        let _call = graph.open_call_at(self.location);
        let (x, states) = (axes::<3>(x)?, axes::<2>(cs_prev)?.shape());
        let (steps, sizes) = match (x.shape().dims(), states.dims()) {
            (Some([steps, batch, inputs]), Some([_, cells])) => {
                let (batch, inputs, cells) = (batch.clone(), inputs.clone(), cells.clone());
                (steps.clone(), CellSizes { batch, inputs, cells })
            }
            _ => return damaged(format!("{op} must have an x of 3 axes and states of 2 axes")),
        };
        let [cs_prev, h_prev, w, b] = sizes.lstm([cs_prev, h_prev, w, b])?;
        let peepholes = if has_peepholes { Some(sizes.peepholes([wci, wcf, wco])?) } else { None };
        let cell = LstmCell { forget_bias, cell_clip, peepholes, is_ifco };
        let count = count.as_dim("seq_len_max")?;
        // One product for the inputs of all steps, and one of the state for each step.
        let of_inputs = w.slice([0, 0], [sizes.inputs.clone(), &sizes.cells * 4])?;
        let of_state = w.slice([sizes.inputs.clone(), 0.into()], [sizes.cells.clone(), &sizes.cells * 4])?;
        let given = x.slice([0, 0, 0], [count.clone(), sizes.batch.clone(), sizes.inputs.clone()])?;
        let given = given.matmul(of_inputs)?.add(b)?;
        let (_, rows) = graph.scan(&[cs_prev, h_prev], &[given], |state, given| {
            let gates = given[0].add(state[1].matmul(of_state)?)?;
            let outputs = cell.step(gates, state[0])?;
            Ok((vec![outputs[1], outputs[6]], outputs.to_vec()))
        })?;
        let none = Dim::known(0);
        let paddings = [[none.clone(), &steps - &count], [none.clone(), none.clone()], [none.clone(), none]];
        let outputs = rows.into_iter().map(|rows| Ok(rows.pad(&paddings)?.named(name)));
        Ok(Built::of(outputs.collect::<Result<_>>()?))
    }
}
