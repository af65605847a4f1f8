//! `cast`: converts elements to another dtype.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Converts every element to `dtype`. Returns `self` if it has that dtype.
    ///
    /// `[..] -> [..]`, between all dtypes but string. Float to integer truncates toward zero and saturates, and NaN
    /// becomes 0 (in TensorFlow both depend on the processor); integer to integer wraps; a bool is `x != 0`; a
    /// conversion to a float rounds to nearest even, and f64 rounds to f32 before it rounds to f16 or bf16. A complex
    /// number loses its imaginary part. A quantized type
    /// converts as its integer. As TensorFlow's `Cast`; an imported graph may set `Truncate`, which rounds floats
    /// toward zero. Fuses into kernels.
    ///
    /// As in TensorFlow, f8e5m2 and f8e4m3fn are made only from floats, and i4 and u4 convert only from and to integers
    /// and quantized types. A number beyond the range of f8e5m2 becomes infinite, and a number beyond the range of
    /// f8e4m3fn becomes NaN. i4 and u4 keep the low 4 bits.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([1.7, -2.5, 300.0])?.cast(DType::U8)?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([1u8, 0, 255]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// One of the two dtypes is string, or the two have no conversion.
    #[doc(alias = "astype")]
    #[doc(alias = "to")]
    #[doc(alias = "convert_element_type")]
    #[doc(alias = "float")]
    #[doc(alias = "long")]
    #[track_caller]
    pub fn cast(self, dtype: DType) -> Result<Value<'g>> {
        if self.dtype() == dtype {
            return self.ok();
        }
        self.graph().op(&DEF).data(self).attr("dtype", dtype).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("cast", lower)
    .attrs(&[Attribute::dtype("dtype"), Attribute::bool_or("Truncate", false)])
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::math::cast)
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("Cast")]);

fn dtypes(dtypes: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    // TensorFlow copies strings that are cast to strings.
    if dtypes == [DType::String] && attrs.dtype("dtype") == DType::String {
        return Ok(vec![DType::String]);
    }
    let from = dtype::common(dtypes, 0, 1, dtype::Class::Fixed)?;
    let target = attrs.dtype("dtype");
    if !dtype::Class::Fixed.contains(target) {
        let message = format!("the element type of a cast must be any but string and variant, got {target}");
        return match target {
            DType::String => {
                dtype::refuse_with_help(message, "write operand 0 as text with .as_string()".to_string())
            }
            _ => dtype::refuse(message),
        };
    }
    let is_whole = |dtype: DType| dtype.is_integer() || dtype.is_quantized() || dtype.is_int4();
    if target.is_float8() && !from.is_float() && !from.is_float8() {
        return dtype::refuse(format!("a cast to {target} must be from a float, got {from}"));
    }
    if (target.is_int4() && !is_whole(from)) || (from.is_int4() && !is_whole(target)) {
        return dtype::refuse(format!(
            "a cast from or to i4 or u4 must be between integers and quantized types, got {from} to {target}"
        ));
    }
    Ok(vec![target])
}

fn lower(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let dtype = cx.output_dtype(output);
    let truncates = cx.attrs().bool("Truncate");
    let x = cx.operand(0, index);
    if dtype == DType::String {
        return x;
    }
    let x = if truncates { shortened(x, dtype) } else { x };
    x.cast(dtype)
}

