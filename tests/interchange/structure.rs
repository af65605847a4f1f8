//! Import of functions, branches, assertions, control edges, placeholders and constants, of unknown and refused nodes,
//! and of old spellings of ops.

use shapeflow::interchange::{ImportOptions, Imported, Model};
use shapeflow::{DType, Error, ErrorKind, Result, Tensor, TensorView, shape};

const X: &str = r#"
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "shape" value { shape { dim { size: -1 } } } } }
"#;

fn import(text: &str) -> Result<Imported> {
    import_with(text, &ImportOptions::new())
}

fn import_with(text: &str, options: &ImportOptions) -> Result<Imported> {
    let text = format!("{text}\nversions {{ producer: 1882 }}");
    Model::from_text(&text)?.import(None, options)
}

fn run(imported: &Imported, fetch: &str, x: &[f32]) -> Result<Vec<f32>> {
    let exe = imported.graph().compile(imported.value(fetch)?)?;
    let inputs = imported.inputs().count();
    let sizes = [x.len()];
    let views = [TensorView::new(&sizes, x)?];
    exe.run_all(&views[..inputs.min(1)])?[0].to_vec()
}

/// Two functions: `double` computes `2 * a`, and `outer` computes `-double(a)`.
const LIBRARY: &str = r#"
    library {
      function {
        signature { name: "double" input_arg { name: "a" type_attr: "T" } output_arg { name: "b" type_attr: "T" } }
        node_def { name: "sum" op: "AddV2" input: "a" input: "a" attr { key: "T" value { placeholder: "T" } } }
        ret { key: "b" value: "sum:z:0" }
      }
      function {
        signature { name: "outer" input_arg { name: "a" type: DT_FLOAT } output_arg { name: "b" type: DT_FLOAT }
                    output_arg { name: "same" type: DT_FLOAT } }
        node_def { name: "call" op: "PartitionedCall" input: "a"
          attr { key: "Tin" value { list { type: DT_FLOAT } } } attr { key: "Tout" value { list { type: DT_FLOAT } } }
          attr { key: "f" value { func { name: "double" attr { key: "T" value { type: DT_FLOAT } } } } } }
        node_def { name: "neg" op: "Neg" input: "call:output:0" attr { key: "T" value { type: DT_FLOAT } } }
        ret { key: "b" value: "neg:y:0" } ret { key: "same" value: "a" }
      }
    }
"#;

#[test]
fn functions_are_inlined() -> Result<()> {
    let call = r#"
      node { name: "f" op: "StatefulPartitionedCall" input: "x"
        attr { key: "Tin" value { list { type: DT_FLOAT } } }
        attr { key: "Tout" value { list { type: DT_FLOAT type: DT_FLOAT } } }
        attr { key: "f" value { func { name: "outer" } } } }
      node { name: "g" op: "double" input: "f" attr { key: "T" value { type: DT_FLOAT } } }"#;
    let imported = import(&format!("{X}{LIBRARY}{call}"))?;
    assert_eq!(run(&imported, "f", &[1.0, 2.0])?, [-2.0, -4.0]);
    assert_eq!(run(&imported, "f:1", &[1.0, 2.0])?, [1.0, 2.0]);
    assert_eq!(run(&imported, "g:0", &[1.0])?, [-4.0]);
    assert!(imported.graph().to_string().contains("f/call/sum"));
    assert_eq!(imported.fetches().collect::<Vec<_>>(), ["g"]);
    let recursive = LIBRARY.replace("name: \"double\" attr", "name: \"outer\" attr");
    let error = import(&format!("{X}{recursive}{call}")).unwrap_err();
    assert_eq!(error.message(), "calls may nest at most 32 levels: outer calls outer");
    Ok(())
}

/// TensorFlow writes such an edge for an op under `tf.control_dependencies` of a loop's state.
#[test]
fn a_control_edge_may_come_from_an_argument() -> Result<()> {
    let text = r#"
        library { function {
          signature { name: "f" input_arg { name: "a" type: DT_FLOAT } input_arg { name: "b" type: DT_FLOAT }
                      output_arg { name: "c" type: DT_FLOAT } }
          node_def { name: "neg" op: "Neg" input: "b" input: "^a" attr { key: "T" value { type: DT_FLOAT } } }
          ret { key: "c" value: "neg:y:0" } } }
        node { name: "checked" op: "CheckNumerics" input: "x" attr { key: "T" value { type: DT_FLOAT } }
               attr { key: "message" value { s: "x has" } } }
        node { name: "y" op: "f" input: "checked" input: "x" }"#;
    let imported = import(&format!("{X}{text}"))?;
    assert_eq!(run(&imported, "y", &[1.0, -2.0])?, [-1.0, 2.0]);
    let error = run(&imported, "y", &[f32::NAN]).unwrap_err();
    assert!(error.message().contains("x has"), "{error}");
    Ok(())
}

