//! Ops without outputs: checks, prints, triggers.

use crate::{InferenceContext, Result, TensorShape};

/// No output.
///
/// # Errors
/// Never fails.
pub fn nothing(_: &mut InferenceContext<'_>) -> Result<()> {
    Ok(())
}

/// `condition[]` and what is shown where it is false; no output.
///
/// # Errors
/// The condition is not a scalar.
pub fn assert(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(0)
}

/// `input[]`, the text that is printed; no output.
///
/// # Errors
/// The text is not a scalar.
pub fn print_v2(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(0)
}

/// One scalar, whatever the operands.
///
/// # Errors
/// Never fails.
pub fn scalar_output(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.set_output(0, TensorShape::scalar());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{assert, nothing, print_v2, scalar_output};
    use crate::testing::shape_table;

    shape_table! { checks: assert, ["condition", "data.."];
        {} "bool [1]; [n]" => "error condition must have rank 0";
    }
    shape_table! { texts: print_v2, ["input"];
        {} "string [3]" => "error input must have rank 0";
    }
    shape_table! { scalars: scalar_output, [];
        {} "" => "[]";
    }

    #[test]
    fn no_outputs() {
        let (attrs, mut table) = (crate::Attrs::new(), crate::DimTable::new());
        let mut cx = crate::InferenceContext::new(&[], &[], &attrs, &mut table, 0);
        assert_eq!(nothing(&mut cx), Ok(()));
        assert!(cx.finish().unwrap().shapes().is_empty());
    }
}
