//! The random ops of TensorFlow that have a state.

use crate::op::OpDef;
use crate::ops::image::distorted_box;
use crate::ops::random::{candidates, categorical, crop, gamma, poisson, shuffle, stateless, truncated};

/// Returns the op that makes the numbers of a random op of TensorFlow.
pub(super) fn definition(op: &str) -> Option<&'static OpDef> {
    Some(match op {
        _ if distribution(op).is_some() => &candidates::WITH_STATE,
        "Multinomial" => &categorical::WITH_STATE,
        "ParameterizedTruncatedNormal" => &truncated::WITH_STATE,
        "RandomCrop" => &crop::WITH_STATE,
        "RandomGamma" => &gamma::WITH_STATE,
        "RandomPoisson" | "RandomPoissonV2" => &poisson::WITH_STATE,
        "RandomShuffle" => &shuffle::WITH_STATE,
        "RandomStandardNormal" => &stateless::NORMAL_WITH_STATE,
        "RandomUniform" => &stateless::UNIFORM_WITH_STATE,
        "RandomUniformInt" => &stateless::INT_WITH_STATE,
        "SampleDistortedBoundingBox" | "SampleDistortedBoundingBoxV2" => &distorted_box::WITH_STATE,
        "TruncatedNormal" => &stateless::TRUNCATED_WITH_STATE,
        _ => return None,
    })
}

/// Returns whether the op type is a random op with a state.
pub(super) fn is_random_op(op: &str) -> bool {
    definition(op).is_some()
}

/// Returns the distribution of a sampler of classes: the value of attribute `distribution` of our op.
pub(super) fn distribution(op: &str) -> Option<&'static str> {
    Some(match op {
        "AllCandidateSampler" => "all",
        "FixedUnigramCandidateSampler" => "fixed",
        "LearnedUnigramCandidateSampler" | "ThreadUnsafeUnigramCandidateSampler" => "learned",
        "LogUniformCandidateSampler" => "log_uniform",
        "UniformCandidateSampler" => "uniform",
        _ => return None,
    })
}
