//! Full error messages of graphs whose parts contradict each other. In the messages, the source line stands in place of
//! each location in this file.

use insta::assert_snapshot;
use shapeflow::{DType, Graph, Result, shape, shape_fns, stack};

use crate::error_snapshots::error_text;

#[test]
fn contradicting_equalities_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["batch", "features"])?;
    let first = g.input("first", DType::F32, shape![3, 16])?;
    let second = g.input("second", DType::F32, shape![4, 16])?;
    let _ = x.matmul(first)?;
    assert_snapshot!(error_text(x.matmul(second)), @r#"
    error: matmul(f32[batch, 3], f32[4, 16]): the inner dimensions of a matmul must agree, got 3 and 4 in [batch, 3] and [4, 16]
      --> `error_text(x.matmul(second))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["batch", "features"])?;`
      operand 1 comes from second at `let second = g.input("second", DType::F32, shape![4, 16])?;`
      features is 3 since matmul at `let _ = x.matmul(first)?;`
    "#);
    let g = Graph::new();
    let [x, y] = [g.input("x", DType::F32, shape!["n"])?, g.input("y", DType::F32, shape!["m"])?];
    let z = g.input("z", DType::F32, shape![3])?;
    let pair = stack(&[x, y], 0)?;
    let _ = stack(&[y, z], 0)?;
    assert_snapshot!(error_text(pair.reshape([2, 4])), @r"
    error: reshape(f32[2, 3], shape=[2, 4]): shape must keep the number of elements, got 6 in [2, 3] and 8 in [2, 4]
      --> `error_text(pair.reshape([2, 4]))`
      operand 0 comes from stack at `let pair = stack(&[x, y], 0)?;`
      n is 3 since stack at `let _ = stack(&[y, z], 0)?;`
      m is n since stack at `let pair = stack(&[x, y], 0)?;`
      help: give -1 at axis 1 to have its size inferred: [2, 3]
    ");
    assert_snapshot!(error_text(stack(&[x, x.pad([0, 1])?], 0)), @r#"
    error: stack(f32[3], f32[4], axis=0): stacked operands must have the same shape: shapes must agree, got 3 and 4 at axis 0
      --> `error_text(stack(&[x, x.pad([0, 1])?], 0))`
      operand 0 comes from x at `let [x, y] = [g.input("x", DType::F32, shape!["n"])?, g.input("y", DType::F32, shape!["m"])?];`
      operand 1 comes from pad at `error_text(stack(&[x, x.pad([0, 1])?], 0))`
      n is 3 since stack at `let _ = stack(&[y, z], 0)?;`
      help: concat joins along axis 0, the only one that differs
    "#);
    Ok(())
}

#[test]
fn outputs_of_one_name_are_refused() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    assert_snapshot!(error_text(g.compile([("y", x.neg()?), ("y", x.exp()?)])), @r#"
    error: the names of outputs must be unique, got "y" twice
      --> `error_text(g.compile([("y", x.neg()?), ("y", x.exp()?)]))`
    "#);
    Ok(())
}

#[test]
fn input_and_graph_errors_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    assert_snapshot!(error_text(g.input("x", DType::F32, shape!["n"])), @r#"
    error: input "x" f32[n]: the name of an input must be unique in its graph
      --> `error_text(g.input("x", DType::F32, shape!["n"]))`
      the other input is made at `let x = g.input("x", DType::F32, shape!["n"])?;`
    "#);
    assert_snapshot!(error_text(g.input("y", DType::F32, shape![-1, 3])), @r#"
    error: input "y" f32[-1, 3]: a size must not be negative, got -1
      --> `error_text(g.input("y", DType::F32, shape![-1, 3]))`
    "#);
    let area = shape_fns::Dim::symbol("h") * shape_fns::Dim::symbol("w");
    assert_snapshot!(error_text(g.input("z", DType::F32, shape![area])), @r#"
    error: input "z" f32[h*w]: a dimension of an input must be known, a symbol, or linear in one symbol, got h*w
      --> `error_text(g.input("z", DType::F32, shape![area]))`
    "#);
    let other = Graph::new();
    let y = other.input("y", DType::F32, shape!["n"])?;
    assert_snapshot!(error_text((x * y).ok()), @r#"
    error: mul(f32[n]): operands must belong to one graph, got values of the graphs made at `let g = Graph::new();` and at `let other = Graph::new();`
      --> `error_text((x * y).ok())`
      the value of the other graph comes from y at `let y = other.input("y", DType::F32, shape!["n"])?;`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
    "#);
    assert_snapshot!(error_text(g.explain(y)), @r#"
    error: the value must belong to the graph made at `let g = Graph::new();`, got a value of the graph made at `let other = Graph::new();`
      --> `error_text(g.explain(y))`
      the value of the other graph comes from y at `let y = other.input("y", DType::F32, shape!["n"])?;`
    "#);
    let layer = g.scope("layer");
    let wrong = x.expand_dims(1)? + g.constant([[1.0f64]])?;
    drop(layer);
    assert_snapshot!(error_text(wrong.relu()), @r#"
    error: add(f32[n, 1], f64[1, 1]): operands must have one dtype, got f32 and f64
      --> `let wrong = x.expand_dims(1)? + g.constant([[1.0f64]])?;`
      operand 0 comes from layer/expand_dims at `let wrong = x.expand_dims(1)? + g.constant([[1.0f64]])?;`
      operand 1 comes from layer/constant at `let wrong = x.expand_dims(1)? + g.constant([[1.0f64]])?;`
      in scope layer at `let layer = g.scope("layer");`
      help: cast operand 1 with .cast(DType::F32), or operand 0 with .cast(DType::F64)
    "#);
    Ok(())
}

/// A build without the feature of an op says so when the graph is compiled, not at its first run.
#[cfg(not(feature = "fft"))]
#[test]
fn a_missing_feature_is_found_when_the_graph_is_compiled() -> Result<()> {
    let g = Graph::new();
    let y = g.input("x", DType::F32, shape!["n"])?.rfft([8])?;
    assert_snapshot!(error_text(g.compile(y)), @r#"
    error: rfft(f32[n], fft_length=[8]): Fourier transforms need the feature `fft` of shapeflow, which this build lacks
      --> `let y = g.input("x", DType::F32, shape!["n"])?.rfft([8])?;`
    "#);
    // Only a run knows the rank, but the feature is missing in any case.
    let y = g.input("unranked", DType::F32, shape![..])?.rfft([8])?;
    let error = g.compile(y).unwrap_err();
    assert!(error.message().contains("need the feature `fft`"), "{error}");
    Ok(())
}
