//! Ops on byte strings: case, parts, regular expressions, hashes, conversions to and from numbers, Unicode.
//!
//! ```
//! use shapeflow::Graph;
//!
//! let g = Graph::new();
//! let texts = g.constant(["to be", "or not"])?;
//! let words = texts.string_split(" ", -1)?;
//! let buckets = words.map_flat_values(|words| words.string_upper()?.hash_bucket(1000))?;
//! let results = g.compile((("words", words), ("buckets", buckets)))?.run_named(&[])?;
//! assert_eq!(results.ragged_at(0)?.to_string(), "[[\"to\", \"be\"], [\"or\", \"not\"]]");
//! assert_eq!(results.ragged_at(1)?.flat_values().sizes(), [4]);
//! # Ok::<(), shapeflow::Error>(())
//! ```

mod params;

pub(crate) mod as_string;
pub(crate) mod base64;
pub(crate) mod case;
pub(crate) mod cross;
pub(crate) mod csv;
pub(crate) mod decode_raw;
mod encoding;
pub(crate) mod example;
pub(crate) mod format;
pub(crate) mod hash;
pub(crate) mod join;
pub(crate) mod length;
pub(crate) mod ngrams;
mod number;
pub(crate) mod print;
mod re2;
pub(crate) mod reduce_join;
pub(crate) mod regex;
pub(crate) mod row_fingerprint;
pub(crate) mod script;
mod script_codes;
pub(crate) mod segment_join;
pub(crate) mod serialize_sparse;
pub(crate) mod split;
pub(crate) mod substr;
pub(crate) mod table_lookup;
mod tensor_message;
pub(crate) mod tensor_proto;
pub(crate) mod to_number;
pub(crate) mod unicode_decode;
pub(crate) mod unicode_encode;
mod wide_classes;
mod wire;

use crate::op::OpDef;

pub use csv::CsvOptions;
pub use example::{ExampleFeature, FeatureList, ParsedFeature, ParsedFeatureList};
pub use format::string_format;
pub use join::string_join;
pub use print::{PrintOptions, PrintSink};

/// Every op of the family.
pub(crate) static ALL: &[&[&OpDef]] = &[
    &[
        &as_string::DEF,
        &cross::DEF,
        &csv::DEF,
        &decode_raw::DEF,
        &decode_raw::PADDED,
        &format::DEF,
        &length::DEF,
        &ngrams::DEF,
        &reduce_join::DEF,
    ],
    &[
        &row_fingerprint::DEF,
        &script::DEF,
        &segment_join::DEF,
        &substr::DEF,
        &table_lookup::DEF,
        &to_number::DEF,
    ],
    base64::ALL,
    case::ALL,
    example::ops::ALL,
    example::sequence_ops::ALL,
    hash::ALL,
    join::ALL,
    regex::ALL,
    serialize_sparse::ALL,
    split::ALL,
    tensor_proto::ALL,
    unicode_decode::ALL,
    unicode_encode::ALL,
];
