//! Dumps as JSON.

use serde_json::{Map, Value, json};
use shapeflow_shape_fns::Attr;

use super::Snapshot;
use super::snapshot::{AttrView, KernelView, NodeView, ValueRef, ValueView};
use crate::graph::RESOURCE;

impl Snapshot {
    /// Returns the stage as one JSON document.
    ///
    /// ```text
    /// {"stage",
    ///  "nodes": [{"name", "op", "kind", "attrs", "operands", "location", "scopes", "content", "error", "region",
    ///             "kernel", "outputs": [{"value", "dtype", "shape", "text", "provenance", "result"}]}],
    ///  "guards": [{"text", "node"}],
    ///  "kernels": [{"step", "kind", "label", "writes", "loops", "clif", "asm"}]}
    /// ```
    ///
    /// A dtype is its short name: `f32`, `i64`, …. A shape of unknown rank is `null`. A dimension is a number or a
    /// text: a name or an expression. An anonymous dimension is named by its origin: `tokens.1` is axis 1 of `tokens`.
    /// Empty `attrs`, `scopes` and `provenance` are absent, and so is any other field of a node, an output or a kernel
    /// that has no value. A guard without a node has the `node` `null`.
    ///
    /// | field | holds |
    /// |---|---|
    /// | `operands` | the `value` of each operand |
    /// | `name` | the name of the node with its scopes; a composite op is a scope with the name of its result |
    /// | `location` | the program's line that made the node |
    /// | `scopes` | the scopes and composite ops around the node, innermost first, each with its line |
    /// | `content` | the first elements of a constant |
    /// | `error` | the reason why inference refused the node |
    /// | `region` | the `name` of the node whose branch or loop contains the node |
    /// | `kernel` | the index in `kernels` of the kernel that computes the node |
    /// | `text` | of an output, its dtype and shape; of a guard, the requirement that a run checks |
    /// | `provenance` | the origins of unknown dimensions, one line for each |
    /// | `result` | the index of the output among the outputs of the compiled graph |
    /// | `step` | the index of the kernel among the steps of the compiled program |
    /// | `writes` | the values that the kernel stores, each with the reason why it is in memory |
    pub fn to_json(&self) -> String {
        self.json(&|_| None).to_string()
    }

    /// Returns the document of [`Snapshot::to_json`]. `time` gives the times of a kernel as JSON, if a trace has them.
    pub(super) fn json(&self, time: &dyn Fn(&KernelView) -> Option<Value>) -> Value {
        let value_name =
            |value: &ValueRef| match self.nodes.get(value.node).and_then(|n| n.outputs.get(value.output)) {
                Some(value) => Value::from(value.name.as_str()),
                None => Value::Null,
            };
        let nodes: Vec<Value> = self
            .nodes
            .iter()
            .map(|node| {
                let operands: Vec<Value> = node.operands.iter().map(value_name).collect();
                let mut json = node_json(node, operands);
                if let (Some(region), Some(object)) = (node.region, json.as_object_mut()) {
                    object.insert("region".to_string(), self.nodes[region].label.as_str().into());
                }
                json
            })
            .collect();
        let guards: Vec<Value> = self
            .guards
            .iter()
            .map(|guard| {
                let node = guard.node.and_then(|node| self.nodes.get(node)).map(|node| node.label.as_str());
                json!({"text": guard.text, "node": node})
            })
            .collect();
        let kernels: Vec<Value> =
            self.kernels.iter().map(|kernel| kernel_json(kernel, time(kernel))).collect();
        json!({"stage": self.stage.name(), "nodes": nodes, "guards": guards, "kernels": kernels})
    }
}

