//! String ops against plain loops, and laws that their results obey.

use std::collections::HashMap;

use shapeflow::{
    Backend, CompileOptions, DType, Dim, ErrorKind, Graph, RaggedTensor, RaggedValue, Result, Tensor,
    TensorShape, Value, shape, string_join,
};

use crate::rng::Rng;

/// Draws strings of every kind: empty, ASCII, UTF-8, not UTF-8, with zeros, long.
fn draw(rng: &mut Rng, count: usize) -> Vec<Vec<u8>> {
    let string = |rng: &mut Rng| {
        let length = *rng.choose(&[0, 1, 2, 5, 9, 70]);
        let kind = rng.below(3);
        let mut bytes = Vec::new();
        while bytes.len() < length {
            match kind {
                0 => bytes.push(*rng.choose(b"ab, -\0\t")),
                1 => bytes.extend(rng.choose(&["é", "日", "x", "😀", " "]).as_bytes()),
                _ => bytes.push(rng.below(256) as u8),
            }
        }
        bytes
    };
    (0..count).map(|_| string(rng)).collect()
}

fn vector(strings: &[impl AsRef<[u8]>]) -> Tensor {
    Tensor::from_strings(&[strings.len()], strings).unwrap()
}

/// Returns the strings of a tensor.
fn strings_of(tensor: &Tensor) -> Vec<Vec<u8>> {
    tensor.as_strings().unwrap().iter().map(<[u8]>::to_vec).collect()
}

/// Runs the graph that `build` makes from one input, both with machine code and with the interpreter. The input has
/// first an unknown rank, then a known rank with unknown sizes. All four results must be equal.
fn run(x: &Tensor, build: impl for<'g> Fn(Value<'g>) -> Result<Vec<Value<'g>>>) -> Vec<Tensor> {
    let shapes = [
        TensorShape::unranked(),
        TensorShape::new((0..x.sizes().len()).map(|axis| Dim::symbol(&format!("d{axis}")))),
    ];
    let mut results: Vec<Vec<Tensor>> = Vec::new();
    for shape in shapes {
        for backend in [Backend::Jit, Backend::Interpreter] {
            let g = Graph::new();
            let outputs = build(g.input("x", x.dtype(), shape.clone()).unwrap()).unwrap();
            let exe = g.compile_with(&CompileOptions::new().backend(backend), &outputs[..]).unwrap();
            results.push(exe.run_all(&[x.view()]).unwrap());
        }
    }
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{results:?}");
    results.swap_remove(0)
}

#[test]
fn parts_joined_again_are_the_string() {
    let mut rng = Rng::new(7);
    for count in [0, 1, 13] {
        let strings = draw(&mut rng, count);
        for separator in [",", "a", "  ", "é"] {
            let results = run(&vector(&strings), |x| Ok(x.string_split_sparse(separator, -1)?.to_vec()));
            let (indices, parts) = (results[0].to_vec::<i64>().unwrap(), strings_of(&results[1]));
            let mut rows: Vec<Vec<Vec<u8>>> = vec![Vec::new(); count];
            for (index, part) in indices.as_chunks::<2>().0.iter().zip(parts) {
                assert_eq!(rows[index[0] as usize].len() as i64, index[1]);
                assert!(!part.windows(separator.len()).any(|window| window == separator.as_bytes()));
                rows[index[0] as usize].push(part);
            }
            let columns = rows.iter().map(Vec::len).max().unwrap_or(0) as i64;
            assert_eq!(results[2].to_vec::<i64>().unwrap(), [count as i64, columns]);
            let joined: Vec<Vec<u8>> = rows.iter().map(|row| row.join(separator.as_bytes())).collect();
            assert_eq!(joined, strings);
        }
        let results = run(&vector(&strings), |x| Ok(x.string_split_chars_sparse("", false)?.to_vec()));
        assert_eq!(strings_of(&results[1]).concat(), strings.concat());
    }
}

