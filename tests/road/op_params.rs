//! Parameters of ops in random graphs: attributes, graph inputs or computed values.

use shapeflow::{DType, Dim};

use crate::element_props::ElementProps;
use crate::graph_generator::{GraphGenerator, ValueIndex, dims_attr};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

impl GraphGenerator<'_> {
    /// Adds a parameter to a call: as an attribute, or as a new graph input with probability
    /// `self.fed_per_mille / 1000`. The parameter is the vector `ints` if `is_vector`, else the scalar `ints[0]`.
    pub fn param(
        &mut self,
        call: Call,
        params: &mut Vec<ValueIndex>,
        name: &'static str,
        ints: &[i64],
        is_vector: bool,
    ) -> Option<Call> {
        if !self.rng.chance(self.fed_per_mille, 1000) {
            return Some(match is_vector {
                true => call.attr(name, ints.to_vec()),
                false => call.attr(name, ints[0]),
            });
        }
        let sizes = match is_vector {
            false => Vec::new(),
            true if self.rng.chance(1, 4) => {
                // The variable is the length of the parameter in every run.
                let all = vec![ints.len() as i64; self.recipe.runs.len()];
                vec![Size::Unnamed(self.new_variable(&all))]
            }
            true => vec![Size::Known(ints.len() as i64)],
        };
        let dtype = *self.rng.choose(&[DType::I32, DType::I64]);
        params.push(self.source(dtype, sizes, Content::Fixed(ints.to_vec()), false)?);
        let mut call = call;
        call.params.push(name);
        Some(call)
    }

    /// Adds a structure parameter to a call: as an attribute, or as a new graph input with probability
    /// `self.fed_per_mille / 1000`. The input has other elements in every run. `draw` draws elements that fit every
    /// run. A scalar parameter has one entry.
    pub fn structure_param(
        &mut self,
        call: Call,
        params: &mut Vec<ValueIndex>,
        name: &'static str,
        vector: bool,
        mut draw: impl FnMut(&mut Self) -> Vec<i64>,
    ) -> Option<Call> {
        if !self.rng.chance(self.fed_per_mille, 1000) {
            let ints = draw(self);
            return Some(match vector {
                true => call.attr(name, ints),
                false => call.attr(name, ints[0]),
            });
        }
        let all: Vec<Vec<i64>> = (0..self.recipe.runs.len()).map(|_| draw(self)).collect();
        let lengths: Vec<i64> = all.iter().map(|ints| ints.len() as i64).collect();
        let is_one_length = lengths.iter().all(|length| *length == lengths[0]);
        let sizes = match vector {
            false => Vec::new(),
            true if is_one_length && self.rng.chance(3, 4) => vec![Size::Known(lengths[0])],
            true => vec![Size::Unnamed(self.new_variable(&lengths))],
        };
        let dtype = *self.rng.choose(&[DType::I32, DType::I64]);
        params.push(self.source(dtype, sizes, Content::OfRuns(all), false)?);
        let mut call = call;
        call.params.push(name);
        Some(call)
    }

    /// Adds a parameter that lists dimensions: as an attribute, as a graph input, or as the `shape` of a value that has
    /// these dimensions.
    pub fn dims_param(
        &mut self,
        call: Call,
        params: &mut Vec<ValueIndex>,
        name: &'static str,
        dims: &[Dim],
    ) -> Option<Call> {
        if self.rng.chance(1, 4) {
            let same = (0..self.values.len())
                .map(ValueIndex)
                .find(|value| self.dims(*value) == dims && self.rank(*value) == dims.len());
            if let Some(value) = same.filter(|value| self.values[value.0].shape().rank().is_some()) {
                let dtype = *self.rng.choose(&[DType::I32, DType::I64]);
                let shape = self.add_step(
                    Call::new("shape").attr("out_type", dtype),
                    &[value],
                    &[],
                    ElementProps { small_integers: true, ..ElementProps::default() },
                )?;
                params.push(shape);
                let mut call = call;
                call.params.push(name);
                return Some(call);
            }
        }
        if let Some(known) = dims.iter().map(Dim::as_known).collect::<Option<Vec<i64>>>() {
            return self.param(call, params, name, &known, true);
        }
        Some(call.attr(name, dims_attr(dims)?))
    }
}
