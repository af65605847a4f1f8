//! `einsum` against loops over all labels, at known, unknown and empty sizes, and at unknown rank.

use std::collections::BTreeMap;

use shapeflow::shape_fns::TensorShape;
use shapeflow::{Backend, CompileOptions, DType, Dim, Graph, Result, Tensor, Value, einsum};

use crate::rng::Rng;

/// Equations with one character per axis; `*` in a term stands for two axes under an ellipsis.
const EQUATIONS: &[&str] = &[
    "ij,jk->ik",
    "ij,kj->ki",
    "ji,jk->ik",
    "bij,bjk->bik",
    "bhqd,bhkd->bhqk",
    "bqhd,bkhd->bhqk",
    "bhqk,bkhd->bqhd",
    "bni,ihd->bhnd",
    "bhnd,hdo->bno",
    "i,i->",
    "i,j->ij",
    "i,j->ji",
    "ij,j->i",
    "ij,i->j",
    "bi,bi->b",
    "ij,ij->ij",
    "abc,cd,def->abf",
    "ab,bc,cd,de->ae",
    "i,i,i->i",
    "ii,ij->j",
    "ij,jj->i",
    "ab,cd->",
    "abk,bc->ca",
    "ii->i",
    "ii->",
    "ij->ji",
    "ij->iji",
    "a,b->aab",
    "*ij,*jk->*ik",
    "*ij,jk->*ik",
    "ij,*jk->*ik",
    "i*j,jk->k*i",
    "*i,ij->*j",
    "*bij,bjk->b*ik",
    "*,*->*",
    "*i->i*",
];

/// The equation in `einsum`'s syntax.
fn written(equation: &str) -> String {
    equation.replace('*', "...")
}

/// The axes of a term: `*` becomes the labels `1` and `2`.
fn axes(term: &str) -> Vec<char> {
    term.replace('*', "12").chars().collect()
}

/// Computes an equation by a loop over the sizes of all labels.
fn naive(equation: &str, sizes: &BTreeMap<char, usize>, operands: &[Tensor]) -> (Vec<usize>, Vec<f64>) {
    let (inputs, output) = equation.split_once("->").unwrap();
    let terms: Vec<Vec<char>> = inputs.split(',').map(axes).collect();
    let output = axes(output);
    let shape: Vec<usize> = output.iter().map(|label| sizes[label]).collect();
    let mut result = vec![0.0; shape.iter().product()];
    let data: Vec<Vec<f64>> = operands.iter().map(|operand| operand.to_vec().unwrap()).collect();
    let labels: Vec<char> = sizes.keys().copied().collect();
    let total: usize = labels.iter().map(|label| sizes[label]).product();
    for number in 0..total {
        let mut rest = number;
        let mut at = BTreeMap::new();
        for label in &labels {
            at.insert(*label, rest % sizes[label]);
            rest /= sizes[label];
        }
        let position =
            |term: &[char]| term.iter().fold(0, |position, label| position * sizes[label] + at[label]);
        let product: f64 = terms.iter().zip(&data).map(|(term, data)| data[position(term)]).product();
        result[position(&output)] += product;
    }
    (shape, result)
}

/// Draws sizes for the labels of an equation. `least` is the smallest size.
fn draw_sizes(rng: &mut Rng, equation: &str, least: usize) -> BTreeMap<char, usize> {
    let (inputs, _) = equation.split_once("->").unwrap();
    inputs.split(',').flat_map(axes).map(|label| (label, least + rng.below(4))).collect()
}

