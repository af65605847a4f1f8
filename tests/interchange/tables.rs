//! Lookup tables of graphs outside SavedModels: a node of the graph gives a table its content.

use shapeflow::interchange::{ImportOptions, Model, tensor_names, to_graphdef};
use shapeflow::{DType, Graph, LookupTable, Result, Tensor, shape};

use crate::samples::Sample;
use crate::string_samples::words;

/// Returns a sample with lookups in constants of the graph and in `LookupTable`s, which several graphs may share. The
/// import makes `LookupTable`s of both.
pub fn sample() -> Sample {
    Sample {
        name: "tables_of_constants",
        build: |g| {
            let x = g.input("x", DType::String, shape!["n"])?;
            let ids = x.table_lookup(g.constant(["é 12", ""])?, g.constant([1, 2])?, g.constant(-1)?)?;
            let numbers = LookupTable::new(&Tensor::from(["", "a"]), &Tensor::from([5i64, 6]))?;
            let names = LookupTable::new(&Tensor::from([5i64, 7]), &Tensor::from(["five", "seven"]))?;
            let rows = Tensor::from([["one", "two"], ["three", "four"]]);
            let rows = LookupTable::new(&Tensor::from(["a", "é 12"]), &rows)?;
            let found = x.lookup(&numbers, 7i64)?;
            let row = x.lookup(&rows, g.constant(["no", "row"])?)?;
            Ok(vec![ids, found, found.lookup(&names, g.constant("none")?)?, row])
        },
        feeds: vec![words()],
        runs_in_tensorflow: true,
    }
}

/// A table from i64 keys to floats: the keys and the values, and the nodes that make and read the table.
const TABLE: &str = r#"
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_INT64 } }
           attr { key: "shape" value { shape { dim { size: -1 } } } } }
    node { name: "keys" op: "Const" attr { key: "dtype" value { type: DT_INT64 } }
           attr { key: "value" value { tensor { dtype: DT_INT64 tensor_shape { dim { size: 2 } } int64_val: 4 int64_val: 9 } } } }
    node { name: "values" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: 2 float_val: 3 } } } }
    node { name: "default" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: -1 } } } }
    node { name: "table" op: "HashTableV2" attr { key: "key_dtype" value { type: DT_INT64 } }
           attr { key: "value_dtype" value { type: DT_FLOAT } } }
    node { name: "find" op: "LookupTableFindV2" input: "table" input: "x" input: "default"
           attr { key: "Tin" value { type: DT_INT64 } } attr { key: "Tout" value { type: DT_FLOAT } } }
    node { name: "size" op: "LookupTableSizeV2" input: "table" }
    versions { producer: 1882 }
"#;

/// A node that fills the table.
const FILLED: &str = r#"
    node { name: "fill" op: "InitializeTableV2" input: "table" input: "keys" input: "values"
           attr { key: "Tkey" value { type: DT_INT64 } } attr { key: "Tval" value { type: DT_FLOAT } } }
"#;

#[test]
fn a_table_has_the_content_that_a_node_of_the_graph_gives_it() -> Result<()> {
    let model = Model::from_text(&format!("{TABLE}{FILLED}"))?;
    let imported = model.import(None, &ImportOptions::new())?;
    let outputs = [imported.value("find")?, imported.value("size")?];
    let x = Tensor::from([9i64, 5, 4]);
    let [found, size] = imported.graph().compile(&outputs[..])?.run(&[x.view()])?;
    assert_eq!(found, Tensor::from([3.0f32, -1.0, 2.0]));
    assert_eq!(size, Tensor::from(2i64));
    Ok(())
}

#[test]
fn a_table_that_nothing_fills_is_refused_by_name() -> Result<()> {
    let refused = |text: &str| -> Result<String> {
        let imported = Model::from_text(text)?.import(None, &ImportOptions::new())?;
        let found = imported.value("find").and_then(|y| imported.graph().compile(y).map(|_| ()));
        Ok(found.unwrap_err().to_string())
    };
    let message = refused(TABLE)?;
    let expected = "a node InitializeTableV2 of the graph must fill the table table, got none; find reads it";
    assert!(message.contains(expected), "{message}");
    // The keys are data of a run.
    let computed = FILLED.replace("input: \"keys\"", "input: \"x\"");
    let message = refused(&format!("{TABLE}{computed}"))?;
    assert!(message.contains("the table table must be filled with constants"), "{message}");
    Ok(())
}

