//! Convolutions and pools against loops over their windows, at known and unknown sizes and in both formats.

use shapeflow::shape_fns::TensorShape;
use shapeflow::{Backend, CompileOptions, DType, DataFormat, Graph, Padding, Result, Tensor, Value, shape};

use crate::rng::Rng;

/// The windows of a test. The entries are for the spatial axes: rows and columns, or depth, rows and columns.
#[derive(Clone, Debug)]
struct Windows {
    sizes: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    padding: Padding,
}

impl Windows {
    fn new(sizes: &[usize], strides: &[usize], padding: Padding) -> Windows {
        let dilations = vec![1; sizes.len()];
        Windows { sizes: sizes.to_vec(), strides: strides.to_vec(), dilations, padding }
    }

    /// Returns the number of windows along spatial axis `axis` of size `extent`, and the padding before the axis.
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

/// Images `[batch, rows, columns, channels]` or volumes `[batch, depth, rows, columns, channels]`, filled with small
/// integers.
struct Images {
    sizes: Vec<usize>,
    data: Vec<f64>,
}

impl Images {
    fn new(sizes: &[usize]) -> Images {
        let count: usize = sizes.iter().product();
        let data = (0..count).map(|i| ((i * 7 + 3) % 13) as f64 - 6.0).collect();
        Images { sizes: sizes.to_vec(), data }
    }

    fn tensor(&self) -> Tensor {
        Tensor::from_vec(&self.sizes, self.data.clone()).unwrap()
    }

    fn channels(&self) -> usize {
        *self.sizes.last().unwrap()
    }

