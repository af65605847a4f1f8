//! Ops on strings and tables on ragged values, against the dense op on the flat values and loops over nested lists.

use shapeflow::{
    AnyValue, DType, Graph, LookupTable, RaggedTensor, RaggedValue, Result, Tensor, Value, shape,
};

/// Compares a function of ragged values with the same function of their flat values.
#[track_caller]
fn same<'g>(got: Result<RaggedValue<'g>>, flat: Result<Value<'g>>, of: RaggedValue<'g>) {
    let (got, flat) = (got.unwrap(), flat.unwrap());
    let outputs = [got.into(), AnyValue::Dense(flat), AnyValue::Dense(of.row_splits())];
    let results = got.graph().compile(outputs).unwrap().run_named(&[]).unwrap();
    let items: Vec<_> = results.items().unwrap().into_iter().map(|(_, item)| item).collect();
    let [got, flat, splits] = <[_; 3]>::try_from(items).unwrap();
    let got = got.ragged().unwrap();
    assert_eq!(got.flat_values(), &flat.dense().unwrap());
    assert_eq!(got.row_splits(), &splits.dense().unwrap());
}

fn text<'g>(value: impl Into<AnyValue<'g>>) -> Result<String> {
    let value = value.into();
    let results = value.graph().compile(value)?.run_named(&[])?;
    Ok(results.items()?[0].1.to_string())
}

/// Makes a ragged constant of the rows `[a, b], [], [c]`.
fn rows_of<'g, const N: usize>(g: &'g Graph, words: [&str; N]) -> RaggedValue<'g> {
    let lengths = [2i64, 0, N as i64 - 2];
    RaggedValue::from_row_lengths(g.constant(Tensor::from(words)).unwrap(), g.constant(lengths).unwrap())
        .unwrap()
}

#[test]
fn functions_of_strings_run_on_flat_values() {
    let g = Graph::new();
    let x = rows_of(&g, [" Ab 1", "ÄB2", "c3 "]);
    let a = x.flat_values();
    same(x.string_lower(), a.string_lower(), x);
    same(x.string_upper(), a.string_upper(), x);
    same(x.string_lower_utf8(), a.string_lower_utf8(), x);
    same(x.string_upper_utf8(), a.string_upper_utf8(), x);
    same(x.string_strip(), a.string_strip(), x);
    same(x.string_length("UTF8_CHAR"), a.string_length("UTF8_CHAR"), x);
    same(x.regex_replace(r"(\d)", r"<\1>"), a.regex_replace(r"(\d)", r"<\1>"), x);
    same(x.regex_full_match(r".*\d"), a.regex_full_match(r".*\d"), x);
    let (pattern, rewrite) = (g.constant(r"\d").unwrap(), g.constant("#").unwrap());
    same(x.regex_replace_with(pattern, rewrite), a.regex_replace_with(pattern, rewrite), x);
    same(x.regex_full_match_with(pattern), a.regex_full_match_with(pattern), x);
    same(x.hash_bucket(10), a.hash_bucket(10), x);
    same(x.hash_bucket_strong(10, [1, 2]), a.hash_bucket_strong(10, [1, 2]), x);
    same(x.hash_bucket_legacy(10), a.hash_bucket_legacy(10), x);
    same(x.encode_base64(true), a.encode_base64(true), x);
    same(x.encode_base64(false).and_then(RaggedValue::decode_base64), Ok(a), x);
    same(x.unicode_transcode("UTF-8", "UTF-16-BE"), a.unicode_transcode("UTF-8", "UTF-16-BE"), x);
    same(x.decode_padded_raw(2, DType::U8), a.decode_padded_raw(2, DType::U8), x);
    same(x.substr(1, 2, "BYTE"), a.substr(1, 2, "BYTE"), x);
    same(x.string_add(x), a.string_add(a), x);
    let (keys, ids) = (g.constant(["c3 "]).unwrap(), g.constant([7]).unwrap());
    let none = g.constant(-1).unwrap();
    same(x.table_lookup(keys, ids, none), a.table_lookup(keys, ids, none), x);
    let table = LookupTable::new(&Tensor::from(["c3 "]), &Tensor::from([[7, 8]])).unwrap();
    let none = g.constant([0, 0]).unwrap();
    same(x.lookup(&table, none), a.lookup(&table, none), x);
    let numbers = rows_of(&g, ["1.5", "-2", "30"]);
    let b = numbers.flat_values();
    same(numbers.string_to_number(DType::F32), b.string_to_number(DType::F32), numbers);
    let (floats, c) =
        (numbers.string_to_number(DType::F64).unwrap(), b.string_to_number(DType::F64).unwrap());
    same(floats.as_string(), c.as_string(), numbers);
    same(floats.bucketize(&[0.0, 10.0]), c.bucketize(&[0.0, 10.0]), numbers);
    let letters = rows_of(&g, ["ab", "cd", "ef"]);
    same(letters.decode_raw(DType::U8), letters.flat_values().decode_raw(DType::U8), letters);
    let points = floats.cast(DType::I32).unwrap();
    same(points.unicode_script(), points.flat_values().unicode_script(), numbers);
    assert!(floats.string_lower().is_err() && floats.regex_replace("(", "").is_err());
}

