//! `unsorted_segment_join`: joins the strings of each segment.

use std::panic::Location;

use shapeflow_shape_fns::{Attrs, DType};

use super::params::{check_strings, ints, strings, text_or};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::tensor::StringsBuilder;

impl<'g> Value<'g> {
    /// Joins the rows of each segment, element by element, with `separator` between them: `out[k, ..]` joins the rows
    /// whose id is `k`.
    ///
    /// `string[i.., d..], ids [i..] -> string[num_segments, d..]`. `ids` is i32 or i64. A segment without rows gets empty strings. As TensorFlow's `UnsortedSegmentJoin`. Runs on the host.
    ///
    /// # Errors
    /// The elements are not strings, or the shape of `ids` is no prefix of the shape. An id outside
    /// `[0, num_segments)` fails the run.
    #[track_caller]
    pub fn unsorted_segment_join(
        self,
        ids: impl IntoOperand<'g>,
        num_segments: impl IntoParam<'g>,
        separator: &str,
    ) -> Result<Value<'g>> {
        let ids = ids.into_operand(self, Location::caller());
        let call = self.graph().op(&DEF).data(self).data(ids).size("num_segments", num_segments);
        call.attr("separator", separator).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("unsorted_segment_join", run)
    .operands(&[Operand::Data("inputs"), Operand::Data("segment_ids"), Operand::Size("num_segments")])
    .shape_fn(shapeflow_shape_fns::segment::unsorted_segment)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("UnsortedSegmentJoin")]);

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    check_strings(operands, 1)?;
    dtype::indices(operands, 1)?;
    Ok(vec![DType::String])
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, ids) = (strings(cx, 0)?, ints(cx, 1)?);
    let separator = text_or(cx.attrs(), "separator", "")?.as_bytes();
    let segments = param_sizes(cx, "num_segments", 2)?.first().copied().unwrap_or(0);
    let rest = cx.input(0)?.sizes().get(cx.input(1)?.sizes().len()..).unwrap_or_default();
    let row: usize = rest.iter().product();
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); segments];
    for (number, id) in ids.iter().enumerate() {
        let segment = usize::try_from(*id).ok().and_then(|id| rows.get_mut(id)).ok_or_else(|| {
            let message = format!("a segment id must lie in [0, {segments}), got {id}");
            Error::new(ErrorKind::Index, Phase::Run, message)
        })?;
        segment.push(number);
    }
    let mut made = StringsBuilder::with_capacity(segments * row, x.byte_len())?;
    for rows in rows {
        for inner in 0..row {
            for (number, at) in rows.iter().enumerate() {
                if number > 0 {
                    made.append(separator)?;
                }
                made.append(x.at(at * row + inner))?;
            }
            made.end()?;
        }
    }
    cx.set_output(0, made.finish(&[&[segments], rest].concat())?)
}
