//! [`FeatureTable`] and [`ListTable`]: the features that a parser looks for, and their values in all examples.

use std::collections::HashMap;
use std::fmt;

use shapeflow_shape_fns::{DType, counted};

use super::super::wire::{Fields, WireValue};
use super::elements::{Damaged, FeatureElements, Values};
use crate::error::{Error, Result};
use crate::ops::string::params::{quoted, value_error};
use crate::tensor::TensorView;

/// The number of values of a feature in a row, and the values of a row that lacks the feature.
pub(super) enum Arity<'a> {
    /// Any number of values. A row that lacks the feature has no values.
    Any,
    /// `count` values. `default` holds the values of a row that lacks the feature. Without a default, no row may lack
    /// it. As in TensorFlow, a default without values is no default, even if `count` is 0.
    Exactly { count: usize, default: Option<TensorView<'a>> },
    /// A multiple of this many values. A row that lacks the feature has no values.
    MultipleOf(usize),
}

/// Where a feature stands, for the texts of errors.
#[derive(Clone, Copy)]
pub(super) struct FeaturePlace {
    /// The name of the protobuf message that holds an example.
    pub message: &'static str,
    /// The number of the example in a batch.
    pub example: Option<usize>,
    /// The number of the row in a feature list.
    pub row: Option<usize>,
}

impl fmt::Display for FeaturePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(row) = self.row {
            write!(f, "row {row} of ")?;
        }
        match self.example {
            Some(example) => write!(f, "example {example}"),
            None => f.write_str("the example"),
        }
    }
}

impl FeaturePlace {
    fn damaged(self) -> Error {
        let example = FeaturePlace { row: None, ..self };
        value_error(format!("{example} must be a serialized {} message", self.message))
    }
}

/// A feature, with its values in all rows. A row is an example or an entry of a feature list.
pub(super) struct Feature<'a> {
    key: &'a [u8],
    dtype: DType,
    arity: Arity<'a>,
    pub elements: FeatureElements,
    /// Where the values of each row end.
    pub ends: Vec<usize>,
}

/// Returns the differences of ends: the first one, and each one minus the one before.
pub(super) fn counts(ends: &[usize]) -> impl Iterator<Item = usize> + '_ {
    let starts = std::iter::once(0).chain(ends.iter().copied());
    ends.iter().zip(starts).map(|(end, start)| end - start)
}

impl<'a> Feature<'a> {
    pub(super) fn new(key: &'a [u8], dtype: DType, arity: Arity<'a>) -> Feature<'a> {
        Feature { key, dtype, arity, elements: FeatureElements::new(dtype), ends: Vec::new() }
    }

    /// Appends the values of the next row.
    fn append(&mut self, values: Option<Values<'_>>, place: FeaturePlace) -> Result<()> {
        let before = self.elements.len();
        match (values, &self.arity) {
            (Some(values), _) if values.dtype != self.dtype => {
                return Err(self.wrong(place, &format!("must be {}, got {}", self.dtype, values.dtype)));
            }
            (Some(values), arity) => {
                if self.elements.append(values)?.is_err() {
                    return Err(place.damaged());
                }
                let count = self.elements.len() - before;
                match *arity {
                    Arity::Exactly { count: expected, .. } if count != expected => {
                        return Err(self.wrong(
                            place,
                            &format!(
                                "must have {expected}, got {count}",
                                expected = counted(expected, "value")
                            ),
                        ));
                    }
                    Arity::MultipleOf(stride) if !count.is_multiple_of(stride) => {
                        let text = format!(
                            "must have a multiple of {stride}, got {count}",
                            stride = counted(stride, "value")
                        );
                        return Err(self.wrong(place, &text));
                    }
                    _ => {}
                }
            }
            (None, Arity::Exactly { default, .. }) => {
                let Some(default) = default.as_ref().filter(|default| !default.is_empty()) else {
                    return Err(self.wrong(place, "must be present, because it has no default"));
                };
                self.elements.extend(default, 0..default.len())?;
            }
            (None, _) => {}
        }
        self.ends.push(self.elements.len());
        Ok(())
    }

    fn wrong(&self, place: FeaturePlace, requirement: &str) -> Error {
        value_error(format!("feature {} of {place} {requirement}", quoted(self.key)))
    }
}

/// A feature list: rows of values in each example.
pub(super) struct FeatureListRows<'a> {
    pub rows: Feature<'a>,
    /// Where the rows of each example end.
    pub ends: Vec<usize>,
    may_be_missing: bool,
}

