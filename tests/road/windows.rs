//! Convolutions and pools against loops over their windows, at known and unknown sizes and in both formats.

use shapeflow::shape_fns::TensorShape;
use shapeflow::{Backend, CompileOptions, DType, DataFormat, Graph, Padding, Result, Tensor, Value};

/// The windows of a test: sizes, strides and dilations of rows and columns.
#[derive(Clone, Debug)]
struct Windows {
    // Entry 0 is for the rows, and entry 1 for the columns.
    sizes: [usize; 2],
    strides: [usize; 2],
    dilations: [usize; 2],
    padding: Padding,
}

impl Windows {
    /// Returns the number of windows along spatial axis `axis` (0 for rows, 1 for columns) of size `extent`, and the
    /// padding before the axis.
    fn along(&self, axis: usize, extent: usize) -> (usize, usize) {
        let (stride, span) = (self.strides[axis], (self.sizes[axis] - 1) * self.dilations[axis] + 1);
        match &self.padding {
            Padding::Same => {
                let count = extent.div_ceil(stride);
                (count, ((count.saturating_sub(1)) * stride + span).saturating_sub(extent) / 2)
            }
            padding => {
                let pair = if let Padding::Explicit(pairs) = padding { pairs[axis] } else { [0, 0] };
                let padded = extent + (pair[0] + pair[1]) as usize;
                ((padded - span) / stride + 1, pair[0] as usize)
            }
        }
    }
}

/// Images `[batch, rows, columns, channels]`, filled with small integers.
struct Images {
    sizes: [usize; 4],
    data: Vec<f64>,
}

impl Images {
    fn new(sizes: [usize; 4]) -> Images {
        let count: usize = sizes.iter().product();
        Images { sizes, data: (0..count).map(|i| ((i * 7 + 3) % 13) as f64 - 6.0).collect() }
    }

    fn tensor(&self) -> Tensor {
        Tensor::from_vec(&self.sizes, self.data.clone()).unwrap()
    }

    /// Returns an element; `None` outside the image.
    fn at(&self, image: usize, row: i64, column: i64, channel: usize) -> Option<f64> {
        let [_, rows, columns, channels] = self.sizes;
        let row = usize::try_from(row).ok().filter(|row| *row < rows)?;
        let column = usize::try_from(column).ok().filter(|column| *column < columns)?;
        Some(self.data[((image * rows + row) * columns + column) * channels + channel])
    }
}

/// Calls `f(image, channel, elements)` for each window and channel, in the order of the result's elements.
/// `elements(channel)` returns the window's elements of a channel, each with its position in the window; an element
/// outside the image is `None`. Returns the number of images, and the numbers of windows along rows and columns.
fn each_window(
    x: &Images,
    windows: &Windows,
    channels: usize,
    mut f: impl FnMut(usize, usize, &dyn Fn(usize) -> Vec<(usize, Option<f64>)>),
) -> [usize; 3] {
    let (rows, top) = windows.along(0, x.sizes[1]);
    let (columns, left) = windows.along(1, x.sizes[2]);
    for image in 0..x.sizes[0] {
        for row in 0..rows {
            for column in 0..columns {
                let elements = |channel: usize| {
                    let mut elements = Vec::new();
                    for i in 0..windows.sizes[0] {
                        for j in 0..windows.sizes[1] {
                            let y = (row * windows.strides[0] + i * windows.dilations[0]) as i64 - top as i64;
                            let x_at =
                                (column * windows.strides[1] + j * windows.dilations[1]) as i64 - left as i64;
                            elements.push((i * windows.sizes[1] + j, x.at(image, y, x_at, channel)));
                        }
                    }
                    elements
                };
                for channel in 0..channels {
                    f(image, channel, &elements);
                }
            }
        }
    }
    [x.sizes[0], rows, columns]
}