#[test]
fn attributes_pass_through_nested_calls() -> Result<()> {
    let library = r#"
        library {
          function {
            signature { name: "inner" input_arg { name: "a" type: DT_FLOAT } output_arg { name: "b" type_attr: "U" } }
            node_def { name: "cast" op: "Cast" input: "a" attr { key: "SrcT" value { type: DT_FLOAT } }
                       attr { key: "DstT" value { placeholder: "U" } } }
            ret { key: "b" value: "cast:y:0" }
          }
          function {
            signature { name: "middle" input_arg { name: "a" type: DT_FLOAT } output_arg { name: "b" type_attr: "T" } }
            node_def { name: "call" op: "inner" input: "a" attr { key: "U" value { placeholder: "T" } } }
            ret { key: "b" value: "call:b:0" }
          }
        }"#;
    let call = |attr: &str| format!("{X}{library} node {{ name: \"f\" op: \"middle\" input: \"x\" {attr} }}");
    for (dtype, expected) in [("DT_DOUBLE", DType::F64), ("DT_INT32", DType::I32)] {
        let imported = import(&call(&format!("attr {{ key: \"T\" value {{ type: {dtype} }} }}")))?;
        assert_eq!(imported.value("f")?.dtype(), expected);
    }
    let error = import(&call(""))?.check().unwrap_err();
    assert_eq!(error.message(), "the call must give the attribute U, which is DstT here");
    Ok(())
}

fn branch(predicate: &str) -> String {
    format!(
        r#"{X}{LIBRARY}
      node {{ name: "p" op: "Const" attr {{ key: "dtype" value {{ type: DT_BOOL }} }}
             attr {{ key: "value" value {{ tensor {{ dtype: DT_BOOL tensor_shape {{ }} bool_val: {predicate} }} }} }} }}
      node {{ name: "not" op: "LogicalNot" input: "p" }}
      node {{ name: "y" op: "StatelessIf" input: "not" input: "x"
        attr {{ key: "Tcond" value {{ type: DT_BOOL }} }} attr {{ key: "Tin" value {{ list {{ type: DT_FLOAT }} }} }}
        attr {{ key: "Tout" value {{ list {{ type: DT_FLOAT }} }} }}
        attr {{ key: "then_branch" value {{ func {{ name: "double" attr {{ key: "T" value {{ type: DT_FLOAT }} }} }} }} }}
        attr {{ key: "else_branch" value {{ func {{ name: "outer" }} }} }} }}"#
    )
}

/// Returns a graph whose result is `2*x` if the predicate is true, else `-2*x`. The predicate is a constant of `dtype`,
/// or a placeholder if `value` is `None`.
fn branch_on(dtype: &str, value: Option<&str>) -> String {
    let predicate = match value {
        Some(value) => format!(
            r#"node {{ name: "p" op: "Const" attr {{ key: "dtype" value {{ type: {dtype} }} }}
               attr {{ key: "value" value {{ tensor {{ dtype: {dtype} tensor_shape {{ }} {value} }} }} }} }}"#
        ),
        None => format!(
            r#"node {{ name: "p" op: "Placeholder" attr {{ key: "dtype" value {{ type: {dtype} }} }}
               attr {{ key: "shape" value {{ shape {{ }} }} }} }}"#
        ),
    };
    let function = |name: &str, op: &str| {
        format!(
            r#"function {{ signature {{ name: "{name}" input_arg {{ name: "a" type: DT_FLOAT }}
                 output_arg {{ name: "b" type: DT_FLOAT }} }}
               node_def {{ name: "y" op: "{op}" input: "a" attr {{ key: "T" value {{ type: DT_FLOAT }} }} }}
               ret {{ key: "b" value: "y:y:0" }} }}"#
        )
    };
    format!(
        r#"{X}{predicate} library {{ {} {} }}
      node {{ name: "y" op: "StatelessIf" input: "p" input: "x"
        attr {{ key: "Tcond" value {{ type: {dtype} }} }} attr {{ key: "Tin" value {{ list {{ type: DT_FLOAT }} }} }}
        attr {{ key: "Tout" value {{ list {{ type: DT_FLOAT }} }} }}
        attr {{ key: "then_branch" value {{ func {{ name: "negated" }} }} }}
        attr {{ key: "else_branch" value {{ func {{ name: "kept" }} }} }} }}"#,
        function("negated", "Neg"),
        function("kept", "Abs"),
    )
}

