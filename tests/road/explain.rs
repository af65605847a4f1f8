//! `explain` shows where the dimensions of a value come from. In the texts, the source line stands in place of each
//! location in this file.

use insta::assert_snapshot;
use shapeflow::{DType, Graph, Result, TensorView, concat, shape, stack};

use crate::error_snapshots::with_source_lines;

#[test]
fn symbols_and_sizes_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["batch", 4])?;
    let w = g.constant([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])?;
    let y = x.matmul(w)?.pad([0, 0, 1, 0])?.relu()?;
    assert_snapshot!(with_source_lines(&y.explain()?), @r#"
    %4: f32[batch, 3] = relu(%3)  // `let y = x.matmul(w)?.pad([0, 0, 1, 0])?.relu()?;`
      axis 0 is batch
        batch: axis 0 of x at `let x = g.input("x", DType::F32, shape!["batch", 4])?;`
      axis 1 is 3
        3: made by pad at `let y = x.matmul(w)?.pad([0, 0, 1, 0])?.relu()?;`
    "#);
    assert_snapshot!(with_source_lines(&y.reduce_sum([0, 1])?.explain()?), @r"
    %5: f32[] = reduce_sum(%4, axis=[0, 1])  // `with_source_lines(&y.reduce_sum([0, 1])?.explain()?)`
      a scalar has no axes
    ");
    Ok(())
}

#[test]
fn equalities_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["batch", 3])?;
    let y = g.input("y", DType::F32, shape![?, 4])?;
    let z = g.input("z", DType::F32, shape![?, 4])?;
    let both = concat(&[x, y], 1)?;
    let _ = stack(&[y, z], 0)?;
    assert_snapshot!(with_source_lines(&both.explain()?), @r#"
    %3: f32[batch, 7] = concat(%0, %1, axis=1)  // `let both = concat(&[x, y], 1)?;`
      axis 0 is batch
        batch: axis 0 of x at `let x = g.input("x", DType::F32, shape!["batch", 3])?;`
        y.0: axis 0 of y at `let y = g.input("y", DType::F32, shape![?, 4])?;`
        z.0: axis 0 of z at `let z = g.input("z", DType::F32, shape![?, 4])?;`
        y.0 == batch since concat at `let both = concat(&[x, y], 1)?;`
        z.0 == batch since stack at `let _ = stack(&[y, z], 0)?;`
      axis 1 is 7
        7: made by concat at `let both = concat(&[x, y], 1)?;`
    "#);
    assert_snapshot!(with_source_lines(&z.explain()?), @r#"
    %2: f32[batch, 4] = input("z")  // `let z = g.input("z", DType::F32, shape![?, 4])?;`
      axis 0 is batch
        batch: axis 0 of x at `let x = g.input("x", DType::F32, shape!["batch", 3])?;`
        y.0: axis 0 of y at `let y = g.input("y", DType::F32, shape![?, 4])?;`
        z.0: axis 0 of z at `let z = g.input("z", DType::F32, shape![?, 4])?;`
        y.0 == batch since concat at `let both = concat(&[x, y], 1)?;`
        z.0 == batch since stack at `let _ = stack(&[y, z], 0)?;`
      axis 1 is 4
        4: axis 1 of z at `let z = g.input("z", DType::F32, shape![?, 4])?;`
    "#);
    let eight = g.input("eight", DType::F32, shape![8, 7])?;
    let _ = stack(&[both, eight], 0)?;
    assert_snapshot!(with_source_lines(&z.explain()?), @r#"
    %2: f32[8, 4] = input("z")  // `let z = g.input("z", DType::F32, shape![?, 4])?;`
      axis 0 is 8
        batch: axis 0 of x at `let x = g.input("x", DType::F32, shape!["batch", 3])?;`
        y.0: axis 0 of y at `let y = g.input("y", DType::F32, shape![?, 4])?;`
        z.0: axis 0 of z at `let z = g.input("z", DType::F32, shape![?, 4])?;`
        y.0 == batch since concat at `let both = concat(&[x, y], 1)?;`
        z.0 == batch since stack at `let _ = stack(&[y, z], 0)?;`
        batch == 8 since stack at `let _ = stack(&[both, eight], 0)?;`
      axis 1 is 4
        4: axis 1 of z at `let z = g.input("z", DType::F32, shape![?, 4])?;`
    "#);
    Ok(())
}

#[test]
fn expressions_and_guards_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 4])?;
    let y = g.input("y", DType::F32, shape!["m", 4])?;
    let rows = concat(&[x, y.slice([1, 0], [-1, 4])?], 0)?;
    let [low, _] = rows.split::<2>(0)?;
    assert_snapshot!(with_source_lines(&low.explain()?), @r#"
    %4: f32[ceildiv(m+n, 2)-1, 4], %5: f32[ceildiv(m+n, 2)-1, 4] = split(%3, axis=0, num=2)  // `let [low, _] = rows.split::<2>(0)?;`
      axis 0 is ceildiv(m+n, 2)-1
        n: axis 0 of x at `let x = g.input("x", DType::F32, shape!["n", 4])?;`
        m: axis 0 of y at `let y = g.input("y", DType::F32, shape!["m", 4])?;`
        ceildiv(m+n, 2)-1: made by split at `let [low, _] = rows.split::<2>(0)?;`
        m >= 1 is checked at run time for slice at `let rows = concat(&[x, y.slice([1, 0], [-1, 4])?], 0)?;`
        2 divides m+n-1 is checked at run time for split at `let [low, _] = rows.split::<2>(0)?;`
      axis 1 is 4
        4: axis 1 of x at `let x = g.input("x", DType::F32, shape!["n", 4])?;`
        4: axis 1 of y at `let y = g.input("y", DType::F32, shape!["m", 4])?;`
    "#);
    let kept = x.boolean_mask((x.reduce_sum([1])?).greater(0.0)?, 0)?;
    assert_snapshot!(with_source_lines(&kept.explain()?), @r#"
    %9: f32[boolean_mask.0, 4] = boolean_mask(%0, %8, axis=0)  // `let kept = x.boolean_mask((x.reduce_sum([1])?).greater(0.0)?, 0)?;`
      axis 0 is boolean_mask.0
        boolean_mask.0: made by boolean_mask at `let kept = x.boolean_mask((x.reduce_sum([1])?).greater(0.0)?, 0)?;`
      axis 1 is 4
        4: axis 1 of x at `let x = g.input("x", DType::F32, shape!["n", 4])?;`
    "#);
    let anything = g.input("anything", DType::F32, shape![..])?;
    assert_snapshot!(with_source_lines(&anything.explain()?), @r#"
    %10: f32[..] = input("anything")  // `let anything = g.input("anything", DType::F32, shape![..])?;`
      the rank is known when the graph runs
    "#);
    Ok(())
}

/// A node that no output needs does not constrain a run. TensorFlow also runs `tf.concat([x, y], 0)` with sizes 2 and 1
/// in a graph in which an unused `tf.stack([x, y])` needs them equal.
#[test]
fn equalities_of_unfetched_nodes_constrain_nothing() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let y = g.input("y", DType::F32, shape!["m"])?;
    let z = g.input("z", DType::F32, shape![3])?;
    let unused = stack(&[x, y], 0)?;
    let _ = stack(&[y, z], 0)?;
    assert_eq!(unused.shape().to_string(), "[2, 3]");
    let both = concat(&[x, y], 0)?;
    let exe = g.compile(both)?;
    assert_eq!(exe.outputs()[0].shape.to_string(), "[m+n]");
    let (two, one) = (TensorView::new(&[2], &[1.0f32, 2.0])?, TensorView::new(&[1], &[3.0f32])?);
    let three = TensorView::new(&[3], &[0.0f32; 3])?;
    let [out] = exe.run(&[two.clone(), one.clone(), three.clone()])?;
    assert_eq!(out.to_vec::<f32>()?, [1.0, 2.0, 3.0]);
    let exe = g.compile([both, unused])?;
    assert!(exe.run_all(&[two, one, three]).is_err());
    Ok(())
}
