//! The graphs inside nodes of control flow: in the text of a graph, in its kernels and in `Executable::stats`.

use insta::assert_snapshot;
use shapeflow::{DType, Graph, Result, StageKind, shape};

/// Returns the text without comments, which hold places in the source.
fn without_comments(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("  //").next().unwrap_or_default().trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

/// Adds a loop that runs while the sum of its state is below 100. A branch in the body doubles the state or adds `x`.
fn loop_with_branch(g: &Graph) -> Result<shapeflow::Value<'_>> {
    let x = g.input("x", DType::F32, shape!["n"])?;
    let is_small = g.input("is_small", DType::Bool, shape![])?;
    let last = g.while_loop(
        &[x],
        |s| s[0].reduce_sum(0)?.less(100.0f32),
        |s| Ok(g.cond(is_small, || (s[0] * 2.0).ok(), || (s[0] + x).ok())?[0]),
    )?;
    Ok(last[0])
}

#[test]
fn a_text_shows_the_graphs_below_their_node() -> Result<()> {
    let g = Graph::new();
    let exe = g.compile(loop_with_branch(&g)?)?;
    assert_snapshot!(without_comments(&g.to_string()), @r#"
    graph {
      %0: f32[n] = input("x")
      %1: bool[] = input("is_small")
      %14: f32[n] = while_loop(%0, captures=[%1, %0])
        condition {
          %0: f32[n] = input("state 0")
          %1: f32[] = reduce_sum(%0, axis=0)
          %2: f32[] = constant(100.0)
          %3: bool[] = less(%1, %2)
          return %3
        }
        body {
          %0: f32[n] = input("state 0")
          %1: bool[] = input("is_small")
          %2: f32[n] = input("x")
          %3: f32[n] = cond(%1, captures=[%0, %2])
            else {
              %0: f32[n] = input("state 0")
              %1: f32[n] = input("x")
              %2: f32[n] = add(%0, %1)
              return %2
            }
            then {
              %0: f32[n] = input("state 0")
              %1: f32[] = constant(2.0)
              %2: f32[n] = mul(%0, %1)
              return %2
            }
          %4: f32[] = reduce_sum(%3, axis=0)
          %5: f32[] = constant(100.0)
          %6: bool[] = less(%4, %5)
          return %3, %6
        }
    }
    "#);
    let optimized = exe.snapshot(StageKind::Optimized)?;
    assert!(
        optimized.text().contains("    body {\n") && optimized.text().contains("then {\n"),
        "{}",
        optimized.text()
    );
    let kernels = exe.snapshot(StageKind::Kernels)?;
    assert!(
        kernels.text().contains("while_loop") && kernels.text().contains(" body {\n"),
        "{}",
        kernels.text()
    );
    assert!(kernels.text().ends_with(&exe.kernels()));
    Ok(())
}

#[test]
fn stats_list_the_graphs_inside_nodes_with_their_shapes() -> Result<()> {
    let g = Graph::new();
    let exe = g.compile(loop_with_branch(&g)?)?;
    let stats = exe.stats();
    let names: Vec<&str> = stats.regions.iter().map(|region| region.name.as_str()).collect();
    assert_eq!(names, ["condition", "body"]);
    let body = &stats.regions[1];
    assert_eq!(body.node, "while_loop");
    assert_eq!(body.inputs[0].shape.to_string(), "[n]");
    let outputs: Vec<String> =
        body.outputs.iter().map(|port| format!("{}{}", port.dtype, port.shape)).collect();
    assert_eq!(outputs, ["f32[n]", "bool[]"]);
    let branches: Vec<&str> = body.stats.regions.iter().map(|region| region.name.as_str()).collect();
    assert_eq!(branches, ["else", "then"]);
    assert_eq!(body.stats.regions[1].stats.kernels, 1);
    assert!(body.stats.kernels >= 1);
    Ok(())
}
