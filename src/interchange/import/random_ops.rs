//! The random ops of TensorFlow that have a state.

use crate::op::OpDef;
use crate::ops::random::{categorical, gamma, poisson, shuffle, stateless, truncated};

/// Returns the op that makes the numbers of a random op of TensorFlow.
pub(super) fn definition(op: &str) -> Option<&'static OpDef> {
    Some(match op {
        "Multinomial" => &categorical::WITH_STATE,
        "ParameterizedTruncatedNormal" => &truncated::WITH_STATE,
        "RandomGamma" => &gamma::WITH_STATE,
        "RandomPoissonV2" => &poisson::WITH_STATE,
        "RandomShuffle" => &shuffle::WITH_STATE,
        "RandomStandardNormal" => &stateless::NORMAL_WITH_STATE,
        "RandomUniform" => &stateless::UNIFORM_WITH_STATE,
        "RandomUniformInt" => &stateless::INT_WITH_STATE,
        "TruncatedNormal" => &stateless::TRUNCATED_WITH_STATE,
        _ => return None,
    })
}

/// Returns whether the op type is a random op with a state.
pub(super) fn is_random_op(op: &str) -> bool {
    definition(op).is_some()
}
