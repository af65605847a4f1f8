//! Adds factorizations of matrices, solutions of linear equations and Fourier transforms to random graphs.

use shapeflow::DType;

use super::props_of;
use crate::element_props::ElementProps;
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Adds an op with suitable operands and parameters. Returns the first output of the op, or `None` if there are no
/// suitable operands or parameters.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    match op {
        _ if op.contains("fft") => fourier(g, op),
        "matrix_solve" | "matrix_triangular_solve" => solve(g, op),
        "banded_triangular_solve" => solve_banded(g),
        "sparse_matmul" => matmul_of_sparse(g),
        "matrix_solve_ls" => least_squares(g),
        "cholesky_grad" => cholesky_grad(g),
        "tridiagonal_solve" | "tridiagonal_matmul" => tridiagonal(g, op),
        _ => on_one_operand(g, op),
    }
}

fn dtype(g: &mut GraphGenerator<'_>) -> DType {
    *g.rng.choose(&[DType::F32, DType::F64, DType::C64, DType::C128, DType::F16])
}

/// Adds a source of matrices. `batch` has the sizes of the other axes.
fn matrices(g: &mut GraphGenerator<'_>, dtype: DType, batch: &[Size], size: [i64; 2]) -> Option<ValueIndex> {
    let mut sizes = batch.to_vec();
    sizes.extend(size.map(Size::Known));
    g.source(dtype, sizes, Content::Ordinary, false)
}

fn batch(g: &mut GraphGenerator<'_>) -> Vec<Size> {
    (0..g.rng.below(2)).map(|_| g.random_size()).collect()
}

fn add_call(g: &mut GraphGenerator<'_>, call: Call, operands: &[ValueIndex]) -> Option<ValueIndex> {
    let props = ElementProps { small_integers: false, extreme: true, ..props_of(g, operands) };
    g.add_step(call, operands, &[], props)
}

fn on_one_operand(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let dtype = match op {
        "eig" => *g.rng.choose(&[DType::F32, DType::F64, DType::C64, DType::C128]),
        "matrix_logarithm" => *g.rng.choose(&[DType::C64, DType::C128]),
        "self_adjoint_eig_packed" => *g.rng.choose(&[DType::F32, DType::F64, DType::F16]),
        _ => dtype(g),
    };
    let leading = batch(g);
    let (rows, columns) = (g.rng.range_inclusive(0, 4), g.rng.range_inclusive(0, 4));
    let is_square = !matches!(op, "qr" | "svd");
    let x = matrices(g, dtype, &leading, [rows, if is_square { rows } else { columns }])?;
    let call = Call::new(op);
    let call = match op {
        "qr" => call.attr("full_matrices", g.rng.chance(1, 2)),
        "svd" => call.attr("full_matrices", g.rng.chance(1, 2)).attr("compute_uv", g.rng.chance(2, 3)),
        "eig" | "self_adjoint_eig" => call.attr("compute_v", g.rng.chance(2, 3)),
        "matrix_inverse" => call.attr("adjoint", g.rng.chance(1, 2)),
        _ => call,
    };
    add_call(g, call, &[x])
}

fn solve(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let (dtype, leading) = (dtype(g), batch(g));
    let (size, columns) = (g.rng.range_inclusive(0, 4), g.rng.range_inclusive(0, 3));
    let a = matrices(g, dtype, &leading, [size, size])?;
    let b = matrices(g, dtype, &leading, [size, columns])?;
    let call = Call::new(op).attr("adjoint", g.rng.chance(1, 2));
    let call = if op == "matrix_solve" { call } else { call.attr("lower", g.rng.chance(1, 2)) };
    add_call(g, call, &[a, b])
}

