//! Adds ops on the parts of ragged tensors to random graphs.

use std::sync::Arc;

use shapeflow::{Attr, DType};

use super::props_of;
use crate::element_props::{DTypeClass, ElementProps};
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Adds an op with suitable operands.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    match op {
        "ragged_fill_empty_rows" => fill_empty_rows(g),
        "ragged_range" => range(g),
        "ragged_gather" => gather(g),
        "ragged_to_sparse" => to_sparse(g),
        "ragged_to_tensor" => to_tensor(g),
        _ => panic!("the generator has no case for {op}"),
    }
}

fn range(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::I32, DType::I64, DType::F32, DType::F64]);
    let size = Size::Known(g.rng.below(5) as i64);
    let mut data = Vec::new();
    for content in [Content::Range(-5, 5), Content::Range(-5, 9), Content::Range(1, 3)] {
        let sizes = if g.rng.chance(1, 4) { Vec::new() } else { vec![size] };
        data.push(g.source(dtype, sizes, content, false)?);
    }
    let props = ElementProps { small_integers: true, ..ElementProps::default() };
    g.add_step(Call::new("ragged_range"), &data, &[], props)
}

/// Adds one or two row splits, outermost first, and flat values.
fn ragged(g: &mut GraphGenerator<'_>) -> Option<(Vec<ValueIndex>, ValueIndex)> {
    let splits_dtype = *g.rng.choose(&[DType::I32, DType::I64]);
    let mut rows = g.rng.below(4);
    let mut splits = Vec::new();
    for _ in 0..=g.rng.below(2) {
        let mut ends = vec![0i64];
        for row in 0..rows {
            ends.push(ends[row] + g.rng.below(4) as i64);
        }
        // Sometimes the splits do not start at 0, which fails the run.
        ends[0] += i64::from(g.rng.chance(1, 25));
        rows = ends[ends.len() - 1] as usize;
        let size = Size::Known(ends.len() as i64);
        splits.push(g.source(splits_dtype, vec![size], Content::Fixed(ends), false)?);
    }
    let mut sizes = vec![Size::Known(rows as i64)];
    if g.rng.chance(1, 3) {
        sizes.push(Size::Known(g.rng.below(3) as i64));
    }
    let (dtype, content) = (DTypeClass::Any.sample(&mut g.rng), g.random_content());
    Some((splits, g.source(dtype, sizes, content, false)?))
}

fn gather(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (mut data, flat) = ragged(g)?;
    let rank = data.len() as i64;
    data.push(flat);
    let count = Size::Known(g.rng.below(4) as i64);
    let dtype = DTypeClass::Index.sample(&mut g.rng);
    data.push(g.source(dtype, vec![count], Content::Range(0, 1), false)?);
    let props = props_of(g, &data);
    g.add_step(Call::new("ragged_gather").attr("OUTPUT_RAGGED_RANK", rank), &data, &[], props)
}

fn to_sparse(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (mut data, flat) = ragged(g)?;
    data.push(flat);
    let props = props_of(g, &data);
    g.add_step(Call::new("ragged_to_sparse"), &data, &[], props)
}

fn to_tensor(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (splits, flat) = ragged(g)?;
    let inner = g.dims(flat).len() - 1;
    let (dtype, content) = (g.dtype(flat), g.random_content());
    let default = g.scalar(dtype, content)?;
    let mut shape: Vec<i64> = (0..=splits.len()).map(|_| g.rng.range_inclusive(-1, 4)).collect();
    shape.extend(vec![-1; inner]);
    let types: Vec<Arc<str>> = vec![Arc::from("ROW_SPLITS"); splits.len()];
    let call = Call::new("ragged_to_tensor").attr("row_partition_types", Attr::Strs(types.into()));
    let (size, is_constant) = (Size::Known(shape.len() as i64), g.rng.chance(1, 2));
    let shape = g.source(DType::I64, vec![size], Content::Fixed(shape), is_constant)?;
    let props = props_of(g, &[flat, default]);
    let data = [vec![shape, flat, default], splits].concat();
    g.add_step(call, &data, &[], props)
}

fn fill_empty_rows(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (dtype, content) = (DTypeClass::Any.sample(&mut g.rng), g.random_content());
    let default = g.scalar(dtype, Content::SmallIntegers)?;
    let count = Size::Known(g.rng.below(5) as i64);
    // Sometimes a row is out of range.
    let past = i64::from(g.rng.chance(1, 25));
    let rowids = g.source(DType::I64, vec![count], Content::Range(0, 3 + past), false)?;
    let values = g.source(dtype, vec![count], content, false)?;
    let mut params = Vec::new();
    let call = g.param(Call::new("ragged_fill_empty_rows"), &mut params, "nrows", &[4], false)?;
    let props = ElementProps { small_integers: false, ..props_of(g, &[values, default]) };
    g.add_step(call, &[rowids, values, default], &params, props)
}
