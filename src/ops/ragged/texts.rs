//! Characters of ragged strings, and ragged values in a text.

use std::panic::Location;

use shapeflow_shape_fns::{DType, counted};

use super::errors::refuse;
use super::numbers::{dim_param, dim_value, number, own_dim};
use super::select::no_values;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{AnyValue, RaggedValue, Value};
use crate::ops::{concat, string_format, string_join};
use crate::ragged::Unchecked;

impl<'g> RaggedValue<'g> {
    /// Decodes every string to the code points of its characters, which are a row of a new innermost partition.
    ///
    /// `string[n, (r)] -> i32[n, (r), (characters)]`. As [`Value::unicode_decode`] on the flat values. As TensorFlow's
    /// `tf.strings.unicode_decode` of a ragged tensor. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue};
    ///
    /// let g = Graph::new();
    /// let words = RaggedValue::from_row_lengths(g.constant(["aé", "", "b"])?, g.constant([2i64, 1])?)?;
    /// let points = g.compile(words.unicode_decode("UTF-8")?)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(points.to_string(), "[[[97, 233], []], [[98]]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::unicode_decode`]; also if there are inner axes.
    #[track_caller]
    pub fn unicode_decode(self, encoding: &str) -> Result<RaggedValue<'g>> {
        self.in_call("unicode_decode", || {
            let [splits, points] = self.only_flat("unicode_decode")?.unicode_decode(encoding)?;
            self.with_characters(points, splits)
        })
    }

    /// Decodes as [`RaggedValue::unicode_decode`] does, and gives the byte at which each character starts in its
    /// string.
    ///
    /// `string[n, (r)] -> i32[n, (r), (characters)], starts i64[n, (r), (characters)]`. As TensorFlow's
    /// `tf.strings.unicode_decode_with_offsets` of a ragged tensor. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue};
    ///
    /// let g = Graph::new();
    /// let words = RaggedValue::from_row_lengths(g.constant(["éa", "b"])?, g.constant([2i64])?)?;
    /// let [_, starts] = words.unicode_decode_with_offsets("UTF-8")?;
    /// let starts = g.compile(starts)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(starts.to_string(), "[[[0, 2], [0]]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RaggedValue::unicode_decode`].
    #[track_caller]
    pub fn unicode_decode_with_offsets(self, encoding: &str) -> Result<[RaggedValue<'g>; 2]> {
        self.in_call("unicode_decode_with_offsets", || {
            let flat = self.only_flat("unicode_decode_with_offsets")?;
            let [splits, points, starts] = flat.unicode_decode_with_offsets(encoding)?;
            let points = self.with_characters(points, splits)?;
            Ok([points, points.with_flat_values(starts)?])
        })
    }

    /// Splits every string into its characters, which are a row of a new innermost partition.
    ///
    /// `string[n, (r)] -> string[n, (r), (characters)]`; else as [`Value::unicode_split`]. As TensorFlow's
    /// `tf.strings.unicode_split` of a ragged tensor. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue};
    ///
    /// let g = Graph::new();
    /// let words = RaggedValue::from_row_lengths(g.constant(["aé", "b"])?, g.constant([1i64, 1])?)?;
    /// let letters = g.compile(words.unicode_split("UTF-8")?)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(letters.to_string(), "[[[\"a\", \"é\"]], [[\"b\"]]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::unicode_split`]; also if there are inner axes.
    #[track_caller]
    pub fn unicode_split(self, encoding: &str) -> Result<RaggedValue<'g>> {
        self.in_call("unicode_split", || {
            self.around_rows(self.only_flat("unicode_split")?.unicode_split(encoding)?)
        })
    }

    /// Encodes every innermost row of code points as a string. A code point that is not a character gives U+FFFD.
    ///
    /// `i32[n, (r)] -> string[n]` and `i32[n, (r), (characters)] -> string[n, (r)]`. As [`Value::unicode_encode`] on
    /// the flat values. As TensorFlow's `tf.strings.unicode_encode` of a ragged tensor. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor, ragged};
    ///
    /// let g = Graph::new();
    /// let texts = g.ragged_constant(&ragged![[97, 233], [], [98]])?.unicode_encode("UTF-8")?.dense()?;
    /// let [texts] = g.compile(texts)?.run(&[])?;
    /// assert_eq!(texts, Tensor::from(["aé", "", "b"]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::unicode_encode`]; also if there is more than one inner axis.
    #[track_caller]
    pub fn unicode_encode(self, encoding: &str) -> Result<AnyValue<'g>> {
        self.in_call("unicode_encode", || {
            let flat = self.flat_values();
            if flat.shape().rank() == Some(2) {
                // The rows of the flat values are the strings.
                let rows = AnyValue::Dense(flat).rows(self.row_splits().dtype())?;
                return Ok(self.around(rows.unicode_encode(encoding)?));
            }
            let partitions = self.partitions();
            let (last, outer) = partitions.split_last().expect("a ragged value has at least one partition");
            let texts = self.only_flat("unicode_encode")?.unicode_encode(last.row_splits(), encoding)?;
            Ok(AnyValue::of(texts, outer))
        })
    }

    /// Writes `template` with each `{}` replaced by the elements of a value: a dense value as the function
    /// [`string_format`] writes it, and a ragged value in nested brackets, `[[1, 2], [3]]`. Axes
    /// of more than 6 items show their first and last three items.
    ///
    /// `[n, (r), ..]… -> string[]`, every dtype of [`Value::as_string`], and strings, which are written in quotes. As
    /// TensorFlow's `tf.strings.format`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue, ragged};
    ///
    /// let g = Graph::new();
    /// let (x, n) = (g.ragged_constant(&ragged![[1, 2], [], [3]])?, g.constant(3)?);
    /// let text = RaggedValue::string_format("{} rows: {}", &[n.into(), x.into()])?;
    /// let [text] = g.compile(text)?.run(&[])?;
    /// assert_eq!(text.as_strings()?.at(0), b"3 rows: [[1, 2], [], [3]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are no values, or their number is not the number of placeholders; or a ragged value has an unknown rank.
    #[track_caller]
    pub fn string_format(template: &str, values: &[AnyValue<'g>]) -> Result<Value<'g>> {
        let location = Location::caller();
        let Some(graph) = values.first().map(|value| value.graph()) else {
            return Err(no_values("string_format", location));
        };
        graph.in_call("string_format", || {
            let pieces: Vec<&str> = template.split("{}").collect();
            if pieces.len() != values.len() + 1 {
                let message = format!(
                    "the template must have one placeholder {{}} for each of {}, got {}",
                    counted(values.len(), "value"),
                    pieces.len() - 1
                );
                return Err(Error::new(ErrorKind::Attribute, Phase::Build, message).at(location));
            }
            let mut texts = vec![graph.constant(pieces[0])?];
            for (value, piece) in values.iter().zip(&pieces[1..]) {
                texts.push(match *value {
                    AnyValue::Dense(value) => string_format("{}", &[value])?,
                    AnyValue::Ragged(value) => value.text()?,
                });
                texts.push(graph.constant(*piece)?);
            }
            string_join(&texts, "")
        })
    }

    /// Returns the flat values, which must be a vector.
    fn only_flat(self, op: &str) -> Result<Value<'g>> {
        let flat = self.flat_values();
        match flat.shape().rank() {
            Some(1) => Ok(flat),
            _ => {
                let message = format!("{op} needs a value without inner axes, got {}", self.shape_text());
                Err(refuse(self.graph(), ErrorKind::Shape, message)
                    .with_help("use merge_dims, which joins inner axes with the axis before them"))
            }
        }
    }

    /// Puts all partitions around characters that an op has split from the flat values.
    fn with_characters(self, characters: Value<'g>, splits: Value<'g>) -> Result<RaggedValue<'g>> {
        self.around_rows(RaggedValue::from_row_splits(characters, Unchecked(splits))?)
    }

    /// Puts all partitions of `self` around rows that an op has made of the flat values.
    pub(super) fn around_rows(self, rows: RaggedValue<'g>) -> Result<RaggedValue<'g>> {
        self.around(rows.with_row_splits_dtype(self.row_splits().dtype())?.into()).ragged()
    }

    /// Writes the elements in nested brackets.
    fn text(self) -> Result<Value<'g>> {
        let (graph, flat) = (self.graph(), self.flat_values());
        let mut texts = match flat.dtype() {
            DType::String => {
                let quote = graph.constant("'")?;
                quote.string_add(flat.regex_replace(r"(['\\])", r"\\\1")?)?.string_add(quote)?
            }
            _ => flat.as_string()?,
        };
        let mut partitions = self.partitions();
        if let Some(inner) = flat.shape().rank().filter(|rank| *rank > 1) {
            let rows = RaggedValue::from_tensor(texts, inner - 1)?;
            let dtype = self.row_splits().dtype();
            partitions.extend(rows.with_row_splits_dtype(dtype)?.partitions());
            texts = rows.flat_values();
        }
        for rows in partitions.into_iter().rev() {
            texts = RaggedValue::new(texts, &[rows]).row_texts()?;
        }
        // All rows together are one row.
        let dtype = DType::I64;
        let count = dim_value(graph, self.own_nrows()?)?.reshape([1i64])?;
        let splits = concat(&[number(graph, dtype, 0)?.reshape([1i64])?, count], 0)?;
        RaggedValue::from_row_splits(texts, splits)?.row_texts()?.reshape([0i64; 0])
    }

    /// Writes each row of texts in brackets: `string[n, (r)] -> string[n]`.
    fn row_texts(self) -> Result<Value<'g>> {
        const ENDS: i64 = 3;
        let graph = self.graph();
        let rowids = self.value_rowids()?;
        let (columns, lengths) = (self.columns()?, self.row_lengths()?.gather(rowids, 0)?);
        let is_long = lengths.greater(2 * ENDS)?;
        let from_end = (lengths - columns).ok()?;
        let is_hidden =
            is_long.logical_and(columns.greater_equal(ENDS)?)?.logical_and(from_end.greater(ENDS)?)?;
        // The first item after the hidden ones.
        let follows = is_long.logical_and(from_end.equal(ENDS)?)?;
        let texts = self.flat_values();
        let marked = graph.constant("..., ")?.string_add(texts)?;
        let shown = is_hidden.logical_not()?;
        let texts = follows.select(marked, texts)?.boolean_mask(shown, 0)?;
        let ids = rowids.boolean_mask(shown, 0)?;
        let joined = texts.unsorted_segment_join(ids, dim_param(self.own_nrows()?), ", ")?;
        graph.constant("[")?.string_add(joined)?.string_add(graph.constant("]")?)
    }
}

