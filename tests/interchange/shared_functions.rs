//! Functions that many calls share: bounded imports, results, shapes, errors, and what dumps show.

use std::fmt::Write;
use std::time::Instant;

use shapeflow::interchange::{ComputedBy, ImportOptions, Imported, Model};
use shapeflow::{ErrorKind, Result, Tensor};

/// A function of one tensor. `body` reads `a`, and `y:0` is the result.
fn function(name: &str, dtype: &str, body: &str) -> String {
    format!(
        r#"function {{ signature {{ name: "{name}" input_arg {{ name: "a" type: {dtype} }}
             output_arg {{ name: "b" type: {dtype} }} }} {body} ret {{ key: "b" value: "y:0" }} }}
        "#
    )
}

fn call(name: &str, function: &str, input: &str) -> String {
    format!(r#"node_def {{ name: "{name}" op: "{function}" input: "{input}" }} "#)
}

/// The attribute `T` with the dtype of an op's operands.
fn dtype_attr(dtype: &str) -> String {
    format!(r#"attr {{ key: "T" value {{ type: {dtype} }} }}"#)
}

/// A constant of i32 whose elements are all `value`. `dims` is the text of its dimensions.
fn int_constant(name: &str, dims: &str, value: i32) -> String {
    format!(
        r#"node_def {{ name: "{name}" op: "Const" attr {{ key: "dtype" value {{ type: DT_INT32 }} }} attr {{ key: "value"
             value {{ tensor {{ dtype: DT_INT32 tensor_shape {{ {dims} }} int_val: {value} }} }} }} }} "#
    )
}

/// A chain of `count` nodes that starts at `a`. The last node is `last`, and the nodes before it are `n0`, `n1` and so
/// on. `node` makes the text of a node from its number, its name and its input. `output` names the output of each node.
fn chain(count: usize, last: &str, output: &str, node: impl Fn(usize, &str, &str) -> String) -> String {
    let mut text = String::new();
    let mut input = "a".to_string();
    for number in 0..count {
        let name = if number + 1 == count { last.to_string() } else { format!("n{number}") };
        text += &node(number, &name, &input);
        input = format!("{name}:{output}:0");
    }
    text
}

/// A node of one operand. `attr` is its attribute `T`.
fn unary(name: &str, op: &str, input: &str, attr: &str) -> String {
    format!(r#"node_def {{ name: "{name}" op: "{op}" input: "{input}" {attr} }} "#)
}

/// 100 negations, which cancel out and make a function too large to inline. The result is `n:y:0`.
fn negations(attr: &str) -> String {
    chain(100, "n", "y", |_, name, input| unary(name, "Neg", input, attr))
}

/// Makes the functions `f0`, `f1` and so on. Each function calls the next one twice, and the last one calls `leaf`
/// twice.
fn doublings(levels: usize, dtype: &str, leaf: &str) -> String {
    let mut text = String::from("library {");
    for level in 0..levels {
        let callee = if level + 1 == levels { "leaf".to_string() } else { format!("f{}", level + 1) };
        let body = call("x", &callee, "a") + &call("y", &callee, "x:0");
        text += &function(&format!("f{level}"), dtype, &body);
    }
    text + leaf + "}"
}

/// A model with the input `x` and the nodes `y0`, `y1`, …: node `y{i}` calls function `calls[i]` on `x`.
fn model(library: &str, dtype: &str, shape: &str, calls: &[&str]) -> Result<Imported> {
    Model::from_text(&model_text(library, dtype, shape, calls))?.import(None, &ImportOptions::new())
}

fn model_text(library: &str, dtype: &str, shape: &str, calls: &[&str]) -> String {
    let mut text = format!(
        r#"{library} node {{ name: "x" op: "Placeholder" attr {{ key: "dtype" value {{ type: {dtype} }} }}
             attr {{ key: "shape" value {{ shape {{ {shape} }} }} }} }} "#
    );
    for (number, function) in calls.iter().enumerate() {
        write!(text, r#"node {{ name: "y{number}" op: "{function}" input: "x" }} "#).unwrap();
    }
    text
}

fn run(imported: &Imported, fetch: &str, x: &Tensor) -> Result<Tensor> {
    Ok(imported.graph().compile(imported.value(fetch)?)?.run_all(&[x.view()])?.swap_remove(0))
}

