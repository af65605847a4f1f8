//! Errors about arguments that are no operands name the call that the program wrote, and its operands.

use shapeflow::{
    CsvOptions, DType, DataFormat, ErrorKind, Graph, LookupTable, Padding, ResizeMethod, Result, Tensor,
    TensorView, Value, WindowPadding, shape, slice,
};

/// Checks the op and the message of an error, and that its line is in this file.
#[track_caller]
fn check<T: std::fmt::Debug>(refused: Result<T>, op: &str, message: &str) {
    let error = refused.expect_err("must be refused");
    assert_eq!((error.op(), error.message()), (Some(op), message));
    assert!(error.location().is_some_and(|location| location.file().ends_with("refused_arguments.rs")));
}

#[test]
fn windows_with_too_many_entries_are_refused_with_the_call() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 8, 8, 3])?;
    let filter = g.input("filter", DType::F32, shape![3, 3, 3, 4])?;
    let (same, last) = (Padding::Same, DataFormat::ChannelsLast);
    let attrs = "data_format=\"NHWC\", dilations=[1, 1, 1, 1], padding=\"SAME\"";
    check(
        x.conv_2d(filter, [1, 1, 1, 1], [1, 1], same.clone(), last),
        "conv_2d",
        &format!("conv_2d(f32[n, 8, 8, 3], f32[3, 3, 3, 4], {attrs}): strides must be 2 integers, got 4"),
    );
    let patches = x.extract_image_patches([2, 2], [1, 1, 1], [1, 1], WindowPadding::Valid);
    let error = patches.unwrap_err();
    assert!(error.message().starts_with("extract_image_patches(f32[n, 8, 8, 3], "), "{error}");
    assert!(error.message().ends_with("strides must be 2 integers, got 3"), "{error}");
    for pooled in [x.max_pool([2], [2, 2], same.clone(), last), x.max_pool([2, 2], [2], same, last)] {
        let error = pooled.unwrap_err();
        assert_eq!(error.op(), Some("max_pool"));
        assert!(error.message().starts_with("max_pool(f32[n, 8, 8, 3]"), "{error}");
    }
    let volumes = g.input("volumes", DType::F32, shape!["n", 8, 8, 8, 3])?;
    let error = volumes
        .avg_pool([2, 2, 2], [1, 1, 1], Padding::Explicit([[0, 0], [0, 0]]), last)
        .expect_err("volumes have no explicit padding");
    assert_eq!(error.op(), Some("avg_pool"));
    assert!(error.message().ends_with("padding must be Valid or Same for volumes, got Explicit"), "{error}");
    Ok(())
}

#[test]
fn arguments_that_are_checked_before_the_op_are_refused_with_the_call() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 3])?;
    let keys = g.input("keys", DType::I32, shape!["n"])?;
    let unknown = g.input("unknown", DType::F32, shapeflow::TensorShape::unranked())?;
    let table = LookupTable::new(&Tensor::from([1]), &Tensor::from([7]))?;
    check(keys.lookup(&table, 0.5), "lookup", "lookup(i32[n], scalar): the scalar must fit i32, got 0.5");
    check(
        x.tensordot(x, [0], [0, 1]),
        "tensordot",
        "tensordot(f32[n, 3], f32[n, 3]): both operands must have equally many axes to sum, got 1 and 2",
    );
    check(
        x.unstack(0),
        "unstack",
        "unstack(f32[n, 3], axis=0): the dimension must be known when the graph is built, got n at axis 0",
    );
    let error = x.unstack(2).unwrap_err();
    assert_eq!(error.op(), Some("unstack"));
    assert!(error.message().ends_with("axis must be in [-2, 2), got 2"), "{error}");
    let error = unknown.unstack(0).unwrap_err();
    assert!(error.message().ends_with("the rank must be known when the graph is built"), "{error}");
    let count = g.input("count", DType::I32, shape![])?;
    check(
        g.range(0, count, 1.5),
        "range",
        "range: all bounds must have one dtype, got 1.5 in a range of i32",
    );
    check(
        x.greater(0.0)?.select(1, 2),
        "select",
        "select(bool, scalar, scalar): one of the two must be a tensor, got two scalars; make a constant of one",
    );
    check(shapeflow::concat(&[], 0), "concat", "concat: there must be at least one value, got none");
    // An earlier error comes first.
    let failed = x.reshape([5, 5, 5, 7]).unwrap_err();
    let error = Err::<Value<'_>, _>(failed).and_then(|x| x.unstack(0)).unwrap_err();
    assert_eq!(error.op(), Some("reshape"));
    Ok(())
}

#[test]
fn a_method_that_calls_another_op_names_itself() -> Result<()> {
    let g = Graph::new();
    check(
        g.eye(-1, 2, DType::F32),
        "eye",
        "eye: fill(f32[], dims=[-1, 2]): dims must not be negative, got -1",
    );
    let x = g.input("x", DType::F32, shape!["n", 8, 3])?;
    let error = x.resize([4, 4], ResizeMethod::Bilinear, false).unwrap_err();
    assert_eq!(error.op(), Some("resize"));
    assert!(error.message().starts_with("resize: resize_bilinear(f32[n, 8, 3], "), "{error}");
    Ok(())
}