impl<'g> Value<'g> {
    /// Splits each string into its characters. Bytes that are not a character give U+FFFD.
    ///
    /// `string[n] -> string[n, (characters)]`: row `i` has the characters of string `i`. `encoding` is `UTF-8`,
    /// `UTF-16-BE` or `UTF-32-BE`, and the encoding of the characters too. As TensorFlow's `tf.strings.unicode_split`.
    /// Runs on the host.
    ///
    /// ```
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let letters = g.constant(["aé", "", "b"])?.unicode_split("UTF-8")?;
    /// let letters = g.compile(letters)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(letters.to_string(), "[[\"a\", \"é\"], [], [\"b\"]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is not a vector of strings, or the encoding is not supported.
    #[track_caller]
    pub fn unicode_split(self, encoding: &str) -> Result<RaggedValue<'g>> {
        self.graph().in_call("unicode_split", || {
            if self.shape().rank() != Some(1) {
                let message = format!("unicode_split needs a vector of strings, got {}", self.shape());
                return Err(refuse(self.graph(), ErrorKind::Shape, message)
                    .with_help("use reshape, and from_tensor for the axes"));
            }
            let [splits, points] = self.unicode_decode(encoding)?;
            // Each code point is a string of one character.
            let ends = self.graph().range(0i64, own_dim(points, 0)? + 1, 1i64)?;
            RaggedValue::from_row_splits(points.unicode_encode(ends, encoding)?, Unchecked(splits))
        })
    }
}
