//! Ops without outputs (checks, prints, triggers), and ops that output one scalar.

use crate::{InferenceContext, Result, TensorShape};

/// Sets no output.
///
/// # Errors
/// Never fails.
pub fn nothing(_: &mut InferenceContext<'_>) -> Result<()> {
    Ok(())
}

/// `condition[], data..`: sets no output.
///
/// # Errors
/// `condition` is not a scalar.
pub fn assert(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(0)
}

/// `input[]`, the text to print: sets no output.
///
/// # Errors
/// `input` is not a scalar.
pub fn print_v2(cx: &mut InferenceContext<'_>) -> Result<()> {
    cx.scalar(0)
}

/// Outputs a scalar.
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

    shape_table! { assertions: assert, ["condition", "data.."];
        {} "bool [1]; [n]" => "error condition must have rank 0";
    }
    shape_table! { printed_texts: print_v2, ["input"];
        {} "string [3]" => "error input must have rank 0";
    }
    shape_table! { scalars: scalar_output, [];
        {} "" => "[]";
    }

    #[test]
    fn nothing_sets_no_outputs() {
        let (attrs, mut table) = (crate::Attrs::new(), crate::DimTable::new());
        let mut cx = crate::InferenceContext::new(&[], &[], &attrs, &mut table, 0);
        assert_eq!(nothing(&mut cx), Ok(()));
        assert!(cx.finish().unwrap().shapes().is_empty());
    }
}
