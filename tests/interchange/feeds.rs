//! Fed tensors: any tensor of a model can become an input that replaces the output of its producer.

use shapeflow::interchange::{ImportOptions, Imported, Model, tensor_names, to_graphdef};
use shapeflow::{DType, ErrorKind, Graph, Result, Tensor, TensorView, shape};

use super::samples::samples;

/// `neg = -x`, `y = exp(neg)`, `parts = split(x, 2)`, `z = parts[0] + parts[1]`, a placeholder `d` with the default
/// `[1]`, `e = -d`, `f = -e`, and `flat = argmax(x, axis)` with the constant `axis = 1`.
const MODEL: &str = r#"
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "shape" value { shape { dim { size: -1 } dim { size: 2 } } } } }
    node { name: "neg" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "y" op: "Exp" input: "neg" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
           attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 1 } } } }
    node { name: "parts" op: "Split" input: "axis" input: "x" attr { key: "num_split" value { i: 2 } }
           attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "z" op: "AddV2" input: "parts" input: "parts:1" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "one" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: 1 } } } }
    node { name: "d" op: "PlaceholderWithDefault" input: "one" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "shape" value { shape { dim { size: -1 } } } } }
    node { name: "e" op: "Neg" input: "d" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "f" op: "Neg" input: "e" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "flat" op: "ArgMax" input: "x" input: "axis" attr { key: "T" value { type: DT_FLOAT } } }
    versions { producer: 1882 }
"#;

fn import(fetches: &[&str], feeds: &[&str]) -> Result<Imported> {
    import_text(MODEL, fetches, feeds)
}

fn import_text(text: &str, fetches: &[&str], feeds: &[&str]) -> Result<Imported> {
    let options = feeds.iter().fold(ImportOptions::new(), |options, feed| options.feed(*feed));
    Model::from_text(text)?.import((!fetches.is_empty()).then_some(fetches), &options)
}

