//! `SavedState`: what a SavedModel has besides its graph: variables, the nodes that initialize them, and asset files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::OnceLock;

use prost::Message;

use super::checkpoint::Checkpoint;
use super::limits::Limits;
use super::proto::{AssetFileDef, GraphDef, MetaGraphDef};
use super::saved_objects::SavedObjects;
use crate::error::{Error, ErrorKind, Phase, Result};

/// The name of the signature that initializes the model. Its output has the same name.
const INIT_SIGNATURE: &str = "__saved_model_init_op";

/// The collections that name the node which initializes a model of TensorFlow 1. TensorFlow takes the first that the
/// model has, and none if the model has the signature [`INIT_SIGNATURE`].
const INIT_COLLECTIONS: [&str; 2] = ["saved_model_main_op", "legacy_init_op"];

/// The collection that lists the assets of a model of TensorFlow 1. TensorFlow reads it if the field `asset_file_def` is
/// empty.
const ASSET_COLLECTION: &str = "saved_model_assets";

/// What a SavedModel has besides its graph.
#[derive(Debug, Default)]
pub(super) struct SavedState {
    pub checkpoint: Option<Checkpoint>,
    /// The nodes that TensorFlow runs after it has loaded the graph, in order: one restores the variables, the others
    /// initialize the rest.
    pub initializers: Vec<String>,
    /// The files whose paths are tensors of the graph, by the names of the tensors. Before `open`, the
    /// paths are relative to the folder of assets; `open` completes the paths.
    pub assets: HashMap<String, PathBuf>,
    pub objects: SavedObjects,
    /// The keys of variables in the checkpoint by object, found on first use.
    keys: OnceLock<HashMap<usize, String>>,
}

impl SavedState {
    /// Returns the state that a SavedModel with this graph describes, without its checkpoint.
    ///
    /// # Errors
    /// An asset lies outside of the folder of assets.
    pub(super) fn of(meta: &mut MetaGraphDef, graph: &GraphDef) -> Result<SavedState> {
        let restore = meta.saver_def.iter().map(|saver| saver.restore_op_name.as_str());
        let signature = meta.signature_def.get(INIT_SIGNATURE);
        let output = signature.and_then(|signature| signature.outputs.get(INIT_SIGNATURE));
        let mut collections = INIT_COLLECTIONS.iter().filter_map(|name| meta.collection_def.get(*name));
        let collection = if output.is_none() { collections.next() } else { None };
        let collected = collection.into_iter().flat_map(|collection| &collection.node_list);
        let collected = collected.flat_map(|nodes| &nodes.value).map(String::as_str);
        let mut initializers: Vec<String> = Vec::new();
        let named = restore.chain(collected).chain(output.map(|info| info.name.as_str()));
        for name in named.filter(|name| !name.is_empty()) {
            if !initializers.iter().any(|known| known == name) {
                initializers.push(name.to_string());
            }
        }
        let assets = assets(meta)?.iter().map(asset).collect::<Result<_>>()?;
        let objects = meta.object_graph_def.take();
        let objects = objects.map(|objects| SavedObjects::of(objects, graph)).unwrap_or_default();
        Ok(SavedState { checkpoint: None, initializers, assets, objects, keys: OnceLock::new() })
    }

    /// Opens the checkpoint of a SavedModel's folder, if the folder has one, and completes the paths of the assets.
    ///
    /// # Errors
    /// As [`Checkpoint::open`].
    pub(super) fn open(&mut self, folder: &Path, limits: &Limits) -> Result<()> {
        for path in self.assets.values_mut() {
            *path = folder.join("assets").join(&*path);
        }
        let prefix = folder.join("variables").join("variables");
        if prefix.with_extension("index").is_file() {
            self.checkpoint = Some(Checkpoint::open(&prefix, limits)?);
        }
        Ok(())
    }

    /// Returns the key of a variable in the checkpoint; `None` if the checkpoint lacks it.
    ///
    /// # Errors
    /// The object graph of the checkpoint is damaged, or several variables have this name.
    pub(super) fn key_of_variable(&self, name: &str) -> Result<Option<String>> {
        let Some(checkpoint) = &self.checkpoint else { return Ok(None) };
        if let Some(object) = self.objects.of_variables.get(name)
            && let Some(key) = self.keys_of_objects(checkpoint)?.get(object)
        {
            return Ok(Some(key.clone()));
        }
        checkpoint.key_of_variable(name)
    }

    fn keys_of_objects(&self, checkpoint: &Checkpoint) -> Result<&HashMap<usize, String>> {
        if let Some(keys) = self.keys.get() {
            return Ok(keys);
        }
        let keys = checkpoint.keys_of_objects(&self.objects.members)?;
        Ok(self.keys.get_or_init(|| keys))
    }
}

/// Returns the assets of a model.
///
/// # Errors
/// An asset of the collection is damaged.
fn assets(meta: &MetaGraphDef) -> Result<Cow<'_, [AssetFileDef]>> {
    let collection = meta.collection_def.get(ASSET_COLLECTION).and_then(|assets| assets.any_list.as_ref());
    let Some(collection) = collection.filter(|_| meta.asset_file_def.is_empty()) else {
        return Ok(Cow::Borrowed(&meta.asset_file_def));
    };
    let decoded = collection.value.iter().map(|asset| {
        AssetFileDef::decode(&asset.value[..]).map_err(|error| {
            let message = format!("the collection {ASSET_COLLECTION} must hold assets: {error}");
            Error::new(ErrorKind::Parse, Phase::Build, message)
        })
    });
    decoded.collect::<Result<_>>().map(Cow::Owned)
}

/// Returns the tensor that holds the path of an asset, and the path in the folder of assets.
fn asset(proto: &AssetFileDef) -> Result<(String, PathBuf)> {
    let path = PathBuf::from(&proto.filename);
    if !path.components().all(|part| matches!(part, Component::Normal(_))) {
        let message = format!("an asset must be a file in the folder of assets, got {}", proto.filename);
        return Err(Error::new(ErrorKind::Parse, Phase::Build, message));
    }
    let tensor = proto.tensor_info.as_ref().map_or("", |info| info.name.as_str());
    Ok((tensor.strip_suffix(":0").unwrap_or(tensor).to_string(), path))
}
