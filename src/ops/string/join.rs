//! `string_join` and `string_add`: strings joined element by element.

use std::panic::Location;

use shapeflow_shape_fns::DType;
use shapeflow_shape_fns::{Attribute, Attrs};

use super::params::{check_strings, string_to_string, strings};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::broadcast_pair::BroadcastPair;
use crate::tensor::StringsBuilder;

/// Joins the strings of all values element by element, with `separator` between them.
///
/// `string[..]… -> string[..]`; scalars are repeated, and all other values have one shape. As TensorFlow's
/// `StringJoin`. Runs on the host.
///
/// ```
/// use shapeflow::{Graph, string_join};
///
/// let g = Graph::new();
/// let names = g.constant(["ada", "alan"])?;
/// let [mails] = g.compile(string_join(&[names, g.constant("example.org")?], "@")?)?.run(&[])?;
/// assert_eq!(mails.to_string(), "string[2] [\"ada@example.org\", \"alan@example.org\"]");
/// # Ok::<(), shapeflow::Error>(())
/// ```
///
/// # Errors
/// There are no values, the elements are not strings, or the shapes differ.
#[track_caller]
pub fn string_join<'g>(values: &[Value<'g>], separator: &str) -> Result<Value<'g>> {
    let location = Location::caller();
    let first = values.first().ok_or_else(|| {
        let error =
            Error::new(ErrorKind::Attribute, Phase::Build, "there must be at least one value, got none");
        error.with_op("string_join", "string_join").at(location)
    })?;
    first.graph().op(&DEF).data_all(values).attr("separator", separator).finish_at(location)
}

impl<'g> Value<'g> {
    /// Appends the strings of `other` to the strings of `self`.
    ///
    /// `string[..], string[..] -> broadcast`. As TensorFlow's `Add` of strings. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant(["a", "b"])?.string_add(g.constant(["x", "y"])?)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from(["ax", "by"]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, or the shapes do not broadcast.
    #[doc(alias = "concat")]
    #[track_caller]
    pub fn string_add(self, other: impl IntoOperand<'g>) -> Result<Value<'g>> {
        let other = other.into_operand(self, Location::caller());
        self.graph().op(&ADD).data(self).data(other).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("string_join", run)
    .attrs(&[Attribute::bytes_or("separator", "")])
    .operands(&[Operand::Variadic("inputs..")])
    .shape_fn(shapeflow_shape_fns::common::same_shape_but_scalars)
    .dtype_rule(string_to_string)
    .tensorflow(&[TfOp::new("StringJoin")]);

pub(crate) static ADD: OpDef = OpDef::host("string_add", run_add)
    .operands(&[Operand::Data("x"), Operand::Data("y")])
    .shape_fn(shapeflow_shape_fns::common::broadcast)
    .dtype_rule(add_dtypes)
    .tensorflow(&[TfOp::new("Add").own_shape_fn()]);

/// Every op of the file.
pub(crate) static ALL: &[&OpDef] = &[&ADD, &DEF];

fn add_dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    check_strings(operands, 2)?;
    Ok(vec![DType::String])
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let separator = cx.attrs().bytes("separator");
    let parts = (0..cx.inputs()).map(|i| strings(cx, i)).collect::<Result<Vec<_>>>()?;
    let views = (0..cx.inputs()).map(|i| cx.input(i)).collect::<Result<Vec<_>>>()?;
    let mut sizes: &[usize] = &[];
    for (i, view) in views.iter().enumerate() {
        let given = view.sizes();
        if sizes.is_empty() {
            sizes = given;
        } else if !given.is_empty() && given != sizes {
            let message = format!("operand {i} must have sizes {sizes:?} or be a scalar, got {given:?}");
            return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
        }
    }
    let count: usize = sizes.iter().product();
    let mut made = StringsBuilder::with_capacity(count, parts.iter().map(|part| part.byte_len()).sum())?;
    for element in 0..count {
        for (i, (part, view)) in parts.iter().zip(&views).enumerate() {
            if i > 0 {
                made.append(separator)?;
            }
            made.append(part.at(if view.sizes().is_empty() { 0 } else { element }))?;
        }
        made.end()?;
    }
    cx.set_output(0, made.finish(sizes)?)
}

fn run_add(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, y) = (cx.input(0)?, cx.input(1)?);
    let pair = BroadcastPair::new(x.sizes(), y.sizes())?;
    let (x, y) = (x.as_strings()?, y.as_strings()?);
    let mut made = StringsBuilder::with_capacity(pair.len(), 0)?;
    for (left, right) in pair.positions() {
        made.append(x.at(left))?;
        made.append(y.at(right))?;
        made.end()?;
    }
    cx.set_output(0, made.finish(&pair.sizes)?)
}
