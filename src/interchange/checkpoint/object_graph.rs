//! [`ObjectGraph`]: the objects of the program that saved a checkpoint, and the keys of their tensors.

use std::collections::HashMap;

use prost::{DecodeError, Message};

use super::super::proto::ObjectReference;

/// The name of the tensor of an object that is a variable.
const VALUE: &str = "VARIABLE_VALUE";

#[derive(Clone, PartialEq, Message)]
struct ObjectGraphProto {
    #[prost(message, repeated, tag = "1")]
    nodes: Vec<ObjectProto>,
}

#[derive(Clone, PartialEq, Message)]
struct ObjectProto {
    #[prost(message, repeated, tag = "1")]
    children: Vec<ObjectReference>,
    #[prost(message, repeated, tag = "2")]
    attributes: Vec<SavedTensorProto>,
}

#[derive(Clone, PartialEq, Message)]
struct SavedTensorProto {
    #[prost(string, tag = "1")]
    name: String,
    /// The name of the variable.
    #[prost(string, tag = "2")]
    full_name: String,
    #[prost(string, tag = "3")]
    checkpoint_key: String,
}

/// The object graph of a checkpoint.
#[derive(Default)]
pub(super) struct ObjectGraph {
    nodes: Vec<ObjectProto>,
    /// The keys of variables by name; `None` for a name that several variables have.
    pub keys_by_name: HashMap<String, Option<String>>,
}

impl ObjectGraph {
    pub(super) fn decode(bytes: &[u8]) -> Result<ObjectGraph, DecodeError> {
        let nodes = ObjectGraphProto::decode(bytes)?.nodes;
        let mut keys_by_name: HashMap<String, Option<String>> = HashMap::new();
        for tensor in nodes.iter().flat_map(|node| &node.attributes) {
            let key = Some(tensor.checkpoint_key.clone());
            let known = keys_by_name.entry(tensor.full_name.clone()).or_insert_with(|| key.clone());
            if *known != key {
                *known = None;
            }
        }
        Ok(ObjectGraph { nodes, keys_by_name })
    }

    /// Returns the keys of the variables among the objects of the program that saved the checkpoint, by object.
    /// `members` has the members of each object; object 0 holds all others. The result lacks an object to which no path
    /// of names leads both in the program and in the checkpoint.
    pub(super) fn keys_of_objects(&self, members: &[Vec<ObjectReference>]) -> HashMap<usize, String> {
        // For each object that a path reached, the node of the checkpoint at the end of the same path.
        let mut reached: HashMap<usize, usize> = HashMap::from([(0, 0)]);
        let mut todo = vec![(0, 0)];
        while let Some((from, node)) = todo.pop() {
            let (Some(members), Some(node)) = (members.get(from), self.nodes.get(node)) else { continue };
            // The first child of a name counts.
            let children = node.children.iter().rev().map(|child| (child.local_name.as_str(), child.node_id));
            let children: HashMap<&str, i32> = children.collect();
            for member in members {
                let same =
                    children.get(member.local_name.as_str()).and_then(|node| usize::try_from(*node).ok());
                let (Some(node), Ok(to)) = (same, usize::try_from(member.node_id)) else { continue };
                if reached.insert(to, node).is_none() {
                    todo.push((to, node));
                }
            }
        }
        let key_of = |(object, node): (usize, usize)| {
            let value = self.nodes.get(node)?.attributes.iter().find(|tensor| tensor.name == VALUE)?;
            Some((object, value.checkpoint_key.clone()))
        };
        reached.into_iter().filter_map(key_of).collect()
    }
}
