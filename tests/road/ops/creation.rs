//! Ops that make values of sizes in random graphs.

use shapeflow::{DType, Dim};

use super::{Grown, facts_of};
use crate::graph_generator::Grower;
use crate::graph_recipe::Content;
use crate::op_call::Call;
use crate::value_facts::{Class, Facts};

pub fn fill(g: &mut Grower<'_>) -> Grown {
    let dims = match g.pick(Class::Any, 0..=4, |_| true) {
        Some(like) if g.draws.chance(1, 2) => g.dims(like),
        _ => (0..g.draws.below(4)).map(|_| Dim::known(g.draws.below(6) as i64)).collect(),
    };
    let dtype = Class::Any.draw(&mut g.draws);
    let content = g.content();
    let value = g.scalar(dtype, content)?;
    let mut params = Vec::new();
    let call = g.dims_param(Call::new("fill"), &mut params, "dims", &dims)?;
    let facts = facts_of(g, &[value]);
    g.add(call, &[value], &params, facts)
}

pub fn range(g: &mut Grower<'_>) -> Grown {
    let delta: i64 = *g.draws.pick(&[1, 1, 2, 3, -1, -2]);
    let start = g.draws.within(-9, 9);
    let limit = start + delta.signum() * g.draws.below(20) as i64;
    let facts = Facts { whole: true, ..Facts::default() };
    let mut call = Call::new("range").attr("dtype", *g.draws.pick(&[DType::I32, DType::I64]));
    let mut params = Vec::new();
    if g.draws.chance(g.fed, 1000) {
        // Fed bounds have one dtype.
        let dtype = *g.draws.pick(&[DType::I32, DType::I64]);
        call = Call::new("range");
        for (name, bound) in [("start", start), ("limit", limit), ("delta", delta)] {
            params.push(g.source(dtype, Vec::new(), Content::Given(vec![bound]), false)?);
            call.params.push(name);
        }
    } else {
        for (name, bound) in [("start", start), ("limit", limit), ("delta", delta)] {
            call = call.attr(name, bound);
        }
    }
    g.add(call, &[], &params, facts)
}

pub fn float_range(g: &mut Grower<'_>) -> Grown {
    let dtype = *g.draws.pick(&[DType::F32, DType::F64]);
    let start = g.draws.within(-9, 9);
    let limit = start + g.draws.below(20) as i64;
    let delta = g.draws.within(1, 4);
    let mut data = Vec::new();
    for bound in [start, limit, delta] {
        let constant = g.draws.chance(1, 2);
        data.push(g.source(dtype, Vec::new(), Content::Given(vec![bound]), constant)?);
    }
    g.add(Call::new("float_range"), &data, &[], Facts { whole: true, ..Facts::default() })
}

pub fn about(g: &mut Grower<'_>, op: &'static str) -> Grown {
    let x = g.pick(Class::Any, 0..=6, |_| true)?;
    let dtype = *g.draws.pick(&[DType::I32, DType::I64]);
    g.add(Call::new(op).attr("out_type", dtype), &[x], &[], Facts { whole: true, ..Facts::default() })
}
