//! The entry point of fuzzing: imports arbitrary bytes.

use std::sync::Arc;

use super::checkpoint::{Checkpoint, write_table};
use super::{ImportOptions, Limits, Model, to_graphdef};
use crate::tensor::SharedBytes;

fn limits() -> Limits {
    Limits {
        file_bytes: 1 << 20,
        nodes: 10_000,
        rank: 16,
        constant_bytes: 1 << 22,
        index_bytes: 1 << 22,
        nesting: 8,
    }
}

/// Imports bytes within limits of at most 4 MiB, and exports the graph if the import succeeds. The function must not
/// panic for any bytes.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) {
    let limits = limits();
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

/// Reads bytes as the index of a checkpoint. Then reads them as the keys and values of an index with correct checksums.
/// In both cases, every data file of the checkpoint holds the same bytes. The function must not panic for any bytes.
#[doc(hidden)]
pub fn fuzz_checkpoint(bytes: &[u8]) {
    let data = SharedBytes::new(Arc::new(bytes.to_vec()));
    let read = |index: &[u8]| {
        let checkpoint = Checkpoint::read(index, |_, _| Ok(data.clone()), &limits());
        for key in checkpoint.iter().flat_map(Checkpoint::keys) {
            for slice in ["", "4 0,2", "2 3 0,1:-"] {
                let _ = checkpoint.as_ref().map(|checkpoint| checkpoint.tensor(key, slice));
            }
        }
    };
    read(bytes);
    // Each entry is a byte with the length of the key, a byte with the length of the value, the key, and the value.
    let (mut entries, mut rest) = (Vec::new(), bytes);
    while let [key, value, more @ ..] = rest {
        let Some((key, more)) = more.split_at_checked(usize::from(*key)) else { break };
        let Some((value, more)) = more.split_at_checked(usize::from(*value)) else { break };
        entries.push((key.to_vec(), value.to_vec()));
        rest = more;
    }
    for per_block in [1, 4] {
        read(&write_table(&entries, per_block));
    }
}
