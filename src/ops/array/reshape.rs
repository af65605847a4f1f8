//! `reshape`: gives the elements other dimensions, in the same row-major order.

use shapeflow_shape_fns::Dim;

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoShapeArg, Value};
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Returns the same elements, in the same row-major order, with the dimensions of `shape`.
    ///
    /// `[..] -> shape`, any dtype. `shape` is an array or slice of sizes, a shape, or a value that holds the sizes. One
    /// dimension may be `-1`; it is computed from the other dimensions, also for symbols (`[n, 4]` to `[-1]` gives
    /// `[4*n]`), while a `?` stays an unknown size that the run checks. If another size is 0, sizes of 0 are left out:
    /// `[7, 0, 0, 2]` to `[0, -1]` gives `[0, 14]`. As TensorFlow's `Reshape`, except that a symbol that `shape` and
    /// this value share cancels for all sizes: `[n, m]` to `[n, -1]` gives `[n, m]`, also if both are 0. Fuses into
    /// kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1, 2, 3, 4, 5, 6])?.reshape([2, -1])?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([[1, 2, 3], [4, 5, 6]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The numbers of elements can never agree, or `shape` has more than one `-1` or another negative size.
    #[doc(alias = "view")]
    #[doc(alias = "flatten")]
    #[doc(alias = "ravel")]
    #[track_caller]
    pub fn reshape(self, shape: impl IntoShapeArg<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).size("shape", shape.into_shape_arg()).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("reshape", lower)
    .operands(&[Operand::Data("x"), Operand::Size("shape")])
    .shape_fn(shapeflow_shape_fns::array::reshape)
    .dtype_rule(dtype::unary::any)
    .reinterprets()
    .tensorflow(&[TfOp::new("Reshape")]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let (source, target) = (cx.dims(0), cx.output_dims(0));
    match refine(&source, &target, index) {
        Some(read) => cx.operand(0, &read),
        None => {
            let mut place = position(&target, index);
            if place.is_invalid() {
                place = computed_position(&target, index);
            }
            cx.operand_flat(0, place)
        }
    }
}

/// Returns the row-major position of `index` in a tensor of dimensions `dims`.
pub(super) fn position(dims: &[Dim], index: &[Index]) -> Index {
    let mut stride = Dim::known(1);
    let mut position = Index::from(0);
    for (along, dim) in index.iter().zip(dims).rev() {
        position = position + along.clone() * stride.clone();
        stride = &stride * dim;
    }
    position
}

/// Builds [`position`] as a run-time value, for strides that are products too large for one [`Dim`].
fn computed_position(dims: &[Dim], index: &[Index]) -> Index {
    let part = |(axis, index): (usize, &Index)| {
        Expr::iota(index.clone()) * Expr::size_product(dims[axis + 1..].iter().cloned())
    };
    let sum = index.iter().enumerate().map(part).reduce(|a, b| a + b);
    sum.map_or_else(|| Index::from(0), Index::value)
}

/// Maps a target index to a source index, one entry per source axis. Returns `None` unless the dimensions fall into
/// groups. In a group, one source dimension is split into target dimensions, or source dimensions are merged into one
/// target dimension.
fn refine(source: &[Dim], target: &[Dim], index: &[Index]) -> Option<Vec<Index>> {
    let one = Dim::known(1);
    let mut read = Vec::with_capacity(source.len());
    let (mut from, mut to) = (0, 0);
    loop {
        while source.get(from) == Some(&one) {
            read.push(Index::from(0));
            from += 1;
        }
        while target.get(to) == Some(&one) {
            to += 1;
        }
        let (Some(split), Some(merged)) = (source.get(from), target.get(to)) else {
            return (from == source.len() && to == target.len()).then_some(read);
        };
        if let Some(count) = leading_factors(split, &target[to..]) {
            read.push(position(&target[to..to + count], index.get(to..to + count)?));
            from += 1;
            to += count;
        } else if let Some(count) = leading_factors(merged, &source[from..]) {
            read.extend(coordinates(index.get(to)?, &source[from..from + count]));
            from += count;
            to += 1;
        } else {
            return None;
        }
    }
}

/// Returns the number of leading `factors` whose product is `target`.
fn leading_factors(target: &Dim, factors: &[Dim]) -> Option<usize> {
    let mut product = Dim::known(1);
    for (count, factor) in factors.iter().enumerate() {
        product = product.checked_mul(factor).ok()?;
        if product == *target {
            return Some(count + 1);
        }
    }
    None
}

/// Returns the coordinates of an element of a tensor of dimensions `dims`. `flat` is the row-major position of the
/// element, and is in bounds.
fn coordinates(flat: &Index, dims: &[Dim]) -> Vec<Index> {
    let mut coordinates = Vec::with_capacity(dims.len());
    let mut stride = Dim::known(1);
    for (axis, dim) in dims.iter().enumerate().rev() {
        let quotient = flat.clone().floordiv(stride.clone());
        coordinates.push(if axis == 0 { quotient } else { quotient.modulo(dim.clone()) });
        stride = &stride * dim;
    }
    coordinates.reverse();
    coordinates
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::TensorShape;

    use super::*;
    use crate::expr::Axis;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"shape": [-1]},
        "[n, 4]" => "[4*n]",
        "[2, 3]" => "[6]",
        "[]" => "[1]",
    }
    shape_table! { split_dims: DEF, {"shape": [-1, 4]},
        "[8]" => "[2, 4]",
        "[2, 3]" => error "",
    }
    shape_table! { fed: DEF, {},
        "[2, 3]; shape=i32[2]" => "[?, ?]",
        "[n]; shape=i64[0]" => "[]",
        "[n]; shape=f32[1]" => error "the element type must be i32 or i64, got f32",
    }

    fn read(source: &str, target: &str) -> String {
        let dims = |text: &str| text.parse::<TensorShape>().unwrap().dims().unwrap().to_vec();
        let (source, target) = (dims(source), dims(target));
        let index: Vec<Index> = (0..target.len() as u32).map(|axis| Index::axis(Axis(axis))).collect();
        match refine(&source, &target, &index) {
            Some(read) => read.iter().map(Index::to_string).collect::<Vec<_>>().join(", "),
            None => format!("flat {}", position(&target, &index)),
        }
    }

    #[test]
    fn split_and_merged_dims_are_read_by_axis() {
        assert_eq!(read("[n, 4]", "[n, 4]"), "i0, i1");
        assert_eq!(read("[4*n]", "[n, 4]"), "4*i0 + i1");
        assert_eq!(read("[n, 4]", "[4*n]"), "floordiv(i0, 4), mod(i0, 4)");
        assert_eq!(read("[2, 3, n]", "[6*n]"), "floordiv(i0, 3*n), mod(floordiv(i0, n), 3), mod(i0, n)");
        assert_eq!(read("[n, 1, 3, m]", "[1, n, 3*m]"), "i1, 0, floordiv(i2, m), mod(i2, m)");
        assert_eq!(read("[n, 6, m]", "[n, 2, 3, m]"), "i0, 3*i1 + i2, i3");
        assert_eq!(read("[1, 1]", "[]"), "0, 0");
        assert_eq!(read("[2, 3]", "[3, 2]"), "flat 2*i0 + i1");
        assert_eq!(read("[n, m]", "[m, n]"), "flat n*i0 + i1");
        assert_eq!(read("[n, m]", "[k]"), "flat i0");
    }
}
