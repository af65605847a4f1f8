//! [`Numbers`]: the numbers of a tensor as complex numbers of f64, and the test of ops whose loops read them.

use num_complex::Complex64;
use shapeflow::{DType, Graph, Registry, Result, Tensor, Value};

use super::Element::{self, Complex, Int, Real};
use super::array::sizes_of;
use super::row::Elements;
use super::{Build, difference_within, report, run_both};
use crate::rng::Rng;
use crate::tensor_compare::tensor_of;

/// Numbers in row-major order.
pub struct Numbers {
    pub sizes: Vec<usize>,
    data: Vec<Complex64>,
}

impl Numbers {
    fn of(tensor: &Tensor) -> Numbers {
        let elements = Elements::of(tensor);
        let data = (0..elements.len()).map(|position| elements.number(position, tensor.dtype())).collect();
        Numbers { sizes: tensor.sizes().to_vec(), data }
    }

    /// Makes complex numbers from a function of the index.
    pub fn build(sizes: &[usize], element: impl Fn(&[usize]) -> Complex64) -> Numbers {
        let mut index = vec![0; sizes.len()];
        let data = (0..sizes.iter().product()).map(|number: usize| {
            let mut rest = number;
            for axis in (0..sizes.len()).rev() {
                index[axis] = rest % sizes[axis];
                rest /= sizes[axis];
            }
            element(&index)
        });
        let data = data.collect();
        Numbers { sizes: sizes.to_vec(), data }
    }

    /// Makes real numbers from a function of the index.
    pub fn reals(sizes: &[usize], element: impl Fn(&[usize]) -> f64) -> Numbers {
        Numbers::build(sizes, |index| element(index).into())
    }

    /// Returns the number at an index.
    pub fn at(&self, index: &[usize]) -> Complex64 {
        assert_eq!(index.len(), self.sizes.len());
        self.data[index.iter().zip(&self.sizes).fold(0, |number, (position, size)| number * size + position)]
    }

    /// Returns the real part of the number at an index.
    pub fn real(&self, index: &[usize]) -> f64 {
        self.at(index).re
    }

    /// Returns the real parts of all numbers.
    pub fn all(&self) -> Vec<f64> {
        self.data.iter().map(|x| x.re).collect()
    }

    /// Returns the elements of a result of a dtype.
    fn elements(&self, dtype: DType) -> Vec<Element> {
        let element = |x: &Complex64| match (dtype.is_complex(), dtype.is_float() || dtype.is_float8()) {
            (true, _) => Complex(*x),
            (_, true) => Real(x.re),
            _ => Int(x.re as i128),
        };
        self.data.iter().map(element).collect()
    }
}

/// An op: the shapes of its operands, after a dtype if it is fixed, the call, and the naive loop.
pub struct Row {
    pub op: &'static str,
    operands: &'static [&'static str],
    build: for<'g> fn(&'g Graph, &[Value<'g>]) -> Result<Value<'g>>,
    naive: fn(&[Numbers]) -> Numbers,
    /// Maps a number from -3.5 to 3.5 to an element of an operand, given the number of the operand.
    domain: fn(usize, f64) -> f64,
    /// The factor by which the result may differ more than one rounding.
    slack: f64,
}

pub const fn row(
    op: &'static str,
    operands: &'static [&'static str],
    build: for<'g> fn(&'g Graph, &[Value<'g>]) -> Result<Value<'g>>,
    naive: fn(&[Numbers]) -> Numbers,
) -> Row {
    Row { op, operands, build, naive, domain: |_, x| x, slack: 1.0 }
}

impl Row {
    pub const fn domain(mut self, domain: fn(usize, f64) -> f64) -> Row {
        self.domain = domain;
        self
    }

    pub const fn slack(mut self, slack: f64) -> Row {
        self.slack = slack;
        self
    }

    /// Returns an operand of random numbers.
    fn operand(&self, rng: &mut Rng, number: usize, dtype: DType, sizes: &[usize]) -> Tensor {
        let parts = if dtype.is_complex() { 2 } else { 1 };
        let is_real = dtype.is_float() || dtype.is_complex() || dtype.is_float8();
        let mut draw = || match is_real {
            true => (self.domain)(number, rng.range_inclusive(-56, 56) as f64 / 16.0),
            false => rng.below(3) as f64,
        };
        let elements: Vec<f64> = (0..parts * sizes.iter().product::<usize>()).map(|_| draw()).collect();
        tensor_of(dtype, sizes, &elements)
    }
}

/// Returns the dtype and the shape of an operand of `[n]`, `i32[n]` or `wide[n]`. The last one has the dtype in which
/// floats of `dtype` are computed.
fn typed(operand: &'static str, dtype: DType) -> (DType, String) {
    let (name, shape) = operand.split_at(operand.find('[').unwrap());
    let dtype = match (name, dtype) {
        ("", _) => dtype,
        ("wide", DType::F16 | DType::BF16) => DType::F32,
        ("wide", _) => dtype,
        _ => name.parse().unwrap(),
    };
    (dtype, shape.to_string())
}

/// Runs each row for every dtype of its op, for sizes 0, 1 and 7.
pub fn check_rows(rows: &[Row], seed: u64) {
    let (mut rng, mut faults) = (Rng::new(seed), Vec::new());
    let registry = Registry::builtin();
    for row in rows {
        let def = registry.get(row.op).unwrap_or_else(|| panic!("no op is named {}", row.op));
        let has_numbers = |dtype: &DType| !matches!(dtype, DType::String | DType::Variant);
        for dtype in def.dtypes().into_iter().filter(has_numbers) {
            let inputs: Vec<_> = row.operands.iter().map(|operand| typed(operand, dtype)).collect();
            let feeds: Vec<Vec<Tensor>> = [0, 1, 7]
                .map(|n| {
                    let mut feed = Vec::new();
                    for (number, (dtype, shape)) in inputs.iter().enumerate() {
                        feed.push(row.operand(&mut rng, number, *dtype, &sizes_of(shape, n)));
                    }
                    feed
                })
                .into();
            let check = |operands: &[Tensor], result: &Tensor| {
                let operands: Vec<Numbers> = operands.iter().map(Numbers::of).collect();
                let expected = (row.naive)(&operands);
                let elements = expected.elements(result.dtype());
                difference_within(result, &expected.sizes, &elements, row.slack)
            };
            let name = format!("{} of {dtype}", row.op);
            run_both(&name, &inputs, Build::Function(row.build), &feeds, &check, &mut faults);
        }
    }
    report(&faults);
}