/// Compiles and runs the graph with feeds by input name, and returns the fetched tensors.
fn run(imported: &Imported, fetches: &[&str], feeds: &[(&str, Tensor)]) -> Result<Vec<Tensor>> {
    let values = fetches.iter().map(|fetch| imported.value(fetch)).collect::<Result<Vec<_>>>()?;
    let names: Vec<String> = (0..values.len()).map(|number| format!("r{number}")).collect();
    let named: Vec<_> = names.iter().map(String::as_str).zip(values).collect();
    let exe = imported.graph().compile(&named[..])?;
    let feeds: Vec<(&str, TensorView<'_>)> =
        feeds.iter().map(|(name, tensor)| (*name, tensor.view())).collect();
    let results = exe.run_named(&feeds)?;
    names.iter().map(|name| results.tensor(name).cloned()).collect()
}

fn inputs(imported: &Imported) -> Vec<String> {
    let text = imported.inputs().map(|(name, value)| format!("{name}: {}{}", value.dtype(), value.shape()));
    text.collect()
}

#[test]
fn an_interior_tensor_can_be_fed() -> Result<()> {
    for feed in ["neg", "neg:0"] {
        let imported = import(&["y"], &[feed])?;
        assert_eq!(inputs(&imported), ["neg: f32[?, 2]"]);
        let [y] = &run(&imported, &["y"], &[("neg", Tensor::from([[0.0f32, 0.0]]))])?[..] else { panic!() };
        assert_eq!(*y, Tensor::from([[1.0f32, 1.0]]));
        assert_eq!(imported.input_name(feed), Some("neg"));
    }
    // A fed tensor may be fetched, or not be needed by any fetched tensor.
    let imported = import(&["neg", "y"], &["neg", "x", "one"])?;
    assert_eq!(inputs(&imported).len(), 3);
    let (neg, x) = (Tensor::from([[0.0f32, 2.0]]), Tensor::from([[7.0f32, 7.0], [7.0, 7.0]]));
    let feeds = [("neg", neg.clone()), ("x", x), ("one", Tensor::from([3.0f32]))];
    assert_eq!(run(&imported, &["neg"], &feeds)?, [neg]);
    Ok(())
}

#[test]
fn a_fed_placeholder_with_default_is_an_input() -> Result<()> {
    assert_eq!(run(&import(&["e"], &[])?, &["e"], &[])?, [Tensor::from([-1.0f32])]);
    let imported = import(&["e"], &["d"])?;
    assert_eq!(inputs(&imported), ["d: f32[?]"]);
    assert_eq!(
        run(&imported, &["e"], &[("d", Tensor::from([2.0f32, 3.0]))])?,
        [Tensor::from([-2.0f32, -3.0])]
    );
    // A feed may have other sizes than the default, so nodes after it do not have the default's sizes.
    assert_eq!(inputs(&import(&["f"], &["e"])?), ["e: f32[?]"]);
    Ok(())
}

#[test]
fn one_output_can_be_fed_and_another_computed() -> Result<()> {
    let imported = import(&["z", "parts:1"], &["parts:1"])?;
    assert_eq!(inputs(&imported), ["parts:1: f32[?, 1]", "x: f32[?, 2]"]);
    let feeds = [("x", Tensor::from([[1.0f32, 2.0]])), ("parts:1", Tensor::from([[10.0f32]]))];
    assert_eq!(
        run(&imported, &["z", "parts:1", "parts"], &feeds)?,
        [Tensor::from([[11.0f32]]), Tensor::from([[10.0f32]]), Tensor::from([[1.0f32]])]
    );
    // If both outputs are fed, no node needs x.
    let imported = import(&["z"], &["parts", "parts:1"])?;
    assert_eq!(inputs(&imported), ["parts: f32[?, 1]", "parts:1: f32[?, 1]"]);
    let imported = import(&["y"], &["neg", "parts:1"])?;
    let error = imported.value("parts").unwrap_err();
    assert!(error.message().contains("must be among the fetches of the import"), "{error}");
    Ok(())
}

#[test]
fn a_constant_can_be_fed() -> Result<()> {
    let imported = import(&["flat"], &["axis"])?;
    assert_eq!(inputs(&imported), ["axis: i32[]", "x: f32[?, 2]"]);
    let x = Tensor::from([[1.0f32, 2.0], [3.0, 0.0], [0.0, 0.0]]);
    for (axis, best) in [(0i32, vec![1i64, 0]), (1, vec![1, 0, 0]), (-2, vec![1, 0])] {
        let feeds = [("x", x.clone()), ("axis", Tensor::scalar(axis))];
        assert_eq!(run(&imported, &["flat"], &feeds)?[0].to_vec::<i64>()?, best, "{axis}");
    }
    Ok(())
}

#[test]
fn producers_of_fed_tensors_may_be_unknown_or_refused() -> Result<()> {
    let text = r#"
    node { name: "file" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } } }
    node { name: "decoded" op: "FrobnicateFile" input: "file" }
    node { name: "image" op: "Relu" input: "decoded" attr { key: "T" value { type: DT_HALF } } }
    node { name: "w" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "shape" value { shape { dim { size: 2 } dim { size: 3 } } } } }
    node { name: "bad" op: "MatMul" input: "w" input: "w" attr { key: "T" value { type: DT_FLOAT } }
           attr { key: "_output_shapes" value { list { shape { dim { size: 2 } dim { size: -1 } } } } } }
    node { name: "after" op: "Relu" input: "bad" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "blind" op: "FrobnicateFile" input: "file" }"#;
    assert_eq!(import_text(text, &["image"], &[]).unwrap_err().kind(), ErrorKind::UnknownOp);
    let imported = import_text(text, &["image", "after"], &["decoded", "bad"])?;
    assert_eq!(inputs(&imported), ["decoded: f16[..]", "bad: f32[2, ?]"]);
    assert!(imported.check().is_ok());
    assert_eq!(imported.value("after")?.shape().to_string(), "[2, ?]");
    // Without fetches, all nodes are imported, except the nodes that only producers of fed tensors need.
    let all = import_text(text, &[], &["decoded", "bad", "blind"]);
    let error = all.unwrap_err();
    assert_eq!(error.message(), "the dtype of a fed tensor must be known, got blind of FrobnicateFile");
    let without = text.split("node { name: \"blind\"").next().unwrap();
    let imported = import_text(without, &[], &["decoded", "bad"])?;
    assert_eq!(imported.fetches().collect::<Vec<_>>(), ["image", "after"]);
    let nodes: Vec<&str> = imported.nodes().map(|node| node.name).collect();
    assert_eq!(nodes, ["decoded", "image", "bad", "after"]);
    Ok(())
}

#[test]
fn a_fed_tensor_must_be_in_the_model() -> Result<()> {
    let refused = |feed: &str| import(&["y"], &[feed]).unwrap_err().message().to_string();
    assert_eq!(refused("negg"), "a fed tensor must be in the model, got negg; is it neg?");
    assert_eq!(refused("something"), "a fed tensor must be in the model, got something; try x");
    let error = import(&["something"], &[]).unwrap_err();
    assert_eq!(error.message(), "there is no node named something; try y, z, f, flat");
    assert_eq!(refused("neg:1"), "a fed tensor must be in the model, got neg:1: Neg has 1 output");
    assert_eq!(refused("x:1"), "a fed tensor must be in the model, got x:1: Placeholder has 1 output");
    let error = import(&["yy"], &[]).unwrap_err();
    assert_eq!(error.message(), "there is no node named yy; is it y?");
    let error = import(&["y:7"], &[]).unwrap_err();
    assert!(error.message().starts_with("a tensor must be in the model, got y:7: "), "{error}");
    assert!(error.message().ends_with(" has 1 output"), "{error}");
    assert!(error.location().is_some());
    let imported = import(&["y:0"], &[])?;
    let error = imported.value("z").unwrap_err();
    assert_eq!(
        error.message(),
        "z is a node of the model, but it was not imported: none of the fetches y needs it"
    );
    Ok(())
}

