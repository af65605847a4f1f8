//! Computes the rank of each box: its layer, counted from the top.

use super::components::ASPECT;
use super::place::GAP;
use super::{Pin, RANK_GAP, Sketch};

/// A rank that is not wider than this is never split.
const WIDE: f64 = 1800.0;

/// Returns the rank of every box, by number. A box has a greater rank than each of its operands. A pinned box is in the
/// first ranks or the last. No rank is much wider than the picture should be, be the scopes open or closed.
pub(super) fn ranks(sketch: &Sketch) -> Vec<usize> {
    let ranks = shortest(sketch);
    let (mut closed, mut open) = (Rows::new(sketch, false), Rows::new(sketch, true));
    for (number, rank) in ranks.iter().enumerate() {
        closed.add(*rank, number);
        open.add(*rank, number);
    }
    if closed.all_fit() && open.all_fit() { ranks } else { limited(sketch) }
}

/// The widths of ranks, and their limit.
struct Rows {
    widths: Vec<f64>,
    /// The width of each box.
    sizes: Vec<f64>,
    limit: f64,
}

impl Rows {
    /// Returns ranks without boxes. The widths are those of open scopes if `is_open`, else of closed scopes.
    fn new(sketch: &Sketch, is_open: bool) -> Rows {
        let sizes = sketch.boxes.iter().map(|item| match is_open {
            true => item.largest_size(),
            false => (item.width, item.height),
        });
        let sizes: Vec<(f64, f64)> = sizes.map(|(width, height)| (width + GAP, height + RANK_GAP)).collect();
        let area: f64 = sizes.iter().map(|(width, height)| width * height).sum();
        let limit = WIDE.max((area * ASPECT).sqrt());
        Rows { widths: Vec::new(), sizes: sizes.into_iter().map(|(width, _)| width).collect(), limit }
    }

    fn add(&mut self, rank: usize, number: usize) {
        if self.widths.len() <= rank {
            self.widths.resize(rank + 1, 0.0);
        }
        self.widths[rank] += self.sizes[number];
    }

    fn all_fit(&self) -> bool {
        self.widths.iter().all(|width| *width <= self.limit)
    }

    /// Returns whether the rank has room for a box. An empty rank has room for every box.
    fn has_room(&self, rank: usize, number: usize) -> bool {
        self.widths.get(rank).is_none_or(|width| *width == 0.0 || width + self.sizes[number] <= self.limit)
    }

    fn is_full(&self, rank: usize) -> bool {
        self.widths.get(rank).is_some_and(|width| *width >= 0.9 * self.limit)
    }
}

/// Places boxes in ranks of limited width.
struct Limited {
    ranks: Vec<Option<usize>>,
    closed: Rows,
    open: Rows,
    /// For each full rank, a later rank before which all ranks are full.
    next: Vec<usize>,
}

impl Limited {
    /// Places a box in the first rank from `first` on that has room.
    fn place(&mut self, number: usize, first: usize) {
        let mut rank = first;
        loop {
            while let Some(next) = self.next.get(rank).copied().filter(|next| *next > rank) {
                // The path becomes shorter, so that later searches are fast.
                self.next[rank] = self.next.get(next).copied().unwrap_or(next).max(next);
                rank = next;
            }
            if self.closed.has_room(rank, number) && self.open.has_room(rank, number) {
                break;
            }
            rank += 1;
        }
        self.ranks[number] = Some(rank);
        self.closed.add(rank, number);
        self.open.add(rank, number);
        if self.closed.is_full(rank) || self.open.is_full(rank) {
            self.next.extend(self.next.len()..=rank);
            self.next[rank] = rank + 1;
        }
    }

    /// Returns the number of ranks that have boxes.
    fn count(&self) -> usize {
        self.closed.widths.len()
    }
}

