//! `Labeled`: a value whose axes have labels, and the product of two of them.

use shapeflow_shape_fns::linalg::EinsumTerm;
use shapeflow_shape_fns::{Dim, TensorShape};

use super::sum_of_products;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;

/// The size that estimates assume for an unknown dimension. Unknown sizes are mostly batches and lengths, and known
/// ones ranks and depths, so an unknown size counts as larger.
const ASSUMED_SIZE: f64 = 4096.0;

/// A value whose axes are those under the ellipsis, then one axis for each label. No label repeats.
pub(super) struct Labeled<'g> {
    value: Value<'g>,
    /// The number of axes under the ellipsis.
    covered: usize,
    pub labels: Vec<char>,
}

/// The axes of one operand of a matrix product.
struct Roles {
    batch: Vec<usize>,
    /// The axes that only this operand has.
    free: Vec<usize>,
    summed: Vec<usize>,
}

impl<'g> Labeled<'g> {
    /// Labels the axes of an operand by its term. Takes the diagonal of repeated labels, and sums over labels that are
    /// not in `kept`.
    pub fn new(value: Value<'g>, term: &EinsumTerm, kept: &[char]) -> Result<Labeled<'g>> {
        let mut labels: Vec<char> = Vec::new();
        for label in labels_of(term) {
            if kept.contains(&label) && !labels.contains(&label) {
                labels.push(label);
            }
        }
        let count = term.before.len() + term.after.len();
        let rank = value.shape().rank();
        let covered = rank.map_or(0, |rank| rank - count);
        if labels.len() < count {
            let ellipsis = if covered > 0 { "..." } else { "" };
            let equation =
                format!("{}{ellipsis}{}->{ellipsis}{}", text(&term.before), text(&term.after), text(&labels));
            let value = value.graph().op(&sum_of_products::DEF).data(value).attr("equation", equation);
            return Ok(Labeled { value: value.finish()?, covered, labels });
        }
        let before = term.before.len();
        let perm: Vec<usize> =
            (before..before + covered).chain(0..before).chain(before + covered..covered + count).collect();
        // A permutation gives an operand of unknown rank its rank.
        let value =
            if rank.is_none() { value.transpose(&as_param(&perm)[..])? } else { permuted(value, &perm)? };
        Ok(Labeled { value, covered, labels })
    }

    /// Returns the dimension of a label.
    fn dim(&self, label: char) -> Option<Dim> {
        self.value.shape().dims()?.get(self.covered + self.position(label)?).cloned()
    }

    /// Returns the number of a label's axis after the axes under the ellipsis.
    fn position(&self, label: char) -> Option<usize> {
        self.labels.iter().position(|other| *other == label)
    }

    /// Returns the approximate number of elements.
    pub fn elements(&self) -> f64 {
        self.value.shape().dims().unwrap_or_default().iter().map(assumed).product()
    }

    /// Estimates the contraction with `other`: the number of elements of its result, and the number of multiplications.
    pub fn estimate(&self, other: &Labeled<'_>, kept: &[char]) -> (f64, f64) {
        let covered = |operand: &Labeled<'_>| -> f64 {
            operand.value.shape().dims().unwrap_or_default()[..operand.covered].iter().map(assumed).product()
        };
        let both = covered(self).max(covered(other));
        let (mut result, mut products) = (both, both);
        let only_other = other.labels.iter().filter(|label| !self.labels.contains(label));
        for label in self.labels.iter().chain(only_other) {
            let size =
                self.dim(*label).or_else(|| other.dim(*label)).map_or(ASSUMED_SIZE, |dim| assumed(&dim));
            products *= size;
            if kept.contains(label) {
                result *= size;
            }
        }
        (result, products)
    }