/// A function that computes `3 * a + 1`.
fn triple_and_one() -> String {
    let t = dtype_attr("DT_INT32");
    let body = int_constant("three", "", 3)
        + &int_constant("one", "", 1)
        + &format!(r#"node_def {{ name: "m" op: "Mul" input: "a" input: "three:output:0" {t} }} "#)
        + &format!(r#"node_def {{ name: "y" op: "AddV2" input: "m:z:0" input: "one:output:0" {t} }} "#);
    function("leaf", "DT_INT32", &body)
}

#[test]
fn fourteen_doublings_import_as_a_few_nodes() -> Result<()> {
    let library = doublings(14, "DT_INT32", &triple_and_one());
    let imported = model(&library, "DT_INT32", "dim { size: -1 }", &["f0"])?;
    let text = imported.graph().to_string();
    assert!(text.lines().count() < 1000, "{} lines", text.lines().count());
    assert!(text.contains("f1 {") && text.contains("f1: see above"), "{text}");
    assert_eq!(imported.value("y0")?.shape().to_string(), imported.value("x")?.shape().to_string());
    let expected = |x: i32| (0..1 << 14).fold(x, |x, _| x.wrapping_mul(3).wrapping_add(1));
    let exe = imported.graph().compile(imported.value("y0")?)?;
    for x in [vec![], vec![1, -5, 1 << 30]] {
        let y = exe.run_all(&[Tensor::from(x.clone()).view()])?.swap_remove(0);
        assert_eq!(y, Tensor::from(x.into_iter().map(expected).collect::<Vec<_>>()));
    }
    let stats = exe.stats();
    assert_eq!(stats.regions.len(), 1, "the second call shares the region of the first call");
    assert!(exe.kernels().lines().count() < 1000);
    exe.trim();
    assert_eq!(exe.run_all(&[Tensor::from([7]).view()])?[0], Tensor::from([expected(7)]));
    // The nodes of a shared function are listed once.
    let names: Vec<&str> = imported.function_nodes().map(|node| node.name).collect();
    assert_eq!(
        names.iter().filter(|name| name.ends_with("/m")).count(),
        16,
        "a function of 64 nodes is inlined"
    );
    // A fetch of a node in a shared function makes a copy of the functions around it.
    let shared = imported.function_nodes().find(|node| node.dim_names.is_some() && node.name.ends_with("/m"));
    let name = shared.expect("a shared function calls the leaf").name;
    assert!(imported.value(name).unwrap_err().help().is_some_and(|help| help.contains("makes a copy")));
    let text = model_text(&library, "DT_INT32", "dim { size: -1 }", &["f0"]);
    let copied = Model::from_text(&text)?.import(Some(&[name]), &ImportOptions::new())?;
    assert!(copied.graph().to_string().lines().count() < 2000);
    assert_eq!(run(&copied, name, &Tensor::from([7]))?, Tensor::from([21]), "{name}");
    let usage = imported.op_usage(&[imported.value("y0")?])?;
    let count = |op: &str, by| {
        usage.iter().find(|usage| usage.op == op && usage.computed_by == by).map(|u| u.nodes.len())
    };
    assert_eq!(count("Mul", ComputedBy::Kernels), Some(16));
    assert!(count("f1", ComputedBy::Host).is_some(), "{usage:?}");
    Ok(())
}

#[test]
fn only_the_depth_of_calls_is_limited() -> Result<()> {
    let library = doublings(28, "DT_INT32", &triple_and_one());
    let imported = model(&library, "DT_INT32", "", &["f0"])?;
    imported.graph().compile(imported.value("y0")?)?;
    let error = model(&doublings(100, "DT_INT32", &triple_and_one()), "DT_INT32", "", &["f0"]).unwrap_err();
    assert_eq!(error.message(), "calls may nest at most 32 levels");
    Ok(())
}

#[test]
fn recursion_is_refused_with_its_cycle() {
    let body = |callee: &str| {
        negations(&dtype_attr("DT_FLOAT")) + &call("x", callee, "n:y:0") + &call("y", callee, "x:0")
    };
    let library = format!(
        "library {{ {} {} }}",
        function("f", "DT_FLOAT", &body("g")),
        function("g", "DT_FLOAT", &body("f"))
    );
    let error = model(&library, "DT_FLOAT", "", &["f"; 60]).unwrap_err();
    assert_eq!(error.message(), "calls may nest at most 32 levels: f calls g, g calls f");
}

/// A function that appends the first row of `a` to `a`, after 100 negations.
fn append() -> String {
    let body = negations(&dtype_attr("DT_INT32"))
        + &int_constant("begin", "dim { size: 1 }", 0)
        + &int_constant("size", "dim { size: 1 }", 1)
        + &int_constant("axis", "", 0)
        + r#"node_def { name: "first" op: "Slice" input: "n:y:0" input: "begin:output:0" input: "size:output:0"
               attr { key: "T" value { type: DT_INT32 } } attr { key: "Index" value { type: DT_INT32 } } }
             node_def { name: "y" op: "ConcatV2" input: "n:y:0" input: "first:output:0" input: "axis:output:0"
               attr { key: "N" value { i: 2 } } attr { key: "T" value { type: DT_INT32 } }
               attr { key: "Tidx" value { type: DT_INT32 } } }"#;
    function("leaf", "DT_INT32", &body)
}

#[test]
fn calls_with_other_sizes_share_a_graph_and_keep_their_shapes() -> Result<()> {
    let library = doublings(6, "DT_INT32", &append());
    for (shape, promised) in [("dim { size: -1 }", "[x.0+64]"), ("dim { size: 3 }", "[67]")] {
        let imported = model(&library, "DT_INT32", shape, &["f0"])?;
        let names = imported.graph().dim_names();
        assert_eq!(names.shape(&imported.value("y0")?.shape()).to_string(), promised);
        let lines = imported.graph().to_string().lines().count();
        assert!(lines < 2000, "{lines} lines");
        let y = run(&imported, "y0", &Tensor::from([5, 6, 7]))?;
        let expected: Vec<i32> = [5, 6, 7].into_iter().chain([5; 64]).collect();
        assert_eq!(y, Tensor::from(expected));
    }
    Ok(())
}

#[test]
fn an_error_inside_a_shared_function_names_the_calls() -> Result<()> {
    // The last node divides 1 by its operand.
    let body = negations(&dtype_attr("DT_INT32"))
        + &int_constant("one", "", 1)
        + r#"node_def { name: "y" op: "Div" input: "one:output:0" input: "n:y:0"
               attr { key: "T" value { type: DT_INT32 } } }"#;
    let library = doublings(6, "DT_INT32", &function("leaf", "DT_INT32", &body));
    let imported = model(&library, "DT_INT32", "dim { size: -1 }", &["f0"])?;
    assert_eq!(run(&imported, "y0", &Tensor::from([1, -1]))?, Tensor::from([1, -1]));
    let error = run(&imported, "y0", &Tensor::from([1, 0])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DivideByZero);
    let text = error.to_string();
    for part in ["in function leaf", "in function f5", "in function f1", "y0"] {
        assert!(text.contains(part), "{part} is missing in {text}");
    }
    Ok(())
}

