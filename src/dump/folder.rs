//! `Folder`: a sink that writes every stage to files.

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError};

use super::{Snapshot, StageKind, StageSink};

/// Returns a sink that writes to the folder that the environment variable `SHAPEFLOW_DUMP` names; `None` if the
/// variable is absent or empty.
pub(crate) fn dump_folder_from_environment() -> Option<Arc<dyn StageSink>> {
    static FOLDER: OnceLock<Option<Arc<Folder>>> = OnceLock::new();
    let create =
        || std::env::var_os("SHAPEFLOW_DUMP").filter(|path| !path.is_empty()).map(Folder::new).map(Arc::new);
    FOLDER.get_or_init(create).clone().map(|folder| folder as Arc<dyn StageSink>)
}

/// A sink that writes a folder for each compilation. The folder has files for each stage, and their names start with
/// the number of the stage. A file that cannot be written is skipped. The sink prints a warning about the first such
/// file.
#[derive(Debug)]
struct Folder {
    root: PathBuf,
    /// The folder of each compilation, and the number of stages in it; `None` if the folder cannot be created.
    compilations: Mutex<HashMap<u64, Option<(PathBuf, usize)>>>,
}

/// The folders of compilations in one root folder have numbers from 1 to `FOLDERS - 1`.
const FOLDERS: usize = 100_000;

impl Folder {
    fn new(root: impl Into<PathBuf>) -> Folder {
        Folder { root: root.into(), compilations: Mutex::default() }
    }

    /// Returns the folder of a compilation and the number of its next stage.
    fn next_stage(&self, compile: u64) -> Option<(PathBuf, usize)> {
        let mut compilations = self.compilations.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = compilations
            .entry(compile)
            .or_insert_with(|| create_folder(&self.root).map(|folder| (folder, 0)));
        let (folder, next) = entry.as_mut()?;
        *next += 1;
        Some((folder.clone(), *next - 1))
    }
}

/// Creates the first folder of `compile-0001`, `compile-0002`, … that does not exist.
fn create_folder(root: &Path) -> Option<PathBuf> {
    if let Err(error) = std::fs::create_dir_all(root) {
        warn(root, &error);
        return None;
    }
    for number in 1..FOLDERS {
        let folder = root.join(format!("compile-{number:04}"));
        match std::fs::create_dir(&folder) {
            Ok(()) => return Some(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                warn(&folder, &error);
                return None;
            }
        }
    }
    None
}

/// Prints a warning on the first call in this process.
fn warn(path: &Path, error: &std::io::Error) {
    static WARNED: Once = Once::new();
    WARNED.call_once(|| {
        // A failure of standard error cannot be reported, so it is ignored.
        let mut out = std::io::stderr().lock();
        let _ = writeln!(out, "warning: SHAPEFLOW_DUMP: {} cannot be written: {error}", path.display());
    });
}

impl StageSink for Folder {
    fn take(&self, compile: u64, snapshot: &Snapshot) {
        let Some((folder, number)) = self.next_stage(compile) else { return };
        let stage = snapshot.stage();
        let write = |extension: &str, content: &str| {
            let path = folder.join(format!("{number:02}-{stage}.{extension}"));
            if let Err(error) = std::fs::write(&path, content) {
                warn(&path, &error);
            }
        };
        write("txt", snapshot.text());
        if stage <= StageKind::Kernels {
            write("dot", &snapshot.to_dot());
        }
        #[cfg(feature = "dumps")]
        {
            if stage <= StageKind::Kernels {
                write("json", &snapshot.to_json());
                write("svg", &snapshot.to_svg());
            }
            // The page of the stage `clif` shows the stages `optimized` and `kernels` too.
            if stage == StageKind::Graph || stage == StageKind::Clif {
                write("html", &snapshot.to_html(None));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompileOptions, DType, Graph, Result, shape};

    #[test]
    fn every_stage_of_every_compilation_is_written() -> Result<()> {
        let root = std::env::temp_dir().join(format!("shapeflow-folder-{}", std::process::id()));
        let options = CompileOptions::new().sink(Arc::new(Folder::new(&root)));
        let g = Graph::new();
        let y = (g.input("x", DType::F32, shape!["n"])? * 2.0).relu()?;
        for _ in 0..2 {
            g.compile_with(&options, y)?;
        }
        for compile in ["compile-0001", "compile-0002"] {
            for file in ["00-graph.txt", "00-graph.dot", "01-optimized.txt", "02-kernels.txt", "03-clif.txt"]
            {
                let text =
                    std::fs::read_to_string(root.join(compile).join(file)).map_err(crate::Error::wrap)?;
                assert!(text.len() > 20, "{compile}/{file}: {text}");
            }
        }
        std::fs::remove_dir_all(&root).map_err(crate::Error::wrap)
    }

    #[test]
    fn a_compilation_succeeds_if_its_folder_cannot_be_created() -> Result<()> {
        let file = std::env::temp_dir().join(format!("shapeflow-file-{}", std::process::id()));
        std::fs::write(&file, "").map_err(crate::Error::wrap)?;
        let options = CompileOptions::new().sink(Arc::new(Folder::new(&file)));
        let g = Graph::new();
        let y = g.input("x", DType::F32, shape!["n"])?.relu()?;
        g.compile_with(&options, y)?;
        std::fs::remove_file(&file).map_err(crate::Error::wrap)
    }
}
