//! Shape functions of string ops.

mod decode;
mod example;
mod feature_lists;
mod join;
mod split;
mod tensor_proto;
mod unchanged;

pub use decode::{decode_csv, decode_padded_raw, decode_raw, fingerprint};
pub use example::{parse_examples, parse_examples_by_keys, parse_single_example};
pub use feature_lists::{
    parse_sequence_examples, parse_sequence_examples_of_attrs, parse_single_sequence_example,
};
pub use join::{reduce_join, string_format};
pub use split::{ngrams, string_split, unicode_decode, unicode_encode};
pub use tensor_proto::{parse_tensor, serialize_tensor};
pub use unchanged::{string_unchanged, substr};

use crate::common;
use crate::infer::registered::{Registered, row};

#[rustfmt::skip]
pub(crate) static OPS: &[Registered] = &[
    row("AsString", &["input"], common::unary),
    row("DecodeBase64", &["input"], common::unary),
    row("DecodeCSV", &["records", "record_defaults.."], decode_csv).outputs(None),
    row("DecodeCompressed", &["bytes"], common::unary),
    row("DecodeJSONExample", &["json_examples"], common::unary),
    row("DecodePaddedRaw", &["input_bytes", "fixed_length"], decode_padded_raw),
    row("DecodeRaw", &["bytes"], decode_raw),
    row("EncodeBase64", &["input"], common::unary),
    row("Fingerprint", &["data", "method"], fingerprint),
    row("ParseExample", &["serialized", "names", "operands.."], parse_examples_by_keys).outputs(None),
    row("ParseExampleV2", &["serialized", "names", "sparse_keys", "dense_keys", "ragged_keys", "dense_defaults.."], parse_examples).outputs(None),
    row("ParseSequenceExample", &["serialized", "debug_name", "context_dense_defaults.."], parse_sequence_examples_of_attrs).outputs(None),
    row("ParseSequenceExampleV2", &["serialized", "debug_name", "context_sparse_keys", "context_dense_keys", "context_ragged_keys", "feature_list_sparse_keys", "feature_list_dense_keys", "feature_list_ragged_keys", "feature_list_dense_missing_assumed_empty", "context_dense_defaults.."], parse_sequence_examples).outputs(None),
    row("ParseSingleExample", &["serialized", "dense_defaults.."], parse_single_example).outputs(None),
    row("ParseSingleSequenceExample", &["serialized", "feature_list_dense_missing_assumed_empty", "operands..", "debug_name"], parse_single_sequence_example).outputs(None),
    row("ParseTensor", &["serialized"], parse_tensor),
    row("ReduceJoin", &["inputs", "reduction_indices"], reduce_join),
    row("RegexFullMatch", &["input", "pattern"], string_unchanged),
    row("RegexReplace", &["input", "pattern", "rewrite"], string_unchanged),
    row("SerializeTensor", &["tensor"], serialize_tensor),
    row("StaticRegexFullMatch", &["input"], common::unary),
    row("StaticRegexReplace", &["input"], common::unary),
    row("StringFormat", &["inputs.."], string_format),
    row("StringJoin", &["inputs.."], common::same_shape_but_scalars),
    row("StringLength", &["input"], common::unary),
    row("StringLower", &["input"], common::unary),
    row("StringNGrams", &["data", "data_splits"], ngrams).outputs(Some(2)),
    row("StringSplit", &["input", "delimiter"], string_split).outputs(Some(3)),
    row("StringSplitV2", &["input", "sep"], string_split).outputs(Some(3)),
    row("StringStrip", &["input"], common::unary),
    row("StringToHashBucket", &["string_tensor"], common::unary),
    row("StringToHashBucketFast", &["input"], common::unary),
    row("StringToHashBucketStrong", &["input"], common::unary),
    row("StringToNumber", &["string_tensor"], common::unary),
    row("StringUpper", &["input"], common::unary),
    row("Substr", &["input", "pos", "len"], substr),
    row("UnicodeDecode", &["input"], unicode_decode).outputs(Some(2)),
    row("UnicodeDecodeWithOffsets", &["input"], unicode_decode).outputs(Some(3)),
    row("UnicodeEncode", &["input_values", "input_splits"], unicode_encode),
    row("UnicodeScript", &["input"], common::unary),
    row("UnicodeTranscode", &["input"], common::unary),
];
