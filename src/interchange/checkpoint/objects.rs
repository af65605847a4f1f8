//! Finds the key of a variable in a checkpoint. The keys may be paths through the objects of a program; a table in the
//! checkpoint, the object graph, maps the names of variables to these keys.

use std::collections::HashMap;

use prost::Message;

use super::damage::damaged;
use super::reader::Checkpoint;
use crate::error::Result;

/// The key of the tensor that holds the object graph.
const OBJECT_GRAPH: &str = "_CHECKPOINTABLE_OBJECT_GRAPH";

#[derive(Clone, PartialEq, Message)]
struct ObjectGraphProto {
    #[prost(message, repeated, tag = "1")]
    nodes: Vec<ObjectProto>,
}

#[derive(Clone, PartialEq, Message)]
struct ObjectProto {
    #[prost(message, repeated, tag = "2")]
    attributes: Vec<SavedTensorProto>,
}

#[derive(Clone, PartialEq, Message)]
struct SavedTensorProto {
    /// The name of the variable.
    #[prost(string, tag = "2")]
    full_name: String,
    #[prost(string, tag = "3")]
    checkpoint_key: String,
}

impl Checkpoint {
    /// Returns the key of the tensor of a variable: the variable's name, or the path that the object graph gives for
    /// this name.
    ///
    /// # Errors
    /// The object graph is damaged.
    pub(in crate::interchange) fn key_of_variable(&self, name: &str) -> Result<Option<String>> {
        if self.contains(name) {
            return Ok(Some(name.to_string()));
        }
        if let Some(keys) = self.keys_by_name.get() {
            return Ok(keys.get(name).cloned());
        }
        let keys = self.read_objects()?;
        Ok(self.keys_by_name.get_or_init(|| keys).get(name).cloned())
    }

    /// Reads the map from the names of variables to their keys. The map is empty if the checkpoint has no object graph.
    fn read_objects(&self) -> Result<HashMap<String, String>> {
        if !self.contains(OBJECT_GRAPH) {
            return Ok(HashMap::new());
        }
        let tensor = self.tensor(OBJECT_GRAPH, "")?;
        let bytes = tensor.as_strings().ok().and_then(|strings| strings.get(0));
        let graph = match bytes.map(ObjectGraphProto::decode) {
            Some(Ok(graph)) => graph,
            _ => return damaged("the object graph of the checkpoint cannot be read"),
        };
        let attributes = graph.nodes.into_iter().flat_map(|node| node.attributes);
        Ok(attributes.map(|attribute| (attribute.full_name, attribute.checkpoint_key)).collect())
    }
}
