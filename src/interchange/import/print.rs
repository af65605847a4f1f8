//! Imports `Print` and `PrintV2` as ops that write to [`ImportOptions::print_sink`](super::super::ImportOptions).

use std::sync::Arc;

use super::super::proto::AttrKind;
use super::built::{Built, Condition, ImportedValue};
use super::frame::{Frame, damaged};
use super::importer::Importer;
use crate::error::Result;
use crate::ops::PrintOptions;
use crate::ops::string::print::{line_op, text_op};

impl<'a, 'g> Importer<'a, 'g> {
    /// Imports a `Print`, which passes its first input on, or a `PrintV2`, which has no output. The op of a
    /// `PrintV2` runs before the nodes that depend on the `PrintV2`.
    ///
    /// # Errors
    /// The node lacks an input, or the input of a `PrintV2` is not a string scalar.
    pub(super) fn print_node(
        &mut self,
        frame: &Frame<'a, 'g>,
        index: usize,
        name: &str,
        inputs: &[ImportedValue<'g>],
    ) -> Result<Built<'g>> {
        let Some((first, data)) = inputs.split_first() else {
            return damaged(format!("{} must have an input, got none", frame.nodes[index].op));
        };
        let sink = self.options.print_sink.clone();
        let text = |name: &str| match frame.attr(index, name) {
            Some(AttrKind::S(text)) => Some(String::from_utf8_lossy(text).into_owned()),
            _ => None,
        };
        let int = |name: &str, default: i64| match frame.attr(index, name) {
            Some(AttrKind::I(value)) => *value,
            _ => default,
        };
        if frame.nodes[index].op == "PrintV2" {
            let def = Arc::new(text_op(text("end").unwrap_or("\n".to_string()), sink));
            let value = self.graph.op(def).data(first.value).finish_at(self.location)?;
            let checks = self.add_condition(Condition::Computed(vec![value]));
            return Ok(Built { checks, ..Built::default() });
        }
        let options = PrintOptions {
            first_runs: u64::try_from(int("first_n", -1)).ok(),
            elements: usize::try_from(int("summarize", 3)).ok(),
            sink,
        };
        let def = Arc::new(line_op(text("message").unwrap_or_default(), options));
        let call = data.iter().fold(self.graph.op(def).data(first.value), |call, data| call.data(data.value));
        Ok(Built::of(vec![call.finish_at(self.location)?.named(name)]))
    }
}