    /// Multiplies by `other` and sums over the labels that both operands have and `kept` lacks. If no matmul computes
    /// the product, the labels of the result are in the order of `wanted`.
    pub fn contract(self, other: Labeled<'g>, kept: &[char], wanted: &[char]) -> Result<Labeled<'g>> {
        // The axes of an ellipsis that only one operand has are the first axes of the result.
        if self.covered == 0 && other.covered > 0 {
            return other.contract(self, kept, wanted);
        }
        let shared = |label: &&char| other.labels.contains(label);
        let (batch, summed): (Vec<char>, Vec<char>) =
            self.labels.iter().filter(shared).copied().partition(|label| kept.contains(label));
        let other = other.with_sizes_of(&self, batch.iter().chain(&summed).copied())?;
        let is_folded = other.covered == 0 && batch.is_empty();
        let (a, b) = (self.roles(&batch, &summed, is_folded), other.roles(&batch, &summed, false));
        if summed.is_empty() || a.free.is_empty() || b.free.is_empty() {
            return self.multiply(&other, &summed, wanted);
        }
        let covered = self.covered;
        let free = |operand: &Labeled<'_>| -> Vec<char> {
            let mine = |label: &&char| !batch.contains(label) && !summed.contains(label);
            operand.labels.iter().filter(mine).copied().collect()
        };
        let labels = batch.iter().copied().chain(free(&self)).chain(free(&other)).collect();
        let (rows, transpose_a) = self.matrix(&a, false)?;
        let (columns, transpose_b) = other.matrix(&b, true)?;
        let product = rows.matmul_transposed(columns, transpose_a, transpose_b)?;
        if a.free.len() == 1 && b.free.len() == 1 {
            return Ok(Labeled { value: product, covered: covered.max(other.covered), labels });
        }
        let shape = product.shape();
        let all = shape.dims().unwrap_or_default();
        let mut dims: Vec<Dim> = all[..all.len() - 2].to_vec();
        dims.extend(self.dims_at(&a.free).into_iter().chain(other.dims_at(&b.free)));
        Ok(Labeled { value: product.reshape(&dims[..])?, covered: covered.max(other.covered), labels })
    }

