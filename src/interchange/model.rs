//! `Model`: a TensorFlow graph as a file stores it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;
use std::panic::Location;
use std::path::Path;
use std::sync::Arc;

use prost::Message;
use prost::bytes::Bytes;
use prost::encoding::decode_varint;
use shapeflow_shape_fns::counted;

use super::fields::{GRAPH, SAVED_MODEL};
use super::limits::{Limits, refuse};
use super::own_ops;
use super::proto::{GraphDef, MetaGraphDef, SavedModel, SignatureDef};
use super::saved_state::SavedState;
use super::text_parse;
use crate::error::{Error, ErrorKind, Phase, Result};

/// The tag of the graph that a SavedModel serves. Another graph of the file may be for training.
const SERVE: &str = "serve";

/// A TensorFlow graph as a file stores it. [`Model::import`](Model::import) checks it and builds a graph.
#[derive(Clone)]
pub struct Model {
    pub(super) graph: Arc<GraphDef>,
    /// The signatures of a SavedModel, by name.
    pub(super) signatures: BTreeMap<String, Signature>,
    /// The variables and assets of a SavedModel; empty for a GraphDef.
    pub(super) saved: Arc<SavedState>,
    pub(super) is_saved_model: bool,
}

/// A signature of a SavedModel: its names for inputs and outputs.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Signature {
    /// The inputs as pairs: the name in the signature, and the name of the tensor in the graph, such as `dense/Relu:0`.
    pub inputs: Vec<(String, String)>,
    /// The outputs, as pairs of the same kind.
    pub outputs: Vec<(String, String)>,
}

/// Reads a GraphDef (`.pb`, `.pbtxt`), or a SavedModel from its folder or file. The content decides the format, not the
/// file's name. The variables of a SavedModel stay in their files, which are mapped into memory: nothing may change
/// these files while the model or a graph made from it is in use.
///
/// # Errors
/// `Io`: a file cannot be read. `Parse`: a file is damaged, empty or not a model. `Memory`: the model exceeds the
/// default limits. A GraphDef without nodes that has its version is a model: see [`Model::is_empty`].
#[track_caller]
pub fn read_model(path: impl AsRef<Path>) -> Result<Model> {
    Model::read(path.as_ref(), &Limits::default())
}

impl Model {
    /// Reads a model within the given limits, as [`read_model`] does.
    ///
    /// # Errors
    /// As [`read_model`].
    #[track_caller]
    pub fn read(path: &Path, limits: &Limits) -> Result<Model> {
        let location = Location::caller();
        Model::open(path, limits).map_err(|error| error.or_at(location))
    }

    fn open(path: &Path, limits: &Limits) -> Result<Model> {
        if path.is_dir() {
            for name in ["saved_model.pb", "saved_model.pbtxt"] {
                let file = path.join(name);
                if file.is_file() {
                    return Model::open(&file, limits);
                }
            }
            return Err(io(path, "the folder must contain saved_model.pb or saved_model.pbtxt"));
        }
        let file = std::fs::File::open(path).map_err(|error| io(path, error))?;
        let mut bytes = Vec::new();
        file.take(limits.file_bytes.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(|error| io(path, error))?;
        let mut model = Model::of_bytes(bytes.into(), limits).map_err(|error| error.about(path.display()))?;
        if let (Some(folder), Some(saved)) = (path.parent(), Arc::get_mut(&mut model.saved))
            && model.is_saved_model
        {
            saved.open(folder, limits)?;
        }
        Ok(model)
    }

    /// Reads a model from bytes: a GraphDef or a SavedModel, binary or text. Copies borrowed bytes.
    ///
    /// # Errors
    /// `Parse`: there are no bytes, or they are damaged or not a model. `Memory`: the model exceeds the default limits.
    #[track_caller]
    pub fn from_bytes<'a>(bytes: impl Into<Cow<'a, [u8]>>) -> Result<Model> {
        let location = Location::caller();
        Model::of_bytes(bytes.into(), &Limits::default()).map_err(|error| error.or_at(location))
    }

