//! Reductions as folds over the elements of a row, a column or a matrix.

use num_complex::Complex64;
use shapeflow::{Attr, DType, Graph, Registry, Result, Tensor, TensorView, shape, slice};

use super::Element::{Complex, Int, Real};
use super::row::{Elements, Row, row};
use super::{Build, difference, report, run_both};
use crate::op_call::Call;
use crate::rng::Rng;

/// Returns the least and the greatest integer of a dtype.
fn limits(dtype: DType) -> [i128; 2] {
    let bits = 8 * dtype.size_bytes().unwrap() as u32;
    if dtype.is_signed() { [-(1 << (bits - 1)), (1 << (bits - 1)) - 1] } else { [0, (1 << bits) - 1] }
}

/// Returns the mean. The sum of integers wraps at 64 bits; their quotient rounds toward zero.
fn int_mean(x: &[i128], dtype: DType) -> i128 {
    let (sum, count) = (x.iter().sum::<i128>(), x.len().max(1) as i128);
    if dtype.is_signed() { i128::from(sum as i64) / count } else { i128::from(sum as u64) / count }
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

fn variance(x: &[f64]) -> f64 {
    mean(&x.iter().map(|element| (element - mean(x)).powi(2)).collect::<Vec<_>>())
}

fn complex_variance(x: &[Complex64]) -> f64 {
    let mean = x.iter().sum::<Complex64>() / x.len() as f64;
    x.iter().map(|element| (element - mean).norm_sqr()).sum::<f64>() / x.len() as f64
}

/// Returns the position of the first element that no other element exceeds. `exceeds(a, b)` tells whether `a` exceeds
/// `b`.
fn extreme<T: Copy>(x: &[T], exceeds: impl Fn(T, T) -> bool) -> i128 {
    (0..x.len()).fold(0, |best, position| if exceeds(x[position], x[best]) { position } else { best }) as i128
}

#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("argmax", 1).int(|x, _| Int(extreme(x, |a, b| a > b))).real(|x| Int(extreme(x, |a, b| a > b))),
    row("argmin", 1).int(|x, _| Int(extreme(x, |a, b| a < b))).real(|x| Int(extreme(x, |a, b| a < b))),
    row("reduce_all", 1).int(|x, _| Int(i128::from(x.iter().all(|flag| *flag != 0)))),
    row("reduce_any", 1).int(|x, _| Int(i128::from(x.iter().any(|flag| *flag != 0)))),
    row("reduce_logsumexp", 1).real(|x| Real(x.iter().map(|element| element.exp()).sum::<f64>().ln())),
    row("reduce_max", 1)
        .int(|x, dtype| Int(x.iter().copied().fold(limits(dtype)[0], i128::max)))
        .real(|x| Real(x.iter().copied().fold(f64::NEG_INFINITY, f64::max))),
    row("reduce_mean", 1)
        .int(|x, dtype| Int(int_mean(x, dtype)))
        .real(|x| Real(mean(x)))
        // As TensorFlow, the mean of no complex numbers is 0.
        .complex(|x| Complex(x.iter().sum::<Complex64>() / x.len().max(1) as f64)),
    row("reduce_min", 1)
        .int(|x, dtype| Int(x.iter().copied().fold(limits(dtype)[1], i128::min)))
        .real(|x| Real(x.iter().copied().fold(f64::INFINITY, f64::min))),
    row("reduce_prod", 1)
        .int(|x, _| Int(x.iter().fold(1, |product: i128, element| product.wrapping_mul(*element))))
        .real(|x| Real(x.iter().product()))
        .complex(|x| Complex(x.iter().product())),
    row("reduce_std", 1).real(|x| Real(variance(x).sqrt())).complex(|x| Real(complex_variance(x).sqrt())),
    row("reduce_sum", 1).int(|x, _| Int(x.iter().sum())).real(|x| Real(x.iter().sum())).complex(|x| Complex(x.iter().sum())),
    row("reduce_variance", 1).real(|x| Real(variance(x))).complex(|x| Real(complex_variance(x))),
];

/// The number of columns of each operand.
const COLUMNS: usize = 3;

/// Returns the positions in a matrix that each result reads when these axes are reduced.
fn groups(rows: usize, axes: &[i64]) -> Vec<Vec<usize>> {
    let row = |row: usize| (0..COLUMNS).map(move |column| row * COLUMNS + column);
    match axes {
        [0] => (0..COLUMNS).map(|column| (0..rows).map(|row| row * COLUMNS + column).collect()).collect(),
        [1] => (0..rows).map(|number| row(number).collect()).collect(),
        _ => vec![(0..rows * COLUMNS).collect()],
    }
}

