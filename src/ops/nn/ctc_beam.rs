//! `Beam`: the most probable sequences of labels, found by one time step after the other.

use std::collections::HashMap;

use crate::error::{Error, ErrorKind, Phase, Result};
use crate::ops::unstable_order::Greatest;

/// The logarithm of the probability 0.
const NEVER: f64 = f64::NEG_INFINITY;

/// Rounds a number to f32 if the scores are f32.
pub(super) fn rounded(x: f64, is_single: bool) -> f64 {
    if is_single { f64::from(x as f32) } else { x }
}

/// The logarithms of the probabilities of the paths that give a sequence of labels.
#[derive(Clone, Copy)]
struct Probability {
    total: f64,
    /// The paths that end in a blank.
    blank: f64,
    /// The paths that end in the last label.
    label: f64,
}

impl Probability {
    const ZERO: Probability = Probability { total: NEVER, blank: NEVER, label: NEVER };
}

/// A sequence of labels: the labels of its parent, and one label more. The root has no labels.
struct LabelSequence {
    parent: Option<usize>,
    label: usize,
    /// The probabilities before the current time step.
    old: Probability,
    /// The probabilities after the current time step; 0 if the sequence is not in the beam.
    new: Probability,
}

/// The label of the root, which equals no class.
const NO_LABEL: usize = usize::MAX;

/// The most probable sequences of labels.
pub(super) struct Beam {
    width: usize,
    is_single: bool,
    /// All sequences that were ever in the beam. The first one is the root.
    entries: Vec<LabelSequence>,
    /// The number of each entry, by the number of its parent and its label.
    children: HashMap<(usize, usize), usize>,
    /// The entries that are in the beam: the `width` most probable ones.
    members: Greatest,
}

/// Returns whether the first entry is more probable than the second one.
fn is_better(entries: &[LabelSequence]) -> impl Fn(&usize, &usize) -> bool + Copy {
    |a: &usize, b: &usize| entries[*a].new.total > entries[*b].new.total
}

impl Beam {
    /// Makes a beam that holds the sequence without labels. The arithmetic is in f32 if `is_single`, else in f64.
    pub(super) fn new(width: usize, is_single: bool) -> Beam {
        let certain = Probability { total: 0.0, blank: 0.0, label: NEVER };
        let root = LabelSequence { parent: None, label: NO_LABEL, old: Probability::ZERO, new: certain };
        let entries = vec![root];
        let mut members = Greatest::new(width);
        members.push(0, is_better(&entries));
        Beam { width, is_single, entries, children: HashMap::new(), members }
    }

    fn round(&self, x: f64) -> f64 {
        rounded(x, self.is_single)
    }

    /// Returns `log(exp(a) + exp(b))`: the greater number plus `log1p(exp(low - high))`. As in TensorFlow, this term is
    /// computed in f32 even if the scores are f64, by the functions of the system's C library. Any other rounding could
    /// tell probabilities apart that are equal in TensorFlow, and so change the order of the sequences.
    fn log_sum(&self, a: f64, b: f64) -> f64 {
        if a == NEVER || b == NEVER {
            return if a == NEVER { b } else { a };
        }
        let (high, low) = if a > b { (a, b) } else { (b, a) };
        let ratio = ((low - high) as f32).exp();
        self.round(high + f64::from(ratio.ln_1p()))
    }

    /// Returns the logarithm of the sum of `exp` of these scores.
    fn log_sum_of_all(&self, scores: &[f64]) -> f64 {
        let most = scores.iter().copied().fold(NEVER, f64::max);
        let log = match self.is_single {
            true => {
                let sum: f32 = scores.iter().map(|score| ((score - most) as f32).exp()).sum();
                f64::from(sum.ln())
            }
            false => scores.iter().map(|score| (score - most).exp()).sum::<f64>().ln(),
        };
        self.round(most + log)
    }

    /// Advances by one time step. `scores` has a score for each class; the last class is the blank.
    ///
    /// # Errors
    /// `Memory`: an allocation fails.
    pub(super) fn step(&mut self, scores: &[f64]) -> Result<()> {
        let [labels @ .., blank] = scores else { return Ok(()) };
        let offset = self.log_sum_of_all(scores);
        let members = self.members.take(is_better(&self.entries));
        for member in &members {
            self.entries[*member].old = self.entries[*member].new;
        }
        for member in &members {
            self.go_on(*member, labels, *blank, offset);
            self.members.push(*member, is_better(&self.entries));
        }
        for member in members {
            if !self.is_candidate(self.entries[member].old.total) {
                continue;
            }
            for (label, score) in labels.iter().enumerate() {
                self.grow(member, label, self.round(score - offset))?;
            }
        }
        Ok(())
    }

