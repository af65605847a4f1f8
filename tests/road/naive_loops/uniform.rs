//! Uniform quantization against loops over exact numbers: an integer `q` stands for `(q - zero) * scale`. The scales
//! are powers of 2, so a loop has no rounding but the last.

use shapeflow::{Attr, DType, Graph, Tensor, UniformQuantization, Value};

use crate::op_call::Call;
use crate::rng::Rng;

/// Scales and zero points of a tensor, or of each slice along an axis.
struct Scales {
    axis: Option<usize>,
    scales: Vec<f32>,
    zeros: Vec<i32>,
}

impl Scales {
    fn random(rng: &mut Rng, slices: Option<(usize, usize)>) -> Scales {
        let count = slices.map_or(1, |(_, count)| count);
        Scales {
            axis: slices.map(|(axis, _)| axis),
            scales: (0..count).map(|_| f32::powi(2.0, rng.range_inclusive(-3, 3) as i32)).collect(),
            zeros: (0..count).map(|_| rng.range_inclusive(-9, 9) as i32).collect(),
        }
    }

    fn of<'g>(&self, g: &'g Graph, dtype: DType) -> UniformQuantization<'g> {
        // The zero points need not be integers of the dtype.
        let [count, zeros] = [self.scales.len(), self.zeros.len()];
        let (scales, zero_points) = match self.axis {
            None => (g.constant(self.scales[0]), g.constant(self.zeros[0])),
            Some(_) => (
                g.constant(Tensor::from_slice(&[count], &self.scales).unwrap()),
                g.constant(Tensor::from_slice(&[zeros], &self.zeros).unwrap()),
            ),
        };
        let (scales, zero_points) = (scales.unwrap(), zero_points.unwrap());
        UniformQuantization { dtype, scales, zero_points, axis: self.axis, bounds: None }
    }

    fn at(&self, slice: usize) -> (f64, i64) {
        let slice = if self.axis.is_some() { slice } else { 0 };
        (f64::from(self.scales[slice]), i64::from(self.zeros[slice]))
    }

    /// Returns the number that the integer `q` of a slice stands for.
    fn number(&self, q: i32, slice: usize) -> f64 {
        let (scale, zero) = self.at(slice);
        (i64::from(q) - zero) as f64 * scale
    }

    /// Returns the integer of a slice, from `low` to `high`, that stands for `x`.
    fn integer(&self, x: f64, slice: usize, [low, high]: [i64; 2]) -> i32 {
        let (scale, zero) = self.at(slice);
        ((x / scale + 0.5).floor() as i64 + zero).clamp(low, high) as i32
    }
}

fn integers(rng: &mut Rng, count: usize, most: i64) -> Vec<i32> {
    (0..count).map(|_| rng.range_inclusive(-most, most) as i32).collect()
}

fn quantized<'g>(g: &'g Graph, sizes: &[usize], elements: &[i32], dtype: DType) -> Value<'g> {
    g.constant(Tensor::from_slice(sizes, elements).unwrap()).unwrap().cast(dtype).unwrap()
}

/// Returns the elements of the integers `y`.
fn elements(g: &Graph, y: Value<'_>) -> Vec<i32> {
    let [y] = g.compile(y.cast(DType::I32).unwrap()).unwrap().run(&[]).unwrap();
    y.to_vec().unwrap()
}

/// No scales along an axis, or scales along the second axis, which has 3 slices.
const COLUMNS: [Option<(usize, usize)>; 2] = [None, Some((1, 3))];
const BYTES: [i64; 2] = [-128, 127];
const WORDS: [i64; 2] = [i32::MIN as i64, i32::MAX as i64];

#[test]
fn numbers_become_the_nearest_integers_of_their_slice() {
    let mut rng = Rng::new(171);
    for slices in COLUMNS {
        let (g, to) = (Graph::new(), Scales::random(&mut rng, slices));
        let x: Vec<f32> = integers(&mut rng, 12, 2000).iter().map(|x| *x as f32 / 16.0).collect();
        let operand = g.constant(Tensor::from_slice(&[4, 3], &x).unwrap()).unwrap();
        let y = operand.uniform_quantize(to.of(&g, DType::QI8)).unwrap();
        let expected: Vec<i32> =
            x.iter().enumerate().map(|(i, x)| to.integer(f64::from(*x), i % 3, BYTES)).collect();
        assert_eq!(elements(&g, y), expected);
    }
}

#[test]
fn requantized_integers_and_sums_stand_for_the_same_numbers() {
    let mut rng = Rng::new(172);
    for (from_slices, to_slices) in [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(a, b)| (COLUMNS[a], COLUMNS[b])) {
        let g = Graph::new();
        let [from, to] = [from_slices, to_slices].map(|slices| Scales::random(&mut rng, slices));
        let other = Scales::random(&mut rng, None);
        let (x, y) = (integers(&mut rng, 12, 100), integers(&mut rng, 3, 100));
        let [a, b] =
            [(&[4usize, 3][..], &x), (&[3], &y)].map(|(sizes, x)| quantized(&g, sizes, x, DType::QI32));
        let [from_x, from_y, to_bytes, to_words] = [
            from.of(&g, DType::QI32),
            other.of(&g, DType::QI32),
            to.of(&g, DType::QI8),
            to.of(&g, DType::QI32),
        ];
        let requantized = |range: [i64; 2]| -> Vec<i32> {
            x.iter().enumerate().map(|(i, q)| to.integer(from.number(*q, i % 3), i % 3, range)).collect()
        };
        assert_eq!(elements(&g, a.uniform_requantize(from_x, to_bytes).unwrap()), requantized(BYTES));
        let sum = a.uniform_quantized_add(b, from_x, from_y, to_words).unwrap();
        let expected: Vec<i32> = requantized(WORDS)
            .iter()
            .enumerate()
            .map(|(i, q)| q + to.integer(other.number(y[i % 3], 0), i % 3, WORDS) - to.at(i % 3).1 as i32)
            .collect();
        assert_eq!(elements(&g, sum), expected);
    }
}

