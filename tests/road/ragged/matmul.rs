//! Products of ragged matrices, against loops over nested lists.

use std::slice::from_ref;

use shapeflow::{AnyValue, DType, Graph, RaggedTensor, Result, Tensor, ragged, shape};

use super::graphs::{Rows, deep, input, run, text};
use crate::rng::Rng;

fn matrix(rng: &mut Rng, rows: usize, columns: usize) -> Rows {
    (0..rows).map(|_| (0..columns).map(|_| rng.range_inclusive(-4, 4) as f64).collect()).collect()
}

fn transposed(x: &Rows, columns: usize) -> Rows {
    (0..columns).map(|column| x.iter().map(|row| row[column]).collect()).collect()
}

/// Multiplies matrices; `columns` is the number of columns of the right matrix.
fn product(a: &Rows, b: &Rows, columns: usize) -> Rows {
    let element =
        |row: &Vec<f64>, column: usize| row.iter().zip(b).fold(0.0, |sum, (x, b)| sum + x * b[column]);
    a.iter().map(|row| (0..columns).map(|column| element(row, column)).collect()).collect()
}

/// Makes matrices with a uniform last axis.
fn items(matrices: &[Rows], columns: usize) -> RaggedTensor {
    let lengths: Vec<i64> = matrices.iter().map(|rows| rows.len() as i64).collect();
    let flat = matrices.concat();
    let flat = Tensor::from_vec(&[flat.len(), columns], flat.concat()).unwrap();
    RaggedTensor::from_row_lengths(flat, lengths).unwrap()
}

#[test]
fn matrices_are_multiplied_row_by_row() {
    let g = Graph::new();
    let a = g.ragged_input("a", DType::F64, "n", shape![3]).unwrap();
    let b = g.ragged_input("b", DType::F64, "n", shape![3]).unwrap();
    let dense = g.input("dense", DType::F64, shape!["n", 3, 2]).unwrap();
    let scores = a.matmul_transposed(b, false, true).unwrap();
    let outputs = [
        scores,
        a.matmul(b.transpose([0, 2, 1]).unwrap()).unwrap(),
        scores.ragged().unwrap().matmul(b).unwrap(),
        scores.ragged().unwrap().matmul_transposed(a, true, false).unwrap(),
        a.matmul_transposed(a, true, false).unwrap(),
        a.matmul(dense).unwrap(),
    ];
    assert_eq!(outputs[0].ragged().unwrap().shape_text(), "[n, (r0), (r1)]");
    assert_eq!(outputs[4].dense().unwrap().shape().to_string(), "[n, 3, 3]");
    let exe = g.compile(outputs).unwrap();
    let mut rng = Rng::new(21);
    for case in 0..24 {
        let count = case % 5;
        let mut make = |columns| -> Vec<Rows> {
            (0..count)
                .map(|_| {
                    let rows = rng.below(4);
                    matrix(&mut rng, rows, columns)
                })
                .collect()
        };
        let (x, y) = (make(3), make(3));
        let z: Vec<Rows> = (0..count).map(|_| matrix(&mut rng, 3, 2)).collect();
        let flat = Tensor::from_vec(&[count, 3, 2], z.concat().concat()).unwrap();
        let got = exe.feed("a", &items(&x, 3)).feed("b", &items(&y, 3)).feed("dense", &flat).run().unwrap();
        let got: Vec<String> = got.items().unwrap().into_iter().map(|(_, item)| item.to_string()).collect();
        let each = |f: &dyn Fn(&Rows, &Rows, &Rows) -> Rows| -> String {
            text(&(0..count).map(|i| f(&x[i], &y[i], &z[i])).collect::<Vec<Rows>>())
        };
        let scores = |x: &Rows, y: &Rows| product(x, &transposed(y, 3), y.len());
        assert_eq!(got[0], each(&|x, y, _| scores(x, y)));
        assert_eq!(got[1], got[0]);
        assert_eq!(got[2], each(&|x, y, _| product(&scores(x, y), y, 3)));
        // A ragged matrix without rows has no columns.
        let width = |x: &Rows, y: &Rows| if x.is_empty() { 0 } else { y.len() };
        assert_eq!(got[3], each(&|x, y, _| product(&transposed(&scores(x, y), width(x, y)), x, 3)));
        assert_eq!(got[4], each(&|x, _, _| product(&transposed(x, 3), x, 3)));
        assert_eq!(got[5], each(&|x, _, z| product(x, z, 2)));
    }
}

#[test]
fn a_dense_matrix_multiplies_every_item() {
    let g = Graph::new();
    let x = g.ragged_constant(&items(&[vec![vec![1.0, 2.0]], vec![], vec![vec![3.0, 4.0]; 2]], 2)).unwrap();
    let (w, wide) = (g.constant([[1.0], [10.0]]).unwrap(), g.constant([[1.0, 10.0]]).unwrap());
    let outputs = [x.matmul(w).unwrap(), x.matmul_transposed(wide, false, true).unwrap()];
    let got = g.compile(outputs).unwrap().run_named(&[]).unwrap();
    for number in 0..2 {
        assert_eq!(got.ragged_at(number).unwrap().to_string(), "[[[21.0]], [], [[43.0], [43.0]]]");
    }
}

#[test]
fn wrong_sizes_of_matrices_fail() {
    let g = Graph::new();
    let (a, b) = (input(&g, "a", 2), input(&g, "b", 2));
    let exe = g.compile(a.matmul(b).unwrap()).unwrap();
    let multiply = |a: &[Rows], b: &[Rows]| -> Result<String> {
        Ok(run(&exe, &[("a", &deep(a)), ("b", &deep(b))])?[0].to_string())
    };
    let pair = vec![vec![1.0, 2.0]];
    let column = vec![vec![3.0], vec![4.0]];
    let (a, b) = (vec![pair.clone(), vec![]], vec![column.clone(), column.clone()]);
    assert_eq!(multiply(&a, &b).unwrap(), "[[[11.0]], []]");
    assert_eq!(multiply(&[], &[]).unwrap(), "[]");
    let error = multiply(from_ref(&pair), from_ref(&pair)).unwrap_err();
    assert!(error.message().contains("the inner sizes of a product must agree in every row"), "{error}");
    let error = multiply(&[vec![vec![1.0], vec![]]], from_ref(&pair)).unwrap_err();
    assert!(error.message().contains("the rows of a matrix must have one length"), "{error}");
    assert!(multiply(from_ref(&pair), &[column.clone(), column]).is_err());
    let x = g.ragged_constant(&ragged![[1.0, 2.0], [3.0]]).unwrap();
    let refused = |result: Result<AnyValue<'_>>, message: &str| {
        let error = result.unwrap_err();
        assert!(error.message().contains(message), "{error}");
    };
    refused(x.matmul(input(&g, "deep", 2)), "must have one rank");
    refused(input(&g, "table", 2).matmul(g.constant([[1.0]]).unwrap()), "the uniform last axis");
    let narrow = input(&g, "narrow", 2).with_row_splits_dtype(DType::I32).unwrap();
    refused(input(&g, "c", 2).matmul(narrow), "one dtype, got i64 and i32");
}
