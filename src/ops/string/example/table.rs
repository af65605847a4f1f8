//! [`FeatureTable`]: the features that a parser looks for, and their values in all examples.

use std::collections::HashMap;

use shapeflow_shape_fns::DType;

use super::elements::{Damaged, Elements, Values};
use super::wire::{Fields, Wire};
use crate::error::Result;
use crate::ops::string::params::{quoted, value_error};
use crate::tensor::TensorView;

/// The number of values of a feature in an example, and the values of an example that lacks the feature.
pub(super) enum Arity<'a> {
    /// Any number of values. An example that lacks the feature has no values.
    Any,
    /// `count` values. `default` also has `count` values; it is empty if no example may lack the feature.
    Exactly { count: usize, default: TensorView<'a> },
    /// A multiple of this many values. An example that lacks the feature has no values.
    MultipleOf(usize),
}

/// A feature, with its values in all examples.
pub(super) struct Feature<'a> {
    key: &'a [u8],
    dtype: DType,
    arity: Arity<'a>,
    pub elements: Elements,
    /// Where the values of each example end.
    pub ends: Vec<usize>,
}

impl<'a> Feature<'a> {
    pub(super) fn new(key: &'a [u8], dtype: DType, arity: Arity<'a>) -> Feature<'a> {
        Feature { key, dtype, arity, elements: Elements::new(dtype), ends: Vec::new() }
    }

    /// Returns the number of values of each example.
    pub(super) fn counts(&self) -> impl Iterator<Item = usize> + '_ {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        self.ends.iter().zip(starts).map(|(end, start)| end - start)
    }

    /// Appends the values of the next example. `example` gives the name of the example for error texts.
    fn append(&mut self, values: Option<Values<'_>>, example: &dyn Fn() -> String) -> Result<()> {
        let before = self.elements.len();
        match (values, &self.arity) {
            (Some(values), _) if values.dtype != self.dtype => {
                return Err(self.wrong(example, &format!("must be {}, got {}", self.dtype, values.dtype)));
            }
            (Some(values), arity) => {
                if self.elements.append(values)?.is_err() {
                    return Err(damaged(example));
                }
                let count = self.elements.len() - before;
                match *arity {
                    Arity::Exactly { count: expected, .. } if count != expected => {
                        return Err(self.wrong(example, &format!("must have {expected} values, got {count}")));
                    }
                    Arity::MultipleOf(stride) if !count.is_multiple_of(stride) => {
                        let text = format!("must have a multiple of {stride} values, got {count}");
                        return Err(self.wrong(example, &text));
                    }
                    _ => {}
                }
            }
            (None, Arity::Exactly { default, .. }) => {
                if default.is_empty() {
                    return Err(self.wrong(example, "must be present, because it has no default"));
                }
                self.elements.extend(default, 0..default.len())?;
            }
            (None, _) => {}
        }
        self.ends.push(self.elements.len());
        Ok(())
    }

    fn wrong(&self, example: &dyn Fn() -> String, requirement: &str) -> crate::error::Error {
        value_error(format!("feature {} of {} {requirement}", quoted(self.key), example()))
    }
}

fn damaged(example: &dyn Fn() -> String) -> crate::error::Error {
    value_error(format!("{} must be a serialized Example message", example()))
}

/// The features that a parser looks for.
pub(super) struct FeatureTable<'a> {
    pub features: Vec<Feature<'a>>,
    /// The positions of the features of each key.
    by_key: HashMap<&'a [u8], Vec<usize>>,
}

impl<'a> FeatureTable<'a> {
    pub(super) fn new(features: Vec<Feature<'a>>) -> FeatureTable<'a> {
        let mut by_key: HashMap<&[u8], Vec<usize>> = HashMap::new();
        for (position, feature) in features.iter().enumerate() {
            by_key.entry(feature.key).or_default().push(position);
        }
        FeatureTable { features, by_key }
    }

    /// Appends the values that all features have in the next example. Of several entries for one key, the last counts.
    ///
    /// # Errors
    /// The message is damaged, or a feature is missing or has another dtype or another number of values than declared.
    pub(super) fn append(&mut self, message: &[u8], example: &dyn Fn() -> String) -> Result<()> {
        let mut found: Vec<Option<Values<'_>>> = vec![None; self.features.len()];
        self.find(message, &mut found).map_err(|Damaged| damaged(example))?;
        for (feature, values) in self.features.iter_mut().zip(found) {
            feature.append(values, example)?;
        }
        Ok(())
    }

    /// Finds the values of each feature in an `Example` message.
    fn find<'m>(&self, message: &'m [u8], found: &mut [Option<Values<'m>>]) -> Result<(), Damaged> {
        for features in messages(message, 1) {
            for entry in messages(features?, 1) {
                let (mut key, mut feature): (&[u8], &[u8]) = (&[], &[]);
                for field in Fields::new(entry?) {
                    match field.ok_or(Damaged)? {
                        (1, Wire::Bytes(bytes)) => key = bytes,
                        (2, Wire::Bytes(bytes)) => feature = bytes,
                        _ => {}
                    }
                }
                let Some(positions) = self.by_key.get(key) else { continue };
                if let Some(values) = Values::of(feature)? {
                    positions.iter().for_each(|position| found[*position] = Some(values));
                }
            }
        }
        Ok(())
    }
}

/// Returns the messages in field `wanted` of a message.
fn messages(message: &[u8], wanted: u64) -> impl Iterator<Item = Result<&[u8], Damaged>> {
    Fields::new(message).filter_map(move |field| match field {
        Some((number, Wire::Bytes(bytes))) if number == wanted => Some(Ok(bytes)),
        Some(_) => None,
        None => Some(Err(Damaged)),
    })
}
