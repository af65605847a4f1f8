//! `sample_candidates` and `accidental_hits`: random classes for losses that compare the true class with few others.

use shapeflow_shape_fns::{Attribute, Attrs, DType, counted};

use super::philox::Philox;
use super::state::stream_of_state;
use super::stateless::check_state;
use super::words::RandomWords;
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::tensor::{Tensor, filled_vec};

pub(crate) static ALL: &[&OpDef] = &[&HITS, &WITH_STATE];

/// An op for import only: `true_classes i64[b, num_true] -> i64[num_sampled], f32[b, num_true], f32[num_sampled]`, with
/// the key, the counter and the algorithm of a generator. Samples classes from 0 to `range_max - 1`, and returns how
/// often each true class and each sample is expected. Attribute `distribution` names the probabilities: `uniform`,
/// `log_uniform`, `learned` (before it has learned: uniform), `all` (every class once) or `fixed` (attribute
/// `unigrams`). As TensorFlow's `UniformCandidateSampler`, `LogUniformCandidateSampler`,
/// `LearnedUnigramCandidateSampler`, `ThreadUnsafeUnigramCandidateSampler`, `AllCandidateSampler` and
/// `FixedUnigramCandidateSampler`. Runs on the host.
pub(crate) static WITH_STATE: OpDef = OpDef::host("sample_candidates_with_state", |cx| {
    let stream = stream_of_state(cx, 1)?;
    run(cx, stream)
})
.attrs(&[
    Attribute::str("distribution"),
    Attribute::int("num_true"),
    Attribute::int("num_sampled"),
    Attribute::bool("unique"),
    Attribute::int_or("range_max", 0),
    Attribute::floats_or("unigrams", &[]),
    Attribute::float_or("distortion", 1.0),
    Attribute::int_or("num_reserved_ids", 0),
    Attribute::int_or("num_shards", 1),
    Attribute::int_or("shard", 0),
    Attribute::bytes_or("vocab_file", ""),
])
.operands(&[
    Operand::Data("true_classes"),
    Operand::Data("key"),
    Operand::Data("counter"),
    Operand::Data("alg"),
])
.outputs(|_, _| 3)
.shape_fn(shapeflow_shape_fns::random::candidates)
.dtype_rule(|operands, attrs| {
    check_state(operands, 0)?;
    check_classes(&operands[..operands.len().saturating_sub(3)])?;
    Distribution::of(attrs).map_err(|message| Error::new(ErrorKind::Attribute, Phase::Build, message))?;
    Ok(vec![DType::I64, DType::F32, DType::F32])
});

/// An op for import only: `true_classes i64[b, num_true], sampled_candidates i64[s] -> i32[u], i64[u], f32[u]`: the row
/// of each true class that is among the samples, the position of this sample, and the lowest f32. As TensorFlow's
/// `ComputeAccidentalHits`. Runs on the host.
pub(crate) static HITS: OpDef = OpDef::host("accidental_hits", hits)
    .attrs(&[
        Attribute::int("num_true"),
        // TensorFlow's kernel ignores the seeds.
        Attribute::int_or("seed", 0),
        Attribute::int_or("seed2", 0),
    ])
    .operands(&[Operand::Data("true_classes"), Operand::Data("sampled_candidates")])
    .outputs(|_, _| 3)
    .shape_fn(shapeflow_shape_fns::random::accidental_hits)
    .dtype_rule(|operands, _| {
        check_classes(operands)?;
        Ok(vec![DType::I32, DType::I64, DType::F32])
    })
    .tensorflow(&[TfOp::new("ComputeAccidentalHits")]);

fn check_classes(operands: &[DType]) -> Result<()> {
    match operands.iter().find(|dtype| **dtype != DType::I64) {
        Some(other) => dtype::refuse(format!("classes must be i64, got {other}")),
        None => Ok(()),
    }
}

