//! Loads of every 2nd, 3rd or 4th element of memory: whole vectors are loaded, blended and permuted.

use smallvec::{SmallVec, smallvec};

use super::selector::Selector;
use crate::codegen::simd::asm::{VectorIsa, opcode};
use crate::codegen::simd::ir::{MemRef, ValueOrigin, VectorId, VectorInstKind};

/// One load of a whole vector. Some of its lanes are wanted elements.
#[derive(Clone, Copy)]
pub(crate) struct StridedPick {
    /// The element of memory at which the load starts, counted from the first wanted element.
    begin: u32,
    /// The set of lanes with wanted elements: bit `i` is set if lane `i` is in the set.
    lanes: u32,
    /// Which wanted element the lowest lane of `lanes` holds. The next lanes hold the next wanted elements.
    first_element: u32,
}

/// Returns loads of vectors of `count` lanes that together hold `count` wanted elements. Wanted element `i` is element
/// `i * step` of memory, where `step` is 2 to 4.
///
/// No two wanted elements are in the same lane, so the loads can be blended. The number of loads is the least possible.
/// No load begins before the first wanted element or ends after the last.
pub(crate) fn picks(count: u32, step: u32) -> SmallVec<[StridedPick; 4]> {
    // For each load, its first wanted lane, and the number of wanted lanes: every `step`-th lane from there. If `step`
    // does not divide `count`, these runs were found by hand; the test checks them.
    let runs: SmallVec<[(u32, u32); 4]> = match (count, step) {
        (4, 3) => (0..4).map(|lane| (lane, 1)).collect(),
        (8, 3) => smallvec![(0, 3), (2, 2), (1, 3)],
        (16, 3) => smallvec![(0, 5), (1, 5), (2, 5), (15, 1)],
        _ => (0..step).map(|lane| (lane, count / step)).collect(),
    };
    let mut next = 0;
    let pick = |(lane, wanted_count): (u32, u32)| {
        let first_element = next;
        next += wanted_count;
        let lanes = (0..wanted_count).fold(0, |lanes, k| lanes | 1 << (lane + k * step));
        StridedPick { begin: first_element * step - lane, lanes, first_element }
    };
    runs.into_iter().map(pick).collect()
}

impl Selector<'_> {
    /// Selects a vector of elements of `size` bytes (4 or 8), `step` (2 to 4) elements of memory apart. The first is
    /// `offset` bytes past the slot's current element.
    pub fn strided_vector(&mut self, step: u32, size: u32, slot: u32, offset: i32) -> VectorId {
        let count = self.vector_len().bytes() / size;
        let mut order = vec![0; count as usize];
        let mut blended = None;
        for pick in picks(count, step) {
            let lanes = (0..count).filter(|lane| pick.lanes >> lane & 1 == 1);
            for (number, lane) in (pick.first_element as usize..).zip(lanes) {
                order[number] = lane;
            }
            let loaded =
                self.load_from(opcode::MOV_LOAD, MemRef::Slot(slot, offset + (pick.begin * size) as i32));
            blended = Some(match blended {
                None => loaded,
                Some(others) => self.blend(others, loaded, pick.lanes, size),
            });
        }
        let blended = blended.expect("there is at least one load");
        if order.is_sorted() {
            return blended;
        }
        let parts = size / 4;
        let order = order.iter().flat_map(|lane| (0..parts).map(move |part| lane * parts + part));
        let order = self.pool.lanes(order);
        let order = self.block.value_from(ValueOrigin::Pool(order));
        self.op2(opcode::PERMUTE_PS, order, blended)
    }

    /// Selects the lanes of `b` that are in the set `lanes`, and all other lanes of `a`. Lanes have `size` bytes.
    pub fn blend(&mut self, a: VectorId, b: VectorId, lanes: u32, size: u32) -> VectorId {
        let parts = size / 4;
        let words = self.vector_len().bytes() / 4;
        let is_set = |word: u32| lanes >> (word / parts) & 1 == 1;
        if self.isa == VectorIsa::Avx2 {
            let set = (0..words).fold(0, |set, word| set | u8::from(is_set(word)) << word);
            return self.op_imm(opcode::BLEND_PS, &[a, b], Some(set));
        }
        let mask = self.pool.lanes((0..words).map(|word| if is_set(word) { u32::MAX } else { 0 }));
        let mask = self.block.value_from(ValueOrigin::Pool(mask));
        self.block.push(VectorInstKind::Select, &[mask, b, a])
    }
}

#[cfg(test)]
mod tests {
    use super::picks;

    #[test]
    fn picks_hold_every_element_once_and_nothing_beyond() {
        for count in [4, 8, 16] {
            for step in [2, 3, 4] {
                let mut found = vec![];
                for pick in picks(count, step) {
                    assert!(pick.begin + count <= (count - 1) * step + 1, "{count} {step}");
                    let lanes = (0..count).filter(|lane| pick.lanes >> lane & 1 == 1);
                    found.extend(lanes.map(|lane| (lane, pick.begin + lane)));
                }
                let mut elements: Vec<u32> = found.iter().map(|(_, element)| *element).collect();
                elements.sort_unstable();
                assert!(
                    elements.iter().copied().eq((0..count).map(|number| number * step)),
                    "{count} {step}"
                );
                found.sort_unstable();
                assert!(found.iter().map(|(lane, _)| *lane).eq(0..count), "{count} {step}");
            }
        }
    }
}
