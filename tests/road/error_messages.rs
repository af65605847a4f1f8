//! Error messages of wrong programs of a few lines. In the messages, the source line stands in place of each location
//! in this file.

use insta::assert_snapshot;
use shapeflow::{
    CompileOptions, DType, Executable, Graph, Result, SliceItem, Tensor, TensorView, concat, shape, stack,
};

use crate::error_snapshots::error_text;

#[test]
fn matmul_errors_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["batch", 4])?;
    let w = g.constant([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])?;
    let w = w.t()?;
    assert_snapshot!(error_text(x.matmul(w)), @r#"
    error: matmul(f32[batch, 4], f32[2, 4]): the inner dimensions of a matmul must agree, got 4 and 2 in [batch, 4] and [2, 4]
      --> `error_text(x.matmul(w))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["batch", 4])?;`
      operand 1 comes from transpose at `let w = w.t()?;`
      help: transpose b with .t(): a and b both have 4 columns
    "#);
    let vector = g.input("v", DType::F32, shape![4])?;
    assert_snapshot!(error_text(x.matmul(vector)), @r#"
    error: matmul(f32[batch, 4], f32[4]): b must have rank at least 2, got rank 1 in [4]
      --> `error_text(x.matmul(vector))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["batch", 4])?;`
      operand 1 comes from v at `let vector = g.input("v", DType::F32, shape![4])?;`
      help: add an axis of size 1: .expand_dims(0) makes it [1, 4], .expand_dims(-1) makes it [4, 1]
    "#);
    Ok(())
}

#[test]
fn dtype_errors_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let y = g.input("y", DType::F64, shape!["n"])?;
    assert_snapshot!(error_text((x + y).ok()), @r#"
    error: add(f32[n], f64[n]): operands must have one dtype, got f32 and f64
      --> `error_text((x + y).ok())`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
      operand 1 comes from y at `let y = g.input("y", DType::F64, shape!["n"])?;`
      help: cast operand 1 with .cast(DType::F32), or operand 0 with .cast(DType::F64)
    "#);
    let count = g.input("count", DType::I32, shape!["n"])?;
    assert_snapshot!(error_text(count.exp()), @r#"
    error: exp(i32[n]): the element type must be a float or a complex number, got i32 in operand 0
      --> `error_text(count.exp())`
      operand 0 comes from count at `let count = g.input("count", DType::I32, shape!["n"])?;`
      help: cast operand 0 with .cast(DType::F32)
    "#);
    assert_snapshot!(error_text((count / 2).ok()), @r#"
    error: div(i32[n], i32[]): `/` divides floats, got i32
      --> `error_text((count / 2).ok())`
      operand 0 comes from count at `let count = g.input("count", DType::I32, shape!["n"])?;`
      help: integers have .floordiv(..) and .truncatediv(..), or cast both operands with .cast(DType::F64)
    "#);
    assert_snapshot!(error_text((count + 0.5).ok()), @r#"
    error: add: a scalar takes the dtype of the tensor operand, and this dtype must hold the scalar, got 0.5 with i32[n]
      --> `error_text((count + 0.5).ok())`
      the tensor comes from count at `let count = g.input("count", DType::I32, shape!["n"])?;`
      help: cast the tensor to a dtype that holds the scalar, with .cast(DType::F64)
    "#);
    let bytes = g.input("bytes", DType::U8, shape!["n"])?;
    assert_snapshot!(error_text((bytes + 300).ok()), @r#"
    error: add: a scalar takes the dtype of the tensor operand, and this dtype must hold the scalar, got 300 with u8[n]
      --> `error_text((bytes + 300).ok())`
      the tensor comes from bytes at `let bytes = g.input("bytes", DType::U8, shape!["n"])?;`
      help: cast the tensor to a dtype that holds the scalar, with .cast(DType::I32)
    "#);
    assert_snapshot!(error_text(x.select(x, y)), @r#"
    error: select(f32[n], f32[n], f64[n]): the element type must be bool, got f32 in operand 0
      --> `error_text(x.select(x, y))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
      operand 1 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
      operand 2 comes from y at `let y = g.input("y", DType::F64, shape!["n"])?;`
      help: cast operand 0 with .cast(DType::Bool)
    "#);
    Ok(())
}

#[test]
fn shape_errors_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["a", 3])?;
    let y = g.input("y", DType::F32, shape!["b", 4])?;
    assert_snapshot!(error_text((x * y).ok()), @r#"
    error: mul(f32[a, 3], f32[b, 4]): dimensions must be equal or 1 to broadcast, got 3 and 4 at axis 1 of [a, 3] and [b, 4]
      --> `error_text((x * y).ok())`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["a", 3])?;`
      operand 1 comes from y at `let y = g.input("y", DType::F32, shape!["b", 4])?;`
    "#);
    assert_snapshot!(error_text(concat(&[x, y], 0)), @r#"
    error: concat(f32[a, 3], f32[b, 4], axis=0): all dimensions except axis 0 must agree, got 3 and 4 at axis 1
      --> `error_text(concat(&[x, y], 0))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["a", 3])?;`
      operand 1 comes from y at `let y = g.input("y", DType::F32, shape!["b", 4])?;`
    "#);
    assert_snapshot!(error_text(stack(&[x, y], 0)), @r#"
    error: stack(f32[a, 3], f32[b, 4], axis=0): stacked operands must have the same shape: shapes must agree, got 3 and 4 at axis 1
      --> `error_text(stack(&[x, y], 0))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["a", 3])?;`
      operand 1 comes from y at `let y = g.input("y", DType::F32, shape!["b", 4])?;`
    "#);
    let z = g.input("z", DType::F32, shape![3, 4])?;
    assert_snapshot!(error_text(z.reshape([5, -1])), @r#"
    error: reshape(f32[3, 4], shape=[5, -1]): shape must divide the number of elements, got 12 in [3, 4] and 5 in [5, -1]
      --> `error_text(z.reshape([5, -1]))`
      operand 0 comes from z at `let z = g.input("z", DType::F32, shape![3, 4])?;`
    "#);
    assert_snapshot!(error_text(z.reshape([2, 5])), @r#"
    error: reshape(f32[3, 4], shape=[2, 5]): shape must keep the number of elements, got 12 in [3, 4] and 10 in [2, 5]
      --> `error_text(z.reshape([2, 5]))`
      operand 0 comes from z at `let z = g.input("z", DType::F32, shape![3, 4])?;`
      help: give -1 at axis 1 to have its size inferred: [2, 6]
    "#);
    assert_snapshot!(error_text(z.broadcast_to([2, 4])), @r#"
    error: broadcast_to(f32[3, 4], shape=[2, 4]): x must have size 1 or 2, got 3 at axis 0 of [3, 4]
      --> `error_text(z.broadcast_to([2, 4]))`
      operand 0 comes from z at `let z = g.input("z", DType::F32, shape![3, 4])?;`
    "#);
    Ok(())
}

#[test]
fn parameter_errors_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape![3, 4])?;
    assert_snapshot!(error_text(x.softmax(2)), @r#"
    error: softmax(f32[3, 4], axis=2): axis must be in [-2, 2), got 2
      --> `error_text(x.softmax(2))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape![3, 4])?;`
      help: axes count from 0: the last one is 1 or -1
    "#);
    assert_snapshot!(error_text(x.reduce_sum([0, -2])), @r#"
    error: reduce_sum(f32[3, 4], axis=[0, -2]): axis must not repeat an axis, got axis 0 twice
      --> `error_text(x.reduce_sum([0, -2]))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape![3, 4])?;`
    "#);
    assert_snapshot!(error_text(x.transpose([0, 0])), @r#"
    error: transpose(f32[3, 4], perm=[0, 0]): perm must be a permutation of the axes, got axis 0 twice in [0, 0]
      --> `error_text(x.transpose([0, 0]))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape![3, 4])?;`
    "#);
    assert_snapshot!(error_text(x.slice([0, 2], [3, 3])), @r#"
    error: slice(f32[3, 4], begin=[0, 2], size=[3, 3]): a slice must lie within the tensor, got 2 to 5 at axis 1 of [3, 4]
      --> `error_text(x.slice([0, 2], [3, 3]))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape![3, 4])?;`
      help: a size of -1 extends to the end of the axis; a strided slice clamps its range to the axis
    "#);
    assert_snapshot!(error_text(x.slice_with(&[SliceItem::from(7)])), @r#"
    error: slice_with(f32[3, 4], [7]): index 7 must lie within axis 0 of size 3
      --> `error_text(x.slice_with(&[SliceItem::from(7)]))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape![3, 4])?;`
    "#);
    assert_snapshot!(error_text(x.split::<3>(1)), @r#"
    error: split(f32[3, 4], axis=1, num=3): a dimension must split into equal parts, got 4 into 3 at axis 1 of [3, 4]
      --> `error_text(x.split::<3>(1))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape![3, 4])?;`
      help: split_sizes cuts into parts of given sizes; one of them may be -1 to take the rest
    "#);
    assert_snapshot!(error_text(x.pad([1, -1])), @r#"
    error: pad(f32[3, 4], paddings=[1, -1]): paddings must have one pair per axis, got 1 for [3, 4]
      --> `error_text(x.pad([1, -1]))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape![3, 4])?;`
      help: use the pair 0, 0 for an axis without padding
    "#);
    assert_snapshot!(error_text(x.squeeze([0])), @r#"
    error: squeeze(f32[3, 4], axis=[0]): a squeezed axis must have size 1, got 3 at axis 0 of [3, 4]
      --> `error_text(x.squeeze([0]))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape![3, 4])?;`
    "#);
    Ok(())
}

#[test]
fn input_and_graph_errors_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    assert_snapshot!(error_text(g.input("x", DType::F32, shape![3])), @r#"
    error: input "x" f32[3]: the name of an input must be unique in its graph
      --> `error_text(g.input("x", DType::F32, shape![3]))`
      the other input is made at `let x = g.input("x", DType::F32, shape!["n"])?;`
    "#);
    assert_snapshot!(error_text(g.input("y", DType::F32, shape![-3])), @r#"
    error: input "y" f32[-3]: a size must not be negative, got -3
      --> `error_text(g.input("y", DType::F32, shape![-3]))`
    "#);
    assert_snapshot!(error_text(g.input("y", DType::F32, shape!["batch size", 3])), @r#"
    error: input "y" f32["batch size", 3]: a symbol's name must be a letter or _ followed by letters, digits, _ and ., got "batch size"
      --> `error_text(g.input("y", DType::F32, shape!["batch size", 3]))`
    "#);
    assert_snapshot!(error_text(x.dim(1)), @r"
    error: dim(f32[n], axis=1): axis must be in [-1, 1), got 1
      --> `error_text(x.dim(1))`
    ");
    let exe = g.compile(x.exp()?)?;
    assert_snapshot!(error_text(exe.run_all(&[])), @r"
    error: 1 input must be fed (x f32[n]), got 0
      --> `error_text(exe.run_all(&[]))`
    ");
    let other = Graph::new();
    let y = other.input("y", DType::F32, shape!["n"])?;
    assert_snapshot!(error_text((x + y).ok()), @r#"
    error: add(f32[n]): operands must belong to one graph, got values of the graphs made at `let g = Graph::new();` and at `let other = Graph::new();`
      --> `error_text((x + y).ok())`
      the value of the other graph comes from y at `let y = other.input("y", DType::F32, shape!["n"])?;`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
    "#);
    assert_snapshot!(error_text(g.compile(y)), @r#"
    error: outputs must belong to the graph made at `let g = Graph::new();`, got a value of the graph made at `let other = Graph::new();`
      --> `error_text(g.compile(y))`
      the value of the other graph comes from y at `let y = other.input("y", DType::F32, shape!["n"])?;`
    "#);
    assert_snapshot!(error_text(g.value(y.id())), @r"
    error: the id must belong to this graph, made at `let g = Graph::new();`
      --> `error_text(g.value(y.id()))`
    ");
    Ok(())
}

#[test]
fn operator_errors_are_kept_until_the_result_is_used() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 3])?;
    let y = g.input("y", DType::F32, shape!["n", 4])?;
    let scope = g.scope("layer0");
    let wrong = x + y;
    drop(scope);
    assert_snapshot!(error_text((wrong * 2.0).relu()), @r#"
    error: add(f32[n, 3], f32[n, 4]): dimensions must be equal or 1 to broadcast, got 3 and 4 at axis 1 of [n, 3] and [n, 4]
      --> `let wrong = x + y;`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n", 3])?;`
      operand 1 comes from y at `let y = g.input("y", DType::F32, shape!["n", 4])?;`
      in scope layer0 at `let scope = g.scope("layer0");`
    "#);
    let worse = -(y * x.exp()?);
    assert_snapshot!(error_text(g.compile([wrong, worse])), @r#"
    error: add(f32[n, 3], f32[n, 4]): dimensions must be equal or 1 to broadcast, got 3 and 4 at axis 1 of [n, 3] and [n, 4]
      --> `let wrong = x + y;`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n", 3])?;`
      operand 1 comes from y at `let y = g.input("y", DType::F32, shape!["n", 4])?;`
      in scope layer0 at `let scope = g.scope("layer0");`
    error: mul(f32[n, 4], f32[n, 3]): dimensions must be equal or 1 to broadcast, got 4 and 3 at axis 1 of [n, 4] and [n, 3]
      --> `let worse = -(y * x.exp()?);`
      operand 0 comes from y at `let y = g.input("y", DType::F32, shape!["n", 4])?;`
      operand 1 comes from exp at `let worse = -(y * x.exp()?);`
    "#);
    Ok(())
}

#[test]
fn tensor_and_result_errors_are_explained() -> Result<()> {
    let data = [1.0f32, 2.0, 3.0];
    assert_snapshot!(error_text(TensorView::new(&[2, 2], &data)), @r"
    error: sizes [2, 2] need 4 elements, got 3
      --> `error_text(TensorView::new(&[2, 2], &data))`
    ");
    let tensor = Tensor::from_slice(&[3], &data)?;
    assert_snapshot!(error_text(tensor.to_vec::<f64>()), @r"
    error: the element type must be f32, the tensor's dtype, got f64
      --> `error_text(tensor.to_vec::<f64>())`
    ");
    assert_snapshot!(error_text(tensor.item::<f32>()), @r"
    error: there must be exactly one element, got sizes [3]
      --> `error_text(tensor.item::<f32>())`
    ");
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape![3])?;
    let results = g.compile([("y", (x + 1.0).ok()?)])?.run_named(&[("x", tensor.view())])?;
    assert_snapshot!(error_text(results.tensor("z")), @r#"
    error: "z" is not an output; the outputs are y
      --> `error_text(results.tensor("z"))`
    "#);
    Ok(())
}

fn gather_executable() -> Result<Executable> {
    let g = Graph::new();
    let table = g.input("table", DType::F32, shape!["rows", 2])?;
    let ids = g.input("ids", DType::I64, shape!["n"])?;
    g.compile(table.gather(ids, 0)?)
}

#[test]
fn feed_errors_are_explained() -> Result<()> {
    let exe = gather_executable()?;
    let (flat, ids) = ([0.0f32; 6], [1i64, 2]);
    let table = TensorView::new(&[3, 2], &flat)?;
    assert_snapshot!(error_text(exe.run_all(std::slice::from_ref(&table))), @r"
    error: 2 inputs must be fed (table f32[rows, 2], ids i64[n]), got 1
      --> `error_text(exe.run_all(std::slice::from_ref(&table)))`
    ");
    assert_snapshot!(error_text(exe.run_all(&[table.clone(), table.clone()])), @r#"
    error: input "ids" must be i64[n], got f32[3, 2]
      --> `error_text(exe.run_all(&[table.clone(), table.clone()]))`
      the input is declared at `let ids = g.input("ids", DType::I64, shape!["n"])?;`
    "#);
    assert_snapshot!(error_text(exe.run_all(&[TensorView::new(&[6], &flat)?, TensorView::new(&[2], &ids)?])), @r#"
    error: input "table" must be f32[rows, 2], got f32[6]: the rank must be 2
      --> `error_text(exe.run_all(&[TensorView::new(&[6], &flat)?, TensorView::new(&[2], &ids)?]))`
      the input is declared at `let table = g.input("table", DType::F32, shape!["rows", 2])?;`
    "#);
    assert_snapshot!(error_text(exe.run_all(&[TensorView::new(&[2, 3], &flat)?, TensorView::new(&[2], &ids)?])), @r#"
    error: input "table" must be f32[rows, 2], got f32[2, 3]: axis 1 must be 2
      --> `error_text(exe.run_all(&[TensorView::new(&[2, 3], &flat)?, TensorView::new(&[2], &ids)?]))`
      the input is declared at `let table = g.input("table", DType::F32, shape!["rows", 2])?;`
    "#);
    assert_snapshot!(error_text(exe.run_named(&[("table", table.clone())])), @r#"
    error: input "ids" i64[n] must be fed
      --> `error_text(exe.run_named(&[("table", table.clone())]))`
    "#);
    assert_snapshot!(error_text(exe.run_named(&[("table", table.clone()), ("ids", table.clone()), ("id", table.clone())])), @r#"
    error: "id" is not an input; the inputs are table, ids
      --> `error_text(exe.run_named(&[("table", table.clone()), ("ids", table.clone()), ("id", table.clone())]))`
      help: is it "ids"?
    "#);
    assert_snapshot!(error_text(exe.run::<2>(&[table, TensorView::new(&[2], &ids)?])), @r"
    error: the number of results must be 1, one for each output, got 2
      --> `error_text(exe.run::<2>(&[table, TensorView::new(&[2], &ids)?]))`
    ");
    Ok(())
}

#[test]
fn index_and_division_errors_are_explained() -> Result<()> {
    let exe = gather_executable()?;
    let table = [0.0f32; 6];
    assert_snapshot!(error_text(exe.run_all(&[TensorView::new(&[3, 2], &table)?, TensorView::new(&[2], &[1i64, -1])?])), @r#"
    error: gather(f32[rows, 2], i64[n], axis=0, batch_dims=0): an index into axis 0 must lie in [0, 3), got -1 at [1] in operand 1
      --> `g.compile(table.gather(ids, 0)?)`
      operand 1 comes from ids at `let ids = g.input("ids", DType::I64, shape!["n"])?;`
    "#);
    let g = Graph::new();
    let x = g.input("x", DType::I32, shape!["n"])?;
    let y = g.input("y", DType::I32, shape!["n"])?;
    let quotient = x.floordiv(y)?;
    let exe = g.compile(quotient)?;
    assert_snapshot!(error_text(exe.run_all(&[TensorView::new(&[2], &[1, 2])?, TensorView::new(&[2], &[3, 0])?])), @r#"
    error: floordiv(i32[n], i32[n]): an integer must not be divided by zero at [1] in operand 1
      --> `let quotient = x.floordiv(y)?;`
      operand 1 comes from y at `let y = g.input("y", DType::I32, shape!["n"])?;`
    "#);
    assert_snapshot!(error_text(exe.run_all(&[TensorView::new(&[2], &[1, 2])?, TensorView::new(&[1], &[3])?])), @r#"
    error: input "y" must be i32[n], got i32[1]: axis 0 is n, which is 2 at axis 0 of input "x"
      --> `error_text(exe.run_all(&[TensorView::new(&[2], &[1, 2])?, TensorView::new(&[1], &[3])?]))`
      the input is declared at `let y = g.input("y", DType::I32, shape!["n"])?;`
    "#);
    Ok(())
}

#[test]
fn run_time_size_errors_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let [low, high] = x.split::<2>(0)?;
    let exe = g.compile(low - high)?;
    assert_snapshot!(error_text(exe.run_all(&[TensorView::new(&[3], &[1.0f32, 2.0, 3.0])?])), @r#"
    error: split(f32[n], axis=0, num=2): a dimension must split into equal parts, got 3 into 2 at axis 0 of [3]
      --> `let [low, high] = x.split::<2>(0)?;`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
      help: split_sizes cuts into parts of given sizes; one of them may be -1 to take the rest
    "#);
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let sum = x + g.input("y", DType::F32, shape!["m"])?;
    let exe = g.compile(sum)?;
    assert_snapshot!(error_text(exe.run_all(&[TensorView::new(&[2], &[1.0f32; 2])?, TensorView::new(&[3], &[1.0f32; 3])?])), @r#"
    error: add(f32[n], f32[m]): dimensions must be equal or 1 to broadcast, got 2 and 3 at axis 0 of [2] and [3]
      --> `let sum = x + g.input("y", DType::F32, shape!["m"])?;`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
      operand 1 comes from y at `let sum = x + g.input("y", DType::F32, shape!["m"])?;`
    "#);
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let table = x.expand_dims(1)? * x;
    let squared = table.matmul(table)?;
    let exe = g.compile_with(&CompileOptions::new().memory_limit(1000), squared)?;
    assert_snapshot!(error_text(exe.run_all(&[TensorView::new(&[20], &[1.0f32; 20])?])), @r"
    error: the run must stay within the memory limit of 1000 bytes, but needs 3200
      --> `error_text(exe.run_all(&[TensorView::new(&[20], &[1.0f32; 20])?]))`
      the largest value is mul made at `let table = x.expand_dims(1)? * x;` with 1600 bytes
    ");
    Ok(())
}

#[test]
fn broadcast_errors_are_found_although_a_later_equality_solves_the_size() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let y = g.input("y", DType::F32, shape![?])?;
    let sum = x + y;
    // The split determines n = 3. The earlier broadcast must still check that y has size 1 or 3.
    let parts = (x * 2.0).split_sizes([1, 2], 0)?;
    let exe = g.compile([sum, parts[0]])?;
    let run = |n: usize, m: usize| {
        let data = [1.0f32; 8];
        exe.run_all(&[TensorView::new(&[n], &data[..n])?, TensorView::new(&[m], &data[..m])?])
    };
    for m in [1, 3] {
        assert_eq!(run(3, m)?[0].to_vec::<f32>()?, [2.0; 3]);
    }
    assert_snapshot!(error_text(run(3, 5)), @r#"
    error: add(f32[3], f32[y.0]): dimensions must be equal or 1 to broadcast, got 3 and 5 at axis 0 of [3] and [5]
      --> `let sum = x + y;`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
      operand 1 comes from y at `let y = g.input("y", DType::F32, shape![?])?;`
    "#);
    Ok(())
}
