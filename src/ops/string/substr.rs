//! `substr`: a part of each string.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::params::{Unit, check_strings, in_shape_fn, ints, is_trail, quoted, unit};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value, one_dtype};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::broadcast_pair::BroadcastPair;
use crate::tensor::{StringsBuilder, place_text};

impl<'g> Value<'g> {
    /// Takes `len` bytes of each string from position `pos` on, or UTF-8 characters if `unit` is `UTF8_CHAR` instead of
    /// `BYTE`. A part ends with its string at the latest.
    ///
    /// `string[..], pos [..], len [..] -> broadcast`; `pos` and `len` are i32 or i64 and have one shape; Rust numbers
    /// take the dtype of the other parameter. A negative position counts from the end. As TensorFlow's
    /// `Substr`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let x = g.constant(["hello", "world"])?;
    /// let [part] = g.compile(x.substr(-4, 2, "BYTE")?)?.run(&[])?;
    /// assert_eq!(part.to_string(), "string[2] [\"el\", \"or\"]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype is not supported, or the shapes do not broadcast. A position outside its string fails the run.
    #[track_caller]
    pub fn substr(
        self,
        pos: impl IntoOperand<'g>,
        len: impl IntoOperand<'g>,
        unit: &str,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let graph = self.graph();
        let sources = [pos.into_source(graph, location), len.into_source(graph, location)];
        let [pos, len] = one_dtype(graph, location, sources);
        graph.op(&DEF).data(self).data(pos).data(len).attr("unit", unit).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("substr", run)
    .attrs(&[Attribute::str_or("unit", "BYTE")])
    .operands(&[Operand::Data("input"), Operand::Data("pos"), Operand::Data("len")])
    .shape_fn(|cx| {
        in_shape_fn(unit(cx.attrs()))?;
        shapeflow_shape_fns::string::substr(cx)
    })
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("Substr")]);

fn dtypes(operands: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    check_strings(operands, 1)?;
    dtype::check_indices(operands, 1)?;
    dtype::common(operands, 1, 3, dtype::Class::Integer)?;
    Ok(vec![DType::String])
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, pos, len) = (cx.input(0)?, cx.input(1)?, cx.input(2)?);
    if pos.sizes() != len.sizes() {
        let message = format!("len must have the sizes of pos, {:?}, got {:?}", pos.sizes(), len.sizes());
        return Err(Error::new(ErrorKind::Shape, Phase::Run, message));
    }
    let (pair, sizes) = (BroadcastPair::new(x.sizes(), pos.sizes())?, pos.sizes().to_vec());
    let (pos, len, unit) = (ints(cx, 1)?, ints(cx, 2)?, unit(cx.attrs())?);
    let (x, x_sizes) = (x.as_strings()?, x.sizes());
    let mut made = StringsBuilder::with_capacity(pair.len(), 0)?;
    for (string_index, index) in pair.positions() {
        let (string, pos) = (x.at(string_index), pos[index]);
        let part = part(string, pos, len[index], unit).ok_or_else(|| {
            let place = place_text(string_index, x_sizes);
            let message = format!("a position must lie in the string {}{place}, got {pos}", quoted(string));
            Error::new(ErrorKind::Index, Phase::Run, message).in_element(1, &place_text(index, &sizes))
        })?;
        made.push(part)?;
    }
    cx.set_output(0, made.finish(&pair.sizes)?)
}

/// Returns `len` units of a string from `pos` on; `None` if `pos` lies outside. A negative length in bytes reaches to
/// the end. A negative number of characters counts as 0; together with a negative position it gives `None`.
fn part(string: &[u8], pos: i64, len: i64, unit: Unit) -> Option<&[u8]> {
    if unit == Unit::Utf8Char && pos < 0 && len < 0 {
        return None;
    }
    let distance = usize::try_from(pos.unsigned_abs()).ok()?;
    let start = match unit {
        Unit::Byte if pos < 0 => string.len().checked_sub(distance)?,
        Unit::Byte => distance,
        Unit::Utf8Char if pos < 0 => back(string, distance)?,
        Unit::Utf8Char => forward(string, 0, distance).filter(|(_, moved)| *moved == distance)?.0,
    };
    let rest = string.get(start..)?;
    let length = match (unit, usize::try_from(len)) {
        (Unit::Byte, Ok(len)) => len.min(rest.len()),
        (Unit::Byte, Err(_)) => rest.len(),
        (Unit::Utf8Char, Ok(len)) => forward(rest, 0, len)?.0,
        (Unit::Utf8Char, Err(_)) => 0,
    };
    rest.get(..length)
}

/// Moves `count` characters forward, or to the end. Returns the position and the number of characters.
fn forward(string: &[u8], from: usize, count: usize) -> Option<(usize, usize)> {
    let (mut at, mut moved) = (from, 0);
    while moved < count && at < string.len() {
        at += 1;
        while at < string.len() && is_trail(string[at]) {
            at += 1;
        }
        moved += 1;
    }
    Some((at, moved))
}

/// Returns the position `count` characters before the end; `None` if there are fewer.
fn back(string: &[u8], count: usize) -> Option<usize> {
    let mut at = string.len();
    for _ in 0..count {
        at = at.checked_sub(1)?;
        while at > 0 && is_trail(string[at]) {
            at -= 1;
        }
    }
    Some(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;

    #[test]
    fn a_rust_number_takes_the_dtype_of_the_other_parameter() -> Result<()> {
        let g = Graph::new();
        let x = g.constant(["hello", "world"])?;
        for two in [g.constant(2)?, g.constant(2i64)?] {
            for part in [x.substr(2, two, "BYTE")?, x.substr(two, 2, "BYTE")?, x.substr(2, 2, "BYTE")?] {
                let [part] = g.compile(part)?.run(&[])?;
                assert_eq!(part.to_string(), "string[2] [\"ll\", \"rl\"]");
            }
        }
        assert!(x.substr(0.5, 1, "BYTE").is_err());
        Ok(())
    }
}
