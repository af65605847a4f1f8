//! `unicode_script`: the script of code points.

use shapeflow_shape_fns::DType;
use unicode_script::UnicodeScript;

use super::script_codes::{UNKNOWN, code_of};
use crate::dtype;
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;

impl<'g> Value<'g> {
    /// Returns the script of each code point as the number that ICU gives it: 0 common, 8 Cyrillic, 14 Greek, 17 Han,
    /// 25 Latin, 103 unknown, and so on; -1 for an integer that is not a code point.
    ///
    /// `i32[..] -> i32[..]`. As TensorFlow's `UnicodeScript`, except for characters that are newer than TensorFlow's
    /// Unicode tables: TensorFlow does not know them. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant(['a' as i32, 'Ω' as i32])?.unicode_script()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([25, 14]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not i32.
    #[track_caller]
    pub fn unicode_script(self) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("unicode_script", run)
    .operands(&[Operand::Data("input")])
    .shape_fn(shapeflow_shape_fns::common::unary)
    .dtype_rule(|operands, _| match operands.first() {
        Some(DType::I32) => Ok(vec![DType::I32]),
        other => dtype::refuse(format!(
            "code points must be i32, got {}",
            other.map_or("none".to_string(), DType::to_string)
        )),
    })
    .tensorflow(&[TfOp::new("UnicodeScript")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let mut scripts = cx.unfilled_output(0, x.sizes())?;
    for (script, code) in scripts.as_mut_slice::<i32>()?.iter_mut().zip(x.as_slice::<i32>()?) {
        *script = match u32::try_from(*code) {
            Ok(code @ ..=0x10_ffff) => {
                char::from_u32(code).map_or(UNKNOWN, |character| code_of(character.script().short_name()))
            }
            _ => -1,
        };
    }
    Ok(())
}
