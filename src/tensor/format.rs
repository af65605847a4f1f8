//! How a tensor prints, and the value of an element of any dtype.

use std::fmt::{self, Write};

use half::{bf16, f16};
use shapeflow_shape_fns::DType;

use super::{Tensor, TensorView};

/// Tensors of more elements show only the ends of their axes.
const ALL: usize = 64;

/// Elements shown at each end of an axis that is cut short.
const ENDS: i64 = 3;

/// Elements shown in all; a tensor of many short axes stops there.
const SHOWN: usize = 256;

/// One element.
#[derive(Clone, Copy, Debug)]
pub(super) enum Datum<'a> {
    Bool(bool),
    Int(i128),
    F32(f32),
    F64(f64),
    Complex(Float, Float),
    Bytes(&'a [u8]),
}

/// A part of a complex number, which prints at its own precision.
#[derive(Clone, Copy, Debug)]
pub(super) enum Float {
    F32(f32),
    F64(f64),
}

impl Float {
    pub(super) fn value(self) -> f64 {
        match self {
            Float::F32(value) => value.into(),
            Float::F64(value) => value,
        }
    }
}

impl<'a> Datum<'a> {
    /// The element of `dtype` that these bytes hold; for strings and for bytes that are no element of it, the
    /// bytes.
    pub(super) fn read(dtype: DType, bytes: &'a [u8]) -> Datum<'a> {
        macro_rules! read {
            ($type:ty, $bytes:expr) => {
                match <[u8; size_of::<$type>()]>::try_from($bytes) {
                    Ok(bytes) => <$type>::from_ne_bytes(bytes),
                    Err(_) => return Datum::Bytes(bytes),
                }
            };
        }
        let (first, second) = bytes.split_at(bytes.len() / 2);
        match dtype {
            DType::Bool => Datum::Bool(read!(u8, bytes) != 0),
            DType::I8 | DType::QI8 => Datum::Int(read!(i8, bytes).into()),
            DType::I16 | DType::QI16 => Datum::Int(read!(i16, bytes).into()),
            DType::I32 | DType::QI32 => Datum::Int(read!(i32, bytes).into()),
            DType::I64 => Datum::Int(read!(i64, bytes).into()),
            DType::U8 | DType::QU8 => Datum::Int(read!(u8, bytes).into()),
            DType::U16 | DType::QU16 => Datum::Int(read!(u16, bytes).into()),
            DType::U32 => Datum::Int(read!(u32, bytes).into()),
            DType::U64 => Datum::Int(read!(u64, bytes).into()),
            DType::F16 => Datum::F32(f16::from_bits(read!(u16, bytes)).to_f32()),
            DType::BF16 => Datum::F32(bf16::from_bits(read!(u16, bytes)).to_f32()),
            DType::F32 => Datum::F32(read!(f32, bytes)),
            DType::F64 => Datum::F64(read!(f64, bytes)),
            DType::C64 => Datum::Complex(Float::F32(read!(f32, first)), Float::F32(read!(f32, second))),
            DType::C128 => Datum::Complex(Float::F64(read!(f64, first)), Float::F64(read!(f64, second))),
            _ => Datum::Bytes(bytes),
        }
    }
}

impl fmt::Display for Datum<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Datum::Bool(value) => write!(f, "{value}"),
            Datum::Int(value) => write!(f, "{value}"),
            // `Debug` keeps the point of 1.0 and the exponent of 1e30.
            Datum::F32(value) => write!(f, "{value:?}"),
            Datum::F64(value) => write!(f, "{value:?}"),
            Datum::Complex(Float::F32(real), Float::F32(imaginary)) => write!(f, "{real:?}{imaginary:+?}i"),
            Datum::Complex(real, imaginary) => write!(f, "{:?}{:+?}i", real.value(), imaginary.value()),
            Datum::Bytes(bytes) => write!(f, "{:?}", String::from_utf8_lossy(bytes)),
        }
    }
}

impl Tensor {
    /// The first `most` elements in nested brackets, on one line.
    pub(crate) fn elements_text(&self, most: usize) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = elements(&mut out, &self.view(), &Style { lines: false, cut: false, most });
        out
    }
}

/// Writes dtype, sizes and elements.
pub(super) fn write(f: &mut fmt::Formatter<'_>, view: &TensorView<'_>) -> fmt::Result {
    write!(f, "{}{:?}", view.dtype(), view.sizes())?;
    f.write_char(if view.sizes().len() < 2 { ' ' } else { '\n' })?;
    elements(f, view, &Style { lines: true, cut: view.len() > ALL, most: SHOWN })
}

struct Style {
    /// Whether rows stand on lines of their own.
    lines: bool,
    /// Whether only the ends of long axes are shown.
    cut: bool,
    /// How many elements are shown.
    most: usize,
}

