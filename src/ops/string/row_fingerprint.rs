//! `fingerprint`: a hash of each row of a tensor.

use shapeflow_shape_fns::DType;

use super::params::{quoted, scalar, value_error};
use crate::dtype;
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::fingerprint::fingerprint64;
use crate::ops::row_major::RowMajor;

impl<'g> Value<'g> {
    /// Returns a hash of 64 bits of each row, as 8 bytes, the lowest first.
    ///
    /// `[n, d..] -> u8[n, 8]`, any dtype but variant. The op hashes the bytes of the row with FarmHash's Fingerprint64.
    /// If a row has several strings, the op hashes each string, and then hashes these hashes. As TensorFlow's
    /// `Fingerprint`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let [bytes] = g.compile(g.constant([[1, 2], [3, 4]])?.fingerprint()?)?.run(&[])?;
    /// assert_eq!(bytes.sizes(), [2, 8]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The operand is a scalar.
    #[track_caller]
    pub fn fingerprint(self) -> Result<Value<'g>> {
        let method = self.graph().constant("farmhash64")?;
        self.graph().op(&DEF).data(self).data(method).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::host("fingerprint", run)
    .operands(&[Operand::Data("data"), Operand::Data("method")])
    .shape_fn(shapeflow_shape_fns::string::fingerprint)
    .dtype_rule(|operands, _| {
        dtype::common(operands, 0, 1, dtype::Class::Stored)?;
        match operands.get(1) {
            Some(DType::String) => Ok(vec![DType::U8]),
            _ => dtype::refuse(format!("the method must be a string, got {}", dtype::names(&operands[1..]))),
        }
    })
    .tensorflow(&[TfOp::new("Fingerprint")]);

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let method = scalar(cx, 1)?;
    if method != b"farmhash64" {
        return Err(value_error(format!("the method must be \"farmhash64\", got {}", quoted(method))));
    }
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let rows = x.sizes().first().copied().unwrap_or(0);
    let width = x.len() / rows.max(1);
    let mut hashes = Vec::with_capacity(rows);
    for row in 0..rows {
        hashes.push(match x.dtype() {
            DType::String if width == 1 => fingerprint64(x.as_strings()?.at(row)),
            DType::String => {
                let strings = x.as_strings()?.slice(row * width..(row + 1) * width);
                let hashes: Vec<u8> =
                    strings.iter().flat_map(|string| fingerprint64(string).to_le_bytes()).collect();
                fingerprint64(&hashes)
            }
            dtype => {
                let bytes = x.bytes().len() / rows;
                let bytes = &x.bytes()[row * bytes..(row + 1) * bytes];
                // TensorFlow clears the upper bits of i4, which hold the sign here.
                match dtype {
                    DType::I4 => fingerprint64(&bytes.iter().map(|byte| byte & 0x0f).collect::<Vec<u8>>()),
                    _ => fingerprint64(bytes),
                }
            }
        });
    }
    let mut output = cx.unfilled_output(0, &[rows, 8])?;
    for (to, hash) in output.bytes_mut().chunks_exact_mut(8).zip(hashes) {
        to.copy_from_slice(&hash.to_le_bytes());
    }
    Ok(())
}
