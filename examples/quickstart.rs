//! Builds a graph, prints its shapes and an error that names the source line, and runs it with several batch sizes
//! after one compile.

use shapeflow::{DType, Graph, Result, TensorView, shape};

fn main() -> Result<()> {
    // Build. "batch" names a size that is not known yet. Every op infers its shape at once.
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["batch", 4])?;
    let w = g.constant([[0.5f32, -1.0], [1.5, 2.0], [-0.5, 1.0], [1.0, 0.0]])?.named("w");
    let b = g.constant([0.1f32, -0.2])?.named("b");
    let scores = (x.matmul(w)? + b).relu()?.named("scores");
    let probabilities = scores.softmax(-1)?.named("probabilities");
    println!("The graph, with its shapes:\n\n{g}\n");

    // A mistake is an error at the call that makes it. The call leaves the graph unchanged.
    let wrong = w.t()?;
    if let Err(error) = x.matmul(wrong) {
        println!("A matmul of shapes that do not match:\n\n{error}\n");
    }

    // Compile once, run with any size.
    let exe = g.compile([("scores", scores), ("probabilities", probabilities)])?;
    println!("One compile, several batch sizes:\n");
    for batch in [1, 3, 1000] {
        let data: Vec<f32> = (0..batch * 4).map(|i| (i % 5) as f32 - 1.0).collect();
        let [scores, probabilities] = exe.run(&[TensorView::new(&[batch, 4], &data)?])?;
        match batch {
            1000 => println!(
                "batch {batch}: scores {:?}, probabilities {:?}",
                scores.sizes(),
                probabilities.sizes()
            ),
            _ => println!("batch {batch}: scores {scores}\nprobabilities {probabilities}\n"),
        }
    }

    // Inputs and results by name, and a mistake that only a run can detect.
    let row = [1.0f32, 2.0, 3.0, 4.0];
    let results = exe.run_named(&[("x", TensorView::new(&[1, 4], &row)?)])?;
    println!("By name: probabilities {}\n", results.tensor("probabilities")?);
    if let Err(error) = exe.run_all(&[TensorView::new(&[2, 2], &row)?]) {
        println!("An input of the wrong shape:\n\n{error}\n");
    }
    println!("{:#?}", exe.stats());
    Ok(())
}
