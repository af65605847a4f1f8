//! `parse_sequence_example`: the features and feature lists of serialized `SequenceExample` messages, as tensors.

use std::panic::Location;
use std::sync::Arc;

use shapeflow_shape_fns::{Attr, DType};

use super::by_kind::{ByKind, FeatureKind, Number, check_messages, shapes, split_types, strings, types};
use super::{ExampleFeature, ParsedFeature, sequence_ops};
use crate::error::Result;
use crate::graph::{RaggedValue, Value};
use crate::tensor::Tensor;

/// A feature list that [`Value::parse_sequence_example`] looks for. Its rows hold i64, f32 or strings.
#[derive(Clone, Debug)]
pub struct FeatureList {
    dtype: DType,
    kind: FeatureKind<DenseFeatureList>,
}

/// The shape of the rows of a dense feature list, and whether an example may lack the list.
#[derive(Clone, Debug)]
struct DenseFeatureList {
    shape: Vec<i64>,
    may_be_missing: bool,
}

impl FeatureList {
    /// A feature list whose rows all have `shape`. Every example must have the list, see [`FeatureList::optional`].
    #[doc(alias = "FixedLenSequenceFeature")]
    pub fn dense(dtype: DType, shape: &[i64]) -> FeatureList {
        FeatureList {
            dtype,
            kind: FeatureKind::Dense(DenseFeatureList { shape: shape.to_vec(), may_be_missing: false }),
        }
    }

    /// Makes a dense list empty in examples that lack it. Other lists always are.
    #[must_use]
    #[doc(alias = "allow_missing")]
    pub fn optional(mut self) -> FeatureList {
        if let FeatureKind::Dense(dense) = &mut self.kind {
            dense.may_be_missing = true;
        }
        self
    }

    /// A feature list whose rows have any number of values, as a sparse tensor of 3 axes: examples, rows and values.
    #[doc(alias = "VarLenFeature")]
    pub fn sparse(dtype: DType) -> FeatureList {
        FeatureList { dtype, kind: FeatureKind::Sparse }
    }

    /// A feature list whose rows have any number of values, as a ragged tensor of 3 axes: examples, rows and values.
    #[doc(alias = "RaggedFeature")]
    pub fn ragged(dtype: DType) -> FeatureList {
        FeatureList { dtype, kind: FeatureKind::Ragged }
    }
}

