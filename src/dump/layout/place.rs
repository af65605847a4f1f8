//! The places of items along their ranks: as near to their neighbours as their order and widths allow.

use super::{Item, Layers};

/// Room between two items of a rank.
const GAP: f64 = 22.0;

/// Room between two wires.
const WIRE_GAP: f64 = 6.0;

/// An item's neighbour: the item, the difference of middles that makes the link upright, and its weight.
type Pull = (usize, f64, f64);

/// The middles of all items.
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
            // At last both sides count, so that a box stands between what it reads and what reads it.
            let sides: &[&Vec<Vec<Pull>>] = match round {
                _ if round + 4 >= rounds => &[&above, &below],
                _ if round % 2 == 0 => &[&above],
                _ => &[&below],
            };
            settle(&layers.ranks[rank], &layers.items, sides, &mut middles);
        }
    }
    middles
}

/// The pulls from above and from below on each item. Trunks are pulled straight.
fn pulls(layers: &Layers) -> (Vec<Vec<Pull>>, Vec<Vec<Pull>>) {
    let mut above: Vec<Vec<Pull>> = vec![Vec::new(); layers.items.len()];
    let mut below = above.clone();
    let mut from_others = vec![0u32; layers.items.len()];
    for link in layers.links.iter().filter(|link| !layers.items[link.upper].leaf) {
        from_others[link.lower] += 1;
    }
    for link in &layers.links {
        let (upper, lower) = (layers.items[link.upper], layers.items[link.lower]);
        let weight = match (upper.crossing, lower.crossing) {
            (true, true) => 8.0,
            (false, false) if upper.leaf => 0.05,
            (false, false) => 1.0,
            _ => 2.0,
        };
        // A box that goes on from one other stands straight below it, whatever leaves it reads besides.
        let straight = !upper.leaf && !lower.crossing && from_others[link.lower] == 1;
        let difference = if straight { -link.upper_port } else { link.lower_port - link.upper_port };
        above[link.lower].push((link.upper, -difference, weight));
        below[link.upper].push((link.lower, difference, weight));
    }
    (above, below)
}

/// The middles of a rank that is packed to the left.
fn offsets(rank: &[usize], items: &[Item]) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(rank.len());
    let mut at = 0.0;
    for (position, &item) in rank.iter().enumerate() {
        if let Some(before) = position.checked_sub(1).map(|before| items[rank[before]]) {
            let gap = if before.crossing && items[item].crossing { WIRE_GAP } else { GAP };
            at += before.width / 2.0 + gap + items[item].width / 2.0;
        }
        offsets.push(at);
    }
    offsets
}

/// Moves the items of a rank to where they are pulled, in their order and without overlaps: the weighted least
/// squares under `x[i + 1] - x[i] >= room`, which is an isotonic regression, solved by pooling neighbours.
fn settle(rank: &[usize], items: &[Item], sides: &[&Vec<Vec<Pull>>], middles: &mut [f64]) {
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
    let mut at = 0;
    for block in blocks {
        let shift = block.sum / block.weight;
        for _ in 0..block.count {
            middles[rank[at]] = offsets[at] + shift;
            at += 1;
        }
    }
}
