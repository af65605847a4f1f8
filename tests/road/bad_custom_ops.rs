//! Error messages of faulty custom ops.

use insta::assert_snapshot;
use shapeflow::expr::Index;
use shapeflow::{
    Attr, Attribute, Backend, CompileOptions, DType, Error, ErrorKind, Graph, HostCx, OpDef, Operand,
    Registry, Result, Tensor, TensorView, shape, shape_fns,
};
use shapeflow_shape_fns::{Dim, InferenceContext, ShapeError, TensorShape};

use crate::bad_programs::f32;
use crate::error_snapshots::error_text;

static FRAGILE: OpDef = OpDef::host("fragile", |cx: &mut HostCx<'_>| {
    let sizes = cx.input(0)?.sizes().to_vec();
    match sizes.as_slice() {
        [0] => panic!("no elements"),
        [1] => Err(Error::msg("one element is too few")),
        [2] => Ok(()),
        _ => cx.output(0, &[1]).map(drop),
    }
})
.operands(&[Operand::Data("x")])
.shape_fn(shape_fns::common::unary);

static BROKEN: OpDef =
    OpDef::host("broken", |_| Ok(())).operands(&[Operand::Data("x")]).shape_fn(|_| panic!("it has a bug"));

#[test]
fn errors_of_custom_kernels_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    assert_snapshot!(error_text(g.op(&BROKEN).data(x).finish()), @r#"
    error: broken(f32[n]): the shape function of broken panicked: it has a bug
      --> `error_text(g.op(&BROKEN).data(x).finish())`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
    "#);
    assert_snapshot!(error_text(g.op(&FRAGILE).finish()), @r"
    error: fragile(): operand x must be given
      --> `error_text(g.op(&FRAGILE).finish())`
    ");
    assert_snapshot!(error_text(g.op(&FRAGILE).data(x).data(x).finish()), @r#"
    error: fragile(f32[n]): fragile takes no more data operands, got another
      --> `error_text(g.op(&FRAGILE).data(x).data(x).finish())`
      operand 0 comes from x at `let x = g.input("x", DType::F32, shape!["n"])?;`
    "#);
    let y = g.op(&FRAGILE).data(x).finish()?;
    let exe = g.compile(y)?;
    let run = |data: &[f32]| error_text(TensorView::new(&[data.len()], data).and_then(|x| exe.run_all(&[x])));
    assert_snapshot!(run(&[]), @r"
    error: fragile(f32[n]): the kernel of fragile panicked: no elements
      --> `let y = g.op(&FRAGILE).data(x).finish()?;`
    ");
    assert_snapshot!(run(&[1.0]), @r"
    error: fragile(f32[n]): one element is too few
      --> `let y = g.op(&FRAGILE).data(x).finish()?;`
    ");
    assert_snapshot!(run(&[1.0, 2.0]), @r"
    error: fragile(f32[n]): the kernel must make output 0
      --> `let y = g.op(&FRAGILE).data(x).finish()?;`
    ");
    assert_snapshot!(run(&[1.0, 2.0, 3.0]), @r"
    error: fragile(f32[n]): output 0 must have shape [3], the kernel made [1]
      --> `let y = g.op(&FRAGILE).data(x).finish()?;`
    ");
    Ok(())
}

static WINDOW: OpDef = OpDef::host("window", |_| Ok(()))
    .operands(&[Operand::Data("x")])
    .attrs(&[Attribute::int("size")])
    .shape_fn(|cx| {
        let size = cx.int("size")?;
        let x = cx.with_rank(0, 4)?;
        cx.set_output(0, cx.replace_dim(&x, 1, size.into())?);
        Ok(())
    });

#[test]
fn errors_of_custom_shape_functions_are_explained() -> Result<()> {
    let g = Graph::new();
    let x = f32(&g, "x", &[28, 28, 3])?;
    assert_snapshot!(error_text(g.op(&WINDOW).data(x).finish()), @"
    error: window(f32[28, 28, 3]): the attribute size of window must be given: it is an integer
      --> `error_text(g.op(&WINDOW).data(x).finish())`
      operand 0 comes from x at `g.input(name, DType::F32, shape_fns::TensorShape::new(sizes))`
    ");
    assert_snapshot!(error_text(g.op(&WINDOW).data(x).attr("size", "three").finish()), @r#"
    error: window(f32[28, 28, 3], size="three"): the attribute size of window must be an integer, got "three"
      --> `error_text(g.op(&WINDOW).data(x).attr("size", "three").finish())`
      operand 0 comes from x at `g.input(name, DType::F32, shape_fns::TensorShape::new(sizes))`
    "#);
    assert_snapshot!(error_text(g.op(&WINDOW).data(x).attr("size", Attr::Int(3)).finish()), @r#"
    error: window(f32[28, 28, 3], size=3): x must have rank 4, got rank 3 in [28, 28, 3]
      --> `error_text(g.op(&WINDOW).data(x).attr("size", Attr::Int(3)).finish())`
      operand 0 comes from x at `g.input(name, DType::F32, shape_fns::TensorShape::new(sizes))`
      help: add an axis of size 1: .expand_dims(0) makes it [1, 28, 28, 3], .expand_dims(-1) makes it [28, 28, 3, 1]
    "#);
    Ok(())
}

/// Reads element `index + 1`. At the last index, this element lies outside the operand.
static NEXT: OpDef =
    OpDef::compute("next_element", |cx, _output, index| cx.operand(0, &[index[0].clone() + Index::from(1)]))
        .operands(&[Operand::Data("x")])
        .shape_fn(shape_fns::common::unary);

#[test]
fn a_body_that_reads_outside_its_operand_is_refused() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let y = g.op(&NEXT).data((x * 2.0).ok()?).finish()?;
    let interpreter = CompileOptions::new().backend(Backend::Interpreter);
    for exe in [g.compile((y + 1.0).ok()?)?, g.compile_with(&interpreter, y)?] {
        let error = exe.run_all(&[TensorView::new(&[3], &[1.0f32, 2.0, 3.0])?]).unwrap_err();
        let expected =
            "next_element(f32[n]): the body must read inside operand 0 of sizes [3], got index 3 at axis 0";
        assert_eq!(error.message(), expected);
        assert!(error.to_string().contains("operand 0 comes from mul at "), "{error}");
        assert_eq!(error.location().map(|at| at.file()), Some(file!()));
        assert_eq!(exe.run_all(&[TensorView::new(&[0], &[0.0f32; 0])?])?[0].len(), 0);
    }
    Ok(())
}

#[test]
fn a_kernel_that_adds_strings_names_its_op() -> Result<()> {
    static DOUBLED: OpDef = OpDef::compute("doubled", |cx, _output, index| {
        let x = cx.operand(0, index);
        x.clone() + x
    })
    .operands(&[Operand::Data("x")])
    .shape_fn(shape_fns::common::unary);
    let g = Graph::new();
    let words = g.input("words", DType::String, shape!["n"])?;
    let doubled = g.op(&DOUBLED).data(words).finish()?;
    assert_snapshot!(error_text(g.compile(doubled)), @"
    error: doubled(string[n]): in its body, Add is not defined on string, in %0[i0] + %0[i0]
      --> `let doubled = g.op(&DOUBLED).data(words).finish()?;`
      help: a compute body can move strings, but not compute with them: make a host op, or refuse strings in the dtype rule of doubled
    ");
    Ok(())
}

/// A body that fails after it has added nodes.
static ABANDONED: OpDef = OpDef::composite("abandoned", |_, operands| {
    let x = operands[0].reshape(operands[1])?;
    let _ = x.graph().input("inner", DType::F32, [2])?;
    Err(Error::msg("it is abandoned"))
})
.operands(&[Operand::Data("x"), Operand::Data("sizes")]);

#[test]
fn a_composite_op_that_fails_leaves_no_trace() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let sizes = g.input("sizes", DType::I64, shape![2])?;
    let error = g.op(&ABANDONED).data(x).data(sizes).finish().unwrap_err();
    assert!(error.message().ends_with("it is abandoned"), "{error}");
    assert_eq!(g.inputs().len(), 2);
    let _ = g.input("inner", DType::F32, [2])?;
    // The sizes are read as if the refused call had not read them.
    let exe = g.compile((x.reshape(sizes)? * 2.0).ok()?)?;
    let [x, sizes] = [Tensor::zeros(DType::F32, &[6])?, Tensor::from([2i64, 3])];
    assert_eq!(exe.run_named(&[("x", x.view()), ("sizes", sizes.view())])?.tensor_at(0)?.sizes(), [2, 3]);
    Ok(())
}

#[test]
fn an_operand_that_is_given_twice_is_refused() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let sizes = g.input("sizes", DType::I64, shape![2])?;
    let reshape = Registry::builtin().get("reshape").expect("reshape is built in");
    for twice in [g.op(reshape.clone()).size("shape", sizes), g.op(reshape).size("shape", [2, 3])] {
        let error = twice.data(x).size("shape", sizes).finish().unwrap_err();
        assert!(
            error.message().ends_with("the operand shape of reshape must be given once, got it twice"),
            "{error}"
        );
    }
    Ok(())
}

/// An own op whose shape function gives `[7]` for a size that is unknown and `[3]` for a known one.
fn unstable(cx: &mut InferenceContext<'_>) -> std::result::Result<(), ShapeError> {
    let is_known = cx.input(0).is_fully_defined();
    cx.set_output(0, TensorShape::new([Dim::known(if is_known { 3 } else { 7 })]));
    Ok(())
}

#[test]
fn a_shape_function_that_contradicts_itself_is_to_blame() -> Result<()> {
    static ON_HOST: OpDef = OpDef::host("unstable", |cx: &mut HostCx<'_>| {
        let count = cx.input(0)?.len();
        cx.output(0, &[count]).map(drop)
    })
    .operands(&[Operand::Data("x")])
    .shape_fn(unstable);
    static IN_KERNEL: OpDef =
        OpDef::compute("unstable", |cx, _output, _index| cx.operand(0, &[Index::from(0)]))
            .operands(&[Operand::Data("x")])
            .shape_fn(unstable);
    let expected = "unstable(f32[n]): the shape function of unstable gave [7] when the graph was built, and [3] in \
                    the run";
    for op in [&ON_HOST, &IN_KERNEL] {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n"])?;
        let line = line!() + 1;
        let y = g.op(op).data(x).finish()?;
        let counts = g.op(op).data(x.unique()?[0]).finish()?;
        for backend in [Backend::Jit, Backend::Interpreter] {
            let options = CompileOptions::new().backend(backend);
            let outputs = [vec![y], vec![(y + 1.0).ok()?], vec![(y + 1.0).ok()?.reduce_sum(0)?]];
            for outputs in outputs {
                let exe = g.compile_with(&options, &outputs)?;
                // The kernel on the host makes as many elements as `x` has: in the run the function says 3.
                for count in [2, 3, 7] {
                    let error = exe.run_all(&[TensorView::new(&[count], &vec![1.0f32; count])?]).unwrap_err();
                    assert_eq!(error.message(), expected, "{backend:?} {count}");
                    assert_eq!(error.location().map(|at| at.line()), Some(line));
                }
            }
            let exe = g.compile_with(&options, counts)?;
            let error = exe.run_all(&[TensorView::new(&[2], &[1.0f32, 2.0])?]).unwrap_err();
            let problem =
                "the shape function of unstable gave [7] when the graph was built, and [3] in the run";
            assert!(error.message().ends_with(problem), "{error}");
        }
    }
    Ok(())
}

#[test]
fn a_kernel_keeps_the_promise_of_its_shape_function() -> Result<()> {
    /// `[7]` for an unknown size, `[?]` for a known one.
    fn forgetful(cx: &mut InferenceContext<'_>) -> std::result::Result<(), ShapeError> {
        let size = if cx.input(0).is_fully_defined() { cx.fresh() } else { Dim::known(7) };
        cx.set_output(0, TensorShape::new([size]));
        Ok(())
    }
    static FORGETFUL: OpDef = OpDef::host("forgetful", |cx: &mut HostCx<'_>| {
        let count = cx.input(0)?.len();
        cx.output(0, &[count]).map(drop)
    })
    .operands(&[Operand::Data("x")])
    .shape_fn(forgetful);
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n"])?;
    let y = (g.op(&FORGETFUL).data(x).finish()? + 1.0).ok()?;
    let exe = g.compile(y)?;
    let run = |count: usize| exe.run_all(&[TensorView::new(&[count], &vec![1.0f32; count])?]);
    assert_eq!(run(7)?[0].sizes(), [7]);
    let error = run(3).unwrap_err();
    assert_eq!(error.message(), "forgetful(f32[n]): output 0 must have shape [7], the kernel made [3]");
    assert_eq!(error.kind(), ErrorKind::Custom);
    // A later equality is no promise of the shape function.
    static COUNTED: OpDef = OpDef::host("counted", |cx: &mut HostCx<'_>| {
        let count = cx.input(0)?.len();
        cx.output(0, &[count]).map(drop)
    })
    .operands(&[Operand::Data("x")])
    .shape_fn(|cx| {
        let size =
            if cx.input(0).is_fully_defined() { cx.input(0).dims().unwrap()[0].clone() } else { cx.fresh() };
        cx.set_output(0, TensorShape::new([size]));
        Ok(())
    });
    let y = g.op(&COUNTED).data(x).finish()?.ensure_shape([4])?;
    let exe = g.compile(y)?;
    let error = exe.run_all(&[TensorView::new(&[3], &[1.0f32; 3])?]).unwrap_err();
    assert!(error.message().contains("must be 4, got 3"), "{error}");
    Ok(())
}
