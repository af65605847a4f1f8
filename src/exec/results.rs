//! [`Results`]: the results of a run, by name.

use std::panic::Location;

use super::port::{find_unique, unknown_name};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::ragged::{FLAT_VALUES, RaggedItem, RaggedTensor, join_parts};
use crate::tensor::Tensor;

/// The results of [`Executable::run_named`](crate::Executable::run_named).
#[derive(Clone, Debug)]
pub struct Results {
    tensors: Vec<(String, Tensor)>,
}

impl Results {
    pub(super) fn new(tensors: Vec<(String, Tensor)>) -> Results {
        Results { tensors }
    }

    /// Removes the results from number `first` on, and returns them.
    #[cfg(feature = "graphdef")]
    pub(crate) fn split_off(&mut self, first: usize) -> Vec<Tensor> {
        self.tensors.split_off(first).into_iter().map(|(_, tensor)| tensor).collect()
    }

    /// Returns the result of this name.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let results = g.compile([("one", g.constant(1i64)?)])?.run_named(&[])?;
    /// assert_eq!(results.tensor("one")?, &Tensor::scalar(1i64));
    /// assert!(results.tensor("two").unwrap_err().message().contains("the outputs are one"));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such output, or several outputs have the name.
    #[track_caller]
    pub fn tensor(&self, name: &str) -> Result<&Tensor> {
        let location = Location::caller();
        let names = || self.tensors.iter().map(|(name, _)| name.as_str());
        let found = find_unique("output", name, names()).map_err(|error| error.at(location))?;
        found.map(|number| &self.tensors[number].1).ok_or_else(|| {
            let error = unknown_name("output", name, names());
            let flat = format!("{name}{FLAT_VALUES}");
            let is_ragged = self.tensors.iter().any(|(known, _)| *known == flat);
            let error = match is_ragged {
                true => error.with_help(format!("{name} is ragged: use `results.ragged(\"{name}\")`")),
                false => error,
            };
            error.at(location)
        })
    }

    /// Returns the ragged result of this name.
    ///
    /// ```
    /// use shapeflow::{Graph, ragged};
    ///
    /// let g = Graph::new();
    /// let rows = g.ragged_constant(&ragged![[3, 1], [], [2]])?;
    /// let results = g.compile([("sorted", rows.sort(1, false)?)])?.run_named(&[])?;
    /// assert_eq!(results.ragged("sorted")?.to_string(), "[[1, 3], [], [2]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There is no such output, or several outputs have the name, or the output is dense.
    #[track_caller]
    pub fn ragged(&self, name: &str) -> Result<RaggedTensor> {
        let location = Location::caller();
        let items = self.items().map_err(|error| error.at(location))?;
        let known = find_unique("output", name, items.iter().map(|(known, _)| *known));
        let Some(number) = known.map_err(|error| error.at(location))? else {
            return Err(unknown_name("output", name, items.iter().map(|(name, _)| *name)).at(location));
        };
        let (_, item) = items.into_iter().nth(number).expect("the position is one of an item");
        match item {
            RaggedItem::Ragged(ragged) => Ok(ragged),
            RaggedItem::Dense(tensor) => {
                let (dtype, sizes) = (tensor.dtype(), tensor.sizes());
                let message = format!("output {name:?} must be ragged, got a dense tensor {dtype}{sizes:?}");
                let help = format!("{name} is dense: use `results.tensor({name:?})`");
                Err(Error::new(ErrorKind::Attribute, Phase::Run, message).with_help(help).at(location))
            }
        }
    }

    /// Returns the dense result with this number among the outputs given to `compile`.
    ///
    /// # Errors
    /// There is no such output, or it is ragged.
    #[track_caller]
    pub fn tensor_at(&self, number: usize) -> Result<Tensor> {
        let location = Location::caller();
        self.item_at(number).and_then(RaggedItem::dense).map_err(|error| error.at(location))
    }

    /// Returns the ragged result with this number among the outputs given to `compile`.
    ///
    /// # Errors
    /// There is no such output, or it is dense.
    #[track_caller]
    pub fn ragged_at(&self, number: usize) -> Result<RaggedTensor> {
        let location = Location::caller();
        self.item_at(number).and_then(RaggedItem::ragged).map_err(|error| error.at(location))
    }

    fn item_at(&self, number: usize) -> Result<RaggedItem> {
        let mut items = self.items()?;
        if number >= items.len() {
            let message = format!("the number of an output must be less than {}, got {number}", items.len());
            return Err(Error::new(ErrorKind::Attribute, Phase::Run, message));
        }
        Ok(items.swap_remove(number).1)
    }

    /// Returns the dense and ragged results with their names, in the order given to `compile`.
    ///
    /// # Errors
    /// The row splits of a ragged result are wrong.
    pub fn items(&self) -> Result<Vec<(&str, RaggedItem)>> {
        let mut items = Vec::new();
        let mut rest = &self.tensors[..];
        while !rest.is_empty() {
            let (name, item, count) = join_parts(rest)?;
            items.push((name, item));
            rest = &rest[count..];
        }
        Ok(items)
    }

    /// Returns names and results in the order given to `compile`.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let results = g.compile([("a", g.constant(1i64)?), ("b", g.constant([2.0f32, 3.0])?)])?.run_named(&[])?;
    /// let names: Vec<&str> = results.iter().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["a", "b"]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }
}
