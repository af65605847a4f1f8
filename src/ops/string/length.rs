//! `string_length`: the number of bytes or characters of each string.

use shapeflow_shape_fns::{Attribute, DType};

use super::params::{Unit, check_strings, in_shape_fn, is_trail, strings, unit, value_error};
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Counts the bytes of each string, or its UTF-8 characters if `unit` is `UTF8_CHAR` instead of `BYTE`.
    ///
    /// `string[..] -> i32[..]`. A character starts at every byte that does not continue one, also in strings that are
    /// not UTF-8. As TensorFlow's `StringLength`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let x = g.constant(["é", "abc"])?;
    /// let [bytes, chars] = g.compile(&[x.string_length("BYTE")?, x.string_length("UTF8_CHAR")?][..])?.run(&[])?;
    /// assert_eq!((bytes.to_vec::<i32>()?, chars.to_vec::<i32>()?), (vec![2, 3], vec![1, 3]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, or `unit` is neither `BYTE` nor `UTF8_CHAR`.
    #[doc(alias = "str_len")]
    #[track_caller]
    pub fn string_length(self, unit: &str) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).attr("unit", unit).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("string_length", run)
    .attrs(&[Attribute::str_or("unit", "BYTE")])
    .operands(&[Operand::Data("input")])
    .shape_fn(|cx| {
        in_shape_fn(unit(cx.attrs()))?;
        shapeflow_shape_fns::common::unary(cx)
    })
    .dtype_rule(|operands, _| check_strings(operands, 1).map(|()| vec![DType::I32]))
    .tensorflow(&[TfOp::new("StringLength")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (x, unit) = (strings(cx, 0)?, unit(cx.attrs())?);
    let view = cx.input(0)?;
    let mut lengths = cx.unfilled_output(0, view.sizes())?;
    for (length, string) in lengths.as_mut_slice::<i32>()?.iter_mut().zip(x.iter()) {
        let count = match unit {
            Unit::Byte => string.len(),
            Unit::Utf8Char => string.iter().filter(|byte| !is_trail(**byte)).count(),
        };
        let message = || value_error(format!("the length of a string must fit i32, got {count}"));
        *length = i32::try_from(count).map_err(|_| message())?;
    }
    Ok(())
}
