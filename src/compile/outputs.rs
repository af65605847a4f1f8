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

/// Implements [`IntoOutputs`] for slices, arrays and vectors of one element type. `$into` converts a slice.
macro_rules! lists {
    ($([$($generics:tt)*] $Element:ty, |$outputs:ident| $into:expr;)*) => {$(
        impl<'g, $($generics)*> IntoOutputs<'g> for &[$Element] {
            fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
                let $outputs = self;
                $into
            }
        }

        impl<'g, $($generics)* const N: usize> IntoOutputs<'g> for &[$Element; N] {
            fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
                self[..].into_outputs()
            }
        }

        impl<'g, $($generics)* const N: usize> IntoOutputs<'g> for [$Element; N] {
            fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
                self[..].into_outputs()
            }
        }

        impl<'g, $($generics)*> IntoOutputs<'g> for Vec<$Element> {
            fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
                self[..].into_outputs()
            }
        }

        impl<'g, $($generics)*> IntoOutputs<'g> for &Vec<$Element> {
            fn into_outputs(self) -> Vec<(Option<String>, Value<'g>)> {
                self[..].into_outputs()
            }
        }
    )*};
}
lists! {
    [] Value<'g>, |outputs| outputs.iter().map(|value| (None, *value)).collect();
    [] RaggedValue<'g>, |outputs| unnamed(outputs.iter().map(|output| (*output).into()));
    [] AnyValue<'g>, |outputs| unnamed(outputs.iter().copied());
    [S: AsRef<str>, V: Into<AnyValue<'g>> + Copy,] (S, V), |outputs| {
        outputs.iter().flat_map(|(name, output)| (*output).into().parts(name.as_ref())).collect()
    };
}

/// Returns outputs to which the caller gives no names. The tensors of a ragged output get names from its name or its
/// number, by which [`Results::ragged_at`](crate::Results::ragged_at) joins them.
fn unnamed<'g>(outputs: impl Iterator<Item = AnyValue<'g>>) -> Vec<(Option<String>, Value<'g>)> {
    let parts = outputs.enumerate().map(|(number, output)| match output {
        AnyValue::Dense(value) => vec![(None, value)],
        AnyValue::Ragged(ragged) => output.parts(&ragged.name().unwrap_or_else(|| format!("output{number}"))),
    });
    parts.flatten().collect()
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
