//! `einsum(inputs, equation)`: sums of products over labeled axes.

use crate::error::bail;
use crate::{Dim, InferenceContext, Result, ShapeError, TensorShape, counted};

/// A term of an equation: the labels of one operand or of the output, before and after the ellipsis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EinsumTerm {
    /// The labels before the ellipsis; all labels if there is no ellipsis.
    pub before: Vec<char>,
    /// The labels after the ellipsis.
    pub after: Vec<char>,
    /// Whether the term has an ellipsis.
    pub ellipsis: bool,
}

/// Splits an equation into the terms of the operands and the term of the output. Whitespace is ignored.
///
/// ```
/// let (operands, output) = shapeflow_shape_fns::linalg::einsum_terms("...ij, jk -> ...ik")?;
/// assert_eq!((operands.len(), output.after), (2, vec!['i', 'k']));
/// # Ok::<(), shapeflow_shape_fns::ShapeError>(())
/// ```
///
/// # Errors
/// The equation does not have exactly one `->` and one output, or a term has more than one ellipsis or a stray dot.
pub fn einsum_terms(equation: &str) -> Result<(Vec<EinsumTerm>, EinsumTerm)> {
    let bare: String = equation.chars().filter(|label| !label.is_whitespace()).collect();
    let sides: Vec<&str> = bare.split("->").collect();
    let [inputs, output] = sides.as_slice() else {
        bail!("an equation must have exactly one ->, got {equation:?}");
    };
    if output.contains(',') {
        bail!("an equation must have one output, got {equation:?}");
    }
    let inputs = inputs.split(',').map(|text| EinsumTerm::parse(text, equation)).collect::<Result<_>>()?;
    Ok((inputs, EinsumTerm::parse(output, equation)?))
}

impl EinsumTerm {
    /// Parses one term of an equation.
    fn parse(text: &str, equation: &str) -> Result<EinsumTerm> {
        let parts: Vec<&str> = text.split("...").collect();
        let stray = parts.iter().any(|part| part.contains('.'));
        match parts.as_slice() {
            [all] if !stray => {
                Ok(EinsumTerm { before: all.chars().collect(), after: Vec::new(), ellipsis: false })
            }
            [before, after] if !stray => Ok(EinsumTerm {
                before: before.chars().collect(),
                after: after.chars().collect(),
                ellipsis: true,
            }),
            _ => {
                bail!("the dots of a term must form at most one ellipsis (...), got {text:?} in {equation:?}")
            }
        }
    }

    fn len(&self) -> usize {
        self.before.len() + self.after.len()
    }
}

/// The dimensions that the operands give to labels and to the ellipsis.
#[derive(Default)]
struct LabelDims {
    labels: Vec<(char, Dim)>,
    /// The broadcast shape of the axes under the ellipses. The shape is unranked if an operand is unranked.
    ellipsis: Option<TensorShape>,
}

impl LabelDims {
    /// Unifies the dimension of a label with `dim`.
    fn bind(&mut self, cx: &mut InferenceContext<'_>, operand: usize, label: char, dim: &Dim) -> Result<()> {
        match self.labels.iter_mut().find(|(other, _)| *other == label) {
            Some((_, bound)) => {
                *bound = cx.merge(bound, dim).map_err(|_| {
                    ShapeError::new(format_args!(
                        "all axes labeled {label} must have the same size, got {bound} and {dim}"
                    ))
                    .operand(operand)
                })?;
            }
            None => self.labels.push((label, dim.clone())),
        }
        Ok(())
    }

    /// Broadcasts the shape of the ellipsis with `dims`, the axes that the ellipsis of an operand stands for.
    fn broadcast_ellipsis(
        &mut self,
        cx: &mut InferenceContext<'_>,
        operand: usize,
        dims: TensorShape,
    ) -> Result<()> {
        let all = match self.ellipsis.take() {
            Some(previous) => cx.broadcast(&previous, &dims).map_err(|error| error.operand(operand))?,
            None => dims,
        };
        self.ellipsis = Some(all);
        Ok(())
    }

    /// Returns the dimension of a label.
    fn find(&self, label: char, equation: &str) -> Result<Dim> {
        match self.labels.iter().find(|(other, _)| *other == label) {
            Some((_, dim)) => Ok(dim.clone()),
            None => bail!("every label of the output must occur in an operand, got {label} in {equation:?}"),
        }
    }
}

