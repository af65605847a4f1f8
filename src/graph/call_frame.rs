//! [`CallFrame`]: a call in the program that adds several nodes, for the errors of these nodes.

use std::panic::Location;
use std::sync::Arc;

use shapeflow_shape_fns::Attrs;
use smallvec::SmallVec;

use super::node::CallOrigin;
use super::{GraphData, ValueIx};
use crate::error::{Error, is_library_line};
use crate::op::OpDef;

/// A call in the program that adds several nodes: of a composite op, or of a method that builds with other ops. Errors
/// of the nodes name this call, because the program does not mention their ops.
pub(crate) struct CallFrame {
    name: &'static str,
    location: &'static Location<'static>,
    /// The index in [`GraphData::calls`] of the call that made this call.
    parent: Option<u32>,
    /// The operands and attributes; `None` for a method.
    arguments: Option<Arguments>,
    /// The call of a method of a ragged value, such as `map(f32[n, (r0)])`. Errors show it in place of the call of the
    /// node of the same name, whose operands are the parts of the ragged value.
    ragged_call: Option<String>,
    /// The call of a method with its arguments, such as `slice_with(f32[n, 4], [0, 1..])`. Errors show it in place of
    /// the calls of its nodes, whose arguments the program did not write.
    written_call: Option<String>,
}

/// The text of a method's call in errors.
pub(crate) enum MethodText {
    /// The method's name. An error shows the call of the failing node after it.
    Name,
    /// See [`CallFrame::ragged_call`].
    Ragged(String),
    /// See [`CallFrame::written_call`].
    Written(String),
}

struct Arguments {
    operands: SmallVec<[ValueIx; 4]>,
    attrs: Attrs,
    /// The call with the types of its operands and its attributes.
    text: String,
}

impl GraphData {
    /// Records a call of a method at a line of the program. Returns the index of its frame.
    pub(super) fn push_method(
        &mut self,
        name: &'static str,
        text: MethodText,
        location: &'static Location<'static>,
    ) -> u32 {
        let parent = self.parent_of_call(location);
        let (ragged_call, written_call) = match text {
            MethodText::Name => (None, None),
            MethodText::Ragged(call) => (Some(call), None),
            MethodText::Written(call) => (None, Some(call)),
        };
        self.push_frame(CallFrame { name, location, parent, arguments: None, ragged_call, written_call })
    }

    /// Records a call of a composite op. Returns the index of its frame.
    pub(super) fn push_composite(
        &mut self,
        op: &OpDef,
        operands: &[ValueIx],
        attrs: &Attrs,
        location: &'static Location<'static>,
    ) -> u32 {
        let text = self.call_text(op, operands, attrs);
        let arguments = Arguments { operands: operands.into(), attrs: attrs.clone(), text };
        let (name, parent) = (op.name(), self.parent_of_call(location));
        let (ragged_call, written_call) = (None, None);
        let arguments = Some(arguments);
        self.push_frame(CallFrame { name, location, parent, arguments, ragged_call, written_call })
    }

    fn push_frame(&mut self, frame: CallFrame) -> u32 {
        self.calls.push(Arc::new(frame));
        self.calls.len() as u32 - 1
    }

    /// Returns the open call, the call in progress, if it made the call at `location`. It did if `location` is in the
    /// library, or is the location of the open call itself. A call at another line of the program, such as in a closure
    /// that the open call runs, is a call of its own: the result is `None`.
    fn parent_of_call(&self, location: &Location<'_>) -> Option<u32> {
        let open = self.open_frame?;
        let frame = &self.calls[open as usize];
        (is_library_line(location) || *location == *frame.location).then_some(open)
    }

    /// Returns which open call adds a node at `location`, and whether the node has the operands and attributes of the
    /// innermost call that errors show.
    pub(super) fn call_origin(
        &self,
        operands: &[ValueIx],
        attrs: &Attrs,
        location: &Location<'_>,
    ) -> CallOrigin {
        let frame = self.parent_of_call(location);
        let shown = frame.and_then(|frame| self.shown_frames(frame).pop());
        let has_call_arguments = shown.and_then(|shown| shown.arguments.as_ref()).is_some_and(|arguments| {
            arguments.operands[..] == *operands && arguments.attrs.iter().eq(attrs.iter())
        });
        CallOrigin { frame, has_call_arguments }
    }

