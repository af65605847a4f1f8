//! `einsum`: sums of products over labeled axes, as matrix products where they help.

use std::panic::Location;

use shapeflow_shape_fns::linalg::{EinsumTerm, einsum_terms};
use shapeflow_shape_fns::{Attribute, DType, counted};

use super::labeled::{Labeled, labels_of};
use super::sum_of_products;
use crate::dtype::type_text;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoParam, Param, Value};
use crate::op::{CompositeCx, OpDef, Operand, TfOp};

/// Sums products of elements over labeled axes, as an equation in Einstein's notation says.
///
/// `"ij,jk->ik"` multiplies matrices: `[m, k], [k, n] -> [m, n]`. Every operand has a term with one label per axis.
/// Axes with the same label have the same size. The sum runs over the labels that the output's term lacks. A label that
/// a term repeats selects a diagonal (`"ii->i"`); a label that the output repeats fills a diagonal, with zeros beside
/// it. An ellipsis stands for any number of axes, which broadcast between operands. An equation without `->` has the
/// labels that occur once as its output, in alphabetical order, after the ellipsis.
///
/// Integers (which wrap), floats and complex numbers of one dtype; f16 and bf16 are summed as f32 and rounded once. As
/// numpy's `einsum` and TensorFlow's `Einsum` (`tf.einsum`), for any number of operands. The operands are multiplied in
/// pairs, cheapest first; a pair runs as a matrix product, or fuses into kernels if it has no axes for one.
///
/// ```
/// use shapeflow::{DType, Graph, einsum, shape};
///
/// let g = Graph::new();
/// let x = g.input("x", DType::F32, shape!["b", "n", 8])?;
/// let w = g.input("w", DType::F32, [8, 4, 2])?;
/// assert_eq!(einsum("bni,ihd->bhnd", &[x, w])?.shape().to_string(), "[b, 4, n, 2]");
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// The equation is invalid or does not have one term per operand, the dtypes differ or are not integers, floats or
/// complex numbers, a rank does not fit its term, axes with the same label have different sizes, or the axes under the
/// ellipses do not broadcast.
#[doc(alias = "inner")]
#[doc(alias = "outer")]
#[track_caller]
pub fn einsum<'g>(equation: &str, operands: &[Value<'g>]) -> Result<Value<'g>> {
    let location = Location::caller();
    let first = operands.first().copied().ok_or_else(|| {
        Error::new(ErrorKind::Attribute, Phase::Build, "einsum needs at least one operand, got none")
            .at(location)
    })?;
    check_labels(equation).map_err(|error| error.with_op("einsum", "einsum").at(location))?;
    first.graph().op(&DEF).data_all(operands).attr("equation", explicit(equation)).finish_at(location)
}

/// Checks that every label of an equation is a letter or a digit. A misspelled arrow would be a label.
fn check_labels(equation: &str) -> Result<()> {
    let parts = equation.replace("->", "").replace(['.', ','], "");
    let is_label = |c: char| c.is_alphanumeric() || c.is_whitespace();
    let Some(wrong) = parts.chars().find(|c| !is_label(*c)) else { return Ok(()) };
    let message = format!("a label must be a letter, got {:?} in {equation:?}", wrong.to_string());
    let error = Error::new(ErrorKind::Attribute, Phase::Build, message);
    Err(match wrong {
        '-' | '>' | '=' => error.with_help("write -> between the operands and the output"),
        _ => error,
    })
}

