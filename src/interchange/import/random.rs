//! Imports the random ops of TensorFlow that have a state as ops whose numbers depend only on a seed.
//!
//! TensorFlow continues the stream of numbers from run to run. Here every run has the same numbers. If the node has a
//! seed, these are the numbers of TensorFlow's first run. Otherwise they come from a stream that the name of the node
//! and [`ImportOptions::random_seed`](super::super::ImportOptions::random_seed) choose.
//!
//! In a loop, the number of the iteration chooses the part of the stream. TensorFlow goes on in the stream by a number
//! of blocks that depends on the sizes of the result. Here the part begins at this number of blocks times the number of
//! the iteration, if the import knows the sizes; else, and for loops around the innermost one, the numbers of the
//! iterations choose another stream.

use std::hash::Hasher;

use rustc_hash::FxHasher;
use shapeflow_shape_fns::{Attr, Attrs, DType, counted};

use super::super::proto::AttrKind;
use super::attrs::tensorflow_attrs;
use super::built::{Built, ImportedValue};
use super::frame::{Frame, damaged};
use super::importer::Importer;
use super::lists::integers;
use super::random_ops::{definition, distribution};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoParam, IntoShapeArg, Value};
use crate::op::OpDef;
use crate::op::dtype_number::dtype_of;
use crate::ops::array::{concat, stack};
use crate::ops::random::state::PHILOX;
use crate::tensor::Tensor;

