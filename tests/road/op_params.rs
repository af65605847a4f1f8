//! Parameters of a random graph's ops: numbers, or values that are fed.

use shapeflow::{DType, Dim};

use crate::graph_generator::{Grower, Id, attribute};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;
use crate::value_facts::Facts;

impl Grower<'_> {
    /// Puts a parameter into a call: an attribute, or fed.
    pub fn param(
        &mut self,
        call: Call,
        params: &mut Vec<Id>,
        name: &'static str,
        ints: &[i64],
        vector: bool,
    ) -> Option<Call> {
        if !self.draws.chance(self.fed, 1000) {
            return Some(match vector {
                true => call.attr(name, ints.to_vec()),
                false => call.attr(name, ints[0]),
            });
        }
        let sizes = match vector {
            false => Vec::new(),
            true if self.draws.chance(1, 4) => {
                let all = vec![ints.len() as i64; self.recipe.runs.len()];
                vec![Size::Unnamed(self.variable(&all))]
            }
            true => vec![Size::Known(ints.len() as i64)],
        };
        let dtype = *self.draws.pick(&[DType::I32, DType::I64]);
        params.push(self.source(dtype, sizes, Content::Given(ints.to_vec()), false)?);
        let mut call = call;
        call.params.push(name);
        Some(call)
    }

    /// A parameter that holds dimensions: as an attribute, or as a value of the graph where one is at hand.
    pub fn dims_param(
        &mut self,
        call: Call,
        params: &mut Vec<Id>,
        name: &'static str,
        dims: &[Dim],
    ) -> Option<Call> {
        if self.draws.chance(1, 4) {
            let same = (0..self.values.len())
                .find(|at| self.dims(Id(*at)) == dims && self.rank(Id(*at)) == dims.len());
            if let Some(at) = same.filter(|at| self.values[*at].shape().rank().is_some()) {
                let dtype = *self.draws.pick(&[DType::I32, DType::I64]);
                let shape = self.add(
                    Call::new("shape").attr("out_type", dtype),
                    &[Id(at)],
                    &[],
                    Facts { whole: true, ..Facts::default() },
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
        Some(call.attr(name, attribute(dims)?))
    }
}
