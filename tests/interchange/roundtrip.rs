//! The import of an exported graph is the same graph, and gives the same results in this crate and in TensorFlow.

use std::path::Path;

use shapeflow::interchange::{
    ImportOptions, Model, ops_missing_in_tensorflow, tensor_names, to_graphdef, to_pbtxt, write_npz,
};
use shapeflow::{Attr, DType, Graph, LoopOptions, Result, Tensor, TensorView, Unknown, Value, ragged, shape};

use crate::control_samples::control_samples;
use crate::own_op_samples::own_op_samples;
use crate::samples::samples;
use crate::size_samples::size_samples;
use crate::tables;
use crate::transform_samples::transform_samples;

/// Returns the text of the graph without comments. The comment of a node that a program made has the program's line;
/// the comment of an imported node has its name only.
fn without_comments(graph: &Graph) -> String {
    let text = graph.to_string();
    let lines = text.lines().map(|line| line.split("  // ").next().unwrap_or_default().trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn exported_graphs_import_unchanged() -> Result<()> {
    for sample in samples().into_iter().chain(own_op_samples()) {
        let graph = Graph::new();
        (sample.build)(&graph)?;
        let bytes = to_graphdef(&graph, &[])?;
        let model = Model::from_bytes(&bytes)?;
        let imported = model.import(None, &ImportOptions::new())?;
        for node in imported.nodes() {
            assert!(node.error.is_none(), "{}: {}", sample.name, node.error.unwrap());
        }
        // An imported dim has the name of the exported node, such as `shape_7.0`. The suffixes `_7` are removed before
        // the texts are compared.
        let without_suffix = |text: String, node: usize| {
            let number = format!("_{node}");
            let parts = text.split(&number).map(str::to_string);
            let join = |text: String, part: String| match part.starts_with(|c: char| c.is_alphanumeric()) {
                true => text + &number + &part,
                false => text + &part,
            };
            parts.reduce(join).unwrap_or_default()
        };
        let without_suffixes = |text: String| (0..100).fold(text, without_suffix);
        let (got, expected) = (without_comments(imported.graph()), without_comments(&graph));
        assert_eq!(without_suffixes(got), without_suffixes(expected), "{}", sample.name);
        assert_eq!(to_graphdef(imported.graph(), &[])?, bytes, "{}", sample.name);
        let text = to_pbtxt(&graph, &[])?;
        let read = Model::from_text(&text)?.import(None, &ImportOptions::new())?;
        assert_eq!(to_pbtxt(read.graph(), &[])?, text, "{}", sample.name);
    }
    Ok(())
}

/// If the environment variable `SHAPEFLOW_ROUNDTRIP` names a folder, writes a graph with its feeds and results there,
/// for `tests/tensorflow_roundtrip.py`.
pub(crate) fn write_for_tensorflow<'f>(
    name: &str,
    graph: &[u8],
    feeds: impl IntoIterator<Item = (&'f str, &'f Tensor)>,
    fetches: &[String],
    results: &[Tensor],
) -> Result<()> {
    let Some(folder) = std::env::var_os("SHAPEFLOW_ROUNDTRIP") else { return Ok(()) };
    let file = |suffix: &str| Path::new(&folder).join(format!("{name}.{suffix}"));
    std::fs::write(file("pb"), graph).unwrap();
    std::fs::write(file("txt"), fetches.join("\n")).unwrap();
    write_npz(file("feeds.npz"), feeds)?;
    let numbers: Vec<String> = (0..results.len()).map(|number| number.to_string()).collect();
    write_npz(file("given.npz"), numbers.iter().map(String::as_str).zip(results))
}

#[test]
fn imported_graphs_give_the_same_results() -> Result<()> {
    let others = [tables::sample()].into_iter().chain(control_samples()).chain(own_op_samples());
    let others = others.chain(transform_samples()).chain(size_samples());
    for sample in samples().into_iter().chain(others) {
        let graph = Graph::new();
        let outputs = (sample.build)(&graph)?;
        let bytes = to_graphdef(&graph, &outputs)?;
        let views: Vec<TensorView<'_>> = sample.feeds.iter().map(|(_, tensor)| tensor.view()).collect();
        let expected = graph.compile(&outputs)?.run_all(&views)?;

        let model = Model::from_bytes(bytes.clone())?;
        let imported = model.import(None, &ImportOptions::new())?;
        let names: Vec<String> = tensor_names(&graph, &outputs)?;
        let values: Vec<Value<'_>> = names.iter().map(|name| imported.value(name)).collect::<Result<_>>()?;
        let got = imported.graph().compile(&values)?.run_all(&views)?;
        assert_eq!(got, expected, "{}", sample.name);

        if sample.runs_in_tensorflow {
            assert!(ops_missing_in_tensorflow(&graph, &outputs)?.is_empty(), "{}", sample.name);
            let feeds = sample.feeds.iter().map(|(name, tensor)| (*name, tensor));
            write_for_tensorflow(sample.name, &bytes, feeds, &names, &got)?;
        }
    }
    Ok(())
}

#[test]
fn custom_ops_are_exported_and_imported_by_name() -> Result<()> {
    static CUBE: shapeflow::OpDef = shapeflow::OpDef::compute("cube", |cx, _output, index| {
        let x = cx.operand(0, index);
        x.clone() * x.clone() * x
    })
    .operands(&[shapeflow::Operand::Data("x")])
    .attrs(&[shapeflow::Attribute::str("note").optional()])
    .shape_fn(shapeflow::shape_fns::common::unary);
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, [Unknown])?;
    let y = graph.op(&CUBE).data(x).attr("note", Attr::from("kept")).finish()?;
    let model = Model::from_bytes(to_graphdef(&graph, &[y])?)?;
    let error = model.import(None, &ImportOptions::new()).unwrap_err();
    assert!(error.message().contains("cube (cube_1)"), "{}", error.message());
    let options = ImportOptions::new().ops(shapeflow::Registry::builtin().with(&CUBE));
    let imported = model.import(None, &options)?;
    assert_eq!(without_comments(imported.graph()), without_comments(&graph));
    Ok(())
}

