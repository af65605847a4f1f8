//! Imports the random ops of TensorFlow that have a state as ops whose numbers depend only on a seed.
//!
//! TensorFlow continues the stream of numbers from run to run. Here every run has the same numbers. If the node has a
//! seed, these are the numbers of TensorFlow's first run. Otherwise they come from a stream that the name of the node
//! and [`ImportOptions::random_seed`](super::super::ImportOptions::random_seed) choose.

use std::hash::Hasher;

use rustc_hash::FxHasher;
use shapeflow_shape_fns::DType;

use super::super::dtype_number::dtype_of;
use super::super::proto::AttrKind;
use super::built::{Built, ImportedValue};
use super::frame::{Frame, damaged};
use super::importer::Importer;
use super::random_ops::definition;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoParam, IntoShapeArg};
use crate::ops::array::concat;
use crate::ops::random::state::PHILOX;
use crate::tensor::Tensor;

impl<'a, 'g> Importer<'a, 'g> {
    /// Imports a node for which [`is_random_op`](super::random_ops::is_random_op) holds.
    ///
    /// # Errors
    /// The node stands in a loop, whose iterations would all have the same numbers, or it initialises a resource.
    pub(super) fn random_node(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        let op = frame.nodes[index].op.as_str();
        let Some(definition) = definition(op) else { return Ok(Built::default()) };
        let place = match (self.open_loops > 0, self.recording.is_some()) {
            (true, _) => Some("in a loop, where every iteration would have the same numbers"),
            (_, true) => Some("in the initialisation of a resource"),
            _ => None,
        };
        if let Some(place) = place {
            let message = format!("{op} is not supported {place}");
            return Err(Error::new(ErrorKind::UnknownOp, Phase::Build, message));
        }
        let Some((first, rest)) = inputs.split_first() else {
            return damaged(format!("{op} must have an input"));
        };
        let seed = |name: &str| match frame.attr(index, name) {
            Some(AttrKind::I(seed)) => seed.cast_unsigned(),
            _ => 0,
        };
        let (key, stream) = match (seed("seed"), seed("seed2")) {
            (0, 0) => {
                let mut hasher = FxHasher::default();
                hasher.write(name.as_bytes());
                (self.options.random_seed, hasher.finish())
            }
            seeds => seeds,
        };
        let state = [Tensor::from([key]), Tensor::from([0, stream]), Tensor::from(PHILOX)];
        let state = state.map(|tensor| self.graph.constant_at(tensor, self.location));
        let builder = self.graph.op(definition);
        let dtype = |name: &str| match frame.attr(index, name) {
            Some(AttrKind::Type(number)) => dtype_of(*number),
            _ => None,
        };
        let builder = match (op, rest) {
            ("RandomShuffle", []) => builder.data(first.value).data_all(&state),
            ("Multinomial", [count]) => {
                let builder = builder.data(first.value).size("num_samples", count.value.into_param());
                let classes = dtype("output_dtype").unwrap_or(DType::I64);
                builder.data_all(&state).attr("output_dtype", classes)
            }
            ("RandomGamma" | "RandomPoissonV2", [parameter]) => {
                // The op of this crate takes the shape of the result, which ends with the shape of the parameter.
                let sizes = parameter.value.shape_tensor_as(first.value.dtype())?;
                let shape = concat(&[first.value, sizes], 0)?;
                let builder = builder.size("shape", shape).data_all(&state).data(parameter.value);
                match op {
                    "RandomGamma" => builder,
                    _ => builder.attr("dtype", dtype("dtype").unwrap_or(DType::I64)),
                }
            }
            ("RandomShuffle" | "Multinomial" | "RandomGamma" | "RandomPoissonV2", _) => {
                return damaged(format!("{op} must not have {} inputs", inputs.len()));
            }
            _ => {
                let builder = builder.size("shape", first.value.into_shape_arg()).data_all(&state);
                let builder = rest.iter().fold(builder, |builder, bound| builder.data(bound.value));
                match frame.attr(index, "dtype") {
                    // The op of this crate takes the dtype of the parameters.
                    Some(_) if op == "ParameterizedTruncatedNormal" => builder,
                    Some(_) => builder.attr("dtype", dtype("dtype").unwrap_or(DType::F32)),
                    None => builder,
                }
            }
        };
        let values = builder.finish_all_at(self.location)?;
        Ok(Built::of(values.into_iter().map(|value| value.named(name)).collect()))
    }
}
