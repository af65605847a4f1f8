//! Non-maximum suppression: the selection of candidates, and the overlap of two boxes.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use half::f16;
use shapeflow_shape_fns::DType;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::reserved_vec;

/// The thresholds of a suppression. All numbers are elements of `dtype`, f16 or f32.
pub(super) struct Suppression {
    pub dtype: DType,
    /// The greatest number of selected candidates.
    pub max_count: usize,
    /// A selected candidate suppresses a candidate whose similarity is greater.
    pub similarity_threshold: f32,
    /// A candidate needs a greater score.
    pub score_threshold: f32,
    /// The width of the Gaussian that lowers the scores of similar candidates. With 0, similar candidates are dropped
    /// instead.
    pub sigma: f32,
}

/// A candidate whose score is not NaN. The greatest candidate has the highest score; of equal scores, the lowest
/// number.
#[derive(Clone, Copy)]
struct Candidate {
    score: f32,
    number: Reverse<usize>,
    /// The number of selected candidates that this candidate was compared with.
    compared: usize,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Candidate) -> Ordering {
        let by_score = self.score.partial_cmp(&other.score).expect("NaN scores are no candidates");
        by_score.then(self.number.cmp(&other.number))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Candidate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Candidate) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Candidate {}

impl Suppression {
    /// Rounds a result of arithmetic to the dtype.
    fn round(&self, x: f32) -> f32 {
        if self.dtype == DType::F16 { f16::from_f32(x).to_f32() } else { x }
    }

    /// Returns the factor of the score of a candidate with this similarity to a selected candidate.
    fn weight(&self, similarity: f32) -> f32 {
        let is_soft = self.sigma > 0.0;
        let scale = if is_soft { self.round(-0.5 / self.sigma) } else { 0.0 };
        let exponent = self.round(self.round(scale * similarity) * similarity);
        // A NaN similarity drops the candidate.
        match is_soft || similarity <= self.similarity_threshold {
            true => self.round(f64::from(exponent).exp() as f32),
            false => 0.0,
        }
    }

    /// Selects candidates in the order of their scores. Returns the number and the score of each selected candidate.
    /// `similarity` compares two candidates by their numbers.
    ///
    /// # Errors
    /// `Memory`: an allocation fails.
    pub(super) fn select(
        &self,
        scores: &[f32],
        similarity: impl Fn(usize, usize) -> f32,
    ) -> Result<Vec<(usize, f32)>> {
        let mut candidates = reserved_vec(scores.len())?;
        let numbered = scores.iter().enumerate().filter(|(_, score)| **score > self.score_threshold);
        candidates.extend(numbered.map(|(number, score)| Candidate {
            score: *score,
            number: Reverse(number),
            compared: 0,
        }));
        let mut selected: Vec<(usize, f32)> = reserved_vec(self.max_count.min(candidates.len()))?;
        let mut queue = BinaryHeap::from(candidates);
        while selected.len() < self.max_count
            && let Some(candidate) = queue.pop()
        {
            let Some(score) = self.lowered(candidate, &selected, &similarity) else { continue };
            if score == candidate.score {
                selected.push((candidate.number.0, score));
            } else if score > self.score_threshold {
                // A candidate with a higher score may come first now.
                queue.push(Candidate { score, compared: selected.len(), ..candidate });
            }
        }
        Ok(selected)
    }

    /// Returns the score of a candidate after the selected candidates lowered it, or `None` if one of them drops the
    /// candidate.
    fn lowered(
        &self,
        candidate: Candidate,
        selected: &[(usize, f32)],
        similarity: impl Fn(usize, usize) -> f32,
    ) -> Option<f32> {
        let mut score = candidate.score;
        // Boxes that overlap have similar scores, so the last selected candidates are the most likely to overlap.
        for (other, _) in selected[candidate.compared..].iter().rev() {
            let similarity = self.round(similarity(candidate.number.0, *other));
            if self.sigma <= 0.0 && similarity > self.similarity_threshold {
                return None;
            }
            score = self.round(score * self.weight(similarity));
            if score <= self.score_threshold {
                break;
            }
        }
        Some(score)
    }
}

/// Returns the area of the intersection of two boxes, divided by the area of their union; 0 if a box has no area. A box
/// is given by two opposite corners: `[y1, x1, y2, x2]`.
pub(super) fn intersection_over_union(a: [f32; 4], b: [f32; 4]) -> f32 {
    // Unlike `f32::min` and `f32::max`, these return the first number if one of the numbers is NaN.
    let least = |a: f32, b: f32| if b < a { b } else { a };
    let most = |a: f32, b: f32| if a < b { b } else { a };
    let ends = |corners: [f32; 4], axis: usize| {
        [least(corners[axis], corners[axis + 2]), most(corners[axis], corners[axis + 2])]
    };
    let area = |corners: [f32; 4]| {
        let [height, width] = [0, 1].map(|axis| ends(corners, axis)).map(|[low, high]| high - low);
        height * width
    };
    let (area_a, area_b) = (area(a), area(b));
    if area_a <= 0.0 || area_b <= 0.0 {
        return 0.0;
    }
    let [height, width] = [0, 1].map(|axis| {
        let ([low_a, high_a], [low_b, high_b]) = (ends(a, axis), ends(b, axis));
        most(least(high_a, high_b) - most(low_a, low_b), 0.0)
    });
    let intersection = height * width;
    intersection / (area_a + area_b - intersection)
}

/// Fails unless a threshold of similarity is from 0 to 1.
///
/// # Errors
/// `Attribute`: the threshold is outside, or NaN.
pub(super) fn check_iou_threshold(threshold: f32) -> Result<()> {
    match (0.0..=1.0).contains(&threshold) {
        true => Ok(()),
        false => refuse(format!("iou_threshold must be from 0 to 1, got {threshold}")),
    }
}

/// Fails a run with an `Attribute` error.
///
/// # Errors
/// Always.
pub(super) fn refuse<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Attribute, Phase::Run, message))
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
    fn equal_scores_keep_the_order_of_candidates_and_nans_are_dropped() {
        let suppression = Suppression {
            dtype: DType::F32,
            max_count: 3,
            similarity_threshold: 0.5,
            score_threshold: 0.0,
            sigma: 0.0,
        };
        let selected = suppression.select(&[0.5, f32::NAN, 0.75, 0.5, 0.5], |_, _| 0.0).unwrap();
        assert_eq!(selected, [(2, 0.75), (0, 0.5), (3, 0.5)]);
        // A NaN similarity lowers the score to 0, which is not greater than the threshold.
        let selected = suppression.select(&[0.5, 0.25], |_, _| f32::NAN).unwrap();
        assert_eq!(selected, [(0, 0.5)]);
    }
}
