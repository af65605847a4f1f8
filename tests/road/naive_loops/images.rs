//! Ops on images: resizing, crops and colors.

use shapeflow::{FillMode, Graph, ProjectiveTransform, Result, Sampling, Value, WindowPadding};

use super::Build;
use super::numeric::{Numbers, Row, check_rows, row};
use crate::op_call::Call;

/// Returns the weighted pixels of an axis of `size` pixels that pixel `i` of `resized` pixels shows, given the weight
/// of a pixel by its distance from the point that is shown. The weights of pixels inside the axis have the sum 1.
fn taps(i: usize, [size, resized]: [usize; 2], weight: fn(f64) -> f64) -> Vec<(usize, f64)> {
    let point = (i as f64 + 0.5) * size as f64 / resized as f64 - 0.5;
    let weighted = (0..size).map(|pixel| (pixel, weight((pixel as f64 - point).abs())));
    let weighted: Vec<(usize, f64)> = weighted.filter(|(_, weight)| *weight != 0.0).collect();
    let sum: f64 = weighted.iter().map(|(_, weight)| weight).sum();
    weighted.into_iter().map(|(pixel, weight)| (pixel, weight / sum)).collect()
}

/// Resizes images to these sizes.
fn resized(x: &Numbers, [rows, columns]: [usize; 2], weight: fn(f64) -> f64) -> Numbers {
    Numbers::reals(&[x.sizes[0], rows, columns, x.sizes[3]], |i| {
        let (down, right) =
            (taps(i[1], [x.sizes[1], rows], weight), taps(i[2], [x.sizes[2], columns], weight));
        let row = |y: usize| {
            right.iter().map(|(x_at, weight)| x.real(&[i[0], y, *x_at, i[3]]) * weight).sum::<f64>()
        };
        down.iter().map(|(y, weight)| row(*y) * weight).sum()
    })
}

fn triangle(x: f64) -> f64 {
    (1.0 - x).max(0.0)
}

fn keys(x: f64) -> f64 {
    match x {
        2.0.. => 0.0,
        1.0.. => -0.5 * x.powi(3) + 2.5 * x * x - 4.0 * x + 2.0,
        _ => 1.5 * x.powi(3) - 2.5 * x * x + 1.0,
    }
}

/// The crops of images `[2, 3, 4, 1]` to 2 rows and 3 columns, by linear interpolation.
fn cropped(x: &[Numbers]) -> Numbers {
    let (images, boxes, numbers) = (&x[0], &x[1], &x[2]);
    Numbers::reals(&[boxes.sizes[0], 2, 3, 1], |i| {
        let edge = |number: usize| boxes.real(&[i[0], number]);
        let point = |low: f64, high: f64, last: f64, share: f64| (low + (high - low) * share) * last;
        let (y, x) =
            (point(edge(0), edge(2), 2.0, i[1] as f64), point(edge(1), edge(3), 3.0, i[2] as f64 / 2.0));
        let image = numbers.real(&i[..1]) as usize;
        let pixel = |y: f64, x: f64| images.real(&[image, y as usize, x as usize, 0]);
        let (top, left) = (y.floor(), x.floor());
        let row = |y: f64| pixel(y, left) + (pixel(y, x.ceil()) - pixel(y, left)) * (x - left);
        row(top) + (row(y.ceil()) - row(top)) * (y - top)
    })
}

/// The index of the pixel that mirrored images have at an index.
fn mirrored(index: i64, size: i64) -> usize {
    let index = index.rem_euclid(2 * size);
    index.min(2 * size - 1 - index) as usize
}

/// The images `[n, 3, 4, 2]` mirrored at their edges, moved by whole pixels and turned by a quarter: the transforms
/// hold the shifts only.
fn turned(x: &[Numbers]) -> Numbers {
    let (images, shifts) = (&x[0], &x[1]);
    Numbers::reals(&[images.sizes[0], 5, 6, 2], |i| {
        let [right, down] = [2, 5].map(|number| shifts.real(&[i[0], number]).floor() as i64);
        let (row, column) = (i[2] as i64 + down, right - i[1] as i64);
        images.real(&[i[0], mirrored(row, 3), mirrored(column, 4), i[3]])
    })
}

/// The largest sum of a filter of 2 rows and 3 columns and the elements of each window of the images `[n, 5, 4, 2]`, at
/// every second row and at every column. The columns of a window are 2 apart; one column of a window at an edge, or two
/// of them, are outside the images.
fn dilated(x: &[Numbers]) -> Numbers {
    Numbers::reals(&[x[0].sizes[0], 3, 4, 2], |i| {
        let mut largest = f64::MIN;
        for (down, across) in (0..2).flat_map(|down| (0..3).map(move |across| (down, across))) {
            let (row, column) = (2 * i[1] + down, (i[2] + 2 * across).wrapping_sub(2));
            if row < 5 && column < 4 {
                largest =
                    largest.max(x[0].real(&[i[0], row, column, i[3]]) + x[1].real(&[down, across, i[3]]));
            }
        }
        largest
    })
}

/// Hue, saturation and value of a color.
fn hsv(color: [f64; 3]) -> [f64; 3] {
    let [red, green, blue] = color;
    let (most, least) = (red.max(green).max(blue), red.min(green).min(blue));
    let range = most - least;
    let sixths = match () {
        () if range == 0.0 => 0.0,
        () if most == red => ((green - blue) / range).rem_euclid(6.0),
        () if most == green => (blue - red) / range + 2.0,
        () => (red - green) / range + 4.0,
    };
    [sixths / 6.0, if most > 0.0 { range / most } else { 0.0 }, most]
}

