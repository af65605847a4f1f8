//! Uniform axes keep their size without rows in dense values and bounding shapes; sizes of dense values, row lengths,
//! slices, splits and reductions of uniform and ragged axes.

use shapeflow::{
    AnyValue, DType, ErrorKind, Graph, IntoDim, RaggedItem, RaggedTensor, RaggedValue, Result, SliceItem,
    Tensor, ragged, shape,
};

fn text<'g>(value: impl Into<AnyValue<'g>>) -> Result<String> {
    let value = value.into();
    let results = value.graph().compile(value)?.run_named(&[])?;
    Ok(results.items()?[0].1.to_string())
}

#[test]
fn uniform_axes_keep_their_size_without_rows() -> Result<()> {
    for (ragged_rank, sizes) in
        [(1, [0, 5, 2]), (2, [0, 5, 2]), (1, [2, 0, 3]), (2, [2, 0, 3]), (2, [1, 2, 3])]
    {
        let g = Graph::new();
        let x = g.input("x", DType::F64, shape!["n", "k", "m"])?;
        let rt = RaggedValue::from_tensor(x, ragged_rank)?;
        let sizes_of_run = g.input("sizes", DType::I32, shape![3])?;
        assert_eq!(rt.to_tensor()?.shape().to_string(), "[n, k, m]");
        let outputs = (
            ("dense", rt.to_tensor()?),
            ("sized", rt.to_tensor_with(1.0, sizes_of_run)?),
            ("bounds", rt.bounding_shape()?),
            ("middle", rt.bounding_shape_along(1)?),
        );
        let exe = g.compile(outputs)?;
        let dense = Tensor::zeros(DType::F64, &sizes)?;
        let natural = Tensor::from([-1, -1, -1]);
        let results = exe.feed("x", &dense).feed("sizes", &natural).run()?;
        let tensor = RaggedTensor::from_tensor(&dense, ragged_rank)?;
        assert_eq!(tensor.to_tensor()?, dense);
        assert_eq!(results.tensor("dense")?, &dense);
        assert_eq!(results.tensor("sized")?, &dense);
        let bounds: Vec<i64> = sizes.iter().map(|size| *size as i64).collect();
        assert_eq!(results.tensor("bounds")?.to_vec::<i64>()?, bounds);
        assert_eq!(tensor.bounding_shape(), sizes);
        assert_eq!(results.tensor("middle")?.item::<i64>()?, bounds[1]);
    }
    Ok(())
}

#[test]
fn sizes_of_a_dense_value_have_many_forms() -> Result<()> {
    let g = Graph::new();
    let rt = g.ragged_constant(&ragged![[1, 2, 3], [4]])?;
    let two = 2.into_dim();
    let expected = "[[1, 2], [4, 0]]";
    assert_eq!(text(rt.to_tensor_with(0, [-1, 2])?)?, expected);
    assert_eq!(text(rt.to_tensor_with(0, vec![-1i64, 2])?)?, expected);
    assert_eq!(text(rt.to_tensor_with(0, [&two, &two])?)?, expected);
    assert_eq!(text(rt.to_tensor_with(0, shape![?, 2])?)?, expected);
    assert_eq!(text(rt.to_tensor_with(0, g.constant([-1, 2])?)?)?, expected);
    let natural = "[[1, 2, 3], [4, 0, 0]]";
    assert_eq!(text(rt.to_tensor_with(0, -1)?)?, natural);
    assert_eq!(text(rt.to_tensor_with(0, rt.shape())?)?, natural);
    assert_eq!(text(rt.to_tensor_with(0, [0i64; 0])?)?, natural);
    // Dimensions of other values.
    let g = Graph::new();
    let (rt, x) =
        (g.ragged_input("rt", DType::I64, 1, shape![])?, g.input("x", DType::I64, shape!["n", "k"])?);
    let padded = rt.to_tensor_with(0, x.shape())?;
    assert_eq!(padded.shape().to_string(), "[n, k]");
    let exe = g.compile([("y", (padded + x).ok()?)])?;
    let x = Tensor::from([[10i64, 20], [30, 40], [50, 60]]);
    let y = exe.feed("rt", &ragged![[1i64, 2, 3], [4]]).feed("x", &x).run()?;
    assert_eq!(y.tensor("y")?, &Tensor::from([[11i64, 22], [34, 40], [50, 60]]));
    for wrong in [vec![-1i64], vec![2, -7], vec![1, 2, 3]] {
        let refused = rt.to_tensor_with(0, &wrong);
        assert_eq!(refused.is_ok(), wrong.len() == 1, "{wrong:?}");
    }
    Ok(())
}