/// The probabilities of classes.
enum Distribution {
    /// Each class below the limit is equally likely.
    Uniform { classes: u64 },
    /// As [`Distribution::Uniform`], drawn from words of 32 bits.
    Narrow { classes: u32 },
    /// Class `c` has the probability `ln((c + 2) / (c + 1)) / ln(classes + 1)`.
    LogUniform { classes: u64 },
    /// Every class is drawn once, in order.
    All { classes: u64 },
    /// The probability of a class is its weight divided by the total.
    Fixed { weights: Vec<f32>, total: f32 },
}

impl Distribution {
    /// Reads the attributes.
    ///
    /// # Errors
    /// An attribute is out of range.
    fn of(attrs: &Attrs) -> std::result::Result<Distribution, String> {
        let sampled = attrs.int("num_sampled");
        let distribution = match attrs.str("distribution") {
            "all" => Distribution::All { classes: sampled.max(0).unsigned_abs() },
            name => {
                let classes = match attrs.int("range_max") {
                    classes @ 1.. => classes.unsigned_abs(),
                    classes => return Err(format!("range_max must be at least 1, got {classes}")),
                };
                match (name, u32::try_from(classes)) {
                    ("uniform", _) => Distribution::Uniform { classes },
                    ("log_uniform", _) => Distribution::LogUniform { classes },
                    ("learned", Ok(classes)) if classes < i32::MAX as u32 => Distribution::Narrow { classes },
                    ("learned", _) => {
                        return Err(format!("range_max must be less than 2147483647, got {classes}"));
                    }
                    ("fixed", _) => fixed(attrs, classes)?,
                    (other, _) => {
                        return Err(format!("distribution must name a distribution, got {other:?}"));
                    }
                }
            }
        };
        if attrs.bool("unique") && sampled.max(0).unsigned_abs() > distribution.classes() {
            let classes = distribution.classes();
            return Err(format!(
                "num_sampled must be at most the number of classes, {classes}, got {sampled}"
            ));
        }
        Ok(distribution)
    }

    fn classes(&self) -> u64 {
        match self {
            Distribution::Uniform { classes }
            | Distribution::LogUniform { classes }
            | Distribution::All { classes } => *classes,
            Distribution::Narrow { classes } => u64::from(*classes),
            Distribution::Fixed { weights, .. } => weights.len() as u64,
        }
    }

    fn probability(&self, class: i64) -> f32 {
        match self {
            Distribution::Uniform { classes } => (1.0 / *classes as f64) as f32,
            Distribution::Narrow { classes } => 1.0 / *classes as f32,
            Distribution::All { .. } => 1.0,
            Distribution::LogUniform { classes } => {
                let (above, below) = (class as f64 + 2.0, class as f64 + 1.0);
                ((above / below).ln() / (*classes as f64).ln_1p()) as f32
            }
            Distribution::Fixed { weights, total } => weights[class as usize] / total,
        }
    }
}

/// Reads the attributes of a distribution with given weights.
fn fixed(attrs: &Attrs, classes: u64) -> std::result::Result<Distribution, String> {
    if !attrs.bytes("vocab_file").is_empty() {
        return Err("unigrams must be given, not a vocab_file: a graph does not read files".to_string());
    }
    let given = attrs.floats("unigrams");
    if given.is_empty() {
        return Err("unigrams must be given, got none".to_string());
    }
    let (shards, shard) = (attrs.int("num_shards"), attrs.int("shard"));
    if shards < 1 || !(0..shards).contains(&shard) {
        return Err(format!("shard must be from 0 to num_shards - 1, got shard {shard} of {shards}"));
    }
    let reserved = attrs.int("num_reserved_ids");
    // There are `classes` weights, so more reserved classes are an error below.
    let reserved = reserved
        .clamp(0, i64::try_from(classes).unwrap_or(i64::MAX).saturating_mul(shards).saturating_add(1));
    let is_here = |class: &i64| class % shards == shard;
    let zeros = (reserved - shard).max(0).unsigned_abs().div_ceil(shards.unsigned_abs());
    if zeros > classes {
        return Err(format!("num_reserved_ids must be at most the number of classes, {classes}"));
    }
    let zeros = usize::try_from(zeros).map_err(|_| "num_reserved_ids must fit memory".to_string())?;
    let mut weights = filled_vec(zeros, 0.0f32).map_err(|error| error.message().to_string())?;
    // As TensorFlow: the classes after the reserved ones are numbered from the number of reserved weights on.
    let first = zeros as i64;
    let distortion = attrs.float("distortion") as f32;
    let mut total = 0.0f32;
    for (number, weight) in given.iter().enumerate() {
        if is_here(&(first + number as i64)) {
            let weight = (*weight as f32).powf(distortion);
            total += weight;
            weights.push(weight);
        }
    }
    match weights.len() as u64 {
        count if count == classes => Ok(Distribution::Fixed { weights, total }),
        count => Err(format!("range_max must be the number of weights, {count}, got {classes}")),
    }
}

