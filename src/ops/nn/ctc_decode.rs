//! `ctc_greedy_decoder`, `ctc_beam_search_decoder`: the labels of sequences of scores, by connectionist temporal
//! classification (CTC).

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use super::ctc_beam::{Beam, rounded};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::array::unstack::exactly;
use crate::ops::row_major::RowMajor;
use crate::shape_fns;
use crate::tensor::{Tensor, reserved_vec};

/// The greatest number of paths of a beam search.
const MAX_PATHS: i64 = 4096;

impl<'g> Value<'g> {
    /// Decodes sequences of scores: takes the class with the highest score at each time, drops repetitions if
    /// `merge_repeated` is set, and drops the class `blank`. A negative `blank` counts from the number of classes.
    /// Returns a sparse matrix of labels, as indices, values and shape, and the sum of the highest scores, negated.
    ///
    /// `[t, b, c], lengths i32[b] -> i64[?, 2], i64[?], i64[2], [b, 1]`, f32 or f64. Row `i` of the matrix holds the
    /// labels of sequence `i`, which has `lengths[i]` times. Of equal scores, the first one counts. As TensorFlow's
    /// `CTCGreedyDecoder`. Runs on the host.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let scores = g.constant([[[0.9f32, 0.1, 0.0]], [[0.8, 0.1, 0.1]], [[0.1, 0.2, 0.7]], [[0.2, 0.7, 0.1]]])?;
    /// let outputs = scores.ctc_greedy_decoder(g.constant([4])?, true, -1)?;
    /// let [indices, labels, shape, score] = g.compile(outputs)?.run(&[])?;
    /// assert_eq!(labels.to_vec::<i64>()?, [0, 1]);
    /// assert_eq!((indices.to_vec::<i64>()?, shape.to_vec::<i64>()?), (vec![0, 0, 0, 1], vec![1, 2]));
    /// assert!((score.to_vec::<f32>()?[0] + 3.1).abs() < 1e-6);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A rank is wrong, the batch sizes differ, or a dtype is not supported. The run fails if a length exceeds `t`,
    /// `blank` is not a class, or `self` has no elements.
    #[track_caller]
    pub fn ctc_greedy_decoder(
        self,
        lengths: impl IntoOperand<'g>,
        merge_repeated: bool,
        blank: i64,
    ) -> Result<[Value<'g>; 4]> {
        let location = Location::caller();
        let call = self.graph().op(&GREEDY).data(self).data(lengths.into_own_operand(self.graph(), location));
        let call = call.attr("merge_repeated", merge_repeated).attr("blank_index", blank);
        exactly(call.finish_all_at(location)?.into_vec())
    }

    /// Decodes sequences of scores by a beam search: the probabilities of a class at each time are the softmax of the
    /// scores, and the probability of a sequence of labels is the sum over all paths that give these labels. A path
    /// gives its classes without repetitions and without the last class, the blank. The search keeps the `beam_width`
    /// most probable sequences at each time. With `merge_repeated`, a label that follows an equal label is dropped from
    /// the result.
    ///
    /// `[t, b, c], lengths i32[b]`, f32 or f64. The outputs are the indices `i64[?, 2]` of all `top_paths` sparse
    /// matrices of labels, then their values `i64[?]`, then their shapes `i64[2]`, and `[b, top_paths]`, the logarithms
    /// of the probabilities. Row `i` of a matrix holds the labels of sequence `i`, which has `lengths[i]` times. As
    /// TensorFlow's `CTCBeamSearchDecoder`, whose sums of probabilities have the precision of f32 even in f64.
    /// Sequences of labels with equal probabilities may be in another order than in TensorFlow. Runs on the host.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let scores = g.constant([[[0.3f32, 0.7]], [[0.4, 0.6]]])?.log()?;
    /// let outputs = scores.ctc_beam_search_decoder(g.constant([2])?, 4, 2, false)?;
    /// let outputs = g.compile(&outputs[..])?.run_all(&[])?;
    /// // The label 0 has the probability 0.58, although the best path has no label.
    /// assert_eq!((outputs[2].to_vec::<i64>()?, outputs[3].to_vec::<i64>()?), (vec![0], vec![]));
    /// assert!((outputs[6].to_vec::<f32>()?[0] - 0.58f32.ln()).abs() < 1e-6);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A rank is wrong, the batch sizes differ, a dtype is not supported, `beam_width` is less than 1, or `top_paths`
    /// is not from 1 to 4096. The run fails if a length exceeds `t`, `self` has no elements, or a sequence has fewer
    /// than `top_paths` sequences of labels in the beam.
    #[track_caller]
    pub fn ctc_beam_search_decoder(
        self,
        lengths: impl IntoOperand<'g>,
        beam_width: i64,
        top_paths: i64,
        merge_repeated: bool,
    ) -> Result<Vec<Value<'g>>> {
        let location = Location::caller();
        let call = self.graph().op(&BEAM).data(self).data(lengths.into_own_operand(self.graph(), location));
        let call = call.attr("beam_width", beam_width).attr("top_paths", top_paths);
        Ok(call.attr("merge_repeated", merge_repeated).finish_all_at(location)?.into_vec())
    }
}

