//! Arguments that are shapes, axes or indices are given in many forms.

use shapeflow::{
    AnyValue, DType, Dim, Graph, RaggedValue, Result, Tensor, TensorShape, WindowPadding, concat, ragged,
    shape, stack,
};

/// Runs a graph with one output on one tensor.
fn run(g: &Graph, y: shapeflow::Value<'_>, feed: &Tensor) -> Result<Tensor> {
    Ok(g.compile(y)?.run_all(&[feed.view()])?.remove(0))
}

#[test]
#[expect(clippy::needless_borrows_for_generic_args, reason = "a reference is one of the forms")]
fn axes_of_attributes_have_every_form() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape![2, 1, 3])?;
    let (one, dim) = (1usize, &Dim::known(1));
    let shapes = [
        (stack(&[x, x], one)?, "[2, 2, 1, 3]"),
        (stack(&[x, x], dim)?, "[2, 2, 1, 3]"),
        (x.squeeze(one)?, "[2, 3]"),
        (x.squeeze([1usize])?, "[2, 3]"),
        (x.squeeze(vec![-2])?, "[2, 3]"),
        (x.squeeze(..)?, "[2, 3]"),
        (x.unstack(0usize)?[0], "[1, 3]"),
        (x.unstack_into::<2>(&0i64)?[1], "[1, 3]"),
        (x.tensordot(x, vec![0, 1, 2], [0usize, 1, 2])?, "[]"),
        (x.reduce_sum(&[one, 2])?, "[2]"),
        (x.repeat(2, one)?, "[2, 2, 3]"),
        (x.diff(dim)?, "[2, 0, 3]"),
        (x.median(2usize)?, "[2, 1]"),
        (x.quantile(0.5, &1i32)?, "[2, 3]"),
        (x.slice_with(&[1usize.into(), (0i64..1).into(), (..2usize).into()])?, "[1, 2]"),
        (x.ensure_shape(vec![2usize, 1, 3])?, "[2, 1, 3]"),
        (x.reshape(&[dim, dim, &Dim::known(6)])?, "[1, 1, 6]"),
    ];
    for (value, expected) in shapes {
        assert_eq!(value.shape().to_string(), expected);
    }
    assert_eq!(x.dim(2usize)?, x.dim(-1)?);
    assert_eq!(g.input("v", DType::F32, 4usize)?.shape().to_string(), "[4]");
    let axis = g.input("axis", DType::I32, shape![])?;
    let error = stack(&[x, x], axis).unwrap_err();
    assert!(
        error.message().contains("axis must be an integer known when the graph is built, got a value"),
        "{error}"
    );
    let error = stack(&[x, x], [1]).unwrap_err();
    assert!(
        error.message().contains("axis must be an integer known when the graph is built, got [1]"),
        "{error}"
    );
    let error = x.squeeze(shapeflow::Axes::of(1).keep_dims()).unwrap_err();
    assert!(error.message().contains("squeeze removes axes"), "{error}");
    Ok(())
}

#[test]
#[expect(clippy::needless_borrows_for_generic_args, reason = "a reference is one of the forms")]
fn axes_of_structure_operands_may_be_values() -> Result<()> {
    let g = Graph::new();
    let axis = g.input("axis", DType::I32, shape![])?;
    let x = g.constant([[1, 2], [3, 4]])?;
    let joined = concat(&[x, x], axis)?;
    assert_eq!(run(&g, joined, &Tensor::scalar(1i32))?, Tensor::from([[1, 2, 1, 2], [3, 4, 3, 4]]));
    let picked = x.gather(g.constant([1])?, axis)?;
    assert_eq!(run(&g, picked, &Tensor::scalar(0i32))?, Tensor::from([[3, 4]]));
    assert_eq!(run(&g, picked, &Tensor::scalar(-1i32))?, Tensor::from([[2], [4]]));
    let [first, _] = x.split::<2>(axis)?;
    assert_eq!(run(&g, first, &Tensor::scalar(1i32))?, Tensor::from([[1], [3]]));
    assert_eq!(x.split_n(2usize, 0usize)?.len(), 2);
    assert_eq!(x.split_sizes([1usize, 1], &Dim::known(0))?.len(), 2);
    Ok(())
}

#[test]
fn sizes_of_an_identity_matrix_may_be_values() -> Result<()> {
    let g = Graph::new();
    let n = g.input("n", DType::I32, shape![])?;
    let fed = g.eye(n, 3usize, DType::I32)?;
    assert_eq!(run(&g, fed, &Tensor::scalar(2i32))?, Tensor::from([[1, 0, 0], [0, 1, 0]]));
    assert_eq!(g.eye(Dim::symbol("m"), 3, DType::F32)?.shape().to_string(), "[m, 3]");
    Ok(())
}

