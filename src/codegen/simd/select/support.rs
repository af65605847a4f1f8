//! `check_support`: refuses the kernels that this emitter leaves to Cranelift.

use crate::codegen::simd::ir::Refusal;
use crate::lower::kernel_body::{Inst, InstOp, KernelBody};

/// Checks that this emitter supports a kernel.
///
/// # Errors
/// Two gathers of a slot are in one body or have different strides.
pub(crate) fn check_support(code: &KernelBody) -> Result<(), Refusal> {
    let mut gathers: Vec<Option<&Inst>> = vec![None; code.slots.len()];
    for body in code.passes.iter().map(|pass| &pass.body).chain([&code.epilogue]) {
        let mut seen = Vec::new();
        for inst in body {
            let InstOp::Gather { slot, .. } = &inst.op else { continue };
            let known = gathers[*slot as usize].get_or_insert(inst);
            if !have_equal_strides(known, inst) || seen.contains(slot) {
                return Err("a slot that two gathers share");
            }
            seen.push(*slot);
        }
    }
    Ok(())
}

/// Returns whether two gathers of a slot have the same strides, so that they can share the slot's words in the frame.
fn have_equal_strides(a: &Inst, b: &Inst) -> bool {
    match (&a.op, &b.op) {
        (InstOp::Gather { offsets: a, .. }, InstOp::Gather { offsets: b, .. }) => {
            a.iter().map(|(_, stride)| stride).eq(b.iter().map(|(_, stride)| stride))
        }
        _ => unreachable!("only gathers are compared"),
    }
}
