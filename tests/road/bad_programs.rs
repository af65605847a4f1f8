//! Full error messages of common mistakes in building graphs. In the messages, the source line stands in place of each
//! location in this file.

use insta::assert_snapshot;
use shapeflow::{DType, Graph, Result, SliceItem, Value, concat, shape, shape_fns, stack};

use crate::error_snapshots::error_text;

/// Adds an f32 input of known sizes.
pub fn f32<'g>(g: &'g Graph, name: &str, sizes: &[i64]) -> Result<Value<'g>> {
    g.input(name, DType::F32, shape_fns::TensorShape::new(sizes))
}

#[test]
fn matmul_errors_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["batch", 4])?;
    let w = g.input("w", DType::F32, shape![2, 4])?;
    assert_snapshot!(error_text(x.matmul(w)), @r#"
    error: matmul(f32[batch, 4], f32[2, 4]): the inner dimensions of a matmul must agree, got 4 and 2 in [batch, 4] and [2, 4]
      --> `error_text(x.matmul(w))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["batch", 4])?;`
      operand 1 comes from w at `let w = g.input("w", DType::F32, shape![2, 4])?;`
      help: transpose b with .t(): a and b both have 4 columns
    "#);
    let images = g.input("images", DType::F32, shape![8, 4])?;
    let weights = g.input("weights", DType::F32, shape![4, 2])?;
    assert_snapshot!(error_text(weights.matmul(images)), @r#"
    error: matmul(f32[4, 2], f32[8, 4]): the inner dimensions of a matmul must agree, got 2 and 8 in [4, 2] and [8, 4]
      --> `error_text(weights.matmul(images))`
      operand 0 comes from weights at `let weights = g.input("weights", DType::F32, shape![4, 2])?;`
      operand 1 comes from images at `let images = g.input("images", DType::F32, shape![8, 4])?;`
      help: swap the operands: b has as many columns as a has rows
    "#);
    let columns = g.input("columns", DType::F32, shape![4, 8])?;
    assert_snapshot!(error_text(columns.matmul(weights)), @r#"
    error: matmul(f32[4, 8], f32[4, 2]): the inner dimensions of a matmul must agree, got 8 and 4 in [4, 8] and [4, 2]
      --> `error_text(columns.matmul(weights))`
      operand 0 comes from columns at `let columns = g.input("columns", DType::F32, shape![4, 8])?;`
      operand 1 comes from weights at `let weights = g.input("weights", DType::F32, shape![4, 2])?;`
      help: transpose a with .t(): a and b both have 4 rows
    "#);
    let bias = g.input("bias", DType::F32, shape![4])?;
    assert_snapshot!(error_text(x.matmul(bias)), @r#"
    error: matmul(f32[batch, 4], f32[4]): b must have rank at least 2, got rank 1 in [4]
      --> `error_text(x.matmul(bias))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["batch", 4])?;`
      operand 1 comes from bias at `let bias = g.input("bias", DType::F32, shape![4])?;`
      help: add an axis of size 1: .expand_dims(0) makes it [1, 4], .expand_dims(-1) makes it [4, 1]
    "#);
    let heads = g.input("heads", DType::F32, shape!["batch", 8, "time", 64])?;
    let other = g.input("other", DType::F32, shape!["batch", 7, 64, "time"])?;
    assert_snapshot!(error_text(heads.matmul(other)), @r#"
    error: matmul(f32[batch, 8, time, 64], f32[batch, 7, 64, time]): dimensions must be equal or 1 to broadcast, got 8 and 7 at axis 1 of [batch, 8] and [batch, 7]
      --> `error_text(heads.matmul(other))`
      operand 0 comes from heads at `let heads = g.input("heads", DType::F32, shape!["batch", 8, "time", 64])?;`
      operand 1 comes from other at `let other = g.input("other", DType::F32, shape!["batch", 7, 64, "time"])?;`
    "#);
    Ok(())
}

#[test]
fn broadcast_errors_are_explained() -> Result<()> {
    let g = Graph::new();
    let scores = g.input("scores", DType::F32, shape![8, 3])?;
    let total = scores.reduce_sum([1])?;
    assert_snapshot!(error_text((scores / total).ok()), @r#"
    error: div(f32[8, 3], f32[8]): dimensions must be equal or 1 to broadcast, got 3 and 8 at axis 1 of [8, 3] and [8]
      --> `error_text((scores / total).ok())`
      operand 0 comes from scores at `let scores = g.input("scores", DType::F32, shape![8, 3])?;`
      operand 1 comes from reduce_sum at `let total = scores.reduce_sum([1])?;`
      help: [8].expand_dims(1) is [8, 1], which broadcasts
    "#);
    let grid = g.input("grid", DType::F32, shape![3, 8])?;
    assert_snapshot!(error_text((scores + grid).ok()), @r#"
    error: add(f32[8, 3], f32[3, 8]): dimensions must be equal or 1 to broadcast, got 8 and 3 at axis 0 of [8, 3] and [3, 8]
      --> `error_text((scores + grid).ok())`
      operand 0 comes from scores at `let scores = g.input("scores", DType::F32, shape![8, 3])?;`
      operand 1 comes from grid at `let grid = g.input("grid", DType::F32, shape![3, 8])?;`
      help: transpose [3, 8] with .t()
    "#);
    let padded = scores.pad([0, 0, 0, 1])?;
    assert_snapshot!(error_text((scores * padded).ok()), @r#"
    error: mul(f32[8, 3], f32[8, 4]): dimensions must be equal or 1 to broadcast, got 3 and 4 at axis 1 of [8, 3] and [8, 4]
      --> `error_text((scores * padded).ok())`
      operand 0 comes from scores at `let scores = g.input("scores", DType::F32, shape![8, 3])?;`
      operand 1 comes from pad at `let padded = scores.pad([0, 0, 0, 1])?;`
    "#);
    assert_snapshot!(error_text(scores.broadcast_to([3])), @r#"
    error: broadcast_to(f32[8, 3], shape=[3]): shape must have at least as many axes as the operand, got 1 for [8, 3]
      --> `error_text(scores.broadcast_to([3]))`
      operand 0 comes from scores at `let scores = g.input("scores", DType::F32, shape![8, 3])?;`
    "#);
    assert_snapshot!(error_text(scores.broadcast_to([8, 4])), @r#"
    error: broadcast_to(f32[8, 3], shape=[8, 4]): x must have size 1 or 4, got 3 at axis 1 of [8, 3]
      --> `error_text(scores.broadcast_to([8, 4]))`
      operand 0 comes from scores at `let scores = g.input("scores", DType::F32, shape![8, 3])?;`
    "#);
    Ok(())
}

#[test]
fn concat_and_stack_errors_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape![8, 3])?;
    let y = g.input("y", DType::F32, shape![8, 4])?;
    assert_snapshot!(error_text(concat(&[x, y], 0)), @r#"
    error: concat(f32[8, 3], f32[8, 4], axis=0): all dimensions except axis 0 must agree, got 3 and 4 at axis 1
      --> `error_text(concat(&[x, y], 0))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape![8, 3])?;`
      operand 1 comes from y at `let y = g.input("y", DType::F32, shape![8, 4])?;`
      help: join along axis 1, the only one that differs
    "#);
    assert_snapshot!(error_text(concat(&[x, y], 2)), @r#"
    error: concat(f32[8, 3], f32[8, 4], axis=2): axis must be in [-2, 2), got 2
      --> `error_text(concat(&[x, y], 2))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape![8, 3])?;`
      operand 1 comes from y at `let y = g.input("y", DType::F32, shape![8, 4])?;`
      help: axes count from 0: the last one is 1 or -1
    "#);
    assert_snapshot!(error_text(stack(&[x, y], 0)), @r#"
    error: stack(f32[8, 3], f32[8, 4], axis=0): stacked operands must have the same shape: shapes must agree, got 3 and 4 at axis 1
      --> `error_text(stack(&[x, y], 0))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape![8, 3])?;`
      operand 1 comes from y at `let y = g.input("y", DType::F32, shape![8, 4])?;`
      help: concat joins along axis 1, the only one that differs
    "#);
    let row = g.input("row", DType::F32, shape![3])?;
    assert_snapshot!(error_text(concat(&[x, row], 0)), @r#"
    error: concat(f32[8, 3], f32[3], axis=0): operand 1 must have rank 2 like operand 0, [8, 3], got rank 1 in [3]
      --> `error_text(concat(&[x, row], 0))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape![8, 3])?;`
      operand 1 comes from row at `let row = g.input("row", DType::F32, shape![3])?;`
    "#);
    assert_snapshot!(error_text(concat(&[], 0)), @r"
    error: concat: there must be at least one value, got none
      --> `error_text(concat(&[], 0))`
    ");
    let half = g.input("half", DType::F16, shape![8, 3])?;
    assert_snapshot!(error_text(concat(&[x, x, half], 0)), @r#"
    error: concat(f32[8, 3], f32[8, 3], f16[8, 3], axis=0): operands must have one dtype, got f32 and f16
      --> `error_text(concat(&[x, x, half], 0))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape![8, 3])?;`
      operand 1 comes from x at `let x = g.input("x", DType::F32, shape![8, 3])?;`
      operand 2 comes from half at `let half = g.input("half", DType::F16, shape![8, 3])?;`
      help: cast operand 2 with .cast(DType::F32), or operand 0 with .cast(DType::F16)
    "#);
    Ok(())
}

#[test]
fn size_errors_are_explained() -> Result<()> {
    let g = Graph::new();
    let images = g.input("images", DType::F32, shape![8, 28, 28])?;
    assert_snapshot!(error_text(images.reshape([-1, 783])), @r#"
    error: reshape(f32[8, 28, 28], shape=[-1, 783]): shape must divide the number of elements, got 6272 in [8, 28, 28] and 783 in [-1, 783]
      --> `error_text(images.reshape([-1, 783]))`
      operand 0 comes from images at `let images = g.input("images", DType::F32, shape![8, 28, 28])?;`
      help: [-1, 784] keeps the first axis, of size 8, and flattens the others
    "#);
    assert_snapshot!(error_text(images.reshape([8, 783])), @r#"
    error: reshape(f32[8, 28, 28], shape=[8, 783]): shape must keep the number of elements, got 6272 in [8, 28, 28] and 6264 in [8, 783]
      --> `error_text(images.reshape([8, 783]))`
      operand 0 comes from images at `let images = g.input("images", DType::F32, shape![8, 28, 28])?;`
      help: give -1 at axis 1 to have its size inferred: [8, 784]
    "#);
    assert_snapshot!(error_text(images.reshape([-1, 28, -1])), @r#"
    error: reshape(f32[8, 28, 28], shape=[-1, 28, -1]): shape must have at most one -1, got -1 at axes 0 and 2
      --> `error_text(images.reshape([-1, 28, -1]))`
      operand 0 comes from images at `let images = g.input("images", DType::F32, shape![8, 28, 28])?;`
    "#);
    assert_snapshot!(error_text(images.reshape([-2, 784])), @r#"
    error: reshape(f32[8, 28, 28], shape=[-2, 784]): shape must have sizes of at least -1, got -2
      --> `error_text(images.reshape([-2, 784]))`
      operand 0 comes from images at `let images = g.input("images", DType::F32, shape![8, 28, 28])?;`
    "#);
    assert_snapshot!(error_text(images.split::<3>(0)), @r#"
    error: split(f32[8, 28, 28], axis=0, num=3): a dimension must split into equal parts, got 8 into 3 at axis 0 of [8, 28, 28]
      --> `error_text(images.split::<3>(0))`
      operand 0 comes from images at `let images = g.input("images", DType::F32, shape![8, 28, 28])?;`
      help: split_sizes cuts into parts of given sizes; one of them may be -1 to take the rest
    "#);
    assert_snapshot!(error_text(images.split_sizes([3, 4], 0)), @r#"
    error: split_sizes(f32[8, 28, 28], axis=0, num=2, size_splits=[3, 4]): size_splits must add up to the dimension, got [3, 4], sum 7, for 8 at axis 0 of [8, 28, 28]
      --> `error_text(images.split_sizes([3, 4], 0))`
      operand 0 comes from images at `let images = g.input("images", DType::F32, shape![8, 28, 28])?;`
    "#);
    assert_snapshot!(error_text(images.slice([0, 0, 20], [8, 28, 10])), @r#"
    error: slice(f32[8, 28, 28], begin=[0, 0, 20], size=[8, 28, 10]): a slice must lie within the tensor, got 20 to 30 at axis 2 of [8, 28, 28]
      --> `error_text(images.slice([0, 0, 20], [8, 28, 10]))`
      operand 0 comes from images at `let images = g.input("images", DType::F32, shape![8, 28, 28])?;`
      help: a size of -1 extends to the end of the axis; a strided slice clamps its range to the axis
    "#);
    assert_snapshot!(error_text(images.slice_with(&[SliceItem::from(8)])), @r#"
    error: slice_with(f32[8, 28, 28], [8]): index 8 must lie within axis 0 of size 8
      --> `error_text(images.slice_with(&[SliceItem::from(8)]))`
      operand 0 comes from images at `let images = g.input("images", DType::F32, shape![8, 28, 28])?;`
    "#);
    assert_snapshot!(error_text(images.pad([1, 1])), @r#"
    error: pad(f32[8, 28, 28], paddings=[1, 1]): paddings must have one pair per axis, got 1 for [8, 28, 28]
      --> `error_text(images.pad([1, 1]))`
      operand 0 comes from images at `let images = g.input("images", DType::F32, shape![8, 28, 28])?;`
      help: use the pair 0, 0 for an axis without padding
    "#);
    assert_snapshot!(error_text(images.tile([2])), @r#"
    error: tile(f32[8, 28, 28], multiples=[2]): multiples must have one entry per axis, got 1 for [8, 28, 28]
      --> `error_text(images.tile([2]))`
      operand 0 comes from images at `let images = g.input("images", DType::F32, shape![8, 28, 28])?;`
    "#);
    assert_snapshot!(error_text(g.fill([2, -3], 0.0)), @r"
    error: fill(f64[], dims=[2, -3]): dims must not be negative, got -3
      --> `error_text(g.fill([2, -3], 0.0))`
    ");
    Ok(())
}

#[test]
fn axis_errors_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["batch", 1, 4])?;
    assert_snapshot!(error_text(x.softmax(3)), @r#"
    error: softmax(f32[batch, 1, 4], axis=3): axis must be in [-3, 3), got 3
      --> `error_text(x.softmax(3))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["batch", 1, 4])?;`
      help: axes count from 0: the last one is 2 or -1
    "#);
    assert_snapshot!(error_text(x.softmax(-4)), @r#"
    error: softmax(f32[batch, 1, 4], axis=-4): axis must be in [-3, 3), got -4
      --> `error_text(x.softmax(-4))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["batch", 1, 4])?;`
    "#);
    assert_snapshot!(error_text(x.reduce_mean([1, -2])), @r#"
    error: reduce_mean(f32[batch, 1, 4], axis=[1, -2]): axis must not repeat an axis, got axis 1 twice
      --> `error_text(x.reduce_mean([1, -2]))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["batch", 1, 4])?;`
    "#);
    assert_snapshot!(error_text(x.transpose([1, 0])), @r#"
    error: transpose(f32[batch, 1, 4], perm=[1, 0]): perm must have one entry per axis, got 2 for [batch, 1, 4]
      --> `error_text(x.transpose([1, 0]))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["batch", 1, 4])?;`
      help: perm=[0, 2, 1] keeps the leading axes where they are
    "#);
    assert_snapshot!(error_text(x.transpose([0, 2, 2])), @r#"
    error: transpose(f32[batch, 1, 4], perm=[0, 2, 2]): perm must be a permutation of the axes, got axis 2 twice in [0, 2, 2]
      --> `error_text(x.transpose([0, 2, 2]))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["batch", 1, 4])?;`
    "#);
    assert_snapshot!(error_text(x.transpose([1, 2, 3])), @r#"
    error: transpose(f32[batch, 1, 4], perm=[1, 2, 3]): perm must be a permutation of the axes: axis must be in [-3, 3), got 3
      --> `error_text(x.transpose([1, 2, 3]))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["batch", 1, 4])?;`
    "#);
    assert_snapshot!(error_text(x.squeeze([2])), @r#"
    error: squeeze(f32[batch, 1, 4], axis=[2]): a squeezed axis must have size 1, got 4 at axis 2 of [batch, 1, 4]
      --> `error_text(x.squeeze([2]))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["batch", 1, 4])?;`
      help: the axis of size 1 is 1
    "#);
    assert_snapshot!(error_text(x.expand_dims(5)), @r#"
    error: expand_dims(f32[batch, 1, 4], axis=5): axis must be in [-4, 4), got 5
      --> `error_text(x.expand_dims(5))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["batch", 1, 4])?;`
    "#);
    let scalar = g.input("scalar", DType::F32, shape![])?;
    assert_snapshot!(error_text(scalar.softmax(-1)), @r#"
    error: softmax(f32[], axis=-1): logits must have rank at least 1, got rank 0 in []
      --> `error_text(scalar.softmax(-1))`
      operand 0 comes from scalar at `let scalar = g.input("scalar", DType::F32, shape![])?;`
      help: add an axis of size 1 with .expand_dims(0)
    "#);
    Ok(())
}

#[test]
fn dtype_errors_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let y = g.input("y", DType::F64, shape!["n"])?;
    assert_snapshot!(error_text((x * y).ok()), @r#"
    error: mul(f32[n], f64[n]): operands must have one dtype, got f32 and f64
      --> `error_text((x * y).ok())`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
      operand 1 comes from y at `let y = g.input("y", DType::F64, shape!["n"])?;`
      help: cast operand 1 with .cast(DType::F32), or operand 0 with .cast(DType::F64)
    "#);
    assert_snapshot!(error_text(x.gather(x, 0)), @r#"
    error: gather(f32[n], f32[n], axis=0, batch_dims=0): an index must be i16, i32 or i64, got f32 in operand 1
      --> `error_text(x.gather(x, 0))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
      operand 1 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
      help: cast operand 1 with .cast(DType::I64)
    "#);
    let count = g.input("count", DType::I32, shape!["n"])?;
    assert_snapshot!(error_text((count / 2).ok()), @r#"
    error: div(i32[n], i32[]): `/` divides floats, got i32
      --> `error_text((count / 2).ok())`
      operand 0 comes from count at `let count = g.input("count", DType::I32, shape!["n"])?;`
      help: integers have .floordiv(..) and .truncatediv(..), or cast both operands with .cast(DType::F64)
    "#);
    assert_snapshot!(error_text((count * 0.5).ok()), @r#"
    error: mul: a scalar takes the dtype of the tensor operand, and this dtype must hold the scalar, got 0.5 with i32[n]
      --> `error_text((count * 0.5).ok())`
      the tensor comes from count at `let count = g.input("count", DType::I32, shape!["n"])?;`
      help: cast the tensor to a dtype that holds the scalar, with .cast(DType::F64)
    "#);
    assert_snapshot!(error_text(count.sqrt()), @r#"
    error: sqrt(i32[n]): the element type must be a float or a complex number, got i32 in operand 0
      --> `error_text(count.sqrt())`
      operand 0 comes from count at `let count = g.input("count", DType::I32, shape!["n"])?;`
      help: cast operand 0 with .cast(DType::F32)
    "#);
    assert_snapshot!(error_text(x.logical_and(x)), @r#"
    error: logical_and(f32[n], f32[n]): the element type must be bool, got f32 in operand 0
      --> `error_text(x.logical_and(x))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
      operand 1 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
      help: cast operand 0 with .cast(DType::Bool)
    "#);
    assert_snapshot!(error_text(x.select(x, x)), @r#"
    error: select(f32[n], f32[n], f32[n]): the element type must be bool, got f32 in operand 0
      --> `error_text(x.select(x, x))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
      operand 1 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
      operand 2 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
      help: cast operand 0 with .cast(DType::Bool)
    "#);
    assert_snapshot!(error_text(x.boolean_mask(count, 0)), @r#"
    error: boolean_mask(f32[n], i32[n], axis=0): the mask must be bool, got i32
      --> `error_text(x.boolean_mask(count, 0))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
      operand 1 comes from count at `let count = g.input("count", DType::I32, shape!["n"])?;`
      help: compare it with .not_equal(0)
    "#);
    assert_snapshot!(error_text(x.one_hot(3, 1.0, 0.0, -1)), @r#"
    error: one_hot(f32[n], f64[], f64[], axis=-1, depth=3): indices must be integers, got f32
      --> `error_text(x.one_hot(3, 1.0, 0.0, -1))`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
      help: cast them with .cast(DType::I64)
    "#);
    let name = g.input("name", DType::String, shape!["n"])?;
    assert_snapshot!(error_text((name + 1).ok()), @r#"
    error: add: a scalar takes the dtype of the tensor operand, and this dtype must hold the scalar, got 1 with string[n]
      --> `error_text((name + 1).ok())`
      the tensor comes from name at `let name = g.input("name", DType::String, shape!["n"])?;`
      help: read the strings as numbers with .string_to_number(..), or write the scalar as text
    "#);
    assert_snapshot!(error_text(name.cast(DType::F32)), @r#"
    error: cast(string[n], dtype=f32): the element type must be any but string and variant, got string in operand 0
      --> `error_text(name.cast(DType::F32))`
      operand 0 comes from name at `let name = g.input("name", DType::String, shape!["n"])?;`
      help: read operand 0 as numbers with .string_to_number(DType::F32)
    "#);
    Ok(())
}

#[test]
fn index_errors_are_explained() -> Result<()> {
    let g = Graph::new();
    let table = g.input("table", DType::F32, shape![3, 2])?;
    let indices = g.constant([0i64, 3])?;
    assert_snapshot!(error_text(table.gather(indices, 0)), @r#"
    error: gather(f32[3, 2], i64[2], axis=0, batch_dims=0): indices must be in [0, 3), the range of axis 0, got 3 at position 1
      --> `error_text(table.gather(indices, 0))`
      operand 0 comes from table at `let table = g.input("table", DType::F32, shape![3, 2])?;`
      operand 1 comes from constant at `let indices = g.constant([0i64, 3])?;`
    "#);
    assert_snapshot!(error_text(table.gather(indices, 2)), @r#"
    error: gather(f32[3, 2], i64[2], axis=2, batch_dims=0): axis must be in [-2, 2), got 2
      --> `error_text(table.gather(indices, 2))`
      operand 0 comes from table at `let table = g.input("table", DType::F32, shape![3, 2])?;`
      operand 1 comes from constant at `let indices = g.constant([0i64, 3])?;`
      help: axes count from 0: the last one is 1 or -1
    "#);
    let mask = g.input("mask", DType::Bool, shape![2])?;
    assert_snapshot!(error_text(table.boolean_mask(mask, 0)), @r#"
    error: boolean_mask(f32[3, 2], bool[2], axis=0): a mask must have the sizes of the axes that it covers, got 2 for size 3 of axis 0
      --> `error_text(table.boolean_mask(mask, 0))`
      operand 0 comes from table at `let table = g.input("table", DType::F32, shape![3, 2])?;`
      operand 1 comes from mask at `let mask = g.input("mask", DType::Bool, shape![2])?;`
    "#);
    assert_snapshot!(error_text(indices.one_hot(-1, 1.0, 0.0, -1)), @r"
    error: one_hot(i64[2], f64[], f64[], axis=-1, depth=-1): depth must not be negative, got -1
      --> `error_text(indices.one_hot(-1, 1.0, 0.0, -1))`
      operand 0 comes from constant at `let indices = g.constant([0i64, 3])?;`
    ");
    assert_snapshot!(error_text(g.range(0, 10, 0)), @r"
    error: range(delta=0, dtype=i64, limit=10, start=0): delta must not be 0, got 0
      --> `error_text(g.range(0, 10, 0))`
    ");
    Ok(())
}
