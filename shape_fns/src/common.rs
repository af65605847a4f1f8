//! Shape functions that many ops share, and steps that many shape functions share.

use crate::{InferenceContext, Result};

/// One output of the first operand's shape: every elementwise op of one operand, and all that only move data.
///
/// # Errors
/// None.
pub fn unary(cx: &mut InferenceContext<'_>) -> Result<()> {
    let shape = cx.input(0).clone();
    cx.set_output(0, shape);
    Ok(())
}

/// One output of the shape that all operands broadcast to.
///
/// # Errors
/// Two dimensions are provably different and neither is 1.
pub fn broadcast(cx: &mut InferenceContext<'_>) -> Result<()> {
    let mut shape = cx.input(0).clone();
    for index in 1..cx.len() {
        let other = cx.input(index).clone();
        shape = cx.broadcast(&shape, &other).map_err(|error| error.operand(index))?;
    }
    cx.set_output(0, shape);
    Ok(())
}
