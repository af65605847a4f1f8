//! The ops that an export writes in the place of ops, dtypes and sizes that TensorFlow lacks.

use shapeflow::interchange::{ImportOptions, Model, ops_missing_in_tensorflow, tensor_names, to_pbtxt};
use shapeflow::{
    DType, FractionalPool, Graph, IntoParam, RaggedValue, Result, Tensor, TensorShape, TensorView, Value,
    WindowPadding, shape,
};

use crate::own_op_samples::own_op_samples;

/// The functions that an export writes compute the ops that TensorFlow lacks: an import that does not know this crate's
/// attributes inlines them.
#[test]
fn functions_of_ops_give_the_results_of_the_ops() -> Result<()> {
    for sample in own_op_samples() {
        let graph = Graph::new();
        let outputs = (sample.build)(&graph)?;
        let views: Vec<TensorView<'_>> = sample.feeds.iter().map(|(_, tensor)| tensor.view()).collect();
        let expected = graph.compile(&outputs)?.run_all(&views)?;
        assert!(ops_missing_in_tensorflow(&graph, &outputs)?.is_empty());

        let text = to_pbtxt(&graph, &outputs)?.replace("_shapeflow_", "_unknown_");
        let imported = Model::from_text(&text)?.import(None, &ImportOptions::new())?;
        let names = tensor_names(&graph, &outputs)?;
        let values = names.iter().map(|name| imported.value(name)).collect::<Result<Vec<_>>>()?;
        let got = imported.graph().compile(&values)?.run_all(&views)?;
        for ((name, got), expected) in names.iter().zip(&got).zip(&expected) {
            let bound = if expected.dtype() == DType::F16 { 1e-3 } else { 1e-5 };
            assert_close(got, expected, bound, &format!("{}: {name}", sample.name));
        }
    }
    Ok(())
}

