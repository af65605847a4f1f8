//! Errors about arguments that are no operands name the call that the program wrote, and its operands.

use shapeflow::{CsvOptions, DType, ErrorKind, Graph, Result, Tensor, shape};

/// Checks the op and the message of an error, and that its line is in this file.
#[track_caller]
fn check<T: std::fmt::Debug>(refused: Result<T>, op: &str, message: &str) {
    let error = refused.expect_err("must be refused");
    assert_eq!((error.op(), error.message()), (Some(op), message));
    assert!(error.location().is_some_and(|location| location.file().ends_with("refused_arguments.rs")));
}

#[test]
fn dtypes_without_arithmetic_are_refused_with_a_cast() -> Result<()> {
    let g = Graph::new();
    for (dtype, number) in
        [(DType::F8E5M2, "F32"), (DType::F8E4M3FN, "F32"), (DType::I4, "I32"), (DType::U4, "I32")]
    {
        let x = g.input(&dtype.to_string(), dtype, shape!["n"])?;
        let error = (x + x).ok().unwrap_err();
        let expected =
            format!("add({dtype}[n], {dtype}[n]): {dtype} has no arithmetic: the element type must be ");
        assert!(error.message().starts_with(&expected), "{error}");
        assert_eq!(error.help(), Some(&*format!("cast operand 0 with .cast(DType::{number})")));
        let error = (x * 2).ok().unwrap_err();
        let expected = "mul: a scalar takes the dtype of the tensor beside it, and";
        assert_eq!(
            error.message(),
            format!("{expected} {dtype} has no scalars and no arithmetic, got 2 beside {dtype}[n]")
        );
        assert_eq!(error.help(), Some(&*format!("cast the tensor with .cast(DType::{number})")));
        assert_eq!(
            (x.cast(if number == "F32" { DType::F32 } else { DType::I32 })? * 2).ok()?.shape(),
            x.shape()
        );
        let error = x.exp().unwrap_err();
        assert_eq!(error.help(), Some("cast operand 0 with .cast(DType::F32)"));
    }
    Ok(())
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
