//! `sum_of_products`: sums of products over labeled axes, element by element.

use shapeflow_shape_fns::linalg::{EinsumTerm, einsum_terms};
use shapeflow_shape_fns::{Attribute, Attrs, DType, Dim};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx, ReduceOp};
use crate::op::{OpDef, Operand, TfOp};
use crate::ops::broadcast::{Indices, broadcast_dims};
use crate::ops::widen::widen;
use crate::shape_fns;

/// The op that computes a whole [`einsum`](fn@crate::einsum) element by element, as one expression. `einsum` expands to
/// it where a matrix product would not help, and where a rank is not known.
pub(crate) static DEF: OpDef = OpDef::compute("sum_of_products", lower)
    .attrs(&[Attribute::str("equation")])
    .operands(&[Operand::Variadic("inputs..")])
    .shape_fn(shape_fns::linalg::einsum)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("Einsum")]);

pub(super) fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    Ok(vec![dtype::common(operands, 0, operands.len(), dtype::Class::Numeric)?])
}

/// The index of each label: of the labels of the output, and inside the sum also of the labels that are summed over.
struct LabelIndices {
    labels: Vec<(char, Index)>,
}

impl LabelIndices {
    fn find(&self, label: char) -> Option<Index> {
        self.labels.iter().find(|(other, _)| *other == label).map(|(_, index)| index.clone())
    }
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let equation = cx.attrs().str("equation");
    let (terms, result) = einsum_terms(equation).expect("the shape function has parsed the equation");
    let dtype = cx.output_dtype(output);
    let (before, rest) = index.split_at(result.before.len());
    let (ellipsis_index, after) = rest.split_at(rest.len() - result.after.len());
    let ellipsis_dims = cx.output_dims(output)[before.len()..][..ellipsis_index.len()].to_vec();
    let mut indices = LabelIndices { labels: Vec::new() };
    // If the result repeats a label, an element at which the indices of the label differ is off the diagonal: it is 0.
    let mut on_diagonal = None;
    for (label, position) in result.before.iter().zip(before).chain(result.after.iter().zip(after)) {
        match indices.find(*label) {
            None => indices.labels.push((*label, position.clone())),
            Some(first) => {
                let equal = Expr::iota(first).equal(Expr::iota(position.clone()));
                on_diagonal = Some(on_diagonal.map_or(equal.clone(), |other: Expr| other & equal));
            }
        }
    }
    let (labels, extents) = summed(cx, &terms, &indices);
    let product = |cx: &mut dyn LowerCx, inner: &[Index]| {
        let summed = labels.iter().copied().zip(inner.iter().cloned());
        let all = LabelIndices { labels: indices.labels.iter().cloned().chain(summed).collect() };
        let mut factors = terms.iter().enumerate().map(|(operand, term)| {
            let dims = cx.dims(operand);
            let read = operand_index(&dims, term, &all, &ellipsis_dims, ellipsis_index);
            widen(cx.operand(operand, &read))
        });
        let first = factors.next().expect("an equation has a term");
        factors.fold(first, |product, factor| product * factor)
    };
    let sum = match labels.is_empty() {
        true => product(cx, &[]),
        false => cx.reduce(ReduceOp::Sum, &extents, &mut |cx, inner| product(cx, inner)),
    };
    let sum = sum.cast(dtype);
    match on_diagonal {
        Some(equal) => equal.select(sum, Expr::number(dtype, 0.0)),
        None => sum,
    }
}

/// Returns the labels that the output does not have, with their dimensions. `output` has the output's labels.
fn summed(cx: &dyn LowerCx, terms: &[EinsumTerm], output: &LabelIndices) -> (Vec<char>, Vec<Dim>) {
    let (mut labels, mut extents) = (Vec::new(), Vec::new());
    for (operand, term) in terms.iter().enumerate() {
        let dims = cx.dims(operand);
        let after = dims.len() - term.after.len();
        let axes = term.before.iter().zip(&dims).chain(term.after.iter().zip(&dims[after..]));
        for (label, dim) in axes {
            if output.find(*label).is_none() && !labels.contains(label) {
                labels.push(*label);
                extents.push(dim.clone());
            }
        }
    }
    (labels, extents)
}

/// Returns the index of an operand of these dimensions. The axes of the operand under the ellipsis broadcast to
/// `ellipsis_dims`.
fn operand_index(
    dims: &[Dim],
    term: &EinsumTerm,
    indices: &LabelIndices,
    ellipsis_dims: &[Dim],
    ellipsis_index: &[Index],
) -> Indices {
    let label = |label: &char| indices.find(*label).expect("each label is in the output or summed over");
    let middle = &dims[term.before.len()..dims.len() - term.after.len()];
    let mut read: Indices = term.before.iter().map(label).collect();
    read.extend(broadcast_dims(middle, ellipsis_dims, ellipsis_index));
    read.extend(term.after.iter().map(label));
    read
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {"equation": "...ij,jk->...ik"},
        "[b, 2, n]; [?, 5]" => "[d0_0, 2, 5]",
        "?; [3, 4]" => "?",
        "bool[2, 2]; bool[2, 2]" => error "must be an integer, a float or a complex number, got bool",
    }

    #[test]
    fn labels_may_repeat_in_operands_and_in_the_result() {
        let x = tensor(&[2, 2], &[1, 2, 3, 4]);
        let sum = |equation: &str| {
            run_one(&DEF, &Attrs::new().with("equation", equation), std::slice::from_ref(&x))
        };
        check_tensor(&sum("ii->"), &tensor(&[], &[5]), "trace");
        check_tensor(&sum("ii->i"), &tensor(&[2], &[1, 4]), "diagonal");
        check_tensor(&sum("ii->ii"), &tensor(&[2, 2], &[1, 0, 0, 4]), "diagonal matrix");
        check_tensor(&sum("ij->jij"), &tensor(&[2, 2, 2], &[1, 0, 3, 0, 0, 2, 0, 4]), "spread");
        check_tensor(&sum("i...->..."), &tensor(&[2], &[4, 6]), "columns");
    }
}
