//! Inputs that the outputs do not need: a run may leave them out, and feeding them changes nothing.

use shapeflow::{
    Backend, CompileOptions, DType, ErrorKind, Graph, Result, SliceMasks, Tensor, TensorView, shape, slice,
};

#[test]
fn inputs_that_no_output_needs_may_be_missing() -> Result<()> {
    for backend in [Backend::Jit, Backend::Interpreter] {
        let g = Graph::new();
        let a = g.input("a", DType::F32, shape!["n"])?;
        let unused = g.input("unused", DType::F32, shape!["n", "m"])?;
        let b = g.input("b", DType::F32, shape!["n"])?;
        assert_eq!(unused.dtype(), DType::F32);
        let exe = g.compile_with(&CompileOptions::new().backend(backend), [("sum", (a + b).ok()?)])?;
        let needed: Vec<bool> = exe.inputs().iter().map(|port| port.needed).collect();
        assert_eq!(needed, [true, false, true]);
        let [a, b, unused] =
            [Tensor::from([1.0f32, 2.0]), Tensor::from([3.0f32, 5.0]), Tensor::from([[9i64; 7]; 4])];
        let expected = Tensor::from([4.0f32, 7.0]);
        let [both] = exe.run(&[a.view(), b.view()])?;
        // The elements of an unneeded input are not read.
        let [all] = exe.run(&[a.view(), unused.view(), b.view()])?;
        assert_eq!([&both, &all], [&expected; 2]);
        let named = exe.run_named(&[("b", b.view()), ("a", a.view())])?;
        assert_eq!(named.tensor("sum")?, &expected);
        let named = exe.run_named(&[("b", b.view()), ("a", a.view()), ("unused", unused.view())])?;
        assert_eq!(named.tensor("sum")?, &expected);
        let mut into = Tensor::zeros(DType::F32, &[2])?;
        exe.runner().run_into(&[a.view(), b.view()], &mut [into.view_mut()?])?;
        assert_eq!(into, expected);
        let mut bound = exe.bind(&[a.view(), unused.view(), b.view()])?;
        bound.run()?;
        assert_eq!(bound.output(0)?.to_tensor()?, expected);
        assert_eq!(exe.output_sizes(&[&[2], &[2]])?, [Some(vec![2])]);
        assert_eq!(exe.output_sizes(&[&[2], &[0, 0], &[2]])?, [Some(vec![2])]);
        let error = exe.run_all(&[a.view()]).unwrap_err();
        assert_eq!(
            (error.kind(), error.message()),
            (
                ErrorKind::Feed,
                "2 inputs must be fed (a f32[n], b f32[n]), or all 3 with the unneeded (unused f32[n, m]), got 1"
            )
        );
    }
    Ok(())
}

#[test]
fn an_input_whose_sizes_define_a_needed_symbol_is_needed() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", 3])?;
    let z = g.input("z", DType::F32, shape!["n"])?;
    let one = g.constant([1.0f32])?;
    let n = x.shape().dims().unwrap()[0].clone();
    // Only `x` or `z` has the size n. If no node needs `z`, n comes from the first input that has this size.
    let exe = g.compile(one.broadcast_to([&n])?)?;
    assert_eq!(exe.inputs().iter().map(|port| port.needed).collect::<Vec<_>>(), [true, false]);
    let [ones] = exe.run(&[TensorView::new(&[2, 3], &[0.0f32; 6])?])?;
    assert_eq!(ones, Tensor::from([1.0f32, 1.0]));
    // Here n comes from `z`.
    let exe = g.compile((one.broadcast_to([&n])? + z).ok()?)?;
    assert_eq!(exe.inputs().iter().map(|port| port.needed).collect::<Vec<_>>(), [false, true]);
    let [sum] = exe.run(&[TensorView::new(&[2], &[1.0f32, 2.0])?])?;
    assert_eq!(sum, Tensor::from([2.0f32, 3.0]));
    Ok(())
}

/// After `stack(a, b)`, the graph uses the size of `a` in place of the size of `b`. A run of an output that relies on
/// this equality checks the equality, even if the output does not need the stack.
#[test]
fn dims_that_an_unneeded_node_made_equal_are_checked_where_they_are_used() -> Result<()> {
    for shapes in [[shape!["n"], shape!["m"]], [shape![?], shape![?]]] {
        let g = Graph::new();
        let [n, m] = shapes;
        let (a, b) = (g.input("a", DType::F32, n)?, g.input("b", DType::F32, m)?);
        // The vectors have equally many elements; nothing needs the matrix.
        let _ = shapeflow::stack(&[a, b], 0)?;
        let rows = b.dim(0)?;
        let (doubled, numbers) = ((b * 2.0).ok()?, g.range(0i64, &rows, 1i64)?);
        let exe = g.compile([(a * 2.0).ok()?, doubled, numbers])?;
        let feeds = |rows: usize| Tensor::zeros(DType::F32, &[rows]).unwrap();
        let run = |x: usize, y: usize| exe.run_all(&[feeds(x).view(), feeds(y).view()]);
        assert_eq!(run(3, 3)?[2].to_vec::<i64>()?, [0, 1, 2]);
        assert!(run(3, 2).is_err());
    }
    Ok(())
}

