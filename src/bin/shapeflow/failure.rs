//! `Failure`: the error of a command, as text and as JSON, with its exit code.

use serde_json::{Value, json};
use shapeflow::{Error, ErrorKind, Phase};

use super::document::with_final_newline;

/// The error of a command.
pub(crate) struct Failure {
    code: u8,
    message: String,
    error: Value,
    /// A document that is printed despite the error.
    document: Option<Vec<u8>>,
}

/// The exit code for bad input: arguments, files, graphs, feeds.
const BAD_INPUT: u8 = 2;

/// The exit code for a failed run and for output that cannot be written.
const FAILED: u8 = 1;

impl Failure {
    /// Returns the failure of invalid arguments. `message` starts with `error: `.
    pub(crate) fn usage(message: String) -> Failure {
        let error = error_json(None, None, message.trim_start_matches("error: ").trim_end(), Phase::Build);
        Failure { code: BAD_INPUT, message, error, document: None }
    }

    /// Returns the failure of invalid input. `message` has no prefix.
    pub(crate) fn input(message: impl std::fmt::Display) -> Failure {
        Failure::usage(format!("error: {message}"))
    }

    /// Returns the failure of invalid input at a node. `message` has no prefix.
    pub(crate) fn at_node(node: &str, message: impl std::fmt::Display) -> Failure {
        Failure {
            error: error_json(None, Some(node), &message.to_string(), Phase::Build),
            ..Failure::input(message)
        }
    }

    /// Returns the failure of a node whose op cannot be computed. `message` has no prefix.
    pub(crate) fn at_op(op: &str, node: &str, message: impl std::fmt::Display) -> Failure {
        let error = error_json(Some(op), Some(node), &message.to_string(), Phase::Compile);
        Failure { error, ..Failure::input(message) }
    }

    /// Returns the failure of a result that cannot be written to `target`.
    pub(crate) fn output(target: impl std::fmt::Display, error: impl std::fmt::Display) -> Failure {
        let message = format!("{target} cannot be written: {error}");
        let error = error_json(None, None, &message, Phase::Run);
        Failure { code: FAILED, message: format!("error: {message}"), error, document: None }
    }

    /// Returns the failure of a refused node, with a document that shows the error at the node.
    pub(crate) fn with_document(error: Error, document: Vec<u8>) -> Failure {
        Failure { document: Some(document), ..Failure::from(error) }
    }

    pub(crate) fn has_document(&self) -> bool {
        self.document.is_some()
    }

    /// Returns the same failure with a document.
    pub(crate) fn and_document(self, document: Vec<u8>) -> Failure {
        Failure { document: Some(document), ..self }
    }

    /// Returns the error as `{"op", "node", "message", "phase"}`.
    pub(crate) fn json(&self) -> &Value {
        &self.error
    }

    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Returns the bytes for standard output: the document, or the error as JSON if `json` is set.
    pub(crate) fn into_document(self, json: bool) -> Vec<u8> {
        match self.document {
            Some(document) => document,
            None if json => with_final_newline(json!({"error": self.error}).to_string()),
            None => Vec::new(),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let failed =
            error.phase() == Phase::Run && !matches!(error.kind(), ErrorKind::Feed | ErrorKind::Parse);
        Failure {
            code: if failed { FAILED } else { BAD_INPUT },
            message: error.to_string(),
            error: json_of(&error),
            document: None,
        }
    }
}

/// Returns an error as `{"op", "node", "message", "phase"}`.
pub(crate) fn json_of(error: &Error) -> Value {
    let messages: Vec<&str> = error.all().map(Error::message).collect();
    error_json(error.op(), error.node(), &messages.join("\n"), error.phase())
}

fn error_json(op: Option<&str>, node: Option<&str>, message: &str, phase: Phase) -> Value {
    json!({"op": op, "node": node, "message": message, "phase": phase.to_string()})
}