/// TensorFlow refuses these shapes too.
#[test]
fn shapes_of_a_run_must_fit_the_ragged_value() -> Result<()> {
    let g = Graph::new();
    let rt = g.ragged_constant(&ragged![[1, 2, 3], [4]])?;
    let sizes = g.input("sizes", DType::I64, shape![..])?;
    let exe = g.compile([("y", rt.to_tensor_with(0, sizes)?)])?;
    let run = |sizes: Tensor| exe.feed("sizes", &sizes).run()?.tensor("y").cloned();
    assert_eq!(run(Tensor::from([-1i64, 2]))?, Tensor::from([[1, 2], [4, 0]]));
    assert_eq!(run(Tensor::scalar(-1i64))?, Tensor::from([[1, 2, 3], [4, 0, 0]]));
    for wrong in
        [Tensor::from([9i64, 9, 9]), Tensor::from([9i64]), Tensor::scalar(7i64), Tensor::from([-7i64, 2])]
    {
        assert!(run(wrong.clone()).is_err(), "{wrong}");
    }
    Ok(())
}

#[test]
fn row_lengths_have_every_axis() -> Result<()> {
    let splits = [Tensor::from([0i64, 2, 2]), Tensor::from([0i64, 1, 3])];
    let tensor = RaggedTensor::from_nested_row_splits(Tensor::zeros(DType::F32, &[3, 2, 4])?, &splits)?;
    let g = Graph::new();
    let rt = g.ragged_constant(&tensor)?;
    for axis in -5..5 {
        let (expected, got) = (tensor.row_lengths_along(axis)?, rt.row_lengths_along(axis)?);
        let item = g.compile(got)?.run_named(&[])?.items()?.remove(0).1;
        assert_eq!(item, expected, "{axis}");
    }
    assert_eq!(tensor.row_lengths_along(0)?, RaggedItem::Dense(Tensor::scalar(2i64)));
    assert!(tensor.row_lengths_along(5).is_err() && rt.row_lengths_along(5).is_err());
    Ok(())
}

#[test]
fn parts_of_a_uniform_axis_keep_the_dtype_of_row_splits() -> Result<()> {
    let g = Graph::new();
    let x = RaggedValue::from_tensor_with_row_splits_dtype(g.constant([[1, 2], [3, 4]])?, 1, DType::I32)?;
    assert_eq!(x.row_splits().dtype(), DType::I32);
    for part in x.split_n(2, 1)? {
        assert_eq!(part.row_splits().dtype(), DType::I32);
    }
    let deep = RaggedValue::from_row_lengths(x, g.constant([1, 1])?)?;
    let parts = deep.split_n(2, 2)?;
    assert_eq!(text(parts[1])?, "[[[2]], [[4]]]");
    assert!(RaggedValue::from_tensor_with_row_splits_dtype(g.constant([[1]])?, 1, DType::F32).is_err());
    Ok(())
}

#[test]
fn a_slice_of_a_uniform_axis_is_ragged() -> Result<()> {
    let tensor = RaggedTensor::from_tensor(&Tensor::from([[1, 2, 3], [4, 5, 6]]), 1)?;
    let items = [SliceItem::All, SliceItem::from(1..)];
    let cut = tensor.slice_with(&items)?.ragged()?;
    assert_eq!((cut.to_string(), cut.uniform_row_length()), ("[[2, 3], [5, 6]]".to_string(), Some(2)));
    let g = Graph::new();
    let same = g.ragged_constant(&tensor)?.slice_with(&items)?.ragged()?;
    assert_eq!(g.compile(same)?.run_named(&[])?.ragged_at(0)?, cut);
    Ok(())
}

