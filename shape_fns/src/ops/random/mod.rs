//! Shape functions of random numbers, samplers and shuffles.

mod generator;
mod numbers;
mod samples;
mod shuffle;

pub use generator::generator_state;
pub use numbers::{numbers, numbers_of_each, truncated, truncated_stateless};
pub use samples::{accidental_hits, candidates, multinomial, sobol};
pub use shuffle::{crop, index_shuffle, shuffle};

use crate::common;
use crate::infer::registered::{Registered, row};

#[rustfmt::skip]
pub(crate) static OPS: &[Registered] = &[
    row("AllCandidateSampler", &["true_classes"], candidates).outputs(Some(3)),
    row("ComputeAccidentalHits", &["true_classes", "sampled_candidates"], accidental_hits).outputs(Some(3)),
    row("FixedUnigramCandidateSampler", &["true_classes"], candidates).outputs(Some(3)),
    row("LearnedUnigramCandidateSampler", &["true_classes"], candidates).outputs(Some(3)),
    row("LogUniformCandidateSampler", &["true_classes"], candidates).outputs(Some(3)),
    row("Multinomial", &["logits", "num_samples"], multinomial),
    row("NonDeterministicInts", &["shape"], numbers),
    row("ParameterizedTruncatedNormal", &["shape", "means", "stdevs", "minvals", "maxvals"], truncated),
    row("RandomCrop", &["image", "size"], crop),
    row("RandomGamma", &["shape", "alpha"], numbers_of_each),
    row("RandomGammaGrad", &["alpha", "sample"], common::broadcast),
    row("RandomIndexShuffle", &["index", "seed", "max_index"], index_shuffle),
    row("RandomPoisson", &["shape", "rate"], numbers_of_each),
    row("RandomPoissonV2", &["shape", "rate"], numbers_of_each),
    row("RandomShuffle", &["value"], shuffle),
    row("RandomStandardNormal", &["shape"], numbers),
    row("RandomUniform", &["shape"], numbers),
    row("RandomUniformInt", &["shape", "minval", "maxval"], numbers),
    row("SobolSample", &["dim", "num_results", "skip"], sobol),
    row("StatelessMultinomial", &["logits", "num_samples", "seed"], multinomial),
    row("StatelessParameterizedTruncatedNormal", &["shape", "seed", "means", "stddevs", "minvals", "maxvals"], truncated_stateless),
    row("StatelessRandomBinomial", &["shape", "seed", "counts", "probs"], numbers),
    row("StatelessRandomGammaV2", &["shape", "seed", "alpha"], numbers),
    row("StatelessRandomGammaV3", &["shape", "key", "counter", "alg", "alpha"], numbers),
    row("StatelessRandomGetAlg", &[], generator_state),
    row("StatelessRandomGetKeyCounter", &["seed"], generator_state).outputs(Some(2)),
    row("StatelessRandomGetKeyCounterAlg", &["seed"], generator_state).outputs(Some(3)),
    row("StatelessRandomNormal", &["shape", "seed"], numbers),
    row("StatelessRandomNormalV2", &["shape", "key", "counter", "alg"], numbers),
    row("StatelessRandomPoisson", &["shape", "seed", "lam"], numbers),
    row("StatelessRandomUniform", &["shape", "seed"], numbers),
    row("StatelessRandomUniformFullInt", &["shape", "seed"], numbers),
    row("StatelessRandomUniformFullIntV2", &["shape", "key", "counter", "alg"], numbers),
    row("StatelessRandomUniformInt", &["shape", "seed", "minval", "maxval"], numbers),
    row("StatelessRandomUniformIntV2", &["shape", "key", "counter", "alg", "minval", "maxval"], numbers),
    row("StatelessRandomUniformV2", &["shape", "key", "counter", "alg"], numbers),
    row("StatelessShuffle", &["value", "key", "counter", "alg"], shuffle),
    row("StatelessTruncatedNormal", &["shape", "seed"], numbers),
    row("StatelessTruncatedNormalV2", &["shape", "key", "counter", "alg"], numbers),
    row("ThreadUnsafeUnigramCandidateSampler", &["true_classes"], candidates).outputs(Some(3)),
    row("TruncatedNormal", &["shape"], numbers),
    row("UniformCandidateSampler", &["true_classes"], candidates).outputs(Some(3)),
];