pub(crate) static GREEDY: OpDef = OpDef::host("ctc_greedy_decoder", run_greedy)
    .attrs(&[Attribute::bool_or("merge_repeated", false), Attribute::int_or("blank_index", -1)])
    .operands(&[Operand::Data("inputs"), Operand::Data("sequence_length")])
    .outputs(|_, _| 4)
    .shape_fn(shape_fns::ctc::ctc_decode)
    .dtype_rule(|dtypes, _| output_dtypes(dtypes, 1))
    .tensorflow(&[TfOp::new("CTCGreedyDecoder")]);

pub(crate) static BEAM: OpDef = OpDef::host("ctc_beam_search_decoder", run_beam)
    .attrs(&[
        Attribute::int("beam_width"),
        Attribute::int("top_paths"),
        Attribute::bool_or("merge_repeated", true),
    ])
    .operands(&[Operand::Data("inputs"), Operand::Data("sequence_length")])
    .outputs(|attrs, _| 3 * path_count(attrs) + 1)
    .shape_fn(shape_fns::ctc::ctc_decode)
    .dtype_rule(|dtypes, attrs| {
        for (name, most) in [("top_paths", MAX_PATHS), ("beam_width", i64::from(i32::MAX))] {
            let got = attrs.int(name);
            if !(1..=most).contains(&got) {
                let message = format!("{name} must be from 1 to {most}, got {got}");
                return Err(Error::new(ErrorKind::Attribute, Phase::Build, message));
            }
        }
        output_dtypes(dtypes, path_count(attrs))
    })
    .tensorflow(&[TfOp::new("CTCBeamSearchDecoder")]);

/// Returns the number of paths, within its limits.
fn path_count(attrs: &Attrs) -> usize {
    attrs.int("top_paths").clamp(1, MAX_PATHS) as usize
}

fn output_dtypes(dtypes: &[DType], paths: usize) -> Result<Vec<DType>> {
    let x = dtype::common(dtypes, 0, 1, dtype::Class::Float)?;
    if !matches!(x, DType::F32 | DType::F64) {
        return dtype::refuse(format!("inputs must be f32 or f64, got {x}"));
    }
    if let Some(other) = dtypes.get(1).filter(|dtype| **dtype != DType::I32) {
        return dtype::refuse(format!("sequence_length must be i32, got {other}"));
    }
    let mut all = vec![DType::I64; 3 * paths];
    all.push(x);
    Ok(all)
}

/// The scores of a batch of sequences.
struct Scores {
    numbers: Vec<f64>,
    lengths: Vec<usize>,
    classes: usize,
    is_single: bool,
}

impl Scores {
    /// Reads the operands.
    ///
    /// # Errors
    /// There are no scores, or a length exceeds the number of times.
    fn read(cx: &HostCx<'_>) -> Result<Scores> {
        let x = RowMajor::new(cx.input(0)?)?;
        let x = x.view();
        let (&[times, _, classes], lengths) = (x.sizes(), cx.input(1)?.to_vec::<i32>()?) else {
            unreachable!("the shape function checks the rank");
        };
        if x.is_empty() {
            return refuse(format!("inputs must have elements, got sizes {:?}", x.sizes()));
        }
        if let Some(length) = lengths.iter().find(|length| usize::try_from(**length).is_ok_and(|n| n > times))
        {
            return refuse(format!(
                "sequence_length must be at most {times}, the number of times, got {length}"
            ));
        }
        let mut numbers = reserved_vec(x.len())?;
        let is_single = x.dtype() == DType::F32;
        match is_single {
            true => numbers.extend(x.as_slice::<f32>()?.iter().map(|x| f64::from(*x))),
            false => numbers.extend_from_slice(x.as_slice::<f64>()?),
        }
        // A negative length counts as 0.
        let lengths = lengths.into_iter().map(|length| usize::try_from(length).unwrap_or(0)).collect();
        Ok(Scores { numbers, lengths, classes, is_single })
    }

