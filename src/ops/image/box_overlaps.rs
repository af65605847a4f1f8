//! The overlap of two boxes, and of a box with many selected boxes.

use std::ops::Range;

use super::suppression::{BLOCK, Similarity};
use crate::error::Result;
use crate::tensor::reserved_vec;
use crate::tiles::wide;

/// A box `[y1, x1, y2, x2]` whose corners are in ascending order, and its area.
#[derive(Clone, Copy)]
struct Extent {
    low: [f32; 2],
    high: [f32; 2],
    area: f32,
}

// Unlike `f32::min` and `f32::max`, these return the first number if one of the numbers is NaN.
#[inline(always)]
fn least(a: f32, b: f32) -> f32 {
    if b < a { b } else { a }
}

#[inline(always)]
fn most(a: f32, b: f32) -> f32 {
    if a < b { b } else { a }
}

impl Extent {
    fn new([y1, x1, y2, x2]: [f32; 4]) -> Extent {
        let (low, high) = ([least(y1, y2), least(x1, x2)], [most(y1, y2), most(x1, x2)]);
        Extent { low, high, area: (high[0] - low[0]) * (high[1] - low[1]) }
    }

    /// Returns the area of the intersection, divided by the area of the union.
    #[inline(always)]
    fn overlap(&self, other: &Extent) -> f32 {
        let height = most(least(self.high[0], other.high[0]) - most(self.low[0], other.low[0]), 0.0);
        let width = most(least(self.high[1], other.high[1]) - most(self.low[1], other.low[1]), 0.0);
        let intersection = height * width;
        let quotient = intersection / (self.area + other.area - intersection);
        if self.area <= 0.0 || other.area <= 0.0 { 0.0 } else { quotient }
    }
}

/// Returns the area of the intersection of two boxes, divided by the area of their union; 0 if a box has no area. A box
/// is given by two opposite corners: `[y1, x1, y2, x2]`.
pub(super) fn intersection_over_union(a: [f32; 4], b: [f32; 4]) -> f32 {
    Extent::new(a).overlap(&Extent::new(b))
}

/// The selected boxes of a block, by columns: the low ends, the high ends, and the areas. The other entries are zeros:
/// boxes without area.
#[derive(Clone, Copy, Default)]
struct Block {
    low: [[f32; BLOCK]; 2],
    high: [[f32; BLOCK]; 2],
    area: [f32; BLOCK],
}

/// The overlaps of boxes as similarities.
pub(super) struct BoxOverlaps {
    extents: Vec<Extent>,
    selected: Vec<Block>,
    /// The number of selected boxes.
    count: usize,
}

impl BoxOverlaps {
    /// # Errors
    /// `Memory`: an allocation fails.
    pub(super) fn new(boxes: &[[f32; 4]]) -> Result<BoxOverlaps> {
        let mut extents = reserved_vec(boxes.len())?;
        extents.extend(boxes.iter().map(|corners| Extent::new(*corners)));
        Ok(BoxOverlaps { extents, selected: reserved_vec(boxes.len().div_ceil(BLOCK))?, count: 0 })
    }
}

impl Similarity for BoxOverlaps {
    fn between(&self, candidate: usize, selected: usize) -> f32 {
        self.extents[candidate].overlap(&self.extents[selected])
    }

    fn select(&mut self, candidate: usize) {
        let (Extent { low, high, area }, place) = (self.extents[candidate], self.count % BLOCK);
        if place == 0 {
            self.selected.push(Block::default());
        }
        let block = self.selected.last_mut().expect("the first box of a block adds the block");
        for axis in 0..2 {
            (block.low[axis][place], block.high[axis][place]) = (low[axis], high[axis]);
        }
        block.area[place] = area;
        self.count += 1;
    }

    fn last_affecting(&self, candidate: usize, blocks: Range<usize>, harmless: f32) -> Option<usize> {
        let first = blocks.start;
        last_above(&self.selected[blocks], self.extents[candidate], harmless).map(|block| first + block)
    }
}

wide! {
    /// Returns the last block with an overlap that is greater than `harmless` or NaN.
    fn last_above(blocks: &[Block], of: Extent, harmless: f32) -> Option<usize> {
        // The loops do not call `array::map` or take closures: the compiler may not inline these.
        for (number, block) in blocks.iter().enumerate().rev() {
            let mut are_harmless = true;
            for place in 0..BLOCK {
                let other = Extent {
                    low: [block.low[0][place], block.low[1][place]],
                    high: [block.high[0][place], block.high[1][place]],
                    area: block.area[place],
                };
                are_harmless &= of.overlap(&other) <= harmless;
            }
            if !are_harmless {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_may_be_flipped_and_empty() {
        let unit = [0.0, 0.0, 1.0, 1.0];
        assert_eq!(intersection_over_union(unit, [1.0, 1.0, 0.0, 0.0]), 1.0);
        assert_eq!(intersection_over_union(unit, [0.0, 0.5, 1.0, 1.5]), 1.0 / 3.0);
        assert_eq!(intersection_over_union(unit, [2.0, 2.0, 3.0, 3.0]), 0.0);
        assert_eq!(intersection_over_union([0.5; 4], [0.5; 4]), 0.0);
    }

    #[test]
    fn blocks_have_the_overlaps_of_their_boxes() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        let special = [0.0, -0.0, 0.25, 0.5, 1.0, -1.0, 3e38, -3e38, inf, -inf, nan];
        let number = |seed: usize| match seed % 5 {
            0 => special[seed / 5 % special.len()],
            _ => (seed * 7919 % 1000) as f32 / 500.0,
        };
        let boxes: Vec<[f32; 4]> =
            (0..300).map(|row| [0, 1, 2, 3].map(|column| number(row * row * 31 + column * 17))).collect();
        let mut overlaps = BoxOverlaps::new(&boxes).unwrap();
        (0..100).for_each(|number| overlaps.select(number));
        for candidate in 100..300 {
            for harmless in [-1.0, 0.0, 0.25, 0.5, 1.0] {
                let is_above = |other: &usize| {
                    let overlap = overlaps.between(candidate, *other);
                    overlap > harmless || overlap.is_nan()
                };
                let last = (1..7).rfind(|block| {
                    // The last block has boxes without area after its boxes.
                    let mut others = block * BLOCK..(block * BLOCK + BLOCK).min(100);
                    others.any(|other| is_above(&other)) || others.end == 100 && harmless < 0.0
                });
                assert_eq!(overlaps.last_affecting(candidate, 1..7, harmless), last);
            }
        }
    }
}
