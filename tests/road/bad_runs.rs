//! Full error messages of runs with feeds that do not fit. In the messages, the source line stands in place of each
//! location in this file.

use insta::assert_snapshot;
use shapeflow::{DType, Dim, Executable, Graph, Result, TensorView, shape};

use crate::error_snapshots::error_text;

/// Returns a view of zeros.
fn zeros(sizes: &[usize]) -> Result<TensorView<'_>> {
    static ZEROS: [f32; 4096] = [0.0; 4096];
    TensorView::new(sizes, &ZEROS[..sizes.iter().product()])
}

fn classifier() -> Result<Executable> {
    let g = Graph::new();
    let images = g.input("images", DType::F32, shape!["batch", 8, 8])?;
    let labels = g.input("labels", DType::I64, shape!["batch"])?;
    let scores = images.reshape([-1, 64])?.reduce_sum([1])?;
    g.compile((scores * labels.cast(DType::F32)?).ok()?)
}

#[test]
fn feed_errors_are_explained() -> Result<()> {
    let exe = classifier()?;
    let labels = TensorView::new(&[2], &[0i64, 1])?;
    let images = zeros(&[2, 8, 8])?;
    assert_snapshot!(error_text(exe.run_all(std::slice::from_ref(&images))), @r"
    error: 2 inputs must be fed (images f32[batch, 8, 8], labels i64[batch]), got 1
      --> `error_text(exe.run_all(std::slice::from_ref(&images)))`
    ");
    assert_snapshot!(error_text(exe.run_all(&[labels.clone(), images.clone()])), @r#"
    error: input "images" must be f32[batch, 8, 8], got i64[2]
      --> `error_text(exe.run_all(&[labels.clone(), images.clone()]))`
      the input is declared at `let images = g.input("images", DType::F32, shape!["batch", 8, 8])?;`
    "#);
    assert_snapshot!(error_text(exe.run_all(&[zeros(&[8, 8])?, labels.clone()])), @r#"
    error: input "images" must be f32[batch, 8, 8], got f32[8, 8]: the rank must be 3
      --> `error_text(exe.run_all(&[zeros(&[8, 8])?, labels.clone()]))`
      the input is declared at `let images = g.input("images", DType::F32, shape!["batch", 8, 8])?;`
      help: a single example is fed with sizes [1, 8, 8]
    "#);
    assert_snapshot!(error_text(exe.run_all(&[zeros(&[2, 64])?, labels.clone()])), @r#"
    error: input "images" must be f32[batch, 8, 8], got f32[2, 64]: the rank must be 3
      --> `error_text(exe.run_all(&[zeros(&[2, 64])?, labels.clone()]))`
      the input is declared at `let images = g.input("images", DType::F32, shape!["batch", 8, 8])?;`
    "#);
    assert_snapshot!(error_text(exe.run_all(&[zeros(&[2, 8, 9])?, labels.clone()])), @r#"
    error: input "images" must be f32[batch, 8, 8], got f32[2, 8, 9]: axis 2 must be 8
      --> `error_text(exe.run_all(&[zeros(&[2, 8, 9])?, labels.clone()]))`
      the input is declared at `let images = g.input("images", DType::F32, shape!["batch", 8, 8])?;`
    "#);
    assert_snapshot!(error_text(exe.run_all(&[zeros(&[3, 8, 8])?, labels.clone()])), @r#"
    error: input "labels" must be i64[batch], got i64[2]: axis 0 is batch, which is 3 at axis 0 of input "images"
      --> `error_text(exe.run_all(&[zeros(&[3, 8, 8])?, labels.clone()]))`
      the input is declared at `let labels = g.input("labels", DType::I64, shape!["batch"])?;`
    "#);
    assert_snapshot!(error_text(exe.run_named(&[("image", images), ("labels", labels)])), @r#"
    error: "image" is not an input; the inputs are images, labels
      --> `error_text(exe.run_named(&[("image", images), ("labels", labels)]))`
      help: is it "images"?
    "#);
    Ok(())
}

#[test]
fn feed_errors_of_a_specialized_graph_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", "n", 3])?;
    let exe = g.compile(x.squeeze(..)?)?;
    assert_snapshot!(error_text(exe.run_all(&[zeros(&[2, 2, 4])?])), @r#"
    error: input "x" must be f32[n, n, 3], got f32[2, 2, 4]: dimensions must be equal, got 3 and 4 at axis 2
      --> `error_text(exe.run_all(&[zeros(&[2, 2, 4])?]))`
      the input is declared at `let x = g.input("x", DType::F32, shape!["n", "n", 3])?;`
    "#);
    assert_snapshot!(error_text(exe.run_all(&[zeros(&[2, 1, 3])?])), @r#"
    error: input "x" must be f32[n, n, 3], got f32[2, 1, 3]: dimensions must be equal, got 2 and 1 at axis 1
      --> `error_text(exe.run_all(&[zeros(&[2, 1, 3])?]))`
      the input is declared at `let x = g.input("x", DType::F32, shape!["n", "n", 3])?;`
    "#);
    assert_snapshot!(error_text(exe.run_all(&[zeros(&[2, 3])?])), @r#"
    error: input "x" must be f32[n, n, 3], got f32[2, 3]: the rank must be 3
      --> `error_text(exe.run_all(&[zeros(&[2, 3])?]))`
      the input is declared at `let x = g.input("x", DType::F32, shape!["n", "n", 3])?;`
    "#);
    let labels = TensorView::new(&[2, 2, 3], &[0i64; 12])?;
    assert_snapshot!(error_text(exe.run_all(&[labels])), @r#"
    error: input "x" must be f32[n, n, 3], got i64[2, 2, 3]
      --> `error_text(exe.run_all(&[labels]))`
      the input is declared at `let x = g.input("x", DType::F32, shape!["n", "n", 3])?;`
    "#);
    Ok(())
}

#[test]
fn a_reshape_without_the_batch_axis_is_explained() -> Result<()> {
    let g = Graph::new();
    let images = g.input("images", DType::F32, shape!["batch", 8, 8])?;
    let flat = images.reshape([64])?;
    let exe = g.compile(flat)?;
    assert_snapshot!(error_text(exe.run_all(&[zeros(&[2, 8, 8])?])), @r#"
    error: input "images" must be f32[1, 8, 8], got f32[2, 8, 8]: axis 0 must be 1
      --> `error_text(exe.run_all(&[zeros(&[2, 8, 8])?]))`
      the input is declared at `let images = g.input("images", DType::F32, shape!["batch", 8, 8])?;`
      batch is 1 since reshape at `let flat = images.reshape([64])?;`
    "#);
    Ok(())
}

#[test]
fn guard_errors_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", "m"])?;
    let pairs = x.reshape([-1, 6])?;
    let exe = g.compile(pairs)?;
    assert_snapshot!(error_text(exe.run_all(&[zeros(&[2, 4])?])), @r#"
    error: reshape(f32[n, m], shape=[-1, 6]): shape must divide the number of elements, got 8 in [2, 4] and 6 in [-1, 6]
      --> `let pairs = x.reshape([-1, 6])?;`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n", "m"])?;`
    "#);
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 3])?;
    let totals = x.reduce_sum([1])?;
    let shares = x / totals;
    let exe = g.compile(shares)?;
    assert_snapshot!(error_text(exe.run_all(&[zeros(&[4, 3])?])), @r#"
    error: div(f32[n, 3], f32[n]): dimensions must be equal or 1 to broadcast, got 3 and 4 at axis 1 of [4, 3] and [4]
      --> `let shares = x / totals;`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n", 3])?;`
      operand 1 comes from reduce_sum at `let totals = x.reduce_sum([1])?;`
      help: [4].expand_dims(1) is [4, 1], which broadcasts
    "#);
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 3])?;
    let tail = x.slice([2, 0], [4, -1])?;
    let exe = g.compile(tail)?;
    assert_snapshot!(error_text(exe.run_all(&[zeros(&[5, 3])?])), @r#"
    error: slice(f32[n, 3], begin=[2, 0], size=[4, -1]): a slice must lie within the tensor, got 2 to 6 at axis 0 of [5, 3]
      --> `let tail = x.slice([2, 0], [4, -1])?;`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n", 3])?;`
      help: a size of -1 extends to the end of the axis; a strided slice clamps its range to the axis
    "#);
    let g = Graph::new();
    let [x, y] = [g.input("x", DType::F32, shape!["n", "k"])?, g.input("y", DType::F32, shape!["m", "k"])?];
    let sum = x + y;
    let exe = g.compile(sum)?;
    assert_snapshot!(error_text(exe.run_all(&[zeros(&[2, 3])?, zeros(&[4, 3])?])), @r#"
    error: add(f32[n, k], f32[m, k]): dimensions must be equal or 1 to broadcast, got 2 and 4 at axis 0 of [2, 3] and [4, 3]
      --> `let sum = x + y;`
      operand 0 comes from x at `let [x, y] = [g.input("x", DType::F32, shape!["n", "k"])?, g.input("y", DType::F32, shape!["m", "k"])?];`
      operand 1 comes from y at `let [x, y] = [g.input("x", DType::F32, shape!["n", "k"])?, g.input("y", DType::F32, shape!["m", "k"])?];`
    "#);
    Ok(())
}

#[test]
fn errors_of_fed_parameters_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 4])?;
    let sizes = g.input("sizes", DType::I64, shape![2])?;
    let reshaped = x.reshape(sizes)?;
    let exe = g.compile(reshaped)?;
    assert_snapshot!(error_text(exe.run_all(&[zeros(&[3, 4])?, TensorView::new(&[2], &[5i64, 2])?])), @r#"
    error: reshape(f32[n, 4], i64[2]): shape must keep the number of elements, got 12 in [3, 4] and 10 in [5, 2]
      --> `let reshaped = x.reshape(sizes)?;`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n", 4])?;`
      shape is [5, 2], from sizes at `let sizes = g.input("sizes", DType::I64, shape![2])?;`
      help: give -1 at axis 0 to have its size inferred: [6, 2]
    "#);
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 4])?;
    let axis = g.input("axis", DType::I64, shape![])?;
    let sums = x.cumsum(axis)?;
    let exe = g.compile(sums)?;
    assert_snapshot!(error_text(exe.run_all(&[zeros(&[3, 4])?, TensorView::new(&[], &[2i64])?])), @r"
    error: cumsum(f32[n, 4], i64[]): axis must be in [-2, 2), got 2
      --> `let sums = x.cumsum(axis)?;`
      help: axes count from 0: the last one is 1 or -1
    ");
    Ok(())
}

#[test]
fn a_size_that_contradicts_another_input_names_this_input() -> Result<()> {
    let g = Graph::new();
    let n = Dim::symbol("n");
    let a = g.input("a", DType::F32, shape!["n"])?;
    let b = g.input("b", DType::F32, shape![2 * &n])?;
    let c = g.input("c", DType::F32, shape![2 * &n + 1])?;
    let exe = g.compile([("a", a.exp()?), ("b", b.exp()?), ("c", c.exp()?)])?;
    let data = [0.0f32; 9];
    let run = |sizes: [usize; 3]| {
        let views = sizes.map(|size| TensorView::new(&[size], &data[..size]).unwrap());
        exe.run_all(&views).unwrap_err().message().to_string()
    };
    assert_eq!(
        run([3, 7, 7]),
        "input \"b\" must be f32[2*n], got f32[7]: axis 0 is 2*n, which is 6 where n is 3 at axis 0 of input \"a\""
    );
    assert_eq!(
        run([3, 6, 6]),
        "input \"c\" must be f32[2*n+1], got f32[6]: axis 0 is 2*n+1, which is 7 where n is 3 at axis 0 of input \"a\""
    );
    let exe = g.compile([("b", b.exp()?), ("c", c.exp()?)])?;
    let [b, c] = [6, 8].map(|size| TensorView::new(&[size], &data[..size]).unwrap());
    let error = exe.run_named(&[("b", b), ("c", c)]).unwrap_err();
    assert_eq!(
        error.message(),
        "input \"c\" must be f32[2*n+1], got f32[8]: axis 0 is 2*n+1, which is 7 where n is 3 at axis 0 of input \"b\""
    );
    Ok(())
}
