//! `-` stands for standard input and standard output.

use std::io::Write;
use std::process::{Command, Stdio};

use shapeflow::interchange::{read_npz, write_safetensors};

use super::{FEEDS, Folder, MODEL, json, printed, refused};

/// Runs a command with the bytes of a file as standard input, and returns its standard output.
fn piped_from(file: &str, arguments: &[&str]) -> Vec<u8> {
    let mut child = Command::new(env!("CARGO_BIN_EXE_shapeflow"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let bytes = std::fs::read(file).unwrap();
    child.stdin.take().unwrap().write_all(&bytes).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{arguments:?}");
    output.stdout
}

fn piped(arguments: &[&str]) -> Vec<u8> {
    piped_from(MODEL, arguments)
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
fn feeds_come_from_standard_input() {
    let folder = Folder::new("streams");
    let from_file = printed(&["run", MODEL, "--feeds", FEEDS]);
    let run = ["run", MODEL, "--feeds", "-"];
    assert_eq!(String::from_utf8(piped_from(FEEDS, &run)).unwrap(), from_file);
    let file = folder.file("feeds.safetensors");
    let feeds = read_npz(FEEDS).unwrap();
    write_safetensors(&file, feeds.iter()).unwrap();
    assert_eq!(String::from_utf8(piped_from(&file, &run)).unwrap(), from_file);
}

#[test]
fn a_standard_stream_has_one_user() {
    let cases: [(&[&str], &str); 5] = [
        (&["run", "-", "--feeds", "-"], "one argument may read standard input, got model and feeds"),
        (&["bench", "-", "-"], "one argument may read standard input, got model and model"),
        (
            &["bench", "-", "--feeds", FEEDS, "--threads", "1,2"],
            "standard input can be read once: a bench of 2 variants must have files",
        ),
        (
            &["run", MODEL, "--feeds", FEEDS, "--out", "-", "--trace", "-"],
            "one argument may write standard output, got out and trace",
        ),
        (
            &["run", MODEL, "--feeds", FEEDS, "--out", "-", "--json"],
            "one argument may write standard output, got out and json",
        ),
    ];
    for (arguments, message) in cases {
        let (code, _, errors) = refused(arguments);
        assert!(code == 2 && errors.contains(message), "{arguments:?}: {errors}");
    }
}

#[test]
fn a_trace_on_standard_output_stands_alone() {
    let trace = json(&["run", MODEL, "--feeds", FEEDS, "--trace", "-"]);
    assert!(trace["traceEvents"].is_array());
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