#[test]
fn split_strings_are_one_row_each() {
    let mut rng = Rng::new(9);
    let g = Graph::new();
    let x = g.input("x", DType::String, shape!["mails"]).unwrap();
    let (words, bytes) = (x.string_split(",", -1).unwrap(), x.string_split_chars("", false).unwrap());
    let grams = words.string_ngrams(&[1, 2], "_").unwrap();
    for rows in [words, bytes, grams] {
        assert_eq!(rows.shape_text(), "[mails, (r0)]");
    }
    // Every result has one row for each string, so a vector with one element for each string is added without a check.
    let bias = g.input("bias", DType::I64, shape!["mails"]).unwrap();
    let sums = (grams.row_lengths().unwrap() + bias).ok().unwrap();
    assert_eq!((sums.shape().to_string().as_str(), g.guards().len()), ("[mails]", 0));
    let exe = g.compile((("words", words), ("bytes", bytes), ("grams", grams), ("sums", sums))).unwrap();
    for count in [0, 1, 13] {
        let strings = draw(&mut rng, count);
        let bias = Tensor::from(vec![10i64; count]);
        let results = exe.feed("x", &vector(&strings)).feed("bias", &bias).run().unwrap();
        let [words, bytes, grams] = ["words", "bytes", "grams"].map(|name| results.ragged(name).unwrap());
        let mut sums = Vec::new();
        for (i, string) in strings.iter().enumerate() {
            let row = |rows: &RaggedTensor| strings_of(&rows.row(i as i64).unwrap().dense().unwrap());
            let mut parts: Vec<Vec<u8>> = string.split(|byte| *byte == b',').map(<[u8]>::to_vec).collect();
            assert_eq!(row(&words), parts);
            assert_eq!(row(&bytes), string.chunks(1).map(<[u8]>::to_vec).collect::<Vec<_>>());
            let pairs: Vec<Vec<u8>> = parts.windows(2).map(|pair| pair.join(&b'_')).collect();
            parts.extend(pairs);
            assert_eq!(row(&grams), parts);
            sums.push(parts.len() as i64 + 10);
        }
        assert_eq!(results.tensor("sums").unwrap(), &Tensor::from(sums));
    }
}

#[test]
fn ngrams_of_nested_rows_keep_the_outer_rows() {
    let g = Graph::new();
    let words = g.constant(["a b", "c", "d e f"]).unwrap().string_split(" ", -1).unwrap();
    let nested = RaggedValue::from_row_lengths(words, g.constant([2i64, 1]).unwrap()).unwrap();
    let pairs = nested.string_ngrams(&[2], "+").unwrap();
    let pairs = g.compile(pairs).unwrap().run_named(&[]).unwrap().ragged_at(0).unwrap();
    assert_eq!(pairs.to_string(), "[[[\"a+b\"], []], [[\"d+e\", \"e+f\"]]]");
}