#[test]
fn reductions_give_what_folds_give() {
    let (mut rng, mut faults) = (Rng::new(163), Vec::new());
    let registry = Registry::builtin();
    for row in ROWS {
        let Some(def) = registry.get(row.op) else { continue };
        let is_position = row.op.starts_with("arg");
        for (dtype, axes) in def.dtypes().into_iter().flat_map(|dtype| {
            [vec![0], vec![1], vec![0, 1]].into_iter().map(move |axes: Vec<i64>| (dtype, axes))
        }) {
            // A position is along one axis, which must have elements.
            if is_position && axes.len() > 1 {
                continue;
            }
            let name = format!("{} of {dtype} over {axes:?}", row.op);
            if !row.takes(dtype) {
                faults.push(format!("{name}: there is no fold"));
                continue;
            }
            let axis = if is_position { Attr::Int(axes[0]) } else { Attr::from(axes.clone()) };
            let call = Call::new(row.op).attr("axis", axis);
            let feeds: Vec<Vec<Tensor>> = [0, 1, 7]
                .into_iter()
                .filter(|rows| !is_position || axes == [1] || *rows > 0)
                .map(|rows| {
                    let flat = row.operand(&mut rng, 0, dtype, rows * COLUMNS);
                    vec![flat.reshape(&[rows, COLUMNS]).unwrap()]
                })
                .collect();
            let check = |operands: &[Tensor], result: &Tensor| {
                let (elements, rows) = (Elements::of(&operands[0]), operands[0].sizes()[0]);
                let fold = |group: &Vec<usize>| {
                    let picked: Vec<_> = group.iter().map(|position| (&elements, *position)).collect();
                    row.apply(&picked, dtype)
                };
                let expected: Vec<_> = groups(rows, &axes).iter().map(fold).collect();
                let sizes = [rows, COLUMNS];
                let kept: Vec<usize> =
                    (0..2).filter(|axis| !axes.contains(&(*axis as i64))).map(|axis| sizes[axis]).collect();
                difference(result, &kept, &expected)
            };
            let inputs = [(dtype, format!("[n, {COLUMNS}]"))];
            run_both(&name, &inputs, Build::Call(&call), &feeds, &check, &mut faults);
        }
    }
    report(&faults);
}

/// Rows that are longer than the tiles which a kernel reduces side by side, with elements that are not adjacent.
#[test]
fn long_rows_of_strided_elements_are_summed() -> Result<()> {
    const LENGTH: usize = 70_000;
    // Small integers: every order of additions gives the same sum.
    let element = |index: usize| (index * 7 % 5) as f64;
    for step in 1..=5 {
        let g = Graph::new();
        let x = g.input("x", DType::F32, shape![?, ?])?;
        let wide = g.input("wide", DType::F64, shape![?])?;
        let every = i64::try_from(step).unwrap();
        let sums = [
            x.slice_with(&slice![.., ..; every])?.reduce_sum(1)?,
            wide.slice_with(&slice![..; every])?.reduce_sum(0)?,
        ];
        let exe = g.compile(sums)?;
        let narrow: Vec<f32> = (0..2 * LENGTH * step).map(|index| element(index) as f32).collect();
        let wide: Vec<f64> = (0..LENGTH * step).map(element).collect();
        let [sums, sum] = exe.run(&[
            TensorView::new(&[2, LENGTH * step], &narrow)?,
            TensorView::new(&[LENGTH * step], &wide)?,
        ])?;
        let expected = |first: usize| (0..LENGTH).map(|index| element(first + index * step)).sum::<f64>();
        assert_eq!(
            sums.to_vec::<f32>()?,
            [expected(0) as f32, expected(LENGTH * step) as f32],
            "every {step}"
        );
        assert_eq!(sum.item::<f64>()?, expected(0), "every {step}");
    }
    Ok(())
}

#[test]
fn long_rows_of_complex_numbers_are_summed() -> Result<()> {
    const LENGTH: usize = 70_000;
    let g = Graph::new();
    let sum = g.input("z", DType::C64, shape!["n"])?.reduce_sum(0)?;
    let exe = g.compile([sum.real()?, sum.imag()?])?;
    let parts: Vec<f32> = (0..2 * LENGTH).map(|index| (index * 7 % 5) as f32).collect();
    let [re, im] = exe.run(&[Tensor::from_bits(DType::C64, &[LENGTH], &parts)?.view()])?;
    let expected = |first: usize| parts[first..].iter().step_by(2).sum::<f32>();
    assert_eq!([re.item::<f32>()?, im.item::<f32>()?], [expected(0), expected(1)]);
    Ok(())
}
