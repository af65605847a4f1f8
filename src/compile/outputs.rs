//! [`IntoOutputs`]: the ways to name the outputs of a compilation.

use crate::graph::{AnyValue, RaggedValue, Value};

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

impl<'g> IntoOutputs<'g> for RaggedValue<'g> {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        AnyValue::Ragged(self).into_outputs()
    }
}

impl<'g> IntoOutputs<'g> for AnyValue<'g> {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        (&[self]).into_outputs()
    }
}

/// Dense and ragged outputs. A ragged output has several tensors. [`Results::ragged_at`](crate::Results::ragged_at)
/// joins them.
impl<'g> IntoOutputs<'g> for &[AnyValue<'g>] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        let parts = self.iter().enumerate().map(|(number, output)| match output {
            AnyValue::Dense(value) => vec![(None, *value)],
            AnyValue::Ragged(_) => output.parts(&format!("output{number}")),
        });
        parts.flatten().collect()
    }
}

impl<'g, const N: usize> IntoOutputs<'g> for &[AnyValue<'g>; N] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self[..].into_outputs()
    }
}

/// Dense and ragged outputs with names; see [`Results::ragged`](crate::Results::ragged).
impl<'g> IntoOutputs<'g> for &[(&str, AnyValue<'g>)] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self.iter().flat_map(|(name, output)| output.parts(name)).collect()
    }
}

impl<'g, const N: usize> IntoOutputs<'g> for [(&str, AnyValue<'g>); N] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        (&self[..]).into_outputs()
    }
}