    /// Returns an element; `None` outside the image.
    fn at(&self, image: usize, spatial: &[i64], channel: usize) -> Option<f64> {
        let mut index = image;
        for (position, size) in spatial.iter().zip(&self.sizes[1..]) {
            index = index * size + usize::try_from(*position).ok().filter(|position| position < size)?;
        }
        Some(self.data[index * self.channels() + channel])
    }
}

/// Returns all positions in a box of these sizes, in row-major order.
fn positions(sizes: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for size in sizes {
        let extended = |position: Vec<usize>| (0..*size).map(move |next| [&position[..], &[next]].concat());
        all = all.into_iter().flat_map(extended).collect();
    }
    all
}

/// Calls `f(channel, elements)` for each window and channel, in the order of the result's elements. `elements(channel)`
/// returns the window's elements of a channel, each with its position in the window; an element outside the image is
/// `None`. Returns the shape of the result.
fn each_window(
    x: &Images,
    windows: &Windows,
    channels: usize,
    mut f: impl FnMut(usize, &dyn Fn(usize) -> Vec<(usize, Option<f64>)>),
) -> Vec<usize> {
    let spatial = windows.sizes.len();
    let along: Vec<(usize, usize)> =
        (0..spatial).map(|axis| windows.along(axis, x.sizes[axis + 1])).collect();
    let counts: Vec<usize> = along.iter().map(|(count, _)| *count).collect();
    let inside = positions(&windows.sizes);
    for image in 0..x.sizes[0] {
        for window in positions(&counts) {
            let elements = |channel: usize| {
                let element = |(number, inner): (usize, &Vec<usize>)| {
                    let position = |axis: usize| {
                        let steps =
                            window[axis] * windows.strides[axis] + inner[axis] * windows.dilations[axis];
                        steps as i64 - along[axis].1 as i64
                    };
                    let position: Vec<i64> = (0..spatial).map(position).collect();
                    (number, x.at(image, &position, channel))
                };
                inside.iter().enumerate().map(element).collect()
            };
            for channel in 0..channels {
                f(channel, &elements);
            }
        }
    }
    [&[x.sizes[0]], &counts[..], &[channels]].concat()
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

/// Returns windows of images (2 spatial axes) or of volumes (3).
fn all_windows(spatial: usize) -> Vec<Windows> {
    let mut all = Vec::new();
    for padding in [Padding::Valid, Padding::Same] {
        for (sizes, strides) in [([2, 3, 2], [1, 1, 1]), ([3, 1, 2], [2, 3, 1]), ([1, 1, 1], [1, 1, 1])] {
            all.push(Windows::new(&sizes[..spatial], &strides[..spatial], padding.clone()));
        }
    }
    if spatial == 2 {
        let padding = Padding::Explicit([[1, 2], [0, 1]]);
        for (sizes, strides) in [([2, 3], [1, 1]), ([3, 1], [2, 3]), ([1, 1], [1, 1]), ([3, 2], [2, 1])] {
            all.push(Windows::new(&sizes, &strides, padding.clone()));
        }
    }
    all
}

/// Moves the channels of a tensor to axis 1.
fn channels_first(x: Value<'_>, spatial: usize) -> Value<'_> {
    x.transpose([0, spatial + 1].into_iter().chain(1..=spatial).collect::<Vec<_>>()).unwrap()
}

/// Moves the channels of a tensor from axis 1 to the last axis.
fn channels_last(x: Value<'_>, spatial: usize) -> Result<Value<'_>> {
    x.transpose([0].into_iter().chain(2..spatial + 2).chain([1]).collect::<Vec<_>>())
}

const IMAGES: [&[usize]; 3] = [&[2, 5, 4, 3], &[1, 4, 6, 1], &[0, 3, 3, 2]];

const VOLUMES: [&[usize]; 3] = [&[2, 3, 5, 4, 2], &[1, 4, 3, 5, 1], &[0, 3, 3, 3, 2]];

#[test]
fn pools_give_the_maximum_and_the_mean_of_every_window() {
    for sizes in IMAGES.into_iter().chain(VOLUMES) {
        let x = Images::new(sizes);
        let spatial = sizes.len() - 2;
        for windows in all_windows(spatial) {
            let (mut largest, mut means) = (Vec::new(), Vec::new());
            let shape = each_window(&x, &windows, x.channels(), |channel, elements| {
                let inside: Vec<f64> = elements(channel).iter().filter_map(|(_, x)| *x).collect();
                largest.push(inside.iter().copied().fold(f64::NEG_INFINITY, f64::max));
                means.push(inside.iter().sum::<f64>() / inside.len() as f64);
            });
            // A pool refuses windows that may lie in the padding.
            if let Padding::Explicit(pairs) = &windows.padding
                && pairs
                    .iter()
                    .zip(&windows.sizes)
                    .any(|(pair, size)| pair.iter().any(|padding| *padding >= *size as i64))
            {
                continue;
            }
            let what = format!("{sizes:?} {windows:?}");
            let (size, stride, padding) = (&windows.sizes, &windows.strides, &windows.padding);
            let (last, first) = (DataFormat::ChannelsLast, DataFormat::ChannelsFirst);
            check(&what, &[x.tensor()], (&shape, &largest), |v| {
                v[0].max_pool(size, stride, padding.clone(), last)
            });
            check(&what, &[x.tensor()], (&shape, &means), |v| {
                v[0].avg_pool(size, stride, padding.clone(), last)
            });
            check(&what, &[x.tensor()], (&shape, &means), |v| {
                let y = channels_first(v[0], spatial).avg_pool(size, stride, padding.clone(), first)?;
                channels_last(y, spatial)
            });
        }
    }
}

#[test]
fn convolutions_sum_the_products_of_windows_and_filters() {
    for sizes in [&[2, 5, 4, 2][..], &[1, 4, 3, 1], &[0, 3, 3, 2], &[2, 3, 5, 4, 2], &[1, 4, 3, 5, 1]] {
        let x = Images::new(sizes);
        let spatial = sizes.len() - 2;
        let mut all = all_windows(spatial);
        let mut dilated = Windows::new(&[2, 2, 2][..spatial], &[1, 2, 1][..spatial], Padding::Same);
        dilated.dilations = [2, 1, 3][..spatial].to_vec();
        all.push(dilated);
        for windows in &all {
            for groups in [1, 2] {
                convolve(&x, windows, groups);
            }
        }
    }
}

fn convolved<'g>(
    x: Value<'g>,
    filter: Value<'g>,
    windows: &Windows,
    format: DataFormat,
) -> Result<Value<'g>> {
    let (strides, dilations, padding) = (&windows.strides, &windows.dilations, windows.padding.clone());
    match windows.sizes.len() {
        2 => x.conv_2d(filter, strides, dilations, padding, format),
        _ => x.conv_3d(filter, strides, dilations, padding, format),
    }
}

/// Compares a convolution of `x` with sums over its windows. `x` has at most `groups` groups of channels.
fn convolve(x: &Images, windows: &Windows, groups: usize) {
    let spatial = windows.sizes.len();
    let (inputs, filters) = (x.channels() / groups.min(x.channels()), 3);
    let groups = x.channels() / inputs;
    let filter = Images::new(&[&windows.sizes[..], &[inputs, filters * groups]].concat());
    let mut sums = Vec::new();
    let shape = each_window(x, windows, filters * groups, |output, elements| {
        let first = output / filters * inputs;
        let products = (0..inputs).flat_map(|input| {
            elements(first + input).into_iter().map(move |(at, x)| (at, input, x.unwrap_or(0.0)))
        });
        let weight = |at: usize, input: usize| filter.data[(at * inputs + input) * filters * groups + output];
        sums.push(products.map(|(at, input, x)| x * weight(at, input)).sum::<f64>());
    });
    let what = format!("{:?} {windows:?} {groups} groups", x.sizes);
    let operands = [x.tensor(), filter.tensor()];
    check(&what, &operands, (&shape, &sums), |v| convolved(v[0], v[1], windows, DataFormat::ChannelsLast));
    check(&what, &operands, (&shape, &sums), |v| {
        let y = convolved(channels_first(v[0], spatial), v[1], windows, DataFormat::ChannelsFirst)?;
        channels_last(y, spatial)
    });
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
    let (x, filter) = (Images::new(&[2, 5, 4, 3]).tensor(), Images::new(&[2, 3, 3, 2]).tensor());
    let [whole, parts] = exe.run(&[x.view(), filter.view()])?;
    assert_eq!(whole, parts);
    Ok(())
}

#[test]
fn depthwise_convolutions_of_every_window_size_equal_loops() {
    let x = Images::new(&[2, 9, 5, 9]);
    for size in 1..=9 {
        for (filters, strides, dilations) in [(1, [1, 1], [1, 1]), (2, [2, 1], [1, 1]), (3, [1, 1], [1, 2])] {
            let windows = Windows {
                sizes: vec![size; 2],
                strides: strides.to_vec(),
                dilations: dilations.to_vec(),
                padding: Padding::Same,
            };
            let channels = x.channels();
            let filter = Images::new(&[size, size, channels, filters]);
            let mut sums = Vec::new();
            let shape = each_window(&x, &windows, channels * filters, |output, elements| {
                let products = elements(output / filters)
                    .into_iter()
                    .filter_map(|(at, x)| Some(x? * filter.data[at * channels * filters + output]));
                sums.push(products.sum::<f64>());
            });
            let what = format!("{windows:?} {filters} filters");
            check(&what, &[x.tensor(), filter.tensor()], (&shape, &sums), |v| {
                let format = DataFormat::ChannelsLast;
                v[0].depthwise_conv_2d(v[1], strides, dilations, Padding::Same, format)
            });
        }
    }
}

#[test]
fn wrong_windows_are_refused_with_the_reason() {
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, [1, 2, 3, 4]).unwrap();
    let filter = graph.input("filter", DType::F32, [3, 3, 3, 8]).unwrap();
    let (valid, format) = (Padding::Valid, DataFormat::ChannelsLast);
    let flat = x.reshape([2, 12]).unwrap();
    let volumes = x.reshape([1, 2, 3, 2, 2]).unwrap();
    let explicit = Padding::Explicit([[0, 1], [1, 0]]);
    for (result, reason) in [
        (x.max_pool([3, 1], [1, 1], valid.clone(), format), "a window must fit into the input"),
        (x.max_pool([0, 1], [1, 1], valid.clone(), format), "ksize must be at least 1, got 0"),
        (flat.max_pool([1, 1], [1, 1], valid.clone(), format), "must have rank 4, got rank 2"),
        (x.conv_2d(filter, [1, 1], [1, 1], Padding::Same, format), "must be a multiple of the filter's"),
        (x.conv_2d(filter, [1, 0], [1, 1], valid.clone(), format), "strides must be at least 1, got 0"),
        (x.max_pool([1, 1, 1], [1, 1, 1], valid.clone(), format), "must have rank 5, got rank 4"),
        (x.max_pool([1, 1, 1], [1, 1], valid.clone(), format), "strides must be 3 integers, as sizes, got 2"),
        (
            x.avg_pool([2], [2], valid.clone(), format),
            "sizes must be 2 integers for images or 3 integers for volumes",
        ),
        (
            volumes.max_pool([1, 3, 1], [1, 1, 1], explicit, format),
            "padding must be Valid or Same for volumes",
        ),
        (x.conv_3d(filter, [1, 1, 1], [1, 1, 1], valid, format), "must have rank 5, got rank 4"),
        (
            x.avg_pool([1, 2], [1, 1], Padding::Explicit([[0, 1], [0, 0]]), format),
            "the padding of a pool must be less than its windows, got 1 for windows of 1 at axis 1",
        ),
    ] {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(reason), "{message}");
    }
}

