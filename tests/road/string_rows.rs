//! Maps and scans of strings against plain loops.

use shapeflow::{DType, Graph, RaggedValue, Result, Tensor, shape, string_join};

use crate::rng::Rng;

/// Draws strings, also strings that are empty, long or not UTF-8.
fn words(rng: &mut Rng, count: usize) -> Vec<Vec<u8>> {
    let mut word = || (0..*rng.choose(&[0, 1, 3, 40])).map(|_| rng.below(256) as u8).collect();
    (0..count).map(|_| word()).collect()
}

/// Returns the strings of a tensor.
fn strings_of(tensor: &Tensor) -> Vec<Vec<u8>> {
    tensor.as_strings().unwrap().iter().map(<[u8]>::to_vec).collect()
}

#[test]
fn rows_of_strings_are_mapped_and_scanned() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::String, shape!["n", 2])?;
    let y = g.input("y", DType::I64, shape!["n"])?;
    let mapped = g.map(&[x, y], |row| {
        let number = row[1].as_string()?;
        Ok([string_join(&[row[0], number], "-")?, row[0].string_length("BYTE")?, number])
    })?;
    let start = g.constant("")?;
    let (last, prefixes) = g.scan(&[start], &[x], |state, row| {
        let joined = string_join(&[state[0], row[0].gather(g.constant(0i64)?, 0)?], "")?;
        Ok((vec![joined], vec![joined]))
    })?;
    assert_eq!(
        (mapped[0].shape().to_string(), mapped[2].shape().to_string()),
        ("[n, 2]".into(), "[n]".into())
    );
    let exe = g.compile([mapped[0], mapped[1], mapped[2], last[0], prefixes[0]])?;
    let mut rng = Rng::new(71);
    for count in [3, 0, 1, 40] {
        let drawn = words(&mut rng, 2 * count);
        let numbers: Vec<i64> = (0..count as i64).map(|number| number * number * 7 - 50).collect();
        let (x, y) = (Tensor::from_strings(&[count, 2], &drawn)?, Tensor::from_slice(&[count], &numbers)?);
        let [joined, lengths, texts, last, prefixes] = exe.run(&[x.view(), y.view()])?;
        let text = |row: usize| numbers[row].to_string().into_bytes();
        let expected: Vec<Vec<u8>> =
            drawn.iter().enumerate().map(|(at, word)| [&word[..], &text(at / 2)].join(&b'-')).collect();
        assert_eq!((joined.sizes(), strings_of(&joined)), (&[count, 2][..], expected));
        let expected: Vec<i32> = drawn.iter().map(|word| word.len() as i32).collect();
        assert_eq!(lengths.to_vec::<i32>()?, expected);
        assert_eq!(strings_of(&texts), (0..count).map(text).collect::<Vec<_>>());
        let expected: Vec<Vec<u8>> = (1..=count)
            .map(|end| drawn[..2 * end].iter().step_by(2).cloned().collect::<Vec<_>>().concat())
            .collect();
        assert_eq!(strings_of(&prefixes), expected);
        assert_eq!(strings_of(&last), [expected.last().cloned().unwrap_or_default()]);
    }
    Ok(())
}

#[test]
fn rows_of_ragged_strings_are_mapped() -> Result<()> {
    let g = Graph::new();
    let words = g.constant(["a", "bc", "", "é"])?;
    let ragged = RaggedValue::from_row_lengths(words, g.constant([2i64, 0, 2])?)?;
    let upper = ragged.map_rows(|row| shapeflow::concat(&[row.dense()?.string_upper()?, row.dense()?], 0))?;
    let joined = ragged.map(|row| row.dense()?.reduce_join(0, "+"))?;
    let results = g.compile(upper)?.run_named(&[])?;
    let expected = "[[\"A\", \"BC\", \"a\", \"bc\"], [], [\"\", \"é\", \"\", \"é\"]]";
    assert_eq!(results.ragged_at(0)?.to_string(), expected);
    let [joined] = g.compile(joined)?.run(&[])?;
    assert_eq!(joined, Tensor::from(["a+bc", "", "+é"]));
    // A map stacks its rows, so these must have the same sizes.
    let rows = ragged.map(|row| row.dense()?.string_upper())?;
    let error = g.compile(rows)?.run::<1>(&[]).unwrap_err();
    assert!(error.message().contains("all rows must have the same sizes, got [2] and [0]"), "{error}");
    Ok(())
}
