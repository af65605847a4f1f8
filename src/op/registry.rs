//! `Registry`: op definitions by name and by TensorFlow op type.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::{OpDef, OpRef, TfOp};

/// Op definitions by name, for import. A registry is a value. Clones share their tables, so a clone is cheap.
#[derive(Clone, Default)]
pub struct Registry {
    tables: Arc<RegistryTables>,
}

#[derive(Clone, Default)]
struct RegistryTables {
    by_name: HashMap<&'static str, OpRef>,
    /// For each op type, the definitions that have it among their spellings, sorted by name, so that the choice among
    /// them does not depend on the order in which they were added.
    by_op_type: HashMap<&'static str, Vec<(OpRef, TfOp)>>,
}

impl Registry {
    /// Adds an op, which replaces an earlier op of the same name.
    pub fn with(mut self, def: impl Into<OpRef>) -> Registry {
        let def = def.into();
        let RegistryTables { by_name, by_op_type } = Arc::make_mut(&mut self.tables);
        if let Some(replaced) = by_name.insert(def.name(), def.clone()) {
            for spelling in replaced.tensorflow_ops() {
                by_op_type
                    .entry(spelling.op_type)
                    .or_default()
                    .retain(|(other, _)| other.name() != def.name());
            }
        }
        for spelling in def.tensorflow_ops() {
            let candidates = by_op_type.entry(spelling.op_type).or_default();
            let position = candidates.partition_point(|(other, _)| other.name() <= def.name());
            candidates.insert(position, (def.clone(), *spelling));
        }
        self
    }

    /// Returns the op of this name.
    ///
    /// ```
    /// use shapeflow::Registry;
    ///
    /// let registry = Registry::builtin();
    /// assert_eq!(registry.get("softmax").map(|def| def.name()), Some("softmax"));
    /// assert!(registry.get("no_such_op").is_none());
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    pub fn get(&self, name: &str) -> Option<OpRef> {
        self.tables.by_name.get(name).cloned()
    }

    /// Returns the definitions that have this TensorFlow op type among their spellings, each with the spelling.
    #[cfg(feature = "graphdef")]
    pub(crate) fn candidates(&self, op_type: &str) -> &[(OpRef, TfOp)] {
        self.tables.by_op_type.get(op_type).map_or(&[], Vec::as_slice)
    }

    /// Returns every op, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &OpDef> {
        let mut all: Vec<&OpDef> = self.tables.by_name.values().map(|def| &**def).collect();
        all.sort_by_key(|def| def.name());
        all.into_iter()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(OpDef::name)).finish()
    }
}
