//! Adds ops on sets, on sparse tensors and on slices to random graphs.

use shapeflow::DType;

use super::{props_of, random_axis};
use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Adds an op with suitable operands and parameters. Returns the first output of the op, or `None` if there are no
/// suitable operands or parameters.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    match op {
        "unique_slices" | "unique_slices_with_counts" => unique_slices(g, op),
        "sparse_to_dense" => sparse_to_dense(g),
        _ => sets(g, op),
    }
}

fn unique_slices(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let x = g.pick(DTypeClass::Any, 1..=4, |props| !props.rounding_varies)?;
    let rank = g.rank(x);
    let index_dtype = DTypeClass::Index.sample(&mut g.rng);
    let mut params = Vec::new();
    let call = Call::new(op).attr("out_idx", index_dtype);
    let call = g.structure_param(call, &mut params, "axis", true, |g| vec![random_axis(g, rank).1])?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(call, &[x], &params, props)
}

/// Draws ascending indices of a tensor of these sizes. Returns the indices and their number.
pub fn random_indices(g: &mut GraphGenerator<'_>, sizes: &[i64]) -> (Vec<i64>, i64) {
    let count: i64 = sizes.iter().product();
    let (mut indices, mut kept) = (Vec::new(), 0);
    for position in (0..count).filter(|_| g.rng.chance(1, 2)).collect::<Vec<_>>() {
        let mut rest = position;
        let start = indices.len();
        for size in sizes.iter().rev() {
            indices.insert(start, rest % size);
            rest /= size;
        }
        kept += 1;
    }
    (indices, kept)
}

fn sparse_to_dense(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let sizes: Vec<i64> = (0..1 + g.rng.below(2)).map(|_| g.rng.range_inclusive(0, 5)).collect();
    let (indices, count) = random_indices(g, &sizes);
    let index_dtype = DTypeClass::Index.sample(&mut g.rng);
    let shape = vec![Size::Known(count), Size::Known(sizes.len() as i64)];
    let indices = g.source(index_dtype, shape, Content::Fixed(indices), false)?;
    let (dtype, content) = (DTypeClass::Any.sample(&mut g.rng), g.random_content());
    let shape = if g.rng.chance(1, 4) { Vec::new() } else { vec![Size::Known(count)] };
    let values = g.source(dtype, shape, content, false)?;
    let default = g.scalar(dtype, Content::SmallIntegers)?;
    let mut params = Vec::new();
    let call = g.param(Call::new("sparse_to_dense"), &mut params, "output_shape", &sizes, true)?;
    let props = props_of(g, &[values, default]);
    g.add_step(call, &[indices, values, default], &params, props)
}

/// Adds a set operation or `set_size`.
fn sets(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let leading: Vec<i64> = (0..1 + g.rng.below(2)).map(|_| g.rng.range_inclusive(1, 3)).collect();
    let dtype = *g.rng.choose(&[DType::I8, DType::I16, DType::I32, DType::I64, DType::U8, DType::U16]);
    let are_dense: &[bool] = match op {
        "set_operation" => &[true, true],
        "dense_to_sparse_set_operation" => &[true, false],
        "set_size" => &[false],
        _ => &[false, false],
    };
    let mut data = Vec::new();
    for is_dense in are_dense {
        let mut sizes = leading.clone();
        sizes.push(g.rng.range_inclusive(1, 5));
        if *is_dense {
            let shape = sizes.iter().map(|size| Size::Known(*size)).collect();
            data.push(g.source(dtype, shape, Content::Range(0, 6), false)?);
            continue;
        }
        let (indices, count) = random_indices(g, &sizes);
        let rank = Size::Known(sizes.len() as i64);
        data.push(g.source(DType::I64, vec![Size::Known(count), rank], Content::Fixed(indices), false)?);
        data.push(g.source(dtype, vec![Size::Known(count)], Content::Range(0, 6), false)?);
        let constant = g.rng.chance(1, 3);
        data.push(g.source(DType::I64, vec![rank], Content::Fixed(sizes), constant)?);
    }
    let operation = *g.rng.choose(&["a-b", "b-a", "intersection", "union"]);
    let call = if op == "set_size" { Call::new(op) } else { Call::new(op).attr("set_operation", operation) };
    g.add_step(call, &data, &[], ElementProps { small_integers: true, ..ElementProps::default() })
}
