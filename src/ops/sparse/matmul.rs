//! `sparse_dense_matmul`: the product of a sparse and a dense matrix.

use std::ops::{Add, Mul};
use std::panic::Location;

use shapeflow_shape_fns::{Attribute, Attrs, DType, counted};

use crate::dtype;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{HostCx, OpDef, Operand, TfOp};
use crate::ops::row_major::RowMajor;
use crate::ops::rows::{narrow, widened};
use crate::tensor::{Tensor, TensorView, TensorViewMut};

use super::operand::{out_of_range, parts, refuse, rows_of};

impl<'g> Value<'g> {
    /// Multiplies a sparse matrix by the matrix `dense`. `self` has the indices of the sparse matrix.
    ///
    /// `[count, 2], values [count], shape [2] = [m, k], dense [k, n] -> [m, n]`; `adjoint_a` and `adjoint_b` transpose
    /// a matrix before the product, and conjugate its elements. The values and `dense` have one dtype: i32 (which
    /// wraps), i64, a float or a complex number. f16 and bf16 are computed as f32 and rounded once. The indices are i32
    /// or i64, the shape is i64. The products of a sum are added in the order in which `self` lists the indices. As
    /// TensorFlow's `SparseTensorDenseMatMul`. Runs on the host.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let (indices, shape) = (g.constant([[0i64, 1], [1, 0]])?, g.constant([2i64, 2])?);
    /// let dense = g.constant([[1, 2], [3, 4]])?;
    /// let product = indices.sparse_dense_matmul(g.constant([10, 20])?, shape, dense, false, false)?;
    /// let [product] = g.compile(product)?.run(&[])?;
    /// assert_eq!(product, Tensor::from([[30, 40], [20, 40]]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// An operand has another dtype or rank, or the inner sizes differ. The run fails if an index is out of range.
    #[doc(alias = "sparse_tensor_dense_matmul")]
    #[track_caller]
    pub fn sparse_dense_matmul(
        self,
        values: impl IntoOperand<'g>,
        shape: impl IntoOperand<'g>,
        dense: impl IntoOperand<'g>,
        adjoint_a: bool,
        adjoint_b: bool,
    ) -> Result<Value<'g>> {
        let location = Location::caller();
        let parts = parts(self, values, shape, location);
        let dense = dense.into_operand(self, location);
        let call = self.graph().op(&DEF).data_all(&parts).data(dense);
        call.attr("adjoint_a", adjoint_a).attr("adjoint_b", adjoint_b).finish_at(location)
    }
}

pub(crate) static DEF: OpDef = OpDef::host("sparse_dense_matmul", run)
    .attrs(&[Attribute::bool_or("adjoint_a", false), Attribute::bool_or("adjoint_b", false)])
    .operands(&[
        Operand::Data("a_indices"),
        Operand::Data("a_values"),
        Operand::Data("a_shape"),
        Operand::Data("b"),
    ])
    .shape_fn(shapeflow_shape_fns::sparse::matmul_dense)
    .dtype_rule(product_dtype)
    .tensorflow(&[TfOp::new("SparseTensorDenseMatMul")]);

fn product_dtype(dtypes: &[DType], _: &Attrs) -> Result<Vec<DType>> {
    let (indices, shape) =
        (dtype::common(dtypes, 0, 1, dtype::Class::Any)?, dtype::common(dtypes, 2, 3, dtype::Class::Any)?);
    if !matches!(indices, DType::I32 | DType::I64) || shape != DType::I64 {
        return dtype::refuse(format!(
            "indices must be i32 or i64 and the shape i64, got {indices} and {shape}"
        ));
    }
    let [a, b] = [1, 3].map(|operand| dtypes.get(operand).copied().unwrap_or(indices));
    if a != b || !(matches!(a, DType::I32 | DType::I64) || dtype::Class::Inexact.contains(a)) {
        return dtype::refuse(format!(
            "both matrices must be i32, i64, floats or complex numbers of one dtype, got {a} and {b}"
        ));
    }
    Ok(vec![a])
}

