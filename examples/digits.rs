//! Classifies handwritten digits from raw `u8` images. One compile serves every batch size.
//!
//! scikit-learn trained the weights (`train_digits.py`); this program must reproduce its predictions.

use std::error::Error;
use std::time::Instant;

use shapeflow::interchange::read_npz;
use shapeflow::{DType, Graph, Result, Tensor, TensorView, Value, shape};

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/data/digits.npz");

/// A dense layer: `x · weight + bias`.
struct Dense {
    weight: Tensor,
    bias: Tensor,
}

impl Dense {
    fn apply<'g>(&self, x: Value<'g>) -> Result<Value<'g>> {
        (x.matmul(&self.weight)? + &self.bias).ok()
    }
}

fn main() -> std::result::Result<(), Box<dyn Error>> {
    let arrays = read_npz(DATA)?;
    let array = |name: &str| arrays.tensor(name).cloned();
    let (images, labels, expected) = (array("images")?, array("labels")?, array("predictions")?);
    let (mean, scale) = (array("mean")?, array("scale")?);
    let dense = |weight, bias| -> Result<Dense> { Ok(Dense { weight: array(weight)?, bias: array(bias)? }) };
    let layers = [dense("w0", "b0")?, dense("w1", "b1")?, dense("w2", "b2")?];

    let start = Instant::now();
    let g = Graph::new();
    let pixels = g.input("images", DType::U8, shape!["batch", 8, 8])?;
    let x = ((pixels.cast(DType::F32)? - &mean) * &scale).reshape([-1, 64])?;
    let x = layers[0].apply(x)?.relu()?;
    let x = layers[1].apply(x)?.relu()?;
    let probabilities = layers[2].apply(x)?.softmax(-1)?;
    let digits = probabilities.argmax_as(-1, DType::I64)?;
    println!("{g}");
    println!("build {:.1?}", start.elapsed());

    let start = Instant::now();
    let exe = g.compile([("digits", digits), ("probabilities", probabilities)])?;
    println!("compile {:.1?}", start.elapsed());
    let compiles = exe.stats().compiles.len();

    let pixels = images.as_slice::<u8>()?;
    let (labels, expected) = (labels.as_slice::<i64>()?, expected.as_slice::<i64>()?);
    let count = labels.len();
    for batch in [1, 7, 64, count] {
        let start = Instant::now();
        let mut digits = Vec::with_capacity(count);
        let mut runs = 0;
        for chunk in pixels.chunks(batch * 64) {
            let [found, _] = exe.run(&[TensorView::new(&[chunk.len() / 64, 8, 8], chunk)?])?;
            digits.extend_from_slice(found.as_slice::<i64>()?);
            runs += 1;
        }
        let time = start.elapsed();
        let right = digits.iter().zip(labels).filter(|(digit, label)| digit == label).count();
        let differ = digits.iter().zip(expected).filter(|(digit, other)| digit != other).count();
        let accuracy = right as f64 / count as f64;
        println!(
            "batch {batch:3}: {count} images in {runs:3} runs, {time:.1?}; accuracy {accuracy:.4}, \
             {differ} differ from scikit-learn, compiles {}",
            exe.stats().compiles.len()
        );
        assert!(
            digits.len() == count && accuracy >= 0.96,
            "accuracy must be at least 0.96, got {accuracy} for {} images",
            digits.len()
        );
        assert_eq!(differ, 0, "predictions must equal the predictions of scikit-learn");
        assert_eq!(exe.stats().compiles.len(), compiles, "a new batch size must not compile again");
    }
    Ok(())
}
