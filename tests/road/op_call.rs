//! `Call`: one op with its attributes and parameters, as data that can be put into any graph.

use std::sync::LazyLock;

use shapeflow::{Attr, Graph, Registry, Result, Value};

static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::builtin);

/// An op, its attributes, and the names of the parameters that are values.
#[derive(Clone, Debug)]
pub struct Call {
    pub op: &'static str,
    pub attrs: Vec<(&'static str, Attr)>,
    pub params: Vec<&'static str>,
}

impl Call {
    /// A call without attributes.
    pub fn new(op: &'static str) -> Call {
        Call { op, attrs: Vec::new(), params: Vec::new() }
    }

    /// With one more attribute.
    pub fn attr(mut self, name: &'static str, value: impl Into<Attr>) -> Call {
        self.attrs.push((name, value.into()));
        self
    }

    /// Adds the node; `params` are the values of the parameters, in the order of their names.
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
