//! [`FeatureLayout`]: the features of a call by kind, and the outputs that their values fill.

use shapeflow_shape_fns::{Attrs, DType, TensorShape};

use super::outputs::{arity, dense_list, dense_sizes, dense_tensor, product, set_sparse, splits};
use super::table::{Arity, Feature, FeatureListRows, counts};
use crate::dtype;
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::op::HostCx;
use crate::ops::integers::int_tensor;
use crate::ops::row_major::RowMajor;
use crate::ops::string::params::attribute_error;
use crate::tensor::Tensor;

/// The keys of the sparse, the dense and the ragged features.
pub(super) type KeysByKind<'a> = [Vec<&'a [u8]>; 3];

/// The numbers and the dtypes of the features of each kind. The outputs have this order: the indices, the values and
/// the shapes of the sparse features; the dense features, and their lengths if there are lengths; the values and the
/// outer row splits of the ragged features, and for feature lists their inner row splits.
pub(super) struct FeatureLayout<'a> {
    sparse: &'a [DType],
    /// The number of dense features.
    dense: usize,
    ragged: &'a [DType],
    splits: &'a [DType],
    shapes: &'a [TensorShape],
    /// Whether the features are feature lists.
    is_nested: bool,
    /// Whether an output holds the number of rows of each dense feature list.
    has_lengths: bool,
}

impl<'a> FeatureLayout<'a> {
    /// Reads the attributes of the features. Their names begin with `prefix`.
    pub(super) fn new(attrs: &'a Attrs, prefix: &str, dense: usize) -> FeatureLayout<'a> {
        let dtypes = |name: &str| attrs.dtypes(&format!("{prefix}{name}"));
        let shapes = attrs.shapes(&format!("{prefix}dense_shapes"));
        FeatureLayout {
            sparse: dtypes("sparse_types"),
            dense,
            ragged: dtypes("ragged_value_types"),
            splits: dtypes("ragged_split_types"),
            shapes,
            is_nested: false,
            has_lengths: false,
        }
    }

    /// Marks the features as feature lists.
    pub(super) fn nested(self, has_lengths: bool) -> FeatureLayout<'a> {
        FeatureLayout { is_nested: true, has_lengths, ..self }
    }

    pub(super) fn outputs(&self) -> usize {
        let dense = if self.has_lengths { 2 } else { 1 };
        let ragged = if self.is_nested { 3 } else { 2 };
        3 * self.sparse.len() + dense * self.dense + ragged * self.ragged.len()
    }

    /// Returns the dtypes of the outputs. `dense` has the dtypes of the dense features.
    ///
    /// # Errors
    /// The dtype of a feature is not i64, f32 or string, the dtype of row splits is not i32 or i64, or there is not one
    /// dtype of row splits for each ragged feature.
    pub(super) fn dtypes(&self, dense: &[DType]) -> Result<Vec<DType>> {
        for dtype in self.sparse.iter().chain(dense).chain(self.ragged) {
            if !matches!(dtype, DType::I64 | DType::F32 | DType::String) {
                return dtype::refuse(format!(
                    "the values of a feature must be i64, f32 or string, got {dtype}"
                ));
            }
        }
        if self.splits.len() != self.ragged.len() {
            let message = "each ragged feature must have a dtype of its row splits, got";
            let (splits, ragged) = (self.splits.len(), self.ragged.len());
            return Err(attribute_error(format!("{message} {splits} for {ragged}")));
        }
        if let Some(other) = self.splits.iter().find(|dtype| !matches!(dtype, DType::I32 | DType::I64)) {
            return dtype::refuse(format!("row splits must be i32 or i64, got {other}"));
        }
        let indices = vec![DType::I64; self.sparse.len()];
        let mut all = [&indices, self.sparse, &indices, dense].concat();
        if self.has_lengths {
            all.extend(dense.iter().map(|_| DType::I64));
        }
        all.extend([self.ragged, self.splits].concat());
        if self.is_nested {
            all.extend(self.splits);
        }
        Ok(all)
    }

    /// Returns an error unless there is a key for each feature, and a shape for each dense feature.
    fn check(&self, keys: &KeysByKind<'_>) -> Result<()> {
        let features = [self.sparse.len(), self.dense, self.ragged.len()];
        let keys = keys.each_ref().map(Vec::len);
        let shape_error = |message| Err(Error::new(ErrorKind::Shape, Phase::Run, message));
        if keys != features {
            let message = "there must be a key for each sparse, dense and ragged feature, got";
            return shape_error(format!("{message} {keys:?} for {features:?}"));
        }
        if self.shapes.len() != self.dense {
            let message = "there must be a shape for each dense feature, got";
            return shape_error(format!("{message} {} for {}", self.shapes.len(), self.dense));
        }
        Ok(())
    }

