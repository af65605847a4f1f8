//! `ctc_loss`: the negative log probability of labels by connectionist temporal classification (CTC), and its gradient.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, DType, counted};

use super::ctc_beam::rounded;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::array::unstack::exactly;
use crate::ops::row_major::RowMajor;
use crate::shape_fns;
use crate::tensor::reserved_vec;

/// How [`Value::ctc_loss`] reads labels and paths.
///
/// ```
/// assert!(shapeflow::CtcLossOptions::default().merge_repeated);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CtcLossOptions {
    /// Replaces repeated labels of a sequence by one label.
    pub collapse_repeated: bool,
    /// Repeated classes of a path without a blank between them give one label. Otherwise each gives a label.
    pub merge_repeated: bool,
    /// A sequence with more labels than times has the loss 0 and the gradient 0. Otherwise it fails the run.
    pub ignore_longer: bool,
}

impl Default for CtcLossOptions {
    /// TensorFlow's defaults: only `merge_repeated` is set.
    fn default() -> CtcLossOptions {
        CtcLossOptions { collapse_repeated: false, merge_repeated: true, ignore_longer: false }
    }
}

impl<'g> Value<'g> {
    /// Computes the negative logarithm of the probability of the labels of each sequence, and the gradient of its sum
    /// with respect to the scores. The probabilities of the classes at each time are the softmax of the scores. The
    /// probability of labels is the sum over all paths of classes that give these labels. The last class is the blank.
    ///
    /// `[t, b, c], labels_indices i64[n, 2], labels_values i32[n], lengths i32[b] -> [b], [t, b, c]`, f32 or f64. The
    /// label `labels_values[i]` belongs to sequence `labels_indices[i, 0]`; the indices ascend. Sequence `i` has
    /// `lengths[i]` times; the gradient of later times is 0. Labels that no path gives have an infinite loss. As
    /// TensorFlow's `CTCLoss`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{CtcLossOptions, Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let scores = g.constant([[[0.0f32, 0.0]], [[0.0, 0.0]]])?;
    /// let (indices, labels, lengths) = (g.constant([[0i64, 0]])?, g.constant([0])?, g.constant([2])?);
    /// let [loss, gradient] = scores.ctc_loss(indices, labels, lengths, CtcLossOptions::default())?;
    /// let [loss, gradient] = g.compile([loss, gradient])?.run(&[])?;
    /// // Three of the four paths give the label.
    /// loss.allclose(&Tensor::from([-0.75f32.ln()]), 1e-6, 0.0).unwrap();
    /// gradient.allclose(&Tensor::from([[[-1.0f32 / 6.0, 1.0 / 6.0]]; 2]), 1e-5, 1e-6).unwrap();
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A rank is wrong, the batch sizes or the numbers of labels differ, or a dtype is not supported. The run fails if
    /// `self` has no elements, an index is out of range or not greater than the index before it, a sequence has no
    /// labels, a label is negative or follows a blank, a length is negative or exceeds `t`, or a sequence has more
    /// labels than times.
    #[track_caller]
    pub fn ctc_loss(
        self,
        labels_indices: impl IntoOperand<'g>,
        labels_values: impl IntoOperand<'g>,
        lengths: impl IntoOperand<'g>,
        options: CtcLossOptions,
    ) -> Result<[Value<'g>; 2]> {
        let location = Location::caller();
        let call =
            self.graph().op(&DEF).data(self).data(labels_indices.into_own_operand(self.graph(), location));
        let call = call.data(labels_values.into_own_operand(self.graph(), location));
        let call = call.data(lengths.into_own_operand(self.graph(), location));
        let call = call.attr("preprocess_collapse_repeated", options.collapse_repeated);
        let call = call.attr("ctc_merge_repeated", options.merge_repeated);
        let call = call.attr("ignore_longer_outputs_than_inputs", options.ignore_longer);
        exactly(call.finish_all_at(location)?.into_vec())
    }
}

