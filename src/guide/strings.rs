//! Strings: text in tensors, from raw lines to numbers that kernels compute with.
//!
//! A tensor of strings holds bytes of any length. Most ops do not care about the encoding; an op that does says so. All
//! string ops run on the host. The feature `strings` adds them.
//!
//! ```
//! use shapeflow::{DType, Graph, Tensor, shape};
//!
//! let g = Graph::new();
//! let names = g.input("names", DType::String, shape!["n"])?;
//! let clean = names.string_strip()?.string_lower()?;
//! let greeting = g.constant("hello ")?.string_add(clean)?;
//! let exe = g.compile([greeting, clean.string_length("BYTE")?])?;
//! let [greeting, lengths] = exe.run(&[Tensor::from([" Ada ", "GRACE"]).view()])?;
//! assert_eq!(greeting, Tensor::from(["hello ada", "hello grace"]));
//! assert_eq!(lengths, Tensor::from([3, 5]));
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Parsing
//!
//! [`Value::string_to_number`](crate::Value::string_to_number) reads numbers, and fails the run for a text that is not
//! a number. [`Value::as_string`](crate::Value::as_string) writes them. [`Value::decode_csv`](crate::Value::decode_csv)
//! reads records; each column has the dtype of its default.
//!
//! ```
//! use shapeflow::{CsvOptions, Graph, Tensor};
//!
//! let g = Graph::new();
//! let lines = g.constant(["ada,36,1.5", "grace,,2.5"])?;
//! let defaults = [Tensor::from(["?"]), Tensor::from([-1i32]), Tensor::from([0.0f32])];
//! let columns = lines.decode_csv(&defaults, &CsvOptions::new())?;
//! let [names, ages, scores] = g.compile(&columns)?.run(&[])?;
//! assert_eq!(names, Tensor::from(["ada", "grace"]));
//! assert_eq!(ages, Tensor::from([36, -1]));
//! assert_eq!(scores, Tensor::from([1.5f32, 2.5]));
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Splitting and joining
//!
//! [`Value::string_split`](crate::Value::string_split) gives ragged rows, because a text has any number of words. An
//! empty separator stands for white space, and then no word is empty.
//! [`RaggedValue::string_ngrams`](crate::RaggedValue::string_ngrams) joins neighboring words of a row.
//! [`Value::reduce_join`](crate::Value::reduce_join) joins the strings along axes.
//!
//! ```
//! use shapeflow::{Graph, Tensor};
//!
//! let g = Graph::new();
//! let texts = g.constant(["the cat", "a  big dog"])?;
//! let words = texts.string_split("", -1)?;
//! let pairs = words.string_ngrams(&[2], "_")?;
//! let joined = g.constant(["x", "y", "z", "w"])?.reshape([2, 2])?.reduce_join(1, "-")?;
//! let exe = g.compile((("words", words), ("pairs", pairs), ("joined", joined)))?;
//! let results = exe.run_named(&[])?;
//! assert_eq!(results.ragged("words")?.row_lengths().to_vec::<i64>()?, [2, 3]);
//! assert_eq!(results.ragged("pairs")?.to_string(), "[[\"the_cat\"], [\"a_big\", \"big_dog\"]]");
//! assert_eq!(results.tensor("joined")?, &Tensor::from(["x-y", "z-w"]));
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Tables
//!
//! [`Value::table_lookup`](crate::Value::table_lookup) replaces keys by values, and unknown keys by a default. A table
//! of a few thousand words belongs in the graph as constants; a [`LookupTable`](crate::LookupTable) is shared by
//! several graphs. [`Value::hash_bucket`](crate::Value::hash_bucket) needs no table: it gives every string a number
//! below a limit.
//!
//! ```
//! use shapeflow::{DType, Graph, RaggedTensor, Tensor, shape};
//!
//! let g = Graph::new();
//! let words = g.ragged_input("words", DType::String, "texts", shape![])?;
//! let (keys, ids) = (g.constant(["cat", "dog"])?, g.constant([1i64, 2])?);
//! let ids = words.map_flat_values(|words| words.table_lookup(keys, ids, g.constant(0i64)?))?;
//! let table = g.constant([[0.0f32, 0.0], [1.0, 0.0], [0.0, 1.0]])?;
//! let vectors = ids.map_flat_values(|ids| table.gather(ids, 0))?.reduce_sum(1)?;
//! let exe = g.compile([("vectors", vectors)])?;
//! let texts = RaggedTensor::from_row_lengths(Tensor::from(["the", "cat", "dog", "dog"]), [2i64, 2])?;
//! let results = exe.feed("words", &texts).run()?;
//! assert_eq!(results.tensor("vectors")?, &Tensor::from([[1.0f32, 0.0], [0.0, 2.0]]));
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Files
//!
//! A string may hold a file. With the feature `media`, [`Value::decode_image`](crate::Value::decode_image) and its kin
//! read images, [`Value::decode_wav`](crate::Value::decode_wav) reads a sound, and
//! [`Value::decode_compressed`](crate::Value::decode_compressed) what zlib or gzip compressed. A model that takes
//! encoded images runs from the bytes on.
//!
//! ```
//! # #[cfg(feature = "media")] {
//! use shapeflow::{DType, Graph, Sampling, Tensor, shape};
//!
//! let g = Graph::new();
//! let bytes = g.input("image_bytes", DType::String, shape![])?;
//! let image = bytes.decode_jpeg(3)?.cast(DType::F32)?.expand_dims(0)?;
//! let exe = g.compile(image.resize_bilinear([2, 2], Sampling::HalfPixel)?)?;
//!
//! let gray = g.fill([8, 8, 3], g.constant(128u8)?)?.encode_jpeg(&Default::default())?;
//! let [file] = g.compile(gray)?.run(&[])?;
//! let [image] = exe.run(&[file.view()])?;
//! assert_eq!(image, Tensor::from([[[[128.0f32; 3]; 2]; 2]]));
//! # }
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Regular expressions
//!
//! Patterns have the syntax of RE2, as in TensorFlow. A wrong pattern is an error when the graph is built.
//! [`Value::regex_replace`](crate::Value::regex_replace) replaces every match, and `\1` in the rewrite stands for the
//! text of the first group. [`Value::regex_full_match`](crate::Value::regex_full_match) tells whether the whole string
//! matches.
//!
//! ```
//! use shapeflow::{Graph, Tensor};
//!
//! let g = Graph::new();
//! let dates = g.constant(["2024-05-01", "soon"])?;
//! let years = dates.regex_replace(r"^(\d+)-.*$", r"\1")?;
//! let is_date = dates.regex_full_match(r"\d{4}-\d\d-\d\d")?;
//! let [years, is_date] = g.compile([years, is_date])?.run(&[])?;
//! assert_eq!(years, Tensor::from(["2024", "soon"]));
//! assert_eq!(is_date, Tensor::from([true, false]));
//! assert!(dates.regex_replace("(", "").unwrap_err().message().contains("pattern"));
//! # Ok::<(), shapeflow::Error>(())
//! ```