/// The tables of the alias method of Walker, "An efficient method for generating discrete random variables with general
/// distributions" (1977): one column for each class. A part of the column may belong to another class.
struct Aliases {
    /// The part of the column of a class that is its own, and the class of the rest.
    columns: Vec<(f32, usize)>,
}

impl Aliases {
    fn new(weights: &[f32]) -> Aliases {
        let sum = weights.iter().fold(0.0f64, |sum, weight| sum + f64::from(*weight));
        let count = weights.len() as f32;
        let mut parts: Vec<f64> = weights.iter().map(|weight| f64::from(weight * count) / sum).collect();
        let (mut low, mut high): (Vec<usize>, Vec<usize>) =
            (0..parts.len()).partition(|class| parts[*class] < 1.0);
        let mut others: Vec<usize> = (0..parts.len()).collect();
        while let (Some(&short), Some(&long)) = (low.last(), high.last()) {
            low.pop();
            high.pop();
            others[short] = long;
            parts[long] -= 1.0 - parts[short];
            if parts[long] < 1.0 { &mut low } else { &mut high }.push(long);
        }
        // Rounding errors leave columns that are nearly whole.
        for class in low.into_iter().chain(high) {
            (parts[class], others[class]) = (1.0, class);
        }
        Aliases { columns: parts.into_iter().map(|part| part as f32).zip(others).collect() }
    }

    fn draw(&self, words: &mut RandomWords) -> usize {
        let part = words.unit_f32();
        let class = words.below(self.columns.len() as u32) as usize;
        let (own, other) = self.columns[class];
        if part < own { class } else { other }
    }
}

/// Returns how often a class of this probability is expected among `count` samples, for which `tries` classes were
/// drawn.
fn expected(probability: f32, count: usize, tries: usize) -> f32 {
    match tries == count {
        true => probability * count as f32,
        // 1 - (1 - p)^tries
        false => -(tries as f32 * (-probability).ln_1p()).exp_m1(),
    }
}

