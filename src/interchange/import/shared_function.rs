//! `SharedFunction`: the regions of a function that several calls share.

use std::collections::BTreeMap;

use shapeflow_shape_fns::TensorShape;

use super::super::proto::AttrValue;
use super::handle::Resource;
use crate::control::{Function, ParameterType};
use crate::error::Error;
use crate::tensor::Tensor;

/// The attributes of a call.
pub(super) type CallAttrs<'a> = &'a BTreeMap<String, AttrValue>;

/// A function whose calls are shared.
#[derive(Default)]
pub(super) struct SharedFunction<'a> {
    pub variants: Vec<Variant<'a>>,
    /// Whether the calls are inlined, because the function has no region that serves all of them.
    pub is_refused: bool,
    /// The error of a refused region.
    pub error: Option<Error>,
}

/// A region for some kinds of arguments.
pub(super) struct Variant<'a> {
    pub attrs: CallAttrs<'a>,
    pub arguments: Vec<Argument>,
    pub function: Function,
    /// Whether the function has no outputs. The region then returns `true`.
    pub is_empty: bool,
    /// The shape of the items of each result, if the result is a list.
    pub items: Vec<TensorShape>,
}

/// What a region knows of an argument.
#[derive(Clone)]
pub(super) enum Argument {
    Handle(Resource),
    Constant(Tensor),
    Tensor(ParameterType),
}

impl PartialEq for Argument {
    fn eq(&self, other: &Argument) -> bool {
        match (self, other) {
            (Argument::Handle(a), Argument::Handle(b)) => a == b,
            (Argument::Tensor(a), Argument::Tensor(b)) => a == b,
            // As bits: 0.0 is not -0.0.
            (Argument::Constant(a), Argument::Constant(b)) if a.dtype().size_bytes().is_some() => {
                (a.dtype(), a.sizes(), a.view().bytes()) == (b.dtype(), b.sizes(), b.view().bytes())
            }
            (Argument::Constant(a), Argument::Constant(b)) => a == b,
            _ => false,
        }
    }
}

impl Argument {
    /// Returns the type of the region's parameter, if the argument is one.
    pub(super) fn parameter(&self) -> Option<&ParameterType> {
        match self {
            Argument::Tensor(parameter) => Some(parameter),
            Argument::Handle(_) | Argument::Constant(_) => None,
        }
    }
}
