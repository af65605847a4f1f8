//! A graph from its first op to its last run: shapes, an error at one's own line, one compile for every batch size.

use shapeflow::{DType, Graph, Result, Tensor, TensorView, shape};

fn main() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["batch", 4])?;
    let w = g.constant([[0.5f32, -1.0], [1.5, 2.0], [-0.5, 1.0], [1.0, 0.0]])?.named("w");
    let b = g.constant([0.1f32, -0.2])?.named("b");
    let scores = (x.matmul(w)? + b).relu()?.named("scores");
    let probabilities = scores.softmax(-1)?.named("probabilities");
    println!("{g}\n");

    // A transposed weight: the message names the op, the axis and this line.
    let error = x.matmul(w.transpose(&[1, 0])?).expect_err("4 and 2 cannot be multiplied");
    println!("{error}\n");

    let exe = g.compile([("scores", scores), ("probabilities", probabilities)])?;
    for batch in [1, 3, 1000] {
        let data: Vec<f32> = (0..batch * 4).map(|i| (i % 7) as f32 - 3.0).collect();
        let [scores, probabilities] = exe.run(&[TensorView::new(&[batch, 4], &data)?])?;
        if batch <= 3 {
            println!("batch {batch}:\nscores {scores}\nprobabilities {probabilities}");
        } else {
            println!("batch {batch}: scores {:?}, probabilities {:?}", scores.sizes(), probabilities.sizes());
        }
    }
    let by_name = exe.run_named(&[("x", Tensor::from_slice(&[1, 4], &[1.0f32, 2.0, 3.0, 4.0])?.view())])?;
    println!("by name: {}\n", by_name.tensor("probabilities")?);
    println!("{:#?}", exe.stats());
    Ok(())
}