/// The rows that a feature list has in all examples, see [`Value::parse_sequence_example`].
#[derive(Clone, Copy, Debug)]
pub enum ParsedFeatureList<'g> {
    /// A dense feature list.
    Dense {
        /// The rows, `[n, m, shape..]`, where `m` is the largest number of rows. Shorter examples are padded with zeros
        /// or empty strings.
        rows: Value<'g>,
        /// The number of rows of each example, `i64[n]`.
        lengths: Value<'g>,
    },
    /// The indices, values and sizes of a sparse tensor `[n, m, k]`, where `m` is the largest number of rows, and `k`
    /// is the largest number of values in a row.
    Sparse([Value<'g>; 3]),
    /// A ragged tensor of `n` examples, whose row splits are i64.
    Ragged(RaggedValue<'g>),
}

impl<'g> Value<'g> {
    /// Parses serialized `SequenceExample` messages: features of the context, and feature lists, which hold rows of
    /// values. Each entry of `context` and of `lists` is a key and its description. Returns the values of each feature
    /// and the rows of each list.
    ///
    /// `string[n] -> ` for each feature of the context: dense `[n, shape..]`, sparse or ragged; for each feature list:
    /// dense `[n, m, shape..]` and lengths `i64[n]`, sparse or ragged. Of several entries for one key in an example,
    /// the last counts. As TensorFlow's `ParseSequenceExampleV2`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{DType, ExampleFeature, FeatureList, Graph, ParsedFeatureList, Tensor};
    ///
    /// let g = Graph::new();
    /// // The context { "id": [7] } and the feature list { "ages": [[1], [2]] }, and an example with nothing.
    /// let message: &[u8] = b"\x0a\x0d\x0a\x0b\x0a\x02id\x12\x05\x1a\x03\x0a\x01\x07\
    ///     \x12\x18\x0a\x16\x0a\x04ages\x12\x0e\x0a\x05\x1a\x03\x0a\x01\x01\x0a\x05\x1a\x03\x0a\x01\x02";
    /// let messages = g.constant(Tensor::from_strings(&[2], &[message, b""])?)?;
    /// let id = ExampleFeature::dense(DType::I64, &[]).or(Tensor::from(-1i64));
    /// let ages = FeatureList::dense(DType::I64, &[]).optional();
    /// let (_, lists) = messages.parse_sequence_example(&[("id", id)], &[("ages", ages)])?;
    /// let ParsedFeatureList::Dense { rows, lengths } = lists[0] else { panic!("a dense list") };
    /// let [rows, lengths] = g.compile(&[rows, lengths][..])?.run(&[])?;
    /// assert_eq!(rows, Tensor::from([[1i64, 2], [0, 0]]));
    /// assert_eq!(lengths, Tensor::from([2i64, 0]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The elements are not strings, the rank is not 1, a dtype is not i64, f32 or string, or a size of a dense feature
    /// is negative. The run fails if a message is damaged, a feature has another dtype or another number of values, a
    /// feature without a default is missing, or a dense list that is not optional is missing.
    #[track_caller]
    pub fn parse_sequence_example(
        self,
        context: &[(&str, ExampleFeature)],
        lists: &[(&str, FeatureList)],
    ) -> Result<(Vec<ParsedFeature<'g>>, Vec<ParsedFeatureList<'g>>)> {
        let (g, location) = (self.graph(), Location::caller());
        check_messages(self, location)?;
        let context = super::by_kind(context);
        let lists = ByKind::new(lists.iter().map(|(key, list)| (*key, list.dtype, &list.kind)));
        let mut call = g.op(&sequence_ops::DEF).data(self).data(strings(g, &[], location)?);
        for keys in [context.keys(g, location)?, lists.keys(g, location)?].concat() {
            call = call.data(keys);
        }
        let optional: Vec<bool> = lists.dense.iter().map(|(_, _, dense)| dense.may_be_missing).collect();
        call = call.data(g.constant_at(Tensor::from_vec(&[optional.len()], optional)?, location));
        for default in super::defaults(g, &context, location)? {
            call = call.data(default);
        }
        let dense_types: Arc<[DType]> = lists.dense.iter().map(|(_, dtype, _)| *dtype).collect();
        let outputs = call
            .attr("Ncontext_sparse", context.sparse.len() as i64)
            .attr("context_sparse_types", types(&context.sparse))
            .attr("context_ragged_value_types", types(&context.ragged))
            .attr("context_ragged_split_types", split_types(&context.ragged))
            .attr("context_dense_shapes", shapes(context.dense.iter().map(|(_, _, dense)| &dense.shape[..])))
            .attr("Nfeature_list_sparse", lists.sparse.len() as i64)
            .attr("Nfeature_list_dense", lists.dense.len() as i64)
            .attr("feature_list_dense_types", Attr::DTypes(dense_types))
            .attr("feature_list_sparse_types", types(&lists.sparse))
            .attr("feature_list_ragged_value_types", types(&lists.ragged))
            .attr("feature_list_ragged_split_types", split_types(&lists.ragged))
            .attr(
                "feature_list_dense_shapes",
                shapes(lists.dense.iter().map(|(_, _, dense)| &dense.shape[..])),
            )
            .finish_all_at(location)?;
        let first = 3 * context.sparse.len() + context.dense.len() + 2 * context.ragged.len();
        Ok((super::parsed(&context, &outputs)?, parsed(&lists, &outputs[first..])?))
    }
}

/// Returns the rows of the feature lists, whose outputs are `outputs`.
fn parsed<'g>(
    lists: &ByKind<'_, DenseFeatureList>,
    outputs: &[Value<'g>],
) -> Result<Vec<ParsedFeatureList<'g>>> {
    let (sparse, dense, ragged) = (lists.sparse.len(), lists.dense.len(), lists.ragged.len());
    let parsed = |number: &Number| {
        Ok(match *number {
            Number::Dense(number) => {
                let [rows, lengths] = [0, 1].map(|part| outputs[3 * sparse + part * dense + number]);
                ParsedFeatureList::Dense { rows, lengths }
            }
            Number::Sparse(number) => {
                ParsedFeatureList::Sparse([0, 1, 2].map(|part| outputs[part * sparse + number]))
            }
            Number::Ragged(number) => {
                let first = 3 * sparse + 2 * dense + number;
                let [values, outer, inner] = [0, 1, 2].map(|part| outputs[first + part * ragged]);
                ParsedFeatureList::Ragged(RaggedValue::from_nested_row_splits(values, &[outer, inner])?)
            }
        })
    };
    lists.order.iter().map(parsed).collect()
}