    /// Reads a model from bytes within the given limits, as [`Model::from_bytes`] does.
    ///
    /// # Errors
    /// As [`Model::from_bytes`].
    #[track_caller]
    pub fn from_bytes_limited<'a>(bytes: impl Into<Cow<'a, [u8]>>, limits: &Limits) -> Result<Model> {
        let location = Location::caller();
        Model::of_bytes(bytes.into(), limits).map_err(|error| error.or_at(location))
    }

    fn of_bytes(bytes: Cow<'_, [u8]>, limits: &Limits) -> Result<Model> {
        check_file_size(bytes.len(), limits)?;
        let bytes = bytes.into_owned();
        if let Some(text) = as_text(&bytes) {
            return Model::from_text_limited(text, limits).map_err(|error| match error.kind() {
                ErrorKind::Parse => error.with_help(
                    "the file is text, which is read as the text of a GraphDef or a SavedModel (.pbtxt); a model may \
                     also be a binary file (.pb) or the folder of a SavedModel",
                ),
                _ => error,
            });
        }
        // A SavedModel starts with its version, a varint with the tag 0x08. A GraphDef starts with a message.
        let is_saved = bytes.first() == Some(&0x08);
        Model::decode(bytes, is_saved, limits)
    }

    /// Reads a model from protobuf text.
    ///
    /// # Errors
    /// `Parse`: the text has no fields, or is invalid; then the message has line and column. `Memory`: the model
    /// exceeds the default limits.
    #[track_caller]
    pub fn from_text(text: &str) -> Result<Model> {
        let location = Location::caller();
        Model::from_text_limited(text, &Limits::default()).map_err(|error| error.or_at(location))
    }

    fn from_text_limited(text: &str, limits: &Limits) -> Result<Model> {
        check_file_size(text.len(), limits)?;
        // A GraphDef has neither of these fields.
        let first = text_parse::first_field(text);
        let is_saved = matches!(first, Some("saved_model_schema_version" | "meta_graphs"));
        let bytes = text_parse::parse(text, if is_saved { &SAVED_MODEL } else { &GRAPH })?;
        if bytes.is_empty() && !text.trim().is_empty() {
            return Err(Error::new(ErrorKind::Parse, Phase::Build, "the text has no fields"));
        }
        Model::decode(bytes, is_saved, limits)
    }

    fn decode(bytes: Vec<u8>, is_saved: bool, limits: &Limits) -> Result<Model> {
        // To protobuf, no bytes are a valid GraphDef. But every program writes at least the version of the graph, so no
        // bytes are what an interrupted copy leaves.
        if bytes.is_empty() {
            return Err(Error::new(ErrorKind::Parse, Phase::Build, "the file is empty"));
        }
        // Where the messages of nodes are, in the graph and in its functions: the number of the field to follow at each
        // level of the file.
        let paths: &[&[u32]] = if is_saved { &[&[2, 2, 1], &[2, 2, 2, 1, 3]] } else { &[&[1], &[2, 1, 3]] };
        let nodes: usize = paths.iter().map(|path| count_messages(&bytes, path, limits.nodes)).sum();
        if nodes > limits.nodes {
            return refuse(format_args!("a model may have at most {}", counted(limits.nodes, "node")));
        }
        let bytes = Bytes::from(bytes);
        if !is_saved {
            let mut graph = GraphDef::decode(bytes).map_err(|error| damaged("GraphDef", &error))?;
            own_ops::restore(&mut graph);
            let (signatures, saved) = (BTreeMap::new(), Arc::default());
            return Ok(Model { graph: Arc::new(graph), signatures, saved, is_saved_model: false });
        }
        let saved = SavedModel::decode(bytes).map_err(|error| damaged("SavedModel", &error))?;
        let mut graphs: Vec<MetaGraphDef> =
            saved.meta_graphs.into_iter().filter(|meta| meta.graph_def.is_some()).collect();
        let serves = |meta: &MetaGraphDef| {
            meta.meta_info_def.iter().flat_map(|info| &info.tags).any(|tag| tag == SERVE)
        };
        let chosen = graphs.iter().position(serves).unwrap_or(0);
        if graphs.is_empty() {
            return Err(Error::new(
                ErrorKind::Parse,
                Phase::Build,
                "a SavedModel must contain a graph, got none",
            ));
        }
        let mut meta = graphs.swap_remove(chosen);
        let mut graph = meta.graph_def.take().unwrap_or_default();
        own_ops::restore(&mut graph);
        let saved = Arc::new(SavedState::of(&mut meta, &graph)?);
        let signatures = meta
            .signature_def
            .into_iter()
            .filter(|(name, _)| !name.starts_with("__"))
            .map(|(name, signature)| (name, Signature::of(signature)))
            .collect();
        Ok(Model { graph: Arc::new(graph), signatures, saved, is_saved_model: true })
    }

    /// Returns the number of nodes, without the nodes of functions.
    pub fn len(&self) -> usize {
        self.graph.node.len()
    }

    /// Returns whether the model has no nodes.
    pub fn is_empty(&self) -> bool {
        self.graph.node.is_empty()
    }

    /// Returns the op types of all nodes, each with the names of its nodes. A node of a function is named
    /// `FUNCTION/NODE`. A node whose op type is the name of a function calls this function.
    ///
    /// ```
    /// use shapeflow::interchange::Model;
    ///
    /// let text = r#"node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }"#;
    /// assert_eq!(Model::from_text(text)?.ops()["Placeholder"], ["x"]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn ops(&self) -> BTreeMap<&str, Vec<String>> {
        let mut ops: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for node in &self.graph.node {
            ops.entry(&node.op).or_default().push(node.name.clone());
        }
        for function in self.graph.library.iter().flat_map(|library| &library.function) {
            let name = function.signature.as_ref().map_or("", |signature| &signature.name);
            for node in &function.node_def {
                ops.entry(&node.op).or_default().push(format!("{name}/{}", node.name));
            }
        }
        ops
    }

    /// Returns the name of the signature that stands for the model: `serving_default`, or the only signature.
    pub fn default_signature(&self) -> Option<&str> {
        let only = || self.signatures.keys().next().filter(|_| self.signatures.len() == 1);
        let (default, _) = self.signatures.get_key_value("serving_default").unzip();
        default.or_else(only).map(String::as_str)
    }

    /// Returns the signatures of a SavedModel with their names; none for a GraphDef.
    pub fn signatures(&self) -> impl Iterator<Item = (&str, &Signature)> {
        self.signatures.iter().map(|(name, signature)| (name.as_str(), signature))
    }
}

