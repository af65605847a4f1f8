//! Error messages of runs: they name what the program called, the argument at fault, and where the operands come from.

use insta::assert_snapshot;
use shapeflow::{DType, DataFormat, ErrorKind, Graph, Padding, Result, Tensor, TensorView, ragged, shape};

use crate::error_snapshots::error_text;

fn ones(sizes: &[usize]) -> Tensor {
    Tensor::full(sizes, 1.0f32).expect("the memory is small")
}

#[test]
fn a_mask_of_attention_without_its_axes_gets_advice() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["b", "h", "t", 8])?;
    let lengths = g.input("lengths", DType::I32, shape!["b"])?;
    let mask = lengths.sequence_mask(x.dim(2)?)?;
    let exe = g.compile(x.attention(x, x, mask)?)?;
    let lengths = Tensor::from([1, 2]);
    assert_snapshot!(error_text(exe.run_all(&[ones(&[2, 1, 3, 8]).view(), lengths.view()])), @r#"
    error: attention: mask must broadcast to [2, 1, 3, 3], got [2, 3]
      --> `let exe = g.compile(x.attention(x, x, mask)?)?;`
      operand 0 comes from sequence_mask/less at `let mask = lengths.sequence_mask(x.dim(2)?)?;`
      b is 2 at axis 0 of input "x"
      h is 1 at axis 1 of input "x"
      t is 3 at axis 2 of input "x"
      help: [2, 3].expand_dims(1)?.expand_dims(1) is [2, 1, 1, 3], which broadcasts
    "#);
    let exe = g.compile(x.attention(x, x, mask.expand_dims(1)?.expand_dims(1)?)?)?;
    assert_eq!(exe.run_all(&[ones(&[2, 1, 3, 8]).view(), lengths.view()])?[0].sizes(), [2, 1, 3, 8]);
    let wrong = g.input("wrong", DType::Bool, shape![5, 7])?;
    let known = g.input("known", DType::F32, shape![2, 6, 7, 8])?;
    assert_snapshot!(error_text(known.attention(known, known, wrong)), @r#"
    error: attention: mask must broadcast to [2, 6, 7, 7], got [5, 7]
      --> `error_text(known.attention(known, known, wrong))`
      operand 0 comes from wrong at `let wrong = g.input("wrong", DType::Bool, shape![5, 7])?;`
    "#);
    Ok(())
}

#[test]
fn parameters_of_composed_ops_have_their_names() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["a", "c"])?;
    let s = g.input("s", DType::F32, shape!["k"])?;
    let feeds = [ones(&[2, 1]), ones(&[5])];
    let feeds: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
    assert_snapshot!(error_text(g.compile(x.layer_norm(-1, s, 0.0, 1e-3)?)?.run_all(&feeds)), @r#"
    error: layer_norm: scale must broadcast to [2, 1], got [5]
      --> `error_text(g.compile(x.layer_norm(-1, s, 0.0, 1e-3)?)?.run_all(&feeds))`
      operand 0 comes from s at `let s = g.input("s", DType::F32, shape!["k"])?;`
      a is 2 at axis 0 of input "x"
      c is 1 at axis 1 of input "x"
    "#);
    assert_snapshot!(error_text(g.compile(x.layer_norm(-1, 1.0, s, 1e-3)?)?.run_all(&feeds)), @r#"
    error: layer_norm: offset must broadcast to [2, 1], got [5]
      --> `error_text(g.compile(x.layer_norm(-1, 1.0, s, 1e-3)?)?.run_all(&feeds))`
      operand 0 comes from s at `let s = g.input("s", DType::F32, shape!["k"])?;`
      a is 2 at axis 0 of input "x"
      c is 1 at axis 1 of input "x"
    "#);
    assert_snapshot!(error_text(g.compile(x.clip_by_value(s, 9.0)?)?.run_all(&feeds)), @r#"
    error: clip_by_value(f32[a, c], f32[k], f32[]): low must broadcast to [2, 1], got [5]
      --> `error_text(g.compile(x.clip_by_value(s, 9.0)?)?.run_all(&feeds))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["a", "c"])?;`
      operand 1 comes from s at `let s = g.input("s", DType::F32, shape!["k"])?;`
    "#);
    let known = g.input("known", DType::F32, shape!["b", 8])?;
    assert_snapshot!(error_text(known.layer_norm(-1, &ones(&[6]), 0.0, 1e-3)), @"
    error: layer_norm: scale must broadcast to [b, 8], got [6]
      --> `error_text(known.layer_norm(-1, &ones(&[6]), 0.0, 1e-3))`
    ");
    assert_snapshot!(error_text(known.clip_by_value(0.0, &ones(&[8, 1, 1]))), @r#"
    error: clip_by_value(f32[b, 8], f32[], f32[8, 1, 1]): high must broadcast to [b, 8], got [8, 1, 1]
      --> `error_text(known.clip_by_value(0.0, &ones(&[8, 1, 1])))`
      operand 0 comes from known at `let known = g.input("known", DType::F32, shape!["b", 8])?;`
    "#);
    let texts = g.input("texts", DType::String, shape!["n", 2])?;
    assert_snapshot!(error_text(texts.string_split(",", -1)), @r#"
    error: string_split(string[n, 2], ",", -1): input must have rank 1, got rank 2 in [n, 2]
      --> `error_text(texts.string_split(",", -1))`
      operand 0 comes from texts at `let texts = g.input("texts", DType::String, shape!["n", 2])?;`
      help: make a vector of the strings with .reshape([-1])
    "#);
    Ok(())
}

#[test]
fn a_convolution_of_images_with_the_channels_first_gets_advice() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 3, "h", "w"])?;
    let filter = g.constant(ones(&[3, 3, 3, 8]))?;
    let last = DataFormat::ChannelsLast;
    let y = x.conv_2d(filter, [1, 1], [1, 1], Padding::Same, last)?;
    assert_snapshot!(error_text(g.compile(y)?.run_all(&[ones(&[1, 3, 9, 9]).view()])), @r#"
    error: conv_2d(f32[n, 3, h, w], f32[3, 3, 3, 8], data_format="NHWC", dilations=[1, 1, 1, 1], padding="SAME", strides=[1, 1, 1, 1]): the number of filters must be a multiple of the number of groups, got 8 and 3: the input has 9 channels, and a filter has 3
      --> `let y = x.conv_2d(filter, [1, 1], [1, 1], Padding::Same, last)?;`
      h is 9 at axis 2 of input "x"
      help: axis 1 has as many elements as a filter has channels: if it is the axis of the channels, use DataFormat::ChannelsFirst
    "#);
    let small = g.input("small", DType::F32, shape!["n", 3, 10, 10])?;
    assert_snapshot!(error_text(small.conv_2d(filter, [1, 1], [1, 1], Padding::Same, last)), @r#"
    error: conv_2d(f32[n, 3, 10, 10], f32[3, 3, 3, 8], data_format="NHWC", dilations=[1, 1, 1, 1], padding="SAME", strides=[1, 1, 1, 1]): the number of input channels must be a multiple of the filter's, got 10 and 3
      --> `error_text(small.conv_2d(filter, [1, 1], [1, 1], Padding::Same, last))`
      operand 0 comes from small at `let small = g.input("small", DType::F32, shape!["n", 3, 10, 10])?;`
      operand 1 comes from constant at `let filter = g.constant(ones(&[3, 3, 3, 8]))?;`
      help: axis 1 has as many elements as a filter has channels: if it is the axis of the channels, use DataFormat::ChannelsFirst
    "#);
    Ok(())
}

#[test]
fn a_closure_that_changes_the_number_of_values_is_named() -> Result<()> {
    let g = Graph::new();
    let rows = g.ragged_input("rows", DType::F32, 1, shape![])?;
    let positive = rows.map_flat_values(|flat| {
        let is_kept = flat.greater(0.0)?;
        flat.boolean_mask(is_kept, 0)
    })?;
    let exe = g.compile([("positive", positive)])?;
    assert_snapshot!(error_text(exe.feed("rows", &ragged![[1.0f32], [-2.0]]).run()), @"
    error: boolean_mask(f32[rows.values], bool[rows.values], axis=0): axis 0 of boolean_mask made at `flat.boolean_mask(is_kept, 0)` must be 2, got 1
      --> `flat.boolean_mask(is_kept, 0)`
      the requirement is from map_flat_values at `let positive = rows.map_flat_values(|flat| {`
    ");
    Ok(())
}

#[test]
fn a_dense_operand_of_ragged_rows_is_explained() -> Result<()> {
    let g = Graph::new();
    let rows = g.ragged_input("rows", DType::F32, "n", shape![])?;
    let weights = g.input("weights", DType::F32, shape!["n"])?;
    let exe = g.compile([("sums", rows + weights)])?;
    let (values, two) = (ragged![[1.0f32, 2.0], [3.0]], ones(&[2]));
    assert_snapshot!(error_text(exe.feed("rows", &values).feed("weights", &two).run()), @r#"
    error: add: a dense operand must have size 1 or the length of every row along axis 1, got 2
      --> `let exe = g.compile([("sums", rows + weights)])?;`
      help: a vector of one element for each row needs an axis of size 1: use .expand_dims(1)
    "#);
    Ok(())
}

#[test]
fn a_name_of_another_size_names_as_dim() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let k = g.input("k", DType::I64, shape![])?;
    let count = k.as_dim("n")?;
    let exe = g.compile(x.slice(0, count)?)?;
    assert_snapshot!(error_text(exe.run_all(&[ones(&[3]).view(), Tensor::scalar(2i64).view()])), @r#"
    error: an element of k made at `let k = g.input("k", DType::I64, shape![])?;` must be n, which is 3, got 2
      --> `error_text(exe.run_all(&[ones(&[3]).view(), Tensor::scalar(2i64).view()]))`
      the requirement is from as_dim at `let count = k.as_dim("n")?;`
    "#);
    Ok(())
}

#[test]
fn elements_at_fault_have_their_positions() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let exe = g.compile(x.log()?.check_numerics("the loss")?)?;
    assert_snapshot!(error_text(exe.run_all(&[Tensor::from([1.0f32, 0.0, -1.0]).view()])), @r#"
    error: check_numerics(f32[n], message="the loss"): the loss: every element must be finite, got an infinity at [1] in operand 0
      --> `let exe = g.compile(x.log()?.check_numerics("the loss")?)?;`
      operand 0 comes from log at `let exe = g.compile(x.log()?.check_numerics("the loss")?)?;`
    "#);
    let (words, keys) =
        (g.input("words", DType::String, shape!["m"])?, g.input("keys", DType::String, shape!["k"])?);
    let found = words.table_lookup(keys, g.range(0, keys.dim(0)?, 1)?, g.constant(-1i64)?)?;
    let feeds = [Tensor::from(["a"]), Tensor::from(["a", "a"])];
    assert_snapshot!(error_text(g.compile(found)?.run_named(&[("words", feeds[0].view()), ("keys", feeds[1].view())])), @r#"
    error: table_lookup(string[m], string[k], i64[k], i64[]): a key must have one value, got two for the key "a", number 0 and 1
      --> `let found = words.table_lookup(keys, g.range(0, keys.dim(0)?, 1)?, g.constant(-1i64)?)?;`
    "#);
    Ok(())
}

#[test]
fn errors_about_sizes_name_the_operands() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["batch", 3])?;
    let y = g.input("y", DType::F32, shape!["batch"])?;
    let exe = g.compile((x * y).ok()?)?;
    assert_snapshot!(error_text(exe.run_all(&[ones(&[2, 3]).view(), ones(&[2]).view()])), @r#"
    error: mul(f32[batch, 3], f32[batch]): dimensions must be equal or 1 to broadcast, got 3 and 2 at axis 1 of [2, 3] and [2]
      --> `let exe = g.compile((x * y).ok()?)?;`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["batch", 3])?;`
      operand 1 comes from y at `let y = g.input("y", DType::F32, shape!["batch"])?;`
      help: [2].expand_dims(1) is [2, 1], which broadcasts
    "#);
    let exe = g.compile(y.exp()?.reshape([-1, 4])?)?;
    assert_snapshot!(error_text(exe.run_named(&[("y", ones(&[7]).view())])), @"
    error: reshape(f32[batch], shape=[-1, 4]): shape must divide the number of elements, got 7 in [7] and 4 in [-1, 4]
      --> `let exe = g.compile(y.exp()?.reshape([-1, 4])?)?;`
      operand 0 comes from exp at `let exe = g.compile(y.exp()?.reshape([-1, 4])?)?;`
    ");
    Ok(())
}

#[test]
fn feeds_that_do_not_fit_are_explained() -> Result<()> {
    let g = Graph::new();
    let half = g.input("half", DType::BF16, shape!["n"])?;
    let exe = g.compile(half.exp()?)?;
    assert_snapshot!(error_text(exe.run_all(&[TensorView::new(&[2], &[0u16, 1])?])), @r#"
    error: input "half" must be bf16[n], got u16[2]
      --> `error_text(exe.run_all(&[TensorView::new(&[2], &[0u16, 1])?]))`
      the input is declared at `let half = g.input("half", DType::BF16, shape!["n"])?;`
      help: feed the bits of 16-bit floats with TensorView::from_bits
    "#);
    let rows = g.ragged_input("rows", DType::F32, 2, shape![])?;
    let exe = g.compile([("sums", rows.reduce_sum(2)?)])?;
    assert_snapshot!(error_text(exe.feed("rows", &ragged![[[1i64]]]).run()), @r#"
    error: ragged input "rows" must have elements of dtype f32, got i64[1, ?, ?]
      --> `error_text(exe.feed("rows", &ragged![[[1i64]]]).run())`
      the input is declared at `let rows = g.ragged_input("rows", DType::F32, 2, shape![])?;`
    "#);
    assert_snapshot!(error_text(exe.feed("rows", &ragged![[1.0f32]]).run()), @r#"
    error: ragged input "rows" has 2 ragged axes, got a ragged tensor with 1
      --> `error_text(exe.feed("rows", &ragged![[1.0f32]]).run())`
      the input is declared at `let rows = g.ragged_input("rows", DType::F32, 2, shape![])?;`
    "#);
    let x = g.input("x", DType::F32, shape!["size", 3])?;
    let filled = g.fill(shape!["size"], 1.0f32)?;
    let exe = g.compile([("filled", filled)])?;
    assert_snapshot!(error_text(exe.run_named(&[])), @r#"
    error: input "x" f32[size, 3] must be fed
      --> `error_text(exe.run_named(&[]))`
      x determines size, which fill needs at `let filled = g.fill(shape!["size"], 1.0f32)?;`
    "#);
    assert_snapshot!(error_text(exe.run_all(&[])), @r#"
    error: 1 input must be fed (x f32[size, 3]), or all 5 with the unneeded (half bf16[n], rows/flat_values f32[?], rows/row_splits/0 i64[?+1], rows/row_splits/1 i64[?+1]), got 0
      --> `error_text(exe.run_all(&[]))`
      x determines size, which fill needs at `let filled = g.fill(shape!["size"], 1.0f32)?;`
    "#);
    let both = g.compile([("filled", filled), ("x", x)])?;
    let error = both.run_named(&[]).unwrap_err();
    assert_eq!((error.kind(), error.to_string().contains("determines")), (ErrorKind::Feed, false), "{error}");
    Ok(())
}

#[test]
fn a_product_of_too_many_terms_is_named() {
    let g = Graph::new();
    let sum = |i: usize| shapeflow::Dim::symbol(&format!("a{i}")) + shapeflow::Dim::symbol(&format!("b{i}"));
    let product = (1..7).fold(sum(0), |product, i| product * sum(i));
    assert_snapshot!(error_text(g.fill(shape![product], 1.0f32)), @"
    error: fill(f32[], dims=[<too many terms>]): a dimension may have at most 64 terms, and calls nested at most 16 deep, got more: a product of sums has many terms, such as a*c+a*d+b*c+b*d for (a+b)*(c+d)
      --> `error_text(g.fill(shape![product], 1.0f32))`
    ");
}