/// A graph of a ragged value has ops that only composites use.
#[test]
fn a_graph_with_ragged_values_and_sizes_of_scalars_is_read_back() -> Result<()> {
    let graph = Graph::new();
    let x = graph.ragged_input("x", DType::F32, 1, shape![])?;
    let weights = graph.input("weights", DType::F32, shape!["n"])?;
    let sums = x.reduce_sum(1)?.dense()?;
    let most = graph.input("most", DType::I64, shape![])?.as_dim("most")?;
    let sorted = (x * x.with_values(weights)?).sort(1, false)?.flat_values();
    let longest = x.bounding_shape_along(1)?;
    let outputs = [sums, sorted, longest, graph.range(0, most, 1)?];
    let run = |exe: &shapeflow::Executable| -> Result<Vec<Tensor>> {
        let rows = ragged![[3.0f32, 1.0], [], [2.0]];
        let (weights, most) = (Tensor::from([2.0f32, 1.0, 0.5]), Tensor::scalar(4i64));
        let results = exe.feed("x", &rows).feed("weights", &weights).feed("most", &most).run()?;
        Ok(results.iter().map(|(_, tensor)| tensor.clone()).collect())
    };
    let (first, second) = (run(&graph.compile(outputs)?)?, run(&read_back(&graph, &outputs)?)?);
    assert_eq!(first, second);
    assert_eq!(first[1], Tensor::from([1.0f32, 6.0, 1.0]), "{x:?}");
    Ok(())
}

#[test]
fn an_input_whose_size_an_output_reads_is_exported() -> Result<()> {
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, shape!["n", 2])?;
    let twice = graph.input("twice", DType::F32, shape![2 * x.dim(0)?])?;
    let positions = graph.range(0, twice.dim(0)?, 1)?;
    let exe = read_back(&graph, &[positions])?;
    let [got] = exe.run(&[Tensor::zeros(DType::F32, &[2, 2])?.view()])?;
    assert_eq!(got, Tensor::from([0i64, 1, 2, 3]));
    Ok(())
}

