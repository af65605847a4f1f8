//! Adds ops on positions, on layouts of images and on numbered rows to random graphs.

use shapeflow::DType;

use super::props_of;
use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Adds an op with suitable operands and parameters. Returns the first output of the op, or `None` if there are no
/// suitable operands or parameters.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    match op {
        "unravel_index" => unravel(g),
        "data_format_dim_map" | "data_format_vec_permute" => layout(g, op),
        "empty" => empty(g),
        _ => update_rows(g, op),
    }
}

fn unravel(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = DTypeClass::Index.sample(&mut g.rng);
    let dims: Vec<i64> = (0..g.rng.below(4)).map(|_| g.rng.range_inclusive(1, 4)).collect();
    let most = dims.iter().product::<i64>() - 1;
    let sizes = if g.rng.chance(1, 3) { Vec::new() } else { vec![Size::Known(1 + g.rng.below(5) as i64)] };
    let indices = g.source(dtype, sizes, Content::Range(0, most), false)?;
    let (count, constant) = (dims.len() as i64, g.rng.chance(1, 2));
    let dims = g.source(dtype, vec![Size::Known(count)], Content::Fixed(dims), constant)?;
    g.add_step(Call::new("unravel_index"), &[indices, dims], &[], ElementProps::INTEGERS)
}

fn layout(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = DTypeClass::Index.sample(&mut g.rng);
    let letters = if g.rng.chance(1, 2) { "NHWC" } else { "NDHWC" };
    let order = g.rng.permutation(letters.len());
    let target: String = order.into_iter().map(|place| char::from(letters.as_bytes()[place])).collect();
    let sizes = match op {
        "data_format_dim_map" => vec![g.random_size()],
        _ => {
            let count = letters.len() as i64 - 2 * g.rng.below(2) as i64;
            let mut sizes = vec![Size::Known(count)];
            sizes.extend(g.rng.chance(1, 2).then_some(Size::Known(2)));
            sizes
        }
    };
    let x = g.source(dtype, sizes, Content::Range(-6, 6), false)?;
    let call = Call::new(op).attr("src_format", letters).attr("dst_format", target.as_str());
    g.add_step(call, &[x], &[], ElementProps::INTEGERS)
}

fn empty(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::Bool, DType::I32, DType::F32, DType::F64, DType::C64, DType::U8]);
    let sizes: Vec<i64> = (0..g.rng.below(4)).map(|_| g.rng.range_inclusive(0, 4)).collect();
    let mut params = Vec::new();
    let call = Call::new("empty").attr("dtype", dtype).attr("init", g.rng.chance(1, 2));
    let call = g.param(call, &mut params, "shape", &sizes, true)?;
    g.add_step(call, &[], &params, ElementProps { small_integers: true, ..ElementProps::default() })
}

fn update_rows(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let class = if op == "inplace_update" { DTypeClass::Any } else { DTypeClass::Numeric };
    let x = g.pick(class, 1..=4, |props| !props.rounding_varies)?;
    let count = g.rng.below(5) as i64;
    let mut sizes = vec![Size::Known(count)];
    for dim in &g.dims(x)[1..] {
        sizes.push(g.size_like(dim)?);
    }
    let (dtype, content) = (g.dtype(x), g.random_content());
    let values = g.source(dtype, sizes, content, false)?;
    let rows = g.source(DType::I32, vec![Size::Known(count)], Content::Range(-5, 8), false)?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x, values]) };
    g.add_step(Call::new(op), &[x, rows, values], &[], props)
}