fn operands(rng: &mut Rng, equation: &str, sizes: &BTreeMap<char, usize>) -> Vec<Tensor> {
    let (inputs, _) = equation.split_once("->").unwrap();
    let operand = |term: &str| {
        let shape: Vec<usize> = axes(term).iter().map(|label| sizes[label]).collect();
        let count = shape.iter().product();
        Tensor::from_vec(&shape, (0..count).map(|_| rng.below(9) as f64 - 4.0).collect()).unwrap()
    };
    inputs.split(',').map(operand).collect()
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Declared {
    Known,
    UnknownDims,
    UnknownRank,
}

fn run(equation: &str, declared: Declared, operands: &[Tensor], backend: Backend) -> Result<Tensor> {
    let graph = Graph::new();
    let input = |(number, operand): (usize, &Tensor)| {
        let shape = match declared {
            Declared::Known => TensorShape::new(operand.sizes().iter().map(|size| Dim::from(*size as i64))),
            Declared::UnknownDims => {
                format!("[{}]", vec!["?"; operand.sizes().len()].join(", ")).parse().unwrap()
            }
            Declared::UnknownRank => TensorShape::unranked(),
        };
        graph.input(&format!("x{number}"), operand.dtype(), shape)
    };
    let values: Vec<Value<'_>> = operands.iter().enumerate().map(input).collect::<Result<_>>()?;
    let result = einsum(&written(equation), &values)?;
    let exe = graph.compile_with(&CompileOptions::new().backend(backend), [result])?;
    let views: Vec<_> = operands.iter().map(Tensor::view).collect();
    Ok(exe.run_all(&views)?.swap_remove(0))
}

#[test]
fn equations_give_the_results_of_loops() {
    let mut rng = Rng::new(7);
    for equation in EQUATIONS {
        for least in [2, 0] {
            let sizes = draw_sizes(&mut rng, equation, least);
            let operands = operands(&mut rng, equation, &sizes);
            let (shape, expected) = naive(equation, &sizes, &operands);
            for declared in [Declared::Known, Declared::UnknownDims, Declared::UnknownRank] {
                for backend in [Backend::Jit, Backend::Interpreter] {
                    let got = run(equation, declared, &operands, backend);
                    let got =
                        got.unwrap_or_else(|error| panic!("{equation} {sizes:?} {declared:?}: {error}"));
                    assert_eq!(got.sizes(), shape, "{equation} {sizes:?} {declared:?}");
                    assert_eq!(got.to_vec::<f64>().unwrap(), expected, "{equation} {sizes:?} {declared:?}");
                }
            }
        }
    }
}

/// Sums of 16-bit floats and integers, whose products are exact here.
#[test]
fn equations_hold_for_every_dtype() {
    let dtypes = [
        DType::I8,
        DType::U8,
        DType::I16,
        DType::U16,
        DType::I32,
        DType::U32,
        DType::I64,
        DType::U64,
        DType::F16,
        DType::BF16,
        DType::F32,
    ];
    for dtype in dtypes {
        for equation in ["ij,jk->ik", "ii->i", "i,i->", "i,j->ij", "ab,bc,cd->ad"] {
            let graph = Graph::new();
            let (inputs, _) = equation.split_once("->").unwrap();
            let sizes: BTreeMap<char, usize> =
                axes(&inputs.replace(',', "")).into_iter().map(|x| (x, 2)).collect();
            let operands: Vec<Tensor> = inputs
                .split(',')
                .map(|term| {
                    let count = 1 << term.len();
                    Tensor::from_vec(&vec![2; term.len()], (0..count).map(f64::from).collect()).unwrap()
                })
                .collect();
            let values: Vec<Value<'_>> =
                operands.iter().map(|x| graph.constant(x.clone()).unwrap().cast(dtype).unwrap()).collect();
            let result = einsum(equation, &values).unwrap().cast(DType::F64).unwrap();
            let [got] = graph.compile(result).unwrap().run(&[]).unwrap();
            assert_eq!(
                got.to_vec::<f64>().unwrap(),
                naive(equation, &sizes, &operands).1,
                "{equation} {dtype}"
            );
        }
    }
}

#[test]
fn axes_under_an_ellipsis_broadcast() {
    let x = Tensor::from_vec(&[3, 1, 2, 2], (0..12).map(f64::from).collect()).unwrap();
    let y = Tensor::from_vec(&[4, 2, 5], (0..40).map(f64::from).collect()).unwrap();
    let z = Tensor::from_vec(&[5], (0..5).map(f64::from).collect()).unwrap();
    for declared in [Declared::Known, Declared::UnknownDims, Declared::UnknownRank] {
        let got = run("*ij,*jk,*k->*ik", declared, &[x.clone(), y.clone(), z.clone()], Backend::Jit);
        let got = got.unwrap();
        assert_eq!(got.sizes(), [3, 4, 2, 5]);
        let (x, y) = (x.to_vec::<f64>().unwrap(), y.to_vec::<f64>().unwrap());
        for (position, got) in got.to_vec::<f64>().unwrap().into_iter().enumerate() {
            let (a, b, i, k) = (position / 40, position / 10 % 4, position / 5 % 2, position % 5);
            let sum: f64 = (0..2).map(|j| x[a * 4 + i * 2 + j] * y[b * 10 + j * 5 + k]).sum();
            assert_eq!(got, sum * k as f64, "{position} {declared:?}");
        }
    }
}

#[test]
fn wrong_equations_are_refused_with_the_reason() {
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, [2, 3]).unwrap();
    let flags = graph.input("flags", DType::Bool, [2, 3]).unwrap();
    for (equation, operands, reason) in [
        ("ij,jk->ik", vec![x], "one term per operand, got 2 for 1"),
        ("ijk,jk->ik", vec![x, x], "operand 0 must have 3 axes, one per label, got [2, 3]"),
        ("ij,jk->ik", vec![x, x], "3 and 2"),
        ("ii->i", vec![x], "must have the same size, got 2 and 3"),
        ("ij,kj->il", vec![x, x], "must occur in an operand, got l"),
        ("ij->->j", vec![x], "exactly one ->"),
        ("....ij->ij", vec![x], "at most one ellipsis"),
        ("...j,kj->k", vec![x, x], "the output must have an ellipsis"),
        ("ij,ij->ij", vec![flags, flags], "must be an integer, a float or a complex number, got bool"),
        ("->", vec![], "at least one operand, got none"),
    ] {
        let message = match einsum(equation, &operands) {
            Ok(value) => panic!("{equation}: {}", value.shape()),
            Err(error) => error.to_string(),
        };
        assert!(message.contains(reason), "{equation}: {message}");
    }
}

