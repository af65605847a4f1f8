//! `bitcast`: the bits of elements as elements of another dtype.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::bitcast_complex::{self, check};
use crate::error::Result;
use crate::expr::{BinaryOp, Expr, Index, LowerCx, Scalar};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Reads the bits of the elements as elements of `dtype`.
    ///
    /// `[..] -> [..]` if both dtypes have the same size. A dtype `k` times smaller adds a last axis, `[..] -> [.., k]`;
    /// a dtype `k` times larger drops it, `[.., k] -> [..]`. The first element along that axis has the lowest bits.
    /// Integers, floats, complex numbers and quantized types. The real part of a complex number has the lower bits. As
    /// TensorFlow's `Bitcast`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let x = g.constant([1.0f32, -2.0])?;
    /// let [bits, bytes] = g.compile([x.bitcast(DType::U32)?, x.bitcast(DType::U8)?])?.run(&[])?;
    /// assert_eq!(bits, Tensor::from([0x3f80_0000u32, 0xc000_0000]));
    /// assert_eq!(bytes, Tensor::from([[0u8, 0, 0x80, 0x3f], [0, 0, 0, 0xc0]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype is neither a number nor quantized, or the last axis does not have size `k`.
    #[doc(alias = "view")]
    #[track_caller]
    pub fn bitcast(self, dtype: DType) -> Result<Value<'g>> {
        let is_complex = self.dtype().is_complex() || dtype.is_complex();
        let def = if is_complex { &bitcast_complex::DEF } else { &DEF };
        self.graph().op(def).data(self).attr("dtype", dtype).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("bitcast", lower)
    .never_widened()
    .attrs(&[Attribute::dtype("dtype")])
    .operands(&[Operand::Data("x")])
    .shape_fn(shapeflow_shape_fns::array::bitcast)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("Bitcast")]);

fn dtypes(operands: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    let from = operands.first().copied();
    from.map_or(Ok(()), check)?;
    let to = attrs.dtype("dtype");
    check(to).map(|()| vec![to])
}

/// Returns the unsigned integer of this many bytes.
fn word(bytes: usize) -> DType {
    match bytes {
        1 => DType::U8,
        2 => DType::U16,
        4 => DType::U32,
        _ => DType::U64,
    }
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let (from, to) = (cx.dtype(0), cx.output_dtype(0));
    let size = |dtype: DType| dtype.size_bytes().expect("the dtype rule accepts numbers only");
    let (from_bytes, to_bytes) = (size(from), size(to));
    let (narrow, wide) = (word(from_bytes.min(to_bytes)), word(from_bytes.max(to_bytes)));
    let narrow_bits = 8 * from_bytes.min(to_bytes) as u64;
    if from_bytes > to_bytes {
        let (part, rest) = index.split_last().expect("a smaller dtype adds an axis");
        let bits = cx.operand(0, rest).bitcast(wide);
        let shift = Expr::iota(part.clone() * narrow_bits as i64).cast(wide);
        return bits.binary(BinaryOp::Shr, shift).cast(narrow).bitcast(to);
    }
    if from_bytes == to_bytes {
        return cx.operand(0, index).bitcast(to);
    }
    let mut read = index.to_vec();
    read.push(Index::from(0));
    let mut whole: Option<Expr> = None;
    for part in 0..to_bytes / from_bytes {
        *read.last_mut().expect("an index was pushed") = Index::from(part as i64);
        let bits = cx.operand(0, &read).bitcast(narrow).cast(wide);
        let shift = Scalar::from_bits(wide, part as u64 * narrow_bits).expect("words have bits");
        let bits = if part == 0 { bits } else { bits.binary(BinaryOp::Shl, Expr::constant(shift)) };
        whole = Some(match whole {
            Some(lower) => lower | bits,
            None => bits,
        });
    }
    whole.expect("a larger dtype has several parts").bitcast(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {"dtype": DType::I32},
        "[n, 2]" => "i32[n, 2]",
        "f64[n]" => "i32[n, 2]",
        "f16[n, ?]" => "i32[n]",
        "u8[n, 3]" => error "must have a last axis of size 4",
        "qu8[n, 4]" => "i32[n]",
        "bool[n]" => error "the element type must be an integer or a float",
    }

    #[test]
    fn parts_go_from_low_bits_to_high() {
        let bits = |x: &crate::Tensor, dtype: DType| {
            run_one(&DEF, &Attrs::new().with("dtype", dtype), std::slice::from_ref(x))
        };
        let x = tensor(&[2], &[1.5f64, -0.0]);
        for dtype in
            [DType::U8, DType::QI8, DType::I16, DType::QU16, DType::F16, DType::QI32, DType::F32, DType::I64]
        {
            let parts = bits(&x, dtype);
            assert_eq!(parts.view().bytes(), x.view().bytes(), "{dtype}");
            assert_eq!(bits(&parts, DType::F64), x);
        }
    }
}
