//! `Display` and `Debug` of tensors and views.

use std::fmt::{self, Write};

use super::{Tensor, TensorView, TensorViewMut};

/// The greatest number of elements of a tensor that is printed in full. Larger tensors print only the ends of their
/// long axes.
const MAX_UNELIDED: usize = 64;

/// The number of elements printed at each end of an elided axis.
const ENDS: i64 = 3;

/// The greatest number of elements that are printed of any tensor. The limit matters for tensors of many short axes.
const MAX_PRINTED: usize = 256;

impl Tensor {
    /// Returns the first `limit` elements in nested brackets, on one line.
    pub(crate) fn elements_text(&self, limit: usize) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = elements(&mut out, &self.view(), &Style { lines: false, elide: false, limit });
        out
    }
}

impl TensorView<'_> {
    /// Returns the text of the element with this row-major number. There must be such an element.
    #[cfg(any(feature = "strings", feature = "graphdef"))]
    pub(crate) fn element_text(&self, position: usize) -> String {
        self.datums().nth(position).expect("the view has the element").to_string()
    }
}

/// Prints `f32[2, 3]` and the elements in nested brackets; long tensors are elided.
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, &self.view())
    }
}

/// Prints the same text as `Display`.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, &self.view())
    }
}

/// Prints the same text as a [`Tensor`] of these elements.
impl fmt::Display for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self)
    }
}

/// Prints the same text as `Display`.
impl fmt::Debug for TensorView<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self)
    }
}

/// Prints the same text as a [`Tensor`] of these elements.
impl fmt::Display for TensorViewMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, &self.as_view())
    }
}

/// Prints the same text as `Display`.
impl fmt::Debug for TensorViewMut<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, &self.as_view())
    }
}

/// Writes dtype, sizes and elements.
fn write(f: &mut fmt::Formatter<'_>, view: &TensorView<'_>) -> fmt::Result {
    write!(f, "{}{:?}", view.dtype(), view.sizes())?;
    f.write_char(if view.sizes().len() < 2 { ' ' } else { '\n' })?;
    elements(f, view, &Style { lines: true, elide: view.len() > MAX_UNELIDED, limit: MAX_PRINTED })
}

struct Style {
    /// Whether each row gets a line of its own.
    lines: bool,
    /// Whether only the ends of long axes are printed.
    elide: bool,
    /// The greatest number of elements printed.
    limit: usize,
}

/// Writes the elements in nested brackets.
fn elements(f: &mut impl Write, view: &TensorView<'_>, style: &Style) -> fmt::Result {
    let Some(last) = view.sizes().len().checked_sub(1) else {
        return write_element(f, view, &[]);
    };
    if view.is_empty() {
        return f.write_str("[]");
    }
    let size = |axis: usize| view.sizes()[axis] as i64;
    let mut index = vec![0i64; view.sizes().len()];
    let mut shown = 0;
    repeat(f, '[', index.len())?;
    loop {
        if shown == style.limit {
            f.write_str("…")?;
            return repeat(f, ']', index.len());
        }
        write_element(f, view, &index)?;
        shown += 1;
        // The innermost axis that has another element to print.
        let Some(axis) = (0..=last).rev().find(|axis| index[*axis] + 1 < size(*axis)) else {
            return repeat(f, ']', index.len());
        };
        index[axis] += 1;
        index[axis + 1..].fill(0);
        repeat(f, ']', last - axis)?;
        separate(f, style, last - axis, axis)?;
        if style.elide && size(axis) > 2 * ENDS && index[axis] == ENDS {
            index[axis] = size(axis) - ENDS;
            f.write_str("…")?;
            separate(f, style, last - axis, axis)?;
        }
        repeat(f, '[', last - axis)?;
    }
}

/// Writes the element at an index.
fn write_element(f: &mut impl Write, view: &TensorView<'_>, index: &[i64]) -> fmt::Result {
    view.datum(index).map_or(Ok(()), |datum| write!(f, "{datum}"))
}

/// Writes the separator between two neighbors along an axis. `inner` axes are inside the axis, and `outer` axes are
/// outside.
fn separate(f: &mut impl Write, style: &Style, inner: usize, outer: usize) -> fmt::Result {
    if inner == 0 || !style.lines {
        return f.write_str(", ");
    }
    f.write_char(',')?;
    repeat(f, '\n', inner)?;
    repeat(f, ' ', outer + 1)
}

/// Writes `c` `count` times.
fn repeat(f: &mut impl Write, c: char, count: usize) -> fmt::Result {
    (0..count).try_for_each(|_| f.write_char(c))
}

#[cfg(test)]
mod tests {
    use crate::tensor::{Tensor, TensorView};
    use shapeflow_shape_fns::DType;

    #[test]
    fn short_tensors_print_in_full() {
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