/// A slice from row 6 on requires at least 6 rows. A begin of `n-6` that the program reads from this slice must not be
/// taken as a position that counts from the end, even if the output does not need the slice.
#[test]
fn a_bound_that_an_unneeded_node_required_is_checked_where_it_is_used() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::I64, shape!["n"])?;
    let begin = x.slice([6], [-1])?.dim(0)?;
    assert_eq!(begin.to_string(), "n-6");
    let line = line!() + 1;
    let rest = x.slice_with(&slice![&begin..])?;
    for backend in [Backend::Jit, Backend::Interpreter] {
        let exe = g.compile_with(&CompileOptions::new().backend(backend), rest)?;
        let run = |rows: i64| exe.run_all(&[Tensor::from((0..rows).collect::<Vec<i64>>()).view()]);
        assert_eq!(run(6)?[0].to_vec::<i64>()?, [0, 1, 2, 3, 4, 5]);
        assert_eq!(run(8)?[0].to_vec::<i64>()?, [2, 3, 4, 5, 6, 7]);
        let error = run(4).unwrap_err();
        assert_eq!(error.location().map(|at| (at.file(), at.line())), Some((file!(), line)), "{error}");
    }
    // An output that does not use the bound does not require it.
    let exe = g.compile((x * 2).ok()?)?;
    assert_eq!(exe.run_all(&[Tensor::from([1i64]).view()])?[0].to_vec::<i64>()?, [2]);
    Ok(())
}

/// `min(n, 3)` must not read as 3 because a slice that no output needs requires 3 rows.
#[test]
fn a_bound_of_an_unneeded_node_simplifies_no_dim() -> Result<()> {
    let g = Graph::new();
    let (x, w) = (g.input("x", DType::I64, shape!["n"])?, g.input("w", DType::I64, shape![4])?);
    let needed = x.slice([0], [3])?;
    let first = x.slice_with(&slice![..3])?;
    assert_eq!(first.shape().to_string(), "[min(3, n)]");
    let exe = g.compile([first, w.slice([0], [first.dim(0)?])?])?;
    let [numbers, two] = [Tensor::from([0i64, 1, 2, 3]), Tensor::from([5i64, 6])];
    let [first, same] = exe.run(&[two.view(), numbers.view()])?;
    assert_eq!((first.to_vec::<i64>()?, same.to_vec::<i64>()?), (vec![5, 6], vec![0, 1]));
    // A node that needs the slice has its bound.
    let both = x.slice_with(&slice![..3])?.add(needed)?;
    assert_eq!(both.slice_with(&slice![..2])?.shape().to_string(), "[2]");
    Ok(())
}

/// `n*a == n*b` gives `a == b` only if `n` is not 0, and a slice that no output needs is no proof of that.
#[test]
fn a_bound_of_an_unneeded_node_cancels_no_factor() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", "a"])?;
    let y = g.input("y", DType::F32, shape!["n", "b"])?;
    let _ = x.slice([0, 0], [1, -1])?;
    let (row, column) = (x.reshape([1, -1])?, y.reshape([-1, 1])?);
    let product = row.matmul(column)?;
    assert_eq!(g.same_dim(&x.dim(1)?, &y.dim(1)?), None);
    let exe = g.compile([product, x.reshape([x.dim(0)?, x.dim(1)?])?])?;
    let [x, y] = [[0, 2], [0, 3]].map(|sizes| Tensor::zeros(DType::F32, &sizes));
    let [product, x] = exe.run(&[x?.view(), y?.view()])?;
    assert_eq!((product.to_vec::<f32>()?, x.sizes()), (vec![0.0], &[0, 2][..]));
    Ok(())
}

/// The rows of `x` from `k` on are `n-k` only if `k` is not negative. A slice that no output needs is no proof of that.
#[test]
fn a_bound_of_an_unneeded_node_decides_no_sign() -> Result<()> {
    let g = Graph::new();
    let (k, x) = (g.input("k", DType::I64, shape![1])?, g.input("x", DType::I64, shape!["n"])?);
    let w = g.input("w", DType::I64, shape![8])?;
    // The first node that reads `k` stays, because it defines the element of `k`.
    let _ = w.strided_slice(k, [i64::MAX], [1], SliceMasks::default())?;
    let _ = x.slice(k, [1])?;
    let rest = x.strided_slice(k, [i64::MAX], [1], SliceMasks::default())?;
    let exe = g.compile([rest, w.slice([0], [rest.dim(0)?])?])?;
    let [w, x] = [8i64, 5].map(|count| Tensor::from((0..count).collect::<Vec<_>>()));
    for (k, rows) in [(2i64, 3), (-2, 2), (0, 5)] {
        let k = Tensor::from([k]);
        let [rest, same] = exe.run(&[k.view(), x.view(), w.view()])?;
        assert_eq!([rest.len(), same.len()], [rows, rows], "{k:?}");
    }
    Ok(())
}
