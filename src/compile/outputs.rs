//! [`IntoOutputs`]: the ways to name the outputs of a compilation.

use crate::graph::Value;

/// The outputs of a compilation: one value, several values, or several values with names.
pub trait IntoOutputs<'g> {
    #[doc(hidden)]
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)>;
}

impl<'g> IntoOutputs<'g> for Value<'g> {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        vec![(None, self)]
    }
}

impl<'g> IntoOutputs<'g> for &[Value<'g>] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self.iter().map(|value| (None, *value)).collect()
    }
}

impl<'g> IntoOutputs<'g> for Vec<Value<'g>> {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self[..].into_outputs()
    }
}

impl<'g> IntoOutputs<'g> for &Vec<Value<'g>> {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self[..].into_outputs()
    }
}

impl<'g, const N: usize> IntoOutputs<'g> for &[Value<'g>; N] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self[..].into_outputs()
    }
}

impl<'g, const N: usize> IntoOutputs<'g> for [Value<'g>; N] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self[..].into_outputs()
    }
}

impl<'g, const N: usize> IntoOutputs<'g> for [(&str, Value<'g>); N] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self[..].into_outputs()
    }
}

impl<'g> IntoOutputs<'g> for &[(&str, Value<'g>)] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self.iter().map(|(name, value)| (Some((*name).to_string()), *value)).collect()
    }
}
