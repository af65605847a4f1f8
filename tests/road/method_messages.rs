//! Messages about arguments of methods: they name the method, the requirement and the line.

use insta::assert_snapshot;
use shapeflow::{
    Attribute, Axes, DType, Graph, LookupTable, OpDef, Operand, QuantizeOptions, Result, StftOptions,
    StftWindow, Tensor, Value, concat, einsum, ragged, shape, shape_fns,
};

use crate::error_snapshots::error_text;

#[test]
fn a_refused_argument_of_a_method_names_the_method() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 8])?;
    assert_snapshot!(error_text(g.constant(1.0f32)?.stft(4, 2, StftOptions::default())), @r#"
    error: stft: a signal must have a known rank of at least 1, got shape []
      --> `error_text(g.constant(1.0f32)?.stft(4, 2, StftOptions::default()))`
    "#);
    assert_snapshot!(error_text(x.stft(0, 2, StftOptions::default())), @r#"
    error: stft: frame_length must be at least 1, got 0
      --> `error_text(x.stft(0, 2, StftOptions::default()))`
    "#);
    assert_snapshot!(error_text(x.dct(5, false)), @r#"
    error: dct: kind must be 1, 2, 3 or 4, got 5
      --> `error_text(x.dct(5, false))`
    "#);
    let words = g.input("words", DType::String, shape!["n"])?;
    assert_snapshot!(error_text(words.regex_replace("(a", "")), @r#"
    error: regex_replace: a pattern must be a regular expression of RE2, got "(a": a missing )
      --> `error_text(words.regex_replace("(a", ""))`
    "#);
    Ok(())
}

#[test]
fn a_window_of_another_length_is_named() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 8])?;
    let window = StftWindow::Values(g.hann_window(5, true, DType::F32)?);
    assert_snapshot!(error_text(x.stft(4, 2, StftOptions { window, ..StftOptions::default() })), @r#"
    error: stft: the window must have shape [4], one element per sample of a frame, got [5]
      --> `error_text(x.stft(4, 2, StftOptions { window, ..StftOptions::default() }))`
    "#);
    Ok(())
}

#[test]
fn a_condition_of_an_earlier_call_is_shown_with_its_line() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 4])?;
    let _ = x.reshape([-1, 3])?;
    assert_snapshot!(error_text(x.ensure_shape(shape![5, 4])), @r#"
    error: ensure_shape(f32[n, 4], shape=[5, 4]): 3 divides 4*n must hold, got 3 divides 20
      --> `error_text(x.ensure_shape(shape![5, 4]))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n", 4])?;`
      the condition is from reshape at `let _ = x.reshape([-1, 3])?;`
    "#);
    Ok(())
}

