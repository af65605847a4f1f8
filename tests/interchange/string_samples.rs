//! Sample graphs of string ops.

use shapeflow::{CsvOptions, DType, Graph, Result, Tensor, Value, shape, string_format, string_join};

use crate::samples::Sample;

pub fn words() -> (&'static str, Tensor) {
    ("x", Tensor::from_strings(&[4], &["Hello World", "", "é 12", "a\0b"]).unwrap())
}

fn parts<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let x = g.input("x", DType::String, shape!["n"])?;
    let [_, pieces, _] = x.string_split_sparse(" ", -1)?;
    let [indices, bytes, _] = x.string_split_chars_sparse("", false)?;
    let [pairs, splits] = x.string_ngrams(g.constant([0i64, 3, 4])?, &[2], "|")?;
    Ok(vec![
        pieces,
        indices,
        bytes,
        pairs,
        splits,
        x.substr(g.constant(0)?, g.constant(2)?, "UTF8_CHAR")?,
        string_join(&[x, g.constant("!")?], "-")?,
        x.string_add(g.constant("?")?)?,
        x.reshape([2, 2])?.reduce_join([1], ",")?,
        x.unsorted_segment_join(g.constant([1, 0, 1, 0])?, 2, ";")?,
        x.reverse([0])?.pad([1, 0])?,
        x.equal(g.constant("")?)?,
    ])
}

fn columns<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let lines = g.input("x", DType::String, shape!["n"])?;
    let defaults = [Tensor::from([0i64]), Tensor::from(["none"]), Tensor::from([0.5f32])];
    lines.decode_csv(&defaults, &CsvOptions::new().delimiter(b';'))
}

fn conversions<'g>(g: &'g Graph) -> Result<Vec<Value<'g>>> {
    let x = g.input("x", DType::String, shape!["n"])?;
    let lengths = x.string_length("BYTE")?;
    let text = lengths.as_string()?;
    let [splits, codes, starts] = x.unicode_decode_with_offsets("UTF-8")?;
    Ok(vec![
        x.string_lower()?,
        x.string_upper_utf8()?,
        x.string_strip()?,
        x.regex_replace(r"(\w)o", r"\1")?,
        x.regex_full_match(r"[a-z].*")?,
        x.hash_bucket(1000)?,
        x.hash_bucket_strong(1000, [1, u64::MAX])?,
        x.hash_bucket_legacy(1000)?,
        text.string_to_number(DType::I64)?,
        x.encode_base64(true)?.decode_base64()?,
        text.decode_raw(DType::U8)?.slice([0, 0], [4, 0])?,
        splits,
        starts,
        codes.unicode_script()?,
        codes.unicode_encode(splits, "UTF-16-BE")?,
        x.unicode_transcode("UTF-8", "UTF-32-BE")?,
        string_format("{} of {}", &[lengths, x])?,
    ])
}

pub fn samples() -> Vec<Sample> {
    // All lengths have two digits, so that their texts have one length.
    let long =
        Tensor::from_strings(&[4], &["Hello World", "0123456789", "é 12345678", "a\0bcdefghij"]).unwrap();
    vec![
        Sample { name: "parts_of_strings", build: parts, feeds: vec![words()], runs_in_tensorflow: true },
        Sample {
            name: "conversions_of_strings",
            build: conversions,
            feeds: vec![("x", long)],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "columns_of_lines",
            build: columns,
            feeds: vec![("x", Tensor::from(["1;a;2", ";\"b;c\";", "-3;;0.25"]))],
            runs_in_tensorflow: true,
        },
        Sample {
            name: "string_ops_without_tensorflow_spelling",
            build: |g| {
                let x = g.input("x", DType::String, shape!["n"])?;
                let (keys, lengths) = (x.string_upper()?, x.string_length("BYTE")?);
                Ok(vec![x.table_lookup(keys, lengths, g.constant(-1)?)?])
            },
            feeds: vec![words()],
            runs_in_tensorflow: false,
        },
    ]
}
