//! The rank of each box: its layer, counted from the top.

use super::Sketch;

/// Returns the rank of every box. A box is below its operands. A box with few operands, such as a constant, moves down
/// to just above its first reader.
pub(super) fn ranks(sketch: &Sketch) -> Vec<usize> {
    let mut ranks: Vec<usize> = Vec::with_capacity(sketch.boxes.len());
    for item in &sketch.boxes {
        let lowest = item.operands.iter().map(|(source, _, _)| ranks[*source] + 1).max();
        ranks.push(lowest.unwrap_or(0));
    }
    let mut reader: Vec<Option<usize>> = vec![None; sketch.boxes.len()];
    let mut read: Vec<usize> = vec![0; sketch.boxes.len()];
    for number in (0..sketch.boxes.len()).rev() {
        let item = &sketch.boxes[number];
        if let Some(first) = reader[number]
            && item.operands.len() <= read[number].min(item.outputs.len())
        {
            ranks[number] = ranks[number].max(first - 1);
        }
        for (source, _, _) in &item.operands {
            reader[*source] = Some(reader[*source].map_or(ranks[number], |first| first.min(ranks[number])));
            read[*source] += 1;
        }
    }
    ranks
}
