//! [`IntoOutputs`]: the ways to name the outputs of a compilation.

use crate::graph::{AnyValue, RaggedValue, Value};

/// The outputs of a compilation: one value, several values, or several values with names. Values may be dense or
/// ragged; a tuple mixes both.
///
/// ```
/// use shapeflow::{Graph, ragged};
///
/// let g = Graph::new();
/// let rows = g.ragged_constant(&ragged![[1, 2], [], [3]])?;
/// let exe = g.compile((("rows", rows * 10), ("sums", rows.reduce_sum(1)?)))?;
/// let results = exe.run_named(&[])?;
/// assert_eq!(results.ragged("rows")?.to_string(), "[[10, 20], [], [30]]");
/// assert_eq!(results.tensor("sums")?.to_vec::<i32>()?, [3, 0, 3]);
/// # Ok::<(), shapeflow::Error>(())
/// ```
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

/// Dense or ragged outputs with names; see [`Results::ragged`](crate::Results::ragged).
impl<'g, V: Into<AnyValue<'g>> + Copy> IntoOutputs<'g> for &[(&str, V)] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self.iter().flat_map(|(name, output)| (*output).into().parts(name)).collect()
    }
}

impl<'g, V: Into<AnyValue<'g>> + Copy, const N: usize> IntoOutputs<'g> for &[(&str, V); N] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self[..].into_outputs()
    }
}

impl<'g, V: Into<AnyValue<'g>> + Copy, const N: usize> IntoOutputs<'g> for [(&str, V); N] {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self[..].into_outputs()
    }
}

impl<'g, V: Into<AnyValue<'g>> + Copy> IntoOutputs<'g> for Vec<(&str, V)> {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self[..].into_outputs()
    }
}

/// One output with a name.
impl<'g, V: Into<AnyValue<'g>>> IntoOutputs<'g> for (&str, V) {
    fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
        self.1.into().parts(self.0)
    }
}

/// Outputs with names, some of them dense and some ragged: `(("sums", sums), ("rows", rows))`.
macro_rules! tuples {
    ($(($($V:ident $output:ident),+))*) => {$(
        impl<'g, $($V: Into<AnyValue<'g>>),+> IntoOutputs<'g> for ($((&str, $V)),+) {
            fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
                let ($($output),+) = self;
                [$($output.into_outputs()),+].into_iter().flatten().collect()
            }
        }
    )*};
}

tuples! {
    (A a, B b)
    (A a, B b, C c)
    (A a, B b, C c, D d)
    (A a, B b, C c, D d, E e)
    (A a, B b, C c, D d, E e, F f)
    (A a, B b, C c, D d, E e, F f, G g)
    (A a, B b, C c, D d, E e, F f, G g, H h)
}