/// Checks the size of a file against the limits.
fn check_file_size(bytes: usize, limits: &Limits) -> Result<()> {
    match bytes as u64 > limits.file_bytes {
        true => refuse(format_args!("a file may have at most {}", counted(limits.file_bytes, "byte"))),
        false => Ok(()),
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Model({})", counted(self.len(), "node"))
    }
}

impl Signature {
    fn of(signature: SignatureDef) -> Signature {
        let tensors = |infos: BTreeMap<String, super::proto::TensorInfo>| {
            infos.into_iter().map(|(name, info)| (name, info.name)).collect()
        };
        Signature { inputs: tensors(signature.inputs), outputs: tensors(signature.outputs) }
    }
}

fn io(path: &Path, error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::Io, Phase::Build, format!("{}: {error}", path.display()))
}

fn damaged(what: &str, error: &prost::DecodeError) -> Error {
    Error::new(ErrorKind::Parse, Phase::Build, format!("the file must be a {what}: {error}"))
        .with_help("a model is a GraphDef (.pb, .pbtxt) or the folder of a SavedModel")
}

/// Returns the bytes as text if they are text: not empty, valid UTF-8, and without control characters except white
/// space. A binary message contains other control characters.
fn as_text(bytes: &[u8]) -> Option<&str> {
    let is_control = |byte: &u8| *byte < 0x20 && !matches!(*byte, b'\t' | b'\n' | b'\r') || *byte == 0x7f;
    if bytes.is_empty() || bytes.iter().any(is_control) {
        return None;
    }
    std::str::from_utf8(bytes).ok()
}