#[test]
fn fed_tensors_take_the_shapes_of_the_options() -> Result<()> {
    let model = Model::from_text(MODEL)?;
    let options = ImportOptions::new().feed("neg").shape("neg:0", shape!["n", 2]);
    let imported = model.import(Some(&["y"]), &options)?;
    assert_eq!(imported.value("y")?.shape().to_string(), "[n, 2]");
    // Named dimensions of the inferred shape are kept.
    let options = ImportOptions::new().feed("neg").shape("x", shape!["rows", 2]);
    assert_eq!(model.import(Some(&["y"]), &options)?.value("y")?.shape().to_string(), "[rows, 2]");
    Ok(())
}

#[test]
fn readers_of_a_fed_tensor_skip_the_checks_of_its_producer() -> Result<()> {
    let text = r#"
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "shape" value { shape { dim { size: -1 } } } } }
    node { name: "no" op: "Const" attr { key: "dtype" value { type: DT_BOOL } }
           attr { key: "value" value { tensor { dtype: DT_BOOL tensor_shape { } bool_val: false } } } }
    node { name: "check" op: "Assert" input: "no" input: "x" attr { key: "T" value { list { type: DT_FLOAT } } } }
    node { name: "a" op: "Neg" input: "x" input: "^check" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "b" op: "Neg" input: "a" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "c" op: "Neg" input: "a" input: "^a" attr { key: "T" value { type: DT_FLOAT } } }"#;
    let fed = ("a", Tensor::from([1.0f32]));
    let imported = import_text(text, &["b"], &["a"])?;
    assert_eq!(run(&imported, &["b"], std::slice::from_ref(&fed))?, [Tensor::from([-1.0f32])]);
    // A control edge refers to the node, so the node runs with its checks.
    let imported = import_text(text, &["c"], &["a"])?;
    assert_eq!(imported.inputs().count(), 2);
    let error = run(&imported, &["c"], &[fed, ("x", Tensor::from([1.0f32]))]).unwrap_err();
    assert!(error.message().contains("the assertion of node check must hold"), "{error}");
    Ok(())
}

#[test]
fn names_of_a_signature_can_be_fed() -> Result<()> {
    let nodes = MODEL.replace("versions { producer: 1882 }", "");
    let text = format!(
        "saved_model_schema_version: 1\nmeta_graphs {{ graph_def {{ {nodes} versions {{ producer: 1882 }} }}\n\
         signature_def {{ key: \"serving_default\" value {{\n\
         inputs {{ key: \"middle\" value {{ name: \"neg:0\" }} }} outputs {{ key: \"out\" value {{ name: \"y:0\" }} }} }} }} }}"
    );
    let imported = Model::from_text(&text)?.import(None, &ImportOptions::new().feed("middle"))?;
    assert_eq!(inputs(&imported), ["neg: f32[?, 2]"]);
    assert_eq!(imported.input_name("middle"), Some("neg"));
    assert_eq!(imported.value("out")?.dtype(), DType::F32);
    Ok(())
}

/// Feeding a tensor its computed value changes no result, for every tensor of every sample.
#[test]
fn feeding_a_tensor_its_own_value_changes_nothing() -> Result<()> {
    let mut fed = 0;
    for sample in samples() {
        let g = Graph::new();
        let outputs = (sample.build)(&g)?;
        let model = Model::from_bytes(to_graphdef(&g, &outputs)?)?;
        let unfed = model.import(None, &ImportOptions::new())?;
        let names = tensor_names(&g, &outputs)?;
        let fetches: Vec<&str> = names.iter().map(String::as_str).collect();
        let feeds: Vec<(&str, Tensor)> = sample.feeds.clone();
        let expected = run(&unfed, &fetches, &feeds)?;
        let tensors = unfed.nodes().flat_map(|node| {
            let name = node.name.to_string();
            (0..node.outputs.len()).map(move |output| format!("{name}:{output}"))
        });
        for tensor in
            tensors.filter(|tensor| sample.feeds.iter().all(|(name, _)| format!("{name}:0") != *tensor))
        {
            let value = run(&unfed, &[&tensor], &feeds)?.remove(0);
            let imported = model.import(Some(&fetches), &ImportOptions::new().feed(tensor.as_str()))?;
            let name = imported.input_name(&tensor).unwrap().to_string();
            let mut given = feeds.clone();
            given.retain(|(name, _)| imported.inputs().any(|(input, _)| input == *name));
            given.push((&name, value));
            let got = run(&imported, &fetches, &given)
                .unwrap_or_else(|error| panic!("{} with {tensor} fed: {error}", sample.name));
            for ((fetch, got), expected) in fetches.iter().zip(&got).zip(&expected) {
                assert_eq!(got, expected, "{} with {tensor} fed: {fetch}", sample.name);
            }
            fed += 1;
        }
    }
    assert!(fed > 100, "{fed}");
    Ok(())
}