#[test]
fn a_fetched_tensor_needs_the_input_whose_size_it_has() -> Result<()> {
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, shape!["n", 4])?;
    let y = graph.range(0, x.dim(0)?, 1)?.named("y");
    let model = Model::from_bytes(to_graphdef(&graph, &[y])?)?;
    for fetches in [None, Some(&["y"][..])] {
        let imported = model.import(fetches, &ImportOptions::new())?;
        let [got] =
            imported
                .graph()
                .compile(imported.value("y")?)?
                .run(&[Tensor::zeros(DType::F32, &[3, 4])?.view()])?;
        assert_eq!(got, Tensor::from([0i64, 1, 2]));
    }
    Ok(())
}

#[test]
fn a_fed_tensor_stands_for_the_input_that_has_its_sizes() -> Result<()> {
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, shape!["n", 4])?;
    let h = x.relu()?.named("h");
    let positions = graph.range(0, x.dim(0)?, 1)?.cast(DType::F32)?;
    let y = (h.reduce_sum(1)? + positions).ok()?.named("y");
    let model = Model::from_bytes(to_graphdef(&graph, &[y])?)?;
    for fetches in [None, Some(&["y"][..])] {
        let imported = model.import(fetches, &ImportOptions::new().feed("h"))?;
        let exe = imported.graph().compile(imported.value("y")?)?;
        let results = exe.run_named(&[("h", Tensor::zeros(DType::F32, &[3, 4])?.view())])?;
        assert_eq!(results.tensor_at(0)?, Tensor::from([0.0f32, 1.0, 2.0]), "{fetches:?}");
    }
    Ok(())
}

#[test]
fn a_size_that_a_scalar_gives_is_read_back() -> Result<()> {
    let graph = Graph::new();
    let k = graph.input("k", DType::I64, shape![])?;
    let x = graph.input("x", DType::F32, shape!["n", 4])?;
    let size = k.as_dim("d")?;
    let outputs = [graph.fill(shape![&size, 2], 1.5f32)?, x.slice([0, 0], [&size, &size])?];
    let model = Model::from_bytes(to_graphdef(&graph, &outputs)?)?;
    let names = tensor_names(&graph, &outputs)?;
    for fetches in [None, Some([names[0].as_str(), names[1].as_str()])] {
        let imported = model.import(fetches.as_ref().map(|names| &names[..]), &ImportOptions::new())?;
        let values = names.iter().map(|name| imported.value(name)).collect::<Result<Vec<_>>>()?;
        let (two, x) = (Tensor::scalar(2i64), Tensor::zeros(DType::F32, &[3, 4])?);
        let results = imported.graph().compile(&values)?.run_named(&[("k", two.view()), ("x", x.view())])?;
        let sizes = [results.tensor_at(0)?.sizes().to_vec(), results.tensor_at(1)?.sizes().to_vec()];
        assert_eq!(sizes, [[2, 2], [2, 2]]);
    }
    // A negative size is refused.
    let imported = model.import(Some(&[&names[0]]), &ImportOptions::new())?;
    let exe = imported.graph().compile(imported.value(&names[0])?)?;
    assert!(exe.run_named(&[("k", Tensor::scalar(-1i64).view())]).is_err());
    Ok(())
}

#[test]
fn attributes_with_sizes_without_names_are_read_back() -> Result<()> {
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, shape![?, 4])?;
    let flat = x.reshape([4 * x.dim(0)?])?;
    let nonzero = flat.where_indices()?;
    let positions = graph.range(0, nonzero.dim(0)?, 1)?;
    let exe = read_back(&graph, &[flat, positions])?;
    let x = Tensor::from([[0.0f32, 1.0, 2.0, 0.0], [3.0, 0.0, 0.0, 0.0]]);
    let [flat, positions] = exe.run(&[x.view()])?;
    assert_eq!(flat.sizes(), [8]);
    assert_eq!(positions, Tensor::from([0i64, 1, 2]));
    Ok(())
}

#[test]
fn the_limit_of_a_loop_is_read_back() -> Result<()> {
    let graph = Graph::new();
    let most = graph.input("most", DType::I32, shape![])?;
    let options = LoopOptions::new().limit(3);
    let start = [graph.constant(0)?];
    let count = graph.while_loop_with(&options, &start, |s| s[0].less(most), |s| Ok([s[0] + 1]))?[0];
    let exe = read_back(&graph, &[count])?;
    let [got] = exe.run(&[Tensor::scalar(3i32).view()])?;
    assert_eq!(got.item::<i32>()?, 3);
    let error = exe.run::<1>(&[Tensor::scalar(4i32).view()]).unwrap_err();
    assert!(error.message().contains("at most 3 iterations"), "{}", error.message());
    Ok(())
}

