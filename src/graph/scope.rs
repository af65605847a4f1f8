//! `Scope`: a named part of a graph, for names, errors and dumps.

use std::borrow::Cow;
use std::panic::Location;

use super::{Graph, ScopeFrame};

/// The guard of an open scope. Until the guard drops, nodes get the scope's name as a prefix; see [`Graph::scope`].
#[must_use = "the scope ends when the guard drops"]
pub struct Scope<'g> {
    graph: &'g Graph,
    parent: u32,
}

impl<'g> Scope<'g> {
    pub(crate) fn enter(
        graph: &'g Graph,
        name: Cow<'static, str>,
        location: &'static Location<'static>,
    ) -> Scope<'g> {
        let mut data = graph.write();
        let parent = data.scope;
        if data.scopes.is_empty() {
            data.scopes.push(ScopeFrame { parent: 0, name: Cow::Borrowed(""), location });
        }
        data.scope = data.scopes.len() as u32;
        data.scopes.push(ScopeFrame { parent, name, location });
        drop(data);
        Scope { graph, parent }
    }
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        self.graph.write().scope = self.parent;
    }
}
