//! Finds the key of a variable in a checkpoint. The keys may be paths through the objects of a program; a table in the
//! checkpoint, the object graph, maps objects and the names of variables to these keys.

use std::collections::HashMap;

use prost::Message;

use super::super::proto::ObjectReference;
use super::damage::damaged;
use super::reader::Checkpoint;
use crate::error::{Error, ErrorKind, Phase, Result};

/// The key of the tensor that holds the object graph.
const OBJECT_GRAPH: &str = "_CHECKPOINTABLE_OBJECT_GRAPH";

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
pub(super) struct ObjectGraph {
    nodes: Vec<ObjectProto>,
    /// The keys of variables by name; `None` for a name that several variables have.
    keys_by_name: HashMap<String, Option<String>>,
}

impl Checkpoint {
    /// Returns the key of the tensor of a variable: the variable's name, or the path that the object graph gives for
    /// this name.
    ///
    /// # Errors
    /// The object graph is damaged, or it gives several paths for this name.
    pub(in crate::interchange) fn key_of_variable(&self, name: &str) -> Result<Option<String>> {
        if self.contains(name) {
            return Ok(Some(name.to_string()));
        }
        match self.object_graph()?.keys_by_name.get(name) {
            None => Ok(None),
            Some(Some(key)) => Ok(Some(key.clone())),
            Some(None) => {
                let message = format!("the checkpoint must have one variable named {name}, but has several");
                Err(Error::new(ErrorKind::Parse, Phase::Build, message))
            }
        }
    }

    /// Returns the key of the tensor of a variable: an object of the program that saved the checkpoint. `members` has
    /// the members of each object of this program; object 0 holds all others. Returns `None` if no path of names leads
    /// to the object both in the program and in the checkpoint.
    ///
    /// # Errors
    /// The object graph is damaged.
    pub(in crate::interchange) fn key_of_object(
        &self,
        members: &[Vec<ObjectReference>],
        object: usize,
    ) -> Result<Option<String>> {
        let nodes = &self.object_graph()?.nodes;
        // For each object that a path reached, the node of the checkpoint at the end of the same path.
        let mut reached: HashMap<usize, usize> = HashMap::from([(0, 0)]);
        let mut todo = vec![(0, 0)];
        while let Some((from, node)) = todo.pop() {
            if from == object {
                break;
            }
            let (Some(members), Some(node)) = (members.get(from), nodes.get(node)) else { continue };
            for member in members {
                let same = node.children.iter().find(|child| child.local_name == member.local_name);
                let (Some(same), Ok(to)) = (same, usize::try_from(member.node_id)) else { continue };
                let Ok(node) = usize::try_from(same.node_id) else { continue };
                if reached.insert(to, node).is_none() {
                    todo.push((to, node));
                }
            }
        }
        let node = reached.get(&object).and_then(|node| nodes.get(*node));
        let value = node.and_then(|node| node.attributes.iter().find(|tensor| tensor.name == VALUE));
        Ok(value.map(|tensor| tensor.checkpoint_key.clone()))
    }

    /// Returns the object graph, which is empty if the checkpoint has none.
    fn object_graph(&self) -> Result<&ObjectGraph> {
        if let Some(graph) = self.objects.get() {
            return Ok(graph);
        }
        let graph = self.read_objects()?;
        Ok(self.objects.get_or_init(|| graph))
    }

    fn read_objects(&self) -> Result<ObjectGraph> {
        let mut graph = ObjectGraph { nodes: Vec::new(), keys_by_name: HashMap::new() };
        if !self.contains(OBJECT_GRAPH) {
            return Ok(graph);
        }
        let tensor = self.tensor(OBJECT_GRAPH, "")?;
        let bytes = tensor.as_strings().ok().and_then(|strings| strings.get(0));
        graph.nodes = match bytes.map(ObjectGraphProto::decode) {
            Some(Ok(graph)) => graph.nodes,
            _ => return damaged("the object graph of the checkpoint cannot be read"),
        };
        for tensor in graph.nodes.iter().flat_map(|node| &node.attributes) {
            let key = Some(tensor.checkpoint_key.clone());
            let known = graph.keys_by_name.entry(tensor.full_name.clone()).or_insert_with(|| key.clone());
            if *known != key {
                *known = None;
            }
        }
        Ok(graph)
    }
}
