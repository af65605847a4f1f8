//! `AddressSlice`: the part of a body that computes the addresses of gathered rows.

use super::loop_body::LoopBody;
use crate::lower::kernel_body::{InstOp, KernelBody};

/// The instructions of a body that compute the addresses of gathered rows (see [`LoopBody::gathered_rows`]). Run for a
/// later position, they give the rows to prefetch.
pub(crate) struct AddressSlice {
    /// The gather slots whose rows are read: [`LoopBody::gathered_rows`].
    pub rows: Vec<u32>,
    /// For each instruction: whether the address of such a row depends on it.
    pub wanted: Vec<bool>,
    /// The slots that the wanted instructions access. If there are none, the rows are the same at every position.
    pub slots: Vec<u32>,
}

impl AddressSlice {
    pub fn new(code: &KernelBody, body: &LoopBody<'_>) -> AddressSlice {
        let rows = body.gathered_rows(code);
        let mut wanted = vec![false; body.insts.len()];
        let mut slots = Vec::new();
        for (i, inst) in body.insts.iter().enumerate().rev() {
            let row = matches!(&inst.op, InstOp::Gather { slot, .. } if rows.contains(slot));
            if row || wanted[i] {
                inst.op.for_each_operand(|v| wanted[v.0 as usize] = true);
            }
            if wanted[i] {
                slots.extend(inst.op.slot());
            }
        }
        AddressSlice { rows, wanted, slots }
    }

    /// Returns the slices of all passes of a kernel.
    pub fn of_passes(code: &KernelBody) -> impl Iterator<Item = AddressSlice> {
        let level = code.loops as usize;
        code.passes
            .iter()
            .map(move |pass| AddressSlice::new(code, &LoopBody::new(code, &pass.body, &pass.reduces, level)))
    }
}
