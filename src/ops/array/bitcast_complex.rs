//! The composite op of [`Value::bitcast`] from or to complex numbers. The bits of a complex number are the bits of its
//! real part, then the bits of its imaginary part.

use shapeflow_shape_fns::{Attribute, Attrs, DType};

use crate::dtype::{self, Class};
use crate::error::{Error, ErrorKind, Phase, Result};
use crate::graph::Value;
use crate::op::{CompositeCx, OpDef, Operand, TfOp};
use crate::ops::{concat, stack};

pub(crate) static DEF: OpDef = OpDef::composite("bitcast_complex", build)
    .attrs(&[Attribute::dtype("dtype")])
    .operands(&[Operand::Data("x")])
    .dtype_rule(dtypes)
    .tensorflow(&[TfOp::new("Bitcast")]);

fn dtypes(operands: &[DType], attrs: &Attrs) -> Result<Vec<DType>> {
    let to = attrs.dtype("dtype");
    if !operands.iter().chain([&to]).any(|dtype| dtype.is_complex()) {
        return dtype::refuse(format!("bitcast_complex must read or give complex numbers, got {to}"));
    }
    for dtype in operands.iter().copied().chain([to]).filter(|dtype| !dtype.is_complex()) {
        check(dtype)?;
    }
    Ok(vec![to])
}

/// Checks that the bits of a dtype that is not complex can be read as another dtype.
pub(super) fn check(dtype: DType) -> Result<()> {
    match dtype.is_quantized() {
        true => Ok(()),
        false => dtype::common(&[dtype], 0, 1, Class::Number).map(drop),
    }
}

fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let &[x] = values else { return Err(Error::msg("bitcast needs one operand")) };
    let to = dtypes(&[x.dtype()], cx.attrs())?[0];
    check_last_axis(x, to)?;
    let result = match (x.dtype().is_complex(), to.is_complex()) {
        (true, true) if x.dtype() == to => x,
        // A c64 has the bits of one f64, and a c128 has the bits of two.
        (true, true) => to_complex(from_complex(x, DType::F64)?, to)?,
        (true, false) => from_complex(x, to)?,
        (false, _) => to_complex(x, to)?,
    };
    Ok(vec![result])
}

/// Checks that the last axis holds the parts of an element of `to`, if `to` is larger than an element of `x`.
fn check_last_axis(x: Value<'_>, to: DType) -> Result<()> {
    let (parts, shape) = (size(to) / size(x.dtype()), x.shape());
    let Some(dims) = shape.dims().filter(|_| parts > 1) else { return Ok(()) };
    let got = match dims.last() {
        Some(last) if last.as_known().is_none_or(|last| last == parts as i64) => return Ok(()),
        Some(last) => format!("{last} in {shape}"),
        None => "a scalar".to_string(),
    };
    let message = format!("x must have a last axis of size {parts}, got {got}");
    Err(Error::new(ErrorKind::Shape, Phase::Build, message))
}

fn size(dtype: DType) -> usize {
    dtype.size_bytes().expect("the dtype rule accepts numbers only")
}

/// Reads complex numbers as elements of `to`: the bits of the real part come first.
fn from_complex(x: Value<'_>, to: DType) -> Result<Value<'_>> {
    let (real, imaginary) = (x.real()?, x.imag()?);
    if size(to) < size(real.dtype()) {
        return concat(&[real.bitcast(to)?, imaginary.bitcast(to)?], -1);
    }
    stack(&[real, imaginary], -1)?.bitcast(to)
}

/// Reads elements as complex numbers of dtype `to`.
fn to_complex(x: Value<'_>, to: DType) -> Result<Value<'_>> {
    let part = to.part().expect("a complex dtype has parts");
    // An element that is at least as large as a part is read as one part or as two; the last axis then has size 2. The
    // last axis of smaller elements holds the bits of both parts.
    let x = if size(x.dtype()) < size(part) { x } else { x.bitcast(part)? };
    let [real, imaginary] = x.split::<2>(-1)?;
    part_of_bits(real, part)?.complex(part_of_bits(imaginary, part)?)
}

/// Reads the elements along the last axis as one element of `part`.
fn part_of_bits(half: Value<'_>, part: DType) -> Result<Value<'_>> {
    if half.dtype() == part { half.squeeze([-1]) } else { half.bitcast(part) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Graph;
    use crate::ops::testing::shape_table;
    use crate::tensor::Tensor;

    shape_table! { DEF, {"dtype": DType::C64},
        "f32[n, 2]" => "c64[n]",
        "f64[n]" => "c64[n]",
        "u8[n, 8]" => "c64[n]",
        "c128[n]" => "c64[n, 2]",
        "c64[n]" => "c64[n]",
        "f32[n, 3]" => error "x must have a last axis of size 2, got 3 in [n, 3]",
        "f32[n, 4]" => error "x must have a last axis of size 2, got 4 in [n, 4]",
        "f32[]" => error "x must have a last axis of size 2, got a scalar",
        "u8[n, 6]" => error "x must have a last axis of size 8, got 6 in [n, 6]",
        "bool[n, 8]" => error "the element type must be an integer or a float",
    }

    /// The bytes stay the same, for every pair of dtypes.
    #[test]
    fn bits_stay_in_their_order() {
        let read = |x: &Tensor, dtype: DType| {
            let g = Graph::new();
            let y = g.constant(x).unwrap().bitcast(dtype).unwrap();
            let [y] = g.compile(y).unwrap().run(&[]).unwrap();
            y
        };
        let c64 = Tensor::from_bits(DType::C64, &[2], &[1.5f32, -0.0, 3.25, 1e-30]).unwrap();
        let c128 = Tensor::from_bits(DType::C128, &[2], &[-7.0f64, 1e-300, 0.5, 8.0]).unwrap();
        let others =
            [DType::U8, DType::QI8, DType::F16, DType::I32, DType::F32, DType::QI32, DType::U64, DType::F64];
        for x in [c64, c128] {
            for other in others.into_iter().chain([DType::C64]) {
                let y = read(&x, other);
                assert_eq!(y.view().bytes(), x.view().bytes(), "{other}");
                assert_eq!(read(&y, x.dtype()), x, "{other}");
            }
        }
        let pairs = Tensor::from_bits(DType::C64, &[1, 2], &[1.5f32, -0.0, 3.25, 1e-30]).unwrap();
        assert_eq!(read(&pairs, DType::C128).view().bytes(), pairs.view().bytes());
    }
}
