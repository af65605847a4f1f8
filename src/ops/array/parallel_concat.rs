//! `parallel_concat`: joins tensors of one row.

use shapeflow_shape_fns::{Attribute, Dim};

use crate::dtype;
use crate::expr::{Expr, InRange, Index, LowerCx};
use crate::op::{OpDef, Operand, TfFunction, TfOp};
use crate::ops::concat;

/// An op for import only: programs call [`concat`](fn@crate::concat). Attribute `shape` is the shape of the result.
pub(crate) static DEF: OpDef = OpDef::compute("parallel_concat", lower)
    .attrs(&[Attribute::shape("shape")])
    .operands(&[Operand::Variadic("values..")])
    .shape_fn(shapeflow_shape_fns::control::parallel_concat)
    .dtype_rule(|dtypes, _| Ok(vec![dtype::common(dtypes, 0, dtypes.len(), dtype::Class::Any)?]))
    .tensorflow(&[TfOp::new("ParallelConcat").known_from(0)])
    .in_tensorflow(TfFunction::Composed(|_, values| Ok(vec![concat(values, 0)?])));

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let (row, rest) = index.split_first().expect("the shape function refuses scalars");
    let read: Vec<Index> = std::iter::once(Index::from(0)).chain(rest.iter().cloned()).collect();
    let mut arms: Vec<(Vec<InRange>, Expr)> = Vec::new();
    for operand in 0..cx.operands() {
        let low = Dim::known(operand as i64);
        let range = InRange { index: row.clone(), high: &low + 1, low };
        arms.push((vec![range], cx.operand(operand, &read)));
    }
    let (_, last) = arms.pop().expect("the dtype rule refuses a call without operands");
    Expr::case(arms, last)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::shape;

    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {"shape": shape![2, ?]},
        "[1, n]; [?, 3]" => "[2, 3]",
        "[1, 2]; [2, 2]" => error "must have size 1 along axis 0",
        "[1, 2]; f64[1, 2]" => error "operands must have one dtype",
    }

    #[test]
    fn rows_are_in_order() {
        let rows = [[1, 2], [3, 4], [5, 6i32]].map(|row| tensor(&[1, 2], &row));
        let y = run_one(&DEF, &Attrs::new().with("shape", shape![3, 2]), &rows);
        assert_eq!((y.sizes(), y.to_vec::<i32>().unwrap()), (&[3, 2][..], vec![1, 2, 3, 4, 5, 6]));
    }
}
