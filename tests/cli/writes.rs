//! Writes that fail: a full disk is an error, a pipe that its reader has closed is not an error.

use std::process::Command;

use super::MODEL;
#[cfg(target_os = "linux")]
use super::{FEEDS, refused};

/// Runs a command with a file as standard output, and returns its exit code and standard error.
#[cfg(target_os = "linux")]
fn printed_to(file: &str, arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_shapeflow"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .stdout(std::fs::File::create(file).unwrap())
        .output()
        .unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let run = ["run", MODEL, "--feeds", FEEDS, "--fetch", "class"];
    let bench = ["bench", MODEL, "--feeds", FEEDS, "--fetch", "class", "--repeat", "1"];
    for arguments in [
        &["infer", MODEL][..],
        &run,
        &[&run[..], &["--json"]].concat(),
        &["dump", MODEL],
        &["dump", MODEL, "--format", "pb"],
        &["dump", MODEL, "--format", "html"],
        &bench,
        &["ops"],
        &["ops", "--json"],
        &["--help"],
        &["--version"],
    ] {
        let (code, errors) = printed_to("/dev/full", arguments);
        assert_eq!(code, 1, "{arguments:?}: {errors}");
        assert!(errors.starts_with("error: standard output cannot be written: "), "{arguments:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{arguments:?}: {errors}");
    }
    for arguments in [
        &["dump", MODEL, "-o", "/dev/full", "--format", "svg"][..],
        &[&run[..], &["--out", "/dev/full"]].concat(),
        &[&run[..], &["--trace", "/dev/full"]].concat(),
    ] {
        let (code, _, errors) = refused(arguments);
        assert_eq!((code, errors.lines().count()), (1, 1), "{arguments:?}: {errors}");
        assert!(errors.starts_with("error: /dev/full cannot be written: "), "{arguments:?}: {errors}");
    }
    // The first error gives the exit code: bad input comes before the failed write.
    assert_eq!(printed_to("/dev/full", &["infer", MODEL, "--shape", "x=n,5"]).0, 2);
}

#[test]
fn a_closed_pipe_is_no_error() {
    for (arguments, code) in [
        (&["ops"][..], 0),
        (&["dump", MODEL, "--format", "html"], 0),
        (&["infer", MODEL, "--shape", "x=n,5"], 2),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = Command::new(env!("CARGO_BIN_EXE_shapeflow"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(arguments)
            .stdout(writer)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {errors}");
        assert!(!errors.contains("written"), "{errors}");
    }
}