impl<'g> Value<'g> {
    /// Sums products over pairs of axes: axis `axes[i]` of `self` and axis `other_axes[i]` of `other`.
    ///
    /// The result has the other axes of `self`, then the other axes of `other`, in their order. Negative axes count
    /// from the end. The ranks must be known. See [`einsum`] for dtypes and execution. As TensorFlow's and numpy's
    /// `tensordot`.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["n", 3, 4])?;
    /// let y = g.input("y", DType::F32, [4, 5, 3])?;
    /// assert_eq!(x.tensordot(y, [1, 2], [2, 0])?.shape().to_string(), "[n, 5]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`einsum`]; also if a rank is unknown, the lists differ in length, or an axis is out of range or given twice.
    #[track_caller]
    pub fn tensordot(
        self,
        other: Value<'g>,
        axes: impl IntoParam<'g>,
        other_axes: impl IntoParam<'g>,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        self.graph().in_call_at("tensordot", location, || {
            let refuse = |error: Error| {
                let [x, y] = [self, other].map(|value| type_text(value.dtype(), &value.shape()));
                error.with_op("tensordot", format!("tensordot({x}, {y})")).at(location)
            };
            let known = |name, axes: Param<'g>| axes.known_ints(name).map_err(refuse);
            let (axes, other_axes) =
                (known("axes", axes.into_param())?, known("other_axes", other_axes.into_param())?);
            let equation = tensordot_equation(self, other, &axes, &other_axes)
                .map_err(|message| refuse(Error::new(ErrorKind::Shape, Phase::Build, message)))?;
            einsum(&equation, &[self, other])
        })
    }
}

/// Returns the equation of a `tensordot`, or what is wrong with it.
fn tensordot_equation(
    x: Value<'_>,
    y: Value<'_>,
    axes: &[i64],
    other_axes: &[i64],
) -> std::result::Result<String, String> {
    if axes.len() != other_axes.len() {
        return Err(format!(
            "both operands must have equally many axes to sum, got {} and {}",
            axes.len(),
            other_axes.len()
        ));
    }
    let mut unused = LABELS.chars();
    let mut terms = Vec::new();
    for value in [x, y] {
        let rank = value.shape().rank().ok_or("the ranks must be known, got an unknown rank")?;
        let labels: Option<Vec<char>> = (0..rank).map(|_| unused.next()).collect();
        terms.push(labels.ok_or_else(|| {
            format!("the operands must have at most {}, got more", counted(LABELS.len(), "axis"))
        })?);
    }
    let position = |axis: i64, rank: usize| {
        let counted = if axis < 0 { axis + rank as i64 } else { axis };
        let found = usize::try_from(counted).ok().filter(|axis| *axis < rank);
        found.ok_or_else(|| format!("an axis must be in [-{rank}, {rank}), got {axis}"))
    };
    let mut summed: Vec<char> = Vec::new();
    for (axis, other) in axes.iter().zip(other_axes) {
        let (first, second) = (position(*axis, terms[0].len())?, position(*other, terms[1].len())?);
        let label = terms[0][first];
        if summed.contains(&label) || summed.contains(&terms[1][second]) {
            return Err(format!("an axis must be given once, got {axes:?} and {other_axes:?}"));
        }
        terms[1][second] = label;
        summed.push(label);
    }
    let text = |labels: &[char]| labels.iter().collect::<String>();
    let output: String = terms.iter().flatten().filter(|label| !summed.contains(label)).collect();
    Ok(format!("{},{}->{output}", text(&terms[0]), text(&terms[1])))
}

/// The labels that `tensordot` gives to axes.
const LABELS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// Returns the equation with its output: the labels that occur once, in alphabetical order.
fn explicit(equation: &str) -> String {
    if equation.contains("->") {
        return equation.to_string();
    }
    let labels: Vec<char> = equation.chars().filter(|label| !matches!(label, '.' | ',' | ' ')).collect();
    let occurs_once = |label: &&char| labels.iter().filter(|other| other == label).count() == 1;
    let mut output: Vec<char> = labels.iter().filter(occurs_once).copied().collect();
    output.sort_unstable();
    let ellipsis = if equation.contains("...") { "..." } else { "" };
    format!("{equation}->{ellipsis}{}", output.into_iter().collect::<String>())
}

pub(crate) static DEF: OpDef = OpDef::composite("einsum", build)
    .attrs(&[Attribute::str("equation")])
    .operands(&[Operand::Variadic("inputs..")])
    .tensorflow(&[TfOp::new("Einsum")]);

fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let dtypes: Vec<_> = values.iter().map(|value| value.dtype()).collect();
    sum_of_products::dtypes(&dtypes, cx.attrs())?;
    let equation = cx.attrs().str("equation");
    let (terms, output) = einsum_terms(equation)
        .map_err(|error| Error::new(ErrorKind::Attribute, Phase::Build, error.to_string()))?;
    if !contracts_in_pairs(values, &terms, &output) {
        return Ok(vec![whole(equation, values)?]);
    }
    let kept: Vec<Vec<char>> = (0..terms.len())
        .map(|number| {
            let others = terms.iter().enumerate().filter(|(other, _)| *other != number).map(|(_, term)| term);
            others.chain([&output]).flat_map(labels_of).collect()
        })
        .collect();
    let sums_first =
        terms.iter().zip(&kept).any(|(term, kept)| labels_of(term).any(|label| !kept.contains(&label)));
    // A chain of several sums in f32 is rounded once, at its end.
    let is_wide = matches!(dtypes[0], DType::F16 | DType::BF16) && (values.len() > 2 || sums_first);
    let mut operands = Vec::new();
    for ((value, term), kept) in values.iter().zip(&terms).zip(&kept) {
        let value = if is_wide { value.cast(DType::F32)? } else { *value };
        operands.push(Labeled::new(value, term, kept)?);
    }
    let wanted: Vec<char> = labels_of(&output).collect();
    while operands.len() > 1 {
        let (first, second) = cheapest_pair(&operands, &wanted);
        let (b, a) = (operands.remove(second), operands.remove(first));
        let kept: Vec<char> =
            operands.iter().flat_map(|operand| &operand.labels).chain(&wanted).copied().collect();
        operands.push(a.contract(b, &kept, &wanted)?);
    }
    let result = operands.pop().expect("there is at least one operand").arrange(&output)?;
    Ok(vec![if is_wide { result.cast(dtypes[0])? } else { result }])
}

/// Computes the whole equation element by element; its shape function gives the errors.
fn whole<'g>(equation: &str, values: &[Value<'g>]) -> Result<Value<'g>> {
    values[0].graph().op(&sum_of_products::DEF).data_all(values).attr("equation", equation).finish()
}

/// Returns whether a chain of contractions of two operands can compute the equation: it has several operands, and each
/// rank fits its term. An unknown rank fits a term without an ellipsis.
fn contracts_in_pairs(values: &[Value<'_>], terms: &[EinsumTerm], output: &EinsumTerm) -> bool {
    let fits = |(value, term): (&Value<'_>, &EinsumTerm)| {
        let labels = term.before.len() + term.after.len();
        match value.shape().rank() {
            // An operand without an ellipsis gets its rank from its term.
            None => !term.ellipsis,
            Some(rank) => rank == labels || term.ellipsis && output.ellipsis && rank > labels,
        }
    };
    let is_known = |label: char| terms.iter().any(|term| labels_of(term).any(|other| other == label));
    values.len() > 1
        && values.len() == terms.len()
        && values.iter().zip(terms).all(fits)
        && labels_of(output).all(is_known)
}

/// Returns the pair whose result adds the least to the memory in use; among equals, the one with the fewest products.
fn cheapest_pair(operands: &[Labeled<'_>], wanted: &[char]) -> (usize, usize) {
    let pairs =
        (0..operands.len()).flat_map(|first| (first + 1..operands.len()).map(move |second| (first, second)));
    let cost = |&(first, second): &(usize, usize)| {
        let (a, b) = (&operands[first], &operands[second]);
        let others = operands.iter().enumerate().filter(|(number, _)| *number != first && *number != second);
        let kept: Vec<char> =
            others.flat_map(|(_, operand)| &operand.labels).chain(wanted).copied().collect();
        let (result, products) = a.estimate(b, &kept);
        (result - a.elements() - b.elements(), products)
    };
    let by_cost = |a: &(usize, usize), b: &(usize, usize)| {
        let (a, b) = (cost(a), cost(b));
        a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    pairs.min_by(by_cost).expect("there are at least two operands")
}
