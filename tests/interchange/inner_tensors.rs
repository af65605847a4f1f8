//! Tensors in the functions of a model: fetched by name, as the tensors of the main graph are.

use std::path::PathBuf;

use shapeflow::interchange::{ImportOptions, Imported, Model, SavedModel, read_npz};
use shapeflow::{Error, Result, Tensor};

fn folder(model: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/saved_models").join(model)
}

/// Returns the names of the nodes in functions that are in no branch and no loop.
fn inner_names(imported: &Imported) -> Vec<&str> {
    imported.function_nodes().filter(|node| node.dim_names.is_none()).map(|node| node.name).collect()
}

fn assert_here(error: &Error) {
    assert_eq!(error.location().map(|location| location.file()), Some(file!()), "{error}");
}

#[test]
fn hidden_layers_of_a_saved_model_are_read_by_name() -> Result<()> {
    let saved = SavedModel::load(folder("wide_and_deep"))?;
    let served = saved.signature("serving_default")?;
    let call = "StatefulPartitionedCall_1/StatefulPartitionedCall";
    let fetch = |end: &str| Ok((end.to_string(), served.value(&format!("{call}/{end}"))?));
    let names = ["concat", "MatMul/ReadVariableOp", "Relu", "MatMul_1/ReadVariableOp", "MatMul_1"];
    let mut outputs = names.into_iter().map(fetch).collect::<Result<Vec<_>>>()?;
    outputs.push(("score".to_string(), served.value("score")?));
    outputs.push(("last".to_string(), served.value(&format!("{call}/Identity_1:0"))?));
    let exe = served.graph().compile(&outputs)?;
    let recorded = read_npz(folder("wide_and_deep").join("serving_default.npz"))?;
    let results = exe.run_named(&[("examples", recorded.tensor("in_examples")?.view())])?;
    let get = |name: &str| results.tensor(name)?.to_vec::<f32>();
    let product = |x: &[f32], w: &[f32], columns: usize| -> Vec<f32> {
        let inner = w.len() / columns;
        let at = |i: usize| {
            (0..inner).map(|k| x[i / columns * inner + k] * w[k * columns + i % columns]).sum::<f32>()
        };
        (0..x.len() / inner * columns).map(at).collect()
    };
    let close = |a: &[f32], b: &[f32]| {
        assert_eq!(a.len(), b.len());
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5), "{a:?} {b:?}");
    };
    let hidden = product(&get("concat")?, &get("MatMul/ReadVariableOp")?, 8);
    close(&hidden.iter().map(|x| x.max(0.0)).collect::<Vec<_>>(), &get("Relu")?);
    close(&product(&get("Relu")?, &get("MatMul_1/ReadVariableOp")?, 1), &get("MatMul_1")?);
    close(&get("last")?, &recorded.tensor("out_score")?.to_vec::<f32>()?);

    // The import of one hidden tensor has the nodes that this tensor needs.
    let relu = format!("{call}/Relu");
    let options = ImportOptions::new().signature("serving_default");
    let imported = saved.model().import(Some(&[&relu]), &options)?;
    let exe = imported.graph().compile(("Relu", imported.value(&relu)?))?;
    let again = exe.run_named(&[("examples", recorded.tensor("in_examples")?.view())])?;
    assert_eq!(again.tensor("Relu")?, results.tensor("Relu")?);
    Ok(())
}

#[test]
fn every_inner_name_gives_its_tensor() -> Result<()> {
    for model in ["wide_and_deep", "layers", "embedding", "tables", "causal"] {
        let saved = SavedModel::load(folder(model))?;
        let served = saved.signature("serving_default")?;
        for node in served.function_nodes().filter(|node| node.dim_names.is_none()) {
            for (output, (dtype, shape)) in node.outputs.iter().enumerate() {
                let name = format!("{}:{output}", node.name);
                let imported;
                let value = match served.value(&name) {
                    Err(error) if error.message().contains("must be among the fetches") => {
                        imported = saved.model().import(Some(&[&name]), &ImportOptions::new())?;
                        imported.value(&name)?
                    }
                    value => value?,
                };
                if let Some(dtype) = dtype {
                    assert_eq!(
                        (value.dtype(), value.shape().rank()),
                        (*dtype, shape.rank()),
                        "{}",
                        node.name
                    );
                }
            }
        }
    }
    Ok(())
}

