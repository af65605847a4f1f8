//! Logic on bools and on the bits of integers, with two operands.

use crate::expr::BinaryOp;
use crate::ops::elementwise::binary_ops;
use crate::ops::elementwise_in_tensorflow as in_tensorflow;

// `binary` is the module of dtype rules. The empty text adds nothing to the docs about the result: it has the dtype of
// the operands.
binary_ops! { rules = binary, result = "":
    /// Bitwise and; logical and for bools. The operator `self & other` does the same.
    bitwise_and, BITWISE_AND: bits, ["BitwiseAnd"; in_tensorflow::bitwise_and],
        [0b1100, 7], [0b1010, 8] = [0b1000, 0], |a, b| a.binary(BinaryOp::And, b);

    /// Bitwise or; logical or for bools. The operator `self | other` does the same.
    bitwise_or, BITWISE_OR: bits, ["BitwiseOr"; in_tensorflow::bitwise_or],
        [0b1100, 7], [0b1010, 8] = [0b1110, 15], |a, b| a.binary(BinaryOp::Or, b);

    /// Bitwise xor; logical xor for bools. The operator `self ^ other` does the same.
    bitwise_xor, BITWISE_XOR: bits, ["BitwiseXor"; in_tensorflow::bitwise_xor],
        [0b1100, 7], [0b1010, 8] = [0b0110, 15], |a, b| a.binary(BinaryOp::Xor, b);

    /// Returns whether both elements are true.
    logical_and, LOGICAL_AND: boolean, ["LogicalAnd"],
        [true, true], [true, false] = [true, false], |a, b| a.binary(BinaryOp::And, b);

    /// Returns whether at least one element is true.
    logical_or, LOGICAL_OR: boolean, ["LogicalOr"],
        [true, false], [false, false] = [true, false], |a, b| a.binary(BinaryOp::Or, b);

    /// Returns whether exactly one element is true. As TensorFlow's `tf.math.logical_xor`.
    logical_xor, LOGICAL_XOR: boolean, [; in_tensorflow::logical_xor],
        [true, true], [true, false] = [false, true], |a, b| a.binary(BinaryOp::Xor, b);
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::op::OpDef;
    use crate::ops::testing::{check_tensor, run_one, tensor};

    #[test]
    fn values() {
        let ops: [(&OpDef, [u8; 2], [bool; 4]); 3] = [
            (&BITWISE_AND, [0b1000, 0], [false, false, false, true]),
            (&BITWISE_OR, [0b1110, 255], [false, true, true, true]),
            (&BITWISE_XOR, [0b0110, 255], [false, true, true, false]),
        ];
        let ints = [tensor(&[2], &[0b1100u8, 255]), tensor(&[2], &[0b1010u8, 0])];
        let bools = [tensor(&[4], &[false, false, true, true]), tensor(&[4], &[false, true, false, true])];
        for (def, of_ints, of_bools) in ops {
            check_tensor(&run_one(def, &Attrs::new(), &ints), &tensor(&[2], &of_ints), def.name());
            check_tensor(&run_one(def, &Attrs::new(), &bools), &tensor(&[4], &of_bools), def.name());
        }
        let expected = tensor(&[4], &[false, true, true, false]);
        check_tensor(&run_one(&LOGICAL_XOR, &Attrs::new(), &bools), &expected, "logical_xor");
    }
}