/// TensorFlow has removed some ops that old graphs have. An export writes functions of other ops in their place.
#[test]
fn removed_ops_are_read_and_not_written() -> Result<()> {
    let placeholder = |name: &str, dims: &[i64]| {
        let dims: String = dims.iter().map(|dim| format!("dim {{ size: {dim} }} ")).collect();
        format!(
            "node {{ name: \"{name}\" op: \"Placeholder\" attr {{ key: \"dtype\" value {{ type: DT_FLOAT }} }}
             attr {{ key: \"shape\" value {{ shape {{ {dims} }} }} }} }}"
        )
    };
    let node = |op: &str, inputs: &[&str], attrs: &str| {
        let inputs: String = inputs.iter().map(|input| format!("input: \"{input}\" ")).collect();
        format!(
            "node {{ name: \"y{op}\" op: \"{op}\" {inputs} attr {{ key: \"T\" value {{ type: DT_FLOAT }} }} {attrs} }}"
        )
    };
    let scaled = "attr { key: \"variance_epsilon\" value { f: 0.25 } }
                  attr { key: \"scale_after_normalization\" value { b: true } }";
    let text = [
        placeholder("x", &[-1, 2, 2]),
        placeholder("t", &[-1, 1, 2, 3]),
        ["m", "v", "beta", "gamma"].map(|name| placeholder(name, &[3])).concat(),
        node("MatrixExponential", &["x"], ""),
        node("BatchSelfAdjointEig", &["x"], ""),
        node("SelfAdjointEig", &["x"], ""),
        node("BatchMatrixInverse", &["x"], ""),
        node("BatchNormWithGlobalNormalization", &["t", "m", "v", "beta", "gamma"], scaled),
        "versions { producer: 5 }".to_string(),
    ]
    .concat();
    let matrices = Tensor::from([[[2.0f32, 0.5], [0.5, 1.0]], [[3.0, -1.0], [-1.0, 0.25]]]);
    let vector = Tensor::from([0.5f32, 1.0, 2.0]);
    let images = Tensor::from([[[[1.0f32, 2.0, 3.0], [-1.0, 0.5, 0.0]]]]);
    let feeds = [&matrices, &images, &vector, &vector, &vector, &vector];
    let views: Vec<TensorView<'_>> = feeds.iter().map(|tensor| tensor.view()).collect();
    let run = |text: &str, names: &[String]| -> Result<(Vec<Tensor>, String, Vec<String>)> {
        let imported = Model::from_text(text)?.import(None, &ImportOptions::new())?;
        let values = names.iter().map(|name| imported.value(name)).collect::<Result<Vec<_>>>()?;
        let results = imported.graph().compile(&values)?.run_all(&views)?;
        assert!(ops_missing_in_tensorflow(imported.graph(), &values)?.is_empty());
        let names = tensor_names(imported.graph(), &values)?;
        Ok((results, to_pbtxt(imported.graph(), &values)?, names))
    };
    let ops = ["MatrixExponential", "BatchSelfAdjointEig", "SelfAdjointEig", "BatchMatrixInverse"];
    let ops = ops.into_iter().chain(["BatchNormWithGlobalNormalization"]);
    let (expected, written, names) = run(&text, &ops.clone().map(|op| format!("y{op}")).collect::<Vec<_>>())?;
    for op in ops {
        assert!(!written.contains(&format!("op: \"{op}\"")), "{op}");
    }
    assert_eq!(run(&written, &names)?.0, expected);
    let (composed, _, _) = run(&written.replace("_shapeflow_", "_unknown_"), &names)?;
    for ((name, got), expected) in names.iter().zip(&composed).zip(&expected) {
        assert_close(got, expected, 1e-5, name);
    }
    Ok(())
}

/// An op that TensorFlow has for other dtypes is listed with its dtype.
#[test]
fn missing_ops_have_their_dtypes() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::U64, shape!["n"])?;
    assert_eq!(ops_missing_in_tensorflow(&g, &[x.diag()?])?, ["diag on u64"]);
    assert!(ops_missing_in_tensorflow(&g, &[x.cast(DType::U32)?.diag()?])?.is_empty());
    Ok(())
}

/// A sum that wraps around or is rounded may pass a threshold that the sum in a wider dtype does not pass.
#[test]
fn sums_with_a_threshold_are_not_computed_in_a_wider_dtype() -> Result<()> {
    let g = Graph::new();
    let indices = g.input("indices", DType::I64, shape!["n", 1])?;
    let sizes = g.constant([9i64])?;
    let missing = |values: DType, threshold: DType| -> Result<Vec<String>> {
        let values = g.input(&format!("values_{values}_{threshold}"), values, shape!["n"])?;
        let threshold = g.constant(Tensor::zeros(threshold, &[])?)?;
        let sum = indices.sparse_add(values, sizes, [indices, values, sizes], threshold)?;
        ops_missing_in_tensorflow(&g, &sum)
    };
    for (dtype, threshold) in [(DType::F32, DType::F32), (DType::I8, DType::I8), (DType::C64, DType::F32)] {
        assert!(missing(dtype, threshold)?.is_empty(), "{dtype}");
    }
    for dtype in [DType::U8, DType::F16] {
        assert_eq!(missing(dtype, dtype)?, [format!("sparse_add on {dtype}")]);
    }
    // TensorFlow reads the bits of the threshold as if they were a float.
    assert_eq!(missing(DType::F32, DType::I32)?, ["sparse_add"]);
    Ok(())
}

/// TensorFlow draws other integers of 64 bits than of 32 bits.
#[test]
fn random_integers_are_not_drawn_in_a_wider_dtype() -> Result<()> {
    let g = Graph::new();
    let seed = g.input("seed", DType::I64, shape![2])?;
    let drawn = seed.random_int([3], g.constant(0i32)?, g.constant(9i32)?)?;
    assert!(ops_missing_in_tensorflow(&g, &[drawn])?.is_empty());
    let drawn = seed.random_int([3], g.constant(0u32)?, g.constant(9u32)?)?;
    assert_eq!(ops_missing_in_tensorflow(&g, &[drawn])?, ["random_int on u32"]);
    Ok(())
}

/// A tolerance and a difference are rounded to the dtype of the operands, for which TensorFlow lacks the op.
#[test]
fn a_tolerance_is_rounded_in_tensorflow_too() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::BF16, shape![?])?;
    let equal = x.approximate_equal(x.zeros_like()?, 0.1)?;
    let exe = inlined(&g, &[equal])?;
    // The second number is 0.1 in bf16, which is greater than 0.1.
    let x = Tensor::from_bits(DType::BF16, &[3], &[0x3dccu16, 0x3dcd, 0x3dce])?;
    for exe in [exe, g.compile(equal)?] {
        let [got] = exe.run(&[x.view()])?;
        assert_eq!(got, Tensor::from([true, true, false]));
    }
    Ok(())
}