#[test]
fn a_convolution_of_wrong_channels_shows_the_call_and_both_operands() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["b", "h", "w", 3])?;
    let filter = g.input("filter", DType::F32, shape![3, 3, 4, 8])?;
    let y = x.conv_2d(filter, [1, 1], [1, 1], Padding::Same, DataFormat::ChannelsLast);
    let error = y.unwrap_err();
    assert_eq!(error.op(), Some("conv_2d"));
    let message = error.message();
    assert!(message.starts_with("conv_2d(f32[b, h, w, 3], f32[3, 3, 4, 8], "), "{error}");
    assert!(!message.contains("convolve"), "{error}");
    let text = error.to_string();
    for note in ["operand 0 comes from x at ", "operand 1 comes from filter at "] {
        assert!(text.contains(note), "{error}");
    }
    Ok(())
}

#[test]
fn a_slice_shows_the_items_of_the_program() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 4])?;
    let row = g.input("row", DType::I32, shape![])?;
    for (items, call) in [
        (&slice![0, 0, 0][..], "slice_with(f32[n, 4], [0, 0, 0]): "),
        (&slice![.., 7], "slice_with(f32[n, 4], [.., 7]): "),
        (&slice![row, 1..3, ..; 2], "slice_with(f32[n, 4], [i32[], 1..3, ..; 2]): "),
        (&slice![newaxis, ..., ..=2; -1, 0, 0], "slice_with(f32[n, 4], [newaxis, ..., ..=2; -1, 0, 0]): "),
    ] {
        let error = x.slice_with(items).unwrap_err();
        assert_eq!(error.op(), Some("slice_with"));
        assert!(error.message().starts_with(call), "{error}");
        assert!(!error.message().contains("strided_slice"), "{error}");
    }
    let many = vec![shapeflow::SliceItem::at(0); 33];
    let error = x.slice_with(&many).unwrap_err();
    assert!(
        error.message().ends_with("0, 0, and 25 more]): there may be at most 32 items, got 33"),
        "{error}"
    );
    // A run shows the same call.
    let exe = g.compile(x.slice_with(&slice![row, 1])?)?;
    let numbers = [0.0f32; 8];
    let error =
        exe.run_all(&[TensorView::new(&[2, 4], &numbers)?, TensorView::new(&[], &[5i32])?]).unwrap_err();
    assert!(error.message().starts_with("slice_with(f32[n, 4], [i32[], 1]): "), "{error}");
    Ok(())
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
        let expected = "mul: a scalar takes the dtype of the tensor operand, and";
        assert_eq!(
            error.message(),
            format!("{expected} {dtype} has no scalars and no arithmetic, got 2 with {dtype}[n]")
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
fn a_split_into_no_parts_is_refused_with_the_limits() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 4])?;
    for count in [0, -1] {
        let error = x.split_n(count, 1).unwrap_err();
        let expected = format!(": num must be between 1 and 65536, got {count}");
        assert!(error.message().ends_with(&expected) && error.help().is_none(), "{error}");
    }
    let empty = g.input("empty", DType::F32, shape![0, 4])?;
    assert!(empty.unstack(0)?.is_empty());
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

#[test]
fn a_view_that_exceeds_memory_has_the_line_of_the_call() {
    let views = [
        TensorView::new::<f32>(&[usize::MAX, 2], &[]).map(|_| ()),
        TensorView::from_bits::<u16>(DType::F16, &[usize::MAX, 2], &[]).map(|_| ()),
        Tensor::from_slice::<f32>(&[usize::MAX, 2], &[]).map(|_| ()),
    ];
    for view in views {
        let error = view.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Memory);
        let location = error.location().expect("the caller's line");
        assert!(location.file().ends_with("refused_arguments.rs"), "{error}");
    }
}

#[test]
fn refused_methods_of_several_nodes_leave_the_graph_as_it_was() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 3])?;
    let row = g.input("row", DType::I32, shape![])?;
    let other = g.input("other", DType::F32, shape![7, 7])?;
    let whole = g.input("whole", DType::I32, shape!["n", 3])?;
    let words = g.ragged_input("words", DType::I32, "words", shape![])?;
    let before = g.to_string();
    let refused = [
        ("slice_with", x.slice_with(&slice![row, other])),
        ("slice_with", x.slice_with(&slice![row, 0, 0])),
        ("eye", g.eye(row, [1, 2], DType::F32)),
        ("eye", g.eye(row, other, DType::F32)),
        ("eye", g.eye(3, 3, DType::String)),
        ("lerp", whole.lerp(1, 2)),
        ("lerp", x.lerp(other, 0.5)),
        ("lerp", x.lerp(1.0, other)),
    ];
    for (op, refused) in refused {
        let error = refused.map(|value| value.shape()).expect_err(op);
        assert_eq!(error.op(), Some(op), "{error}");
        assert!(error.location().is_some_and(|location| location.file() == file!()), "{error}");
    }
    let error = words.map(|row| row.dense()?.matmul(other)).map(|rows| rows.shape()).expect_err("map");
    assert_eq!(error.op(), Some("matmul"), "{error}");
    assert_eq!(g.to_string(), before);
    Ok(())
}
