//! `-` stands for standard input and standard output.

use std::io::Write;
use std::process::{Command, Stdio};

use super::{FEEDS, MODEL, printed, refused};

/// Runs a command with the bytes of the model as standard input, and returns its standard output.
fn piped(arguments: &[&str]) -> Vec<u8> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_shapeflow"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes = std::fs::read(MODEL).unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    output.stdout
}

#[test]
fn a_dash_is_a_standard_stream() {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    assert_eq!(text(piped(&["infer", "-"])), printed(&["infer", MODEL]));
    assert_eq!(
        text(piped(&["dump", "-", "--format", "dot", "-o", "-"])),
        printed(&["dump", MODEL, "--format", "dot"])
    );
    assert!(piped(&["run", "-", "--feeds", FEEDS, "--out", "-"]).starts_with(b"PK"));
}

#[test]
fn unknown_extensions_are_refused() {
    let (code, _, errors) = refused(&["dump", MODEL, "-o", "model.png"]);
    assert!(
        code == 2 && errors.contains("must be txt, dot, svg, html, json, pb or pbtxt, got png"),
        "{errors}"
    );
    assert!(!std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("model.png").exists());
}