/// TensorFlow registers a kernel of `Where` for f16, which fails in every run.
#[test]
fn the_positions_of_f16_are_found_in_a_wider_dtype() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F16, shape![?])?;
    let positions = x.where_indices()?;
    let text = to_pbtxt(&g, &[positions])?;
    let found = text.split("node_def {").find(|node| node.contains("op: \"Where\""));
    assert!(found.is_some_and(|node| node.contains("type: DT_FLOAT")), "{text}");
    let x = Tensor::from_bits(DType::F16, &[4], &[0x0001u16, 0x8000, 0x3c00, 0])?;
    let [got] = inlined(&g, &[positions])?.run(&[x.view()])?;
    assert_eq!(got, Tensor::from([[0i64], [2]]));
    Ok(())
}

/// TensorFlow's `ParallelConcat` takes only operands and results of known sizes.
#[test]
fn rows_of_unknown_sizes_are_joined_by_another_op() -> Result<()> {
    let text = |size: i64| {
        let placeholder = |name: &str| {
            format!(
                "node {{ name: \"{name}\" op: \"Placeholder\" attr {{ key: \"dtype\" value {{ type: DT_FLOAT }} }}
                 attr {{ key: \"shape\" value {{ shape {{ dim {{ size: 1 }} dim {{ size: {size} }} }} }} }} }}"
            )
        };
        format!(
            "{} {} node {{ name: \"y\" op: \"ParallelConcat\" input: \"a\" input: \"b\"
             attr {{ key: \"N\" value {{ i: 2 }} }} attr {{ key: \"T\" value {{ type: DT_FLOAT }} }}
             attr {{ key: \"shape\" value {{ shape {{ dim {{ size: 2 }} dim {{ size: {size} }} }} }} }} }}",
            placeholder("a"),
            placeholder("b")
        )
    };
    for (size, is_spelled) in [(2, true), (-1, false)] {
        let imported = Model::from_text(&text(size))?.import(None, &ImportOptions::new())?;
        let y = imported.value("y")?;
        assert!(ops_missing_in_tensorflow(imported.graph(), &[y])?.is_empty());
        let written = to_pbtxt(imported.graph(), &[y])?;
        assert_eq!(written.contains("op: \"ParallelConcat\""), is_spelled, "{written}");
        let rows = [Tensor::from([[1.0f32, 2.0]]), Tensor::from([[3.0f32, 4.0]])];
        let [got] = inlined(imported.graph(), &[y])?.run(&rows.each_ref().map(|row| row.view()))?;
        assert_eq!(got, Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]));
    }
    Ok(())
}

/// The shape function of TensorFlow's `ExtractVolumePatches` gives 4 axes if it does not know the sizes.
#[test]
fn volume_patches_of_unknown_sizes_are_missing() -> Result<()> {
    let g = Graph::new();
    let missing = |name: &str, dtype: DType, shape: TensorShape| -> Result<Vec<String>> {
        let x = g.input(name, dtype, shape)?;
        let patches = x.extract_volume_patches([2, 2, 2], [2, 2, 2], WindowPadding::Valid)?;
        ops_missing_in_tensorflow(&g, &[patches])
    };
    assert!(missing("a", DType::F32, shape!["n", 4, 4, 4, 1])?.is_empty());
    assert_eq!(missing("b", DType::F32, shape!["n", "p", 4, 4, 1])?, ["extract_volume_patches"]);
    // The function that computes the op in f32 does not know the sizes.
    assert_eq!(missing("c", DType::Bool, shape!["n", 4, 4, 4, 1])?, ["extract_volume_patches on bool"]);
    Ok(())
}

/// The shape functions of TensorFlow's fractional pools say that the starts of the windows have one entry less.
#[test]
fn fractional_pools_are_written_without_sizes_that_tensorflow_refuses() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape![1, 6, 6, 1])?;
    let pools = x.fractional_max_pool(FractionalPool::new([1.5, 1.5]))?;
    let text = to_pbtxt(&g, &pools)?;
    let node = text.split("node {").find(|node| node.contains("op: \"FractionalMaxPool\""));
    assert!(node.is_some_and(|node| !node.contains("_output_shapes")), "{text}");
    Ok(())
}

/// Compiles the functions that the export writes: an import that does not know this crate's attributes inlines them.
fn inlined(graph: &Graph, outputs: &[Value<'_>]) -> Result<shapeflow::Executable> {
    let text = to_pbtxt(graph, outputs)?.replace("_shapeflow_", "_unknown_");
    let imported = Model::from_text(&text)?.import(None, &ImportOptions::new())?;
    let names = tensor_names(graph, outputs)?;
    let values = names.iter().map(|name| imported.value(name)).collect::<Result<Vec<_>>>()?;
    imported.graph().compile(values)
}

/// An op that TensorFlow lacks is listed with the method that it is a part of.
#[test]
fn missing_ops_have_their_methods() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::C64, shape!["n", 2])?;
    assert_eq!(ops_missing_in_tensorflow(&g, &[x.reduce_prod(1)?])?, ["complex_prod of reduce_prod"]);
    Ok(())
}

/// Checks that both tensors have the same elements, and floats within a relative error.
fn assert_close(got: &Tensor, expected: &Tensor, bound: f64, what: &str) {
    if !expected.dtype().is_float() {
        assert_eq!(got, expected, "{what}");
        return;
    }
    got.allclose(expected, bound, 0.1 * bound).unwrap_or_else(|difference| panic!("{what}: {difference}"));
}

/// What an op refuses in a run, the function that the export writes for it refuses too.
#[test]
fn functions_of_ops_refuse_what_the_ops_refuse() -> Result<()> {
    let graph = Graph::new();
    let values = graph.input("values", DType::F32, shape!["n"])?;
    let splits = graph.input("splits", DType::I64, shape![?])?;
    let ids = graph.input("ids", DType::I32, shape![?])?;
    let by_splits = RaggedValue::from_row_splits(values, splits)?.row_splits();
    let by_ids = RaggedValue::from_value_rowids(values, ids, Some(3.into_param()))?.row_splits();
    let other = RaggedValue::from_value_rowids(values, ids, None)?.with_row_splits_dtype(DType::I64)?;
    let sum = (RaggedValue::from_row_splits(values, splits)? + other).ok()?.flat_values();
    let outputs = [by_splits, by_ids, sum];
    let text = to_pbtxt(&graph, &outputs)?.replace("_shapeflow_", "_unknown_");
    let imported = Model::from_text(&text)?.import(None, &ImportOptions::new())?;
    let names = tensor_names(&graph, &outputs)?;
    let values = Tensor::from([1.0f32, 2.0, 3.0]);
    let check = |output: usize, splits: &[i64], ids: &[i32], message: &str| -> Result<()> {
        let (splits, ids) =
            (Tensor::from_slice(&[splits.len()], splits)?, Tensor::from_slice(&[ids.len()], ids)?);
        let run = |exe: shapeflow::Executable| {
            let run = exe.feed("values", &values).feed("splits", &splits).feed("ids", &ids).run();
            run.map(|_| ())
        };
        let ours = run(graph.compile(outputs[output])?);
        let theirs = run(imported.graph().compile(imported.value(&names[output])?)?);
        assert_eq!(ours.is_err(), !message.is_empty(), "{splits} {ids}");
        match theirs {
            Ok(()) => assert!(message.is_empty(), "{splits} {ids}"),
            Err(error) => assert!(error.to_string().contains(message) && !message.is_empty(), "{error}"),
        }
        Ok(())
    };
    check(0, &[0, 1, 3], &[0, 0, 2], "")?;
    check(0, &[1, 3], &[0, 0, 2], "must start at 0")?;
    check(0, &[0, 4, 3], &[0, 0, 2], "must not decrease")?;
    check(0, &[0, 1, 2], &[0, 0, 2], "must end at the number of values")?;
    check(1, &[0, 3], &[0, 0, 3], "must be less than nrows")?;
    check(1, &[0, 3], &[0, 2, 1], "must be ascending")?;
    check(1, &[0, 3], &[-1, 0, 1], "must not be negative")?;
    check(2, &[0, 2, 2, 3], &[0, 0, 2], "")?;
    check(2, &[0, 2, 2, 3], &[0, 1, 2], "equal row splits")?;
    check(2, &[0, 3], &[0, 0, 2], "must be equal")
}
