//! [`TensorMap`]: tensors by name.

use std::panic::Location;

use super::Tensor;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::nearest::nearest;

/// Tensors by name, in the order of the file that holds them.
///
/// ```
/// use shapeflow::{Tensor, TensorMap};
///
/// let weights: TensorMap = [("w", Tensor::zeros(shapeflow::DType::F32, &[2, 3])?), ("b", Tensor::scalar(1.0f32))]
///     .into_iter()
///     .collect();
/// assert_eq!(weights.tensor("w")?.sizes(), [2, 3]);
/// assert_eq!(weights.tensor("c").unwrap_err().message(), r#"there is no tensor "c"; the tensors are w, b"#);
/// # Ok::<(), shapeflow::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TensorMap {
    tensors: Vec<(String, Tensor)>,
}

/// The number of names that an error lists.
const LISTED: usize = 20;

impl TensorMap {
    /// Returns the tensor of this name. If two tensors have the name, returns the first tensor.
    ///
    /// ```
    /// use shapeflow::{Tensor, TensorMap};
    ///
    /// let weights: TensorMap = [("w".to_string(), Tensor::from([1.0f32]))].into_iter().collect();
    /// assert_eq!(weights.tensor("w")?, &Tensor::from([1.0f32]));
    /// assert!(weights.tensor("b").unwrap_err().message().contains("the tensors are w"));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Attribute`: there is no such tensor.
    #[track_caller]
    pub fn tensor(&self, name: &str) -> Result<&Tensor> {
        let location = Location::caller();
        self.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.iter().map(|(name, _)| name).take(LISTED).collect();
            let more = if self.len() > LISTED { ", …" } else { "" };
            let message = match names.as_slice() {
                [] => format!("there is no tensor \"{name}\"; the map is empty"),
                names => format!("there is no tensor \"{name}\"; the tensors are {}{more}", names.join(", ")),
            };
            let error = Error::new(ErrorKind::Attribute, Phase::Run, message).at(location);
            match nearest(name, self.iter().map(|(name, _)| name)) {
                Some(near) => error.with_help(format!("is it \"{near}\"?")),
                None => error,
            }
        })
    }

    /// Returns the tensor of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<&Tensor> {
        self.tensors.iter().find(|(known, _)| known == name).map(|(_, tensor)| tensor)
    }

    /// Returns the number of tensors.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Returns whether there is no tensor.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// Returns names and tensors, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Tensor)> {
        self.tensors.iter().map(|(name, tensor)| (name.as_str(), tensor))
    }
}

impl<N: Into<String>> FromIterator<(N, Tensor)> for TensorMap {
    fn from_iter<I: IntoIterator<Item = (N, Tensor)>>(tensors: I) -> TensorMap {
        TensorMap { tensors: tensors.into_iter().map(|(name, tensor)| (name.into(), tensor)).collect() }
    }
}

impl IntoIterator for TensorMap {
    type Item = (String, Tensor);
    type IntoIter = std::vec::IntoIter<(String, Tensor)>;

    fn into_iter(self) -> Self::IntoIter {
        self.tensors.into_iter()
    }
}