    /// Returns the scores of a sequence at each of its times.
    fn rows(&self, sequence: usize) -> impl Iterator<Item = &[f64]> {
        let row = move |time: usize| {
            let start = (time * self.lengths.len() + sequence) * self.classes;
            &self.numbers[start..start + self.classes]
        };
        (0..self.lengths[sequence]).map(row)
    }
}

fn run_greedy(cx: &mut HostCx<'_>) -> Result<()> {
    let scores = Scores::read(cx)?;
    let (blank, classes) = (cx.attrs().int("blank_index"), scores.classes as i64);
    let blank_class = if blank < 0 { classes + blank } else { blank };
    if !(0..classes).contains(&blank_class) {
        return refuse(format!("blank_index must be from {} to {}, got {blank}", -classes, classes - 1));
    }
    let is_merged = cx.attrs().bool("merge_repeated");
    let (mut labels, mut sums) = (Vec::new(), Vec::new());
    for sequence in 0..scores.lengths.len() {
        let (mut sum, mut last, mut found) = (0.0, None, Vec::new());
        for row in scores.rows(sequence) {
            let best =
                (1..row.len()).fold(0, |best, class| if row[class] > row[best] { class } else { best });
            sum = rounded(sum - row[best], scores.is_single);
            if best as i64 != blank_class && !(is_merged && last == Some(best)) {
                found.push(best);
            }
            last = Some(best);
        }
        labels.push(vec![found]);
        sums.push(sum);
    }
    set_outputs(cx, &labels, 1, &sums)
}

fn run_beam(cx: &mut HostCx<'_>) -> Result<()> {
    let scores = Scores::read(cx)?;
    let (paths, width) = (path_count(cx.attrs()), cx.attrs().int("beam_width") as usize);
    let is_merged = cx.attrs().bool("merge_repeated");
    if paths > width {
        return refuse(format!("top_paths must be at most beam_width, got {paths} and {width}"));
    }
    let (mut labels, mut sums) = (Vec::new(), Vec::new());
    for sequence in 0..scores.lengths.len() {
        let mut beam = Beam::new(width, scores.is_single);
        for row in scores.rows(sequence) {
            beam.step(row)?;
        }
        let Some(best) = beam.best(paths, is_merged) else {
            return refuse(format!(
                "the beam must hold top_paths sequences of labels, got fewer than {paths}"
            ));
        };
        sums.extend(best.iter().map(|(_, probability)| probability));
        labels.push(best.into_iter().map(|(labels, _)| labels).collect());
    }
    set_outputs(cx, &labels, paths, &sums)
}

/// Makes the outputs. `labels[i][p]` has the labels of path `p` of sequence `i`.
fn set_outputs(cx: &mut HostCx<'_>, labels: &[Vec<Vec<usize>>], paths: usize, sums: &[f64]) -> Result<()> {
    for path in 0..paths {
        let of_path = || labels.iter().map(|paths| &paths[path]);
        let count = of_path().map(Vec::len).sum();
        let longest = of_path().map(Vec::len).max().unwrap_or(0);
        let mut indices = reserved_vec(2 * count)?;
        let mut values = reserved_vec(count)?;
        for (sequence, labels) in of_path().enumerate() {
            for (place, label) in labels.iter().enumerate() {
                indices.extend([sequence as i64, place as i64]);
                values.push(*label as i64);
            }
        }
        cx.set_output(path, Tensor::from_vec(&[count, 2], indices)?)?;
        cx.set_output(paths + path, Tensor::from_vec(&[count], values)?)?;
        let shape = vec![labels.len() as i64, longest as i64];
        cx.set_output(2 * paths + path, Tensor::from_vec(&[2], shape)?)?;
    }
    let mut output = cx.unfilled_output(3 * paths, &[labels.len(), paths])?;
    match output.dtype() {
        DType::F32 => {
            for (slot, sum) in output.as_mut_slice::<f32>()?.iter_mut().zip(sums) {
                *slot = *sum as f32;
            }
        }
        _ => output.as_mut_slice::<f64>()?.copy_from_slice(sums),
    }
    Ok(())
}

