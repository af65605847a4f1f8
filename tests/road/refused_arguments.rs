//! Errors about arguments that are no operands name the call that the program wrote, and its operands.

use shapeflow::{CsvOptions, ErrorKind, Graph, Result, Tensor};

/// Checks the op and the message of an error, and that its line is in this file.
#[track_caller]
fn check<T: std::fmt::Debug>(refused: Result<T>, op: &str, message: &str) {
    let error = refused.expect_err("must be refused");
    assert_eq!((error.op(), error.message()), (Some(op), message));
    assert!(error.location().is_some_and(|location| location.file().ends_with("refused_arguments.rs")));
}

#[test]
fn csv_columns_and_delimiters_are_checked_when_the_graph_is_built() -> Result<()> {
    let g = Graph::new();
    let lines = g.constant(["a\"b"])?;
    let error = lines.decode_csv(&[], &CsvOptions::new()).unwrap_err();
    assert_eq!(error.op(), Some("decode_csv"));
    assert!(error.message().ends_with(": there must be at least one default, got none"), "{error}");
    let defaults = [Tensor::from(["x"]), Tensor::from(["y"])];
    let error = lines.decode_csv(&defaults, &CsvOptions::new().delimiter(b'"')).unwrap_err();
    assert_eq!((error.op(), error.kind()), (Some("decode_csv"), ErrorKind::Attribute));
    assert_eq!(error.help(), Some("CsvOptions::quotes(false) reads no quotes"));
    let columns = lines.decode_csv(&defaults, &CsvOptions::new().delimiter(b'"').quotes(false))?;
    let [a, b] = g.compile(&columns[..])?.run(&[])?;
    assert_eq!([a, b], [Tensor::from(["a"]), Tensor::from(["b"])]);
    Ok(())
}