/// A shape function states its own requirement. The note has the condition that makes the requirement impossible.
#[test]
fn a_condition_that_makes_a_later_call_impossible_is_a_note() -> Result<()> {
    let g = Graph::new();
    let a = g.input("a", DType::I32, shape!["n"])?;
    let _ = a.reshape([2, -1])?;
    assert_snapshot!(error_text(a.reshape([3, 1])), @r#"
    error: reshape(i32[n], shape=[3, 1]): shape must keep the number of elements, got n in [n] and 3 in [3, 1]
      --> `error_text(a.reshape([3, 1]))`
      operand 0 comes from a at `let a = g.input("a", DType::I32, shape!["n"])?;`
      2 divides n since reshape at `let _ = a.reshape([2, -1])?;`
    "#);
    let b = g.input("b", DType::I32, shape![3, 3])?;
    let error = shapeflow::concat(&[b, a.reshape([1, -1])?], 0).unwrap_err();
    assert!(error.to_string().contains("\n  2 divides n since reshape at "), "{error}");
    // The note belongs to the refused call alone.
    let error = a.reshape([2, 3, -1, -1]).unwrap_err();
    assert!(!error.to_string().contains("divides"), "{error}");
    assert!(a.reshape([4, 1]).is_ok());
    Ok(())
}

#[test]
fn ragged_operands_of_different_rows_are_refused_in_plain_words() -> Result<()> {
    let g = Graph::new();
    let (a, b) =
        (g.ragged_input("a", DType::F32, 1, shape![])?, g.ragged_input("b", DType::F32, 1, shape![])?);
    let exe = g.compile([("sum", (a + b).flat_values())])?;
    let run = exe.feed("a", &ragged![[1.0f32], []]).feed("b", &ragged![[], [1.0f32]]).run();
    assert_snapshot!(error_text(run.map(|_| ())), @r#"
    error: add: the rows of ragged operands must have equal lengths, got 1 and 0 at row 0
      --> `let exe = g.compile([("sum", (a + b).flat_values())])?;`
      the length 1 comes from a/row_splits/0 at `(g.ragged_input("a", DType::F32, 1, shape![])?, g.ragged_input("b", DType::F32, 1, shape![])?);`
      the length 0 comes from b/row_splits/0 at `(g.ragged_input("a", DType::F32, 1, shape![])?, g.ragged_input("b", DType::F32, 1, shape![])?);`
    "#);
    Ok(())
}

#[test]
fn text_is_made_by_as_string() -> Result<()> {
    let g = Graph::new();
    let i = g.input("i", DType::I64, shape!["k"])?;
    assert_snapshot!(error_text(i.cast(DType::String)), @r#"
    error: cast(i64[k], dtype=string): the element type of a cast must be any but string and variant, got string
      --> `error_text(i.cast(DType::String))`
      operand 0 comes from i at `let i = g.input("i", DType::I64, shape!["k"])?;`
      help: write operand 0 as text with .as_string()
    "#);
    let table = LookupTable::new(&Tensor::from(["a"]), &Tensor::from([1.0f32]))?;
    assert_snapshot!(error_text(i.lookup(&table, 0.0)), @r#"
    error: lookup(i64[k], f32[]): elements must be string, the dtype of the keys, got i64
      --> `error_text(i.lookup(&table, 0.0))`
      help: write it as text with .as_string()
    "#);
    Ok(())
}

#[test]
fn errors_without_a_graph_have_a_line() {
    assert_snapshot!(error_text(LookupTable::new(&Tensor::from(["a"]), &Tensor::from([1.0f32, 2.0]))), @r#"
    error: a table must have one value for each key of a vector, got keys [1] and values [2]
      --> `error_text(LookupTable::new(&Tensor::from(["a"]), &Tensor::from([1.0f32, 2.0])))`
    "#);
    assert_snapshot!(error_text(Tensor::from_strings(&[3], &["a"])), @r#"
    error: sizes [3] need 3 elements, got 1
      --> `error_text(Tensor::from_strings(&[3], &["a"]))`
    "#);
}

#[test]
fn a_scan_that_computes_nothing_is_refused_in_plain_words() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let same = g.scan(&[g.constant(0.0f32)?], &[x], |state, _| Ok((vec![state[0]], Vec::<Value<'_>>::new())));
    assert_snapshot!(error_text(same), @r#"
    error: scan: the body must change a state or return an output, got the given states and no outputs
      --> `let same = g.scan(&[g.constant(0.0f32)?], &[x], |state, _| Ok((vec![state[0]], Vec::<Value<'_>>::new())));`
    "#);
    Ok(())
}

#[test]
fn figures_of_an_executable_have_a_short_text() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let exe = g.compile(x.exp()?.reduce_sum(Axes::all())?)?;
    let text = exe.stats().to_string();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(text.starts_with("1 kernel, 0 matrix products, 0 host nodes\n"), "{text}");
    Ok(())
}

#[test]
fn a_reversed_range_is_shown_once_with_its_ends() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let low = g.input("low", DType::F32, shape![])?;
    let [y, _, _] = x.quantize(low, 1.0, DType::QU8, QuantizeOptions::default())?;
    let exe = g.compile([("y", y.cast(DType::I32)?)])?;
    let run = exe.feed("x", &Tensor::from([0.5f32])).feed("low", &Tensor::scalar(2.0f32)).run();
    assert_snapshot!(error_text(run.map(|_| ())), @r#"
    error: quantize(f32[n], f32[], f32[], axis=-1, dtype=qu8, ensure_minimum_range=0.01, mode="MIN_COMBINED", round_mode="HALF_AWAY_FROM_ZERO"): checked(f32[], bool[], f32[], f32[]): the maximum of a range must not be less than its minimum, got minimum 2.0 and maximum 1.0
      --> `let [y, _, _] = x.quantize(low, 1.0, DType::QU8, QuantizeOptions::default())?;`
    "#);
    Ok(())
}

#[test]
fn a_dimension_of_another_graph_is_refused() -> Result<()> {
    let (g, other) = (Graph::new(), Graph::new());
    // Both unknown dimensions are the first ones of their graphs.
    let x = g.input("x", DType::F32, shape![?])?;
    let size = other.input("x", DType::F32, shape![?, 4])?.dim(0)?;
    assert_snapshot!(error_text(x.ensure_shape([size.clone()])), @r#"
    error: ensure_shape(f32[x.0], shape=[?]): a dimension without a name must belong to the graph made at `let (g, other) = (Graph::new(), Graph::new());`, got a dimension of another graph or of a complete branch or loop body
      --> `error_text(x.ensure_shape([size.clone()]))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape![?])?;`
      help: give the dimension a name: a name may stand in every graph
    "#);
    assert_snapshot!(error_text(g.input("y", DType::F32, [2 * size])), @r#"
    error: input "y" f32[2*?]: a dimension without a name must belong to the graph made at `let (g, other) = (Graph::new(), Graph::new());`, got a dimension of another graph or of a complete branch or loop body
      --> `error_text(g.input("y", DType::F32, [2 * size]))`
      help: give the dimension a name: a name may stand in every graph
    "#);
    Ok(())
}

#[test]
fn a_dimension_of_a_branch_is_refused_outside() -> Result<()> {
    let g = Graph::new();
    let p = g.input("p", DType::Bool, shape![])?;
    let x = g.input("x", DType::I32, shape!["n"])?;
    let mut kept = None;
    let y = g.cond(
        p,
        || {
            let [values, _] = x.unique()?;
            kept = Some(values.dim(0)?);
            values.reduce_sum(0).map(|sum| [sum])
        },
        || Ok([x.reduce_sum(0)?]),
    )?;
    // Without the branch, this would be the first unknown dimension after it.
    let other = g.input("z", DType::F32, shape![?])?;
    let refused = g.fill([kept.expect("the branch was built")], 1.0f32);
    assert!(error_text(refused).contains("of a complete branch or loop body"));
    g.compile([y[0], other.reduce_sum(0)?.cast(DType::I32)?])?;
    Ok(())
}

#[test]
fn an_error_of_a_tensor_has_the_line_of_the_call() {
    let x = Tensor::from([1.0f32, 2.0]);
    assert_snapshot!(error_text(Tensor::zeros(DType::F32, &[usize::MAX, 2])), @r#"
    error: the elements must fit into memory, got sizes [18446744073709551615, 2]
      --> `error_text(Tensor::zeros(DType::F32, &[usize::MAX, 2]))`
    "#);
    let has_line = |text: String, call: &str| assert!(text.contains(&format!("\n  --> `{call}")), "{text}");
    has_line(error_text(x.to_bits::<i32>()), "has_line(error_text(x.to_bits::<i32>()), ");
    has_line(error_text(ragged![[1, 2], [3]].row(2)), "has_line(error_text(ragged![[1, 2], [3]].row(2)), ");
    has_line(error_text(ragged![[1], [3]].merge_dims(1, 0)), "has_line(error_text(ragged![[1], [3]]");
}

#[test]
fn an_error_shows_only_the_equalities_of_its_own_names() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 4])?;
    let other = g.input("other", DType::F32, shape!["nn"])?;
    let _ = concat(&[x, other.expand_dims(1)?], 1)?;
    let rows = g.ragged_input("rows", DType::F32, "rows", shape![])?;
    let rows2 = g.ragged_input("rows2", DType::F32, "rows2", shape![])?;
    let _ = (rows + rows2).ok()?;
    let _ = x.ensure_shape(shape![2, 4])?;
    assert_snapshot!(error_text((x + g.constant([[1.0f32; 4]; 3])?).ok()), @r#"
    error: add(f32[2, 4], f32[3, 4]): dimensions must be equal or 1 to broadcast, got 2 and 3 at axis 0 of [2, 4] and [3, 4]
      --> `error_text((x + g.constant([[1.0f32; 4]; 3])?).ok())`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n", 4])?;`
      operand 1 comes from constant at `error_text((x + g.constant([[1.0f32; 4]; 3])?).ok())`
      n is 2 since ensure_shape at `let _ = x.ensure_shape(shape![2, 4])?;`
    "#);
    assert_snapshot!(error_text(x.expand_dims(9)), @r#"
    error: expand_dims(f32[2, 4], axis=9): axis must be in [-3, 3), got 9
      --> `error_text(x.expand_dims(9))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n", 4])?;`
    "#);
    // A tie names the call in the program.
    let calls: Vec<String> = g.merges().into_iter().map(|tie| tie.call).collect();
    assert_eq!(calls, ["concat", "add"]);
    Ok(())
}

#[test]
fn each_output_of_a_node_has_its_own_name() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 4])?;
    let scope = g.scope("search");
    let [best, place] = x.top_k(1)?;
    let [_, second] = x.top_k(2)?;
    drop(scope);
    let exe = g.compile([place.named("place"), best.named("best"), second.named("second")])?;
    let names: Vec<&str> = exe.outputs().iter().map(|port| &*port.name).collect();
    assert_eq!(names, ["search/place", "search/best", "search/second"]);
    let results = exe.feed("x", &Tensor::from([[1.0f32, 3.0, 2.0, 0.0]])).run()?;
    assert_eq!(*results.tensor("search/best")?, Tensor::from([[3.0f32]]));
    assert_eq!(*results.tensor("search/place")?, Tensor::from([[1i64]]));
    // The node has the name of its first output with a name. Another output has no name of its own.
    let [largest, order] = x.top_k(3)?;
    let exe = g.compile([order, largest.named("largest")])?;
    let names: Vec<&str> = exe.outputs().iter().map(|port| &*port.name).collect();
    assert!(names[0].starts_with("top_k_") && names[1] == "largest", "{names:?}");
    assert!(g.to_string().contains("// search/best, ") && g.to_string().contains("// largest, "), "{g}");
    Ok(())
}

#[test]
fn arguments_that_do_not_fit_each_other_are_named() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape![4, 3])?;
    assert_snapshot!(error_text(einsum("ij,jk-ik", &[x, x])), @r#"
    error: einsum: a label must be a letter, got "-" in "ij,jk-ik"
      --> `error_text(einsum("ij,jk-ik", &[x, x]))`
      help: write -> between the operands and the output
    "#);
    assert!(einsum("i1, 1k -> ik", &[x, x.transpose([1, 0])?]).is_ok());
    let words = g.input("words", DType::String, shape!["n"])?;
    let keys = g.constant(["a", "b"])?;
    assert_snapshot!(
        error_text(words.table_lookup(keys, g.constant([1i64])?, g.constant(0i64)?)),
        @r#"
        error: table_lookup(string[n], string[2], i64[1], i64[]): a table must have one value for each key, got 2 keys and 1 value
          --> `error_text(words.table_lookup(keys, g.constant([1i64])?, g.constant(0i64)?)),`
          operand 0 comes from words at `let words = g.input("words", DType::String, shape!["n"])?;`
          operand 1 comes from constant at `let keys = g.constant(["a", "b"])?;`
          operand 2 comes from constant at `error_text(words.table_lookup(keys, g.constant([1i64])?, g.constant(0i64)?)),`
          operand 3 comes from constant at `error_text(words.table_lookup(keys, g.constant([1i64])?, g.constant(0i64)?)),`
        "#
    );
    let bytes = g.input("bytes", DType::String, shape![2])?;
    let exe = g.compile(bytes.decode_base64()?)?;
    assert_snapshot!(error_text(exe.run_all(&[Tensor::from(["", "%"]).view()])), @r#"
    error: decode_base64(string[2]): a string must be base64, got "%": Invalid symbol 37, offset 0 at [1] in operand 0
      --> `let exe = g.compile(bytes.decode_base64()?)?;`
      operand 0 comes from bytes at `let bytes = g.input("bytes", DType::String, shape![2])?;`
    "#);
    let exe = g.compile(bytes.substr(2, 1, "BYTE")?)?;
    assert_snapshot!(error_text(exe.run_all(&[Tensor::from(["abc", "a"]).view()])), @r#"
    error: substr(string[2], i32[], i32[], unit="BYTE"): a position must lie in the string "a" at [1], got 2 in operand 1
      --> `let exe = g.compile(bytes.substr(2, 1, "BYTE")?)?;`
      operand 1 comes from constant at `let exe = g.compile(bytes.substr(2, 1, "BYTE")?)?;`
    "#);
    static SCALED: OpDef = OpDef::compute("scaled", |cx, _output, index| cx.operand(0, index))
        .operands(&[Operand::Data("x")])
        .attrs(&[Attribute::int("by")])
        .shape_fn(shape_fns::common::unary);
    let twice = g.op(&SCALED).data(x).attr("by", 2).attr("by", 3).finish();
    assert_snapshot!(error_text(twice), @r#"
    error: scaled(f32[4, 3], by=2): the attribute by must be given once, got 2 and 3
      --> `let twice = g.op(&SCALED).data(x).attr("by", 2).attr("by", 3).finish();`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape![4, 3])?;`
    "#);
    let rows = g.ragged_input("rows", DType::F32, "rows", shape![])?;
    let exe = g.compile((rows * 2.0).ok()?)?;
    let data = ragged![[1.0f32]];
    let splits = Tensor::from([0i64, 1]);
    assert_snapshot!(error_text(exe.run::<1>(&[data.flat_values().view(), splits.view()])), @r#"
    error: the number of results must be 2, one for each output, got 1
      --> `error_text(exe.run::<1>(&[data.flat_values().view(), splits.view()]))`
      help: the ragged output output0 counts as its flat values and its row splits; run_named returns it as one
    "#);
    let y = g.input("y", DType::F32, shape![..])?;
    assert_snapshot!(error_text(y.dim(0)), @r#"
    error: dim(f32[..], axis=0): the rank must be known
      --> `error_text(y.dim(0))`
      help: give the rank with .ensure_shape(..)
    "#);
    Ok(())
}
