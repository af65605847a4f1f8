//! `SavedObjects`: the objects of the program that saved a SavedModel, and which variables of the graph they are.
//!
//! Two objects may have variables of one name. Their variables have different names in the graph, but only one name in
//! the checkpoint. The functions of the model say which objects they read, and so which variable is which object.

use std::collections::HashMap;

use super::proto::{AttrKind, GraphDef, NodeDef, ObjectReference, SavedObjectGraph};

/// The value of the attribute `shared_name` of a resource without a name.
const ANONYMOUS: &[u8] = b"cd2c89b7-88b7-44c8-ad83-06c2a9158347";

/// The objects of the program that saved a SavedModel. Object 0 holds all others.
#[derive(Debug, Default)]
pub(super) struct SavedObjects {
    /// By object: its members.
    pub members: Vec<Vec<ObjectReference>>,
    /// The objects of variables, by the name of the variable.
    pub of_variables: HashMap<String, usize>,
}

impl SavedObjects {
    /// Finds the objects of the variables that the graph passes to functions.
    pub(super) fn of(objects: SavedObjectGraph, graph: &GraphDef) -> SavedObjects {
        let variables: HashMap<&str, String> = graph
            .node
            .iter()
            .filter(|node| node.op == "VarHandleOp")
            .map(|node| {
                let shared = node.attr.get("shared_name").and_then(|attr| attr.value.as_ref());
                (node.name.as_str(), name_of_resource(shared, &node.name))
            })
            .collect();
        let mut of_variables = HashMap::new();
        for node in &graph.node {
            let Some(function) = called(node).and_then(|name| objects.concrete_functions.get(name)) else {
                continue;
            };
            // The last arguments of a function are the objects that it reads.
            let arguments = node.input.iter().filter(|input| !input.starts_with('^'));
            for (argument, object) in arguments.rev().zip(function.bound_inputs.iter().rev()) {
                let argument = argument.strip_suffix(":0").unwrap_or(argument);
                if let (Some(variable), Ok(object)) = (variables.get(argument), usize::try_from(*object)) {
                    of_variables.insert(variable.clone(), object);
                }
            }
        }
        SavedObjects {
            members: objects.nodes.into_iter().map(|object| object.children).collect(),
            of_variables,
        }
    }
}

/// Returns the name of the function that a node calls.
fn called(node: &NodeDef) -> Option<&str> {
    match node.attr.get("f")?.value.as_ref()? {
        AttrKind::Func(function) => Some(&function.name),
        _ => None,
    }
}

/// Returns the name that a resource has in all sessions: the attribute `shared_name`, or the name of its node.
pub(super) fn name_of_resource(shared: Option<&AttrKind>, node: &str) -> String {
    match shared {
        Some(AttrKind::S(shared)) if !shared.is_empty() && shared != ANONYMOUS => {
            // Names of other bytes stay different from each other.
            std::str::from_utf8(shared).map_or_else(|_| shared.escape_ascii().to_string(), str::to_string)
        }
        _ => node.to_string(),
    }
}