/// Returns the compiled graph of `outputs` after an export and an import.
fn read_back(graph: &Graph, outputs: &[Value<'_>]) -> Result<shapeflow::Executable> {
    let imported = Model::from_bytes(to_graphdef(graph, outputs)?)?.import(None, &ImportOptions::new())?;
    let names = tensor_names(graph, outputs)?;
    let values = names.iter().map(|name| imported.value(name)).collect::<Result<Vec<_>>>()?;
    imported.graph().compile(values)
}

#[test]
fn an_exported_loop_over_rows_refuses_other_numbers_of_rows() -> Result<()> {
    let graph = Graph::new();
    let a = graph.input("a", DType::F32, shape!["n"])?;
    let b = graph.input("b", DType::F32, shape!["m"])?;
    let sums = graph.map(&[a, b], |rows| Ok(rows[0] + rows[1]))?;
    let exe = read_back(&graph, &sums)?;
    let (two, three) = (Tensor::from([1.0f32, 2.0]), Tensor::from([1.0f32, 2.0, 3.0]));
    let [sums] = exe.run(&[two.view(), two.view()])?;
    assert_eq!(sums, Tensor::from([2.0f32, 4.0]));
    let error = exe.run::<1>(&[two.view(), three.view()]).unwrap_err();
    let expected = "all tensors must have the same number of rows, got";
    assert!(error.message().contains(expected), "{}", error.message());
    assert!(exe.run::<1>(&[three.view(), two.view()]).is_err());
    Ok(())
}

#[test]
fn equal_names_are_equal_in_an_exported_graph() -> Result<()> {
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, shape!["n"])?;
    let y = graph.input("y", DType::F32, shape!["m"])?;
    graph.assume_eq("n", "m")?;
    let exe = read_back(&graph, &[(x + y).ok()?])?;
    let (one, two) = (Tensor::from([1.0f32]), Tensor::from([1.0f32, 2.0]));
    let [sum] = exe.run(&[two.view(), two.view()])?;
    assert_eq!(sum, Tensor::from([2.0f32, 4.0]));
    assert!(exe.run::<1>(&[two.view(), one.view()]).is_err());
    Ok(())
}

#[test]
fn large_factors_of_sizes_are_numbers_of_64_bits() -> Result<()> {
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, shape![?])?;
    let limit = 5_000_000_000i64 * x.dim(0)?;
    let numbers = graph.range(0, limit, 5_000_000_000i64)?;
    let [numbers] = read_back(&graph, &[numbers])?.run(&[Tensor::from([1.0f32, 2.0]).view()])?;
    assert_eq!(numbers, Tensor::from([0i64, 5_000_000_000]));
    Ok(())
}

/// In TensorFlow, the parameters of a slice have one dtype, so the export casts one of them.
#[test]
fn parameters_of_two_dtypes_are_read_back() -> Result<()> {
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, shape!["n", 4])?;
    let begin = graph.input("begin", DType::I32, shape![2])?;
    let size = graph.input("size", DType::I64, shape![2])?;
    let outputs = [x.slice(begin, size)?, x.slice(size, begin)?];
    let (tensor, begin, size) = (
        Tensor::from([[0.0f32, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0]]),
        Tensor::from([1, 2]),
        Tensor::from([1i64, 1]),
    );
    let run = |exe: &shapeflow::Executable| -> Result<Vec<Tensor>> {
        let results = exe.feed("x", &tensor).feed("begin", &begin).feed("size", &size).run()?;
        Ok(results.iter().map(|(_, tensor)| tensor.clone()).collect())
    };
    let results = run(&read_back(&graph, &outputs)?)?;
    assert_eq!(results, [Tensor::from([[6.0f32]]), Tensor::from([[5.0f32, 6.0]])]);
    assert_eq!(results, run(&graph.compile(outputs)?)?);
    // Each slice has a cast.
    let imported = Model::from_bytes(to_graphdef(&graph, &[])?)?.import(None, &ImportOptions::new())?;
    assert_eq!(imported.graph().len(), graph.len() + 2);
    Ok(())
}
