//! `Failure`: what went wrong, for people and for programs.

use serde_json::{Value, json};
use shapeflow::{Error, ErrorKind, Phase};

use super::output::lines;

/// A command that did not do what was asked.
pub(crate) struct Failure {
    code: u8,
    message: String,
    error: Value,
    /// What is printed all the same.
    document: Option<Vec<u8>>,
}

/// The exit code for bad input: arguments, files, graphs, feeds.
const BAD_INPUT: u8 = 2;

/// The exit code for a run that failed.
const FAILED: u8 = 1;

impl Failure {
    /// Arguments that make no sense.
    pub(crate) fn usage(message: String) -> Failure {
        let error = error_json(None, None, message.trim_start_matches("error: ").trim_end(), Phase::Build);
        Failure { code: BAD_INPUT, message, error, document: None }
    }

    /// Input that is not as it must be.
    pub(crate) fn input(message: impl std::fmt::Display) -> Failure {
        Failure::usage(format!("error: {message}"))
    }

    /// A result that could not be written.
    pub(crate) fn output(place: impl std::fmt::Display, error: impl std::fmt::Display) -> Failure {
        let message = format!("{place} cannot be written: {error}");
        let error = error_json(None, None, &message, Phase::Run);
        Failure { code: FAILED, message: format!("error: {message}"), error, document: None }
    }

    /// A command whose output shows what is wrong, besides what is right.
    pub(crate) fn with_document(error: Error, document: Vec<u8>) -> Failure {
        Failure { document: Some(document), ..Failure::from(error) }
    }

    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// What goes to standard output: the document, or the error where JSON is asked for.
    pub(crate) fn into_document(self, json: bool) -> Vec<u8> {
        match self.document {
            Some(document) => document,
            None if json => lines(json!({"error": self.error}).to_string()),
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

/// `{"op", "node", "message", "phase"}`.
pub(crate) fn json_of(error: &Error) -> Value {
    let messages: Vec<&str> = error.all().map(Error::message).collect();
    error_json(error.op(), error.node(), &messages.join("\n"), error.phase())
}

fn error_json(op: Option<&str>, node: Option<&str>, message: &str, phase: Phase) -> Value {
    json!({"op": op, "node": node, "message": message, "phase": phase.to_string()})
}
