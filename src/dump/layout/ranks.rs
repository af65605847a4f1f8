//! Computes the rank of each box: its layer, counted from the top.

use super::{Pin, Sketch};

/// Returns the rank of every box, by number. A box has a greater rank than each of its operands. A box that has no more
/// operands than outputs, and no more operands than readers, moves down to the rank just above its highest reader. A
/// constant is such a box. A pinned box has the first rank or the last.
pub(super) fn ranks(sketch: &Sketch) -> Vec<usize> {
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