fn refuse<T>(message: String) -> Result<T> {
    Err(Error::new(ErrorKind::Attribute, Phase::Run, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};

    shape_table! { GREEDY, {},
        "[t, b, c]; i32[b]" => "i64[?, 2]; i64[?]; i64[2]; [b, 1]",
        "[t, b, c]; i64[b]" => error "sequence_length must be i32, got i64",
        "f16[t, b, c]; i32[b]" => error "inputs must be f32 or f64, got f16",
    }
    shape_table! { beam: BEAM, {"beam_width": 3, "top_paths": 2},
        "f64[t, b, c]; i32[b]" => "i64[?, 2]; i64[?, 2]; i64[?]; i64[?]; i64[2]; i64[2]; f64[b, 2]",
    }
    shape_table! { paths: BEAM, {"beam_width": 3, "top_paths": 5000},
        "f64[t, b, c]; i32[b]" => error "top_paths must be from 1 to 4096, got 5000",
    }

    /// The logarithm of the probability of each sequence of labels, by a loop over all paths.
    fn all_paths(rows: &[[f64; 3]]) -> Vec<(Vec<i64>, f64)> {
        let mut sums = std::collections::BTreeMap::<Vec<i64>, f64>::new();
        for path in 0..3usize.pow(rows.len() as u32) {
            let classes: Vec<usize> =
                (0..rows.len()).map(|time| path / 3usize.pow(time as u32) % 3).collect();
            let mut labels = classes.clone();
            labels.dedup();
            let labels = labels.into_iter().filter(|label| *label != 2).map(|label| label as i64).collect();
            let of_row = |(row, class): (&[f64; 3], &usize)| {
                row[*class].exp() / row.iter().map(|x| x.exp()).sum::<f64>()
            };
            *sums.entry(labels).or_default() += rows.iter().zip(&classes).map(of_row).product::<f64>();
        }
        let mut sums: Vec<_> = sums.into_iter().map(|(labels, sum)| (labels, sum.ln())).collect();
        sums.sort_by(|a, b| b.1.total_cmp(&a.1));
        sums
    }

    #[test]
    fn a_wide_beam_finds_the_sums_over_all_paths() {
        let mut state = 3u32;
        for times in 1..6 {
            let rows: Vec<[f64; 3]> = (0..times)
                .map(|_| {
                    [0; 3].map(|_| {
                        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        f64::from(state >> 8) / f64::from(1 << 22) - 2.0
                    })
                })
                .collect();
            let expected = all_paths(&rows);
            let attrs =
                Attrs::new().with("beam_width", 500).with("top_paths", 3).with("merge_repeated", false);
            let operands = [tensor(&[times, 1, 3], rows.as_flattened()), tensor(&[1], &[times as i32])];
            let outputs = run(&BEAM, &attrs, &operands).unwrap();
            let probabilities = outputs[9].to_vec::<f64>().unwrap();
            for (path, (labels, sum)) in expected.iter().take(3).enumerate() {
                assert_eq!(&outputs[3 + path].to_vec::<i64>().unwrap(), labels);
                assert!((probabilities[path] - sum).abs() < 1e-6);
            }
        }
    }

    #[test]
    fn lengths_and_blanks_are_checked() {
        let x = tensor(&[1, 1, 3], &[0.0f32, 1.0, 2.0]);
        let refused = |attrs: &Attrs, lengths: i32| {
            let error = run(&GREEDY, attrs, &[x.clone(), tensor(&[1], &[lengths])]).unwrap_err();
            error.message().to_string()
        };
        assert!(refused(&Attrs::new(), 2).contains("must be at most 1, the number of times, got 2"));
        assert!(refused(&Attrs::new().with("blank_index", 3), 1).contains("from -3 to 2, got 3"));
        let outputs = run(&GREEDY, &Attrs::new(), &[x, tensor(&[1], &[-5i32])]).unwrap();
        assert_eq!((outputs[1].len(), outputs[3].to_vec::<f32>().unwrap()), (0, vec![0.0]));
    }
}