#[test]
fn strings_are_cut_by_ragged_and_dense_positions() -> Result<()> {
    let g = Graph::new();
    let x = rows_of(&g, ["hello", "world", "again"]);
    let lengths = RaggedValue::from_row_splits(g.constant([1i64, 2, 3])?, x.row_splits())?;
    assert_eq!(text(x.substr(lengths, 2, "BYTE")?)?, r#"[["el", "rl"], [], ["in"]]"#);
    assert_eq!(text(x.substr(0, lengths, "BYTE")?)?, r#"[["h", "wo"], [], ["aga"]]"#);
    let starts = g.constant([[0i64], [1], [2]])?;
    assert_eq!(text(x.substr(starts, lengths, "BYTE")?)?, r#"[["h", "wo"], [], ["ain"]]"#);
    let other = RaggedValue::from_row_lengths(g.constant([1i64, 2, 3])?, g.constant([1i64, 1, 1])?)?;
    assert!(text(x.substr(other, 2, "BYTE")?).is_err() && text(x.substr(2, other, "BYTE")?).is_err());
    assert!(x.substr(0.5, 1, "BYTE").is_err());
    Ok(())
}

#[test]
fn strings_of_rows_are_joined_and_split() -> Result<()> {
    let g = Graph::new();
    let x = rows_of(&g, ["a b", "c", "d e"]);
    let names = g.constant(["x", "y", "z"])?.expand_dims(1)?;
    let joined = RaggedValue::string_join(&[names.into(), x.into(), g.constant("!")?.into()], "-")?;
    assert_eq!(text(joined)?, r#"[["x-a b-!", "x-c-!"], [], ["z-d e-!"]]"#);
    assert_eq!(text(x.string_add(names)?)?, r#"[["a bx", "cx"], [], ["d ez"]]"#);
    let other = RaggedValue::from_row_lengths(g.constant(["1", "2", "3"])?, g.constant([1i64, 1, 1])?)?;
    assert!(text(RaggedValue::string_join(&[x.into(), other.into()], "")?).is_err());
    let none: [AnyValue<'_>; 0] = [];
    assert!(RaggedValue::string_join(&none, "").is_err());
    assert!(RaggedValue::string_join(&[names.into()], "").is_err());
    let words = x.string_split(" ", -1)?;
    assert_eq!(text(words)?, r#"[[["a", "b"], ["c"]], [], [["d", "e"]]]"#);
    assert_eq!(
        text(x.string_split_chars("", true)?)?,
        r#"[[["a", " ", "b"], ["c"]], [], [["d", " ", "e"]]]"#
    );
    assert_eq!(text(words.reduce_join(2, "+")?)?, r#"[["a+b", "c"], [], ["d+e"]]"#);
    assert_eq!(text(words.reduce_join(1, "+")?)?, r#"[["a+c", "b"], [], ["d", "e"]]"#);
    assert_eq!(text(words.reduce_join(0, "+")?)?, r#"[["a+d", "b+e"], ["c"]]"#);
    let pairs = x.map_flat_values(|flat| shapeflow::stack(&[flat, flat], 1))?;
    assert_eq!(text(pairs.reduce_join(-1, "=")?)?, r#"[["a b=a b", "c=c"], [], ["d e=d e"]]"#);
    assert!(x.reduce_join(2, "").is_err());
    Ok(())
}

#[test]
fn strings_of_any_rows_run_in_one_program() -> Result<()> {
    let g = Graph::new();
    let x = g.ragged_input("x", DType::String, 1, shape![])?;
    let exe = g.compile([("y", x.string_upper()?.reduce_join(1, ",")?)])?;
    for (words, lengths, expected) in [
        (vec!["a", "b", "c"], vec![2i64, 1], r#"["A,B", "C"]"#),
        (vec![], vec![0, 0], r#"["", ""]"#),
        (vec![], vec![], "[]"),
    ] {
        let rows = RaggedTensor::from_row_lengths(Tensor::from(words), lengths)?;
        let results = exe.feed("x", &rows).run()?;
        assert_eq!(results.items()?[0].1.to_string(), expected);
    }
    Ok(())
}

/// The expected results are TensorFlow's.
#[test]
fn characters_of_ragged_strings_are_decoded_split_and_encoded() -> Result<()> {
    let g = Graph::new();
    let x = RaggedValue::from_row_lengths(g.constant(["aé", "", "b"])?, g.constant([2i64, 1])?)?;
    let points = x.unicode_decode("UTF-8")?;
    assert_eq!(text(points)?, "[[[97, 233], []], [[98]]]");
    assert_eq!(text(x.unicode_split("UTF-8")?)?, r#"[[["a", "é"], []], [["b"]]]"#);
    let [same, starts] = x.unicode_decode_with_offsets("UTF-8")?;
    assert_eq!((text(same)?, text(starts)?), (text(points)?, "[[[0, 1], []], [[0]]]".to_string()));
    assert_eq!(text(points.unicode_encode("UTF-8")?)?, r#"[["aé", ""], ["b"]]"#);
    let rows = RaggedValue::from_row_lengths(g.constant([97, 233])?, g.constant([2i64, 0])?)?;
    assert_eq!(text(rows.unicode_encode("UTF-8")?)?, r#"["aé", ""]"#);
    let pairs = RaggedValue::from_row_lengths(g.constant([[97, 98], [99, 100]])?, g.constant([1i64, 1])?)?;
    assert_eq!(text(pairs.unicode_encode("UTF-8")?)?, r#"[["ab"], ["cd"]]"#);
    assert!(pairs.cast(DType::String).is_err() && pairs.unicode_decode("UTF-8").is_err());
    assert!(
        g.constant(["a"])?.expand_dims(0)?.unicode_split("UTF-8").is_err()
            && x.unicode_split("unknown").is_err()
    );
    // Splits of 32 bits stay.
    let short = x.with_row_splits_dtype(DType::I32)?;
    assert_eq!(text(short.unicode_decode("UTF-8")?)?, text(points)?);
    assert_eq!(short.unicode_split("UTF-8")?.row_splits().dtype(), DType::I32);
    Ok(())
}

/// The expected results are TensorFlow's.
#[test]
fn ragged_values_are_written_in_a_text() -> Result<()> {
    let g = Graph::new();
    let written = |template: &str, values: &[AnyValue<'_>]| -> Result<String> {
        let [text] = g.compile(RaggedValue::string_format(template, values)?)?.run(&[])?;
        Ok(String::from_utf8_lossy(text.as_strings()?.at(0)).into_owned())
    };
    let of = |flat: Tensor, lengths: Vec<i64>| -> Result<AnyValue<'_>> {
        Ok(RaggedValue::from_row_lengths(g.constant(flat)?, g.constant(Tensor::from(lengths))?)?.into())
    };
    let ints = of(Tensor::from([1, 2, 3]), vec![2, 1])?;
    assert_eq!(written("f {}", &[ints])?, "f [[1, 2], [3]]");
    assert_eq!(written("{} rows {}!", &[g.constant(3)?.into(), ints])?, "3 rows [[1, 2], [3]]!");
    assert_eq!(written("{}", &[of(Tensor::from(["a", "it's"]), vec![2, 0])?])?, r"[['a', 'it\'s'], []]");
    let floats = of(Tensor::from([1.5f32, 2.25, 3.0]), vec![2, 1])?;
    assert_eq!(written("{}", &[floats])?, "[[1.500000, 2.250000], [3.000000]]");
    assert_eq!(
        written("{}", &[of(Tensor::from([true, false, true]), vec![1, 2])?])?,
        "[[true], [false, true]]"
    );
    let long = of(Tensor::from((0..20).collect::<Vec<i32>>()), vec![8, 7, 5])?;
    assert_eq!(
        written("{}", &[long])?,
        "[[0, 1, 2, ..., 5, 6, 7], [8, 9, 10, ..., 12, 13, 14], [15, 16, 17, 18, 19]]"
    );
    let many = of(Tensor::from((0..9).collect::<Vec<i32>>()), vec![1; 9])?;
    assert_eq!(written("{}", &[many])?, "[[0], [1], [2], ..., [6], [7], [8]]");
    let inner = of(Tensor::from_vec(&[9, 2], (0..18).collect::<Vec<i32>>())?, vec![8, 1])?;
    assert_eq!(
        written("{}", &[inner])?,
        "[[[0, 1], [2, 3], [4, 5], ..., [10, 11], [12, 13], [14, 15]], [[16, 17]]]"
    );
    assert!(RaggedValue::string_format("{} {}", &[ints]).is_err());
    assert!(RaggedValue::string_format("", &[]).is_err());
    Ok(())
}

#[test]
fn new_rows_have_the_dtype_of_the_splits() -> Result<()> {
    let g = Graph::new();
    let words = RaggedValue::from_row_lengths(g.constant(["a b", "c"])?, g.constant([2, 0])?)?;
    assert_eq!(text(words.string_split("", -1)?)?, r#"[[["a", "b"], ["c"]], []]"#);
    assert_eq!(text(words.string_split_chars("", true)?)?, r#"[[["a", " ", "b"], ["c"]], []]"#);
    assert_eq!(text(words.unicode_split("UTF-8")?)?, r#"[[["a", " ", "b"], ["c"]], []]"#);
    let (filled, _) = words.fill_empty_rows(g.constant("?")?)?;
    assert_eq!(filled.row_splits().dtype(), DType::I32);
    assert_eq!(text(filled)?, r#"[["a b", "c"], ["?"]]"#);
    Ok(())
}