#[test]
fn unknown_inner_names_are_refused_with_the_nearest_name() -> Result<()> {
    let saved = SavedModel::load(folder("wide_and_deep"))?;
    let served = saved.signature("serving_default")?;
    let relu = "StatefulPartitionedCall_1/StatefulPartitionedCall/Relu";
    let error = served.value("Relu").unwrap_err();
    assert_eq!(error.message(), format!("there is no node named Relu; is it {relu}?"));
    assert_here(&error);
    let error = served.value(&format!("{relu}:1")).unwrap_err();
    assert_eq!(error.message(), format!("a tensor must be in the model, got {relu}:1: Relu has 1 output"));
    let misspelled = relu.replace("/Relu", "/Rleu");
    let error = saved.model().import(Some(&[&misspelled]), &ImportOptions::new()).unwrap_err();
    assert_eq!(error.message(), format!("there is no node named {misspelled}; is it {relu}?"));
    assert_here(&error);
    let error = saved.model().import(None, &ImportOptions::new().feed(relu)).unwrap_err();
    assert!(
        error.message().ends_with("which is in the function that StatefulPartitionedCall_1 calls"),
        "{error}"
    );
    let error = saved.signature("serving").unwrap_err();
    assert_eq!(error.help(), Some("is it \"serving_default\"?"));
    assert_here(&error);
    let given = ImportOptions::new().signature("features").shape("ages", [1, 2]);
    let error = saved.model().import(None, &given).unwrap_err();
    assert_eq!(error.help(), Some("is it \"age\"?"));
    assert_here(&error);
    assert_here(&SavedModel::load(folder("no_such_model")).unwrap_err());
    assert_here(&Model::from_text("node {").unwrap_err());
    Ok(())
}

#[test]
fn a_tensor_of_a_loop_has_no_value_outside() -> Result<()> {
    let served = SavedModel::load(folder("lstm"))?.signature("serving_default")?;
    let inner = served.function_nodes().find(|node| node.dim_names.is_some()).expect("the model has a loop");
    let error = served.value(inner.name).unwrap_err();
    assert!(
        error.message().starts_with("a tensor of a branch, a loop or a shared function has no value"),
        "{error}"
    );
    assert!(error.help().is_some() && error.message().contains(inner.name), "{error}");
    Ok(())
}

/// A model whose function asserts `ok` before it gives the constant `k`, and has a node that its result does not need.
const GUARDED: &str = r#"
    node { name: "ok" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } }
           attr { key: "shape" value { shape { } } } }
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "shape" value { shape { } } } }
    node { name: "call" op: "guarded" input: "ok" input: "x" }
    library { function {
        signature { name: "guarded" input_arg { name: "ok" type: DT_BOOL } input_arg { name: "x" type: DT_FLOAT }
                    output_arg { name: "y" type: DT_FLOAT } }
        node_def { name: "check" op: "Assert" input: "ok" input: "ok" attr { key: "T" value { list { type: DT_BOOL } } } }
        node_def { name: "k" op: "Const" input: "^check" attr { key: "dtype" value { type: DT_FLOAT } }
                   attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 2.5 } } } }
        node_def { name: "y" op: "Mul" input: "x" input: "k:output:0" attr { key: "T" value { type: DT_FLOAT } } }
        node_def { name: "unused" op: "Neg" input: "y:z:0" attr { key: "T" value { type: DT_FLOAT } } }
        ret { key: "y" value: "y:z:0" }
    } }
"#;

#[test]
fn a_fetched_tensor_keeps_the_assertions_that_guard_it() -> Result<()> {
    let model = Model::from_text(GUARDED)?;
    let imported = model.import(None, &ImportOptions::new())?;
    let error = imported.value("call/k").unwrap_err();
    assert_eq!(
        error.message(),
        "call/k must be among the fetches of the import, because a node that may fail runs before it"
    );
    let imported = model.import(Some(&["call/k"]), &ImportOptions::new())?;
    let exe = imported.graph().compile(("k", imported.value("call/k")?))?;
    let run = |ok: bool| exe.run_named(&[("ok", Tensor::scalar(ok).view())]);
    assert_eq!(run(true)?.tensor("k")?, &Tensor::scalar(2.5f32));
    assert!(run(false).unwrap_err().message().contains("the assertion of node call/check must hold"));
    Ok(())
}

#[test]
fn a_node_that_no_result_needs_is_built_if_it_is_fetched() -> Result<()> {
    let model = Model::from_text(GUARDED)?;
    let imported = model.import(None, &ImportOptions::new())?;
    assert!(!inner_names(&imported).contains(&"call/unused"));
    assert!(imported.value("call/unused").is_err());
    let imported = model.import(Some(&["call/unused", "call"]), &ImportOptions::new())?;
    let exe = imported.graph().compile([imported.value("call/unused")?, imported.value("call")?])?;
    let [unused, y] = exe.run(&[Tensor::scalar(true).view(), Tensor::scalar(3.0f32).view()])?;
    assert_eq!((unused.item::<f32>()?, y.item::<f32>()?), (-7.5, 7.5));
    Ok(())
}
