//! `Registry`: op definitions by name.

use std::collections::HashMap;
use std::fmt;

use super::{OpDef, OpRef};

/// Op definitions by name, for import. A registry is a value; there is no global one.
#[derive(Clone, Default)]
pub struct Registry {
    by_name: HashMap<&'static str, OpRef>,
}

impl Registry {
    /// Adds an op, which replaces an earlier op of the same name.
    pub fn with(mut self, def: impl Into<OpRef>) -> Registry {
        let def = def.into();
        self.by_name.insert(def.name(), def);
        self
    }

    /// Returns the op of this name.
    pub fn get(&self, name: &str) -> Option<OpRef> {
        self.by_name.get(name).cloned()
    }

    /// Returns every op, in no order.
    #[cfg(feature = "graphdef")]
    pub(crate) fn defs(&self) -> impl Iterator<Item = &OpRef> {
        self.by_name.values()
    }

    /// Returns every op, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = &OpDef> {
        let mut all: Vec<&OpDef> = self.by_name.values().map(|def| &**def).collect();
        all.sort_by_key(|def| def.name());
        all.into_iter()
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter().map(OpDef::name)).finish()
    }
}
