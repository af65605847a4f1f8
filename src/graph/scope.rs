//! `Scope`: a named part of a graph, for names, errors and dumps; `OpenCall`: the line of a composite's caller.

use std::borrow::Cow;
use std::panic::Location;

use super::{Graph, ScopeFrame};
use crate::error::is_library_line;

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

/// The guard of a call that adds several nodes. Until the guard drops, nodes that the code of this crate adds have the
/// line of the call.
#[must_use = "the call ends when the guard drops"]
pub(crate) struct OpenCall<'g> {
    graph: &'g Graph,
    outer: Option<&'static Location<'static>>,
}

impl Graph {
    /// Opens a call at the caller's line. If the caller is code of this crate, the outer call stays in force.
    #[track_caller]
    pub(crate) fn open_call(&self) -> OpenCall<'_> {
        self.open_call_at(Location::caller())
    }

    /// Opens a call as [`Graph::open_call`] does, at the given line.
    pub(crate) fn open_call_at(&self, location: &'static Location<'static>) -> OpenCall<'_> {
        let mut data = self.write();
        let outer = data.call;
        if !is_library_line(location) {
            data.call = Some(location);
        }
        drop(data);
        OpenCall { graph: self, outer }
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        self.graph.write().call = self.outer;
    }
}