/// Counts the messages at a path of field numbers, up to the first damaged byte. Counting stops above `limit`.
fn count_messages(mut bytes: &[u8], path: &[u32], limit: usize) -> usize {
    let Some((first, rest)) = path.split_first() else { return 1 };
    let mut found = 0usize;
    while !bytes.is_empty() && found <= limit {
        let Ok(tag) = decode_varint(&mut bytes) else { break };
        let length = match tag & 7 {
            0 => {
                if decode_varint(&mut bytes).is_err() {
                    break;
                }
                continue;
            }
            1 => 8,
            5 => 4,
            2 => match decode_varint(&mut bytes).ok().and_then(|length| usize::try_from(length).ok()) {
                Some(length) => length,
                None => break,
            },
            // Groups: fields of unknown messages, which the decoder skips.
            3 | 4 => continue,
            _ => break,
        };
        let Some((value, after)) = bytes.split_at_checked(length) else { break };
        bytes = after;
        if tag & 7 == 2 && tag >> 3 == u64::from(*first) {
            found = found.saturating_add(count_messages(value, rest, limit));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_content_decides_the_format() {
        let text = "node { name: \"x\" op: \"NoOp\" }\n";
        let model = Model::from_bytes(text.as_bytes()).unwrap();
        assert_eq!((model.len(), model.signatures().count()), (1, 0));
        let binary = model.graph.encode_to_vec();
        assert_eq!(Model::from_bytes(binary.clone()).unwrap().len(), 1);
        let saved = SavedModel {
            saved_model_schema_version: 1,
            meta_graphs: vec![MetaGraphDef {
                graph_def: Some(GraphDef::clone(&model.graph)),
                signature_def: BTreeMap::from([("serving_default".to_string(), SignatureDef::default())]),
                ..MetaGraphDef::default()
            }],
        };
        let model = Model::from_bytes(saved.encode_to_vec()).unwrap();
        assert_eq!((model.len(), model.signatures().next().unwrap().0), (1, "serving_default"));
        let saved = "# A comment.\n saved_model_schema_version: 1 meta_graphs { graph_def { node { name: 'x' op: 'NoOp' } } }";
        let model = Model::from_text(saved).unwrap();
        assert_eq!((model.len(), model.is_saved_model), (1, true));
        // The first three bytes of `binary` are white space, which reads as a text without fields.
        for cut in 0..binary.len() {
            assert_eq!(Model::from_bytes(&binary[..cut]).unwrap_err().kind(), ErrorKind::Parse);
        }
    }

    #[test]
    fn an_empty_file_is_no_model_and_a_version_is_one() {
        for error in [
            Model::from_bytes(vec![]).unwrap_err(),
            Model::from_text("").unwrap_err(),
            Model::from_text(" \n").unwrap_err(),
        ] {
            assert_eq!((error.kind(), error.message()), (ErrorKind::Parse, "the file is empty"));
        }
        let error = Model::from_text(" # Only a comment.\n").unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Parse, "the text has no fields"));
        let error = Model::from_text("nodee { name: \"a\" }").unwrap_err();
        assert_eq!(error.message(), "line 1, column 1: there is no field nodee; is it node?");
        assert!(Model::from_text("versions { producer: 2474 }").unwrap().is_empty());
        let empty = crate::interchange::to_graphdef(&crate::Graph::new(), &[]).unwrap();
        assert!(Model::from_bytes(empty).unwrap().is_empty());
    }

    #[test]
    fn limits_hold_before_anything_is_decoded() {
        let many = [0x0a, 0].repeat(1000);
        let limits = Limits { nodes: 999, ..Limits::default() };
        let error = Model::from_bytes_limited(many.clone(), &limits).unwrap_err();
        assert_eq!(error.message(), "a model may have at most 999 nodes");
        // The decoder skips an unknown group.
        let after_group = [vec![0x7b, 0x7c], many.clone()].concat();
        let error = Model::from_bytes_limited(after_group, &limits).unwrap_err();
        assert_eq!(error.message(), "a model may have at most 999 nodes");
        let limits = Limits { file_bytes: 10, ..Limits::default() };
        assert_eq!(Model::from_bytes_limited(many, &limits).unwrap_err().kind(), ErrorKind::Memory);
    }
}
