//! Splits lines of text into words, looks up a vector for each word, and prints the lines that are most alike. Every size depends
//! on the text, and one compile serves any text.

use shapeflow::{AnyValue, DType, Graph, RaggedValue, Result, Tensor, shape};

/// The opening of "Alice's Adventures in Wonderland" by Lewis Carroll (1865), sentence by sentence.
const LINES: [&str; 6] = [
    "Alice was beginning to get very tired of sitting by her sister on the bank",
    "once or twice she had peeped into the book her sister was reading",
    "but it had no pictures or conversations in it",
    "and what is the use of a book thought Alice without pictures or conversations",
    "suddenly a White Rabbit with pink eyes ran close by her",
    "there was nothing so very remarkable in that",
];
const BUCKETS: usize = 512;
const WIDTH: usize = 32;

fn main() -> Result<()> {
    // A vector of pseudo-random numbers for each bucket of words. A trained table goes here.
    let numbers = (0..BUCKETS * WIDTH).map(|i| ((i * 2_654_435_761) >> 7 & 255) as f32 / 128.0 - 1.0);
    let table = Tensor::from_vec(&[BUCKETS, WIDTH], numbers.collect::<Vec<f32>>())?;

    let g = Graph::new();
    let lines = g.input("lines", DType::String, shape!["lines"])?;
    let [indices, words, sizes] = lines.string_lower()?.string_split(" ", -1)?;
    let words = RaggedValue::from_sparse(indices, words, sizes)?;
    let lengths = words.map_flat_values(|words| words.string_length("UTF8_CHAR"))?;
    // The rows of words become rows of vectors: [lines, (words), WIDTH].
    let ids = words.map_flat_values(|words| words.hash_bucket(BUCKETS as i64))?;
    let vectors = ids.map_flat_values(|ids| g.constant(&table)?.gather(ids, 0))?;
    let means = vectors.reduce_mean(1)?.dense()?;
    let norms = means.square()?.reduce_sum(1)?.sqrt()?.expand_dims(1)?;
    let units = (means / norms).ok()?;
    let alike = units.matmul(units.t()?)?;
    println!("words: {}, vectors: {}, alike: {}\n", words.shape_text(), vectors.shape_text(), alike.shape());

    let outputs: [AnyValue; 3] = [words.into(), lengths.into(), alike.into()];
    let exe = g.compile(&outputs)?;
    for count in [3, LINES.len()] {
        let text = Tensor::from_strings(&[count], &LINES[..count])?;
        let results = exe.run_named(&[("lines", text.view())])?;
        let (words, lengths) = (results.ragged_at(0)?, results.ragged_at(1)?);
        let alike = results.items()?[2].1.clone().dense()?.to_vec::<f32>()?;
        println!("{count} lines, {} words", words.flat_values().len());
        for (line, text) in LINES[..count].iter().enumerate() {
            let others = (0..count).filter(|other| *other != line);
            let score = |other: usize| alike[line * count + other];
            let nearest = others.max_by(|a, b| score(*a).total_cmp(&score(*b))).unwrap_or(line);
            println!("  {line}: {text}\n     lengths {}, nearest {nearest}", lengths.row(line as i64)?);
        }
    }
    Ok(())
}