#[test]
fn decoding_reverses_encoding() {
    let mut rng = Rng::new(11);
    let strings = draw(&mut rng, 40);
    for pad in [false, true] {
        let results = run(&vector(&strings), |x| {
            let text = x.encode_base64(pad)?;
            Ok(vec![text, text.decode_base64()?])
        });
        assert_eq!(strings_of(&results[1]), strings);
        for (text, string) in strings_of(&results[0]).iter().zip(&strings) {
            assert!(text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_=".contains(byte)));
            assert_eq!(
                text.len(),
                if pad { string.len().div_ceil(3) * 4 } else { (string.len() * 4).div_ceil(3) }
            );
        }
    }
    let texts: Vec<String> =
        strings.iter().map(|string| String::from_utf8_lossy(string).into_owned()).collect();
    for encoding in ["UTF-8", "UTF-16-BE", "UTF-32-BE"] {
        let results = run(&vector(&strings), |x| {
            let encoded = x.unicode_transcode("UTF-8", encoding)?;
            let [splits, codes] = encoded.unicode_decode(encoding)?;
            Ok(vec![encoded.unicode_transcode(encoding, "UTF-8")?, codes.unicode_encode(splits, "UTF-8")?])
        });
        for result in &results {
            assert_eq!(
                strings_of(result),
                texts.iter().map(|text| text.as_bytes().to_vec()).collect::<Vec<_>>()
            );
        }
    }
    let numbers = Tensor::from([i64::MIN, -7, 0, 12, i64::MAX]);
    assert_eq!(run(&numbers, |x| Ok(vec![x.as_string()?.string_to_number(DType::I64)?])), [numbers]);
    let bytes = run(&vector(&[[1u8, 0, 0, 0, 255, 255, 255, 255]]), |x| Ok(vec![x.decode_raw(DType::I32)?]));
    assert_eq!(bytes, [Tensor::from([[1i32, -1]])]);
}

#[test]
fn parts_and_lengths_equal_results_of_plain_loops() {
    let mut rng = Rng::new(3);
    let strings = draw(&mut rng, 60);
    let results = run(&vector(&strings), |x| {
        Ok(vec![
            x.string_length("BYTE")?,
            x.string_length("UTF8_CHAR")?,
            x.string_strip()?,
            x.string_upper()?,
        ])
    });
    let lengths: Vec<i32> = strings.iter().map(|string| string.len() as i32).collect();
    assert_eq!(results[0].to_vec::<i32>().unwrap(), lengths);
    for (string, count) in strings.iter().zip(results[1].to_vec::<i32>().unwrap()) {
        if let Ok(text) = std::str::from_utf8(string) {
            assert_eq!(text.chars().count() as i32, count);
        }
    }
    let stripped: Vec<Vec<u8>> = strings.iter().map(|string| string.trim_ascii().to_vec()).collect();
    let upper: Vec<Vec<u8>> = strings.iter().map(|string| string.to_ascii_uppercase()).collect();
    assert_eq!((strings_of(&results[2]), strings_of(&results[3])), (stripped, upper));
    for (pos, len) in [(0, 3), (0, 0), (0, 1000)] {
        let parts = run(&vector(&strings), |x| {
            let g = x.graph();
            Ok(vec![
                x.substr(g.constant(pos)?, g.constant(len)?, "BYTE")?,
                x.substr(g.constant(pos)?, g.constant(len)?, "UTF8_CHAR")?,
            ])
        });
        for ((bytes, chars), string) in strings_of(&parts[0]).iter().zip(strings_of(&parts[1])).zip(&strings)
        {
            assert_eq!(bytes, &string[..string.len().min(len as usize)]);
            if let Ok(text) = std::str::from_utf8(string) {
                assert_eq!(chars, text.chars().take(len as usize).collect::<String>().as_bytes());
            }
        }
    }
}

#[test]
fn joins_along_axes_equal_results_of_plain_loops() {
    let mut rng = Rng::new(5);
    for sizes in [[2usize, 3, 2], [1, 1, 4], [3, 0, 2], [2, 2, 1]] {
        let strings = draw(&mut rng, sizes.iter().product());
        let x = Tensor::from_strings(&sizes, &strings).unwrap();
        let at = |i: usize, j: usize, k: usize| strings[(i * sizes[1] + j) * sizes[2] + k].as_slice();
        let along: Vec<Vec<u8>> = (0..sizes[0])
            .flat_map(|i| (0..sizes[2]).map(move |k| (i, k)))
            .map(|(i, k)| (0..sizes[1]).map(|j| at(i, j, k)).collect::<Vec<_>>().join(&b"|"[..]))
            .collect();
        let mut all = Vec::new();
        for k in 0..sizes[2] {
            for i in 0..sizes[0] {
                all.push((0..sizes[1]).map(|j| at(i, j, k)).collect::<Vec<_>>().concat());
            }
        }
        let results = run(&x, |x| {
            let fed = x.graph().constant([1, 0, 2])?;
            Ok(vec![x.reduce_join([1], "|")?, x.reduce_join([1, 0, 2], "")?, x.reduce_join(fed, "")?])
        });
        assert_eq!(strings_of(&results[0]), along);
        assert_eq!((results[1].sizes(), strings_of(&results[1])), (&[][..], vec![all.concat()]));
        assert_eq!(results[1], results[2]);
    }
}

#[test]
fn ngrams_equal_results_of_plain_loops() {
    let mut rng = Rng::new(9);
    for rows in [vec![], vec![0], vec![4, 0, 1, 6]] {
        let words: Vec<Vec<Vec<u8>>> = rows.iter().map(|count| draw(&mut rng, *count)).collect();
        let mut splits = vec![0i64];
        splits.extend(words.iter().scan(0, |end, row| Some((*end += row.len() as i64, *end).1)));
        let mut expected: Vec<Vec<u8>> = Vec::new();
        for row in &words {
            for width in [2, 1, 3] {
                expected.extend(row.windows(width).map(|run| run.join(&b"-"[..])));
            }
        }
        let results = run(&vector(&words.concat()), |x| {
            let splits = x.graph().constant(splits.clone())?;
            Ok(x.string_ngrams(splits, &[2, 1, 3], "-")?.to_vec())
        });
        assert_eq!(strings_of(&results[0]), expected);
        assert_eq!(results[1].to_vec::<i64>().unwrap().last(), Some(&(expected.len() as i64)));
    }
}

#[test]
fn tables_give_the_values_of_their_keys() -> Result<()> {
    let mut rng = Rng::new(21);
    let mut keys = draw(&mut rng, 50);
    keys.sort();
    keys.dedup();
    let ids: Vec<i64> = (0..keys.len() as i64).map(|id| id * 3).collect();
    let mut asked = draw(&mut rng, 50);
    asked.extend((0..200).map(|_| rng.choose(&keys).clone()));
    let table: HashMap<&[u8], i64> = keys.iter().map(Vec::as_slice).zip(ids.iter().copied()).collect();
    let expected: Vec<i64> =
        asked.iter().map(|key| table.get(key.as_slice()).copied().unwrap_or(-1)).collect();
    let g = Graph::new();
    let x = g.input("x", DType::String, TensorShape::unranked())?;
    let fed = g.input("keys", DType::String, shapeflow::shape![?])?;
    let (values, none) = (g.constant(ids)?, g.constant(-1i64)?);
    let constant = g.constant(vector(&keys))?;
    let found = [x.table_lookup(constant, values, none)?, x.table_lookup(fed, values, none)?];
    let back = found[0].table_lookup(values, constant, g.constant("?")?)?;
    let exe = g.compile(&[found[0], found[1], back][..])?;
    for _ in 0..2 {
        let [first, second, back] = exe.run(&[vector(&asked).view(), vector(&keys).view()])?;
        assert_eq!((first.to_vec::<i64>()?, second.to_vec::<i64>()?), (expected.clone(), expected.clone()));
        let named: Vec<Vec<u8>> = asked
            .iter()
            .map(|key| if table.contains_key(key.as_slice()) { key.clone() } else { b"?".to_vec() })
            .collect();
        assert_eq!(strings_of(&back), named);
    }
    let twice = vector(&vec!["k"; keys.len()]);
    let error = exe.run_all(&[vector(&asked).view(), twice.view()]).unwrap_err();
    assert!(error.message().contains("a key must have one value"), "{error}");
    Ok(())
}

#[test]
fn a_regular_expression_may_be_computed() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::String, shapeflow::shape!["n"])?;
    let pattern = g.input("pattern", DType::String, [0i64; 0])?;
    let marked = x.regex_replace_with(pattern, g.constant(r"<\0>")?)?;
    let exe =
        g.compile(&[marked, x.regex_full_match_with(pattern)?, string_join(&[x, pattern], "~")?][..])?;
    let words = vector(&["a1b22", "7"]);
    for (pattern, expected, whole) in
        [(r"\d+", ["a<1>b<22>", "<7>"], [false, true]), ("b", ["a1<b>22", "7"], [false; 2])]
    {
        let pattern = Tensor::from_strings(&[], &[pattern])?;
        let [marked, matches, joined] = exe.run(&[words.view(), pattern.view()])?;
        assert_eq!((marked, matches.to_vec::<bool>()?), (vector(&expected), whole.to_vec()));
        assert!(joined.as_strings()?.at(0).starts_with(b"a1b22~"));
    }
    // TensorFlow replaces nothing if the pattern lacks a group.
    let lacking = x.regex_replace_with(pattern, g.constant(r"<\1>")?)?;
    let digits = Tensor::from_strings(&[], &[r"\d+"])?;
    let [lacking] = g.compile(lacking)?.run(&[words.view(), digits.view()])?;
    assert_eq!(lacking, words);
    let bad = Tensor::from_strings(&[], &["("])?;
    let error = exe.run_all(&[words.view(), bad.view()]).unwrap_err();
    assert!(error.message().contains("a pattern must be a regular expression of RE2, got \"(\""), "{error}");
    let error = x.regex_replace("a(", "").unwrap_err();
    assert_eq!((error.kind(), error.location().is_some()), (ErrorKind::Attribute, true));
    assert!(x.regex_replace("a", r"\1").unwrap_err().message().contains("a rewrite must name groups"));
    Ok(())
}
