//! Gradients of convolutions against their definitions: naive loops, and the adjoints of the convolutions.

use super::INPUT;
use crate::{Attr, DType, DataFormat, Graph, Padding, Result, Tensor, TensorView, Value, shape};

fn numbers(sizes: &[usize], seed: i64) -> Tensor {
    let count = sizes.iter().product::<usize>() as i64;
    let elements: Vec<i64> = (0..count).map(|at| (at * 7919 + seed * 104_729) % 1_009 % 13 - 6).collect();
    Tensor::from_slice(sizes, &elements).unwrap()
}

#[test]
fn the_gradient_of_an_empty_image_is_empty() {
    for sizes in [[1, 0, 0, 3], [1, 0, 4, 3], [0, 4, 4, 3]] {
        let g = Graph::new();
        let filter = g.constant(Tensor::full(&[3, 3, 3, 2], 1.0f32).unwrap()).unwrap();
        let mut result = sizes;
        result[3] = 2;
        let gradient = g.input("gradient", DType::F32, result).unwrap();
        let call = g.op(&INPUT).size("input_sizes", sizes).data(filter).data(gradient);
        let y = call.attr("strides", Attr::from([1, 1, 1, 1])).attr("padding", "SAME").finish().unwrap();
        let gradient = Tensor::zeros(DType::F32, &result.map(|size| size as usize)).unwrap();
        let [y] = g.compile(y).unwrap().run(&[gradient.view()]).unwrap();
        assert_eq!(y.sizes(), sizes.map(|size: i64| size as usize));
    }
}

/// For every gradient `d`, `Σ conv(x, w) * d` is `Σ x * input_grad(d)` and `Σ w * filter_grad(d)`.
#[test]
fn gradients_of_groups_are_the_adjoints_of_the_convolution() {
    for (groups, format) in [(1, true), (2, true), (3, false)] {
        for (padding, stride, dilation) in
            [(Padding::Same, 1, 1), (Padding::Same, 2, 1), (Padding::Valid, 1, 2), (Padding::Valid, 2, 1)]
        {
            let format = if format { DataFormat::ChannelsLast } else { DataFormat::ChannelsFirst };
            let g = Graph::new();
            let image = match format {
                DataFormat::ChannelsLast => [2, 6, 7, 2 * groups],
                DataFormat::ChannelsFirst => [2, 2 * groups, 6, 7],
            };
            let filter = [3, 2, 2, 4 * groups];
            let (strides, dilations) = ([stride, stride], [dilation, dilation]);
            let x = g.constant(numbers(&image, 1)).unwrap();
            let w = g.constant(numbers(&filter, 2)).unwrap();
            let y = x.conv_2d(w, strides, dilations, padding.clone(), format).unwrap();
            let sizes = y.shape().as_known().unwrap();
            let d = g.constant(numbers(&sizes, 3)).unwrap();
            let sizes = |sizes: [usize; 4]| sizes.map(|size| size as i64);
            let dx = d.conv_2d_input_grad(w, sizes(image), strides, dilations, padding.clone(), format);
            let dw = x.conv_2d_filter_grad(d, sizes(filter), strides, dilations, padding, format);
            let dot = |a: Value<'_>, b: Value<'_>| {
                let [sum] = g.compile(a.mul(b).unwrap().reduce_sum(..).unwrap()).unwrap().run(&[]).unwrap();
                sum.item::<i64>().unwrap()
            };
            let expected = dot(y, d);
            assert_ne!(expected, 0);
            assert_eq!(dot(x, dx.unwrap()), expected, "{groups} {stride} {dilation}");
            assert_eq!(dot(w, dw.unwrap()), expected, "{groups} {stride} {dilation}");
        }
    }
}

/// The gradient with respect to `size` elements: each window adds its gradient times the filter where it lies.
fn naive(size: i64, filter: &[f32], gradient: &[f32], stride: i64, front: i64) -> Vec<f32> {
    let mut result = vec![0.0; size as usize];
    for (window, gradient) in (0i64..).zip(gradient) {
        for (element, factor) in (0i64..).zip(filter) {
            let position = window * stride + element - front;
            if (0..size).contains(&position) {
                result[position as usize] += gradient * factor;
            }
        }
    }
    result
}

/// Returns the gradient of images `[1, size, 1, 1]` with explicit paddings. If `is_fed`, the graph knows no size.
fn gradient_with(
    is_fed: bool,
    size: i64,
    [factors, gradients]: [&[f32]; 2],
    [stride, front, back]: [i64; 3],
) -> Vec<f32> {
    let g = Graph::new();
    let of = |elements: &[f32]| Tensor::from_slice(&[elements.len(), 1, 1, 1], elements).unwrap();
    let across = |x: Tensor| x.reshape(&[1, x.len(), 1, 1]).unwrap();
    let tensors = [Tensor::from([1, size, 1, 1]), of(factors), across(of(gradients))];
    let [sizes, filter, gradient] = [0, 1, 2].map(|number| match is_fed {
        true => {
            let shape = if number == 0 { shape![4] } else { shape![?, ?, ?, ?] };
            g.input(&format!("x{number}"), tensors[number].dtype(), shape).unwrap()
        }
        false => g.constant(tensors[number].clone()).unwrap(),
    });
    let call = g.op(&INPUT).size("input_sizes", sizes).data(filter).data(gradient);
    let call = call.attr("strides", Attr::from([1, stride, 1, 1])).attr("padding", "EXPLICIT");
    let paddings = Attr::from([0, 0, front, back, 0, 0, 0, 0]);
    let y = call.attr("explicit_paddings", paddings).finish().unwrap();
    let feeds = tensors.each_ref().map(Tensor::view);
    let [y] = g.compile(y).unwrap().run(if is_fed { &feeds[..] } else { &[] }).unwrap();
    y.to_vec::<f32>().unwrap()
}