    /// Returns the calls that an error names: the call in the program, and if it is a method, the first composite op
    /// below it.
    fn shown_frames(&self, innermost: u32) -> SmallVec<[&CallFrame; 2]> {
        let mut chain: SmallVec<[&CallFrame; 4]> = SmallVec::new();
        let mut next = Some(innermost);
        while let Some(index) = next {
            let frame: &CallFrame = &self.calls[index as usize];
            chain.push(frame);
            next = frame.parent;
        }
        let outermost = chain[chain.len() - 1];
        let composite = chain.iter().rev().copied().find(|frame| frame.arguments.is_some());
        let inner = composite.filter(|frame| !std::ptr::eq(*frame, outermost));
        [outermost].into_iter().chain(inner).collect()
    }

    /// Returns the name and the line of the call in the program that added a node.
    pub(crate) fn call_of_program(
        &self,
        origin: CallOrigin,
    ) -> Option<(&'static str, &'static Location<'static>)> {
        let outermost = self.shown_frames(origin.frame?)[0];
        Some((outermost.name, outermost.location))
    }

    /// If the op of a node is internal, its errors show a call in the program instead. Returns that call's operands.
    pub(crate) fn operands_of_program(&self, op: &OpDef, origin: CallOrigin) -> Option<&[ValueIx]> {
        let shown = self.shown_frames(origin.frame.filter(|_| op.is_internal())?).pop()?;
        shown.arguments.as_ref().map(|arguments| &arguments.operands[..])
    }

    /// Names the open call in an error that names no op.
    pub(super) fn blame_open_call(&self, error: Error) -> Error {
        let Some(frame) = self.open_frame else { return error };
        let outermost = self.shown_frames(frame)[0];
        let error = match error.op() {
            None => {
                error.with_op(outermost.name, outermost.written_call.as_deref().unwrap_or(outermost.name))
            }
            Some(_) => error,
        };
        // Code of this crate that does not know the line of the call gives its own line.
        match error.recorded_location() {
            Some(location) if is_library_line(location) => error.at(outermost.location),
            _ => error.or_at(outermost.location),
        }
    }

    /// Adds the call of an op to an error. `call` is the text of the call. If another call in the program added the op,
    /// that call comes first: `tensordot: einsum(f32[2, 3], f32[4, 5], equation="ab,bc->ac"): …`.
    pub(crate) fn blame(&self, error: Error, op: &OpDef, call: String, origin: CallOrigin) -> Error {
        let Some(frame) = origin.frame else { return error.with_op(op.name(), call) };
        let shown = self.shown_frames(frame);
        if let Some(call) = &shown[0].written_call {
            return error.with_op(shown[0].name, call);
        }
        let mut names: SmallVec<[&str; 3]> = shown.iter().map(|frame| frame.name).collect();
        let mut texts: Vec<String> = Vec::new();
        for frame in &shown {
            let arguments = frame.arguments.as_ref().map(|arguments| &arguments.text);
            texts.push(
                arguments.or(frame.ragged_call.as_ref()).map_or(frame.name, String::as_str).to_string(),
            );
        }
        let name = names[0];
        match call.strip_prefix(op.name()).filter(|_| origin.has_call_arguments) {
            _ if op.is_internal() => {}
            Some(arguments) => {
                let last = names[names.len() - 1];
                texts.pop();
                texts.push(format!("{last}{arguments}"));
            }
            None => {
                names.push(op.name());
                texts.push(call);
            }
        }
        // A method and its op often have one name.
        if shown[0].arguments.is_none() && names.get(1) == Some(&name) {
            texts.remove(usize::from(shown[0].ragged_call.is_some()));
        }
        error.with_op(name, texts.join(": "))
    }
}
