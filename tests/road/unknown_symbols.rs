//! Unknown sizes of different values stay different symbols: in every copy of a graph, and in the inference of a run.

use shapeflow::{
    Attr, Attribute, Backend, CompileOptions, DType, Graph, LoopOptions, OpDef, Operand, Result, Tensor,
    TensorShape, concat, shape,
};

#[test]
fn two_uses_of_one_shape_with_unknowns_are_independent() -> Result<()> {
    let g = Graph::new();
    let (x, y) = (g.input("x", DType::F32, shape![..])?, g.input("y", DType::F32, shape![..])?);
    let unknown = shape![?, 2];
    let (a, b) = (x.ensure_shape(&unknown)?, y.ensure_shape(&unknown)?);
    let exe = g.compile([(a * 2.0).ok()?, (b * 3.0).ok()?])?;
    let (two, three) = (Tensor::zeros(DType::F32, &[2, 2])?, Tensor::zeros(DType::F32, &[3, 2])?);
    let [a, b] = exe.run(&[two.view(), three.view()])?;
    assert_eq!((a.sizes(), b.sizes()), (&[2usize, 2][..], &[3usize, 2][..]));
    Ok(())
}

#[test]
fn two_states_with_one_declared_shape_are_independent() -> Result<()> {
    let g = Graph::new();
    let (x, y) = (g.input("x", DType::F32, shape![?])?, g.input("y", DType::F32, shape![?])?);
    let trips = g.input("trips", DType::I64, shape![])?;
    let unknown = shape![?];
    let options = LoopOptions::new().shape(0, unknown.clone()).shape(1, unknown);
    let last = g.while_loop_with(
        &options,
        &[x, y, g.constant(0i64)?],
        |state| state[2].less(trips),
        |state| Ok([concat(&[state[0], x], 0)?, (state[1] * 2.0).ok()?, (state[2] + 1i64).ok()?]),
    )?;
    let exe = g.compile([last[0], last[1]])?;
    let (x, y) = (Tensor::from([1.0f32, 2.0]), Tensor::from([3.0f32]));
    let [a, b] = exe.run(&[x.view(), y.view(), Tensor::scalar(2i64).view()])?;
    assert_eq!((a.sizes(), b), (&[6usize][..], Tensor::from([12.0f32])));
    Ok(())
}

/// Two rows of zeros: `x -> [n, a]`. Only the kernel knows `n`; attribute `row` has `a`.
static ROWS: OpDef = OpDef::host("rows", |cx| {
    let sizes = cx.input(0)?.sizes().to_vec();
    cx.set_output(0, Tensor::zeros(DType::F32, &[2, sizes[0]])?)
})
.operands(&[Operand::Data("x")])
.attrs(&[Attribute::shape("row")])
.shape_fn(|cx| {
    let count = cx.fresh();
    let row = cx.attr("row").cloned();
    let Some(Attr::Shape(row)) = row else { return Ok(()) };
    let row = cx.table().import(&row);
    cx.set_output(0, TensorShape::new([count]).concatenate(&row));
    Ok(())
})
.dtype_rule(|_, _| Ok(vec![DType::F32]));

#[test]
fn a_size_of_an_attribute_is_not_a_size_that_the_kernel_makes() -> Result<()> {
    let g = Graph::new();
    let (x, y) = (g.input("x", DType::F32, shape![?])?, g.input("y", DType::F32, shape![?])?);
    let row = shape![?];
    let rows = [x, y].map(|value| g.op(&ROWS).data(value).attr("row", row.clone()).finish());
    let [first, second] = rows;
    let (first, second) = (first?, second?);
    for backend in [Backend::Jit, Backend::Interpreter] {
        let options = CompileOptions::new().backend(backend);
        let positions = g.range(0, second.dim(1)?, 1)?;
        let exe = g.compile_with(&options, [first, (second + 1.0).ok()?, positions.cast(DType::F32)?])?;
        let (three, four) = (Tensor::zeros(DType::F32, &[3])?, Tensor::zeros(DType::F32, &[4])?);
        let [first, second, positions] = exe.run(&[three.view(), four.view()])?;
        assert_eq!((first.sizes(), second.sizes()), (&[2usize, 3][..], &[2usize, 4][..]));
        assert_eq!(positions, Tensor::from([0.0f32, 1.0, 2.0, 3.0]));
    }
    Ok(())
}
