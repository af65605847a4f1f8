//! `Scope`: a named part of a graph, for names, errors and dumps; `OpenCall`: the line of a composite's caller.

use std::borrow::Cow;
use std::panic::Location;

use shapeflow_shape_fns::Attrs;

use super::call_frame::MethodText;
use super::{Graph, ScopeFrame, ValueIx};
use crate::error::{Error, Result, is_library_line};
use crate::op::OpDef;

/// The guard of an open scope. Until the guard drops, nodes get the scope's name as a prefix; see [`Graph::scope`].
#[must_use = "the scope ends when the guard drops"]
pub struct Scope<'g> {
    graph: &'g Graph,
    /// The index of the scope in `GraphData::scopes`.
    frame: u32,
}

impl<'g> Scope<'g> {
    pub(crate) fn enter(graph: &'g Graph, name: &str, location: &'static Location<'static>) -> Scope<'g> {
        let name = name.to_string().into();
        Scope::enter_frame(graph, ScopeFrame { parent: 0, name, location, is_call: false, is_closed: false })
    }

    /// Opens the scope of a call of a composite op. Errors name the call and not the scope.
    pub(super) fn of_call(
        graph: &'g Graph,
        name: &'static str,
        location: &'static Location<'static>,
    ) -> Scope<'g> {
        Scope::enter_frame(
            graph,
            ScopeFrame { parent: 0, name: name.into(), location, is_call: true, is_closed: false },
        )
    }

    fn enter_frame(graph: &'g Graph, frame: ScopeFrame) -> Scope<'g> {
        let mut data = graph.write();
        let parent = data.scope;
        if data.scopes.is_empty() {
            data.scopes.push(ScopeFrame { name: Cow::Borrowed(""), ..frame.clone() });
        }
        let number = data.scopes.len() as u32;
        data.scope = number;
        data.scopes.push(ScopeFrame { parent, ..frame });
        drop(data);
        Scope { graph, frame: number }
    }
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        let data = &mut *self.graph.write();
        data.scopes[self.frame as usize].is_closed = true;
        // A program may drop guards in any order. The scope that stays open is the innermost one whose guard is alive.
        while let Some(scope) = data.scopes.get(data.scope as usize).filter(|scope| scope.is_closed) {
            data.scope = scope.parent;
        }
    }
}

/// The guard of a call that adds several nodes. Until the guard drops, nodes that the code of this crate adds have the
/// line of the call.
#[must_use = "the call ends when the guard drops"]
pub(crate) struct OpenCall<'g> {
    graph: &'g Graph,
    outer: Option<&'static Location<'static>>,
    outer_frame: Option<u32>,
    /// Whether the program made the call: its line is not a line of this crate.
    is_of_program: bool,
}

impl Graph {
    /// Opens a call of a method of a ragged value. Errors have the text `call` in place of a node of this name.
    pub(crate) fn open_ragged_call(
        &self,
        name: &'static str,
        call: String,
        location: &'static Location<'static>,
    ) -> OpenCall<'_> {
        self.open_method(name, MethodText::Ragged(call), location)
    }

    /// Opens a call of a method. Errors have the text `call` in place of the calls of all nodes that the method adds.
    pub(crate) fn open_written_call(
        &self,
        name: &'static str,
        call: String,
        location: &'static Location<'static>,
    ) -> OpenCall<'_> {
        self.open_method(name, MethodText::Written(call), location)
    }

    /// Runs the body of the method `name`, which the caller calls: see [`OpenCall::attempt`].
    #[track_caller]
    pub(crate) fn in_call<T>(&self, name: &'static str, body: impl FnOnce() -> Result<T>) -> Result<T> {
        self.in_call_at(name, Location::caller(), body)
    }

    /// Runs the body of the method `name`, as [`Graph::in_call`] does, for a call at the given line.
    pub(crate) fn in_call_at<T>(
        &self,
        name: &'static str,
        location: &'static Location<'static>,
        body: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        self.open_method(name, MethodText::Name, location).attempt(body)
    }

    /// Opens a call of the method `name`. If the location is a line of this crate, the outer call stays in force.
    fn open_method(
        &self,
        name: &'static str,
        text: MethodText,
        location: &'static Location<'static>,
    ) -> OpenCall<'_> {
        let mut data = self.write();
        let (outer, outer_frame) = (data.call, data.open_frame);
        if !is_library_line(location) {
            data.open_frame = Some(data.push_method(name, text, location));
            data.call = Some(location);
        }
        drop(data);
        OpenCall { graph: self, outer, outer_frame, is_of_program: !is_library_line(location) }
    }

    /// Opens a call of a composite op. The line of the outer call stays in force if `location` is a line of this crate.
    pub(super) fn open_composite(
        &self,
        op: &OpDef,
        operands: &[ValueIx],
        attrs: &Attrs,
        location: &'static Location<'static>,
    ) -> OpenCall<'_> {
        let mut data = self.write();
        let (outer, outer_frame) = (data.call, data.open_frame);
        data.open_frame = Some(data.push_composite(op, operands, attrs, location));
        if !is_library_line(location) {
            data.call = Some(location);
        }
        drop(data);
        OpenCall { graph: self, outer, outer_frame, is_of_program: !is_library_line(location) }
    }
}

impl<'g> OpenCall<'g> {
    /// Leaves the call until the returned guard drops: nodes that a closure of the program adds are not parts of the
    /// call.
    pub(crate) fn leave(&self) -> OpenCall<'g> {
        let mut data = self.graph.write();
        let (outer, outer_frame) = (data.call, data.open_frame);
        (data.call, data.open_frame) = (self.outer, self.outer_frame);
        drop(data);
        OpenCall { graph: self.graph, outer, outer_frame, is_of_program: self.is_of_program }
    }

    /// Runs the body of the call. A refused body leaves the graph as it was. If the program made the call, the error of
    /// the body names the call and has the line of the call.
    pub(crate) fn attempt<T>(&self, body: impl FnOnce() -> Result<T>) -> Result<T> {
        let checkpoint = self.graph.write().checkpoint();
        match body() {
            Ok(result) => {
                self.graph.write().commit(checkpoint);
                Ok(result)
            }
            Err(error) => {
                self.graph.write().rollback(checkpoint);
                // The call in the program that made this call names itself.
                Err(if self.is_of_program { self.blame(error) } else { error })
            }
        }
    }

    /// Names the call in an error about an argument of its method, and gives the error the line of the call. An error
    /// that names an op stays as it is.
    fn blame(&self, error: Error) -> Error {
        self.graph.read().blame_open_call(error)
    }
}

impl Drop for OpenCall<'_> {
    fn drop(&mut self) {
        let mut data = self.graph.write();
        (data.call, data.open_frame) = (self.outer, self.outer_frame);
    }
}

#[cfg(test)]
mod tests {
    use crate::Graph;

    #[test]
    fn guards_may_drop_in_any_order() {
        let g = Graph::new();
        let name = |name: &str| {
            let _ = g.constant(1i32).unwrap().named(name);
            g.to_string().lines().rev().nth(1).unwrap().split("// ").nth(1).unwrap().to_string()
        };
        let a = g.scope("a");
        let b = g.scope("b");
        drop(a);
        assert!(name("v").starts_with("a/b/v,"), "the scope b was opened in the scope a");
        drop(b);
        assert!(name("w").starts_with("w,"));
    }
}
