//! `unique`: the different elements of a vector.

use shapeflow_shape_fns::{Attrs, DType};

use crate::dtype;
use crate::error::Result;
use crate::graph::Value;
use crate::op::{HostCx, OpDef, Operand, TfOp};

use super::distinct::distinct;
use super::unstack::exactly;

impl<'g> Value<'g> {
    /// The different elements in the order in which they first stand, and for each element its place among
    /// them.
    ///
    /// `[n] -> [?], i64[n]`: how many there are, only the run decides. Bool, integers, floats and strings.
    /// A NaN equals nothing, `-0.0` equals `0.0`. TensorFlow's `Unique`, whose second output is i32.
    ///
    /// # Errors
    /// No vector, or another dtype.
    #[track_caller]
    pub fn unique(self) -> Result<[Value<'g>; 2]> {
        exactly(self.graph().op(&DEF).data(self).finish_all()?)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("unique", run)
    .operands(&[Operand::Data("x")])
    .outputs(|_, _| 2)
    .shape_fn(shapeflow_shape_fns::array::unique)
    .dtype_rule(|dtypes, attrs| {
        let [x, places] = element_and_place(dtypes, attrs)?;
        Ok(vec![x, places])
    })
    .tensorflow(&[TfOp::new("Unique")]);

/// The dtype of the elements, and that of places and counts: attribute `out_idx`, i32 or i64.
pub(super) fn element_and_place(dtypes: &[DType], attrs: &Attrs) -> Result<[DType; 2]> {
    let x = match dtypes.first() {
        Some(DType::String) => DType::String,
        _ => dtype::common(dtypes, 0, 1, dtype::Class::Scalar)?,
    };
    match dtype::attribute(attrs, "out_idx")?.unwrap_or(DType::I64) {
        places @ (DType::I32 | DType::I64) => Ok([x, places]),
        other => dtype::refuse(format!("places and counts must be i32 or i64, got {other}")),
    }
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let found = distinct(cx.input(0)?, cx.attrs(), false)?;
    cx.set_output(0, found.elements)?;
    cx.set_output(1, found.places)
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
    fn nan_equals_nothing_and_zeros_are_one() {
        let x = tensor(&[6], &[0.0, f64::NAN, -0.0, 1.0, f64::NAN, 1.0]);
        let [y, places] = &run(&DEF, &Attrs::new(), &[x]).unwrap()[..] else { panic!() };
        assert_eq!(places.to_vec::<i64>().unwrap(), [0, 1, 0, 2, 3, 2]);
        let y = y.to_vec::<f64>().unwrap();
        assert!(y[0].to_bits() == 0 && y[1].is_nan() && y[2] == 1.0 && y[3].is_nan() && y.len() == 4);
    }

    #[test]
    fn strings_and_halves() {
        let x = Tensor::from_strings(&[4], &["b", "a", "b", ""]).unwrap();
        let [y, places] = &run(&DEF, &Attrs::new(), &[x]).unwrap()[..] else { panic!() };
        assert_eq!(places.to_vec::<i64>().unwrap(), [0, 1, 0, 2]);
        assert_eq!(
            y.as_strings().unwrap().iter().map(|text| &**text).collect::<Vec<_>>(),
            [&b"b"[..], b"a", b""]
        );
        // -0, 0, NaN, infinity, NaN, infinity
        let bits = [0x8000, 0, 0x7e00, 0x7c00, 0x7e00, 0x7c00u16];
        let x = Tensor::from_bits(DType::F16, &[6], &bits).unwrap();
        let [y, places] = &run(&DEF, &Attrs::new().with("out_idx", DType::I32), &[x]).unwrap()[..] else {
            panic!()
        };
        assert_eq!(places.to_vec::<i32>().unwrap(), [0, 0, 1, 2, 3, 2]);
        assert_eq!(y.to_bits::<u16>().unwrap(), [0x8000, 0x7e00, 0x7c00, 0x7e00]);
    }

    #[test]
    fn many_elements_grow_the_table() {
        let x: Vec<i64> = (0..10_000).map(|i| (i * 7919 % 5003) << 40).collect();
        let [y, places] = &run(&DEF, &Attrs::new(), &[tensor(&[x.len()], &x)]).unwrap()[..] else { panic!() };
        let (y, places) = (y.to_vec::<i64>().unwrap(), places.to_vec::<i64>().unwrap());
        assert_eq!(y.len(), 5003);
        assert!(x.iter().zip(&places).all(|(x, place)| y[*place as usize] == *x));
        assert!(y.iter().enumerate().all(|(i, y)| x[i] == *y));
    }
}