#[test]
fn a_refused_node_of_a_shared_function_is_reported() -> Result<()> {
    // A matmul of vectors.
    let body = negations(&dtype_attr("DT_FLOAT"))
        + r#"node_def { name: "y" op: "MatMul" input: "n:y:0" input: "n:y:0" attr { key: "T" value { type: DT_FLOAT } } }"#;
    let library = doublings(12, "DT_FLOAT", &function("leaf", "DT_FLOAT", &body));
    let imported = model(&library, "DT_FLOAT", "dim { size: -1 }", &["f0"])?;
    let error = imported.check().unwrap_err();
    assert!(error.to_string().contains("matmul"), "{error}");
    let lines = imported.graph().to_string().lines().count();
    assert!(lines < 20_000, "{lines} lines");
    Ok(())
}

#[test]
fn small_models_are_inlined() -> Result<()> {
    let library = format!("library {{ {} }}", append());
    let imported = model(&library, "DT_INT32", "dim { size: -1 }", &["leaf"; 3])?;
    assert!(!imported.graph().to_string().contains("leaf {"));
    let many = model(&library, "DT_INT32", "dim { size: -1 }", &["leaf"; 60])?;
    let text = many.graph().to_string();
    assert_eq!(text.matches("leaf {").count(), 1, "{text}");
    assert_eq!(run(&many, "y59", &Tensor::from([4, 1]))?, Tensor::from([4, 1, 4]));
    Ok(())
}

