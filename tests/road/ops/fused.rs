//! Adds ops that graph optimizers write to random graphs.

use shapeflow::{Attr, DType};

use super::window::summed;
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Adds an op with suitable operands and parameters. Returns its output, or `None` if there are no suitable operands.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = if op == "fused_conv_2d" { *g.rng.choose(&[DType::F32, DType::F64]) } else { DType::F32 };
    let source = |g: &mut GraphGenerator<'_>, sizes: &[i64]| {
        let sizes = sizes.iter().copied().map(Size::Known).collect();
        g.source(dtype, sizes, Content::Range(-2, 2), false)
    };
    if op == "fused_matmul" {
        let [rows, inner, columns] = [(); 3].map(|()| 1 + g.rng.below(4) as i64);
        let operands = [source(g, &[rows, inner])?, source(g, &[inner, columns])?, source(g, &[columns])?];
        let kinds: [&[&str]; 3] = [&["BiasAdd"], &["BiasAdd", "Relu"], &["BiasAdd", "LeakyRelu"]];
        let kind = fused_ops(g, &kinds);
        let props = summed(g, &operands)?;
        return g.add_step(Call::new(op).attr("fused_ops", kind), &operands, &[], props);
    }
    let [channels, filters] = [(); 2].map(|()| 1 + g.rng.below(3) as i64);
    let x = source(g, &[2, 4, 5, channels])?;
    let filter = source(g, &[2, 1, channels, filters])?;
    let mut operands = vec![x, filter];
    let padding = *g.rng.choose(&["SAME", "VALID"]);
    let call = Call::new(op).attr("strides", Attr::Ints([1, 2, 1, 1].into())).attr("padding", padding);
    if op == "fused_conv_2d" {
        operands.push(source(g, &[filters])?);
        let kind = fused_ops(g, &[&["BiasAdd"], &["BiasAdd", "Relu6"]]);
        let props = summed(g, &operands)?;
        return g.add_step(call.attr("fused_ops", kind), &operands, &[], props);
    }
    let mut call = call.attr("mode", *g.rng.choose(&["REFLECT", "SYMMETRIC"]));
    let mut params = Vec::new();
    if op == "resize_pad_conv_2d" {
        call = call.attr("size", [8i64, 5]);
    }
    call = g.param(call, &mut params, "paddings", &[0, 0, 1, 2, 3, 0, 0, 0], true)?;
    let props = summed(g, &operands)?;
    g.add_step(call, &operands, &params, props)
}

fn fused_ops(g: &mut GraphGenerator<'_>, kinds: &[&[&'static str]]) -> Attr {
    Attr::Strs(g.rng.choose(kinds).iter().map(|name| (*name).into()).collect())
}