#[test]
fn great_steps_select_one_position() -> Result<()> {
    let g = Graph::new();
    let x = g.ragged_constant(&ragged![[1, 2, 3], [], [4]])?;
    for dtype in [DType::I32, DType::I64] {
        let x = x.with_row_splits_dtype(dtype)?;
        for step in [(1i64 << 32) + 1, i64::MAX] {
            let cut = |step| x.slice_with(&[SliceItem::All, SliceItem::from(..).step(step)]);
            assert_eq!(text(cut(step)?)?, "[[1], [], [4]]");
            assert_eq!(text(cut(-step)?)?, "[[3], [], [4]]");
        }
    }
    Ok(())
}

#[test]
fn padding_has_the_inner_axes() -> Result<()> {
    let g = Graph::new();
    let x = g.constant([[1, 2, 0], [0, 2, 0]])?;
    assert!(RaggedValue::from_tensor_padding(x, g.constant([0, 2, 0])?).is_err());
    assert_eq!(text(RaggedValue::from_tensor_padding(x, 0)?)?, "[[1, 2], [0, 2]]");
    let items = Tensor::from([[[1, 2], [0, 2]], [[0, 2], [0, 0]]]);
    let pairs = g.constant(&items)?;
    let expected = "[[[1, 2]], [[0, 2], [0, 0]]]";
    assert_eq!(text(RaggedValue::from_tensor_padding(pairs, g.constant([0, 2])?)?)?, expected);
    assert_eq!(RaggedTensor::from_tensor_padding(&items, &Tensor::from([0, 2]))?.to_string(), expected);
    let zeros = "[[[1, 2], [0, 2]], [[0, 2]]]";
    assert_eq!(text(RaggedValue::from_tensor_padding(pairs, 0)?)?, zeros);
    assert_eq!(RaggedTensor::from_tensor_padding(&items, &Tensor::scalar(0))?.to_string(), zeros);
    for wrong in [Tensor::from([0]), Tensor::from([[0, 2], [0, 2]])] {
        assert!(RaggedValue::from_tensor_padding(pairs, &wrong).is_err());
        assert!(RaggedTensor::from_tensor_padding(&items, &wrong).is_err());
    }
    // As numbers, NaN equals nothing, and -0 equals 0.
    let (numbers, nan) = (Tensor::from([[1.0, -0.0], [f64::NAN, f64::NAN]]), Tensor::scalar(f64::NAN));
    for (padding, expected) in
        [(Tensor::scalar(0.0), "[[1.0], [NaN, NaN]]"), (nan, "[[1.0, -0.0], [NaN, NaN]]")]
    {
        assert_eq!(text(RaggedValue::from_tensor_padding(g.constant(&numbers)?, &padding)?)?, expected);
        assert_eq!(RaggedTensor::from_tensor_padding(&numbers, &padding)?.to_string(), expected);
    }
    Ok(())
}

#[test]
fn segment_ids_need_right_row_splits() -> Result<()> {
    let g = Graph::new();
    let splits = g.input("splits", DType::I64, shape![?])?;
    let nvals = g.input("nvals", DType::I64, shape![])?;
    let exe = g.compile([("ids", splits.row_splits_to_segment_ids(nvals)?)])?;
    let run = |splits: &[i64], nvals: i64| {
        let (splits, nvals) = (Tensor::from(splits), Tensor::scalar(nvals));
        exe.feed("splits", &splits).feed("nvals", &nvals).run()?.tensor("ids").cloned()
    };
    assert_eq!(run(&[0, 2, 3], 3)?, Tensor::from([0i64, 0, 1]));
    for (splits, nvals) in [(&[0, 2, 3][..], 5), (&[0, 2, 3], 2), (&[2, 3], 3), (&[0, 3, 2, 3], 3), (&[], 0)]
    {
        assert!(run(splits, nvals).is_err(), "{splits:?}, {nvals}");
    }
    Ok(())
}

