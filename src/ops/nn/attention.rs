//! `attention`: scaled dot products of queries and keys, composed of other ops.

use std::panic::Location;

use shapeflow_shape_fns::DType;

use crate::dtype::{self, Class};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::{IntoOperand, Value};
use crate::ops::array::own_size::own_dim;
use crate::ops::array::range::dim_value;

impl<'g> Value<'g> {
    /// Returns, for each query, the mean of `values` weighted by the softmax of its products with the keys:
    /// `softmax(self @ transpose(keys) / sqrt(d)) @ values`. If a mask is given, query `i` reads the value `j` only
    /// where `mask[.., i, j]` is true; a query that reads no value gives zeros.
    ///
    /// `[.., q, d], keys [.., k, d], values [.., k, e] -> [.., q, e]`, floats of one dtype; the leading axes broadcast.
    /// `mask` is bool and broadcasts to `[.., q, k]`. The result is NaN if `d` is 0. As torch's
    /// `scaled_dot_product_attention`. The op is composed of two matrix products and of ops that fuse into one kernel.
    ///
    /// A causal mask lets a query read the values up to its own position:
    ///
    /// ```
    /// use shapeflow::{DType, Graph, TensorView, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["batch", "heads", "time", 8])?;
    /// let positions = g.range(0, x.dim(2)?, 1)?;
    /// let causal = positions.less_equal(positions.expand_dims(1)?)?;
    /// let y = x.attention(x, x, causal)?;
    /// assert_eq!(y.shape().to_string(), "[batch, heads, time, 8]");
    /// let steps = [[1.0f32; 8], [2.0; 8], [3.0; 8]].concat();
    /// let [causal, full] = g
    ///     .compile([y, x.attention(x, x, None)?])?
    ///     .run(&[TensorView::new(&[1, 1, 3, 8], &steps)?])?;
    /// // The first query reads the first value only, or all values.
    /// assert_eq!(causal.to_vec::<f32>()?[0], 1.0);
    /// assert!(full.to_vec::<f32>()?[0] > 2.9);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// A padding mask hides the steps after the end of each sequence. [`Value::sequence_mask`] makes it of the lengths,
    /// as `[batch, time]`. It needs an axis for the heads and one for the queries: `[batch, 1, 1, time]`.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor, TensorView, shape};
    ///
    /// let g = Graph::new();
    /// let x = g.input("x", DType::F32, shape!["batch", "heads", "time", 8])?;
    /// let lengths = g.input("lengths", DType::I32, shape!["batch"])?;
    /// let padding = lengths.sequence_mask(x.dim(2)?)?.expand_dims(1)?.expand_dims(1)?;
    /// assert_eq!(padding.shape().to_string(), "[batch, 1, 1, time]");
    /// let exe = g.compile(x.attention(x, x, padding)?)?;
    /// let steps = [[1.0f32; 8], [2.0; 8], [3.0; 8]].concat();
    /// let [y] = exe.run(&[TensorView::new(&[1, 1, 3, 8], &steps)?, Tensor::from([1]).view()])?;
    /// // Every query reads the first value only.
    /// assert!(y.to_vec::<f32>()?.iter().all(|y| *y == 1.0));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The dtypes differ or are not floats, a rank is unknown or below 2, the sizes do not fit, or the mask is not bool
    /// or does not broadcast to the products.
    #[doc(alias = "scaled_dot_product_attention")]
    #[doc(alias = "dot_product_attention")]
    #[track_caller]
    pub fn attention(
        self,
        keys: impl IntoOperand<'g>,
        values: impl IntoOperand<'g>,
        mask: impl Into<Option<Value<'g>>>,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let (keys, values) = (keys.into_operand(self, location), values.into_operand(self, location));
        self.graph().in_call_at("attention", location, || {
            dtype::common(&[self.dtype(), keys.dtype(), values.dtype()], 0, 3, Class::Float)?;
            let Some(axis) = self.shape().rank().filter(|rank| *rank >= 2) else {
                let message =
                    format!("queries must have a known rank of at least 2, got shape {}", self.shape());
                return Err(Error::new(ErrorKind::Shape, Phase::Build, message));
            };
            let size = own_dim(self, axis - 1)?;
            let scale = match size.as_known() {
                Some(size) => self.graph().constant(1.0 / (size as f64).sqrt())?,
                None => dim_value(self.graph(), size)?.cast(DType::F64)?.rsqrt()?,
            };
            let products = self.matmul_transposed(keys, false, true)?.mul(scale.cast(self.dtype())?)?;
            let Some(mask) = mask.into() else { return products.softmax(-1)?.matmul(values) };
            let mask = mask.ensure_broadcasts("mask", products.shape())?;
            let masked = mask.select(products, f64::NEG_INFINITY)?.ensure_shape(products.shape())?;
            mask.select(masked.softmax(-1)?, 0.0)?.matmul(values)
        })
    }
}