fn elements(f: &mut impl Write, view: &TensorView<'_>, style: &Style) -> fmt::Result {
    let Some(last) = view.sizes().len().checked_sub(1) else {
        return one(f, view, &[]);
    };
    if view.is_empty() {
        return f.write_str("[]");
    }
    let size = |axis: usize| view.sizes()[axis] as i64;
    let mut index = vec![0i64; view.sizes().len()];
    let mut shown = 0;
    repeat(f, '[', index.len())?;
    loop {
        if shown == style.most {
            f.write_str("…")?;
            return repeat(f, ']', index.len());
        }
        one(f, view, &index)?;
        shown += 1;
        // The innermost axis that has another element to show.
        let Some(axis) = (0..=last).rev().find(|axis| index[*axis] + 1 < size(*axis)) else {
            return repeat(f, ']', index.len());
        };
        index[axis] += 1;
        index[axis + 1..].fill(0);
        repeat(f, ']', last - axis)?;
        separate(f, style, last - axis, axis)?;
        if style.cut && size(axis) > 2 * ENDS && index[axis] == ENDS {
            index[axis] = size(axis) - ENDS;
            f.write_str("…")?;
            separate(f, style, last - axis, axis)?;
        }
        repeat(f, '[', last - axis)?;
    }
}

fn one(f: &mut impl Write, view: &TensorView<'_>, index: &[i64]) -> fmt::Result {
    view.datum(index).map_or(Ok(()), |datum| write!(f, "{datum}"))
}

/// Between two elements of an axis with `inner` axes inside and `outer` axes outside.
fn separate(f: &mut impl Write, style: &Style, inner: usize, outer: usize) -> fmt::Result {
    if inner == 0 || !style.lines {
        return f.write_str(", ");
    }
    f.write_char(',')?;
    repeat(f, '\n', inner)?;
    repeat(f, ' ', outer + 1)
}

fn repeat(f: &mut impl Write, c: char, count: usize) -> fmt::Result {
    (0..count).try_for_each(|_| f.write_char(c))
}

#[cfg(test)]
mod tests {
    use crate::tensor::{Tensor, TensorView};
    use shapeflow_shape_fns::DType;

    #[test]
    fn short_tensors_print_whole() {
        for (tensor, text) in [
            (Tensor::scalar(3.5f32), "f32[] 3.5"),
            (Tensor::from([1.0, -0.0, f64::NAN, f64::INFINITY, 1e30]), "f64[5] [1.0, -0.0, NaN, inf, 1e30]"),
            (Tensor::from([[true], [false]]), "bool[2, 1]\n[[true],\n [false]]"),
            (Tensor::from([[[1, 2]], [[3, 4]]]), "i32[2, 1, 2]\n[[[1, 2]],\n\n [[3, 4]]]"),
            (Tensor::from([[0u8; 0]; 2]), "u8[2, 0]\n[]"),
            (Tensor::from_bits(DType::F16, &[1], &[0x3c00u16]).unwrap(), "f16[1] [1.0]"),
            (Tensor::from_bits(DType::C64, &[1], &[1.0f32, -0.5]).unwrap(), "c64[1] [1.0-0.5i]"),
            (Tensor::from_bits(DType::QI8, &[1], &[-5i8]).unwrap(), "qi8[1] [-5]"),
            (Tensor::from_strings(&[2], &["a\n", "é"]).unwrap(), "string[2] [\"a\\n\", \"é\"]"),
        ] {
            assert_eq!(tensor.to_string(), text);
            assert_eq!(format!("{tensor:?}"), text);
        }
        let view = TensorView::with_strides(&[2, 2], &[1, 2], &[1i64, 2, 3, 4], 0).unwrap();
        assert_eq!(view.to_string(), "i64[2, 2]\n[[1, 3],\n [2, 4]]");
    }

    #[test]
    fn elements_print_on_one_line() {
        let tensor = Tensor::from([[1, 2], [3, 4]]);
        assert_eq!(tensor.elements_text(8), "[[1, 2], [3, 4]]");
        assert_eq!(tensor.elements_text(3), "[[1, 2], [3, …]]");
        assert_eq!(Tensor::scalar(true).elements_text(1), "true");
    }

    #[test]
    fn long_tensors_are_elided() {
        let long = Tensor::from((0..100i32).collect::<Vec<_>>());
        assert_eq!(long.to_string(), "i32[100] [0, 1, 2, …, 97, 98, 99]");
        let tall = long.reshape(&[50, 2]).unwrap();
        assert_eq!(
            tall.to_string(),
            "i32[50, 2]\n[[0, 1],\n [2, 3],\n [4, 5],\n …,\n [94, 95],\n [96, 97],\n [98, 99]]"
        );
        let deep = Tensor::zeros(DType::U8, &[2; 12]).unwrap().to_string();
        assert!(deep.ends_with("…]]]]]]]]]]]]") && deep.len() < 4096, "{deep}");
    }
}
