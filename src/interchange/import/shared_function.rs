//! `SharedFunction`: the regions of a function that several calls share.

use std::collections::BTreeMap;

use super::super::proto::AttrValue;
use super::handle::Resource;
use super::list_items::ListItems;
use crate::control::{Function, ParameterType};
use crate::error::Error;
use crate::tensor::Tensor;

/// The attributes of a call.
pub(super) type CallAttrs<'a> = &'a BTreeMap<String, AttrValue>;

/// A function whose calls are shared.
#[derive(Default)]
pub(super) struct SharedFunction<'a> {
    pub variants: Vec<RegionVariant<'a>>,
    /// Whether the calls are inlined, because the function has no region that serves all of them.
    pub is_refused: bool,
    /// The error of a refused region.
    pub error: Option<Error>,
}

/// A region for some kinds of arguments.
pub(super) struct RegionVariant<'a> {
    pub attrs: CallAttrs<'a>,
    pub arguments: Vec<RegionArgument>,
    pub function: Function,
    /// Whether the function has no outputs. The region then returns `true`.
    pub is_empty: bool,
    /// What is known about the items of each result, if the result is a list.
    pub items: Vec<ListItems>,
}

/// What a region knows of an argument.
#[derive(Clone)]
pub(super) enum RegionArgument {
    Handle(Resource),
    Constant(Tensor),
    Tensor(ParameterType),
}

impl PartialEq for RegionArgument {
    fn eq(&self, other: &RegionArgument) -> bool {
        match (self, other) {
            (RegionArgument::Handle(a), RegionArgument::Handle(b)) => a == b,
            (RegionArgument::Tensor(a), RegionArgument::Tensor(b)) => a == b,
            // As bits: 0.0 is not -0.0.
            (RegionArgument::Constant(a), RegionArgument::Constant(b))
                if a.dtype().size_bytes().is_some() =>
            {
                (a.dtype(), a.sizes(), a.view().bytes()) == (b.dtype(), b.sizes(), b.view().bytes())
            }
            (RegionArgument::Constant(a), RegionArgument::Constant(b)) => a == b,
            _ => false,
        }
    }
}

impl RegionArgument {
    /// Returns the type of the region's parameter, if the argument is one.
    pub(super) fn parameter(&self) -> Option<&ParameterType> {
        match self {
            RegionArgument::Tensor(parameter) => Some(parameter),
            RegionArgument::Handle(_) | RegionArgument::Constant(_) => None,
        }
    }
}