/// Runs `build` on inputs of these tensors, with known sizes, unknown sizes, or an unknown rank of the first input.
fn check(
    what: &str,
    operands: &[Tensor],
    expected: (&[usize], &[f64]),
    build: impl for<'g> Fn(&[Value<'g>]) -> Result<Value<'g>>,
) {
    for declared in 0..3 {
        for backend in [Backend::Jit, Backend::Interpreter] {
            let graph = Graph::new();
            let input = |(number, operand): (usize, &Tensor)| {
                let known: Vec<String> = operand.sizes().iter().map(usize::to_string).collect();
                let shape: TensorShape = match (declared, number) {
                    (0, _) => format!("[{}]", known.join(", ")).parse().unwrap(),
                    (1, _) => format!("[{}]", vec!["?"; known.len()].join(", ")).parse().unwrap(),
                    (_, 0) => TensorShape::unranked(),
                    _ => format!("[{}]", known.join(", ")).parse().unwrap(),
                };
                graph.input(&format!("x{number}"), operand.dtype(), shape).unwrap()
            };
            let values: Vec<Value<'_>> = operands.iter().enumerate().map(input).collect();
            let result = build(&values).unwrap_or_else(|error| panic!("{what}: {error}"));
            let exe = graph.compile_with(&CompileOptions::new().backend(backend), [result]).unwrap();
            let views: Vec<_> = operands.iter().map(Tensor::view).collect();
            let got = exe
                .run_all(&views)
                .unwrap_or_else(|error| panic!("{what}, {declared}: {error}"))
                .swap_remove(0);
            assert_eq!(got.sizes(), expected.0, "{what}, {declared}");
            for (got, expected) in got.to_vec::<f64>().unwrap().iter().zip(expected.1) {
                assert!((got - expected).abs() < 1e-12, "{what}, {declared}: {got} and not {expected}");
            }
        }
    }
}

fn all_windows() -> Vec<Windows> {
    let mut all = Vec::new();
    for padding in [Padding::Valid, Padding::Same, Padding::Explicit([[1, 2], [0, 1]])] {
        for (sizes, strides) in [([2, 3], [1, 1]), ([3, 1], [2, 3]), ([1, 1], [1, 1])] {
            all.push(Windows { sizes, strides, dilations: [1, 1], padding: padding.clone() });
        }
    }
    all
}