#[test]
fn an_export_has_the_content_of_tables_with_repeated_keys_or_rows_as_values() -> Result<()> {
    let keys = Tensor::from([7i64, 8, 7, 9]);
    let narrow = Tensor::from([7, 8, 7, 9]);
    let words = Tensor::from([["a", "b"], ["c", "d"], ["e", "f"], ["", "g"]]);
    let tables = [
        (&keys, Tensor::from([1.0f32, 2.0, 3.0, 4.0]), Tensor::from(0.5f32)),
        (
            &keys,
            Tensor::from([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]),
            Tensor::from([0.5f32, -1.0]),
        ),
        (&keys, words, Tensor::from(["?", "!"])),
        (&narrow, Tensor::from([[1i64], [2], [3], [4]]), Tensor::from([-1i64])),
    ];
    for (keys, values, default) in tables {
        let table = LookupTable::new(keys, &values)?;
        let g = Graph::new();
        let x = g.input("x", keys.dtype(), shape!["n"])?;
        let y = x.lookup(&table, g.constant(default)?)?;
        let graph = to_graphdef(&g, &[y])?;
        let imported = Model::from_bytes(graph)?.import(None, &ImportOptions::new())?;
        let again = imported.value(&tensor_names(&g, &[y])?[0])?;
        let x = Tensor::from([9i64, 5, 7, 8, 7]);
        let x = if keys.dtype() == DType::I32 { Tensor::from([9, 5, 7, 8, 7]) } else { x };
        let [expected] = g.compile(y)?.run(&[x.view()])?;
        let [found] = imported.graph().compile(again)?.run(&[x.view()])?;
        assert_eq!(found, expected);
    }
    Ok(())
}

#[test]
fn a_table_with_two_values_of_one_key_is_refused() -> Result<()> {
    let repeated = |value: &str| -> Result<Vec<Tensor>> {
        let text = format!("{TABLE}{FILLED}").replace("int64_val: 9", "int64_val: 4");
        let text = text.replace("float_val: 3", &format!("float_val: {value}"));
        let imported = Model::from_text(&text)?.import(None, &ImportOptions::new())?;
        imported.graph().compile(imported.value("find")?)?.run_all(&[Tensor::from([4i64]).view()])
    };
    // A repeated key with the same value is one key.
    assert_eq!(repeated("2")?, [Tensor::from([2.0f32])]);
    let message = repeated("3").unwrap_err().to_string();
    let expected = "the table table: a key must have one value, got two for the key 4, number 0 and 1";
    assert!(message.contains(expected), "{message}");
    Ok(())
}

#[test]
fn an_exported_table_in_a_function_has_keys_and_values() -> Result<()> {
    let function = r#"
    library { function {
      signature { name: "content" input_arg { name: "t" type: DT_RESOURCE } output_arg { name: "k" type: DT_INT64 }
                  output_arg { name: "v" type: DT_FLOAT } }
      node_def { name: "export" op: "LookupTableExportV2" input: "t"
        attr { key: "Tkeys" value { type: DT_INT64 } } attr { key: "Tvalues" value { type: DT_FLOAT } } }
      ret { key: "k" value: "export:keys:0" } ret { key: "v" value: "export:values:0" } } }
    node { name: "call" op: "content" input: "table" }"#;
    let imported =
        Model::from_text(&format!("{TABLE}{FILLED}{function}"))?.import(None, &ImportOptions::new())?;
    let outputs = [imported.value("call")?, imported.value("call:1")?];
    let [keys, values] = imported.graph().compile(&outputs[..])?.run(&[])?;
    assert_eq!((keys, values), (Tensor::from([4i64, 9]), Tensor::from([2.0f32, 3.0])));
    Ok(())
}

#[test]
fn an_empty_table_of_vectors_gives_the_default_vector() -> Result<()> {
    let text = r#"
        saved_model_schema_version: 1 meta_graphs { graph_def {
          node { name: "t" op: "MutableHashTableOfTensorsV2" attr { key: "key_dtype" value { type: DT_INT64 } }
                 attr { key: "value_dtype" value { type: DT_FLOAT } }
                 attr { key: "value_shape" value { shape { dim { size: 2 } } } } }
          node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_INT64 } } }
          node { name: "d" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
                 attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } }
                                                      float_val: 1 float_val: 2 } } } }
          node { name: "y" op: "LookupTableFindV2" input: "t" input: "x" input: "d"
                 attr { key: "Tin" value { type: DT_INT64 } } attr { key: "Tout" value { type: DT_FLOAT } } } } }"#;
    let imported = Model::from_text(text)?.import(None, &ImportOptions::new())?;
    let [y] = imported.graph().compile(imported.value("y")?)?.run(&[Tensor::from([7i64, 8]).view()])?;
    assert_eq!(y, Tensor::from([[1.0f32, 2.0], [1.0, 2.0]]));
    Ok(())
}