fn run(cx: &mut HostCx<'_>) -> Result<()> {
    let (adjoint_a, adjoint_b) = (cx.attrs().bool("adjoint_a"), cx.attrs().bool("adjoint_b"));
    let [indices, values] = [RowMajor::new(cx.input(0)?)?, RowMajor::new(cx.input(1)?)?];
    let [shape, b] = [RowMajor::new(cx.input(2)?)?, RowMajor::new(cx.input(3)?)?];
    let shape = shape.view().as_slice::<i64>()?;
    let wide;
    let indices = match indices.view().dtype() {
        DType::I32 => {
            let elements: Vec<i64> =
                indices.view().as_slice::<i32>()?.iter().map(|index| i64::from(*index)).collect();
            wide = Tensor::from_slice(indices.view().sizes(), &elements)?;
            wide.view()
        }
        _ => indices.view(),
    };
    let (rows, _) = rows_of(indices, shape)?;
    let (Some(sizes), &[depth, width]) = (sizes_of(shape), b.view().sizes()) else {
        return refuse(format!(
            "both operands must be matrices, got sizes {shape:?} and {:?}",
            b.view().sizes()
        ));
    };
    let (height, inner) = if adjoint_a { (sizes[1], sizes[0]) } else { (sizes[0], sizes[1]) };
    let (depth, width) = if adjoint_b { (width, depth) } else { (depth, width) };
    if inner != depth {
        return refuse(format!("the inner sizes of a product must agree, got {inner} and {depth}"));
    }
    if values.view().len() != rows.len() {
        return refuse(format!(
            "there must be {}, one for each index, got {}",
            counted(rows.len(), "value"),
            values.view().len()
        ));
    }
    let mut places = Vec::with_capacity(rows.len());
    for (number, row) in rows.iter().enumerate() {
        if let Some(column) = (0..2).find(|column| !(0..shape[*column]).contains(&row[*column])) {
            return out_of_range(0, [number, column], row[column], shape[column]);
        }
        let place = (row[0] as usize, row[1] as usize);
        places.push(if adjoint_a { (place.1, place.0) } else { place });
    }
    let product = SparseProduct { places, width, depth, is_transposed: adjoint_b };
    let signs = [adjoint_a, adjoint_b].map(|is_adjoint| if is_adjoint { -1.0 } else { 1.0 });
    product.compute(values.view(), b.view(), signs, &mut cx.output(0, &[height, width])?)
}

/// Returns the sizes of a matrix.
fn sizes_of(shape: &[i64]) -> Option<[usize; 2]> {
    match *shape {
        [rows, columns] => Some([usize::try_from(rows).ok()?, usize::try_from(columns).ok()?]),
        _ => None,
    }
}

/// A product: the row and column of each value of the sparse matrix, and the layout of the dense matrix.
struct SparseProduct {
    places: Vec<(usize, usize)>,
    width: usize,
    depth: usize,
    is_transposed: bool,
}

impl SparseProduct {
    /// Adds the products to `output`, whose elements are 0. The imaginary parts of the sparse and of the dense matrix
    /// are multiplied by `signs`.
    fn compute(
        &self,
        values: TensorView<'_>,
        b: TensorView<'_>,
        signs: [f64; 2],
        output: &mut TensorViewMut<'_>,
    ) -> Result<()> {
        macro_rules! of {
            ($T:ty, $mul:expr, $add:expr) => {{
                self.add(values.as_slice::<$T>()?, b.as_slice()?, output.as_mut_slice()?, $mul, $add);
            }};
        }
        macro_rules! complex {
            ($T:ty) => {{
                let [sign, other] = signs.map(|sign| sign as $T);
                let mul = |[a, b]: [$T; 2], [c, d]: [$T; 2]| {
                    let (b, d) = (sign * b, other * d);
                    [a * c - b * d, a * d + b * c]
                };
                let add = |x: [$T; 2], y: [$T; 2]| [x[0] + y[0], x[1] + y[1]];
                let (values, b) = (values.as_bits::<$T>()?.as_chunks().0, b.as_bits::<$T>()?.as_chunks().0);
                self.add(values, b, output.as_mut_bits::<$T>()?.as_chunks_mut().0, mul, add);
            }};
        }
        match b.dtype() {
            DType::I32 => of!(i32, i32::wrapping_mul, i32::wrapping_add),
            DType::I64 => of!(i64, i64::wrapping_mul, i64::wrapping_add),
            DType::C64 => complex!(f32),
            DType::C128 => complex!(f64),
            DType::F32 => of!(f32, f32::mul, f32::add),
            DType::F64 => of!(f64, f64::mul, f64::add),
            _ => {
                let mut wide = Tensor::zeros(DType::F32, output.sizes())?;
                let (values, b) = (widened(&values)?, widened(&b)?);
                self.compute(values.view(), b.view(), signs, &mut wide.view_mut()?)?;
                narrow(wide.view(), output)?;
            }
        }
        Ok(())
    }

