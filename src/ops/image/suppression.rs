//! Non-maximum suppression: the selection of candidates.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::ops::Range;

use half::f16;
use shapeflow_shape_fns::DType;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::tensor::reserved_vec;

/// The number of selected candidates of a block.
pub(super) const BLOCK: usize = 16;

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

/// The similarities of candidates, which have numbers.
pub(super) trait Similarity {
    /// Compares a candidate with a selected candidate.
    fn between(&self, candidate: usize, selected: usize) -> f32;

    /// Takes note of a selected candidate.
    fn select(&mut self, _candidate: usize) {}

    /// Returns the last of these blocks of selected candidates that may have a similarity to the candidate other than
    /// the numbers from 0 to `harmless`. Block `i` has the selected candidates from `i * BLOCK`.
    fn last_affecting(&self, _candidate: usize, mut blocks: Range<usize>, _harmless: f32) -> Option<usize> {
        blocks.next_back()
    }
}

impl<F: Fn(usize, usize) -> f32> Similarity for F {
    fn between(&self, candidate: usize, selected: usize) -> f32 {
        self(candidate, selected)
    }
}

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

    /// Returns the greatest similarity such that all similarities from 0 to it keep a score; -1 if 0 does not keep it.
    fn harmless(&self) -> f32 {
        match (self.weight(0.0) == 1.0, self.sigma > 0.0) {
            (false, _) => -1.0,
            (true, true) => 0.0,
            (true, false) => self.similarity_threshold,
        }
    }

    /// Selects candidates in the order of their scores. Returns the number and the score of each selected candidate.
    ///
    /// # Errors
    /// `Memory`: an allocation fails.
    pub(super) fn select(
        &self,
        scores: &[f32],
        mut similarity: impl Similarity,
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
                similarity.select(candidate.number.0);
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
        similarity: &impl Similarity,
    ) -> Option<f32> {
        let (mut score, number) = (candidate.score, candidate.number.0);
        let mut blocks = candidate.compared / BLOCK..selected.len().div_ceil(BLOCK);
        // Boxes that overlap have similar scores, so the last selected candidates are the most likely to overlap.
        while let Some(block) = similarity.last_affecting(number, blocks.clone(), self.harmless()) {
            blocks.end = block;
            let (start, end) = (block * BLOCK, selected.len().min((block + 1) * BLOCK));
            for (other, _) in selected[start.max(candidate.compared)..end].iter().rev() {
                let similarity = self.round(similarity.between(number, *other));
                if self.sigma <= 0.0 && similarity > self.similarity_threshold {
                    return None;
                }
                score = self.round(score * self.weight(similarity));
                if score <= self.score_threshold {
                    return Some(score);
                }
            }
        }
        Some(score)
    }
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
    fn equal_scores_keep_the_order_of_candidates_and_nans_are_dropped() {
        let suppression = Suppression {
            dtype: DType::F32,
            max_count: 3,
            similarity_threshold: 0.5,
            score_threshold: 0.0,
            sigma: 0.0,
        };
        let selected =
            suppression.select(&[0.5, f32::NAN, 0.75, 0.5, 0.5], |_: usize, _: usize| 0.0).unwrap();
        assert_eq!(selected, [(2, 0.75), (0, 0.5), (3, 0.5)]);
        // A NaN similarity lowers the score to 0, which is not greater than the threshold.
        let selected = suppression.select(&[0.5, 0.25], |_: usize, _: usize| f32::NAN).unwrap();
        assert_eq!(selected, [(0, 0.5)]);
    }
}