#[test]
fn a_predicate_is_true_as_in_tensorflow() -> Result<()> {
    let constants = [
        ("DT_FLOAT", "float_val: -0.0", false),
        ("DT_FLOAT", "float_val: nan", true),
        ("DT_DOUBLE", "double_val: -0.0", false),
        ("DT_DOUBLE", "double_val: 0.5", true),
        ("DT_INT64", "int64_val: 256", true),
        ("DT_STRING", "string_val: ''", false),
        ("DT_STRING", "string_val: '0'", true),
    ];
    let result = |is_true| if is_true { [-3.0] } else { [3.0] };
    for (dtype, value, is_true) in constants {
        let imported = import(&branch_on(dtype, Some(value)))?;
        assert_eq!(run(&imported, "y", &[3.0])?, result(is_true), "{dtype} {value}");
    }
    let fed = [
        ("DT_FLOAT", Tensor::from(-0.0f32), false),
        ("DT_FLOAT", Tensor::from(f32::NAN), true),
        ("DT_INT64", Tensor::from(256i64), true),
        ("DT_STRING", Tensor::from_strings(&[], &[""]).unwrap(), false),
        ("DT_STRING", Tensor::from_strings(&[], &["0"]).unwrap(), true),
    ];
    for (dtype, predicate, is_true) in fed {
        let imported = import(&branch_on(dtype, None))?;
        let exe = imported.graph().compile(imported.value("y")?)?;
        let x = Tensor::from([3.0f32]);
        let results = exe.feed("x", &x).feed("p", &predicate).run()?;
        assert_eq!(results.tensor_at(0)?.to_vec::<f32>()?, result(is_true), "{dtype} {predicate}");
    }
    Ok(())
}

#[test]
fn a_constant_predicate_chooses_its_branch() -> Result<()> {
    assert_eq!(run(&import(&branch("false"))?, "y", &[3.0])?, [6.0]);
    assert_eq!(run(&import(&branch("true"))?, "y", &[3.0])?, [-6.0]);
    let fed = branch("true").replace("\"Const\" attr", "\"Placeholder\" attr");
    // `double` returns one value, and `outer` returns two.
    let error = import(&fed)?.value("y").map(drop).unwrap_err();
    assert!(error.message().contains("all branches must return the same number of values"), "{error}");
    assert!(error.to_string().contains("--> node y"), "{error}");
    Ok(())
}

