//! Shape functions of control flow, checks and side effects.

mod ensure_shape;
mod merge;
mod nothing;
mod parallel_concat;
mod switch;

pub use ensure_shape::ensure_shape;
pub use merge::{merge, ref_select};
pub use nothing::{assert, nothing, print_v2, scalar_output};
pub use parallel_concat::{parallel_concat, parallel_concat_start, parallel_concat_update};
pub use switch::{loop_condition, switch, switch_n};

use crate::infer::registered::{Registered, row};
use crate::{array, common};

#[rustfmt::skip]
pub(crate) static OPS: &[Registered] = &[
    row("Abort", &[], nothing).outputs(Some(0)),
    row("Assert", &["condition", "data.."], assert).outputs(Some(0)),
    row("CheckNumericsV2", &["x"], common::unary),
    row("ControlTrigger", &[], nothing).outputs(Some(0)),
    row("DebugGradientIdentity", &["input"], array::identity),
    row("DebugGradientRefIdentity", &["input"], array::identity),
    row("EnsureShape", &["x"], ensure_shape),
    row("Enter", &["data"], array::identity),
    row("Exit", &["data"], array::identity),
    row("LoopCond", &["input"], loop_condition),
    row("Merge", &["inputs.."], merge).outputs(Some(2)),
    row("NextIteration", &["data"], array::identity),
    row("NoOp", &[], nothing).outputs(Some(0)),
    row("ParallelConcat", &["values.."], parallel_concat),
    row("Print", &["input", "data.."], array::identity),
    row("PrintV2", &["input"], print_v2).outputs(Some(0)),
    row("RefEnter", &["data"], array::identity),
    row("RefExit", &["data"], array::identity),
    row("RefMerge", &["inputs.."], merge).outputs(Some(2)),
    row("RefNextIteration", &["data"], array::identity),
    row("RefSelect", &["index", "inputs.."], ref_select),
    row("RefSwitch", &["data", "pred"], switch).outputs(Some(2)),
    row("Switch", &["data", "pred"], switch).outputs(Some(2)),
    row("Timestamp", &[], scalar_output),
    row("_ParallelConcatStart", &[], parallel_concat_start),
    row("_ParallelConcatUpdate", &["value", "update"], parallel_concat_update),
    row("_SwitchN", &["data", "output_index"], switch_n).outputs(None),
];
