//! `unique`: returns the distinct elements of a vector.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, StringHandles, TfOp};

use super::distinct::distinct;
use super::unstack::exactly;

impl<'g> Value<'g> {
    /// Returns the distinct elements in the order of their first occurrence, and the index of each element among them:
    /// `self[i] == elements[indices[i]]`.
    ///
    /// `[n] -> [?], i64[n]`; bool, integers, floats and strings. The number of distinct elements depends on the data. A
    /// NaN equals nothing, and `-0.0` equals `0.0`. As TensorFlow's `Unique`, whose second output is i32 by default.
    /// Runs on the host.
    ///
    /// ```
    /// let g = shapeflow::Graph::new();
    /// let unique = g.constant([1, 1, 2, 4, 4, 4, 7, 8, 8])?.unique()?;
    /// let [elements, indices] = g.compile(unique)?.run(&[])?;
    /// assert_eq!(elements.to_vec::<i32>()?, [1, 2, 4, 7, 8]);
    /// assert_eq!(indices.to_vec::<i64>()?, [0, 0, 1, 2, 2, 2, 3, 4, 4]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is not 1, or the dtype is not supported.
    #[track_caller]
    pub fn unique(self) -> Result<[Value<'g>; 2]> {
        exactly(self.graph().op(&DEF).data(self).finish_all()?)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("unique", run)
    .attrs(&[Attribute::dtype_or("out_idx", DType::I64)])
    .operands(&[Operand::Data("x")])
    .outputs(|_, _| 2)
    .shape_fn(shapeflow_shape_fns::array::unique)
    .dtype_rule(|dtypes, attrs| {
        let [x, indices] = element_and_index_dtypes(dtypes, attrs)?;
        Ok(vec![x, indices])
    })
    .takes_handles(StringHandles::Equality)
    .tensorflow(&[TfOp::new("Unique")]);

/// Returns the dtype of the elements, and the dtype of indices and counts: attribute `out_idx`, i32 or i64.
pub(super) fn element_and_index_dtypes(dtypes: &[DType], attrs: &Attrs) -> Result<[DType; 2]> {
    let x = dtype::common(dtypes, 0, 1, dtype::Class::ScalarOrString)?;
    match attrs.dtype("out_idx") {
        indices @ (DType::I32 | DType::I64) => Ok([x, indices]),
        other => dtype::refuse(format!("indices and counts must be i32 or i64, got {other}")),
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let found = distinct(cx.input(0)?, cx.attrs(), false)?;
    cx.set_output(0, found.elements)?;
    cx.set_output(1, found.indices)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, shape_table, tensor};
    use crate::tensor::Tensor;

    shape_table! { DEF, {},
        "[n]" => "[?]; i64[n]",
        "bool?" => "bool[?]; i64[?]",
        "[2, 3]" => error "rank 1",
        "c64[n]" => error "the element type must be",
    }

    #[test]
    fn nans_are_distinct_and_zeros_are_equal() {
        let x = tensor(&[6], &[0.0, f64::NAN, -0.0, 1.0, f64::NAN, 1.0]);
        let [y, indices] = &run(&DEF, &Attrs::new(), &[x]).unwrap()[..] else { panic!() };
        assert_eq!(indices.to_vec::<i64>().unwrap(), [0, 1, 0, 2, 3, 2]);
        let y = y.to_vec::<f64>().unwrap();
        assert!(y[0].to_bits() == 0 && y[1].is_nan() && y[2] == 1.0 && y[3].is_nan() && y.len() == 4);
    }

    #[test]
    fn strings_and_f16_are_supported() {
        let x = Tensor::from_strings(&[4], &["b", "a", "b", ""]).unwrap();
        let [y, indices] = &run(&DEF, &Attrs::new(), &[x]).unwrap()[..] else { panic!() };
        assert_eq!(indices.to_vec::<i64>().unwrap(), [0, 1, 0, 2]);
        assert_eq!(y.as_strings().unwrap().iter().collect::<Vec<_>>(), [&b"b"[..], b"a", b""]);
        // -0, 0, NaN, infinity, NaN, infinity
        let bits = [0x8000, 0, 0x7e00, 0x7c00, 0x7e00, 0x7c00u16];
        let x = Tensor::from_bits(DType::F16, &[6], &bits).unwrap();
        let [y, indices] = &run(&DEF, &Attrs::new().with("out_idx", DType::I32), &[x]).unwrap()[..] else {
            panic!()
        };
        assert_eq!(indices.to_vec::<i32>().unwrap(), [0, 0, 1, 2, 3, 2]);
        assert_eq!(y.to_bits::<u16>().unwrap(), [0x8000, 0x7e00, 0x7c00, 0x7e00]);
    }

    #[test]
    fn many_elements_grow_the_table() {
        let x: Vec<i64> = (0..10_000).map(|i| (i * 7919 % 5003) << 40).collect();
        let [y, indices] = &run(&DEF, &Attrs::new(), &[tensor(&[x.len()], &x)]).unwrap()[..] else {
            panic!()
        };
        let (y, indices) = (y.to_vec::<i64>().unwrap(), indices.to_vec::<i64>().unwrap());
        assert_eq!(y.len(), 5003);
        assert!(x.iter().zip(&indices).all(|(x, index)| y[*index as usize] == *x));
        assert!(y.iter().enumerate().all(|(i, y)| x[i] == *y));
    }
}
