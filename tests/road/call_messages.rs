//! Error messages of calls that add several nodes: they name the call in the program, and the place of the fault.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use insta::assert_snapshot;
use shapeflow::{
    DType, DataFormat, ErrorKind, Graph, HostCx, OpDef, Operand, Padding, RaggedTensor, Result, Tensor,
    TensorView, einsum, shape,
};

use crate::error_snapshots::error_text;

#[test]
fn an_error_names_the_composite_that_the_program_called() -> Result<()> {
    let g = Graph::new();
    let a = g.input("a", DType::F32, shape![2, 3])?;
    let b = g.input("b", DType::F32, shape![4, 5])?;
    assert_eq!(einsum("ij,jk->ik", &[a, b]).unwrap_err().op(), Some("einsum"));
    assert_snapshot!(error_text(einsum("ij,jk->ik", &[a, b])), @r#"
    error: einsum(f32[2, 3], f32[4, 5], equation="ij,jk->ik"): all axes labeled j must have the same size, got 3 and 4
      --> `error_text(einsum("ij,jk->ik", &[a, b]))`
      operand 0 comes from a at `let a = g.input("a", DType::F32, shape![2, 3])?;`
      operand 1 comes from b at `let b = g.input("b", DType::F32, shape![4, 5])?;`
    "#);
    // Only operand 0 is at fault, so the error shows the step that refuses it.
    assert_snapshot!(error_text(einsum("ii,ij->ij", &[a, b])), @r#"
    error: einsum(f32[2, 3], f32[4, 5], equation="ii,ij->ij"): sum_of_products(f32[2, 3], equation="ii->i"): all axes labeled i must have the same size, got 2 and 3
      --> `error_text(einsum("ii,ij->ij", &[a, b]))`
      operand 0 comes from a at `let a = g.input("a", DType::F32, shape![2, 3])?;`
    "#);
    assert_snapshot!(error_text(a.tensordot(b, [1], [0])), @r#"
    error: tensordot: einsum(f32[2, 3], f32[4, 5], equation="ab,bd->ad"): all axes labeled b must have the same size, got 3 and 4
      --> `error_text(a.tensordot(b, [1], [0]))`
      operand 0 comes from a at `let a = g.input("a", DType::F32, shape![2, 3])?;`
      operand 1 comes from b at `let b = g.input("b", DType::F32, shape![4, 5])?;`
    "#);
    let image = g.input("image", DType::F32, shape![1, 8, 8, 3])?;
    let filters = g.input("filters", DType::F32, shape![3, 3, 4, 8])?;
    let error = image.conv_2d(filters, [1, 1], [1, 1], Padding::Same, DataFormat::ChannelsLast).unwrap_err();
    assert_eq!(error.op(), Some("conv_2d"));
    assert!(error.message().starts_with("conv_2d(f32[1, 8, 8, 3], f32[3, 3, 4, 8], "), "{error}");
    Ok(())
}

#[test]
fn an_error_of_a_run_names_the_method_of_ragged_values() -> Result<()> {
    let g = Graph::new();
    let x = g.ragged_input("x", DType::F32, 1, shape![])?;
    let y = g.ragged_input("y", DType::F32, 1, shape![])?;
    let exe = g.compile([("sums", (x + y).ok()?.to_tensor()?)])?;
    let x = RaggedTensor::from_nested(vec![vec![1.0f32, 2.0], vec![3.0]])?.feeds("x");
    let y = RaggedTensor::from_nested(vec![vec![1.0f32], vec![3.0, 4.0]])?.feeds("y");
    let feeds: Vec<(&str, TensorView<'_>)> =
        x.iter().chain(&y).map(|(name, part)| (name.as_str(), part.view())).collect();
    let outcome = exe.run_named(&feeds);
    assert_eq!(outcome.as_ref().unwrap_err().op(), Some("add"));
    assert_snapshot!(error_text(outcome), @r#"
    error: add: the rows of ragged operands must have equal lengths, got 2 and 1 at row 0
      --> `let exe = g.compile([("sums", (x + y).ok()?.to_tensor()?)])?;`
      the length 2 comes from x/row_splits/0 at `let x = g.ragged_input("x", DType::F32, 1, shape![])?;`
      the length 1 comes from y/row_splits/0 at `let y = g.ragged_input("y", DType::F32, 1, shape![])?;`
    "#);
    Ok(())
}

#[test]
fn an_error_about_a_matrix_has_its_index_in_the_batch() -> Result<()> {
    let g = Graph::new();
    let m = g.input("m", DType::F32, shape!["a", "b", "n", "n"])?;
    let r = g.input("r", DType::F32, shape!["a", "b", "n", 1])?;
    let identity = [1.0f32, 0.0, 0.0, 1.0];
    let singular = [identity, identity, [0.0; 4], identity].concat();
    let (m_value, r_value) =
        (Tensor::from_vec(&[2, 2, 2, 2], singular)?, Tensor::zeros(DType::F32, &[2, 2, 2, 1])?);
    let exe = g.compile([m.matrix_solve(r, false)?])?;
    assert_snapshot!(error_text(exe.run_all(&[m_value.view(), r_value.view()])), @r#"
    error: matrix_solve(f32[a, b, n, n], f32[a, b, n, 1]): a matrix must be invertible, got a singular one at batch index [1, 0] in operand 0
      --> `let exe = g.compile([m.matrix_solve(r, false)?])?;`
      operand 0 comes from m at `let m = g.input("m", DType::F32, shape!["a", "b", "n", "n"])?;`
    "#);
    let place = "at batch index [1, 0] in operand 0";
    for y in [m.matrix_inverse(false)?, m.lu()?[0], m.matrix_solve_ls(r, 0.0, true)?] {
        let exe = g.compile([y])?;
        let feeds: Vec<(&str, TensorView<'_>)> = vec![("m", m_value.view()), ("r", r_value.view())];
        let feeds = &feeds[..exe.inputs().iter().filter(|port| port.needed).count()];
        let error = exe.run_named(feeds).unwrap_err();
        assert!(error.message().ends_with(place), "{error}");
    }
    Ok(())
}

#[test]
fn an_error_about_a_view_of_a_host_kernel_has_the_output_and_the_line() -> Result<()> {
    fn run(cx: &mut HostCx<'_>) -> Result<()> {
        let sizes = cx.input(0)?.sizes().to_vec();
        cx.output(0, &sizes)?.as_mut_slice::<f32>()?.fill(1.0);
        cx.output(1, &sizes)?.as_mut_slice::<f64>()?.fill(1.0);
        Ok(())
    }
    static TWO: OpDef = OpDef::host("two", run)
        .operands(&[Operand::Data("x")])
        .outputs(|_, _| 2)
        .shape_fn(|cx| {
            let shape = cx.input(0).clone();
            cx.set_output(0, shape.clone());
            cx.set_output(1, shape);
            Ok(())
        })
        .dtype_rule(|dtypes, _| Ok(vec![dtypes[0]; 2]));
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let exe = g.compile(g.op(&TWO).data(x).finish_all()?)?;
    assert_snapshot!(error_text(exe.run_all(&[Tensor::from([1.0f32]).view()])), @"
    error: two(f32[n]): output 1: the element type must be f32, the tensor's dtype, got f64
      --> `let exe = g.compile(g.op(&TWO).data(x).finish_all()?)?;`
      found by the op's code at `cx.output(1, &sizes)?.as_mut_slice::<f64>()?.fill(1.0);`
    ");
    Ok(())
}

#[test]
fn a_range_away_from_its_limit_gets_help() -> Result<()> {
    let g = Graph::new();
    assert_snapshot!(error_text(g.range(0, -5, 1)), @"
    error: range(delta=1, dtype=i64, limit=-5, start=0): delta must point from start to limit, got start 0, limit -5 and delta 1
      --> `error_text(g.range(0, -5, 1))`
      help: to count down, pass a negative delta; for an empty range in this case, pass limit.maximum(start) as limit
    ");
    let limit = g.input("limit", DType::F32, shape![])?;
    let exe = g.compile(g.range(0.0, limit, -1.0)?)?;
    let error = exe.run_all(&[Tensor::from(5.0f32).view()]).unwrap_err();
    assert!(error.message().ends_with("got start 0, limit 5 and delta -1"), "{error}");
    assert!(
        error.help().is_some_and(|help| help.starts_with("to count up, pass a positive delta")),
        "{error}"
    );
    Ok(())
}

#[test]
fn the_message_of_a_cancelled_loop_is_short() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let last = g.while_loop(&[x], |s| s[0].reduce_max(0)?.less(1.0), |s| Ok([s[0].relu()?]))?;
    let exe = g.compile(last[0])?;
    let token = Arc::new(AtomicBool::new(true));
    let mut runner = exe.runner().cancel(token.clone());
    let error = runner.run(&[Tensor::from([0.5f32]).view()]).unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Cancelled, "the run was cancelled"));
    token.store(false, Ordering::Relaxed);
    let stop = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(30));
        token.store(true, Ordering::Relaxed);
    });
    let error = runner.run(&[Tensor::from([0.5f32]).view()]).unwrap_err();
    stop.join().unwrap();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    // The loop may be between two iterations or inside one.
    let message = error.message();
    let is_between = message.starts_with("the loop was cancelled before iteration ");
    assert!(is_between || message == "the run was cancelled", "{error}");
    assert!(error.to_string().contains("while_loop"), "{error}");
    Ok(())
}

#[test]
fn counts_of_one_have_a_noun_in_the_singular() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let error = x.rfft([1, 2]).unwrap_err();
    assert!(error.message().ends_with("fft_length must have 1 element, got 2"), "{error}");
    Ok(())
}

#[test]
fn a_text_shows_each_guard_once_and_names_in_attributes() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let y = g.input("y", DType::F32, shape![?])?;
    let z = g.input("z", DType::F32, shape![?])?;
    for value in [x, y, z] {
        let _ = value.reshape([-1, 4])?;
    }
    // The run must now check one condition for both.
    let _ = shapeflow::stack(&[x, y], 0)?;
    let _ = z.expand_dims(0)?.broadcast_to(shape![2, &z.dim(0)?])?;
    let text = g.to_string();
    assert_eq!(text.matches("guard 4 divides n ").count(), 1, "{text}");
    assert_eq!(
        g.guards().iter().map(|guard| guard.condition.as_str()).collect::<Vec<_>>(),
        ["4 divides n", "4 divides z.0"]
    );
    assert_eq!(g.guards_by_node().iter().filter(|(text, _)| text == "4 divides n").count(), 1);
    assert_eq!(y.explain()?.matches("4 divides n is checked").count(), 1, "{}", y.explain()?);
    assert!(text.contains("shape=[2, z.0]"), "{text}");
    Ok(())
}
