//! String ops and table lookups of ragged values: each runs the dense op on the flat values.

use std::panic::Location;

use shapeflow_shape_fns::DType;

use super::errors::refuse;
use super::select::no_values;
use crate::error::{ErrorKind, Result};
use crate::graph::{AnyValue, IntoParam, RaggedValue, Value};
use crate::ops::{IntoRaggedOperand, string_join};

/// Members that run the method of [`Value`] with the same name on the flat values.
macro_rules! string_functions {
    ($($(#[$doc:meta])* $method:ident, ($($name:ident: $T:ty),*);)*) => {
        impl<'g> RaggedValue<'g> {$(
            $(#[$doc])*
            ///
            /// `[n, (r), ..] -> [n, (r), ..]`. Runs on the host.
            #[doc = concat!(
                "As [`Value::", stringify!($method), "`](crate::Value::", stringify!($method),
                ") on the flat values.",
            )]
            ///
            /// # Errors
            #[doc = concat!(
                "As [`Value::", stringify!($method), "`](crate::Value::", stringify!($method), ").",
            )]
            #[track_caller]
            pub fn $method(self, $($name: $T),*) -> Result<RaggedValue<'g>> {
                self.in_call(stringify!($method), || {
                    self.map_flat_values(|flat| flat.$method($($name),*))
                })
            }
        )*}
    };
}
string_functions! {
    /// Converts the ASCII letters of every string to lower case.
    string_lower, ();
    /// Converts the ASCII letters of every string to upper case.
    string_upper, ();
    /// Converts every UTF-8 string to lower case by the rules of Unicode.
    string_lower_utf8, ();
    /// Converts every UTF-8 string to upper case by the rules of Unicode.
    string_upper_utf8, ();
    /// Removes ASCII white space from both ends of every string.
    #[doc(alias = "trim")]
    string_strip, ();
    /// Counts the bytes of every string, or its UTF-8 characters if `unit` is `UTF8_CHAR` instead of `BYTE`.
    #[doc(alias = "str_len")]
    string_length, (unit: &str);
    /// Replaces every match of a regular expression in every string.
    regex_replace, (pattern: &str, rewrite: &str);
    /// Returns for every string whether a regular expression matches the whole string.
    #[doc(alias = "fullmatch")]
    regex_full_match, (pattern: &str);
    /// Replaces matches in every string. `pattern` and `rewrite` are values of the graph.
    regex_replace_with, (pattern: Value<'g>, rewrite: Value<'g>);
    /// Returns for every string whether `pattern`, a value of the graph, matches the whole string.
    regex_full_match_with, (pattern: Value<'g>);
    /// Hashes every string to a bucket: FarmHash's `Fingerprint64` modulo `buckets`.
    #[doc(alias = "to_hash_bucket_fast")]
    hash_bucket, (buckets: i64);
    /// Hashes every string to a bucket: SipHash-2-4 with a secret `key` modulo `buckets`.
    #[doc(alias = "to_hash_bucket_strong")]
    hash_bucket_strong, (buckets: i64, key: [u64; 2]);
    /// Hashes every string to a bucket by the hash of older TensorFlow graphs.
    hash_bucket_legacy, (buckets: i64);
    /// Reads every string as a number of `dtype`.
    #[doc(alias = "parse")]
    string_to_number, (dtype: DType);
    /// Writes every number as text.
    as_string, ();
    /// Encodes the bytes of every string as base64.
    encode_base64, (pad: bool);
    /// Decodes every string from base64.
    decode_base64, ();
    /// Reads the bytes of every string as elements of `dtype` along a new inner axis. All strings have one length.
    decode_raw, (dtype: DType);
    /// Reads the first `length` bytes of every string as elements of `dtype` along a new inner axis.
    decode_padded_raw, (length: impl IntoParam<'g>, dtype: DType);
    /// Converts every string from encoding `from` to encoding `to`.
    unicode_transcode, (from: &str, to: &str);
    /// Returns the script of every code point as the number that ICU gives it.
    unicode_script, ();
    /// Looks every element up in a table of the graph: `values[i]` where the element equals `keys[i]`, else `default`.
    #[doc(alias = "StaticHashTable")]
    table_lookup, (keys: Value<'g>, values: Value<'g>, default: Value<'g>);
}

impl<'g> RaggedValue<'g> {
    /// Takes `len` bytes of every string from position `pos` on, or UTF-8 characters if `unit` is `UTF8_CHAR` instead
    /// of `BYTE`.
    ///
    /// `string[n, (r), ..], pos, len -> string[n, (r), ..]`. Positions and lengths are i64: ragged, a number, or a
    /// dense value that broadcasts. As [`Value::substr`] on the flat values. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue};
    ///
    /// let g = Graph::new();
    /// let words = RaggedValue::from_row_lengths(g.constant(["hello", "to", "you"])?, g.constant([2i64, 1])?)?;
    /// let parts = words.substr(1, g.constant([[1i64], [2]])?, "BYTE")?;
    /// let parts = g.compile(parts)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(parts.to_string(), "[[\"e\", \"o\"], [\"ou\"]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Value::substr`]; also if a position or a length is not i64, or the partitions cannot be equal.
    #[track_caller]
    pub fn substr(
        self,
        pos: impl IntoRaggedOperand<'g>,
        len: impl IntoRaggedOperand<'g>,
        unit: &str,
    ) -> Result<RaggedValue<'g>> {
        let location = Location::caller();
        self.in_call("substr", || {
            let flat = self.flat_values();
            // `zeros + pos` broadcasts `pos` to the rows of `self`, and checks that the partitions are equal.
            let zeros = self.with_flat_values(self.graph().fill(flat.shape(), 0i64)?)?;
            let pos = zeros.add(pos)?;
            let len = pos.zeros_like()?.add(len)?;
            let pos = pos.matched(len, location)?;
            len.with_flat_values(flat.substr(pos.flat_values(), len.flat_values(), unit)?)
        })
    }

    /// Appends the strings of `other` to the strings of `self`. `other` is ragged, or a dense value that broadcasts.
    ///
    /// `string[n, (r), ..], string[n, (r), ..] -> string[n, (r), ..]`. As [`Value::string_add`] on the flat values.
    /// Runs on the host.
    ///
    /// # Errors
    /// As [`Value::string_add`]; also if the partitions cannot be equal.
    #[track_caller]
    pub fn string_add(self, other: impl IntoRaggedOperand<'g>) -> Result<RaggedValue<'g>> {
        let location = Location::caller();
        self.in_call("string_add", || {
            other.beside(self, location)?.apply(|flat, other| flat.string_add(other))
        })
    }

    /// Joins the strings of all values element by element, with `separator` between them. A dense value is a scalar or
    /// broadcasts.
    ///
    /// `string[n, (r), ..]… -> string[n, (r), ..]`. As [`string_join`] on the flat values. As
    /// TensorFlow's `tf.strings.join`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{AnyValue, Graph, RaggedValue};
    ///
    /// let g = Graph::new();
    /// let words = RaggedValue::from_row_lengths(g.constant(["to", "be", "or"])?, g.constant([2i64, 1])?)?;
    /// let joined = RaggedValue::string_join(&[words.into(), g.constant("x")?.into(), words.into()], "-")?;
    /// let joined = g.compile(joined)?.run_named(&[])?.ragged_at(0)?;
    /// assert_eq!(joined.to_string(), "[[\"to-x-to\", \"be-x-be\"], [\"or-x-or\"]]");
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// There are no values, all values are dense, the elements are not strings, or the partitions cannot be equal.
    #[track_caller]
    pub fn string_join(values: &[AnyValue<'g>], separator: &str) -> Result<RaggedValue<'g>> {
        let location = Location::caller();
        let Some(graph) = values.first().map(|value| value.graph()) else {
            return Err(no_values("string_join", location));
        };
        graph.in_call("string_join", || {
            let Some(first) = values.iter().find_map(|value| value.ragged().ok()) else {
                let message = "one of the joined values must be ragged, got dense values".to_string();
                return Err(
                    refuse(graph, ErrorKind::Shape, message).with_help("use the function string_join")
                );
            };
            let mut rows = first;
            let mut flats = Vec::with_capacity(values.len());
            for value in values {
                let (checked, flat) = match *value {
                    AnyValue::Ragged(value) => value.beside(rows, location)?.with_rows(rows, location)?,
                    AnyValue::Dense(value) => value.beside(rows, location)?.with_rows(rows, location)?,
                };
                rows = checked;
                let is_scalar = flat.shape().rank() == Some(0);
                flats.push(if is_scalar { flat } else { flat.broadcast_to(rows.flat_values().shape())? });
            }
            // `rows` is the first ragged value with all checks: its flat values depend on them.
            let index = values.iter().position(|value| value.ragged().is_ok()).expect("one value is ragged");
            flats[index] = rows.flat_values();
            rows.with_flat_values(string_join(&flats, separator)?)
        })
    }

    /// Joins the strings along an axis, with `separator` between them. A negative `axis` counts from the end.
    ///
    /// `string[n, (r), ..] -> string[n, ..]` along axis 1. An empty row gives an empty string. Empty strings at the
    /// start of a row get no separator: `["", "", "a", "b"]` gives `a-b`. As TensorFlow's `tf.strings.reduce_join`.
    /// Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, RaggedValue, Tensor};
    ///
    /// let g = Graph::new();
    /// let words = RaggedValue::from_row_lengths(g.constant(["to", "be", "or"])?, g.constant([2i64, 0, 1])?)?;
    /// let [rows, columns] = [words.reduce_join(1, " ")?.dense()?, words.reduce_join(0, " ")?.dense()?];
    /// let [rows, columns] = g.compile([rows, columns])?.run(&[])?;
    /// assert_eq!(rows, Tensor::from(["to be", "", "or"]));
    /// assert_eq!(columns, Tensor::from(["to or", "be"]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The axis does not exist, or the elements are not strings.
    #[track_caller]
    pub fn reduce_join(self, axis: impl IntoParam<'g>, separator: &str) -> Result<AnyValue<'g>> {
        self.in_call("reduce_join", || {
            let (index, depth) = (super::select::axis_of(self, axis, 0)?, self.ragged_rank());
            let flat = self.flat_values();
            if index > depth {
                let joined = flat.reduce_join([(index - depth) as i64], separator)?;
                return Ok(AnyValue::of(joined, &self.partitions()));
            }
            let groups = super::reduce::ValueGroups::along(self, index)?;
            let joined = flat.unsorted_segment_join(groups.ids, groups.count, separator)?;
            Ok(AnyValue::of(joined, &groups.partitions))
        })
    }

    /// Splits every string as [`Value::string_split`] does. The parts of each string are a row of a new innermost
    /// partition.
    ///
    /// `string[n, (r)] -> string[n, (r), (parts)]`. As TensorFlow's `tf.strings.split` of a ragged tensor. Runs on the
    /// host.
    ///
    /// # Errors
    /// As [`Value::string_split`]; also if there are inner axes.
    #[track_caller]
    pub fn string_split(self, separator: &str, max_splits: i64) -> Result<RaggedValue<'g>> {
        self.in_call("string_split", || {
            self.around_rows(self.flat_values().string_split(separator, max_splits)?)
        })
    }

    /// Splits every string as [`Value::string_split_chars`] does. The parts of each string are a row of a new innermost
    /// partition.
    ///
    /// `string[n, (r)] -> string[n, (r), (parts)]`. As TensorFlow's `tf.strings.bytes_split` of a ragged tensor if
    /// `delimiters` is empty. Runs on the host.
    ///
    /// # Errors
    /// As [`Value::string_split_chars`]; also if there are inner axes.
    #[doc(alias = "bytes_split")]
    #[track_caller]
    pub fn string_split_chars(self, delimiters: &str, skip_empty: bool) -> Result<RaggedValue<'g>> {
        self.in_call("string_split_chars", || {
            self.around_rows(self.flat_values().string_split_chars(delimiters, skip_empty)?)
        })
    }
}
