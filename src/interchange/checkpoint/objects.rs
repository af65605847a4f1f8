//! Finds the key of a variable in a checkpoint. The keys may be paths through the objects of a program; a table in the
//! checkpoint, the object graph, maps objects and the names of variables to these keys.

use std::collections::HashMap;

use super::super::proto::ObjectReference;
use super::damage::damaged;
use super::object_graph::ObjectGraph;
use super::reader::Checkpoint;
use crate::error::{Error, ErrorKind, Phase, Result};

/// The key of the tensor that holds the object graph.
const OBJECT_GRAPH: &str = "_CHECKPOINTABLE_OBJECT_GRAPH";

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

    /// Returns the keys of the tensors of variables, by object: see [`ObjectGraph::keys_of_objects`].
    ///
    /// # Errors
    /// The object graph is damaged.
    pub(in crate::interchange) fn keys_of_objects(
        &self,
        members: &[Vec<ObjectReference>],
    ) -> Result<HashMap<usize, String>> {
        Ok(self.object_graph()?.keys_of_objects(members))
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
        if !self.contains(OBJECT_GRAPH) {
            return Ok(ObjectGraph::default());
        }
        let tensor = self.tensor(OBJECT_GRAPH, "")?;
        let bytes = tensor.as_strings().ok().and_then(|strings| strings.get(0));
        match bytes.map(ObjectGraph::decode) {
            Some(Ok(graph)) => Ok(graph),
            _ => damaged("the object graph of the checkpoint cannot be read"),
        }
    }
}
