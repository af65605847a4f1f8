//! `IgnoredAttr`: an attribute of nodes that their op does not have.

use std::collections::BTreeMap;

use super::model::Model;
use super::signature::signature;
use crate::nearest::nearest;

/// An attribute of nodes that TensorFlow does not declare for their op. TensorFlow ignores it, and so does the import.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct IgnoredAttr {
    /// The op type.
    pub op: String,
    /// The name of the attribute.
    pub attr: String,
    /// The names of the nodes that have the attribute; a node of a function is named `FUNCTION/NODE`.
    pub nodes: Vec<String>,
    /// The attribute of the op whose name is nearest, if one is near.
    pub nearest: Option<&'static str>,
}

impl Model {
    /// Returns the attributes that the import ignores because TensorFlow does not declare them for the op of the node,
    /// sorted by op and attribute. Such an attribute is often a misspelled one. Attributes that begin with `_` are left
    /// out: other programs keep their notes in them.
    ///
    /// ```
    /// use shapeflow::interchange::Model;
    ///
    /// let text = r#"
    ///     node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
    ///     node { name: "y" op: "MatMul" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } }
    ///            attr { key: "transposeb" value { b: true } } }
    /// "#;
    /// let model = Model::from_text(text)?;
    /// let ignored = &model.ignored_attrs()[0];
    /// assert_eq!((&*ignored.op, &*ignored.attr, &*ignored.nodes[0]), ("MatMul", "transposeb", "y"));
    /// assert_eq!(ignored.nearest, Some("transpose_b"));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn ignored_attrs(&self) -> Vec<IgnoredAttr> {
        let functions = || self.graph.library.iter().flat_map(|library| &library.function);
        let main = self.graph.node.iter().map(|node| (None, node));
        let inner = functions().flat_map(|function| {
            let name = function.signature.as_ref().map_or("", |signature| &signature.name);
            function.node_def.iter().map(move |node| (Some(name), node))
        });
        let mut found: BTreeMap<(&str, &str), IgnoredAttr> = BTreeMap::new();
        for (function, node) in main.chain(inner) {
            // Ops of this crate and functions have no signature.
            let Some(signature) = signature(&node.op) else { continue };
            for attr in node.attr.keys() {
                let is_declared = signature.attr(attr).is_some() || signature.inputs_determine(attr);
                if is_declared || attr.starts_with('_') {
                    continue;
                }
                let ignored = found.entry((&node.op, attr)).or_insert_with(|| IgnoredAttr {
                    op: node.op.clone(),
                    attr: attr.clone(),
                    nodes: Vec::new(),
                    nearest: nearest(attr, signature.attrs.iter().map(|attr| attr.name)),
                });
                ignored.nodes.push(match function {
                    Some(function) => format!("{function}/{}", node.name),
                    None => node.name.clone(),
                });
            }
        }
        found.into_values().collect()
    }
}