fn node_json(node: &NodeView, operands: Vec<Value>) -> Value {
    let attrs: Map<String, Value> =
        node.attrs.iter().map(|attr| (attr.name.clone(), attr_json(attr))).collect();
    let mut json = json!({
        "name": node.label,
        "op": node.op,
        "kind": node.kind.name(),
        "operands": operands,
        "outputs": node.outputs.iter().map(value_json).collect::<Vec<_>>(),
    });
    let mut add = |name: &str, value: Value| {
        if let Some(object) = json.as_object_mut() {
            object.insert(name.to_string(), value);
        }
    };
    if let Some(location) = &node.location {
        add("location", location.as_str().into());
    }
    if !attrs.is_empty() {
        add("attrs", Value::Object(attrs));
    }
    if !node.scopes.is_empty() {
        add("scopes", node.scopes.clone().into());
    }
    if let Some(content) = &node.content {
        add("content", content.as_str().into());
    }
    if let Some(error) = &node.error {
        add("error", error.as_str().into());
    }
    if let Some(kernel) = node.kernel {
        add("kernel", kernel.into());
    }
    json
}

/// Returns the text of an attribute. Dtypes have the names that `dtype` of a value has.
fn attr_json(attr: &AttrView) -> Value {
    match &attr.value {
        Attr::DType(dtype) => dtype.name().into(),
        Attr::DTypes(dtypes) => {
            let names: Vec<&str> = dtypes.iter().map(|dtype| dtype.name()).collect();
            format!("[{}]", names.join(", ")).into()
        }
        _ => attr.text.as_str().into(),
    }
}

fn value_json(value: &ValueView) -> Value {
    let mut json = json!({
        "value": value.name,
        "dtype": if value.is_handle { RESOURCE } else { value.dtype.name() },
        "shape": shape_json(value),
        "text": value.type_text(),
    });
    if let Some(object) = json.as_object_mut() {
        if !value.provenance.is_empty() {
            object.insert("provenance".to_string(), value.provenance.clone().into());
        }
        if let Some(result) = value.result {
            object.insert("result".to_string(), result.into());
        }
    }
    json
}

/// Returns a shape such as `[2, "tokens.1", "n"]`; `null` for unknown rank.
fn shape_json(value: &ValueView) -> Value {
    let Some(dims) = value.shape.dims() else { return Value::Null };
    let dims = dims.iter().zip(&value.dims).map(|(dim, text)| match dim.as_known() {
        Some(size) => Value::from(size),
        None => Value::from(text.as_str()),
    });
    Value::Array(dims.collect())
}

fn kernel_json(kernel: &KernelView, time: Option<Value>) -> Value {
    let mut json = json!({
        "step": kernel.step,
        "kind": kernel.kind.name(),
        "label": kernel.label,
        "writes": kernel.writes,
        "loops": kernel.loops,
    });
    if let Some(object) = json.as_object_mut() {
        let code = [("clif", &kernel.clif), ("asm", &kernel.asm)];
        for (name, text) in code.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?))) {
            object.insert(name.to_string(), text.as_str().into());
        }
        if let Some(time) = time {
            object.insert("time".to_string(), time);
        }
    }
    json
}

#[cfg(test)]
mod tests {
    use crate::{DType, Graph, Result, shape};

    #[test]
    fn a_document_has_dtypes_and_partial_shapes() -> Result<()> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape![2, ?, "n"])?;
        let _ = g.input("y", DType::I64, shape![..])?;
        let _ = x.transpose([2, 0, 1])?;
        let _ = x.cast(DType::F16)?;
        let json: serde_json::Value =
            serde_json::from_str(&g.snapshot().to_json()).map_err(crate::Error::wrap)?;
        let output = |node: usize| &json["nodes"][node]["outputs"][0];
        assert_eq!(output(0)["shape"], serde_json::json!([2, "x.1", "n"]));
        assert_eq!(output(0)["dtype"], "f32");
        assert_eq!(output(1)["shape"], serde_json::Value::Null);
        assert_eq!(output(2)["shape"], serde_json::json!(["n", 2, "x.1"]));
        assert_eq!(json["nodes"][2]["attrs"]["perm"], "[2, 0, 1]");
        assert_eq!(json["nodes"][3]["attrs"]["dtype"], "f16");
        assert_eq!(json["nodes"][2]["operands"][0], "%0");
        Ok(())
    }
}