/// Returns a parameter of a run: sizes or strides.
fn entries(list: &[usize]) -> Tensor {
    Tensor::from_vec(&[list.len()], list.iter().map(|entry| *entry as i32).collect::<Vec<_>>()).unwrap()
}

/// One executable runs pools whose windows are values, with other windows and other sizes in every run.
#[test]
fn windows_may_be_values() -> Result<()> {
    let mut rng = Rng::new(3);
    for (padding, length) in [(Padding::Same, shape![2]), (Padding::Valid, shape![?])] {
        let graph = Graph::new();
        let x = graph.input("x", DType::F64, shape![?, ?, ?, ?])?;
        let sizes = graph.input("sizes", DType::I32, length.clone())?;
        let strides = graph.input("strides", DType::I32, length)?;
        let (last, first) = (DataFormat::ChannelsLast, DataFormat::ChannelsFirst);
        let largest = x.max_pool(sizes, strides, padding.clone(), last)?;
        let mean = channels_first(x, 2).avg_pool(sizes, strides, padding.clone(), first)?;
        let gradient = largest.max_pool_grad(x, sizes, strides, padding.clone(), last)?;
        let shares = largest.avg_pool_grad(x.shape(), sizes, strides, padding.clone(), last)?;
        let results = [largest, channels_last(mean, 2)?, gradient, shares];
        for backend in [Backend::Jit, Backend::Interpreter] {
            let exe = graph.compile_with(&CompileOptions::new().backend(backend), results)?;
            for _ in 0..40 {
                let mut below = |limit| 1 + rng.below(limit);
                let windows = Windows::new(&[below(3), below(4)], &[below(3), below(3)], padding.clone());
                let images = [below(2), 2 + below(5), 3 + below(9), below(9)];
                let x = Images::new(&images);
                let (mut maxima, mut means) = (Vec::new(), Vec::new());
                let mut share_sum = 0.0;
                let shape = each_window(&x, &windows, x.channels(), |channel, elements| {
                    let inside: Vec<f64> = elements(channel).iter().filter_map(|(_, x)| *x).collect();
                    maxima.push(inside.iter().copied().fold(f64::NEG_INFINITY, f64::max));
                    means.push(inside.iter().sum::<f64>() / inside.len() as f64);
                    share_sum += maxima.last().unwrap();
                });
                let (sizes, strides) = (entries(&windows.sizes), entries(&windows.strides));
                let got = exe.run_all(&[x.tensor().view(), sizes.view(), strides.view()])?;
                let what = format!("{images:?} {windows:?} {backend:?}");
                for (got, expected) in got.iter().zip([&maxima, &means]) {
                    assert_eq!(got.sizes(), shape, "{what}");
                    for (got, expected) in got.to_vec::<f64>()?.iter().zip(expected) {
                        assert!((got - expected).abs() < 1e-12, "{what}: {got} and not {expected}");
                    }
                }
                // Both gradients pass every gradient on.
                for gradient in &got[2..] {
                    assert_eq!(gradient.sizes(), images, "{what}");
                    let sum: f64 = gradient.to_vec::<f64>()?.iter().sum();
                    assert!((sum - share_sum).abs() < 1e-9, "{what}: {sum} and not {share_sum}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn a_run_refuses_windows_that_are_values() -> Result<()> {
    let graph = Graph::new();
    let x = graph.input("x", DType::F32, shape![1, ?, 4, 2])?;
    let sizes = graph.input("sizes", DType::I32, [2])?;
    let strides = graph.input("strides", DType::I32, [2])?;
    let y = x.max_pool(sizes, strides, Padding::Valid, DataFormat::ChannelsLast)?;
    let exe = graph.compile(y)?;
    let x = Tensor::full(&[1, 5, 4, 2], 1.0f32)?;
    let run = |sizes: [i32; 2], strides: [i32; 2]| {
        let (sizes, strides) = (Tensor::from(sizes), Tensor::from(strides));
        exe.run::<1>(&[x.view(), sizes.view(), strides.view()]).map(|[y]| y.sizes().to_vec())
    };
    assert_eq!(run([2, 3], [1, 1])?, [1, 4, 2, 2]);
    for (sizes, strides) in
        [([0, 1], [1, 1]), ([1, -1], [1, 1]), ([1, 1], [0, 1]), ([7, 1], [1, 1]), ([1, 9], [1, 2])]
    {
        assert!(run(sizes, strides).is_err(), "{sizes:?} {strides:?}");
    }
    // These windows exceed the image by less than two strides.
    assert_eq!(run([6, 1], [1, 1])?, [1, 0, 4, 2]);
    assert_eq!(run([8, 1], [2, 1])?, [1, 0, 4, 2]);
    assert_eq!(run([5, 4], [3, 3])?, [1, 1, 1, 2]);
    let error =
        x_of_rank_3(&graph).max_pool(sizes, [1, 1], Padding::Valid, DataFormat::ChannelsLast).unwrap_err();
    assert!(error.message().contains("rank 4"), "{error}");
    let three = graph.input("three", DType::I32, [3])?;
    let error =
        x_of_rank_3(&graph).max_pool([1, 1], three, Padding::Valid, DataFormat::ChannelsLast).unwrap_err();
    assert!(error.message().contains("strides must be 2 integers, as sizes, got 3"), "{error}");
    Ok(())
}

fn x_of_rank_3(graph: &Graph) -> Value<'_> {
    graph.constant([[[1.0f32]]]).unwrap()
}

/// Returns pools and convolutions with windows of 5 rows.
fn windows_of_5_rows(x: Value<'_>, stride: i64) -> [Result<Value<'_>>; 4] {
    let (valid, last) = (Padding::Valid, DataFormat::ChannelsLast);
    let convolved = |groups: usize| {
        let filter = x.graph().constant(Tensor::full(&[5, 1, 2 / groups, 2], 1.0f64)?)?;
        x.conv_2d(filter, [stride, 1], [1, 1], valid.clone(), last)
    };
    [
        x.max_pool([5, 1], [stride, 1], valid.clone(), last),
        x.avg_pool([5, 1], [stride, 1], valid.clone(), last),
        convolved(1),
        convolved(2),
    ]
}

/// TensorFlow refuses a window that exceeds an image of known size. If the size is unknown, a run has 0 windows for a
/// window that exceeds the image by less than two strides.
#[test]
fn windows_may_exceed_images_of_unknown_size() -> Result<()> {
    for stride in 1..4i64 {
        let graph = Graph::new();
        let results = windows_of_5_rows(graph.input("x", DType::F64, shape![1, ?, ?, 2])?, stride);
        let results = results.map(Result::unwrap);
        let exe = graph.compile(results)?;
        for rows in 0..8i64 {
            let x = Tensor::full(&[1, rows as usize, 3, 2], 1.0f64)?;
            let count = (rows - 5 + stride) / stride;
            match exe.run_all(&[x.view()]) {
                Ok(got) => {
                    let expected = [1, usize::try_from(count).unwrap(), 3, 2];
                    assert!(
                        got.iter().all(|y| y.sizes() == expected),
                        "{rows} rows, stride {stride}: {got:?}"
                    );
                }
                Err(error) => assert!(count < 0, "{rows} rows, stride {stride}: {error}"),
            }
            let known = Graph::new();
            let x = known.input("x", DType::F64, [1, rows, 3, 2])?;
            for result in windows_of_5_rows(x, stride) {
                assert_eq!(result.is_err(), rows < 5, "{rows} rows, stride {stride}");
            }
        }
    }
    Ok(())
}

/// A window that is much larger than the image is the whole image at every place. It takes no memory of its size.
#[test]
fn windows_of_same_padding_may_be_much_larger_than_the_image() -> Result<()> {
    let (huge, large) = ([1i64 << 40, 1 << 41], [50i64, 50]);
    let images = Images::new(&[2, 5, 4, 3]).tensor();
    for shape in [shape![2, 5, 4, 3], shape!["n", "h", "w", 3]] {
        for strides in [[1i64, 1], [2, 3], [7, 9]] {
            let g = Graph::new();
            let x = g.input("x", DType::F64, shape.clone())?;
            let (same, last) = (|| Padding::Same, DataFormat::ChannelsLast);
            let outputs_of = |sizes: [i64; 2]| -> Result<Vec<Value<'_>>> {
                let largest = x.max_pool(sizes, strides, same(), last)?;
                let means = x.avg_pool(sizes, strides, same(), last)?;
                let spread = means.avg_pool_grad(x.shape(), sizes, strides, same(), last)?;
                let [_, places] = x.max_pool_with_argmax(sizes, strides, same(), last)?;
                Ok(vec![largest, means, spread, places])
            };
            let outputs = [outputs_of(huge)?, outputs_of(large)?].concat();
            let results = g.compile(&outputs)?.run_all(&[images.view()])?;
            let (of_huge, of_large) = results.split_at(outputs.len() / 2);
            assert_eq!(of_huge, of_large, "{strides:?}");
        }
    }
    Ok(())
}

/// An error of a run names the pool and not a part of it.
#[test]
fn an_error_of_a_run_names_the_pool() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape!["n", "h", "w", 3])?;
    let y = x.avg_pool([5, 5], [1, 1], Padding::Valid, DataFormat::ChannelsLast)?;
    let error =
        g.compile(y)?.run(&[Tensor::zeros(DType::F32, &[1, 2, 2, 3])?.view()]).map(|[y]| y).unwrap_err();
    assert_eq!(error.op(), Some("avg_pool"), "{error}");
    assert!(!error.to_string().contains("reduce_window"), "{error}");
    Ok(())
}
