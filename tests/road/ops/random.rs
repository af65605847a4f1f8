//! Adds ops that make random numbers to random graphs.

use shapeflow::DType;

use crate::element_props::ElementProps;
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Adds an op with suitable operands. Returns its first output, or `None` if no suitable ones are found.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let props = ElementProps { extreme: true, ..ElementProps::default() };
    if op == "random_algorithm" {
        return g.add_step(Call::new(op), &[], &[], props);
    }
    let mut data = Vec::new();
    if op.ends_with("_of_state") {
        for (dtype, count) in [(DType::U64, 1), (DType::U64, 2)] {
            data.push(g.source(dtype, vec![Size::Known(count)], Content::Range(0, 99), false)?);
        }
        data.push(g.scalar(DType::I32, Content::Range(1, 1))?);
    } else {
        let dtype = *g.rng.choose(&[DType::I32, DType::I64]);
        data.push(g.source(dtype, vec![Size::Known(2)], Content::Range(-9, 9), false)?);
    }
    if op.starts_with("random_state") {
        return g.add_step(Call::new(op), &data, &[], props);
    }
    let integers = [DType::I32, DType::I64, DType::U32, DType::U64];
    let floats = [DType::F16, DType::BF16, DType::F32, DType::F64];
    let mut call = Call::new(op);
    if op.starts_with("random_int") {
        let dtype = *g.rng.choose(&integers);
        for bound in [Content::Range(0, 4), Content::Range(5, 9)] {
            data.push(g.scalar(dtype, bound)?);
        }
    } else {
        let dtypes = if op.starts_with("random_bits") { &integers } else { &floats };
        call = call.attr("dtype", *g.rng.choose(dtypes));
    }
    let sizes: Vec<i64> = (0..g.rng.below(3)).map(|_| g.rng.range_inclusive(0, 5)).collect();
    let mut params = Vec::new();
    let call = g.param(call, &mut params, "shape", &sizes, true)?;
    g.add_step(call, &data, &params, props)
}
