//! `split_sizes`: a tensor cut into parts of given sizes along an axis.

use shapeflow_shape_fns::Dim;

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Param, Value};
use crate::op::{OpDef, Operand, TfOp};

use super::axis::body_axis;
use super::unstack::{count, counted};

impl<'g> Value<'g> {
    /// Parts of the given sizes along `axis`, one after the other; one size may be -1, the rest.
    ///
    /// `[.., Σ sizes, ..] -> [.., sizes[0], ..], [.., sizes[1], ..], …`, any dtype; a negative `axis` counts
    /// from the end. TensorFlow's `SplitV`.
    ///
    /// # Errors
    /// The axis is out of range, the sizes do not sum up to its dimension, two are -1, one is less; the sizes
    /// are a value of unknown length.
    #[track_caller]
    pub fn split_sizes(self, sizes: impl IntoParam<'g>, axis: i64) -> Result<Vec<Value<'g>>> {
        let sizes = sizes.into_param();
        let count = match &sizes {
            Param::Elements(elements) => elements.len() as i64,
            Param::Value(sizes) => sizes.ok()?.shape().dim(0).and_then(Dim::as_known).unwrap_or(-1),
            Param::Refused(_) => 0,
        };
        let builder = self.graph().op(&DEF).data(self).size("size_splits", sizes).structure("axis", axis);
        builder.attr("num", count).finish_all()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("split_sizes", lower)
    .operands(&[Operand::Data("x"), Operand::Size("size_splits"), Operand::Structure("axis")])
    .outputs(count)
    .shape_fn(shapeflow_shape_fns::array::split_v)
    .dtype_rule(|dtypes, attrs| counted(dtype::common(dtypes, 0, 1, dtype::Class::Any)?, attrs))
    .tensorflow(&[TfOp::new("SplitV")]);

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let axis = body_axis(cx);
    let begin = (0..output)
        .filter_map(|earlier| cx.output_dims(earlier).get(axis).cloned())
        .fold(Dim::known(0), |sum, size| sum + size);
    let mut read = index.to_vec();
    if let Some(at) = read.get_mut(axis) {
        *at = at.clone() + Index::constant(begin);
    }
    cx.operand(0, &read)
}
