//! Places the items (boxes and crossings of wires) along their ranks, as near to their neighbors as their order and
//! widths allow.

use super::{Item, Layers};

/// Distance between two items of a rank, if one of them is a box.
pub(super) const GAP: f64 = 22.0;

/// Distance between two crossings of a rank.
const WIRE_GAP: f64 = 6.0;

/// The pull of a neighbor on an item: `(neighbor, distance, weight)`. The item is pulled to the place where its
/// middle is `distance` to the right of the middle of the neighbor.
type Pull = (usize, f64, f64);

/// Returns the horizontal middles of all items.
pub(super) fn place(layers: &Layers) -> Vec<f64> {
    let (above, below) = pulls(layers);
    let mut middles = vec![0.0; layers.items.len()];
    for rank in &layers.ranks {
        let offsets = offsets(rank, &layers.items);
        let half = offsets.last().copied().unwrap_or_default() / 2.0;
        for (item, offset) in rank.iter().zip(&offsets) {
            middles[*item] = offset - half;
        }
    }
    let rounds = match layers.items.len() {
        0..10_000 => 60,
        10_000..50_000 => 16,
        _ => 6,
    };
    let count = layers.ranks.len();
    for round in 0..rounds {
        for step in 0..count {
            let rank = if round % 2 == 0 { step } else { count - 1 - step };
            // The last 4 rounds use the pulls from both sides, so that a box comes to lie between its sources and
            // its readers.
            let sides: &[&Vec<Vec<Pull>>] = match round {
                _ if round + 4 >= rounds => &[&above, &below],
                _ if round % 2 == 0 => &[&above],
                _ => &[&below],
            };
            move_items(&layers.ranks[rank], &layers.items, sides, &mut middles);
        }
    }
    middles
}

/// Returns, by item, the pulls from above and the pulls from below. The pulls between the crossings of one wire are the
/// strongest, so that its trunk becomes straight.
fn pulls(layers: &Layers) -> (Vec<Vec<Pull>>, Vec<Vec<Pull>>) {
    let mut above: Vec<Vec<Pull>> = vec![Vec::new(); layers.items.len()];
    let mut below = above.clone();
    let (is_hanging, has_chain) = hanging(layers);
    for link in &layers.links {
        let (upper, lower) = (layers.items[link.upper], layers.items[link.lower]);
        let weight = match (upper.is_crossing, lower.is_crossing) {
            (true, true) => 8.0,
            (false, false) if upper.is_leaf => 0.05,
            // A shortcut with a box, beside a chain of boxes that it joins again. The chain stays straight.
            (false, false) if is_hanging[link.upper] && has_chain[link.lower] => 0.2,
            (false, false) => 4.0,
            // A wire that passes a chain of its readers cannot be above them. A strong pull would move the wire and the
            // chain aside a bit at each rank.
            _ => 0.2,
        };
        // A link pulls the middles of its two boxes together, and not the two ends of the link. With a pull of the
        // ends, a chain of boxes that are read at their sides would drift by half a box at each rank. A leaf is a box
        // without operands. The link of a leaf pulls the leaf above the reader's port.
        let difference = if upper.is_leaf { link.lower_port - link.upper_port } else { 0.0 };
        above[link.lower].push((link.upper, -difference, weight));
        below[link.upper].push((link.lower, difference, weight));
    }
    (above, below)
}

/// Returns, by item, whether the item is a box whose operands all come by long wires, and whether the item reads a box
/// with another kind of operand.
fn hanging(layers: &Layers) -> (Vec<bool>, Vec<bool>) {
    let mut is_hanging: Vec<bool> =
        layers.items.iter().map(|item| !item.is_crossing && !item.is_leaf).collect();
    for link in layers.links.iter().filter(|link| !layers.items[link.upper].is_crossing) {
        is_hanging[link.lower] = false;
    }
    let mut has_chain = vec![false; layers.items.len()];
    for link in &layers.links {
        let upper = layers.items[link.upper];
        has_chain[link.lower] |= !upper.is_crossing && !upper.is_leaf && !is_hanging[link.upper];
    }
    (is_hanging, has_chain)
}

/// Returns the middles of a rank's items when they are packed to the left.
fn offsets(rank: &[usize], items: &[Item]) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(rank.len());
    let mut offset = 0.0;
    for (position, &item) in rank.iter().enumerate() {
        if let Some(before) = position.checked_sub(1).map(|before| items[rank[before]]) {
            let gap = if before.is_crossing && items[item].is_crossing { WIRE_GAP } else { GAP };
            offset += before.width / 2.0 + gap + items[item].width / 2.0;
        }
        offsets.push(offset);
    }
    offsets
}

/// Moves the items of a rank as the pulls of the given sides want, without a change of order and without overlaps.
///
/// The new places minimize the weighted sum of squared distances from the wanted places under
/// `x[i + 1] - x[i] >= distance`. The problem is an isotonic regression, solved by pooling adjacent violators.
fn move_items(rank: &[usize], items: &[Item], sides: &[&Vec<Vec<Pull>>], middles: &mut [f64]) {
    struct Block {
        weight: f64,
        sum: f64,
        count: usize,
    }
    let offsets = offsets(rank, items);
    let mut blocks: Vec<Block> = Vec::with_capacity(rank.len());
    for (&item, offset) in rank.iter().zip(&offsets) {
        let (mut weight, mut sum) = (0.0, 0.0);
        for &(other, difference, pull) in sides.iter().flat_map(|side| &side[item]) {
            weight += pull;
            sum += pull * (middles[other] + difference);
        }
        if weight == 0.0 {
            (weight, sum) = (0.01, 0.01 * middles[item]);
        }
        blocks.push(Block { weight, sum: sum - weight * offset, count: 1 });
        while let [.., before, last] = &mut blocks[..]
            && before.sum / before.weight >= last.sum / last.weight
        {
            before.weight += last.weight;
            before.sum += last.sum;
            before.count += last.count;
            blocks.pop();
        }
    }
    let mut slot = 0;
    for block in blocks {
        let shift = block.sum / block.weight;
        for _ in 0..block.count {
            middles[rank[slot]] = offsets[slot] + shift;
            slot += 1;
        }
    }
}
