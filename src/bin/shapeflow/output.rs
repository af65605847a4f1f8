//! What a command prints and writes: a write that fails is an error, a reader that went away is none.

use std::io::{ErrorKind, Write};
use std::path::Path;

use super::failure::Failure;

/// Prints a document on standard output.
pub(crate) fn print(document: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(document).and_then(|()| out.flush()) {
        // The reader has seen enough, as `head` has.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::output("standard output", error)),
        Ok(()) => Ok(()),
    }
}

/// Writes a file.
pub(crate) fn write_file(file: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    std::fs::write(file, content).map_err(|error| Failure::output(file.display(), error))
}

/// A text as a document: its last line ends.
pub(crate) fn lines(mut text: String) -> Vec<u8> {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.into_bytes()
}

/// Prints on standard error. A failure is ignored, because nothing is left to report it on.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", text.trim_end());
}