/// Infers the output of attribute `equation`: `"ij,jk->ik"` gives `[m, k], [k, n] -> [m, n]`.
///
/// All axes with the same label are unified, within an operand (`"ii->i"`) and between operands. A label may occur in
/// the output more than once. An ellipsis stands for any number of axes, which broadcast between operands. Whitespace
/// is ignored. The equation may have any number of operands; TensorFlow's op has one or two operands.
///
/// # Errors
/// The equation has no output or a stray dot, its number of terms differs from the number of operands, or an output
/// label occurs in no operand; an operand's rank does not fit its labels; axes with the same label provably differ; the
/// axes that the ellipses stand for do not broadcast, or exist although the output has no ellipsis.
pub fn einsum(cx: &mut InferenceContext<'_>) -> Result<()> {
    let equation = cx.str("equation")?;
    let (inputs, output) = einsum_terms(equation)?;
    if inputs.len() != cx.len() {
        bail!(
            "an equation must have one term per operand, got {} for {} in {equation:?}",
            inputs.len(),
            cx.len()
        );
    }
    let mut label_dims = LabelDims::default();
    for (operand, labels) in inputs.iter().enumerate() {
        bind_operand(cx, operand, labels, &mut label_dims)?;
    }
    let resolve = |labels: &[char]| -> Result<TensorShape> {
        let dims = labels.iter().map(|label| label_dims.find(*label, equation));
        Ok(TensorShape::new(dims.collect::<Result<Vec<Dim>>>()?))
    };
    let (before, after) = (resolve(&output.before)?, resolve(&output.after)?);
    let ellipsis = match &label_dims.ellipsis {
        Some(dims) if !output.ellipsis && dims.rank().is_some_and(|rank| rank > 0) => {
            bail!("the output must have an ellipsis for the operands' axes {dims}, got {equation:?}");
        }
        Some(dims) if output.ellipsis => dims.clone(),
        _ => TensorShape::scalar(),
    };
    cx.set_output(0, before.concatenate(&ellipsis).concatenate(&after));
    Ok(())
}

/// Binds the labels of one operand to its dimensions.
fn bind_operand(
    cx: &mut InferenceContext<'_>,
    operand: usize,
    labels: &EinsumTerm,
    label_dims: &mut LabelDims,
) -> Result<()> {
    let shape = cx.input(operand).clone();
    let Some(dims) = shape.dims() else {
        for label in labels.before.iter().chain(&labels.after) {
            let dim = cx.fresh();
            label_dims.bind(cx, operand, *label, &dim)?;
        }
        return if labels.ellipsis {
            label_dims.broadcast_ellipsis(cx, operand, TensorShape::unranked())
        } else {
            Ok(())
        };
    };
    let covered = match dims.len().checked_sub(labels.len()) {
        Some(covered) if covered == 0 || labels.ellipsis => covered,
        _ => {
            let least = if labels.ellipsis { " at least" } else { "" };
            return Err(cx.blame(
                operand,
                format_args!(
                    "must have{least} {}, one per label, got {shape}",
                    counted(labels.len(), "axis")
                ),
            ));
        }
    };
    let (before, rest) = dims.split_at(labels.before.len());
    let (middle, after) = rest.split_at(covered);
    for (label, dim) in labels.before.iter().zip(before).chain(labels.after.iter().zip(after)) {
        label_dims.bind(cx, operand, *label, dim)?;
    }
    if labels.ellipsis {
        label_dims.broadcast_ellipsis(cx, operand, TensorShape::from(middle))
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::shape_table;

    shape_table! { shapes: super::einsum, ["inputs.."];
        {equation: "ij,jk->ik"} "[m, 3]; [?, n]" => "[m, n]";
        {equation: "ij, jk -> ik"} "[m, 3]; [?, n]" => "[m, n]";
        {equation: "abc->aabbcc"} "[?, 2, ?]" => "[d0_0, d0_0, 2, 2, d0_2, d0_2]";
        {equation: "->"} "[]" => "[]";
        {equation: "aaa,b->abbb"} "[?, 4, ?]; [?]" => "[4, d1_0, d1_0, d1_0]";
        {equation: "a...bc->c..."} "[?, ?, ?, ?, ?]" => "[d0_4, d0_1, d0_2]";
        {equation: "...ij,...jk->...ik"} "[7, ?, m, k]; [1, k, n]" => "[7, d0_1, m, n]";
        {equation: "...ij,...jk->...ik"} "?; [1, ?, n]" => "?";
        {equation: "...ij,...jk->ik"} "?; ?" => "[?, ?]";
        {equation: "a...bc->c"} "?" => "[?]";
        {equation: "ab->a..."} "[2, 3]" => "[2]";
        {equation: "ab,bc,cd->ad"} "[2, ?]; [n, ?]; [m, 5]" => "[2, 5]";
        {equation: "ab->b"} "[2, 2]; [2, 2]" => "error an equation must have one term per operand, got 1 for 2";
        {equation: "a"} "[2]" => "error an equation must have exactly one ->, got \"a\"";
        {equation: "..a.->a..."} "[1, 1]" => "error must form at most one ellipsis (...), got \"..a.\"";
        {equation: "...a...->a"} "[1, 1]" => "error must form at most one ellipsis";
        {equation: "abc->d"} "[?, ?, ?]" => "error every label of the output must occur in an operand, got d";
        {equation: "abc->c"} "[?, ?]" => "error operand 0 must have 3 axes, one per label, got [?, ?]";
        {equation: "...abc->c"} "[?, ?]" => "error operand 0 must have at least 3 axes";
        {equation: "aa,bb->a"} "[1, 2]; [2, 2]" => "error all axes labeled a must have the same size, got 1 and 2";
        {equation: "i...j,jk...->ik"} "[?, 2, ?]; [?, ?]" => "error the output must have an ellipsis for the operands' axes [2], got \"i...j,jk...->ik\"";
        {equation: "...i,...i->..."} "[2, ?]; [3, ?]" => "error must be equal or 1 to broadcast, got 2 and 3";
    }
}