#[test]
fn calls_of_a_typed_function_share_a_graph_for_each_dtype_and_constant() -> Result<()> {
    // The function reduces along an axis that is an argument.
    let t = r#"attr { key: "T" value { placeholder: "T" } }"#;
    let body = negations(t);
    let library = format!(
        r#"library {{ function {{ signature {{ name: "sum" input_arg {{ name: "a" type_attr: "T" }}
             input_arg {{ name: "axis" type: DT_INT32 }} output_arg {{ name: "b" type_attr: "T" }} attr {{ name: "T" type: "type" }} }}
             {body} node_def {{ name: "y" op: "Sum" input: "n:y:0" input: "axis" {t}
               attr {{ key: "Tidx" value {{ type: DT_INT32 }} }} attr {{ key: "keep_dims" value {{ b: false }} }} }}
             ret {{ key: "b" value: "y:0" }} }} }}"#
    );
    let mut text = library;
    for (name, dtype) in [("x", "DT_FLOAT"), ("i", "DT_INT32")] {
        write!(
            text,
            r#"node {{ name: "{name}" op: "Placeholder" attr {{ key: "dtype" value {{ type: {dtype} }} }}
               attr {{ key: "shape" value {{ shape {{ dim {{ size: 2 }} dim {{ size: -1 }} }} }} }} }} "#
        )
        .unwrap();
        for axis in 0..2 {
            write!(
                text,
                r#"node {{ name: "{name}_axis{axis}" op: "Const" attr {{ key: "dtype" value {{ type: DT_INT32 }} }} attr {{ key: "value"
                   value {{ tensor {{ dtype: DT_INT32 tensor_shape {{ }} int_val: {axis} }} }} }} }} "#
            )
            .unwrap();
            for number in 0..15 {
                write!(
                    text,
                    r#"node {{ name: "{name}{axis}{number}" op: "sum" input: "{name}" input: "{name}_axis{axis}"
                       attr {{ key: "T" value {{ type: {dtype} }} }} }} "#
                )
                .unwrap();
            }
        }
    }
    let imported = Model::from_text(&text)?.import(None, &ImportOptions::new())?;
    assert_eq!(imported.graph().to_string().matches("sum {").count(), 4);
    assert_eq!(imported.value("x114")?.shape().to_string(), "[2]");
    let (x, i) = (Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]), Tensor::from([[1, 2], [3, 4]]));
    assert_eq!(run(&imported, "x014", &x)?, Tensor::from([4.0f32, 6.0]));
    assert_eq!(run(&imported, "x114", &x)?, Tensor::from([3.0f32, 7.0]));
    assert_eq!(run(&imported, "i013", &i)?, Tensor::from([4, 6]));
    assert_eq!(run(&imported, "i113", &i)?, Tensor::from([3, 7]));
    Ok(())
}

/// A function of `count` nodes: two sines and a negation in turn.
fn sines(name: &str, count: usize) -> String {
    let attr = dtype_attr("DT_FLOAT");
    let op = |number: usize| if number % 3 == 2 { "Neg" } else { "Sin" };
    let body = chain(count, "y", "y", |number, name, input| unary(name, op(number), input, &attr));
    function(name, "DT_FLOAT", &body)
}

/// A function of `callees.len()` calls, one after the other.
fn calls_in_turn(name: &str, callees: &[String]) -> String {
    let body = chain(callees.len(), "y", "b", |number, name, input| call(name, &callees[number], input));
    function(name, "DT_FLOAT", &body).replace("y:0", "y:b:0")
}

#[test]
fn fifty_calls_of_two_hundred_nodes_compute_what_inlining_computes() -> Result<()> {
    let shared =
        format!("library {{ {} {} }}", sines("f", 200), calls_in_turn("all", &vec!["f".to_string(); 50]));
    let names: Vec<String> = (0..50).map(|number| format!("f{number}")).collect();
    let copies: String = names.iter().map(|name| sines(name, 200)).collect();
    let inlined = format!("library {{ {copies} {} }}", calls_in_turn("all", &names));
    let x = Tensor::from_slice(&[100], &(0..100).map(|x| x as f32 * 0.3 - 15.0).collect::<Vec<_>>())?;
    let compiled = |library: &str| -> Result<_> {
        let imported = model(library, "DT_FLOAT", "dim { size: -1 }", &["all"])?;
        let lines = imported.graph().to_string().lines().count();
        let start = Instant::now();
        let exe = imported.graph().compile(imported.value("y0")?)?;
        let time = start.elapsed();
        Ok((exe.run_all(&[x.view()])?.swap_remove(0), lines, time))
    };
    let (result, lines, time) = compiled(&shared)?;
    let (expected, all_lines, all_time) = compiled(&inlined)?;
    assert_eq!(result, expected);
    assert!(lines < 400 && all_lines > 10_000, "{lines} and {all_lines} lines");
    println!("shared: compiled in {time:?}; inlined: {all_time:?}");
    Ok(())
}