pub(crate) static DEF: OpDef = OpDef::host("ctc_loss", run)
    .attrs(&[
        Attribute::bool_or("preprocess_collapse_repeated", false),
        Attribute::bool_or("ctc_merge_repeated", true),
        Attribute::bool_or("ignore_longer_outputs_than_inputs", false),
    ])
    .operands(&[
        Operand::Data("inputs"),
        Operand::Data("labels_indices"),
        Operand::Data("labels_values"),
        Operand::Data("sequence_length"),
    ])
    .outputs(|_, _| 2)
    .shape_fn(shape_fns::ctc::ctc_loss)
    .dtype_rule(|dtypes, _| {
        let x = dtype::common(dtypes, 0, 1, dtype::Class::Float)?;
        if !matches!(x, DType::F32 | DType::F64) {
            return dtype::refuse(format!("inputs must be f32 or f64, got {x}"));
        }
        let names = ["labels_indices", "labels_values", "sequence_length"];
        let expected = [DType::I64, DType::I32, DType::I32];
        for ((name, expected), got) in names.into_iter().zip(expected).zip(&dtypes[1..]) {
            if *got != expected {
                return dtype::refuse(format!("{name} must be {expected}, got {got}"));
            }
        }
        Ok(vec![x; 2])
    })
    .tensorflow(&[TfOp::new("CTCLoss")]);

fn refuse<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Data, Phase::Run, message))
}

/// Returns the labels of each sequence, as given.
///
/// # Errors
/// An index is out of range or not greater than the index before it, or a sequence has no labels.
fn labels_of(cx: &HostCx<'_>, batch: usize) -> Result<Vec<Vec<i32>>> {
    let indices = cx.input(1)?.to_vec::<i64>()?;
    let values = cx.input(2)?.to_vec::<i32>()?;
    let mut labels = vec![Vec::new(); batch];
    let mut before = None;
    if indices.len() != 2 * values.len() {
        return refuse(format!("labels_indices must have 2 columns, got sizes {:?}", cx.input(1)?.sizes()));
    }
    for (pair, label) in indices.as_chunks::<2>().0.iter().zip(values) {
        let sequence = usize::try_from(pair[0]).ok().and_then(|sequence| labels.get_mut(sequence));
        let Some(sequence) = sequence.filter(|_| pair[1] >= 0) else {
            return refuse(format!(
                "a row of labels_indices must be a sequence from 0 to {} and an index of at least 0, got {pair:?}",
                batch as i64 - 1
            ));
        };
        if before.is_some_and(|before| before >= *pair) {
            return refuse(format!(
                "the indices of labels must ascend, got {pair:?} after {:?}",
                before.unwrap_or_default()
            ));
        }
        before = Some(*pair);
        sequence.push(label);
    }
    match labels.iter().position(Vec::is_empty) {
        Some(sequence) => refuse(format!("each sequence must have labels, got none for sequence {sequence}")),
        None => Ok(labels),
    }
}

/// Returns the labels of a sequence with a blank before each of them and after the last one. Labels from `blank` on
/// are dropped.
///
/// # Errors
/// A label is negative or follows a dropped label.
fn with_blanks(labels: &[i32], blank: usize, collapses: bool) -> Result<Vec<usize>> {
    let (mut all, mut is_over) = (vec![blank], false);
    for (i, label) in labels.iter().enumerate() {
        if collapses && i > 0 && labels[i - 1] == *label {
            continue;
        }
        let Ok(class) = usize::try_from(*label) else {
            return refuse(format!("a label must not be negative, got {label}"));
        };
        if class >= blank {
            is_over = true;
        } else if is_over {
            return refuse(format!("labels must not follow a label of at least {blank}, got {labels:?}"));
        } else {
            all.extend([class, blank]);
        }
    }
    Ok(all)
}

/// Returns `ln(exp(a) + exp(b))`.
fn log_add(a: f64, b: f64) -> f64 {
    let (less, greater) = if a < b { (a, b) } else { (b, a) };
    if less == f64::NEG_INFINITY { greater } else { greater + (less - greater).exp().ln_1p() }
}

/// The probabilities of a sequence: `classes` numbers for each time.
struct Sequence<'a> {
    probabilities: &'a [f64],
    classes: usize,
    blank: usize,
    /// The labels with blanks.
    labels: &'a [usize],
    /// Whether repeated classes of a path give one label.
    merges: bool,
}

