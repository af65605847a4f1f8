//! Loops over rows whose sizes are unknown and unequal are read back with the same sizes.

use shapeflow::interchange::{ImportOptions, Model, tensor_names, to_graphdef};
use shapeflow::{
    Backend, CompileOptions, DType, Graph, Result, Tensor, TensorShape, TensorView, Value, concat, shape,
};

/// Runs `outputs` of the graph, and of the graph that is read back, on tensors of `sizes` for each input. Both give
/// equal results.
fn check(what: &str, graph: &Graph, outputs: &[Value<'_>], feeds: &[(&str, Tensor)]) -> Result<()> {
    let feeds: Vec<(&str, TensorView<'_>)> =
        feeds.iter().map(|(name, tensor)| (*name, tensor.view())).collect();
    let expected = graph.compile(outputs)?.run_named(&feeds)?;
    let model = Model::from_bytes(to_graphdef(graph, outputs)?)?;
    let names = tensor_names(graph, outputs)?;
    let fetches: Vec<&str> = names.iter().map(String::as_str).collect();
    for fetched in [None, Some(&fetches[..])] {
        let imported = model.import(fetched, &ImportOptions::new())?;
        let values = names.iter().map(|name| imported.value(name)).collect::<Result<Vec<_>>>()?;
        let results = match imported.graph().compile(&values)?.run_named(&feeds) {
            Ok(results) => results,
            Err(error) => panic!("{what}: {error}\n{}", imported.graph()),
        };
        for number in 0..outputs.len() {
            assert_eq!(results.tensor_at(number)?, expected.tensor_at(number)?, "{what}: output {number}");
        }
    }
    Ok(())
}

/// Shapes with unknown sizes, each with sizes that are all unequal.
fn shapes() -> [(TensorShape, &'static [usize]); 5] {
    [
        (shape!["s"], &[5]),
        (shape!["s", "a"], &[5, 4]),
        (shape!["s", "a", 2], &[5, 4, 2]),
        (shape!["s", "a", "b"], &[5, 4, 3]),
        (shape![?, ?, ?], &[5, 4, 3]),
    ]
}

fn numbers(sizes: &[usize]) -> Result<Tensor> {
    Tensor::from_vec(sizes, (0..sizes.iter().product::<usize>()).map(|number| number as f64).collect())
}

#[test]
fn a_scan_over_rows_of_unknown_sizes_is_read_back() -> Result<()> {
    for (shape, sizes) in shapes() {
        let g = Graph::new();
        let z = g.input("z", DType::F64, shape.clone())?;
        let (last, rows) = g.scan(&[g.constant(0.0)?], &[z], |state, row| {
            Ok((vec![(state[0] + 1.0).ok()?], vec![(row[0] * state[0]).ok()?]))
        })?;
        check(&format!("scan {shape}"), &g, &[last[0], rows[0]], &[("z", numbers(sizes)?)])?;
    }
    Ok(())
}

#[test]
fn a_map_over_rows_of_unknown_sizes_is_read_back() -> Result<()> {
    for (shape, sizes) in shapes() {
        let g = Graph::new();
        let z = g.input("z", DType::F64, shape.clone())?;
        let rows = g.map(&[z], |row| (row[0] * 2.0).ok())?;
        check(&format!("map {shape}"), &g, &rows, &[("z", numbers(sizes)?)])?;
    }
    Ok(())
}

#[test]
fn ragged_rows_of_unknown_inner_sizes_are_read_back() -> Result<()> {
    let g = Graph::new();
    let rows = g.ragged_input("r", DType::F64, 1, shape!["a", ?])?;
    let doubled = rows.map_rows(|row| concat(&[row.dense()?, row.dense()?], 0))?;
    let sums = rows.map(|row| row.dense()?.reduce_sum(0))?;
    let outputs = [doubled.flat_values(), doubled.row_splits(), sums];
    let feeds = [("r/flat_values", numbers(&[5, 4, 3])?), ("r/row_splits/0", Tensor::from([0i64, 3, 5]))];
    check("map_rows", &g, &outputs, &feeds)
}

#[test]
fn a_loop_whose_state_has_unknown_sizes_is_read_back() -> Result<()> {
    let g = Graph::new();
    let (x, y) = (g.input("x", DType::F64, shape![?, ?])?, g.input("y", DType::F64, shape!["n", "m"])?);
    let trips = g.input("trips", DType::I64, shape![])?;
    let last = g.while_loop(
        &[x, y, trips],
        |state| state[2].greater(0i64),
        |state| Ok([concat(&[state[0], x], 0)?, concat(&[y, state[1]], 1)?, (state[2] - 1i64).ok()?]),
    )?;
    let feeds = |trips: i64| -> Result<_> {
        Ok([("x", numbers(&[2, 5])?), ("y", numbers(&[3, 4])?), ("trips", Tensor::scalar(trips))])
    };
    check("while_loop", &g, &last[..2], &feeds(2)?)?;
    check("while_loop", &g, &last[..2], &feeds(0)?)
}

/// The items of a list have the shape `[?, ?]`. Each op that returns items returns items of unequal sizes.
#[test]
fn items_of_lists_have_unequal_sizes() -> Result<()> {
    let constant = |name: &str, dtype: &str, dims: &str, values: &str| {
        format!(
            r#"node {{ name: "{name}" op: "Const" attr {{ key: "dtype" value {{ type: {dtype} }} }}
               attr {{ key: "value" value {{ tensor {{ dtype: {dtype} tensor_shape {{ {dims} }} {values} }} }} }} }}"#
        )
    };
    let dtype = r#"attr { key: "element_dtype" value { type: DT_DOUBLE } }"#;
    let text = [
        constant("any", "DT_INT32", "dim { size: 2 }", "int_val: -1 int_val: -1"),
        constant("order", "DT_INT32", "dim { size: 3 }", "int_val: 1 int_val: 0 int_val: 1"),
        constant("first", "DT_INT32", "", "int_val: 0"),
        constant("lengths", "DT_INT64", "dim { size: 0 }", ""),
        r#"node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_DOUBLE } }
           attr { key: "shape" value { shape { dim { size: -1 } dim { size: -1 } dim { size: -1 } } } } }"#
            .to_string(),
        format!(r#"node {{ name: "list" op: "TensorListFromTensor" input: "x" input: "any" {dtype} }}"#),
        format!(r#"node {{ name: "stack" op: "TensorListStack" input: "list" input: "any" {dtype} }}"#),
        format!(
            r#"node {{ name: "gather" op: "TensorListGather" input: "list" input: "order" input: "any" {dtype} }}
               node {{ name: "get" op: "TensorListGetItem" input: "list" input: "first" input: "any" {dtype} }}
               node {{ name: "pop" op: "TensorListPopBack" input: "list" input: "any" {dtype} }}
               node {{ name: "concat" op: "TensorListConcatV2" input: "list" input: "any" input: "lengths" {dtype} }}"#
        ),
    ];
    let imported = Model::from_text(&text.join("\n"))?.import(None, &ImportOptions::new())?;
    let names = ["stack", "gather", "get", "pop:1", "concat"];
    let values = names.iter().map(|name| imported.value(name)).collect::<Result<Vec<_>>>()?;
    let sizes: [&[usize]; 5] = [&[2, 3, 4], &[3, 3, 4], &[3, 4], &[3, 4], &[6, 4]];
    for backend in [Backend::Jit, Backend::Interpreter] {
        let exe = imported.graph().compile_with(&CompileOptions::new().backend(backend), &values)?;
        let results = exe.run_all(&[numbers(&[2, 3, 4])?.view()])?;
        for ((result, sizes), name) in results.iter().zip(sizes).zip(names) {
            assert_eq!(result.sizes(), sizes, "{name}");
        }
    }
    Ok(())
}
