//! An error of a function that reads or writes a file has the path of the file and the line of the call.

use std::panic::Location;

use shapeflow::interchange::{
    as_dtype, ops_missing_in_tensorflow, read_npy, read_npz, read_npz_bytes, tensor_names, to_graphdef,
    to_pbtxt, write_npy, write_npz, write_npz_bytes,
};
use shapeflow::{DType, Error, ErrorKind, Graph, Result, Tensor};

/// Checks the kind of an error, its line, which is that of the caller, and a text in its message.
#[track_caller]
fn check<T>(outcome: Result<T>, kind: ErrorKind, text: &str) {
    let error: Error = outcome.map(drop).unwrap_err();
    let (line, caller) = (error.location().map(|at| (at.file(), at.line())), Location::caller());
    assert_eq!(line, Some((caller.file(), caller.line())), "{error}");
    assert!(error.kind() == kind && error.message().contains(text), "{error}");
}

#[test]
fn errors_of_npz_files_have_a_path_and_a_line() {
    let x = Tensor::from([1.0f32]);
    let folder = std::env::temp_dir().join(format!("shapeflow_no_folder_{}", std::process::id()));
    let path = folder.join("x.npz");
    let name = path.display().to_string();
    check(write_npz(&path, [("x", &x)]), ErrorKind::Io, &name);
    let twice = [("x", &x), ("x", &x)];
    check(write_npz(&path, twice), ErrorKind::Io, &format!("{name}: two tensors are named x"));
    check(read_npz(&path), ErrorKind::Io, &name);
    check(write_npz_bytes([("x", &x), ("x", &x)]), ErrorKind::Io, "x");
    check(read_npz_bytes(b"x"), ErrorKind::Parse, "not an npz file");
    check(read_npy(b"x"), ErrorKind::Parse, "magic bytes");
    check(write_npy(&Tensor::from(["a"])), ErrorKind::DType, "npz files only");
    check(as_dtype(&x, DType::BF16), ErrorKind::DType, "the tensor must be bf16");
    let file = std::env::temp_dir().join(format!("shapeflow_not_npz_{}", std::process::id()));
    std::fs::write(&file, b"x").unwrap();
    check(read_npz(&file), ErrorKind::Parse, &file.display().to_string());
    std::fs::remove_file(&file).unwrap();
}

#[cfg(feature = "safetensors")]
#[test]
fn errors_of_safetensors_files_have_a_path_and_a_line() {
    use shapeflow::interchange::{
        map_safetensors, read_safetensors_bytes, write_safetensors, write_safetensors_bytes,
    };

    let (x, text) = (Tensor::from([1.0f32]), Tensor::from(["a"]));
    let folder = std::env::temp_dir().join(format!("shapeflow_no_safe_folder_{}", std::process::id()));
    let path = folder.join("x.safetensors");
    let name = path.display().to_string();
    check(write_safetensors(&path, [("x", &x)]), ErrorKind::Io, &name);
    check(write_safetensors(&path, [("x", &text)]), ErrorKind::DType, &name);
    check(map_safetensors(&path), ErrorKind::Io, &name);
    check(map_safetensors(std::env::temp_dir()), ErrorKind::Io, ": is a directory");
    let twice = [("x", &x), ("x", &x)];
    check(write_safetensors(&path, twice), ErrorKind::Io, &format!("{name}: two tensors are named x"));
    check(write_safetensors_bytes([("x", &text)]), ErrorKind::DType, "got tensor x");
    check(read_safetensors_bytes(b"x"), ErrorKind::Parse, "8 bytes");
}

#[test]
fn errors_of_an_export_have_a_line() {
    let (g, other) = (Graph::new(), Graph::new());
    let x = other.constant(1.0f32).unwrap();
    let text = "output 0 must belong to the graph made at ";
    check(to_graphdef(&g, &[x]), ErrorKind::ForeignValue, text);
    check(to_pbtxt(&g, &[x]), ErrorKind::ForeignValue, text);
    check(tensor_names(&g, &[x]), ErrorKind::ForeignValue, text);
    check(ops_missing_in_tensorflow(&g, &[x]), ErrorKind::ForeignValue, text);
}