#[test]
fn flags_are_reduced_along_each_axis() -> Result<()> {
    let g = Graph::new();
    let numbers = g.ragged_constant(&ragged![[-1], [-2]])?;
    for axis in [0, 1] {
        assert!(numbers.reduce_any(axis).is_err() && numbers.reduce_all(axis).is_err());
    }
    assert!(numbers.reduce_any(..).is_err());
    let flags = numbers.not_equal(0)?;
    assert_eq!([text(flags.reduce_any(0)?)?, text(flags.reduce_all(..)?)?], ["[true]", "true"]);
    Ok(())
}

/// As TensorFlow, which reduces the flat values.
#[test]
fn all_axes_are_reduced_at_once() -> Result<()> {
    let g = Graph::new();
    let low = g.ragged_constant(&ragged![[f32::NEG_INFINITY], []])?;
    let high = g.ragged_constant(&ragged![[f32::INFINITY], []])?;
    assert_eq!([text(low.reduce_max(..)?)?, text(high.reduce_min(..)?)?], ["-inf", "inf"]);
    let empty = RaggedValue::from_row_lengths(g.constant([0.0f32; 0])?, g.constant([0i64, 0])?)?;
    let got = [text(empty.reduce_max(..)?)?, text(empty.reduce_min(shapeflow::Axes::all())?)?];
    assert_eq!(got, ["-inf", "inf"]);
    assert_eq!([text(empty.reduce_sum(..)?)?, text(empty.reduce_prod(..)?)?], ["0.0", "1.0"]);
    let kept = low.reduce_max(shapeflow::Axes::all().keep_dims())?;
    assert_eq!(text(kept)?, "[[-inf]]");
    // The rows are reduced one by one if the axes are listed.
    assert_eq!(text(low.reduce_max([0, 1])?)?, "-3.4028235e38");
    Ok(())
}

#[test]
fn sizes_that_memory_cannot_hold_are_refused() -> Result<()> {
    let huge = 1usize << 60;
    let none = Tensor::from([0i32; 0]);
    let error = RaggedTensor::from_uniform_row_length(&none, 0, Some(huge)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Memory, "{error}");
    let wide = Tensor::zeros(DType::I32, &[huge, 0])?;
    assert_eq!(RaggedTensor::from_tensor(&wide, 1).unwrap_err().kind(), ErrorKind::Memory);
    let words = RaggedTensor::from_row_lengths(Tensor::from(["a"]), [1i64])?;
    let default = Tensor::from_strings(&[], &["-"])?;
    for size in [1 << 32, 1 << 45] {
        assert!(words.to_tensor_with(&default, &[Some(size), Some(size)]).is_err());
    }
    assert_eq!(words.to_tensor_with(&default, &[Some(0), Some(1 << 62)])?.sizes(), [0, 1 << 62]);
    let g = Graph::new();
    let value = g.ragged_constant(&words)?;
    assert!(text(value.to_tensor_with(&default, [1i64 << 32, 1 << 32])?).is_err());
    Ok(())
}

#[test]
fn one_size_of_a_run_must_be_natural() -> Result<()> {
    let g = Graph::new();
    let size = g.input("size", DType::I64, shape![])?;
    let rt = RaggedValue::from_tensor(g.constant([[1, 2], [3, 4]])?, 1)?;
    let exe = g.compile([("dense", rt.to_tensor_with(0, size)?)])?;
    let dense = exe.feed("size", &Tensor::scalar(-1i64)).run()?;
    assert_eq!(dense.tensor("dense")?, &Tensor::from([[1, 2], [3, 4]]));
    let error = exe.feed("size", &Tensor::scalar(5i64)).run().unwrap_err();
    assert!(error.message().ends_with("one size must be -1, which stands for all natural sizes"), "{error}");
    Ok(())
}