impl Sequence<'_> {
    /// Returns the logarithm of the probability of label `u` at a time.
    fn log(&self, time: usize, u: usize) -> f64 {
        self.probabilities[time * self.classes + self.labels[u]].ln()
    }

    /// Returns whether label `u` may follow itself at the next time.
    fn may_stay(&self, u: usize) -> bool {
        self.merges || self.labels[u] == self.blank
    }

    /// Returns whether label `u + 2` may follow label `u`, without the blank between them.
    fn may_skip(&self, u: usize) -> bool {
        self.labels[u + 2] != self.blank && !(self.merges && self.labels[u] == self.labels[u + 2])
    }

    /// Returns for each time and label the logarithm of the probability of all paths up to this time that end with this
    /// label.
    fn forward(&self, times: usize) -> Result<Vec<f64>> {
        let count = self.labels.len();
        let mut sums = reserved_vec(times.saturating_mul(count))?;
        sums.resize(times * count, f64::NEG_INFINITY);
        for (u, sum) in sums.iter_mut().take(count.min(2)).enumerate() {
            *sum = self.log(0, u);
        }
        for time in 1..times {
            let (before, now) = sums[(time - 1) * count..(time + 1) * count].split_at_mut(count);
            for (u, sum) in now.iter_mut().enumerate() {
                if self.may_stay(u) {
                    *sum = before[u];
                }
                if u > 0 {
                    *sum = log_add(*sum, before[u - 1]);
                }
                if u > 1 && self.may_skip(u - 2) {
                    *sum = log_add(*sum, before[u - 2]);
                }
                *sum += self.log(time, u);
            }
        }
        Ok(sums)
    }

    /// Returns for each time and label the logarithm of the probability of all paths after this time that complete the
    /// labels after this label.
    fn backward(&self, times: usize) -> Result<Vec<f64>> {
        let count = self.labels.len();
        let mut sums = reserved_vec(times.saturating_mul(count))?;
        sums.resize(times * count, f64::NEG_INFINITY);
        for u in count.saturating_sub(2)..count {
            sums[(times - 1) * count + u] = 0.0;
        }
        for time in (0..times - 1).rev() {
            let (now, after) = sums[time * count..(time + 2) * count].split_at_mut(count);
            for (u, sum) in now.iter_mut().enumerate() {
                if self.may_stay(u) {
                    *sum = after[u] + self.log(time + 1, u);
                }
                if u + 1 < count {
                    *sum = log_add(*sum, after[u + 1] + self.log(time + 1, u + 1));
                }
                if u + 2 < count && self.may_skip(u) {
                    *sum = log_add(*sum, after[u + 2] + self.log(time + 1, u + 2));
                }
            }
        }
        Ok(sums)
    }

    /// Returns the loss, and the gradient for each time and class. `times` is at least 1.
    fn loss(&self, times: usize) -> Result<(f64, Vec<f64>)> {
        let count = self.labels.len();
        let mut both = self.forward(times)?;
        for (forward, backward) in both.iter_mut().zip(self.backward(times)?) {
            *forward += backward;
        }
        let total = both[..count].iter().fold(f64::NEG_INFINITY, |sum, path| log_add(sum, *path));
        let mut gradient = self.probabilities.to_vec();
        // If no path gives the labels, the gradient is the probabilities.
        if total == f64::NEG_INFINITY {
            return Ok((f64::INFINITY, gradient));
        }
        let mut sums = vec![f64::NEG_INFINITY; self.classes];
        for (gradient, both) in gradient.chunks_exact_mut(self.classes).zip(both.chunks_exact(count)) {
            sums.fill(f64::NEG_INFINITY);
            for (class, path) in self.labels.iter().zip(both) {
                sums[*class] = log_add(sums[*class], *path);
            }
            for (gradient, sum) in gradient.iter_mut().zip(&sums) {
                *gradient -= (sum - total).exp();
            }
        }
        Ok((-total, gradient))
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let (x, lengths) = (x.view(), cx.input(3)?.to_vec::<i32>()?);
    let &[times, batch, classes] = x.sizes() else {
        unreachable!("the shape function checks the rank");
    };
    if x.is_empty() {
        return refuse(format!("inputs must have elements, got sizes {:?}", x.sizes()));
    }
    let is_single = x.dtype() == DType::F32;
    let mut scores = reserved_vec(x.len())?;
    match is_single {
        true => scores.extend(x.as_slice::<f32>()?.iter().map(|x| f64::from(*x))),
        false => scores.extend_from_slice(x.as_slice::<f64>()?),
    }
    let attrs = cx.attrs();
    let collapses = attrs.bool("preprocess_collapse_repeated");
    let merges = attrs.bool("ctc_merge_repeated");
    let ignores = attrs.bool("ignore_longer_outputs_than_inputs");
    let given = labels_of(cx, batch)?;
    let mut losses = vec![0.0; batch];
    let mut gradient = reserved_vec(x.len())?;
    gradient.resize(x.len(), 0.0);
    for (sequence, (given, length)) in given.iter().zip(lengths).enumerate() {
        let Some(length) = usize::try_from(length).ok().filter(|length| *length <= times) else {
            return refuse(format!(
                "sequence_length must be from 0 to {times}, the number of times, got {length}"
            ));
        };
        let labels = with_blanks(given, classes - 1, collapses)?;
        if given.len() > length {
            if ignores {
                continue;
            }
            return refuse(format!(
                "a sequence must have at least as many times as labels, got {length} and {} for \
                 sequence {sequence}",
                counted(given.len(), "label"),
                length = counted(length, "time")
            ));
        }
        let start_of = |time: usize| (time * batch + sequence) * classes;
        let mut probabilities = reserved_vec(length * classes)?;
        for time in 0..length {
            let row = &scores[start_of(time)..][..classes];
            let greatest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let start = probabilities.len();
            probabilities.extend(row.iter().map(|x| rounded((x - greatest).exp(), is_single)));
            let sum: f64 = probabilities[start..].iter().sum();
            for probability in &mut probabilities[start..] {
                *probability = rounded(*probability / sum, is_single);
            }
        }
        let blank = classes - 1;
        let (loss, of_sequence) =
            Sequence { probabilities: &probabilities, classes, blank, labels: &labels, merges }
                .loss(length)?;
        losses[sequence] = loss;
        for (time, row) in of_sequence.chunks_exact(classes).enumerate() {
            gradient[start_of(time)..][..classes].copy_from_slice(row);
        }
    }
    for (i, (sizes, numbers)) in
        [(vec![batch], losses), (x.sizes().to_vec(), gradient)].into_iter().enumerate()
    {
        let mut output = cx.unfilled_output(i, &sizes)?;
        match is_single {
            true => {
                for (slot, number) in output.as_mut_slice::<f32>()?.iter_mut().zip(numbers) {
                    *slot = number as f32;
                }
            }
            false => output.as_mut_slice::<f64>()?.copy_from_slice(&numbers),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::Attrs;

    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { DEF, {},
        "[t, b, c]; i64[n, 2]; i32[n]; i32[b]" => "[b]; [t, b, c]",
        "f64[t, b, c]; i64[n, 2]; i32[n]; i32[b]" => "f64[b]; f64[t, b, c]",
        "f16[t, b, c]; i64[n, 2]; i32[n]; i32[b]" => error "inputs must be f32 or f64, got f16",
        "[t, b, c]; i32[n, 2]; i32[n]; i32[b]" => error "labels_indices must be i64, got i32",
        "[t, b, c]; i64[n, 2]; i32[n]; i64[b]" => error "sequence_length must be i32, got i64",
        "[t, 2, c]; i64[n, 2]; i32[n]; i32[3]" => error "the batch sizes",
    }

    /// The labels that a path gives.
    fn labels_of_path(path: &[usize], blank: usize, merges: bool) -> Vec<i32> {
        let of_time = |(time, class): (usize, &usize)| {
            let is_repeated = merges && time > 0 && path[time - 1] == *class;
            (*class != blank && !is_repeated).then_some(*class as i32)
        };
        path.iter().enumerate().filter_map(of_time).collect()
    }

    /// The loss of one sequence, by a loop over all paths.
    fn naive(scores: &[f64], classes: usize, labels: &[i32], merges: bool) -> f64 {
        let times = scores.len() / classes;
        let mut sum = 0.0;
        for number in 0..classes.pow(times as u32) {
            let path: Vec<usize> =
                (0..times).map(|time| number / classes.pow(time as u32) % classes).collect();
            if labels_of_path(&path, classes - 1, merges) == labels {
                let of_time = |(time, class): (usize, &usize)| {
                    let row = &scores[time * classes..][..classes];
                    row[*class].exp() / row.iter().map(|x| x.exp()).sum::<f64>()
                };
                sum += path.iter().enumerate().map(of_time).product::<f64>();
            }
        }
        -sum.ln()
    }

    fn outputs(scores: &[f64], classes: usize, labels: &[i32], merges: bool) -> Result<Vec<Vec<f64>>> {
        let times = scores.len() / classes;
        let indices: Vec<i64> = (0..labels.len() as i64).flat_map(|place| [0, place]).collect();
        let operands = [
            tensor(&[times, 1, classes], scores),
            tensor(&[labels.len(), 2], &indices),
            tensor(&[labels.len()], labels),
            tensor(&[1], &[times as i32]),
        ];
        let attrs = Attrs::new().with("ctc_merge_repeated", merges);
        run(&DEF, &attrs, &operands)?.iter().map(|output| output.to_vec::<f64>()).collect()
    }

    #[test]
    fn losses_are_sums_over_all_paths_and_gradients_are_their_slopes() {
        let mut state = 5u32;
        let mut draw = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f64::from(state >> 8) / f64::from(1 << 22) - 2.0
        };
        for (times, labels) in
            [(1, &[1][..]), (3, &[0, 1]), (4, &[1, 1]), (5, &[0, 1, 0]), (3, &[0, 0, 1]), (5, &[1])]
        {
            let scores: Vec<f64> = (0..times * 3).map(|_| draw()).collect();
            for merges in [true, false] {
                let expected = naive(&scores, 3, labels, merges);
                let got = outputs(&scores, 3, labels, merges).unwrap();
                if expected == f64::INFINITY {
                    assert_eq!(got[0], [f64::INFINITY], "{labels:?}");
                    continue;
                }
                assert!((got[0][0] - expected).abs() < 1e-12, "{labels:?}: {} and {expected}", got[0][0]);
                for (position, slope) in got[1].iter().enumerate() {
                    let [low, high] = [-1e-5, 1e-5].map(|step| {
                        let mut moved = scores.clone();
                        moved[position] += step;
                        naive(&moved, 3, labels, merges)
                    });
                    assert!((slope - (high - low) / 2e-5).abs() < 1e-8, "{labels:?} {position}");
                }
            }
        }
    }

    #[test]
    fn only_blanks_are_one_path() {
        let scores = [0.5, 1.0, -1.0, 2.0, 0.0, 0.25];
        let got = outputs(&scores, 3, &[2], true).unwrap();
        assert!((got[0][0] - naive(&scores, 3, &[], true)).abs() < 1e-12);
    }

    #[test]
    fn bad_labels_fail_the_run() {
        let scores = [0.0; 6];
        for (labels, message) in [
            (&[-1][..], "a label must not be negative, got -1"),
            (&[2, 1], "labels must not follow a label of at least 2"),
            (&[], "each sequence must have labels, got none for sequence 0"),
            (&[0, 1, 0], "got 2 times and 3 labels for sequence 0"),
        ] {
            let error = outputs(&scores, 3, labels, true).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
        for (indices, message) in [
            ([0i64, 1, 0, 0], "the indices of labels must ascend, got [0, 0] after [0, 1]"),
            ([0, 0, 0, 0], "must ascend"),
            ([0, 0, 1, 0], "must be a sequence from 0 to 0"),
            ([0, -1, 0, 0], "an index of at least 0, got [0, -1]"),
        ] {
            let operands = [
                tensor(&[2, 1, 3], &scores),
                tensor(&[2, 2], &indices),
                tensor(&[2], &[0, 1]),
                tensor(&[1], &[2]),
            ];
            let error = run(&DEF, &Attrs::new(), &operands).unwrap_err();
            assert!(error.message().contains(message), "{error}");
        }
    }
}
