//! Orders the items of each rank from left to right.
//!
//! An item is a box, or the point where a wire passes a rank between its ends. A link is the section of a wire between
//! items of adjacent ranks. Sweeps over the ranks, down and up, sort the items of a rank by the mean position of their
//! neighbors. The order in which the fewest links intersect wins.

use std::cmp::Ordering;

use super::Layers;

/// Orders the items of every rank so that few links intersect.
pub(super) fn order(layers: &mut Layers) {
    let neighbors = Neighbors::new(layers);
    let mut positions = vec![0.0; layers.items.len()];
    let sweeps = match layers.items.len() {
        0..3_000 => 24,
        3_000..30_000 => 12,
        _ => 4,
    };
    let mut best = layers.ranks.clone();
    let mut fewest = u64::MAX;
    for sweep in 0..sweeps {
        let count = layers.ranks.len();
        for step in 0..count {
            let (rank, neighbors) = match sweep % 2 {
                0 => (step, &neighbors.above),
                _ => (count - 1 - step, &neighbors.below),
            };
            sort_rank(&mut layers.ranks[rank], neighbors, &mut positions);
        }
        let intersections = count_intersections(layers, &neighbors, &positions);
        if intersections < fewest {
            fewest = intersections;
            best.clone_from(&layers.ranks);
        }
        if intersections == 0 {
            break;
        }
    }
    layers.ranks = best;
}

/// For each item: its neighbors in the rank above and in the rank below, each with the point where the link meets it:
/// the distance from the neighbor's middle, divided by the neighbor's width.
struct Neighbors {
    above: Vec<Vec<(usize, f64)>>,
    below: Vec<Vec<(usize, f64)>>,
}

impl Neighbors {
    fn new(layers: &Layers) -> Neighbors {
        let none = || vec![Vec::new(); layers.items.len()];
        let mut neighbors = Neighbors { above: none(), below: none() };
        let fraction = |item: usize, port: f64| (port / layers.items[item].width.max(1.0)).clamp(-0.5, 0.5);
        // The links above a box are sorted in the order of its operands.
        let mut links = layers.links.clone();
        links.sort_by(|a, b| {
            (a.lower, a.lower_port).partial_cmp(&(b.lower, b.lower_port)).unwrap_or(Ordering::Equal)
        });
        for link in &links {
            neighbors.above[link.lower].push((link.upper, fraction(link.upper, link.upper_port)));
            neighbors.below[link.upper].push((link.lower, fraction(link.lower, link.lower_port)));
        }
        neighbors
    }
}

/// Sorts the items of a rank by the mean position of their neighbors. An item without neighbors keeps its position.
fn sort_rank(rank: &mut Vec<usize>, neighbors: &[Vec<(usize, f64)>], positions: &mut [f64]) {
    let mut keyed: Vec<(f64, usize)> = Vec::with_capacity(rank.len());
    let mut fixed: Vec<Option<usize>> = vec![None; rank.len()];
    for (slot, &item) in rank.iter().enumerate() {
        let near = &neighbors[item];
        if near.is_empty() {
            fixed[slot] = Some(item);
            continue;
        }
        let sum: f64 = near.iter().map(|(other, part)| positions[*other] + part).sum();
        keyed.push((sum / near.len() as f64, item));
    }
    keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut moved = keyed.into_iter();
    *rank = fixed.iter().filter_map(|item| item.or_else(|| moved.next().map(|(_, item)| item))).collect();
    for (slot, &item) in rank.iter().enumerate() {
        positions[item] = slot as f64;
    }
}

/// Counts the pairs of links that intersect between adjacent ranks, with a Fenwick tree. Two links to one box count
/// too, if the links intersect on the way to the operands of the box.
fn count_intersections(layers: &Layers, neighbors: &Neighbors, positions: &[f64]) -> u64 {
    let mut intersections = 0;
    for pair in layers.ranks.windows(2) {
        // Links are numbered from left to right along the lower rank.
        let mut number = 0;
        let mut links: Vec<(f64, usize)> = Vec::new();
        for &lower in &pair[1] {
            for &(upper, part) in &neighbors.above[lower] {
                links.push((positions[upper] + part, number));
                number += 1;
            }
        }
        links.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut tree = vec![0u64; number + 1];
        for (seen, (_, end)) in links.iter().enumerate() {
            let (mut slot, mut not_beyond) = (end + 1, 0);
            while slot > 0 {
                not_beyond += tree[slot];
                slot &= slot - 1;
            }
            intersections += seen as u64 - not_beyond;
            let mut slot = end + 1;
            while slot < tree.len() {
                tree[slot] += 1;
                slot += slot & slot.wrapping_neg();
            }
        }
    }
    intersections
}