#[test]
fn windows_that_cover_only_padding_have_no_gradient() {
    for size in 1..4i64 {
        for window in 1..4i64 {
            for stride in 1..4i64 {
                for (front, back) in [(0, 0), (1, 4), (5, 0), (4, 6), (7, 3)] {
                    let slack = size + front + back - window;
                    if slack < 0 {
                        continue;
                    }
                    let count = slack / stride + 1;
                    let numbers = |count: i64| (1..=count).map(|number| number as f32).collect::<Vec<f32>>();
                    let (factors, gradients) = (numbers(window), numbers(count));
                    let expected = naive(size, &factors, &gradients, stride, front);
                    for is_fed in [false, true] {
                        let data = [&factors[..], &gradients[..]];
                        let y = gradient_with(is_fed, size, data, [stride, front, back]);
                        assert_eq!(y, expected, "{:?}", (is_fed, size, window, stride, front, back));
                    }
                }
            }
        }
    }
}

#[test]
fn a_run_refuses_input_sizes_with_other_channels_than_the_filter() {
    let g = Graph::new();
    let sizes = g.input("sizes", DType::I32, [4]).unwrap();
    let filter = g.input("filter", DType::F32, [1, 1, 3, 2]).unwrap();
    let gradient = g.input("gradient", DType::F32, [1, 2, 2, 2]).unwrap();
    let call = g.op(&INPUT).size("input_sizes", sizes).data(filter).data(gradient);
    let y = call.attr("strides", Attr::from([1, 1, 1, 1])).attr("padding", "VALID").finish().unwrap();
    let exe = g.compile(y).unwrap();
    let run = |channels: i32| {
        let sizes = Tensor::from([1, 2, 2, channels]);
        let [filter, gradient] =
            [[1, 1, 3, 2], [1, 2, 2, 2]].map(|sizes| Tensor::full(&sizes, 1.0f32).unwrap());
        exe.run::<1>(&[sizes.view(), filter.view(), gradient.view()])
    };
    let negative = filter.graph().op(&INPUT).size("input_sizes", [1, -2, 2, 3]).data(filter).data(gradient);
    let error = negative.attr("strides", Attr::from([1, 1, 1, 1])).attr("padding", "VALID").finish();
    assert!(error.unwrap_err().message().contains("input_sizes must not be negative, got -2"));
    assert_eq!(run(3).unwrap()[0], Tensor::full(&[1, 2, 2, 3], 2.0f32).unwrap());
    assert!(run(6).is_err());
}

/// Checks that `Σ conv(x, w) * d` is `Σ x * input_grad(d)`. If `is_fed`, the graph knows no size of the images.
fn check(is_depthwise: bool, filter: [usize; 4], stride: i64, padding: &Padding, is_fed: bool) -> Result<()> {
    let g = Graph::new();
    let (steps, one, last) = ([stride, stride], [1, 1], DataFormat::ChannelsLast);
    let x = numbers(&[2, 7, 6, filter[2]], 1);
    let w = g.constant(numbers(&filter, 2))?;
    let convolved = |x: Value<'_>| -> Result<Tensor> {
        let y = match is_depthwise {
            true => x.depthwise_conv_2d(w, steps, one, padding.clone(), last)?,
            false => x.conv_2d(w, steps, one, padding.clone(), last)?,
        };
        let [y] = g.compile(y)?.run(&[])?;
        Ok(y)
    };
    let y = convolved(g.constant(x.clone())?)?;
    let d = numbers(y.sizes(), 3);
    let (sizes, gradient) = match is_fed {
        true => (g.input("sizes", DType::I64, [4])?, g.input("d", DType::I64, shape![?, ?, ?, ?])?),
        false => (g.constant([2i64, 7, 6, filter[2] as i64])?, g.constant(d.clone())?),
    };
    let dx = match is_depthwise {
        true => gradient.depthwise_conv_2d_input_grad(w, sizes, steps, one, padding.clone(), last)?,
        false => gradient.conv_2d_input_grad(w, sizes, steps, one, padding.clone(), last)?,
    };
    let fed_sizes = Tensor::from([2i64, 7, 6, filter[2] as i64]);
    let feeds = [fed_sizes.view(), d.view()];
    let [dx] = g.compile(dx)?.run::<1>(if is_fed { &feeds[..] } else { &[] as &[TensorView<'_>] })?;
    let dot = |a: &Tensor, b: &Tensor| -> i64 {
        a.to_vec::<i64>().unwrap().iter().zip(b.to_vec::<i64>().unwrap()).map(|(a, b)| a * b).sum()
    };
    let expected = dot(&y, &d);
    assert_ne!(expected, 0);
    assert_eq!(dot(&x, &dx), expected, "{is_depthwise} {filter:?} {stride} {padding:?} {is_fed}");
    Ok(())
}

#[test]
fn gradients_of_strided_convolutions_are_their_adjoints() -> Result<()> {
    for is_depthwise in [false, true] {
        for filter in [[3, 2, 2, 3], [4, 5, 3, 1], [1, 2, 1, 2], [2, 1, 3, 2]] {
            for stride in 1..4 {
                for padding in [Padding::Same, Padding::Valid, Padding::Explicit([[1, 2], [3, 0]])] {
                    check(is_depthwise, filter, stride, &padding, false)?;
                    check(is_depthwise, filter, stride, &padding, true)?;
                }
            }
        }
    }
    Ok(())
}
