//! `population_count`: the number of set bits.

use std::panic::Location;

use shapeflow_shape_fns::DType;

use crate::dtype;
use crate::error::Result;
use crate::expr::{BinaryOp, Expr, Index, LowerCx, Scalar};
use crate::graph::Value;
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// The number of bits of every element that are 1.
    ///
    /// `[..] -> u8[..]`, integers. As TensorFlow's `PopulationCount`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let y = g.constant([5, 255])?.population_count()?;
    /// let [y] = g.compile(y)?.run(&[])?;
    /// assert_eq!(y, Tensor::from([2u8, 8]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The element type is not an integer.
    #[doc(alias = "popcount")]
    #[doc(alias = "bitwise_count")]
    #[track_caller]
    pub fn population_count(self) -> Result<Value<'g>> {
        self.unary(&DEF, Location::caller())
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("population_count", lower)
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary)
    .dtype_rule(dtype::count::integer)
    .tensorflow(&[TfOp::new("PopulationCount")]);

/// Adds neighboring groups of bits, whose width doubles in every step.
fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let x = cx.operand(0, index);
    let (word, bits) = match x.dtype() {
        DType::I8 | DType::U8 => (DType::U8, 8),
        DType::I16 | DType::U16 => (DType::U16, 16),
        DType::I32 | DType::U32 => (DType::U32, 32),
        _ => (DType::U64, 64),
    };
    let constant =
        |bits: u64| Expr::constant(Scalar::from_bits(word, bits).expect("a u64 has the bits of every word"));
    let shifted = |x: &Expr, count: u64| x.clone().binary(BinaryOp::Shr, constant(count));
    let mut count = x.bitcast(word);
    let mut width = 1;
    while width < bits {
        // Ones in the low `width` bits of every group of `2 * width` bits.
        let mask = constant((u64::MAX / ((1 << width) + 1)) & (u64::MAX >> (64 - bits)));
        count = (&count & &mask) + (shifted(&count, width) & mask);
        width *= 2;
    }
    count.cast(DType::U8)
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::DEF;
    use crate::ops::testing::{check_tensor, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "i32[2, n]" => "u8[2, d0_1]",
        "[2]" => error "must be an integer, got f32",
    }

    #[test]
    fn values() {
        let count = |x: &crate::tensor::Tensor| run_one(&DEF, &Attrs::new(), std::slice::from_ref(x));
        let bytes: Vec<u8> = (0..=255).collect();
        let expected: Vec<u8> = bytes.iter().map(|x| x.count_ones() as u8).collect();
        check_tensor(&count(&tensor(&[256], &bytes)), &tensor(&[256], &expected), "u8");
        check_tensor(&count(&tensor(&[2], &[-1i16, 5])), &tensor(&[2], &[16u8, 2]), "i16");
        check_tensor(&count(&tensor(&[2], &[i32::MIN, 7])), &tensor(&[2], &[1u8, 3]), "i32");
        check_tensor(&count(&tensor(&[2], &[u64::MAX, 1 << 40])), &tensor(&[2], &[64u8, 1]), "u64");
    }
}