fn run(cx: &mut HostCx<'_>, stream: Philox) -> Result<()> {
    let distribution = Distribution::of(cx.attrs()).expect("the dtype rule has checked the attributes");
    let truth = cx.input(0)?;
    let sizes = truth.sizes().to_vec();
    let truth = truth.to_vec::<i64>()?;
    let classes = distribution.classes();
    if let Some(class) = truth.iter().find(|class| !u64::try_from(**class).is_ok_and(|class| class < classes))
    {
        let message = format!("a true class must lie in [0, {classes}), got {class}");
        return Err(Error::new(ErrorKind::Index, Phase::Run, message));
    }
    let count = usize::try_from(cx.attrs().int("num_sampled")).unwrap_or(0);
    let mut samples = crate::tensor::reserved_vec::<i64>(count)?;
    let mut words = RandomWords::new(stream);
    let aliases = match &distribution {
        Distribution::Fixed { weights, .. } => Some(Aliases::new(weights)),
        _ => None,
    };
    let mut draw = || match &distribution {
        Distribution::Uniform { classes } => words.wide_below(*classes) as i64,
        Distribution::Narrow { classes } => i64::from(words.below(*classes)),
        Distribution::LogUniform { classes } => {
            let drawn = (words.unit_f64() * (*classes as f64).ln_1p()).exp() as i64 - 1;
            // A rounding error may give the number of classes itself.
            drawn % *classes as i64
        }
        Distribution::Fixed { .. } => {
            aliases.as_ref().expect("fixed weights have a table").draw(&mut words) as i64
        }
        Distribution::All { .. } => unreachable!("all classes are not drawn"),
    };
    let mut tries = count;
    if matches!(distribution, Distribution::All { .. }) {
        samples.extend(0..count as i64);
    } else if cx.attrs().bool("unique") {
        let mut used = std::collections::HashSet::new();
        tries = 0;
        while samples.len() < count {
            tries += 1;
            if tries >= i32::MAX as usize || tries.is_multiple_of(1 << 16) && cx.is_cancelled() {
                let message = format!(
                    "there must be {count} of some probability, got {}",
                    samples.len(),
                    count = counted(count, "class")
                );
                return Err(Error::new(ErrorKind::Attribute, Phase::Run, message));
            }
            let class = draw();
            if used.insert(class) {
                samples.push(class);
            }
        }
    } else {
        samples.extend((0..count).map(|_| draw()));
    }
    let expected_of = |class: &i64| match distribution {
        Distribution::All { .. } => 1.0,
        _ => expected(distribution.probability(*class), count, tries),
    };
    let [of_truth, of_samples] = [&truth, &samples].map(|classes| classes.iter().map(expected_of).collect());
    cx.set_output(0, Tensor::from_vec(&[count], samples)?)?;
    cx.set_output(1, Tensor::from_vec(&sizes, of_truth)?)?;
    cx.set_output(2, Tensor::from_vec(&[count], of_samples)?)
}

