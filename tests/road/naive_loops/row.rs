//! [`Row`]: an op and its function of elements.

use num_complex::Complex64;
use shapeflow::{DType, Tensor};

use super::Element;
use super::array::Array;
use crate::op_call::Call;
use crate::rng::Rng;
use crate::tensor_compare::{Number, numbers, tensor_of};

/// The integers that an op takes as operands other than the first.
#[derive(Clone, Copy, PartialEq)]
pub enum Ints {
    /// Small integers and the extremes of the dtype.
    Any,
    Nonzero,
    /// From 0 to 7.
    Natural,
}

/// An op and its function of the operands' elements, for integers (also bools, quantized elements and strings by their
/// lengths), for floats and for complex numbers.
pub struct Row {
    pub op: &'static str,
    /// The number of operands.
    pub operands: usize,
    int: Option<fn(&[i128], DType) -> Element>,
    real: Option<fn(&[f64]) -> Element>,
    complex: Option<fn(&[Complex64]) -> Element>,
    ints: Ints,
    /// Maps a float from -3.5 to 3.5 to an operand.
    domain: fn(f64) -> f64,
    pub call: fn(Call) -> Call,
}

pub const fn row(op: &'static str, operands: usize) -> Row {
    Row {
        op,
        operands,
        int: None,
        real: None,
        complex: None,
        ints: Ints::Any,
        domain: |x| x,
        call: |call| call,
    }
}

impl Row {
    pub const fn int(mut self, f: fn(&[i128], DType) -> Element) -> Row {
        self.int = Some(f);
        self
    }

    pub const fn real(mut self, f: fn(&[f64]) -> Element) -> Row {
        self.real = Some(f);
        self
    }

    pub const fn complex(mut self, f: fn(&[Complex64]) -> Element) -> Row {
        self.complex = Some(f);
        self
    }

    pub const fn ints(mut self, ints: Ints) -> Row {
        self.ints = ints;
        self
    }

    pub const fn domain(mut self, domain: fn(f64) -> f64) -> Row {
        self.domain = domain;
        self
    }

    pub const fn call(mut self, call: fn(Call) -> Call) -> Row {
        self.call = call;
        self
    }

    pub fn takes(&self, dtype: DType) -> bool {
        match (dtype.is_float(), dtype.is_complex()) {
            (true, _) => self.real.is_some(),
            (_, true) => self.complex.is_some(),
            _ => self.int.is_some(),
        }
    }

    /// Returns an operand of random elements.
    pub fn operand(&self, rng: &mut Rng, number: usize, dtype: DType, count: usize) -> Tensor {
        let is_first = number == 0;
        if dtype.is_float() || dtype.is_complex() {
            let parts = if dtype.is_complex() { 2 * count } else { count };
            let mut draw = || (self.domain)(rng.range_inclusive(-56, 56) as f64 / 16.0);
            let elements: Vec<f64> = (0..parts).map(|_| draw()).collect();
            return tensor_of(dtype, &[count], &elements);
        }
        let mut draw = || match (self.ints, is_first) {
            (Ints::Any, _) if dtype.is_integer() && rng.chance(1, 4) => *rng.choose(&[-1e20, 1e20]),
            (Ints::Natural, false) => rng.range_inclusive(0, 7) as f64,
            (Ints::Nonzero, false) => {
                rng.range_inclusive(1, 7) as f64
                    * if dtype.is_signed() && rng.chance(1, 2) { -1.0 } else { 1.0 }
            }
            _ => rng.range_inclusive(if dtype.is_signed() && dtype.is_integer() { -7 } else { 0 }, 7) as f64,
        };
        let elements: Vec<f64> = (0..count).map(|_| draw()).collect();
        Array { sizes: vec![count], data: elements }.tensor(dtype)
    }

    /// Returns the naive result of each element, for operands of a dtype.
    pub fn expected(&self, operands: &[Tensor], dtype: DType) -> Vec<Element> {
        let operands: Vec<Elements> = operands.iter().map(Elements::of).collect();
        let of_element = |i: usize| {
            let picked: Vec<_> = operands.iter().map(|elements| (elements, i)).collect();
            self.apply(&picked, dtype)
        };
        (0..operands[0].len()).map(of_element).collect()
    }

    /// Applies the function to one element of each operand. `picked[k]` holds the elements of operand `k` and the
    /// position of the element in them. `dtype` is the dtype of the operands.
    pub fn apply(&self, picked: &[(&Elements, usize)], dtype: DType) -> Element {
        match (dtype.is_float(), dtype.is_complex()) {
            (true, _) => {
                let reals: Vec<f64> = picked.iter().map(|(elements, i)| elements.real(*i)).collect();
                self.real.unwrap()(&reals)
            }
            (_, true) => {
                let numbers: Vec<Complex64> =
                    picked.iter().map(|(elements, i)| elements.number(*i, dtype)).collect();
                self.complex.unwrap()(&numbers)
            }
            _ => {
                let ints: Vec<i128> = picked.iter().map(|(elements, i)| elements.int(*i)).collect();
                self.int.unwrap()(&ints, dtype)
            }
        }
    }
}

/// The elements of a tensor: numbers, the parts of a complex number one after the other, or the lengths of strings.
pub struct Elements {
    numbers: Vec<Number>,
    /// The number of elements. A complex element has two numbers.
    count: usize,
}

impl Elements {
    pub fn of(tensor: &Tensor) -> Elements {
        if tensor.dtype() != DType::String {
            return Elements { numbers: numbers(tensor), count: tensor.len() };
        }
        let texts = tensor.as_strings().unwrap();
        let length = |number: usize| Number::Int(texts.at(number).len() as i128);
        Elements { numbers: (0..texts.len()).map(length).collect(), count: tensor.len() }
    }

    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns an element of a dtype as a complex number.
    pub fn number(&self, position: usize, dtype: DType) -> Complex64 {
        match dtype.is_complex() {
            true => Complex64::new(self.real(2 * position), self.real(2 * position + 1)),
            false => self.real(position).into(),
        }
    }

    fn real(&self, position: usize) -> f64 {
        match self.numbers[position] {
            Number::Float(x) => x,
            Number::Int(x) => x as f64,
        }
    }

    fn int(&self, position: usize) -> i128 {
        match self.numbers[position] {
            Number::Int(x) => x,
            Number::Float(x) => panic!("{x} must be an integer"),
        }
    }
}
