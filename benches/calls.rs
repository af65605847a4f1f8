//! Measures calls of functions of a model: calls that share one compiled graph, and calls whose function is inlined.
//!
//! `cargo bench --features saved_models --bench calls` prints a table with a row for each size of the function and of
//! the tensor: milliseconds to import and compile the model, and nanoseconds for each call of a run. A function is
//! shared if inlining adds more than 4,096 nodes; the inlined model has a copy of the function for each call. With
//! `--test` (`cargo test --benches --all-features`) it only checks that everything runs.

use std::fmt::Write;
use std::time::Instant;

use shapeflow::interchange::{ImportOptions, Model};
use shapeflow::{Executable, Result, Tensor};

/// The number of times that importing and running are measured.
const SAMPLES: usize = 5;

fn main() -> Result<()> {
    let test = std::env::args().any(|arg| arg == "--test");
    println!(
        "{:>6} {:>6} {:>9} {:>12} {:>12} {:>12} {:>12}",
        "nodes", "calls", "elements", "ms, shared", "ms, inlined", "ns, shared", "ns, inlined"
    );
    let (nodes, elements): (&[usize], &[usize]) = match test {
        true => (&[100], &[16]),
        false => (&[65, 100, 200, 1000], &[16, 1024, 65536]),
    };
    for &nodes in nodes {
        for &elements in elements {
            row(nodes, 5000 / nodes + 2, elements, if test { 1 } else { SAMPLES })?;
        }
    }
    Ok(())
}

fn row(nodes: usize, calls: usize, elements: usize, samples: usize) -> Result<()> {
    let x = Tensor::full(&[elements], 0.5f32)?;
    let mut times = Vec::new();
    for is_shared in [true, false] {
        let text = model(nodes, calls, is_shared);
        let (mut compile, mut run) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..samples {
            let start = Instant::now();
            let exe = compiled(&text)?;
            compile = compile.min(start.elapsed().as_secs_f64() * 1e3);
            let mut runner = exe.runner();
            for _ in 0..samples {
                let start = Instant::now();
                runner.run(&[x.view()])?;
                run = run.min(start.elapsed().as_secs_f64() / calls as f64 * 1e9);
            }
        }
        times.push((compile, run));
    }
    let [shared, inlined] = times[..] else { unreachable!("there are two models") };
    println!(
        "{nodes:>6} {calls:>6} {elements:>9} {:>12.2} {:>12.2} {:>12.0} {:>12.0}",
        shared.0, inlined.0, shared.1, inlined.1
    );
    Ok(())
}

fn compiled(text: &str) -> Result<Executable> {
    let imported = Model::from_text(text)?.import(None, &ImportOptions::new())?;
    imported.graph().compile(imported.value("y")?)
}

/// A model of a chain of calls. A function is a chain of `nodes` multiplications and additions.
fn model(nodes: usize, calls: usize, is_shared: bool) -> String {
    let name = |call: usize| if is_shared { "f".to_string() } else { format!("f{call}") };
    let mut text = String::from("library { ");
    for call in 0..if is_shared { 1 } else { calls } {
        write_function(&mut text, &name(call), nodes);
    }
    text += "} node { name: \"x\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_FLOAT } }
        attr { key: \"shape\" value { shape { dim { size: -1 } } } } } ";
    for call in 0..calls {
        let own = if call + 1 == calls { "y".to_string() } else { format!("c{call}") };
        let input = if call == 0 { "x".to_string() } else { format!("c{}", call - 1) };
        let _ = write!(text, "node {{ name: \"{own}\" op: \"{}\" input: \"{input}\" }} ", name(call));
    }
    text
}

fn write_function(text: &mut String, name: &str, nodes: usize) {
    let _ = write!(
        text,
        "function {{ signature {{ name: \"{name}\" input_arg {{ name: \"a\" type: DT_FLOAT }}
            output_arg {{ name: \"b\" type: DT_FLOAT }} }} "
    );
    let mut last = "a".to_string();
    for node in 0..nodes {
        // `a - x * a` stays between 0 and 1.
        let (op, inputs) =
            if node.is_multiple_of(2) { ("Mul", [&last[..], "a"]) } else { ("Sub", ["a", &last[..]]) };
        let _ = write!(
            text,
            "node_def {{ name: \"n{node}\" op: \"{op}\" input: \"{}\" input: \"{}\"
                attr {{ key: \"T\" value {{ type: DT_FLOAT }} }} }} ",
            inputs[0], inputs[1]
        );
        last = format!("n{node}:z:0");
    }
    let _ = write!(text, "ret {{ key: \"b\" value: \"{last}\" }} }} ");
}