    /// Adds the products of the elements to `output`.
    fn add<T: Copy>(
        &self,
        values: &[T],
        b: &[T],
        output: &mut [T],
        mul: impl Fn(T, T) -> T,
        add: impl Fn(T, T) -> T,
    ) {
        let SparseProduct { width, depth, .. } = *self;
        for (&(row, column), &value) in self.places.iter().zip(values) {
            let sums = &mut output[row * width..(row + 1) * width];
            for (position, sum) in sums.iter_mut().enumerate() {
                let factor = if self.is_transposed {
                    b[position * depth + column]
                } else {
                    b[column * width + position]
                };
                *sum = add(*sum, mul(value, factor));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::{run, run_one, shape_table, tensor};

    shape_table! { DEF, {},
        "i64[n, 2]; f32[n]; i64[2]; f32[3, m]" => "[?, d3_1]",
        "i64[n, 2]; f32[n]; i64[2]; f64[3, m]" => error "of one dtype, got f32 and f64",
        "i64[n, 2]; u8[n]; i64[2]; u8[3, m]" => error "must be i32, i64, floats or complex numbers",
        "i64[n, 2]; f32[n]; i32[2]; f32[3, m]" => error "the shape i64, got i64 and i32",
    }

    /// The product of the matrices written out as dense ones.
    #[test]
    fn products_are_those_of_dense_matrices() {
        let (rows, columns) = (3, 4);
        let places = [[2, 3], [0, 1], [2, 0], [0, 1]];
        let values = [2.0f64, -1.0, 0.5, 4.0];
        let mut dense = vec![0.0; rows * columns];
        for ([row, column], value) in places.iter().zip(values) {
            dense[row * columns + column] += value;
        }
        let b: Vec<f64> = (0..8).map(f64::from).collect();
        for (adjoint_a, adjoint_b) in [(false, false), (true, false), (false, true), (true, true)] {
            let (height, depth) = if adjoint_a { (columns, rows) } else { (rows, columns) };
            let width = 2;
            let b = &b[..depth * width];
            let mut expected = vec![0.0; height * width];
            for i in 0..height {
                for j in 0..width {
                    for k in 0..depth {
                        let a = if adjoint_a { dense[k * columns + i] } else { dense[i * columns + k] };
                        expected[i * width + j] +=
                            a * if adjoint_b { b[j * depth + k] } else { b[k * width + j] };
                    }
                }
            }
            let sizes = if adjoint_b { [width, depth] } else { [depth, width] };
            let indices: Vec<i32> = places.iter().flatten().map(|index| *index as i32).collect();
            let attrs = Attrs::new().with("adjoint_a", adjoint_a).with("adjoint_b", adjoint_b);
            let operands = [
                tensor(&[4, 2], &indices),
                tensor(&[4], &values),
                tensor(&[2], &[rows as i64, columns as i64]),
                tensor(&sizes, b),
            ];
            assert_eq!(run_one(&DEF, &attrs, &operands), tensor(&[height, width], &expected));
        }
    }

    #[test]
    fn indices_out_of_range_and_other_sizes_are_refused() {
        let run = |row: i64, depth: usize| {
            let operands = [
                tensor(&[1, 2], &[row, 0]),
                tensor(&[1], &[1.0f32]),
                tensor(&[2], &[2i64, 3]),
                tensor(&[depth, 1], &vec![1.0f32; depth]),
            ];
            run(&DEF, &Attrs::new(), &operands)
        };
        assert_eq!(run(1, 3).unwrap()[0].to_vec::<f32>().unwrap(), [0.0, 1.0]);
        assert!(
            run(2, 3).unwrap_err().message().contains("must lie in [0, 2), got 2 at [0, 0] in operand 0")
        );
        assert!(run(0, 2).unwrap_err().message().contains("got 3 and 2"));
    }
}