/// `y = -x`, which runs after an assertion that every element of x is positive: a control edge leads from the assertion
/// to a NoOp, and another control edge leads from the NoOp to y. `z = -x` runs without the assertion.
const ASSERTED: &str = r#"
    node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "value" value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0 } } } }
    node { name: "axes" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
           attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 0 } } } }
    node { name: "text" op: "Const" attr { key: "dtype" value { type: DT_STRING } }
           attr { key: "value" value { tensor { dtype: DT_STRING tensor_shape { } string_val: "x is" } } } }
    node { name: "positive" op: "Greater" input: "x" input: "zero" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "all" op: "All" input: "positive" input: "axes" attr { key: "Tidx" value { type: DT_INT32 } } }
    node { name: "check" op: "Assert" input: "all" input: "text" input: "x"
           attr { key: "T" value { list { type: DT_STRING type: DT_FLOAT } } } }
    node { name: "deps" op: "NoOp" input: "^check" }
    node { name: "y" op: "Neg" input: "x" input: "^deps" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "z" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
"#;

#[test]
fn an_assertion_is_checked_when_a_dependent_node_runs() -> Result<()> {
    let imported = import(&format!("{X}{ASSERTED}"))?;
    assert_eq!(run(&imported, "y", &[1.0, 2.0])?, [-1.0, -2.0]);
    assert_eq!(run(&imported, "z", &[1.0, -2.0])?, [-1.0, 2.0]);
    let error = run(&imported, "y", &[1.0, -2.0]).unwrap_err();
    assert!(error.message().contains("the assertion of node check must hold: x is [1.0, -2.0]"), "{error}");
    // Braces in the text of the model stand for themselves.
    let imported = import(&format!("{X}{}", ASSERTED.replace("x is", "{} is {")))?;
    let error = run(&imported, "y", &[1.0, -2.0]).unwrap_err();
    assert!(error.message().contains("must hold: {} is { [1.0, -2.0]"), "{error}");
    Ok(())
}

#[test]
fn old_spellings_put_parameters_first() -> Result<()> {
    let text = r#"
    node { name: "axis" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
           attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
    node { name: "joined" op: "Concat" input: "axis" input: "x" input: "x" attr { key: "N" value { i: 2 } }
           attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "parts" op: "Split" input: "axis" input: "joined" attr { key: "num_split" value { i: 2 } }
           attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "size" op: "Size" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    "#;
    let imported = import(&format!("{X}{text}"))?;
    assert_eq!(imported.value("joined")?.shape().to_string(), "[2*?]");
    assert_eq!(run(&imported, "parts:1", &[1.0, 2.0])?, [1.0, 2.0]);
    assert_eq!(imported.value("size")?.dtype(), DType::I32);
    assert_eq!(imported.value("parts:2").unwrap_err().kind(), ErrorKind::Attribute);
    Ok(())
}

#[test]
fn all_unknown_ops_are_listed_at_once() -> Result<()> {
    let text = r#"
    node { name: "a" op: "Frobnicate" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "b" op: "Twiddle" input: "a" }
    node { name: "c" op: "Frobnicate" input: "b:1" }
    node { name: "d" op: "Relu" input: "c" attr { key: "T" value { type: DT_DOUBLE } } }
    node { name: "e" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }"#;
    let error = import(&format!("{X}{text}")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::UnknownOp);
    assert_eq!(error.message(), "every op must be known, got 2 unknown ops: Frobnicate (a, c); Twiddle (b)");
    let help = "`ImportOptions::ops(Registry::builtin().with(&OP))`";
    assert!(error.to_string().contains(help), "{error}");
    // Nodes that no fetched tensor needs are not checked, and neither are nodes of a function that no output needs.
    let function = r#"
    library { function { signature { name: "f" input_arg { name: "a" type: DT_FLOAT } output_arg { name: "b" type: DT_FLOAT } }
      node_def { name: "unneeded" op: "Frobnicate" input: "a" }
      node_def { name: "y" op: "Neg" input: "a" attr { key: "T" value { type: DT_FLOAT } } }
      ret { key: "b" value: "y:y:0" } } }
    node { name: "y" op: "f" input: "x" }"#;
    assert_eq!(run(&import(&format!("{X}{function}"))?, "y", &[1.0])?, [-1.0]);
    let needed = function.replace("input: \"a\" attr", "input: \"a\" input: \"^unneeded\" attr");
    let error = import(&format!("{X}{needed}")).unwrap_err();
    assert_eq!(error.message(), "every op must be known, got 1 unknown op: Frobnicate (f/unneeded)");
    // A branch that a constant does not take is not built.
    let branch = branch_on("DT_FLOAT", Some("float_val: 0")).replace("op: \"Neg\"", "op: \"Frobnicate\"");
    assert_eq!(run(&import(&branch)?, "y", &[3.0])?, [3.0]);
    let model = Model::from_text(&format!("{X}{text}"))?;
    assert!(model.import(Some(&["e"]), &ImportOptions::new()).is_ok());

    let nodes = model.import(None, &ImportOptions::new().allow_unknown(true))?;
    let listed: Vec<String> = nodes
        .nodes()
        .map(|node| {
            let outputs = node.outputs.iter().map(|(dtype, shape)| match dtype {
                Some(dtype) => format!("{dtype}{shape}"),
                None => format!("?{shape}"),
            });
            format!("{}: {}", node.name, outputs.collect::<Vec<_>>().join(" "))
        })
        .collect();
    assert_eq!(
        listed,
        ["x: f32[?]", "a: f32[..]", "b: ?[..] ?[..]", "c: f64[..]", "d: f64[..]", "e: f32[?]"]
    );
    let error = nodes.graph().compile(nodes.value("d")?).unwrap_err();
    assert!(error.message().contains("shapeflow cannot compute this op"), "{error}");
    assert!(error.to_string().contains("--> node"), "{error}");
    Ok(())
}

#[test]
fn an_op_without_a_body_for_a_dtype_names_this_dtype_and_the_dtypes_that_it_takes() -> Result<()> {
    let text = r#"node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }
        node { name: "y" op: "DivNoNan" input: "x" input: "x" attr { key: "T" value { type: DT_INT32 } } }"#;
    let nodes = import(text)?;
    let error = nodes.graph().compile(nodes.value("y")?).unwrap_err();
    let requirement = "the element type must be a float or a complex number, got i32 in operand 0";
    let expected = format!("shapeflow cannot compute this op: {requirement}");
    assert!(error.message().ends_with(&expected), "{error}");
    assert_eq!((error.node(), error.op()), (Some("y"), Some("DivNoNan")));
    Ok(())
}

#[test]
fn inference_goes_on_after_a_refused_node() -> Result<()> {
    let text = r#"
    node { name: "w" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "shape" value { shape { dim { size: 2 } dim { size: 3 } } } } }
    node { name: "bad" op: "MatMul" input: "w" input: "w" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "after" op: "Relu" input: "bad" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "fine" op: "Relu" input: "w" attr { key: "T" value { type: DT_FLOAT } } }"#;
    let imported = import(text)?;
    let errors: Vec<(&str, Option<&Error>)> = imported.nodes().map(|node| (node.name, node.error)).collect();
    assert!(errors.iter().all(|(name, error)| error.is_some() == (*name == "bad")));
    assert!(errors[1].1.unwrap().to_string().contains("--> node bad"), "{}", errors[1].1.unwrap());
    assert_eq!(imported.value("fine")?.shape().to_string(), "[2, 3]");
    assert_eq!(imported.value("after").unwrap_err().node(), Some("bad"));
    Ok(())
}

#[test]
fn options_give_placeholders_their_shapes() -> Result<()> {
    let text = format!(
        "{X} node {{ name: \"y\" op: \"Neg\" input: \"x\" attr {{ key: \"T\" value {{ type: DT_FLOAT }} }} }}"
    );
    let error = import_with(&text, &ImportOptions::new().shape("x", shape!["n", 4])).unwrap_err();
    assert_eq!(error.message(), "x is declared [?]: the rank must be 1, got 2 in [n, 4]");
    let text = text.replace("dim { size: -1 }", "unknown_rank: true");
    let imported = import_with(&text, &ImportOptions::new().shape("x:0", shape!["n", 4]))?;
    assert_eq!(imported.value("y")?.shape().to_string(), "[n, 4]");
    let error = import_with(&text, &ImportOptions::new().shape("y", shape![2])).unwrap_err();
    assert_eq!(
        error.message(),
        "only placeholders and fed tensors may be given shapes, got y; placeholders are x"
    );
    // The error of a node that does not take such a shape says where the shape comes from.
    let sums = format!(
        r#"{text} node {{ name: "axis" op: "Const" attr {{ key: "dtype" value {{ type: DT_INT32 }} }}
             attr {{ key: "value" value {{ tensor {{ dtype: DT_INT32 int_val: 1 }} }} }} }}
           node {{ name: "sum" op: "Sum" input: "y" input: "axis" attr {{ key: "T" value {{ type: DT_FLOAT }} }} }}"#
    );
    assert!(import_with(&sums, &ImportOptions::new().shape("x", shape![2, 3]))?.value("sum").is_ok());
    let error = import_with(&sums, &ImportOptions::new().shape("x", shape!["n"]))?.value("sum").unwrap_err();
    let note = "x was given the shape [n]; the model declares [..]";
    assert!(error.to_string().contains(note), "{error}");
    // Producers up to version 21 wrote an unknown rank as a scalar shape.
    let old = text.replace("unknown_rank: true", "");
    let imported = Model::from_text(&old)?.import(None, &ImportOptions::new())?;
    assert_eq!(imported.value("y")?.shape().rank(), None);
    assert_eq!(import(&old)?.value("y")?.shape().rank(), Some(0));
    Ok(())
}

