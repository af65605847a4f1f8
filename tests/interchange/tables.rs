//! Lookup tables of graphs outside SavedModels: a node of the graph gives a table its content.

use shapeflow::interchange::{ImportOptions, Model, to_graphdef};
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
            let found = x.lookup(&numbers, 7i64)?;
            Ok(vec![ids, found, found.lookup(&names, g.constant("none")?)?])
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
fn a_table_with_repeated_keys_or_rows_as_values_is_exported_as_the_op_of_this_crate() -> Result<()> {
    let rows = Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]);
    let tables = [
        (LookupTable::new(&Tensor::from([7i64, 7]), &Tensor::from([1.0f32, 2.0]))?, Tensor::from(0.0f32)),
        (LookupTable::new(&Tensor::from([7i64, 8]), &rows)?, Tensor::from([0.0f32, 0.0])),
    ];
    for (table, default) in tables {
        let g = Graph::new();
        let x = g.input("x", DType::I64, shape!["n"])?;
        let y = x.lookup(&table, g.constant(default)?)?;
        let text = String::from_utf8_lossy(&to_graphdef(&g, &[y])?).into_owned();
        assert!(text.contains("lookup") && !text.contains("HashTable"));
    }
    Ok(())
}
