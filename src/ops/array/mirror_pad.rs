//! `mirror_pad`: adds a border that mirrors the elements next to it.

use shapeflow_shape_fns::{Attribute, Dim, InferenceContext, ShapeError};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, InRange, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

/// Whether a mirrored border repeats the element at the edge.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Mirror {
    /// `c b | a b c | b a`: the edge is not repeated. A border is at most the size of the axis minus 1.
    Reflect,
    /// `b a | a b c | c b`: the edge is repeated. A border is at most the size of the axis.
    Symmetric,
}

impl Mirror {
    /// Returns TensorFlow's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Mirror::Reflect => "REFLECT",
            Mirror::Symmetric => "SYMMETRIC",
        }
    }
}

impl<'g> Value<'g> {
    /// Adds a border that mirrors the elements next to it. `paddings` is as for [`Value::pad`].
    ///
    /// `[d0, …] -> [paddings[0] + d0 + paddings[1], …]`, any dtype. As TensorFlow's `MirrorPad`; a border that is
    /// provably too long is refused when the graph is built, where TensorFlow fails at run time. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Mirror, Tensor};
    ///
    /// let g = Graph::new();
    /// let t = g.constant([[1, 2, 3], [4, 5, 6]])?;
    /// let reflected = t.mirror_pad([1, 1, 2, 2], Mirror::Reflect)?;
    /// let symmetric = t.mirror_pad([1, 1, 2, 2], Mirror::Symmetric)?;
    /// let [reflected, symmetric] = g.compile([reflected, symmetric])?.run(&[])?;
    /// let (first, second) = ([3, 2, 1, 2, 3, 2, 1], [6, 5, 4, 5, 6, 5, 4]);
    /// assert_eq!(reflected, Tensor::from([second, first, second, first]));
    /// let (first, second) = ([2, 1, 1, 2, 3, 3, 2], [5, 4, 4, 5, 6, 6, 5]);
    /// assert_eq!(symmetric, Tensor::from([first, first, second, second]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `paddings` does not have one pair per axis, or an entry is negative or longer than the mode allows.
    #[track_caller]
    pub fn mirror_pad(self, paddings: impl IntoParam<'g>, mirror: Mirror) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).size("paddings", paddings).attr("mode", mirror.name()).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("mirror_pad", lower)
    .attrs(&[Attribute::str("mode")])
    .operands(&[Operand::Data("x"), Operand::Size("paddings")])
    .shape_fn(shape)
    .dtype_rule(dtype::unary::any)
    .tensorflow(&[TfOp::new("MirrorPad").pairs(&["paddings"])]);

/// Infers the shape of `pad`, but refuses its mode `constant`, which has no mirror and thus no limits.
fn shape(cx: &mut InferenceContext<'_>) -> shapeflow_shape_fns::Result<()> {
    let mode = cx.str("mode")?;
    if !["reflect", "symmetric"].iter().any(|mirror| mode.eq_ignore_ascii_case(mirror)) {
        return Err(ShapeError::new(format_args!("mode must be REFLECT or SYMMETRIC, got {mode:?}")));
    }
    shapeflow_shape_fns::array::pad(cx)
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let symmetric = cx.attrs().str("mode").eq_ignore_ascii_case("symmetric");
    let before = cx.derived("before");
    let (source, target) = (cx.dims(0), cx.output_dims(0));
    let mut read = index.to_vec();
    let mut padded = Vec::new();
    for (axis, position) in read.iter_mut().enumerate() {
        if target[axis] != source[axis] {
            *position = position.clone() - Index::constant(before[axis].clone());
            padded.push((axis, source[axis].clone()));
        }
    }
    // The last axes are split, because the innermost loop needs an index that is linear.
    let (outer, inner) = padded.split_at(padded.len().saturating_sub(MAX_SPLIT_AXES));
    for (axis, size) in outer {
        let inside = reflected(&read[*axis], size, i64::from(symmetric));
        read[*axis] = cx.checked_index(inside, size.clone(), *axis);
    }
    mirrored(cx, &mut read, inner, i64::from(symmetric))
}

/// The largest number of axes whose three parts are separate loads: `n` axes have `3^n` parts. The index along any
/// further axis is computed for each element.
const MAX_SPLIT_AXES: usize = 3;

/// Mirrors a position into an axis of this size. `repeated` is 1 if the element at the edge is repeated, else 0.
fn reflected(position: &Index, size: &Dim, repeated: i64) -> Expr {
    let (zero, size) = (Expr::constant(0i64), Expr::size(size.clone()));
    let inside = Expr::iota(position.clone());
    let below = Expr::constant(-repeated) - inside.clone();
    let above = size.clone() + size.clone() - Expr::constant(2 - repeated) - inside.clone();
    let not_below = inside.clone().less(size).select(inside.clone(), above);
    inside.less(zero).select(below, not_below)
}

/// Loads the element at index `read`, after mirroring this index into the tensor along each axis of `padded`.
/// `repeated` is 1 if the element at the edge is repeated, else 0.
fn mirrored(cx: &mut dyn LowerCx, read: &mut Vec<Index>, padded: &[(usize, Dim)], repeated: i64) -> Expr {
    let Some(((axis, dim), rest)) = padded.split_first() else { return cx.operand(0, read) };
    let position = read[*axis].clone();
    let inside = mirrored(cx, read, rest, repeated);
    read[*axis] = Index::from(-repeated) - position.clone();
    let below = mirrored(cx, read, rest, repeated);
    read[*axis] = Index::constant(2 * dim - (2 - repeated)) - position.clone();
    let above = mirrored(cx, read, rest, repeated);
    read[*axis] = position.clone();
    let within = |low: Dim, high: Dim| vec![InRange { index: position.clone(), low, high }];
    Expr::case(
        vec![
            (within(Dim::known(0), dim.clone()), inside),
            (within(Dim::known(0) - dim, Dim::known(0)), below),
        ],
        above,
    )
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{Attrs, IntoDim, TensorShape, Unknown};

    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};
    use crate::{DType, Graph};

    shape_table! { DEF, {"paddings": [2, 1], "mode": "REFLECT"},
        "[n]" => "[n+3]",
        "[2]" => error "padding must be less than the size 2 of axis 0, got 2",
    }
    shape_table! { symmetric: DEF, {"paddings": [2, 1], "mode": "symmetric"},
        "[2]" => "[5]",
    }
    shape_table! { constant: DEF, {"paddings": [2, 1], "mode": "constant"},
        "[n]" => error "mode must be REFLECT or SYMMETRIC, got \"constant\"",
    }

    #[test]
    fn elements_are_mirrored_along_every_axis() {
        let x = tensor(&[2, 3], &[1, 2, 3, 4, 5, 6i64]);
        let attrs = Attrs::new().with("paddings", [1, 1, 0, 2]);
        let y = run_one(&DEF, &attrs.clone().with("mode", "REFLECT"), std::slice::from_ref(&x));
        assert_eq!(y.to_vec::<i64>().unwrap(), [4, 5, 6, 5, 4, 1, 2, 3, 2, 1, 4, 5, 6, 5, 4, 1, 2, 3, 2, 1]);
        let y = run_one(&DEF, &attrs.with("mode", "SYMMETRIC"), &[x]);
        assert_eq!(y.to_vec::<i64>().unwrap(), [1, 2, 3, 3, 2, 1, 2, 3, 3, 2, 4, 5, 6, 6, 5, 4, 5, 6, 6, 5]);
    }

    #[test]
    fn many_axes_of_unknown_sizes_compile() {
        for mirror in [Mirror::Reflect, Mirror::Symmetric] {
            let g = Graph::new();
            let x = g.input("x", DType::I32, TensorShape::new((0..10).map(|_| Unknown.into_dim()))).unwrap();
            let paddings = g.input("paddings", DType::I64, [10, 2]).unwrap();
            let exe = g.compile(x.mirror_pad(paddings, mirror).unwrap()).unwrap();
            let sizes: [usize; 10] = [2, 1, 3, 2, 1, 2, 1, 2, 3, 2];
            let x = tensor(&sizes, &(0..sizes.iter().product::<usize>() as i32).collect::<Vec<_>>());
            let paddings = [1, 0, 0, 0, 2, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1, 0, 1, 2, 0, 1i64];
            let [y] = exe.run(&[x.view(), tensor(&[10, 2], &paddings).view()]).unwrap();
            let skipped = i64::from(mirror == Mirror::Reflect);
            let source = |mut rest: usize| {
                let (mut source, mut stride) = (0, 1);
                for (axis, size) in sizes.iter().map(|size| *size as i64).enumerate().rev() {
                    let padded = y.sizes()[axis];
                    let inside = (rest % padded) as i64 - paddings[2 * axis];
                    let inside = if inside < 0 { skipped - 1 - inside } else { inside };
                    let inside = if inside < size { inside } else { 2 * size - 1 - skipped - inside };
                    source += inside * stride;
                    (rest, stride) = (rest / padded, stride * size);
                }
                source as i32
            };
            assert_eq!(y.to_vec::<i32>().unwrap(), (0..y.len()).map(source).collect::<Vec<_>>());
        }
    }
}