impl<'a, 'g> Importer<'a, 'g> {
    /// Imports a node for which [`is_random_op`](super::random_ops::is_random_op) holds.
    ///
    /// # Errors
    /// The node initializes a resource.
    pub(super) fn random_node(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        let op = frame.nodes[index].op.as_str();
        let Some(definition) = definition(op) else { return Ok(Built::default()) };
        if self.recording.is_some() {
            let message = format!("{op} is not supported in the initialization of a resource");
            return Err(Error::new(ErrorKind::UnknownOp, Phase::Build, message));
        }
        let Some((first, rest)) = inputs.split_first() else {
            return damaged(format!("{op} must have an input"));
        };
        if distribution(op) == Some("learned") && !self.open_loops.is_empty() {
            let message =
                format!("{op} is not supported in a loop, where it learns from iteration to iteration");
            return Err(Error::new(ErrorKind::UnknownOp, Phase::Build, message));
        }
        let mut given = tensorflow_attrs(frame, index, None, &self.budget)?;
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
        let constant = |tensor| self.graph.constant_at(tensor, self.location);
        let counter = match self.open_loops.is_empty() {
            true => constant(Tensor::from([0, stream])),
            false => self.counter_in_loop(stream, self.blocks(op, first, rest, &given))?,
        };
        let state = [constant(Tensor::from([key])), counter, constant(Tensor::from(PHILOX))];
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
            ("RandomCrop", [size]) => {
                builder.data(first.value).size("size", size.value.into_param()).data_all(&state)
            }
            ("SampleDistortedBoundingBox", [boxes]) => {
                let covered = match given.remove("min_object_covered") {
                    Some(Attr::Float(covered)) => covered as f32,
                    _ => 0.1,
                };
                let covered = constant(Tensor::from(covered));
                let builder = builder.data(first.value).data(boxes.value).data(covered).data_all(&state);
                builder.attrs(declared(definition, &given))
            }
            ("SampleDistortedBoundingBoxV2", [boxes, covered]) => {
                let builder = builder.data(first.value).data(boxes.value).data(covered.value);
                builder.data_all(&state).attrs(declared(definition, &given))
            }
            (_, []) if let Some(distribution) = distribution(op) => {
                let builder = builder.data(first.value).data_all(&state).attrs(declared(definition, &given));
                builder.attr("distribution", distribution)
            }
            ("RandomGamma" | "RandomPoisson" | "RandomPoissonV2", [parameter]) => {
                // The op of this crate takes the shape of the result, which ends with the shape of the parameter.
                let sizes = parameter.value.shape_tensor_as(first.value.dtype())?;
                let shape = concat(&[first.value, sizes], 0)?;
                let builder = builder.size("shape", shape).data_all(&state).data(parameter.value);
                match op {
                    "RandomGamma" => builder,
                    _ => builder.attr("dtype", dtype("dtype").unwrap_or(DType::I64)),
                }
            }
            (
                "RandomShuffle"
                | "Multinomial"
                | "RandomCrop"
                | "RandomGamma"
                | "RandomPoisson"
                | "RandomPoissonV2"
                | "SampleDistortedBoundingBox"
                | "SampleDistortedBoundingBoxV2",
                _,
            ) => {
                return damaged(format!("{op} must not have {}", counted(inputs.len(), "input")));
            }
            _ if distribution(op).is_some() => {
                return damaged(format!("{op} must not have {}", counted(inputs.len(), "input")));
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

    /// Returns the counter of a node in a loop: `[blocks * iteration, stream]`. If there are several loops, or if the
    /// number of blocks is unknown, the other iterations change the stream.
    ///
    /// # Errors
    /// The graph is full, or a loop does not count its iterations, which is an internal error.
    fn counter_in_loop(&self, stream: u64, blocks: Option<u64>) -> Result<Value<'g>> {
        /// An odd number without a pattern, so that few iterations of several loops give different sums.
        const MIX: u64 = 0x9e37_79b9_7f4a_7c15;
        let number = |number: u64| self.graph.constant_at(Tensor::scalar(number), self.location);
        let iterations: Option<Vec<Value<'g>>> = self.open_loops.iter().copied().collect();
        let Some(mut iterations) = iterations else {
            let message = "internal error: a loop that draws random numbers does not count its iterations";
            return Err(Error::new(ErrorKind::Internal, Phase::Build, message));
        };
        let mut first_block = number(0);
        if let Some(blocks) = blocks
            && let Some(iteration) = iterations.pop()
        {
            first_block = iteration.mul(number(blocks))?;
        }
        let mut change = number(0);
        for iteration in iterations {
            change = change.add(iteration)?.mul(number(MIX))?;
        }
        stack(&[first_block, change.add(number(stream))?], 0)
    }

    /// Returns the number of blocks of the stream that TensorFlow uses for one result, if the import knows the sizes of
    /// the result.
    fn blocks(
        &self,
        op: &str,
        first: &ImportedValue<'g>,
        rest: &[ImportedValue<'g>],
        attrs: &Attrs,
    ) -> Option<u64> {
        /// TensorFlow reserves this number of blocks for each number.
        const BLOCKS: u64 = 256;
        let unsigned = |size: i64| u64::try_from(size).ok();
        let known = |value: Value<'g>| unsigned(value.shape().num_elements()?.as_known()?);
        let elements = |value: Value<'g>| {
            let sizes = integers(&self.constant(value)?)?;
            sizes.into_iter().try_fold(1u64, |product, size| product.checked_mul(unsigned(size)?))
        };
        let rows = |value: Value<'g>| unsigned(value.shape().dims()?.first()?.as_known()?);
        match (op, rest) {
            ("RandomShuffle", []) => {
                // A tensor of at most one element is not shuffled.
                let is_shuffled = known(first.value)? > 1;
                Some(if is_shuffled { rows(first.value)?.saturating_sub(1).div_ceil(4) } else { 0 })
            }
            ("Multinomial", [count]) => {
                let of_row = elements(count.value)?.div_ceil(4).checked_mul(8)?;
                of_row.checked_mul(rows(first.value)?)?.checked_mul(BLOCKS)
            }
            ("RandomCrop", _) => Some(1),
            ("SampleDistortedBoundingBox" | "SampleDistortedBoundingBoxV2", _) => {
                match attrs.get("max_attempts") {
                    Some(Attr::Int(attempts)) => u64::try_from(*attempts).ok(),
                    _ => Some(100),
                }
            }
            (_, []) if distribution(op).is_some() => match attrs.get("num_sampled") {
                Some(Attr::Int(sampled)) => u64::try_from(*sampled).ok()?.checked_mul(512),
                _ => None,
            },
            ("RandomGamma" | "RandomPoisson" | "RandomPoissonV2", [parameter]) => {
                elements(first.value)?.checked_mul(known(parameter.value)?)?.checked_mul(BLOCKS)
            }
            // TensorFlow's number of blocks depends on how it shares the work.
            ("ParameterizedTruncatedNormal", _) => None,
            _ => elements(first.value)?.checked_mul(BLOCKS),
        }
    }
}

/// Returns the attributes that an op declares.
fn declared(definition: &OpDef, given: &Attrs) -> Attrs {
    definition.attributes().iter().fold(Attrs::new(), |attrs, attribute| match given.get(attribute.name()) {
        Some(value) if attribute.accepts(value) => attrs.with(attribute.name(), value.clone()),
        _ => attrs,
    })
}
