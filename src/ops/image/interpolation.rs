//! [`ResampleRule`]: how a pixel of a resized image is computed from pixels of the image, along one axis.
//!
//! The bodies of the ops compute the same numbers by expressions, and must give the same bits.

use super::sampling::Sampling;

/// A rule that computes a number from `TAPS` pixels of one axis. The indices of these pixels differ by less than
/// `TAPS`.
pub(super) trait ResampleRule<const TAPS: usize>: Copy + Sync {
    /// The weights of the pixels.
    type Weights: Copy + Sync;

    /// Returns the pixels around a point of an axis of `size` pixels, and their weights. The indices of the pixels may
    /// lie outside the axis.
    fn taps(self, point: f32, size: usize) -> ([f32; TAPS], Self::Weights);

    /// Returns `N` numbers between the pixels, one for each channel. `pixel(tap)` returns these channels of a pixel.
    fn mix<'a, const N: usize>(pixel: impl Fn(usize) -> &'a [f32; N], weights: Self::Weights) -> [f32; N];
}

/// The linear interpolation of two pixels.
#[derive(Clone, Copy)]
pub(super) struct Linear;

impl ResampleRule<2> for Linear {
    type Weights = f32;

    fn taps(self, point: f32, _: usize) -> ([f32; 2], f32) {
        let below = point.floor();
        ([below, point.ceil()], point - below)
    }

    #[inline(always)]
    fn mix<'a, const N: usize>(pixel: impl Fn(usize) -> &'a [f32; N], fraction: f32) -> [f32; N] {
        let (below, above) = (pixel(0), pixel(1));
        let mut mixed = [0.0; N];
        for (at, mixed) in mixed.iter_mut().enumerate() {
            *mixed = below[at] + (above[at] - below[at]) * fraction;
        }
        mixed
    }
}

/// The cubic interpolation of four pixels.
#[derive(Clone, Copy)]
pub(super) struct Cubic {
    /// Whether the kernel is that of Keys (`a = -0.5`), and pixels outside the image do not count. Otherwise
    /// `a = -0.75`, and the pixels at the border are repeated.
    pub(super) is_keys_kernel: bool,
}

impl ResampleRule<4> for Cubic {
    type Weights = [f32; 4];

    fn taps(self, point: f32, size: usize) -> ([f32; 4], [f32; 4]) {
        let below = point.floor();
        let offset = ((point - below) * 1024.0).round_ties_even() / 1024.0;
        let weights = cubic_weights(offset, if self.is_keys_kernel { -0.5 } else { -0.75 });
        let pixels = [-1.0, 0.0, 1.0, 2.0].map(|tap| below + tap);
        (pixels, if self.is_keys_kernel { inside(pixels, weights, size) } else { weights })
    }

    #[inline(always)]
    fn mix<'a, const N: usize>(pixel: impl Fn(usize) -> &'a [f32; N], weights: [f32; 4]) -> [f32; N] {
        let (a, b, c, d) = (pixel(0), pixel(1), pixel(2), pixel(3));
        let mut mixed = [0.0; N];
        for (at, mixed) in mixed.iter_mut().enumerate() {
            *mixed = a[at] * weights[0] + b[at] * weights[1] + c[at] * weights[2] + d[at] * weights[3];
        }
        mixed
    }
}

/// Returns the weights of the four pixels around a point, `offset` after the second pixel. `a` is the slope at the
/// distance 1.
fn cubic_weights(offset: f32, a: f32) -> [f32; 4] {
    let near = |x: f32| (((a + 2.0) * x - (a + 3.0)) * x) * x + 1.0;
    let far = |x: f32| {
        let x = x + 1.0;
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    };
    let rest = 1.0 - offset;
    [far(offset), near(offset), near(rest), far(rest)]
}

/// Sets the weights of pixels outside the image to 0, and scales the other weights to the sum 1.
fn inside(pixels: [f32; 4], mut weights: [f32; 4], size: usize) -> [f32; 4] {
    for (weight, pixel) in weights.iter_mut().zip(pixels) {
        if !(0.0..size as f32).contains(&pixel) {
            *weight = 0.0;
        }
    }
    let sum = weights[0] + weights[1] + weights[2] + weights[3];
    let factor = if sum.abs() < 1000.0 * f32::MIN_POSITIVE { 1.0 } else { 1.0 / sum };
    weights.map(|weight| weight * factor)
}

/// The pixels and weights of each pixel of a resized axis. A pixel is given by the position of its first element, if
/// neighboring pixels are `stride` elements apart.
pub(super) fn all_taps<const TAPS: usize, I: ResampleRule<TAPS>>(
    rule: I,
    sampling: Sampling,
    [size, resized]: [usize; 2],
    stride: usize,
) -> Vec<([usize; TAPS], I::Weights)> {
    let scale = match sampling == Sampling::AlignCorners && resized > 1 {
        true => (size - 1) as f32 / (resized - 1) as f32,
        false => size as f32 / resized as f32,
    };
    let taps = |pixel: usize| {
        let point = match sampling {
            Sampling::HalfPixel => (pixel as f32 + 0.5) * scale - 0.5,
            _ => pixel as f32 * scale,
        };
        let (pixels, weights) = rule.taps(point, size);
        // The cast maps negative positions to 0.
        (pixels.map(|pixel| (pixel as usize).min(size - 1) * stride), weights)
    };
    (0..resized).map(taps).collect()
}