    /// Computes the probabilities of a sequence in the beam after the current time step.
    fn go_on(&mut self, member: usize, labels: &[f64], blank: f64, offset: f64) {
        let entry = &self.entries[member];
        let mut label = entry.new.label;
        if let Some(parent) = entry.parent {
            let parent = &self.entries[parent];
            if parent.new.total != NEVER {
                let before = if entry.label == parent.label { parent.old.blank } else { parent.old.total };
                label = self.log_sum(label, before);
            }
            label = self.round(label + self.round(labels[entry.label] - offset));
        }
        let blank = self.round(self.round(entry.old.total + blank) - offset);
        let total = self.log_sum(blank, label);
        self.entries[member].new = Probability { total, blank, label };
    }

    /// Returns whether a sequence with this probability is put into the beam.
    fn is_candidate(&mut self, total: f64) -> bool {
        if total == NEVER || !self.members.is_full() {
            return total > NEVER;
        }
        let least = self.members.least(is_better(&self.entries));
        least.is_some_and(|least| total > self.entries[least].new.total)
    }

    /// Adds a label to a sequence, if the longer sequence is not in the beam and is more probable than one there.
    /// `log_probability` is that of the label at the current time step.
    fn grow(&mut self, member: usize, label: usize, log_probability: f64) -> Result<()> {
        let known = self.children.get(&(member, label)).copied();
        if known.is_some_and(|child| self.entries[child].new.total != NEVER) {
            return Ok(());
        }
        let parent = &self.entries[member];
        let before = if parent.label == label { parent.old.blank } else { parent.old.total };
        let total = self.round(log_probability + before);
        if !self.is_candidate(total) {
            if let Some(child) = known {
                self.entries[child].old = Probability::ZERO;
                self.entries[child].new = Probability::ZERO;
            }
            return Ok(());
        }
        let new = Probability { total, blank: NEVER, label: total };
        let child = match known {
            Some(child) => child,
            None => self.insert(member, label)?,
        };
        if self.members.is_full()
            && let Some(least) = self.members.least(is_better(&self.entries))
        {
            self.entries[least].new = Probability::ZERO;
        }
        self.entries[child].new = new;
        self.members.push(child, is_better(&self.entries));
        Ok(())
    }

    fn insert(&mut self, parent: usize, label: usize) -> Result<usize> {
        let no_memory = || Error::new(ErrorKind::Memory, Phase::Run, "out of memory: the beam is too large");
        self.entries.try_reserve(1).map_err(|_| no_memory())?;
        self.children.try_reserve(1).map_err(|_| no_memory())?;
        let child = self.entries.len();
        let zero = Probability::ZERO;
        self.entries.push(LabelSequence { parent: Some(parent), label, old: zero, new: zero });
        self.children.insert((parent, label), child);
        Ok(child)
    }

    /// Returns the labels and the logarithms of the probabilities of the `count` most probable sequences; `None` if the
    /// beam holds fewer. `is_merged` drops a label that follows an equal label.
    pub(super) fn best(&self, count: usize, is_merged: bool) -> Option<Vec<(Vec<usize>, f64)>> {
        if count > self.members.items().len().min(self.width) {
            return None;
        }
        let mut best = Greatest::new(count);
        for member in self.members.items() {
            best.push(*member, is_better(&self.entries));
        }
        let best = best.take(is_better(&self.entries));
        Some(
            best.into_iter()
                .map(|member| (self.labels(member, is_merged), self.entries[member].new.total))
                .collect(),
        )
    }

    fn labels(&self, member: usize, is_merged: bool) -> Vec<usize> {
        let (mut labels, mut entry) = (Vec::new(), &self.entries[member]);
        while let Some(parent) = entry.parent {
            labels.push(entry.label);
            entry = &self.entries[parent];
        }
        labels.reverse();
        if is_merged {
            labels.dedup();
        }
        labels
    }
}
