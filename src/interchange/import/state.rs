//! `InitialState`: the values that a SavedModel gives its resources before it serves.

use std::collections::HashMap;
use std::rc::Rc;

use super::handle::Restored;
use crate::error::Error;
use crate::ops::array::LookupTable;
use crate::tensor::Tensor;

/// The values that a SavedModel gives its resources before it serves.
#[derive(Default)]
pub(super) struct InitialState {
    pub variables: HashMap<Rc<str>, Initial>,
    pub tables: HashMap<Rc<str>, TableContent>,
}

/// The content of a lookup table before any run.
#[derive(Clone)]
pub(super) enum TableContent {
    /// Keys and values.
    Known(Box<[Tensor; 2]>),
    /// Content that only TensorFlow computes. The text names the node that stores the content.
    Unknown(String),
    /// Content that the import refused.
    Refused(Error),
}

/// The value that a variable has before any run.
#[derive(Clone)]
pub(super) enum Initial {
    /// A tensor of the checkpoint. The import reads the tensor when a node reads the variable.
    Restored(Rc<Restored>),
    Tensor(Tensor),
    /// A value that only TensorFlow computes. The text names the node that stores the value.
    Unknown(String),
}

/// The lookup tables that the imported nodes read, by name: each table with its keys and its values.
pub(super) type Tables = HashMap<Rc<str>, (LookupTable, Tensor, Tensor)>;
