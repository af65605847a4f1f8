//! `complex_prod`: products of complex numbers over axes.

use std::ops::{Add, Mul, Sub};

use shapeflow_shape_fns::{Attribute, DType};

use crate::dtype;
use crate::error::Result;
use crate::graph::Value;
use crate::op::{CompositeCx, HostCx, OpDef, Operand};
use crate::ops::host_params::param_ints;
use crate::ops::in_tensorflow::operands;
use crate::ops::row_major::RowMajor;
use crate::shape_fns;
use crate::tensor::{Element, TensorView, TensorViewMut};

/// The op to which `reduce_prod` of complex numbers expands. It runs on the host: a kernel reduces each part on its
/// own, and each part of a complex product needs both parts of its factors.
pub(crate) static DEF: OpDef = OpDef::host("complex_prod", run)
    .attrs(&[Attribute::bool_or("keep_dims", false)])
    .operands(&[Operand::Data("input"), Operand::Structure("axis")])
    .shape_fn(shape_fns::reduce::prod)
    .dtype_rule(dtype::unary::complex);

/// Builds the product with the axes and attributes of a call of `reduce_prod`.
pub(super) fn build<'g>(cx: &CompositeCx<'_>, values: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let [x] = operands(values)?;
    let mut call = x.graph().op(&DEF).data(x);
    if let Some(axes) = values.get(1) {
        call = call.structure("axis", *axes);
    }
    for name in ["axis", "keep_dims"] {
        if let Some(attr) = cx.attrs().get(name) {
            call = call.attr(name, attr.clone());
        }
    }
    call.finish_all()
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let x = RowMajor::new(cx.input(0)?)?;
    let x = x.view();
    let rank = x.sizes().len();
    let axes = param_ints(cx, "axis", 1)?;
    // The shape function has checked that every axis is in range.
    let is_axis = |axis: usize, given: i64| given.rem_euclid(rank as i64) == axis as i64;
    let is_reduced: Vec<bool> = (0..rank)
        .map(|axis| axes.as_ref().is_none_or(|axes| axes.iter().any(|given| is_axis(axis, *given))))
        .collect();
    let keeps = cx.attrs().bool("keep_dims");
    let (mut sizes, mut strides, mut stride) = (Vec::new(), vec![0; rank], 1);
    for (axis, &size) in x.sizes().iter().enumerate().rev() {
        if !is_reduced[axis] {
            sizes.push(size);
            strides[axis] = stride;
            stride *= size;
        } else if keeps {
            sizes.push(1);
        }
    }
    sizes.reverse();
    let y = &mut cx.unfilled_output(0, &sizes)?;
    match x.dtype() {
        DType::C64 => products::<f32>(x, y, 1.0, &strides),
        _ => products::<f64>(x, y, 1.0, &strides),
    }
}

/// Multiplies every element of `x` into the element of `y` whose offset is the sum of `strides · index`.
fn products<T>(x: TensorView<'_>, y: &mut TensorViewMut<'_>, one: T, strides: &[usize]) -> Result<()>
where
    T: Element + Add<Output = T> + Sub<Output = T> + Mul<Output = T>,
{
    let y = y.as_mut_bits::<T>()?;
    for number in y.chunks_exact_mut(2) {
        number.copy_from_slice(&[one, T::default()]);
    }
    let mut index = vec![0; strides.len()];
    let mut offset = 0;
    for number in x.as_bits::<T>()?.chunks_exact(2) {
        let (a, b, c, d) = (y[2 * offset], y[2 * offset + 1], number[0], number[1]);
        y[2 * offset] = a * c - b * d;
        y[2 * offset + 1] = a * d + b * c;
        for (axis, &size) in x.sizes().iter().enumerate().rev() {
            index[axis] += 1;
            offset += strides[axis];
            if index[axis] < size {
                break;
            }
            offset -= strides[axis] * size;
            index[axis] = 0;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::{Axes, DType, Graph, Tensor};

    #[test]
    fn products_over_any_axes() {
        let numbers: Vec<f64> = (0..24).map(f64::from).collect();
        let x = Tensor::from_bits(DType::C128, &[2, 3, 2], &numbers).unwrap();
        let graph = Graph::new();
        let fed = graph.input("x", DType::C128, [2, 3, 2]).unwrap();
        for axes in [&[][..], &[0], &[1], &[-1], &[0, 2], &[0, 1, 2]] {
            let y = fed.reduce_prod(Axes::of(axes).keep_dims()).unwrap();
            let [y] = graph.compile(y).unwrap().run(&[x.view()]).unwrap();
            let mut expected = vec![num_complex::Complex64::new(1.0, 0.0); y.len()];
            let size = |axis: i64, size: usize| if axes.contains(&axis) { 1 } else { size };
            let sizes = [size(0, 2), size(1, 3), if axes.contains(&-1) { 1 } else { size(2, 2) }];
            for (number, parts) in numbers.chunks_exact(2).enumerate() {
                let [i, j, k] = [number / 6 % sizes[0], number / 2 % 3 % sizes[1], number % 2 % sizes[2]];
                expected[(i * sizes[1] + j) * sizes[2] + k] *=
                    num_complex::Complex64::new(parts[0], parts[1]);
            }
            let expected: Vec<f64> = expected.iter().flat_map(|z| [z.re, z.im]).collect();
            assert_eq!((y.sizes(), y.to_bits::<f64>().unwrap()), (&sizes[..], expected), "{axes:?}");
        }
        let empty =
            graph.constant(Tensor::zeros(DType::C64, &[0]).unwrap()).unwrap().reduce_prod(..).unwrap();
        let [y] = graph.compile(empty).unwrap().run(&[x.view()]).unwrap();
        assert_eq!(y.to_bits::<f32>().unwrap(), [1.0, 0.0]);
    }
}
