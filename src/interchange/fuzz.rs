//! The entry point of fuzzing: imports arbitrary bytes.

use super::{ImportOptions, Limits, Model, to_graphdef};

/// Imports bytes within limits of at most 4 MiB, and exports the graph if the import succeeds. This must not panic for
/// any bytes.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) {
    let limits = Limits { file_bytes: 1 << 20, nodes: 10_000, rank: 16, constant_bytes: 1 << 22, nesting: 8 };
    let Ok(model) = Model::from_bytes_limited(bytes.to_vec(), &limits) else { return };
    for allow_unknown in [false, true] {
        let options = ImportOptions::new().allow_unknown(allow_unknown).limits(limits.clone());
        let Ok(imported) = model.import(None, &options) else { continue };
        for node in imported.nodes() {
            let _ = node.error.map(ToString::to_string);
            let _ = imported.value(node.name).map(|value| value.shape().to_string());
        }
        for (number, node) in imported.nodes().enumerate().take(16) {
            let feed = format!("{}:{}", node.name, number % 2);
            let _ = model.import(None, &options.clone().feed(feed).feed(node.name));
        }
        let written = to_graphdef(imported.graph(), &[]);
        let _ = written.and_then(Model::from_bytes).and_then(|again| again.import(None, &options));
    }
}