    /// Makes the features without values: no example is read yet. `defaults` has the defaults of the dense features.
    ///
    /// # Errors
    /// The number of keys or shapes is wrong, or a default has another shape than its feature.
    pub(super) fn features(
        &self,
        keys: KeysByKind<'a>,
        defaults: &'a [RowMajor<'_>],
    ) -> Result<Vec<Feature<'a>>> {
        self.check(&keys)?;
        let [sparse, dense, ragged] = keys;
        let any = |(key, dtype): (&'a [u8], &DType)| Feature::new(key, *dtype, Arity::Any);
        let mut features: Vec<Feature<'a>> = sparse.into_iter().zip(self.sparse).map(any).collect();
        for ((key, default), shape) in dense.into_iter().zip(defaults).zip(self.shapes) {
            let default = default.view();
            features.push(Feature::new(key, default.dtype(), arity(shape, default)?));
        }
        features.extend(ragged.into_iter().zip(self.ragged).map(any));
        Ok(features)
    }

    /// Makes the feature lists, which have no rows yet. `dense` has the dtype of each dense list, and whether an
    /// example may lack it.
    ///
    /// # Errors
    /// The number of keys or shapes is wrong.
    pub(super) fn lists(
        &self,
        keys: KeysByKind<'a>,
        dense: impl Iterator<Item = (DType, bool)>,
    ) -> Result<Vec<FeatureListRows<'a>>> {
        self.check(&keys)?;
        let [sparse, dense_keys, ragged] = keys;
        let any = |(key, dtype): (&'a [u8], &DType)| {
            FeatureListRows::new(Feature::new(key, *dtype, Arity::Any), true)
        };
        let mut lists: Vec<FeatureListRows<'a>> = sparse.into_iter().zip(self.sparse).map(any).collect();
        for ((key, (dtype, may_be_missing)), shape) in dense_keys.into_iter().zip(dense).zip(self.shapes) {
            let arity =
                Arity::Exactly { count: product(dense_sizes(shape).into_iter().flatten()), default: None };
            lists.push(FeatureListRows::new(Feature::new(key, dtype, arity), may_be_missing));
        }
        lists.extend(ragged.into_iter().zip(self.ragged).map(any));
        Ok(lists)
    }

    /// Fills the outputs that begin at `first` with the values of features that are not lists. If the op parses one
    /// example and not a batch, the row splits are zeros of the sizes `single_splits`.
    pub(super) fn set_features(
        &self,
        cx: &mut HostCx<'_>,
        first: usize,
        features: Vec<Feature<'_>>,
        defaults: &[RowMajor<'_>],
        is_batch: bool,
        single_splits: &[usize],
    ) -> Result<()> {
        let (sparse, mut next) = (self.sparse.len(), first + 3 * self.sparse.len());
        for (number, feature) in features.into_iter().enumerate() {
            if number < sparse {
                let outputs = [first + number, first + sparse + number, first + 2 * sparse + number];
                set_sparse(cx, outputs, &[&feature.ends], feature.elements, is_batch)?;
            } else if number < sparse + self.dense {
                let dense = number - sparse;
                let tensor = dense_tensor(feature, &self.shapes[dense], &defaults[dense].view(), is_batch)?;
                cx.set_output(next, tensor)?;
                next += 1;
            } else {
                let dtype = self.splits[number - sparse - self.dense];
                let splits = if is_batch {
                    splits(dtype, &feature.ends)?
                } else {
                    Tensor::zeros(dtype, single_splits)?
                };
                cx.set_output(next + self.ragged.len(), splits)?;
                let count = feature.elements.len();
                cx.set_output(next, feature.elements.finish(&[count])?)?;
                next += 1;
            }
        }
        Ok(())
    }

    /// Sets the outputs from `first` on to the values of feature lists.
    pub(super) fn set_lists(
        &self,
        cx: &mut HostCx<'_>,
        first: usize,
        lists: Vec<FeatureListRows<'_>>,
        is_batch: bool,
    ) -> Result<()> {
        let (sparse, mut next) = (self.sparse.len(), first + 3 * self.sparse.len());
        let ragged_first = next + self.dense * if self.has_lengths { 2 } else { 1 };
        for (number, FeatureListRows { rows, ends, .. }) in lists.into_iter().enumerate() {
            if number < sparse {
                let outputs = [first + number, first + sparse + number, first + 2 * sparse + number];
                set_sparse(cx, outputs, &[&ends, &rows.ends], rows.elements, is_batch)?;
            } else if number < sparse + self.dense {
                let sizes: Vec<usize> =
                    dense_sizes(&self.shapes[number - sparse]).into_iter().flatten().collect();
                if self.has_lengths {
                    let batch: Vec<usize> = is_batch.then_some(ends.len()).into_iter().collect();
                    let lengths = int_tensor(DType::I64, &batch, counts(&ends))?;
                    cx.set_output(next + self.dense, lengths)?;
                }
                cx.set_output(next, dense_list(rows, &ends, &sizes, is_batch)?)?;
                next += 1;
            } else {
                let number = number - sparse - self.dense;
                let (output, dtype) = (ragged_first + number, self.splits[number]);
                let outer = if is_batch { splits(dtype, &ends)? } else { Tensor::zeros(dtype, &[])? };
                cx.set_output(output + self.ragged.len(), outer)?;
                cx.set_output(output + 2 * self.ragged.len(), splits(dtype, &rows.ends)?)?;
                let count = rows.elements.len();
                cx.set_output(output, rows.elements.finish(&[count])?)?;
            }
        }
        Ok(())
    }
}
