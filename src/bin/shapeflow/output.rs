//! Writes to standard output, standard error and files. A failed write is an error, unless the reader of a pipe has
//! closed the pipe.

use std::io::{ErrorKind, Write};
use std::path::Path;

use super::failure::Failure;

/// Prints a document to standard output.
pub(crate) fn print(document: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(document).and_then(|()| out.flush()) {
        // The reader has closed the pipe, as `head` does.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::output("standard output", error)),
        Ok(()) => Ok(()),
    }
}

/// Writes a file; `-` is standard output.
pub(crate) fn write_file(file: &Path, content: impl AsRef<[u8]>) -> Result<(), Failure> {
    if file == Path::new("-") {
        return print(content.as_ref());
    }
    std::fs::write(file, content).map_err(|error| Failure::output(file.display(), error))
}

/// Prints a line to standard error. A failure is ignored, because it cannot be reported.
pub(crate) fn print_error(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", text.trim_end());
}