impl<'a> FeatureListRows<'a> {
    /// Makes a feature list without rows. An example without the list has no rows if `may_be_missing`, and is an error
    /// otherwise.
    pub(super) fn new(rows: Feature<'a>, may_be_missing: bool) -> FeatureListRows<'a> {
        FeatureListRows { rows, ends: Vec::new(), may_be_missing }
    }

    /// Appends the rows of the next example.
    fn append(&mut self, list: Option<&[u8]>, place: FeaturePlace) -> Result<()> {
        if list.is_none() && !self.may_be_missing {
            let key = quoted(self.rows.key);
            let message =
                format!("feature list {key} of {place} must be present, because it is not optional");
            return Err(value_error(message));
        }
        for (row, feature) in messages(list.unwrap_or_default(), 1).enumerate() {
            let values = feature.and_then(Values::of).map_err(|Damaged| place.damaged())?;
            // A row without a list of values has no values.
            let values = values.unwrap_or(Values::none(self.rows.dtype));
            self.rows.append(Some(values), FeaturePlace { row: Some(row), ..place })?;
        }
        self.ends.push(self.rows.ends.len());
        Ok(())
    }
}

/// The keys that a parser looks for.
struct Keys<'a> {
    count: usize,
    /// The positions of each key.
    positions: HashMap<&'a [u8], Vec<usize>>,
}

impl<'a> Keys<'a> {
    fn new(keys: impl Iterator<Item = &'a [u8]>) -> Keys<'a> {
        let mut all = Keys { count: 0, positions: HashMap::new() };
        for key in keys {
            all.positions.entry(key).or_default().push(all.count);
            all.count += 1;
        }
        all
    }

    /// Finds the value of each key in the maps of field `field` of a message. If several entries have one key, it takes
    /// the last entry whose value `read` accepts: an entry for which `read` returns `None` does not count.
    fn find<'m, T: Copy>(
        &self,
        message: &'m [u8],
        field: u64,
        read: impl Fn(&'m [u8]) -> Result<Option<T>, Damaged>,
    ) -> Result<Vec<Option<T>>, Damaged> {
        let mut found = vec![None; self.count];
        for map in messages(message, field) {
            for entry in messages(map?, 1) {
                let (mut key, mut value): (&[u8], &[u8]) = (&[], &[]);
                for field in Fields::new(entry?) {
                    match field.ok_or(Damaged)? {
                        (1, WireValue::Bytes(bytes)) => key = bytes,
                        (2, WireValue::Bytes(bytes)) => value = bytes,
                        _ => {}
                    }
                }
                let Some(positions) = self.positions.get(key) else { continue };
                if let Some(value) = read(value)? {
                    positions.iter().for_each(|position| found[*position] = Some(value));
                }
            }
        }
        Ok(found)
    }
}

/// The features that a parser looks for: those of `Example` messages, or of the context of `SequenceExample` messages.
pub(super) struct FeatureTable<'a> {
    pub features: Vec<Feature<'a>>,
    keys: Keys<'a>,
}

impl<'a> FeatureTable<'a> {
    pub(super) fn new(features: Vec<Feature<'a>>) -> FeatureTable<'a> {
        let keys = Keys::new(features.iter().map(|feature| feature.key));
        FeatureTable { features, keys }
    }

    /// Appends the values that all features have in the next example.
    ///
    /// # Errors
    /// The message is damaged, or a feature is missing or has another dtype or another number of values than declared.
    pub(super) fn append(&mut self, message: &[u8], place: FeaturePlace) -> Result<()> {
        let found = self.keys.find(message, 1, Values::of).map_err(|Damaged| place.damaged())?;
        self.features.iter_mut().zip(found).try_for_each(|(feature, values)| feature.append(values, place))
    }
}

/// The feature lists that a parser looks for.
pub(super) struct ListTable<'a> {
    pub lists: Vec<FeatureListRows<'a>>,
    keys: Keys<'a>,
}

impl<'a> ListTable<'a> {
    pub(super) fn new(lists: Vec<FeatureListRows<'a>>) -> ListTable<'a> {
        let keys = Keys::new(lists.iter().map(|list| list.rows.key));
        ListTable { lists, keys }
    }

    /// Appends the rows that all feature lists have in the next example.
    ///
    /// # Errors
    /// The message is damaged, a list is missing, or a row has another dtype or another number of values than declared.
    pub(super) fn append(&mut self, message: &[u8], place: FeaturePlace) -> Result<()> {
        let found = self.keys.find(message, 2, |list| Ok(Some(list))).map_err(|Damaged| place.damaged())?;
        self.lists.iter_mut().zip(found).try_for_each(|(list, rows)| list.append(rows, place))
    }
}

/// Returns the messages in field `wanted` of a message.
fn messages(message: &[u8], wanted: u64) -> impl Iterator<Item = Result<&[u8], Damaged>> {
    Fields::new(message).filter_map(move |field| match field {
        Some((number, WireValue::Bytes(bytes))) if number == wanted => Some(Ok(bytes)),
        Some(_) => None,
        None => Some(Err(Damaged)),
    })
}