/// Clears the fraction bits that `dtype` lacks, in a float or in both parts of a complex number, so that the conversion
/// rounds toward zero. As in TensorFlow, a conversion from f64 or from a complex number to bf16 is not truncated. A
/// conversion of a real number to a complex number is not truncated either: TensorFlow clears a bit of the exponent.
fn shortened(x: Expr, dtype: DType) -> Expr {
    if x.dtype().is_complex() {
        if dtype == DType::BF16 {
            return x;
        }
        let part = dtype.part().unwrap_or(dtype);
        return Expr::complex(shortened(x.real(), part), shortened(x.imag(), part));
    }
    let bits = match (x.dtype(), dtype) {
        (DType::F64, DType::F32) => f64::MANTISSA_DIGITS - f32::MANTISSA_DIGITS,
        (DType::F64, DType::F16) => f64::MANTISSA_DIGITS - half::f16::MANTISSA_DIGITS,
        (DType::F32, DType::F16) => f32::MANTISSA_DIGITS - half::f16::MANTISSA_DIGITS,
        (DType::F32, DType::BF16) => f32::MANTISSA_DIGITS - half::bf16::MANTISSA_DIGITS,
        (DType::F64, DType::F8E5M2) => f64::MANTISSA_DIGITS - 3,
        (DType::F64, DType::F8E4M3FN) => f64::MANTISSA_DIGITS - 4,
        (DType::F32, DType::F8E5M2) => f32::MANTISSA_DIGITS - 3,
        (DType::F32, DType::F8E4M3FN) => f32::MANTISSA_DIGITS - 4,
        (DType::F16, DType::F8E5M2) => half::f16::MANTISSA_DIGITS - 3,
        (DType::F16, DType::F8E4M3FN) => half::f16::MANTISSA_DIGITS - 4,
        (DType::BF16, DType::F8E5M2) => half::bf16::MANTISSA_DIGITS - 3,
        (DType::F8E4M3FN, DType::F8E5M2) => 4 - 3,
        (DType::BF16, DType::F8E4M3FN) => half::bf16::MANTISSA_DIGITS - 4,
        _ => return x,
    };
    let mask = match x.dtype() {
        DType::F64 => Expr::constant(u64::MAX << bits),
        DType::F16 | DType::BF16 => Expr::constant(u16::MAX << bits),
        DType::F8E4M3FN => Expr::constant(u8::MAX << bits),
        _ => Expr::constant(u32::MAX << bits),
    };
    let cut = (x.clone().bitcast(mask.dtype()) & mask).bitcast(x.dtype());
    // NaN would become infinite, or a number of f8e4m3fn, if its fraction bits were cleared.
    let number = if x.dtype().is_float8() { x.clone().cast(DType::F32) } else { x.clone() };
    let is_nan = number.clone().not_equal(number);
    is_nan.select(x, cut)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{Attrs, DType};

    use super::DEF;
    use crate::Graph;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {"dtype": DType::I32},
        "[2, n]" => "i32[2, d0_1]",
        "bool?" => "i32?",
        "c64[n]" => "i32[n]",
        "qi8[n]" => "i32[n]",
        "f8e5m2[n]" => "i32[n]",
        "i4[n]" => "i32[n]",
        "string[2]" => error "must be any but string and variant, got string",
    }
    shape_table! { to_string: DEF, {"dtype": DType::String},
        "string[2, n]" => "string[2, d0_1]",
        "[2, n]" => error "must be any but string and variant, got string",
    }
    shape_table! { to_float8: DEF, {"dtype": DType::F8E5M2},
        "f16[n]" => "f8e5m2[n]",
        "i32[n]" => error "a cast to f8e5m2 must be from a float, got i32",
    }
    shape_table! { to_int4: DEF, {"dtype": DType::U4},
        "i4[n]" => "u4[n]",
        "qu8[n]" => "u4[n]",
        "[n]" => error "between integers and quantized types, got f32 to u4",
    }

    #[test]
    fn a_cast_to_the_same_dtype_returns_the_value() {
        let graph = Graph::new();
        let x = graph.input("x", DType::F32, [2]).unwrap();
        assert_eq!(x.cast(DType::F32).unwrap().id(), x.id());
    }

    #[test]
    fn nan_stays_nan_where_all_its_fraction_bits_would_be_cleared() {
        let attrs = Attrs::new().with("Truncate", true);
        let x = tensor(&[1], &[f32::from_bits(0x7f80_0001)]);
        let y = run_one(&DEF, &attrs.clone().with("dtype", DType::BF16), &[x]);
        assert!(half::bf16::from_bits(y.to_bits::<u16>().unwrap()[0]).is_nan());
        let x = tensor(&[1], &[f64::from_bits(0x7ff0_0000_0000_0001)]);
        let y = run_one(&DEF, &attrs.with("dtype", DType::F32), &[x]);
        assert!(y.to_vec::<f32>().unwrap()[0].is_nan());
    }
}
