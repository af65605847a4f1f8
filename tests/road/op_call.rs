//! `Call`: an op with its attributes and parameters as data, independent of a graph.

use std::sync::LazyLock;

use shapeflow::{Attr, Graph, Registry, Result, Value};

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

/// An op, its attributes, and the names of its parameters that are values of the graph.
#[derive(Clone, Debug)]
pub struct Call {
    pub op: &'static str,
    pub attrs: Vec<(&'static str, Attr)>,
    pub params: Vec<&'static str>,
}

impl Call {
    /// Creates a call without attributes or parameters.
    pub fn new(op: &'static str) -> Call {
        Call { op, attrs: Vec::new(), params: Vec::new() }
    }

    /// Adds an attribute.
    pub fn attr(mut self, name: &'static str, value: impl Into<Attr>) -> Call {
        self.attrs.push((name, value.into()));
        self
    }

    /// Adds the call to a graph and returns its outputs; `params[i]` is the value of the parameter `self.params[i]`.
    pub fn apply<'g>(
        &self,
        graph: &'g Graph,
        data: &[Value<'g>],
        params: &[Value<'g>],
    ) -> Result<Vec<Value<'g>>> {
        let def = REGISTRY.get(self.op).unwrap_or_else(|| panic!("no op is named {}", self.op));
        let mut call = graph.op(def).data_all(data);
        for (name, value) in &self.attrs {
            call = call.attr(name, value.clone());
        }
        for (name, value) in self.params.iter().zip(params) {
            call = call.structure(name, *value);
        }
        call.finish_all()
    }
}
