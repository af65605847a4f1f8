//! `unsorted_segment_join`: joins the strings of each segment.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::params::{check_strings, ints, strings};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, IntoParam, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::host_params::param_sizes;
use crate::tensor::{StringsBuilder, place_text};

impl<'g> Value<'g> {
    /// Joins the rows of each segment, element by element, with `separator` between them: `out[k, ..]` joins the rows
    /// whose id is `k`. The separators begin after the first string that is not empty.
    ///
    /// `string[i.., d..], ids [i..] -> string[num_segments, d..]`. `ids` is i32 or i64. A segment without rows gets
    /// empty strings. As TensorFlow's `UnsortedSegmentJoin`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let words = g.constant(["a", "b", "c"])?;
    /// let y = words.unsorted_segment_join(g.constant([1, 0, 1])?, 2, "-")?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(["b", "a-c"]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, or the shape of `ids` is not a prefix of the shape. An id outside
    /// `[0, num_segments)` fails the run.
    #[track_caller]
    pub fn unsorted_segment_join(
        self,
        ids: impl IntoOperand<'g>,
        num_segments: impl IntoParam<'g>,
        separator: &str,
    ) -> Result<Value<'g>> {
        let ids = ids.into_own_operand(self.graph(), Location::caller());
        let call = self.graph().op(&DEF).data(self).data(ids).size("num_segments", num_segments);
        call.attr("separator", separator).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("unsorted_segment_join", run)
    .attrs(&[Attribute::bytes_or("separator", "")])
    .operands(&[Operand::Data("inputs"), Operand::Data("segment_ids"), Operand::Size("num_segments")])
    .shape_fn(shapeflow_shape_fns::segment::unsorted_segment)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("UnsortedSegmentJoin")]);

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    check_strings(operands, 1)?;
    dtype::check_indices(operands, 1)?;
    Ok(vec![DType::String])
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, ids) = (strings(cx, 0)?, ints(cx, 1)?);
    let separator = cx.attrs().bytes("separator");
    let segments = param_sizes(cx, "num_segments", 2)?.first().copied().unwrap_or(0);
    let view = cx.input(0)?;
    let rest = view.sizes().get(cx.input(1)?.sizes().len()..).unwrap_or_default();
    let row: usize = rest.iter().product();
    // Each row with its segment before it, so that sorting groups the rows by segment and keeps their order.
    let mut rows: Vec<(usize, usize)> = Vec::with_capacity(ids.len());
    for (number, id) in ids.iter().enumerate() {
        let segment = usize::try_from(*id).ok().filter(|id| *id < segments).ok_or_else(|| {
            let message = format!("a segment id must lie in [0, {segments}), got {id}");
            let place = cx.input(1).map(|ids| place_text(number, ids.sizes())).unwrap_or_default();
            Error::new(ErrorKind::Index, Phase::Run, message).in_element(1, &place)
        })?;
        rows.push((segment, number));
    }
    rows.sort_unstable();
    let mut made = StringsBuilder::with_capacity(segments.saturating_mul(row), x.byte_len())?;
    let mut next = 0;
    // Segments without elements take no time.
    for segment in 0..if row == 0 { 0 } else { segments } {
        let first = next;
        while rows.get(next).is_some_and(|(other, _)| *other == segment) {
            next += 1;
        }
        for inner in 0..row {
            // As in TensorFlow, the separators begin after the first string that is not empty.
            let mut is_empty = true;
            for (_, number) in &rows[first..next] {
                let part = x.at(number * row + inner);
                if !is_empty {
                    made.append(separator)?;
                }
                is_empty &= part.is_empty();
                made.append(part)?;
            }
            made.end()?;
        }
    }
    cx.set_output(0, made.finish(&[&[segments], rest].concat())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run_one, tensor};
    use crate::tensor::Tensor;

    #[test]
    fn segments_without_elements_take_no_time() {
        let attrs = Attrs::new().with("num_segments", 1i64 << 50);
        let operands = [Tensor::zeros(DType::String, &[2, 0]).unwrap(), tensor(&[2], &[0i64, 7])];
        assert_eq!(run_one(&DEF, &attrs, &operands).sizes(), [1 << 50, 0]);
    }
}
