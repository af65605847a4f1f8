//! `Progress`: how far long work is, on a terminal only.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

/// A line on standard error that is written over, and gone at the end.
pub(crate) struct Progress {
    begin: Instant,
    shown: Option<Instant>,
    terminal: bool,
}

/// What is over before this is not shown.
const PATIENCE: Duration = Duration::from_millis(400);

/// Time between two lines.
const BETWEEN: Duration = Duration::from_millis(100);

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress { begin: Instant::now(), shown: None, terminal: std::io::stderr().is_terminal() }
    }

    /// Says at once what will take long.
    pub(crate) fn announce(&mut self, text: &str) {
        if self.terminal {
            self.shown = Some(Instant::now());
            eprint!("\r\x1b[K{text}");
            let _ = std::io::stderr().flush();
        }
    }

    /// Shows what is going on, at most a few times a second.
    pub(crate) fn show(&mut self, text: impl FnOnce() -> String) {
        let due = self.shown.is_none_or(|shown| shown.elapsed() >= BETWEEN);
        if !self.terminal || !due || self.begin.elapsed() < PATIENCE {
            return;
        }
        self.shown = Some(Instant::now());
        eprint!("\r\x1b[K{}", text());
        let _ = std::io::stderr().flush();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            eprint!("\r\x1b[K");
            let _ = std::io::stderr().flush();
        }
    }
}