#[cfg(test)]
mod tests {
    use shapeflow_shape_fns::{DType, shape};

    use crate::graph::Graph;
    use crate::ops::testing::tensor;
    use crate::tensor::Tensor;

    /// Returns the attention of one head, `queries [q, d]`, `keys [k, d]`, `values [k, e]`, by loops.
    fn attended(
        [q, k, d, e]: [usize; 4],
        queries: &[f64],
        keys: &[f64],
        values: &[f64],
        reads: impl Fn(usize, usize) -> bool,
    ) -> Vec<f64> {
        let mut out = vec![0.0; q * e];
        for i in 0..q {
            let product = |j: usize| (0..d).map(|c| queries[i * d + c] * keys[j * d + c]).sum::<f64>();
            let weights: Vec<f64> = (0..k)
                .map(|j| if reads(i, j) { (product(j) / (d as f64).sqrt()).exp() } else { 0.0 })
                .collect();
            let sum: f64 = weights.iter().sum();
            for c in 0..e {
                let weighted: f64 = (0..k).map(|j| weights[j] * values[j * e + c]).sum();
                out[i * e + c] = if sum == 0.0 { 0.0 } else { weighted / sum };
            }
        }
        out
    }

    #[test]
    fn all_sizes_with_and_without_a_mask() {
        let g = Graph::new();
        let queries = g.input("queries", DType::F64, shape!["q", "d"]).unwrap();
        let keys = g.input("keys", DType::F64, shape!["k", "d"]).unwrap();
        let values = g.input("values", DType::F64, shape!["k", "e"]).unwrap();
        let mask = g.input("mask", DType::Bool, shape!["q", "k"]).unwrap();
        let full = queries.attention(keys, values, None).unwrap();
        let masked = queries.attention(keys, values, mask).unwrap();
        assert_eq!(masked.shape().to_string(), "[q, e]");
        let exe = g.compile([full, masked]).unwrap();
        for sizes @ [q, k, d, e] in [[1, 1, 1, 1], [3, 5, 4, 2], [0, 2, 3, 1], [4, 4, 8, 8], [2, 9, 1, 3]] {
            let numbers = |count: usize, seed: usize| -> Vec<f64> {
                (0..count).map(|i| ((i * 31 + seed) % 17) as f64 / 8.0 - 1.0).collect()
            };
            let (queries, keys, values) = (numbers(q * d, 1), numbers(k * d, 5), numbers(k * e, 9));
            // Row 0 reads no value.
            let reads = |i: usize, j: usize| i > 0 && !(i + j).is_multiple_of(3);
            let mask: Vec<bool> = (0..q * k).map(|at| reads(at / k, at % k)).collect();
            let feeds = [
                tensor(&[q, d], &queries),
                tensor(&[k, d], &keys),
                tensor(&[k, e], &values),
                tensor(&[q, k], &mask),
            ];
            let views: Vec<_> = feeds.iter().map(Tensor::view).collect();
            let [full, masked] = exe.run(&views).unwrap();
            let expected = attended(sizes, &queries, &keys, &values, |_, _| true);
            full.allclose(&tensor(&[q, e], &expected), 1e-12, 1e-12).unwrap();
            let expected = attended(sizes, &queries, &keys, &values, reads);
            masked.allclose(&tensor(&[q, e], &expected), 1e-12, 1e-12).unwrap();
        }
    }

    #[test]
    fn keys_without_elements_give_nan() {
        let g = Graph::new();
        for dims in [shape![2, 0], shape!["q", "d"]] {
            let x = g.input(&format!("x{dims}"), DType::F32, dims).unwrap();
            let values = g.constant([[1.0f32], [2.0]]).unwrap();
            let exe = g.compile(x.attention(x, values, None).unwrap()).unwrap();
            let [y] = exe.run(&[tensor::<f32>(&[2, 0], &[]).view()]).unwrap();
            assert!(y.to_vec::<f32>().unwrap().iter().all(|y| y.is_nan()), "{y}");
        }
    }

    #[test]
    fn wrong_operands_are_refused() {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape!["n", 4]).unwrap();
        let double = g.input("double", DType::F64, shape!["n", 4]).unwrap();
        let wide = g.input("wide", DType::Bool, shape![2, "n", "n"]).unwrap();
        for (error, expected) in [
            (x.attention(double, x, None).unwrap_err(), "f64"),
            (x.attention(x, x, x).unwrap_err(), "bool"),
            (x.attention(x, x, wide).unwrap_err(), "[2, n, n]"),
            (x.reduce_sum(0).unwrap().attention(x, x, None).unwrap_err(), "got shape [4]"),
        ] {
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
