//! Loads of elements that lie a few apart: vectors that hold some of them each, blended and then put in order.

use smallvec::{SmallVec, smallvec};

use super::Isa;
use super::block::{Home, Kind, Place, V};
use super::op;
use super::select::Selector;

/// A vector of memory of which some lanes are elements.
#[derive(Clone, Copy)]
pub(super) struct Pick {
    /// How many places of memory it begins after the first element.
    begin: u32,
    /// Which of its lanes are elements, and the number of the first of these.
    lanes: u32,
    first: u32,
}

/// The fewest vectors in which `count` elements, 2 to 4 places of memory apart (`step`), have a lane of `count` each.
/// None of them begins before the first element or ends after the last.
pub(super) fn picks(count: u32, step: u32) -> SmallVec<[Pick; 4]> {
    // The first lane of each vector, from which on every lane number `step` is an element, and how many these are.
    let runs: SmallVec<[(u32, u32); 4]> = match (count, step) {
        (4, 3) => (0..4).map(|lane| (lane, 1)).collect(),
        (8, 3) => smallvec![(0, 3), (2, 2), (1, 3)],
        (16, 3) => smallvec![(0, 5), (1, 5), (2, 5), (15, 1)],
        _ => (0..step).map(|lane| (lane, count / step)).collect(),
    };
    let mut next = 0;
    let pick = |(lane, together): (u32, u32)| {
        let first = next;
        next += together;
        let lanes = (0..together).fold(0, |lanes, at| lanes | 1 << (lane + at * step));
        Pick { begin: first * step - lane, lanes, first }
    };
    runs.into_iter().map(pick).collect()
}

impl Selector<'_> {
    /// A vector of elements of `size` bytes, `step` places apart, of which the first is `offset` bytes past the slot's
    /// current one.
    pub fn picked(&mut self, step: u32, size: u32, slot: u32, offset: i32) -> V {
        let count = self.len().bytes() / size;
        let mut order = vec![0; count as usize];
        let mut blended = None;
        for pick in picks(count, step) {
            let lanes = (0..count).filter(|lane| pick.lanes >> lane & 1 == 1);
            for (number, lane) in (pick.first as usize..).zip(lanes) {
                order[number] = lane;
            }
            let own = self.load_from(op::MOV_LOAD, Place::Slot(slot, offset + (pick.begin * size) as i32));
            blended = Some(match blended {
                None => own,
                Some(others) => self.blend(others, own, pick.lanes, size),
            });
        }
        let Some(blended) = blended else { return self.load_from(op::MOV_LOAD, Place::Slot(slot, offset)) };
        if order.is_sorted() {
            return blended;
        }
        let parts = size / 4;
        let order = order.iter().flat_map(|lane| (0..parts).map(move |part| lane * parts + part));
        let order = self.pool.lanes(order);
        let order = self.block.at(Home::Pool(order));
        self.op2(op::PERMUTE_PS, order, blended)
    }

    /// The lanes of `size` bytes in the set `lanes` of `b`, the others of `a`.
    fn blend(&mut self, a: V, b: V, lanes: u32, size: u32) -> V {
        let parts = size / 4;
        let words = self.len().bytes() / 4;
        let is_set = |word: u32| lanes >> (word / parts) & 1 == 1;
        if self.isa == Isa::Avx2 {
            let set = (0..words).fold(0, |set, word| set | u8::from(is_set(word)) << word);
            return self.op_imm(op::BLEND_PS, &[a, b], Some(set));
        }
        let mask = self.pool.lanes((0..words).map(|word| if is_set(word) { u32::MAX } else { 0 }));
        let mask = self.block.at(Home::Pool(mask));
        self.block.push(Kind::Select, &[mask, b, a])
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
                let mut places: Vec<u32> = found.iter().map(|(_, place)| *place).collect();
                places.sort_unstable();
                assert!(places.iter().copied().eq((0..count).map(|number| number * step)), "{count} {step}");
                found.sort_unstable();
                assert!(found.iter().map(|(lane, _)| *lane).eq(0..count), "{count} {step}");
            }
        }
    }
}