#[test]
fn calls_in_loops_and_branches_share_a_graph() -> Result<()> {
    // The loop body calls `f` 50 times, the branch for true 40 times, and the branch for false 41 times.
    let loop_function = |name: &str, outputs: &str, body: &str, ret: &str| {
        format!(
            r#"function {{ signature {{ name: "{name}" input_arg {{ name: "i" type: DT_INT32 }}
                 input_arg {{ name: "a" type: DT_FLOAT }} {outputs} }} {body} {ret} }} "#
        )
    };
    let condition = loop_function(
        "condition",
        r#"output_arg { name: "goes_on" type: DT_BOOL }"#,
        &(int_constant("limit", "", 3)
            + &format!(
                r#"node_def {{ name: "z" op: "Less" input: "i" input: "limit:output:0" {} }}"#,
                dtype_attr("DT_INT32")
            )),
        r#"ret { key: "goes_on" value: "z:z:0" }"#,
    );
    let body = loop_function(
        "body",
        r#"output_arg { name: "next" type: DT_INT32 } output_arg { name: "b" type: DT_FLOAT }"#,
        &(int_constant("one", "", 1)
            + &format!(
                r#"node_def {{ name: "z" op: "AddV2" input: "i" input: "one:output:0" {} }}"#,
                dtype_attr("DT_INT32")
            )
            + &call("y", "steps", "a")),
        r#"ret { key: "next" value: "z:z:0" } ret { key: "b" value: "y:b:0" }"#,
    );
    let branch = r#"node { name: "p" op: "Placeholder" attr { key: "dtype" value { type: DT_BOOL } }
             attr { key: "shape" value { shape { } } } }
           node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
             attr { key: "shape" value { shape { dim { size: -1 } } } } }
           node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
             attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
           node { name: "loop" op: "While" input: "zero" input: "x" attr { key: "cond" value { func { name: "condition" } } }
             attr { key: "body" value { func { name: "body" } } }
             attr { key: "T" value { list { type: DT_INT32 type: DT_FLOAT } } } }
           node { name: "y" op: "If" input: "p" input: "loop:1" attr { key: "then_branch" value { func { name: "then" } } }
             attr { key: "else_branch" value { func { name: "otherwise" } } }
             attr { key: "Tin" value { list { type: DT_FLOAT } } } attr { key: "Tout" value { list { type: DT_FLOAT } } } }"#;
    let functions = |name: &dyn Fn(usize) -> String| {
        let names = |range: std::ops::Range<usize>| range.map(name).collect::<Vec<_>>();
        calls_in_turn("steps", &names(0..50))
            + &calls_in_turn("then", &names(50..90))
            + &calls_in_turn("otherwise", &names(90..131))
    };
    let copies: String = (0..131).map(|number| sines(&format!("f{number}"), 100)).collect();
    let texts = [
        functions(&|_| "f".to_string()) + &sines("f", 100),
        functions(&|number| format!("f{number}")) + &copies,
    ];
    let x = Tensor::from([0.5f32, -2.0, 9.0]);
    let mut results = Vec::new();
    for text in texts {
        let text = format!("library {{ {condition} {body} {text} }} {branch}");
        let imported = Model::from_text(&text)?.import(None, &ImportOptions::new())?;
        let exe = imported.graph().compile(imported.value("y")?)?;
        let result = |p: bool| exe.run_all(&[Tensor::scalar(p).view(), x.view()]);
        results.push(([result(true)?, result(false)?], imported.graph().to_string().lines().count()));
    }
    let [(shared, shared_lines), (inlined, inlined_lines)] = &results[..] else { panic!("two graphs") };
    assert_eq!(shared, inlined);
    assert!(*shared_lines < 600 && *inlined_lines > 13_000, "{shared_lines} and {inlined_lines} lines");
    Ok(())
}