/// A matrix product would broadcast an axis of size 1, and a product of two summed axes would hide their order.
#[test]
fn axes_of_one_label_do_not_broadcast() {
    for (equation, a, b) in [
        ("bij,bjk->bik", vec![1, 2, 3], vec![5, 3, 4]),
        ("b...ij,b...jk->b...ik", vec![5, 2, 2, 3], vec![1, 2, 3, 4]),
        ("ij,jk->ik", vec![2, 1], vec![3, 4]),
        ("aij,ijb->ab", vec![1, 2, 3], vec![3, 2, 1]),
        ("ij,bjk,bkl->bil", vec![2, 3], vec![1, 3, 3]),
    ] {
        let g = Graph::new();
        let tensors: Vec<Tensor> = [&a, &b, &vec![4, 3, 2]]
            .into_iter()
            .take(equation.split(',').count())
            .map(|sizes| Tensor::zeros(DType::F32, sizes).unwrap())
            .collect();
        let known: Vec<Value<'_>> = tensors.iter().map(|tensor| g.constant(tensor).unwrap()).collect();
        let error = einsum(equation, &known).unwrap_err().to_string();
        assert!(error.contains("must have the same size"), "{equation}: {error}");
        for declared in [Declared::UnknownDims, Declared::UnknownRank] {
            for backend in [Backend::default(), Backend::Interpreter] {
                let error = run(equation, declared, &tensors, backend).unwrap_err();
                assert_eq!(error.phase(), shapeflow::Phase::Run, "{equation}: {error}");
            }
        }
    }
}

/// A sum of f16 beyond its range is an intermediate result here, and the result is in the range.
#[test]
fn chains_of_f16_are_rounded_once() {
    let half = |sizes: &[usize], x: f64| {
        crate::tensor_compare::tensor_of(DType::F16, sizes, &vec![x; sizes.iter().product()])
    };
    let operands = [half(&[300, 300], 1.0), half(&[2], 1e-3)];
    let expected = half(&[2], 90000.0 * half::f16::from_f64(1e-3).to_f64());
    for backend in [Backend::default(), Backend::Interpreter] {
        assert_eq!(run("ij,k->k", Declared::Known, &operands, backend).unwrap(), expected);
    }
}

#[test]
fn the_output_may_be_implied() {
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, [2, 3]).unwrap();
    let y = graph.input("y", DType::F32, [3, 4]).unwrap();
    let shape =
        |equation: &str, operands: &[Value<'_>]| einsum(equation, operands).unwrap().shape().to_string();
    assert_eq!(shape("ij,jk", &[x, y]), "[2, 4]");
    assert_eq!(shape("ba", &[x]), "[3, 2]");
    assert_eq!(shape("...a,ab", &[x, y]), "[2, 4]");
    assert_eq!(x.tensordot(y, [-1], [0]).unwrap().shape().to_string(), "[2, 4]");
    assert_eq!(x.tensordot(y, [0i64; 0], [0i64; 0]).unwrap().shape().to_string(), "[2, 3, 3, 4]");
    for (axes, other, reason) in
        [(&[1, 1][..], &[0, 0][..], "given once"), (&[2], &[0], "[-2, 2), got 2"), (&[], &[0], "got 0 and 1")]
    {
        let message = x.tensordot(y, axes, other).unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
    }
}
