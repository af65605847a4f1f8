//! Scores sentences of different lengths: tokens are padded to one length, and a mask ignores the padding.

use shapeflow::{DType, Dim, Graph, Result, Tensor, shape};

const WORDS: usize = 50;
const WIDTH: usize = 8;

/// Returns numbers that stand for trained weights.
fn weights(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i * 7 % 11) as f32 / 5.0 - 1.0).collect()
}

/// Pads sentences to the length of the longest sentence. Returns the tokens and the lengths.
fn padded(sentences: &[&[i32]]) -> Result<[Tensor; 2]> {
    let longest = sentences.iter().map(|sentence| sentence.len()).max().unwrap_or(0);
    let mut tokens = vec![0i32; sentences.len() * longest];
    for (row, sentence) in sentences.iter().enumerate() {
        tokens[row * longest..][..sentence.len()].copy_from_slice(sentence);
    }
    let lengths = sentences.iter().map(|sentence| sentence.len() as i32).collect();
    Ok([
        Tensor::from_vec(&[sentences.len(), longest], tokens)?,
        Tensor::from_vec(&[sentences.len()], lengths)?,
    ])
}

pub(crate) fn main() -> Result<()> {
    let g = Graph::new();
    let tokens = g.input("tokens", DType::I32, shape!["batch", "time"])?;
    let lengths = g.input("lengths", DType::I32, shape!["batch"])?;
    let table = g.constant(&Tensor::from_vec(&[WORDS, WIDTH], weights(WORDS * WIDTH))?)?;
    let scorer = g.constant(&Tensor::from_vec(&[WIDTH, 1], weights(WIDTH))?)?;

    let mask = lengths.sequence_mask(Dim::symbol("time"))?.cast(DType::F32)?.expand_dims(-1)?;
    let sums = (table.gather(tokens, 0)? * mask).reduce_sum(1)?;
    let means = sums / lengths.cast(DType::F32)?.expand_dims(-1)?;
    let exe = g.compile([("scores", means.matmul(scorer)?.sigmoid()?.squeeze([1])?)])?;

    let sentences: [&[i32]; 3] = [&[3, 14, 15], &[9, 2, 6, 5, 35], &[8]];
    let [tokens, lengths] = padded(&sentences)?;
    let [scores] = exe.run(&[tokens.view(), lengths.view()])?;
    println!("scores of three sentences: {scores}");

    // A sentence has the same score alone, without padding. The executable is not compiled again.
    for (sentence, score) in sentences.iter().zip(scores.to_vec::<f32>()?) {
        let [tokens, lengths] = padded(&[sentence])?;
        let [alone] = exe.run(&[tokens.view(), lengths.view()])?;
        assert!((alone.to_vec::<f32>()?[0] - score).abs() < 1e-6);
    }
    assert_eq!(exe.stats().compiles.len(), 1);
    Ok(())
}