#[test]
fn products_of_integers_stand_for_products_of_numbers() {
    let mut rng = Rng::new(173);
    for (rhs_slices, to_slices) in [(0, 0), (1, 0), (1, 1)].map(|(a, b)| (COLUMNS[a], COLUMNS[b])) {
        let g = Graph::new();
        let [lhs, rhs, to] = [None, rhs_slices, to_slices].map(|slices| Scales::random(&mut rng, slices));
        let (x, y) = (integers(&mut rng, 10, 128 - 1), integers(&mut rng, 15, 128 - 1));
        let a = quantized(&g, &[2, 5], &x, DType::QI8);
        let b = quantized(&g, &[5, 3], &y, DType::QI8);
        let [from_a, from_b, into] = [lhs.of(&g, DType::QI8), rhs.of(&g, DType::QI8), to.of(&g, DType::QI32)];
        let product = a.uniform_quantized_dot(b, from_a, from_b, into).unwrap();
        let expected: Vec<i32> = (0..6)
            .map(|i| {
                let terms =
                    (0..5).map(|k| lhs.number(x[i / 3 * 5 + k], 0) * rhs.number(y[k * 3 + i % 3], i % 3));
                to.integer(terms.sum(), i % 3, WORDS)
            })
            .collect();
        assert_eq!(elements(&g, product), expected);
    }
}

/// A convolution along one axis.
struct Case {
    stride: i64,
    lhs_dilation: i64,
    rhs_dilation: i64,
    padding: [i64; 2],
    groups: usize,
    batch_groups: usize,
}

#[test]
fn convolutions_are_sums_over_windows() {
    let mut rng = Rng::new(174);
    for _ in 0..24 {
        let mut small = |most: i64| rng.range_inclusive(1, most);
        let case = Case {
            stride: small(3),
            lhs_dilation: small(3),
            rhs_dilation: small(2),
            padding: [small(3) - 1, small(3) - 1],
            groups: small(3) as usize,
            batch_groups: small(3) as usize,
        };
        let (inputs, per_group) = (small(2) as usize, small(2) as usize);
        let (batch, filters) = (2 * case.batch_groups, case.groups * case.batch_groups * per_group);
        let [(lhs_sizes, length), (rhs_sizes, window)] =
            [([batch, case.groups * inputs], 6usize), ([filters, inputs], 2)];
        let slices = if rng.chance(1, 2) { Some((0, filters)) } else { None };
        let [lhs, rhs, to] = [None, slices, None].map(|slices| Scales::random(&mut rng, slices));
        let x = integers(&mut rng, lhs_sizes[0] * lhs_sizes[1] * length, 127);
        let w = integers(&mut rng, rhs_sizes[0] * rhs_sizes[1] * window, 127);

        let g = Graph::new();
        let a = quantized(&g, &[lhs_sizes[0], lhs_sizes[1], length], &x, DType::QI8);
        let b = quantized(&g, &[rhs_sizes[0], rhs_sizes[1], window], &w, DType::QI8);
        let list = |entries: &[i64]| Attr::Ints(entries.into());
        let call = Call::new("uniform_quantized_conv")
            .attr("padding", "EXPLICIT")
            .attr("explicit_padding", list(&case.padding))
            .attr("window_strides", list(&[case.stride]))
            .attr("lhs_dilation", list(&[case.lhs_dilation]))
            .attr("rhs_dilation", list(&[case.rhs_dilation]))
            .attr("feature_group_count", case.groups as i64)
            .attr("batch_group_count", case.batch_groups as i64)
            .attr("rhs_quantization_axis", if slices.is_some() { 0i64 } else { -1 });
        let all = [lhs.of(&g, DType::QI8), rhs.of(&g, DType::QI8), to.of(&g, DType::QI32)];
        let parameters = all.into_iter().flat_map(|each| [each.scales, each.zero_points]);
        let operands: Vec<Value<'_>> = [a, b].into_iter().chain(parameters).collect();
        let y = super::Build::Call(&call).apply(&g, &operands).unwrap();

        let spread = (length as i64 - 1) * case.lhs_dilation + 1;
        let span = (window as i64 - 1) * case.rhs_dilation + 1;
        let count = (spread + case.padding[0] + case.padding[1] - span) / case.stride + 1;
        let mut expected = Vec::new();
        for image in 0..2 {
            for filter in 0..filters {
                for position in 0..count {
                    let image = filter / (filters / case.batch_groups) * 2 + image;
                    let first = filter / (filters / case.groups) * inputs;
                    let mut sum = 0.0;
                    for (channel, tap) in (0..inputs).flat_map(|c| (0..window).map(move |tap| (c, tap))) {
                        let at = position * case.stride + tap as i64 * case.rhs_dilation - case.padding[0];
                        if at < 0 || at >= spread || at % case.lhs_dilation != 0 {
                            continue;
                        }
                        let at = (at / case.lhs_dilation) as usize;
                        let x = x[(image * lhs_sizes[1] + first + channel) * length + at];
                        let w = w[(filter * inputs + channel) * window + tap];
                        sum += lhs.number(x, 0) * rhs.number(w, filter);
                    }
                    expected.push(to.integer(sum, 0, WORDS));
                }
            }
        }
        assert_eq!(elements(&g, y), expected);
    }
}