fn solve_banded(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = dtype(g);
    let (size, columns) = (g.rng.range_inclusive(1, 5), g.rng.range_inclusive(1, 3));
    let bands = g.rng.range_inclusive(1, size);
    let batch = [Size::Known(1 + g.rng.below(2) as i64)];
    let a = matrices(g, dtype, &batch, [bands, size])?;
    let b = matrices(g, dtype, &[], [size, columns])?;
    let call = Call::new("banded_triangular_solve");
    let call = call.attr("lower", g.rng.chance(1, 2)).attr("adjoint", g.rng.chance(1, 2));
    add_call(g, call, &[a, b])
}

fn matmul_of_sparse(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (rows, inner, columns) = (g.random_size(), g.random_size(), g.random_size());
    let mut operands = Vec::new();
    let mut call = Call::new("sparse_matmul").attr("a_is_sparse", g.rng.chance(1, 2));
    for (name, [first, second]) in [("transpose_a", [rows, inner]), ("transpose_b", [inner, columns])] {
        let (dtype, is_transposed) = (*g.rng.choose(&[DType::F32, DType::BF16]), g.rng.chance(1, 2));
        let sizes = if is_transposed { vec![second, first] } else { vec![first, second] };
        operands.push(g.source(dtype, sizes, Content::SmallIntegers, false)?);
        call = call.attr(name, is_transposed);
    }
    let props = ElementProps { reduced: true, ..props_of(g, &operands) };
    g.add_step(call, &operands, &[], props)
}

fn least_squares(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (dtype, leading) = (dtype(g), batch(g));
    let (rows, columns) = (g.rng.range_inclusive(0, 4), g.rng.range_inclusive(0, 4));
    let a = matrices(g, dtype, &leading, [rows, columns])?;
    let b = matrices(g, dtype, &leading, [rows, 2])?;
    let l2 = g.source(DType::F64, Vec::new(), Content::SmallIntegers, false)?;
    let call = Call::new("matrix_solve_ls").attr("fast", g.rng.chance(1, 2));
    add_call(g, call, &[a, b, l2])
}

fn cholesky_grad(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (dtype, leading) = (*g.rng.choose(&[DType::F32, DType::F64, DType::F16]), batch(g));
    let size = g.rng.range_inclusive(0, 4);
    let l = matrices(g, dtype, &leading, [size, size])?;
    let grad = matrices(g, dtype, &leading, [size, size])?;
    add_call(g, Call::new("cholesky_grad"), &[l, grad])
}

fn tridiagonal(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let (dtype, leading) = (dtype(g), batch(g));
    let (size, columns) = (g.rng.range_inclusive(1, 5), g.rng.range_inclusive(0, 3));
    let mut operands = Vec::new();
    match op {
        "tridiagonal_solve" => operands.push(matrices(g, dtype, &leading, [3, size])?),
        _ => {
            for _ in 0..3 {
                operands.push(matrices(g, dtype, &leading, [1, size])?);
            }
        }
    }
    operands.push(matrices(g, dtype, &leading, [size, columns])?);
    add_call(g, Call::new(op), &operands)
}

fn fourier(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let axes = op.chars().last().and_then(|last| last.to_digit(10)).unwrap_or(1) as usize;
    let (is_real, is_inverse) = (op.contains("rfft"), op.starts_with('i'));
    let dtypes = if is_real && !is_inverse { [DType::F32, DType::F64] } else { [DType::C64, DType::C128] };
    let dtype = *g.rng.choose(&dtypes);
    let sizes: Vec<Size> = (0..axes + g.rng.below(2)).map(|_| g.random_size()).collect();
    let x = g.source(dtype, sizes, Content::Ordinary, false)?;
    let (mut call, mut params) = (Call::new(op), Vec::new());
    if is_real {
        let lengths: Vec<i64> = (0..axes).map(|_| g.rng.range_inclusive(0, 6)).collect();
        call = g.param(call, &mut params, "fft_length", &lengths, true)?;
    }
    let props = ElementProps { small_integers: false, ..props_of(g, &[x]) };
    g.add_step(call, &[x], &params, props)
}