/// The color of a hue, a saturation and a value.
fn rgb([hue, saturation, value]: [f64; 3]) -> [f64; 3] {
    [5.0, 3.0, 1.0].map(|from: f64| {
        let place = (from + hue * 6.0).rem_euclid(6.0);
        value * (1.0 - saturation * place.min(4.0 - place).clamp(0.0, 1.0))
    })
}

fn colors(x: &Numbers, f: impl Fn([f64; 3]) -> [f64; 3]) -> Numbers {
    Numbers::reals(&x.sizes, |i| f([0, 1, 2].map(|part| x.real(&[i[0], part])))[i[1]])
}

/// Maps numbers to shares from 0 to 1.
const SHARES: fn(usize, f64) -> f64 = |_, x| (x + 3.5) / 7.0;
/// Does the same for the first operand.
const SHARES_FIRST: fn(usize, f64) -> f64 = |operand, x| if operand == 0 { (x + 3.5) / 7.0 } else { x };

fn named<'g>(g: &'g Graph, op: &'static str, x: &[Value<'g>]) -> Result<Value<'g>> {
    Build::Call(&Call::new(op)).apply(g, x)
}

#[rustfmt::skip]
pub const ROWS: &[Row] = &[
    row("adjust_hue", &["[n, 3]", "f32[]"], |g, x| named(g, "adjust_hue", x), |x| colors(&x[0], |color| {
        let least = color[0].min(color[1]).min(color[2]);
        // A color without its least component has no part below 0.
        let [hue, saturation, value] = hsv(color.map(|part| part - least));
        rgb([hue + x[1].real(&[]), saturation, value]).map(|part| part + least)
    })).slack(16.0),
    row("adjust_saturation", &["[n, 3]", "f32[]"], |g, x| named(g, "adjust_saturation", x), |x| colors(&x[0], |color| {
        let [hue, saturation, value] = hsv(color);
        rgb([hue, (saturation * x[1].real(&[])).clamp(0.0, 1.0), value])
    })).domain(SHARES_FIRST).slack(16.0),
    row("crop_and_resize", &["[2, 3, 4, 1]", "f32[n, 4]", "i32[n]"], |_, x| {
        x[0].crop_and_resize(x[1], x[2].minimum(1)?, [2, 3], 0.0)
    }, |x| {
        let numbers = Numbers::reals(&x[2].sizes, |i| x[2].real(i).min(1.0));
        let part = |k: usize| Numbers::reals(&x[k].sizes, |i| x[k].real(i));
        cropped(&[part(0), part(1), numbers])
    }).domain(|operand, x| if operand == 1 { (x * 2.0).floor().abs() / 8.0 } else { x }).slack(16.0),
    row("dilation_2d_windows", &["[n, 5, 4, 2]", "[2, 3, 2]"], |_, x| x[0].dilation_2d(x[1], [2, 1], [1, 2], WindowPadding::Same), dilated),
    row("hsv_to_rgb", &["[n, 3]"], |_, x| x[0].hsv_to_rgb(), |x| colors(&x[0], rgb)).domain(SHARES).slack(16.0),
    row("projective_transform", &["[n, 3, 4, 2]", "f32[n, 8]"], |g, x| {
        let keep = g.constant([0.0f32, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0])?;
        let turn = g.constant([0.0f32, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])?;
        let options = ProjectiveTransform { fill_mode: FillMode::Reflect, ..ProjectiveTransform::default() };
        x[0].projective_transform(x[1].floor()?.mul(keep)?.add(turn)?, [5, 6], options)
    }, turned),
    row("projective_transform_v2", &["[n, 3, 4, 2]", "f32[n, 8]"], |g, x| {
        let keep = g.constant([0.0f32, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0])?;
        let turn = g.constant([0.0f32, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0])?;
        let call = Call::new("projective_transform_v2").attr("output_shape", [5, 6]).attr("fill_mode", "REFLECT");
        Build::Call(&call).apply(g, &[x[0], x[1].floor()?.mul(keep)?.add(turn)?])
    }, turned),
    row("resize_bicubic", &["[n, 3, 4, 2]"], |_, x| x[0].resize_bicubic([6, 8], Sampling::HalfPixel), |x| resized(&x[0], [6, 8], keys)).slack(16.0),
    row("resize_bilinear", &["[n, 3, 4, 2]"], |_, x| x[0].resize_bilinear([5, 7], Sampling::HalfPixel), |x| resized(&x[0], [5, 7], triangle)).slack(16.0),
    row("resize_nearest", &["[n, 3, 4, 2]"], |_, x| x[0].resize_nearest([5, 2], Sampling::HalfPixel), |x| {
        let nearest = |i: usize, size: usize, resized: usize| (2 * i + 1) * size / (2 * resized);
        Numbers::reals(&[x[0].sizes[0], 5, 2, 2], |i| x[0].real(&[i[0], nearest(i[1], 3, 5), nearest(i[2], 4, 2), i[3]]))
    }),
    row("rgb_to_hsv", &["[n, 3]"], |_, x| x[0].rgb_to_hsv(), |x| colors(&x[0], hsv)).domain(SHARES).slack(16.0),
];

#[test]
fn ops_on_images_give_what_loops_give() {
    check_rows(ROWS, 166);
}
