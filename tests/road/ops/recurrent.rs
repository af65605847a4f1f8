//! Adds steps of recurrent nets to random graphs.

use shapeflow::DType;

use super::props_of;
use crate::element_props::ElementProps;
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Adds `lstm_block_cell` or `gru_block_cell`. Returns the first output.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::F32, DType::F64]);
    let batch = g.random_size();
    let (inputs, cells) = (g.rng.below(4) as i64, g.rng.below(4) as i64);
    let mut source = |sizes: &[i64]| {
        let sizes = sizes.iter().map(|size| if *size < 0 { batch } else { Size::Known(*size) });
        g.source(dtype, sizes.collect(), Content::Range(-3, 3), false)
    };
    let (x, state) = (source(&[-1, inputs])?, source(&[-1, cells])?);
    let rows = inputs + cells;
    let shapes: &[&[i64]] = match op {
        "lstm_block_cell" => &[&[-1, cells], &[rows, 4 * cells], &[cells], &[cells], &[cells], &[4 * cells]],
        _ => &[&[rows, 2 * cells], &[rows, cells], &[2 * cells], &[cells]],
    };
    let mut operands = vec![x, state];
    for sizes in shapes {
        operands.push(source(sizes)?);
    }
    let mut call = Call::new(op);
    if op == "lstm_block_cell" {
        let clip = *g.rng.choose(&[-1.0, 0.5, 3.0]);
        call = call.attr("use_peephole", g.rng.chance(1, 2)).attr("cell_clip", clip);
    }
    let props = props_of(g, &operands);
    let props = ElementProps {
        reduced: true,
        zero_sign_unknown: true,
        rounding_varies: true,
        small_integers: false,
        ..props
    };
    g.add_step(call, &operands, &[], props)
}
