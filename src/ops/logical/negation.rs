//! Logic on bools and on the bits of integers, with one operand.

use crate::ops::elementwise::unary_ops;
use crate::ops::elementwise_in_tensorflow as in_tensorflow;

unary_ops! { rules = unary, result = "":
    /// The complement of every bit; logical not for bools. The operator `!x` does the same.
    #[doc(alias = "invert")]
    bitwise_not, BITWISE_NOT: bits, ["Invert"; in_tensorflow::bitwise_not], [0, 5] = [-1, -6], |x| !x;

    /// Logical not of every element.
    logical_not, LOGICAL_NOT: boolean, ["LogicalNot"], [true, false] = [false, true], |x| !x;
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{check_tensor, run_one, tensor};

    #[test]
    fn values() {
        let x = tensor(&[3], &[0i32, -1, 5]);
        let expected = tensor(&[3], &[-1i32, 0, -6]);
        check_tensor(&run_one(&BITWISE_NOT, &Attrs::new(), &[x]), &expected, "bitwise_not");
        let x = tensor(&[2], &[true, false]);
        let expected = tensor(&[2], &[false, true]);
        check_tensor(&run_one(&BITWISE_NOT, &Attrs::new(), &[x]), &expected, "bitwise_not");
    }
}
