//! Imports nodes that draw random numbers from a generator of TensorFlow, whose state is a variable.
//!
//! The import follows the state of each generator from node to node, as `stateful` describes. If the option `stateful`
//! is not set, the first state is a constant, and every run has the numbers of TensorFlow's first run.

use std::rc::Rc;

use shapeflow_shape_fns::DType;

use super::built::{Built, ImportedValue};
use super::frame::damaged;
use super::importer::Importer;
use super::lists::integers;
use crate::dtype::type_text;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::ops::array::concat;
use crate::ops::random::state::is_philox;
use crate::tensor::Tensor;

/// How many blocks of the generator TensorFlow reserves for one random number.
const BLOCKS: u64 = 256;

impl<'a, 'g> Importer<'a, 'g> {
    /// Returns whether the import follows the states of generators here. It does not while it records the writes of an
    /// initializer. In branches and loops, which a run may compute several times or never, it does so only if it
    /// follows all variables.
    pub(super) fn follows_generators(&self) -> bool {
        self.recording.is_none() && (self.state.is_followed() || self.graph.read().open_regions == 0)
    }

    /// Imports an `RngReadAndSkip`: `resource, alg[], delta[] -> state i64[3]`. The node returns the state of the
    /// generator, and advances the generator by `delta` numbers. `reader` is the name of the node.
    ///
    /// # Errors
    /// The generator is not Philox, or its state is not `i64[3]`.
    pub(super) fn read_and_skip(
        &mut self,
        variable: &Rc<str>,
        inputs: &[ImportedValue<'g>],
        reader: &str,
    ) -> Result<Built<'g>> {
        let [_, algorithm, delta] = inputs else {
            return damaged(format!("an RngReadAndSkip must have 3 inputs, got {}", inputs.len()));
        };
        let number = self.constant(algorithm.value).and_then(|number| integers(&number));
        if !number.as_deref().is_some_and(is_philox) {
            let message = format!("the algorithm of the generator {variable} must be the constant Philox");
            return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
        }
        let before = self.variable(variable, reader)?;
        let state = before.value;
        let (dtype, shape) = (state.dtype(), state.shape());
        if dtype != DType::I64 || shape.as_known().as_deref() != Some(&[3][..]) {
            let got = type_text(dtype, &shape);
            let message = format!("the state of the generator {variable} must be i64[3], got {got}");
            return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
        }
        let next = self.skipped(state, delta.value)?;
        let next = ImportedValue { value: next, ..before.clone() };
        Ok(Built { outputs: vec![before, next], written: vec![variable.clone()], ..Built::default() })
    }

    /// Returns the state of a generator after it made `delta` more numbers. The first two words of the state count the
    /// blocks, the lower word first.
    fn skipped(&self, state: Value<'g>, delta: Value<'g>) -> Result<Value<'g>> {
        let words = state.bitcast(DType::U64)?;
        let word = |number: i64| words.slice([number], [1]);
        let blocks =
            delta.cast(DType::U64)?.mul(self.graph.constant_at(Tensor::scalar(BLOCKS), self.location))?;
        let low = word(0)?.add(blocks)?;
        let carry = low.less(blocks)?.cast(DType::U64)?;
        concat(&[low, word(1)?.add(carry)?, word(2)?], 0)?.bitcast(DType::I64)
    }
}