/// Moves the channels of a tensor to axis 1.
fn channels_first(x: Value<'_>) -> Value<'_> {
    x.transpose([0, 3, 1, 2]).unwrap()
}

fn pair(list: [usize; 2]) -> [i64; 2] {
    list.map(|entry| entry as i64)
}

#[test]
fn pools_give_the_maximum_and_the_mean_of_every_window() {
    for sizes in [[2, 5, 4, 3], [1, 4, 6, 1], [0, 3, 3, 2]] {
        let x = Images::new(sizes);
        for windows in all_windows() {
            let (mut largest, mut means) = (Vec::new(), Vec::new());
            let leading = each_window(&x, &windows, sizes[3], |_, channel, elements| {
                let inside: Vec<f64> = elements(channel).iter().filter_map(|(_, x)| *x).collect();
                largest.push(inside.iter().copied().fold(f64::NEG_INFINITY, f64::max));
                means.push(inside.iter().sum::<f64>() / inside.len() as f64);
            });
            // A window that covers only padding has no mean.
            if means.iter().any(|mean| mean.is_nan()) {
                continue;
            }
            let shape = [leading[0], leading[1], leading[2], sizes[3]];
            let what = format!("{sizes:?} {windows:?}");
            let (size, stride, padding) = (pair(windows.sizes), pair(windows.strides), &windows.padding);
            let last = DataFormat::ChannelsLast;
            check(&what, &[x.tensor()], (&shape, &largest), |v| {
                v[0].max_pool(size, stride, padding.clone(), last)
            });
            check(&what, &[x.tensor()], (&shape, &means), |v| {
                v[0].avg_pool(size, stride, padding.clone(), last)
            });
            check(&what, &[x.tensor()], (&shape, &means), |v| {
                let y = channels_first(v[0]).avg_pool(
                    size,
                    stride,
                    padding.clone(),
                    DataFormat::ChannelsFirst,
                )?;
                y.transpose([0, 2, 3, 1])
            });
        }
    }
}

#[test]
fn convolutions_sum_the_products_of_windows_and_filters() {
    let mut all = all_windows();
    all.push(Windows { sizes: [2, 2], strides: [1, 2], dilations: [2, 1], padding: Padding::Same });
    for sizes in [[2, 5, 4, 2], [1, 4, 3, 1], [0, 3, 3, 2]] {
        let x = Images::new(sizes);
        for windows in &all {
            for groups in [1, 2] {
                let (inputs, filters) = (sizes[3] / groups.min(sizes[3]), 3);
                let groups = sizes[3] / inputs;
                let [rows, columns] = windows.sizes;
                let filter = Images::new([rows, columns, inputs, filters * groups]);
                let mut sums = Vec::new();
                let leading = each_window(&x, windows, filters * groups, |_, output, elements| {
                    let first = output / filters * inputs;
                    let products = (0..inputs).flat_map(|input| {
                        elements(first + input).into_iter().map(move |(at, x)| (at, input, x.unwrap_or(0.0)))
                    });
                    let weight = |at: usize, input: usize| {
                        filter.data[(at * inputs + input) * filters * groups + output]
                    };
                    sums.push(products.map(|(at, input, x)| x * weight(at, input)).sum::<f64>());
                });
                let shape = [leading[0], leading[1], leading[2], filters * groups];
                let what = format!("{sizes:?} {windows:?} {groups} groups");
                let operands = [x.tensor(), filter.tensor()];
                let (strides, dilations) = (pair(windows.strides), pair(windows.dilations));
                let padding = &windows.padding;
                check(&what, &operands, (&shape, &sums), |v| {
                    v[0].conv_2d(v[1], strides, dilations, padding.clone(), DataFormat::ChannelsLast)
                });
                check(&what, &operands, (&shape, &sums), |v| {
                    let format = DataFormat::ChannelsFirst;
                    let y =
                        channels_first(v[0]).conv_2d(v[1], strides, dilations, padding.clone(), format)?;
                    y.transpose([0, 2, 3, 1])
                });
            }
        }
    }
}

/// A depthwise convolution is a convolution of each channel alone.
#[test]
fn a_depthwise_convolution_convolves_each_channel_separately() -> Result<()> {
    let graph = Graph::new();
    let x = graph.input("x", DType::F64, "[n, h, 4, 3]".parse::<TensorShape>().unwrap())?;
    let filter = graph.input("filter", DType::F64, [2, 3, 3, 2])?;
    let format = DataFormat::ChannelsLast;
    let whole = x.depthwise_conv_2d(filter, [1, 1], [1, 1], Padding::Same, format)?;
    let mut parts = Vec::new();
    for channel in 0..3 {
        let image = x.slice([0, 0, 0, channel], [-1, -1, -1, 1])?;
        let weights = filter.slice([0, 0, channel, 0], [-1, -1, 1, -1])?;
        parts.push(image.conv_2d(weights, [1, 1], [1, 1], Padding::Same, format)?);
    }
    let exe = graph.compile([whole, shapeflow::concat(&parts, 3)?])?;
    let (x, filter) = (Images::new([2, 5, 4, 3]).tensor(), Images::new([2, 3, 3, 2]).tensor());
    let [whole, parts] = exe.run(&[x.view(), filter.view()])?;
    assert_eq!(whole, parts);
    Ok(())
}

#[test]
fn wrong_windows_are_refused_with_the_reason() {
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, [1, 2, 3, 4]).unwrap();
    let filter = graph.input("filter", DType::F32, [3, 3, 3, 8]).unwrap();
    let (valid, format) = (Padding::Valid, DataFormat::ChannelsLast);
    let flat = x.reshape([2, 12]).unwrap();
    for (result, reason) in [
        (x.max_pool([3, 1], [1, 1], valid.clone(), format), "a window must fit into the input"),
        (x.max_pool([0, 1], [1, 1], valid.clone(), format), "ksize must be at least 1, got 0"),
        (flat.max_pool([1, 1], [1, 1], valid.clone(), format), "must have rank 4, got rank 2"),
        (x.conv_2d(filter, [1, 1], [1, 1], Padding::Same, format), "must be a multiple of the filter's"),
        (x.conv_2d(filter, [1, 0], [1, 1], valid, format), "strides must be at least 1, got 0"),
    ] {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
    }
}
