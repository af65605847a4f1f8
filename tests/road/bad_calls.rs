//! Calls that are refused when the graph is built: attributes that an op lacks, and constant divisors of 0.

use insta::assert_snapshot;
use shapeflow::{DType, Graph, Registry, Result, Tensor, shape};

use crate::error_snapshots::error_text;

#[test]
fn an_attribute_that_an_op_lacks_is_refused() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 4])?;
    let registry = Registry::builtin();
    let op = |name: &str| g.op(registry.get(name).expect("the op is built in"));
    let nodes = g.len();
    assert_snapshot!(error_text(op("softmax").data(x).attr("axsi", 1).finish()), @r#"
    error: softmax(f32[n, 4], axsi=1): softmax has only the attribute axis, got an attribute axsi
      --> `error_text(op("softmax").data(x).attr("axsi", 1).finish())`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n", 4])?;`
    "#);
    assert_snapshot!(error_text(op("relu").data(x).attr("alpha", 0.5).finish()), @r#"
    error: relu(f32[n, 4], alpha=0.5): relu has no attributes, got an attribute alpha
      --> `error_text(op("relu").data(x).attr("alpha", 0.5).finish())`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n", 4])?;`
    "#);
    assert_eq!(g.len(), nodes);
    let _ = op("softmax").data(x).attr("axis", 1).finish()?;
    let _ = op("transpose").data(x).attr("perm", [1, 0]).finish()?;
    Ok(())
}

#[test]
fn a_constant_divisor_of_zero_is_refused() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::I32, shape!["n", 2])?;
    assert_snapshot!(error_text((x % 0).ok()), @r#"
    error: floormod(i32[n, 2], i32[]): a divisor must not be 0, got 0 in operand 1
      --> `error_text((x % 0).ok())`
      operand 0 comes from x at `let x = g.input("x", DType::I32, shape!["n", 2])?;`
    "#);
    let divisors = g.constant([3i32, 0])?;
    assert_snapshot!(error_text(x.floordiv(divisors)), @r#"
    error: floordiv(i32[n, 2], i32[2]): a divisor must not be 0, got 0 at [1] in operand 1
      --> `error_text(x.floordiv(divisors))`
      operand 0 comes from x at `let x = g.input("x", DType::I32, shape!["n", 2])?;`
      operand 1 comes from constant at `let divisors = g.constant([3i32, 0])?;`
    "#);
    assert!(x.truncatediv((divisors - divisors).ok()?).is_err());
    assert!(x.truncatemod(g.constant(&Tensor::zeros(DType::I32, &[500, 2])?)?).is_err());
    // A float may be divided by zero, and fed divisors are checked when the graph runs.
    assert!(x.cast(DType::F32)?.floordiv(0.0).is_ok() && x.floordiv(x).is_ok());
    Ok(())
}
