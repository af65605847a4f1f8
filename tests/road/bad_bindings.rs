//! Full error messages of mistakes with bound runs, names of dimensions and weights. In the messages, the source line
//! stands in place of each location in this file.

use insta::assert_snapshot;
use shapeflow::interchange::{
    read_npz, read_npz_bytes, read_safetensors_bytes, write_npz_bytes, write_safetensors_bytes,
};
use shapeflow::{DType, Dim, Executable, Graph, Result, Tensor, TensorView, shape};

use crate::error_snapshots::error_text;

/// Returns a step of a loop: `state = relu(x·w + state)`, and the sum of the state.
fn step() -> Result<Executable> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 4])?;
    let state = g.input("state", DType::F32, shape!["n", 3])?;
    let w = g.constant(&Tensor::full(&[4, 3], 0.5f32)?)?;
    let next = (x.matmul(w)? + state).relu()?;
    g.compile([("next", next), ("sum", next.reduce_sum([0, 1])?)])
}

#[test]
fn errors_of_bound_runs_are_explained() -> Result<()> {
    let exe = step()?;
    assert_snapshot!(error_text(exe.bind_sizes(&[&[2, 4]])), @r"
    error: 2 inputs must be fed (x f32[n, 4], state f32[n, 3]), got 1
      --> `error_text(exe.bind_sizes(&[&[2, 4]]))`
    ");
    assert_snapshot!(error_text(exe.bind_sizes(&[&[2, 4], &[5, 3]])), @r#"
    error: input "state" must be f32[n, 3], got f32[5, 3]: axis 0 is n, which is 2 at axis 0 of input "x"
      --> `error_text(exe.bind_sizes(&[&[2, 4], &[5, 3]]))`
      the input is declared at `let state = g.input("state", DType::F32, shape!["n", 3])?;`
    "#);
    let mut bound = exe.bind_sizes(&[&[2, 4], &[2, 3]])?;
    assert_snapshot!(error_text(bound.output("next").map(|_| ())), @r#"
    error: output "next" can be read after a successful run; there was no run yet
      --> `error_text(bound.output("next").map(|_| ()))`
    "#);
    assert_snapshot!(error_text(bound.input_mut("stat").map(|_| ())), @r#"
    error: "stat" is not an input; the inputs are x, state
      --> `error_text(bound.input_mut("stat").map(|_| ()))`
      help: is it "state"?
    "#);
    assert_snapshot!(error_text(bound.input_mut(2).map(|_| ())), @r"
    error: number 2 is not an input; the inputs are x, state
      --> `error_text(bound.input_mut(2).map(|_| ()))`
    ");
    bound.run()?;
    assert_snapshot!(error_text(bound.output("nxt").map(|_| ())), @r#"
    error: "nxt" is not an output; the outputs are next, sum
      --> `error_text(bound.output("nxt").map(|_| ()))`
      help: is it "next"?
    "#);
    assert_snapshot!(error_text(bound.feed_back("sum", "state")), @r#"
    error: the source must have sizes [2, 3], got []
      --> `error_text(bound.feed_back("sum", "state"))`
      output "sum" is fed back to input "state"
    "#);
    let rows = [1.0f32; 12];
    assert_snapshot!(error_text(bound.input_mut("x")?.copy_from(TensorView::new(&[3, 4], &rows)?)), @r#"
    error: the source must have sizes [2, 4], got [3, 4]
      --> `error_text(bound.input_mut("x")?.copy_from(TensorView::new(&[3, 4], &rows)?))`
    "#);
    assert_snapshot!(error_text(bound.input_mut("x")?.as_mut_slice::<f64>().map(|_| ())), @r#"
    error: the element type must be f32, the tensor's dtype, got f64
      --> `error_text(bound.input_mut("x")?.as_mut_slice::<f64>().map(|_| ()))`
    "#);
    Ok(())
}

#[test]
fn errors_of_names_of_dimensions_are_explained() -> Result<()> {
    let g = Graph::strict();
    let users = g.input("users", DType::F32, shape!["users", "emb"])?;
    let items = g.input("items", DType::F32, shape!["items", "emb"])?;
    assert_snapshot!(error_text(users.matmul(items)), @r#"
    error: matmul(f32[users, emb], f32[items, emb]): dimensions items and emb have different names in a strict graph, but the call makes them equal
      --> `error_text(users.matmul(items))`
      operand 0 comes from users at `let users = g.input("users", DType::F32, shape!["users", "emb"])?;`
      operand 1 comes from items at `let items = g.input("items", DType::F32, shape!["items", "emb"])?;`
      help: if they mean the same size, state it before the call: graph.assume_eq("items", "emb")?
    "#);
    let mean = users.reduce_mean(1)?;
    assert_snapshot!(error_text((users - mean).ok()), @r#"
    error: sub(f32[users, emb], f32[users]): dimensions emb and users have different names in a strict graph, but the call broadcasts them with each other
      --> `error_text((users - mean).ok())`
      operand 0 comes from users at `let users = g.input("users", DType::F32, shape!["users", "emb"])?;`
      operand 1 comes from reduce_mean at `let mean = users.reduce_mean(1)?;`
      help: operand 1 has fewer axes: add an axis of size 1 with .expand_dims(..), or keep a reduced axis with Axes::of(..).keep_dims(); if the names mean the same size, state it before the call: graph.assume_eq("emb", "users")?
    "#);
    assert_snapshot!(error_text(g.assume_eq("users", "2 items")), @r#"
    error: assume_eq("users", "2 items"): a symbol's name must be a letter or _ followed by letters, digits, _ and ., got "2 items"
      --> `error_text(g.assume_eq("users", "2 items"))`
    "#);
    let known = users.ensure_shape(shape![8, "emb"])?;
    let other = items.ensure_shape(shape![9, "emb"])?;
    assert_eq!([known.shape().to_string(), other.shape().to_string()], ["[8, emb]", "[9, emb]"]);
    assert_snapshot!(error_text(g.assume_eq("users", "items")), @r#"
    error: assume_eq("users", "items"): dimensions must be equal, got 8 and 9
      --> `error_text(g.assume_eq("users", "items"))`
    "#);

    let g = Graph::new();
    let a = g.input("a", DType::F32, shape!["n"])?;
    let b = g.input("b", DType::F32, [2 * Dim::symbol("n")])?;
    let exe = g.compile([a, b])?;
    let (three, seven) = ([0.0f32; 3], [0.0f32; 7]);
    assert_snapshot!(error_text(exe.run_all(&[TensorView::new(&[3], &three)?, TensorView::new(&[7], &seven)?])), @r#"
    error: input "b" must be f32[2*n], got f32[7]: axis 0 is 2*n, which is 6 where n is 3 at axis 0 of input "a"
      --> `error_text(exe.run_all(&[TensorView::new(&[3], &three)?, TensorView::new(&[7], &seven)?]))`
      the input is declared at `let b = g.input("b", DType::F32, [2 * Dim::symbol("n")])?;`
    "#);
    Ok(())
}

#[test]
fn errors_of_weights_are_explained() -> Result<()> {
    let w = Tensor::full(&[4, 3], 0.5f64)?;
    let tensors = [("layer.weight", &w)];
    let weights = read_safetensors_bytes(&write_safetensors_bytes(tensors)?)?;
    assert_snapshot!(error_text(weights.tensor("layer.weights").map(|_| ())), @r#"
    error: there is no tensor "layer.weights"; the tensors are layer.weight
      --> `error_text(weights.tensor("layer.weights").map(|_| ()))`
      help: is it "layer.weight"?
    "#);
    assert_snapshot!(error_text(weights.tensor("bias").map(|_| ())), @r#"
    error: there is no tensor "bias"; the tensors are layer.weight
      --> `error_text(weights.tensor("bias").map(|_| ()))`
    "#);
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 4])?;
    let weight = g.constant(weights.tensor("layer.weight")?)?.named("weight");
    assert_snapshot!(error_text(x.matmul(weight)), @r#"
    error: matmul(f32[n, 4], f64[4, 3]): operands must have one dtype, got f32 and f64
      --> `error_text(x.matmul(weight))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n", 4])?;`
      operand 1 comes from weight at `let weight = g.constant(weights.tensor("layer.weight")?)?.named("weight");`
      help: cast operand 1 with .cast(DType::F32), or operand 0 with .cast(DType::F64)
    "#);
    let halves = weight.cast(DType::F32)?;
    assert_snapshot!(error_text(x.matmul(halves.t()?)), @r#"
    error: matmul(f32[n, 4], f32[3, 4]): the inner dimensions of a matmul must agree, got 4 and 3 in [n, 4] and [3, 4]
      --> `error_text(x.matmul(halves.t()?))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n", 4])?;`
      operand 1 comes from transpose at `error_text(x.matmul(halves.t()?))`
      help: transpose b with .t(): a and b both have 4 columns
    "#);
    assert_snapshot!(error_text(read_npz("weights.npz").map(|_| ())), @r#"
    error: weights.npz: No such file or directory (os error 2)
      --> `error_text(read_npz("weights.npz").map(|_| ()))`
    "#);
    assert_snapshot!(error_text(read_npz_bytes(b"not a zip file").map(|_| ())), @r#"
    error: not an npz file; write it with numpy.savez
      --> `error_text(read_npz_bytes(b"not a zip file").map(|_| ()))`
    "#);
    assert_snapshot!(error_text(read_safetensors_bytes(b"not a file").map(|_| ())), @r#"
    error: not a safetensors file, or cut off: its first 8 bytes say that its header has 7594793423135338350 bytes, and 2 bytes follow
      --> `error_text(read_safetensors_bytes(b"not a file").map(|_| ()))`
    "#);
    let bytes = write_safetensors_bytes(tensors)?;
    assert_snapshot!(error_text(read_safetensors_bytes(&bytes[..bytes.len() - 8]).map(|_| ())), @r#"
    error: the tensors of a safetensors file must take all bytes after its header, got 88 bytes: the file is cut off, or has other bytes at its end
      --> `error_text(read_safetensors_bytes(&bytes[..bytes.len() - 8]).map(|_| ()))`
    "#);
    let bytes = write_npz_bytes(tensors)?;
    assert_snapshot!(error_text(read_npz_bytes(&bytes[..bytes.len() / 2]).map(|_| ())), @r#"
    error: the npz file is cut off or damaged
      --> `error_text(read_npz_bytes(&bytes[..bytes.len() / 2]).map(|_| ()))`
    "#);
    Ok(())
}