/// Returns ranks of limited width: each box is in the first rank after its operands that has room. A box without
/// operands is placed together with its first reader.
fn limited(sketch: &Sketch) -> Vec<usize> {
    let boxes = &sketch.boxes;
    let mut placed = Limited {
        ranks: vec![None; boxes.len()],
        closed: Rows::new(sketch, false),
        open: Rows::new(sketch, true),
        next: Vec::new(),
    };
    let with_pin = |pin| (0..boxes.len()).filter(move |number| boxes[*number].pin == pin);
    for number in with_pin(Pin::Top) {
        placed.place(number, 0);
    }
    let first = placed.count();
    let below = |placed: &Limited, number: usize| {
        let operands = boxes[number].operands.iter().filter_map(|(source, _, _)| placed.ranks[*source]);
        operands.map(|rank| rank + 1).max().unwrap_or(first).max(first)
    };
    for number in with_pin(Pin::None).filter(|number| !boxes[*number].operands.is_empty()) {
        let above = below(&placed, number).max(first + 1) - 1;
        for (source, _, _) in &boxes[number].operands {
            if placed.ranks[*source].is_none() {
                placed.place(*source, above);
            }
        }
        placed.place(number, below(&placed, number));
    }
    for number in with_pin(Pin::None) {
        if placed.ranks[number].is_none() {
            placed.place(number, first);
        }
    }
    let last = placed.count();
    for number in with_pin(Pin::Bottom) {
        placed.place(number, last);
    }
    placed.ranks.into_iter().map(|rank| rank.expect("every box is placed")).collect()
}

/// Returns as few ranks as possible. A box that has no more operands than outputs, and no more operands than readers,
/// moves down to the rank just above its highest reader. A constant is such a box.
fn shortest(sketch: &Sketch) -> Vec<usize> {
    let first = usize::from(sketch.boxes.iter().any(|item| item.pin == Pin::Top));
    let mut ranks: Vec<usize> = Vec::with_capacity(sketch.boxes.len());
    for item in &sketch.boxes {
        let below_operands = item.operands.iter().map(|(source, _, _)| ranks[*source] + 1).max().unwrap_or(0);
        ranks.push(if item.pin == Pin::Top { 0 } else { below_operands.max(first) });
    }
    let unpinned = sketch.boxes.iter().zip(&ranks).filter(|(item, _)| item.pin != Pin::Bottom);
    let last = unpinned.map(|(_, rank)| rank + 1).max().unwrap_or(0);
    for (item, rank) in sketch.boxes.iter().zip(&mut ranks) {
        if item.pin == Pin::Bottom {
            *rank = last;
        }
    }
    let mut highest_reader: Vec<Option<usize>> = vec![None; sketch.boxes.len()];
    let mut readers: Vec<usize> = vec![0; sketch.boxes.len()];
    for number in (0..sketch.boxes.len()).rev() {
        let item = &sketch.boxes[number];
        if let Some(highest) = highest_reader[number]
            && item.pin == Pin::None
            && item.operands.len() <= readers[number].min(item.outputs.len())
        {
            ranks[number] = ranks[number].max(highest - 1);
        }
        for (source, _, _) in &item.operands {
            let highest = &mut highest_reader[*source];
            *highest = Some(highest.map_or(ranks[number], |rank| rank.min(ranks[number])));
            readers[*source] += 1;
        }
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::super::{SketchBox, lay_out};
    use super::*;

    /// A box with 60 readers, each of which has an operand of its own.
    fn fan(open_size: (f64, f64)) -> Sketch {
        let item = |operands: Vec<usize>| SketchBox {
            width: 100.0,
            height: 40.0,
            open_size,
            operands: operands.into_iter().map(|source| (source, 0, 50.0)).collect(),
            outputs: vec![50.0],
            pin: Pin::None,
        };
        let mut boxes = vec![item(Vec::new())];
        for reader in 0..60 {
            boxes.extend([item(Vec::new()), item(vec![0, 2 * reader + 1])]);
        }
        Sketch { boxes }
    }

    #[test]
    fn wide_ranks_are_spread_over_more_ranks() {
        for open_size in [(0.0, 0.0), (1000.0, 1000.0)] {
            let sketch = fan(open_size);
            let ranks = ranks(&sketch);
            for (number, item) in sketch.boxes.iter().enumerate() {
                assert!(item.operands.iter().all(|(source, _, _)| ranks[*source] < ranks[number]));
            }
            let layout = lay_out(&sketch);
            assert!(layout.width < 2600.0, "{}", layout.width);
            // Open scopes need more room, so fewer of them stand side by side.
            let (width, height) = layout.open_size;
            assert!(width < 2600.0 || width < 3.0 * height, "{width} {height}");
        }
    }
}
