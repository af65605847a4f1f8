//! Loads of elements that lie a few apart: vectors that hold some of them each, blended and then put in order.

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

/// The fewest vectors in which `count` elements, `step` places of memory apart, have a lane of `count` each. None of
/// them begins before the first element or ends after the last.
pub(super) fn picks(count: u32, step: u32) -> Vec<Pick> {
    let mut found = Vec::new();
    (1..=count).find(|most| find(count, step, *most, &mut found));
    found
}

/// Adds the vectors of the elements that are not found yet, if `left` are enough.
fn find(count: u32, step: u32, left: u32, found: &mut Vec<Pick>) -> bool {
    let taken = found.iter().fold(0, |taken, pick| taken | pick.lanes);
    let next = taken.count_ones();
    let most = (count - 1) / step + 1;
    if next == count || count - next > left * most {
        return next == count;
    }
    for together in (1..=most.min(count - next)).rev() {
        for lane in 0..count - (together - 1) * step {
            let lanes = (0..together).fold(0, |lanes, at| lanes | 1 << (lane + at * step));
            let Some(begin) = (next * step).checked_sub(lane) else { break };
            if lanes & taken != 0 || begin > (step - 1) * (count - 1) {
                continue;
            }
            found.push(Pick { begin, lanes, first: next });
            if find(count, step, left - 1, found) {
                return true;
            }
            found.pop();
        }
    }
    false
}

impl Selector<'_> {
    /// A vector of elements of `size` bytes of a slot, the first of them at `place`.
    pub fn picked(&mut self, picks: &[Pick], size: u32, place: Place) -> V {
        let Place::Slot(slot, offset) = place else { return self.load_from(op::MOV_LOAD, place) };
        let count = self.len().bytes() / size;
        let mut order = vec![0; count as usize];
        let mut blended = None;
        for pick in picks {
            let lanes = (0..count).filter(|lane| pick.lanes >> lane & 1 == 1);
            for (number, lane) in (pick.first as usize..).zip(lanes) {
                order[number] = lane;
            }
            let own = self.load_from(op::MOV_LOAD, Place::Slot(slot, offset + (pick.begin * size) as i32));
            blended = Some(blended.map_or(own, |others| self.blend(others, own, pick.lanes, size)));
        }
        let Some(blended) = blended else { return self.load_from(op::MOV_LOAD, place) };
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