#[test]
fn the_last_element_of_a_constant_repeats() -> Result<()> {
    let text = r#"node { name: "c" op: "Const" attr { key: "dtype" value { type: DT_HALF } } attr { key: "value" value {
        tensor { dtype: DT_HALF tensor_shape { dim { size: 3 } } half_val: 15360 half_val: 16384 } } } }
        node { name: "y" op: "Cast" input: "c" attr { key: "SrcT" value { type: DT_HALF } }
               attr { key: "DstT" value { type: DT_FLOAT } } }"#;
    let imported = import(text)?;
    let [y] = imported.graph().compile(imported.value("y")?)?.run(&[])?;
    assert_eq!(y, Tensor::from([1.0f32, 2.0, 2.0]));
    Ok(())
}

/// A branch of TensorFlow 1 with three results: each side computes an expensive node once, and each `Merge` reads it.
#[test]
fn a_branch_with_several_results_is_imported_once() -> Result<()> {
    let t = r#"attr { key: "T" value { type: DT_FLOAT } }"#;
    let mut text = format!(
        r#"{X} node {{ name: "p" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_BOOL }} }}
             attr {{ key: "shape" value {{ shape {{ }} }} }} }}
           node {{ name: "c/switch" op: "Switch" input: "x" input: "p" {t} }}
           node {{ name: "c/exp" op: "Exp" input: "c/switch:1" {t} }}
           node {{ name: "c/neg" op: "Neg" input: "c/switch" {t} }}"#
    );
    for (number, op) in ["Abs", "Square", "Sign"].into_iter().enumerate() {
        // The data of each further branch is computed after the `Merge` before it.
        text += &format!(
            r#"node {{ name: "data{number}" op: "{op}" input: "x" {t} }}
               node {{ name: "c/switch{number}" op: "Switch" input: "data{number}" input: "p" {t} }}
               node {{ name: "c/true{number}" op: "AddV2" input: "c/exp" input: "c/switch{number}:1" {t} }}
               node {{ name: "c/false{number}" op: "AddV2" input: "c/neg" input: "c/switch{number}" {t} }}
               node {{ name: "c/Merge_{number}" op: "Merge" input: "c/false{number}" input: "c/true{number}"
                 attr {{ key: "N" value {{ i: 2 }} }} {t} }}
               node {{ name: "after{number}" op: "Identity" input: "c/Merge_{number}" {t} }}"#
        );
    }
    // A second branch needs a result of the first.
    text += &format!(
        r#"node {{ name: "c/again" op: "Switch" input: "c/Merge_0" input: "p" {t} }}
           node {{ name: "c/double" op: "AddV2" input: "c/again:1" input: "c/again:1" {t} }}
           node {{ name: "c/Merge_3" op: "Merge" input: "c/again" input: "c/double" attr {{ key: "N" value {{ i: 2 }} }} {t} }}"#
    );
    let imported = import(&text)?;
    let graph = imported.graph().to_string();
    assert_eq!(graph.matches(" exp(").count(), 1, "{graph}");
    assert_eq!(graph.matches(" cond(").count(), 2, "{graph}");
    let fetched = ["after0", "after1", "c/Merge_2", "c/Merge_2:1", "c/Merge_3", "c/Merge_3:1"];
    let values = fetched.map(|name| imported.value(name).unwrap());
    let exe = imported.graph().compile(&values[..])?;
    let x = Tensor::from([0.0f32, -2.0]);
    for (p, expected) in [
        (true, [[1.0, 2.0 + (-2.0f32).exp()], [1.0, 4.0 + (-2.0f32).exp()], [1.0, -1.0 + (-2.0f32).exp()]]),
        (false, [[0.0, 4.0], [0.0, 6.0], [0.0, 1.0]]),
    ] {
        let results = exe.run_all(&[x.view(), Tensor::scalar(p).view()])?;
        for (number, expected) in expected.iter().enumerate() {
            let got = &results[number];
            got.allclose(&Tensor::from(*expected), 1e-6, 1e-6).unwrap_or_else(|_| panic!("{got}"));
        }
        let index = i32::from(p);
        let last = results[4].to_vec::<f32>()?;
        assert_eq!(last, expected[0].map(|first| if p { first + first } else { first }));
        for output in [3, 5] {
            assert_eq!(results[output].item::<i32>()?, index);
        }
    }
    Ok(())
}