fn hits(cx: &mut HostCx<'_>) -> Result<()> {
    let (truth, samples) = (cx.input(0)?, cx.input(1)?.to_vec::<i64>()?);
    let columns = truth.sizes().last().copied().unwrap_or(0);
    // The last one of equal samples counts.
    let places: std::collections::HashMap<i64, usize> =
        samples.iter().enumerate().map(|(place, class)| (*class, place)).collect();
    let (mut rows, mut ids) = (Vec::new(), Vec::new());
    for (number, class) in truth.to_vec::<i64>()?.iter().enumerate() {
        if let Some(place) = places.get(class) {
            let row = i32::try_from(number / columns).map_err(|_| {
                Error::new(ErrorKind::Shape, Phase::Run, "the number of rows must fit i32".to_string())
            })?;
            rows.push(row);
            ids.push(*place as i64);
        }
    }
    let count = rows.len();
    cx.set_output(0, Tensor::from_vec(&[count], rows)?)?;
    cx.set_output(1, Tensor::from_vec(&[count], ids)?)?;
    cx.set_output(2, Tensor::from_vec(&[count], vec![f32::MIN; count])?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run as run_op, shape_table, tensor};

    fn attrs(distribution: &str, sampled: i64, unique: bool) -> Attrs {
        let attrs =
            Attrs::new().with("distribution", distribution).with("num_true", 2).with("unique", unique);
        attrs.with("num_sampled", sampled).with("range_max", 10)
    }

    shape_table! { WITH_STATE, {"distribution": "uniform", "num_true": 2, "num_sampled": 5, "unique": true, "range_max": 9},
        "i64[b, 2]; u64[1]; u64[2]; i32[]" => "i64[5]; f32[b, 2]; f32[5]",
        "i32[b, 2]; u64[1]; u64[2]; i32[]" => error "classes must be i64, got i32",
        "i64[b, 3]; u64[1]; u64[2]; i32[]" => error "must have 2 columns",
    }
    shape_table! { few: WITH_STATE, {"distribution": "learned", "num_true": 2, "num_sampled": 5, "unique": true, "range_max": 4},
        "i64[b, 2]; u64[1]; u64[2]; i32[]" => error "num_sampled must be at most the number of classes, 4, got 5",
    }
    shape_table! { weights: WITH_STATE, {"distribution": "fixed", "num_true": 2, "num_sampled": 5, "unique": false, "range_max": 4, "unigrams": &[0.5, 1.0][..]},
        "i64[b, 2]; u64[1]; u64[2]; i32[]" => error "range_max must be the number of weights, 2, got 4",
    }
    shape_table! { of_hits: HITS, {"num_true": 2},
        "i64[b, 2]; i64[s]" => "i32[?]; i64[?]; f32[?]",
        "i64[b, 2]; i32[s]" => error "classes must be i64, got i32",
    }

    fn sampled(attrs: &Attrs, seed: u64) -> (Vec<i64>, Vec<f32>, Vec<f32>) {
        let truth = tensor(&[1, 2], &[0i64, 7]);
        let state = [tensor(&[1], &[seed]), tensor(&[2], &[2u64, 3]), tensor(&[], &[1i32])];
        let outputs = run_op(&WITH_STATE, attrs, &[&[truth][..], &state].concat()).unwrap();
        let floats = |output: usize| outputs[output].to_vec::<f32>().unwrap();
        (outputs[0].to_vec().unwrap(), floats(1), floats(2))
    }

    #[test]
    fn samples_have_their_probabilities() {
        let unigrams = [4.0, 1.0, 0.0, 2.0, 1.0, 1.0, 3.0, 5.0, 1.0, 2.0];
        for name in ["uniform", "log_uniform", "learned", "fixed"] {
            let attrs = attrs(name, 20_000, false).with("unigrams", &unigrams[..]);
            let (samples, of_truth, of_samples) = sampled(&attrs, 5);
            let mut counts = [0.0f32; 10];
            samples.iter().for_each(|class| counts[*class as usize] += 1.0);
            for (class, expected) in samples.iter().zip(&of_samples).chain([0, 7].iter().zip(&of_truth)) {
                let count = counts[*class as usize];
                assert!((count - expected).abs() < 300.0, "{name}: {count} of {class}, not {expected}");
            }
            assert_eq!(counts[2] == 0.0, name == "fixed");
        }
    }

    #[test]
    fn unique_samples_differ() {
        for name in ["uniform", "log_uniform", "learned", "all"] {
            let (mut samples, of_truth, of_samples) = sampled(&attrs(name, 10, true), 9);
            samples.sort_unstable();
            assert!(samples.into_iter().eq(0..10), "{name}");
            assert!(of_truth.iter().chain(&of_samples).all(|count| (0.5..=1.0).contains(count)), "{name}");
        }
    }

    #[test]
    fn columns_of_aliases_add_up_to_the_weights() {
        for weights in [&[1.0f32][..], &[1.0, 3.0], &[0.0, 0.5, 7.0, 0.25, 2.0], &[1.0; 7]] {
            let aliases = Aliases::new(weights);
            let mut parts = vec![0.0f64; weights.len()];
            for (class, (own, other)) in aliases.columns.iter().enumerate() {
                parts[class] += f64::from(*own);
                parts[*other] += 1.0 - f64::from(*own);
            }
            let total: f32 = weights.iter().sum();
            for (part, weight) in parts.iter().zip(weights) {
                let expected = f64::from(weight / total) * weights.len() as f64;
                assert!((part - expected).abs() < 1e-5, "{weights:?}: {part}, not {expected}");
            }
        }
    }

    #[test]
    fn hits_are_the_true_classes_among_the_samples() {
        let operands = [tensor(&[3, 2], &[1i64, 2, 3, 4, 2, 9]), tensor(&[4], &[2i64, 7, 2, 3])];
        let outputs = run_op(&HITS, &Attrs::new().with("num_true", 2), &operands).unwrap();
        assert_eq!(outputs[0].to_vec::<i32>().unwrap(), [0, 1, 2]);
        assert_eq!(outputs[1].to_vec::<i64>().unwrap(), [2, 3, 2]);
        assert_eq!(outputs[2].to_vec::<f32>().unwrap(), [f32::MIN; 3]);
    }
}