#[test]
fn windows_are_arrays_vectors_or_slices() -> Result<()> {
    let g = Graph::new();
    let image = g.input("image", DType::F32, shape![1, 4, 4, 1])?;
    let (sizes, strides) = (vec![2usize, 2], [1i32, 1]);
    let patches = image.extract_image_patches(&sizes, &strides[..], [1, 1], WindowPadding::Valid)?;
    assert_eq!(patches.shape().to_string(), "[1, 3, 3, 4]");
    let error = image.extract_image_patches([2, 2, 2], [1, 1], [1, 1], WindowPadding::Valid).unwrap_err();
    assert!(error.message().contains("sizes must be 2 integers, got 3"), "{error}");
    Ok(())
}

#[test]
#[expect(clippy::needless_borrows_for_generic_args, reason = "a reference is one of the forms")]
fn axes_of_ragged_values_have_every_form() -> Result<()> {
    let g = Graph::new();
    let x = g.ragged_constant(&ragged![[[3], [1], [2]], [], [[5]]])?;
    let (one, dim) = (1usize, &Dim::known(1));
    let values: [(AnyValue<'_>, &str); 14] = [
        (x.sort(one, false)?.into(), "[[[1], [2], [3]], [], [[5]]]"),
        (x.cumsum(dim)?.into(), "[[[3], [4], [6]], [], [[5]]]"),
        (x.argmax(&1i64)?, "[[0], [], [0]]"),
        (x.row_lengths_along(1i32)?, "[3, 0, 1]"),
        (x.squeeze(2usize)?, "[[3, 1, 2], [], [5]]"),
        (x.squeeze([2i32])?, "[[3, 1, 2], [], [5]]"),
        // Only a run knows that every row along the last axis has length 1.
        (x.squeeze(..)?, "[[[3], [1], [2]], [], [[5]]]"),
        (x.merge_dims(1usize, dim + 1)?, "[[3, 1, 2], [], [5]]"),
        (x.tile([1usize, 2, 1])?.into(), "[[[3], [1], [2], [3], [1], [2]], [], [[5], [5]]]"),
        (x.tile(vec![1, 1, 2])?.into(), "[[[3, 3], [1, 1], [2, 2]], [], [[5, 5]]]"),
        (x.transpose([0usize, 1, 2])?.into(), "[[[3], [1], [2]], [], [[5]]]"),
        (x.top_k(one, -1)?[0].into(), "[[[3], [1], [2]], [], [[5]]]"),
        (x.split_n(3usize, 0usize)?[2].into(), "[[[5]]]"),
        (RaggedValue::concat(&[x, x], one)?.into(), "[[[3], [1], [2], [3], [1], [2]], [], [[5], [5]]]"),
    ];
    for (value, expected) in values {
        let results = g.compile(value)?.run_named(&[])?;
        let printed = match value {
            AnyValue::Ragged(_) => results.ragged_at(0)?.to_string(),
            AnyValue::Dense(_) => format!("{:?}", results.tensor_at(0)?.to_vec::<i64>()?),
        };
        assert_eq!(printed, expected);
    }
    let axis = g.input("axis", DType::I32, shape![])?;
    let error = x.sort(axis, false).unwrap_err();
    assert!(
        error.message().contains("axis must be an integer known when the graph is built, got a value"),
        "{error}"
    );
    assert!(error.to_string().contains("argument_forms.rs"), "{error}");
    Ok(())
}

#[test]
fn strings_names_and_numbers_are_arguments_as_they_are() -> Result<()> {
    let g = Graph::new();
    let tags = g.input("tags", DType::String, shape!["n"])?;
    let given = tags.not_equal("")?.logical_and(tags.not_equal(&String::from("b")[..])?)?;
    let tensor = Tensor::from(["a", "", "b"]);
    assert_eq!(run(&g, given, &tensor)?, Tensor::from([true, false, false]));
    assert_eq!(run(&g, tags.string_add("!")?, &tensor)?, Tensor::from(["a!", "!", "b!"]));
    assert!(g.constant([1, 2])?.equal("a").is_err());
    // A shape of numbers, of names, and of dimensions.
    assert_eq!(TensorShape::new([2, 3]), shape![2, 3]);
    assert_eq!(TensorShape::new(["n", "m"]), shape!["n", "m"]);
    assert_eq!(TensorShape::new(&[tags.dim(0)?]), shape!["n"]);
    // A number of rows.
    let (values, ids) = (g.constant([1, 2])?, g.constant([0i64, 1])?);
    let rows = tags.shape_tensor()?.slice_with(&shapeflow::slice![0])?;
    for rows in [
        RaggedValue::from_value_rowids(values, ids, 3)?,
        RaggedValue::from_value_rowids(values, ids, &tags.dim(0)?)?,
        RaggedValue::from_value_rowids(values, ids, rows)?,
    ] {
        let results = g.compile([("rows", rows)])?.feed("tags", &tensor).run()?;
        assert_eq!(results.ragged("rows")?, ragged![[1], [2], []]);
    }
    // Names of values and of scopes.
    let (text, name) = ("outer", String::from("inner"));
    let scope = (g.scope(text), g.scope(&name), g.scope(format!("{name}2")));
    let named = tags.string_lower()?.named(&name).named(name.clone()).named(text);
    drop(scope);
    assert!(g.to_string().contains("// outer/inner/inner2/outer"), "{g}");
    let _ = named;
    Ok(())
}
