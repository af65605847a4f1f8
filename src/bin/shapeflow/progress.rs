//! `Progress`: shows the progress of long work, on a terminal only.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// A line on standard error that each new text overwrites, and that is cleared at the end.
pub(crate) struct Progress {
    begin: Instant,
    /// The time when the current line was shown.
    shown: Option<Instant>,
    /// Whether standard error is a terminal.
    is_terminal: bool,
}

/// Delay before the first line. Work that ends earlier shows nothing.
const PATIENCE: Duration = Duration::from_millis(400);

/// Minimum time between two lines.
const BETWEEN: Duration = Duration::from_millis(100);

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress { begin: Instant::now(), shown: None, is_terminal: std::io::stderr().is_terminal() }
    }

    /// Shows a line at once, before work that will take long.
    pub(crate) fn announce(&mut self, text: &str) {
        if self.is_terminal {
            self.shown = Some(Instant::now());
            overwrite(text);
        }
    }

    /// Shows a line if the work has taken at least [`PATIENCE`], and the last line is at least [`BETWEEN`] old.
    pub(crate) fn show(&mut self, text: impl FnOnce() -> String) {
        let due = self.shown.is_none_or(|shown| shown.elapsed() >= BETWEEN);
        if !self.is_terminal || !due || self.begin.elapsed() < PATIENCE {
            return;
        }
        self.shown = Some(Instant::now());
        overwrite(&text());
    }
}

/// Replaces the current line of standard error.
fn overwrite(text: &str) {
    // A failure is ignored: the line is not part of the result.
    let mut out = std::io::stderr().lock();
    let _ = write!(out, "\r\x1b[K{text}").and_then(|()| out.flush());
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            overwrite("");
        }
    }
}
