//! Reads a chapter of a book and prints the sentences that are most alike. The text decides every size: the number of
//! sentences, the words of each sentence, and the vocabulary. One compile serves any text.

use shapeflow::{AnyValue, DType, Dim, Graph, Result, Tensor, shape};

/// Chapter I of "Alice's Adventures in Wonderland" by Lewis Carroll, 1865.
const CHAPTER: &str = include_str!("data/alice_chapter_1.txt");
/// The number of elements of a word's vector.
const WIDTH: i64 = 512;
/// Shorter sentences are left out.
const MIN_WORDS: i64 = 4;
/// The number of pairs of sentences that are printed.
const PAIRS: usize = 5;

fn main() -> Result<()> {
    let g = Graph::new();
    let text = g.input("text", DType::String, shape![])?;

    // Text to sentences: `[sentences]`. A sentence ends at a point, a question mark or an exclamation mark.
    let line = text.regex_replace(r"\s+", " ")?.regex_replace(r#"([.?!]+["')]*) "#, r"\1|")?;
    let sentences = line.reshape([1])?.string_split("|", -1)?.flat_values();

    // Sentences to words: `[sentences, (words)]`. A mask of rows drops the short sentences.
    let letters = sentences.string_lower()?.regex_replace("[^a-z']+", " ")?;
    let words = letters.string_split("", -1)?;
    let is_long = words.row_lengths()?.greater_equal(MIN_WORDS)?;
    let (sentences, words) = (sentences.boolean_mask(is_long, 0)?, words.boolean_mask(is_long)?);

    // Words to ids, which number the vocabulary. A rare word counts more than a frequent one.
    let [vocabulary, ids, counts] = words.flat_values().unique_with_counts()?;
    let weights = counts.cast(DType::F32)?.gather(ids, 0)?.reciprocal()?.expand_dims(1)?;

    // Ids to vectors: `[sentences, (words), WIDTH]`. The vectors are random, so that different
    // words have different vectors; a table of trained vectors could take their place.
    let table = g.constant([1i64, 2])?.random_normal([vocabulary.dim(0)?, Dim::known(WIDTH)], DType::F32)?;
    let vectors = words.map_flat_values(|_| (table.gather(ids, 0)? * weights).ok())?;

    // The mean of each sentence, and the cosine of each pair of means.
    let means = vectors.reduce_mean(1)?.dense()?;
    let norms = means.square()?.reduce_sum(1)?.sqrt()?.expand_dims(1)?;
    let units = (means / norms).ok()?;
    let alike = units.matmul(units.t()?)?;
    println!("words: {}, vectors: {}, alike: {}", words.shape_text(), vectors.shape_text(), alike.shape());

    let outputs: [(&str, AnyValue); 4] = [
        ("sentences", sentences.into()),
        ("words", words.into()),
        ("vocabulary", vocabulary.into()),
        ("alike", alike.into()),
    ];
    let exe = g.compile(outputs)?;
    let first_half = &CHAPTER[..CHAPTER.find("Down, down, down.").unwrap_or(CHAPTER.len())];
    for text in [first_half, CHAPTER] {
        let results = exe.feed("text", &Tensor::from_strings(&[], &[text])?).run()?;
        let (texts, words) = (results.tensor("sentences")?.as_strings()?, results.ragged("words")?);
        let (count, vocabulary) = (words.nrows(), results.tensor("vocabulary")?.len());
        println!("\n{count} sentences, {} words, {vocabulary} different", words.flat_values().len());

        let alike = results.tensor("alike")?.to_vec::<f32>()?;
        let mut pairs: Vec<(usize, usize)> =
            (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b))).collect();
        pairs.sort_by(|x, y| alike[y.0 * count + y.1].total_cmp(&alike[x.0 * count + x.1]));
        for (a, b) in pairs.into_iter().take(PAIRS) {
            println!("{:.2}", alike[a * count + b]);
            for sentence in [&texts[a], &texts[b]] {
                println!("  {}", String::from_utf8_lossy(sentence).chars().take(100).collect::<String>());
            }
        }
    }
    Ok(())
}