    /// Requires that the axes of these labels have the same sizes as in `first`, which has the labels, too. The axes of
    /// a matrix product would broadcast instead.
    fn with_sizes_of(self, first: &Labeled<'g>, labels: impl Iterator<Item = char>) -> Result<Labeled<'g>> {
        let shape = self.value.shape();
        let mut dims = shape.dims().unwrap_or_default().to_vec();
        for label in labels {
            let (Some(wanted), Some(position)) = (first.dim(label), self.position(label)) else { continue };
            let dim = &mut dims[self.covered + position];
            if wanted.same(dim) == Some(false) {
                let message =
                    format!("all axes labeled {label} must have the same size, got {wanted} and {dim}");
                return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
            }
            *dim = wanted;
        }
        let is_known = shape.dims().is_some_and(|known| known == dims);
        let value = if is_known { self.value } else { self.value.ensure_shape(TensorShape::from(dims))? };
        Ok(Labeled { value, ..self })
    }

    /// Multiplies by `other` element by element and sums over `summed`.
    fn multiply(self, other: &Labeled<'g>, summed: &[char], wanted: &[char]) -> Result<Labeled<'g>> {
        let mut labels: Vec<char> = Vec::new();
        for label in wanted.iter().chain(&self.labels).chain(&other.labels) {
            let is_present = self.labels.contains(label) || other.labels.contains(label);
            if is_present && !summed.contains(label) && !labels.contains(label) {
                labels.push(*label);
            }
        }
        let covered = self.covered.max(other.covered);
        let term = |labels: &[char], covered: usize| {
            format!("{}{}", if covered > 0 { "..." } else { "" }, text(labels))
        };
        let equation = format!(
            "{},{}->{}",
            term(&self.labels, self.covered),
            term(&other.labels, other.covered),
            term(&labels, covered)
        );
        let call = self.value.graph().op(&sum_of_products::DEF).data(self.value).data(other.value);
        Ok(Labeled { value: call.attr("equation", equation).finish()?, covered, labels })
    }

    /// Returns the roles of the axes in a matrix product. The axes under the ellipsis are rows if `is_folded`.
    fn roles(&self, batch: &[char], summed: &[char], is_folded: bool) -> Roles {
        let axis = |label: &char| self.covered + self.position(*label).expect("both operands have the label");
        let mut roles = Roles {
            batch: if is_folded { Vec::new() } else { (0..self.covered).collect() },
            free: if is_folded { (0..self.covered).collect() } else { Vec::new() },
            summed: summed.iter().map(axis).collect(),
        };
        roles.batch.extend(batch.iter().map(axis));
        let is_free = |label: &&char| !batch.contains(label) && !summed.contains(label);
        roles.free.extend(self.labels.iter().filter(is_free).map(axis));
        roles
    }

    /// Arranges the axes as the batch and two axes of a matrix, and returns whether the matrix is transposed. The
    /// summed axes are the rows of a matrix that `sums_rows`, else the columns.
    fn matrix(&self, roles: &Roles, sums_rows: bool) -> Result<(Value<'g>, bool)> {
        let (usual, swapped) = match sums_rows {
            true => ([&roles.summed, &roles.free], [&roles.free, &roles.summed]),
            false => ([&roles.free, &roles.summed], [&roles.summed, &roles.free]),
        };
        let perm_of = |matrix: [&Vec<usize>; 2]| -> Vec<usize> {
            roles.batch.iter().chain(matrix[0]).chain(matrix[1]).copied().collect()
        };
        let is_transposed = perm_of(swapped).is_sorted() && !perm_of(usual).is_sorted();
        let matrix = if is_transposed { swapped } else { usual };
        let arranged = permuted(self.value, &perm_of(matrix))?;
        if matrix.iter().all(|axes| axes.len() == 1) {
            return Ok((arranged, is_transposed));
        }
        let mut dims = self.dims_at(&roles.batch);
        for axes in matrix {
            let product = |product: Result<Dim>, dim: Dim| Ok(product?.checked_mul(&dim)?);
            dims.push(self.dims_at(axes).into_iter().fold(Ok(Dim::known(1)), product)?);
        }
        Ok((arranged.reshape(&dims[..])?, is_transposed))
    }

    fn dims_at(&self, axes: &[usize]) -> Vec<Dim> {
        let shape = self.value.shape();
        let dims = shape.dims().unwrap_or_default();
        axes.iter().map(|axis| dims[*axis].clone()).collect()
    }

    /// Returns the value with its axes in the order of the output's term.
    pub fn arrange(self, output: &EinsumTerm) -> Result<Value<'g>> {
        let wanted: Vec<char> = labels_of(output).collect();
        if wanted.len() > self.labels.len() {
            let ellipsis = if self.covered > 0 { "..." } else { "" };
            let (before, after) = (text(&output.before), text(&output.after));
            let equation = format!("{ellipsis}{}->{before}{ellipsis}{after}", text(&self.labels));
            let call = self.value.graph().op(&sum_of_products::DEF).data(self.value);
            return call.attr("equation", equation).finish();
        }
        let axis = |label: &char| {
            self.covered + self.position(*label).expect("the result has every label of the output")
        };
        let before = output.before.iter().map(axis);
        let perm: Vec<usize> = before.chain(0..self.covered).chain(output.after.iter().map(axis)).collect();
        permuted(self.value, &perm)
    }
}

/// Returns all labels of a term.
pub(super) fn labels_of(term: &EinsumTerm) -> impl Iterator<Item = char> + '_ {
    term.before.iter().chain(&term.after).copied()
}

/// The size of a dimension, or the size that estimates assume.
fn assumed(dim: &Dim) -> f64 {
    dim.as_known().map_or(ASSUMED_SIZE, |size| size as f64)
}

fn text(labels: &[char]) -> String {
    labels.iter().collect()
}

fn as_param(perm: &[usize]) -> Vec<i64> {
    perm.iter().map(|axis| *axis as i64).collect()
}

/// Permutes the axes unless they are in order.
fn permuted<'g>(value: Value<'g>, perm: &[usize]) -> Result<Value<'g>> {
    if perm.is_sorted() { Ok(value) } else { value.transpose(&as_param(perm)[..]) }
}
