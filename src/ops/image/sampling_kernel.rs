//! [`SamplingKernel`]: the weight of a pixel by its distance from a point.

use std::f32::consts::PI;

/// The function that gives a pixel its weight, by its distance from the point that is sampled, in pixels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum SamplingKernel {
    /// `sinc(x)²` up to distance 1.
    Lanczos1,
    /// `sinc(x) sinc(x/3)` up to distance 3. TensorFlow's default.
    #[default]
    Lanczos3,
    /// `sinc(x) sinc(x/5)` up to distance 5.
    Lanczos5,
    /// `exp(-2x²)` up to distance 1.5.
    Gaussian,
    /// 1 up to distance 0.5.
    Box,
    /// `1 - |x|` up to distance 1: linear interpolation.
    Triangle,
    /// Keys' cubic interpolation with `a = -0.5`, up to distance 2.
    KeysCubic,
    /// The cubic filter of Mitchell and Netravali, up to distance 2.
    MitchellCubic,
}

impl SamplingKernel {
    const ALL: [(SamplingKernel, &'static str); 8] = [
        (SamplingKernel::Lanczos1, "lanczos1"),
        (SamplingKernel::Lanczos3, "lanczos3"),
        (SamplingKernel::Lanczos5, "lanczos5"),
        (SamplingKernel::Gaussian, "gaussian"),
        (SamplingKernel::Box, "box"),
        (SamplingKernel::Triangle, "triangle"),
        (SamplingKernel::KeysCubic, "keyscubic"),
        (SamplingKernel::MitchellCubic, "mitchellcubic"),
    ];

    /// Returns TensorFlow's name of the kernel.
    pub(super) fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(kernel, _)| *kernel == self).expect("the table has every kernel").1
    }

    /// Returns the kernel of a name.
    pub(super) fn of(name: &str) -> Option<SamplingKernel> {
        Self::ALL.into_iter().find(|(_, other)| *other == name).map(|(kernel, _)| kernel)
    }

    /// Returns the distance beyond which weights are 0.
    pub(super) fn radius(self) -> f32 {
        match self {
            SamplingKernel::Lanczos1 | SamplingKernel::Box | SamplingKernel::Triangle => 1.0,
            SamplingKernel::Lanczos3 => 3.0,
            SamplingKernel::Lanczos5 => 5.0,
            SamplingKernel::Gaussian => 1.5,
            SamplingKernel::KeysCubic | SamplingKernel::MitchellCubic => 2.0,
        }
    }

    /// Returns the weight at a distance, which is not negative.
    pub(super) fn weight(self, x: f32) -> f32 {
        match self {
            SamplingKernel::Lanczos1 | SamplingKernel::Lanczos3 | SamplingKernel::Lanczos5 => {
                lanczos(x, self.radius())
            }
            SamplingKernel::Gaussian if x >= self.radius() => 0.0,
            SamplingKernel::Gaussian => f64::from(-x * x * 2.0).exp() as f32,
            SamplingKernel::Box if x == 0.5 => 0.5,
            SamplingKernel::Box => f32::from(x < 0.5),
            SamplingKernel::Triangle => (1.0 - x).max(0.0),
            SamplingKernel::KeysCubic => cubic(x, [1.0, 0.0, -2.5, 1.5], [2.0, -4.0, 2.5, -0.5]),
            SamplingKernel::MitchellCubic => {
                let far = [16.0 / 9.0, -10.0 / 3.0, 2.0, -7.0 / 18.0];
                cubic(x, [8.0 / 9.0, 0.0, -2.0, 7.0 / 6.0], far)
            }
        }
    }
}

/// `sinc(x) sinc(x / radius)` up to the radius, where `sinc(x) = sin(πx) / (πx)`.
fn lanczos(x: f32, radius: f32) -> f32 {
    if x > radius {
        return 0.0;
    }
    if x <= 1e-3 {
        return 1.0;
    }
    radius * (PI * x).sin() * (PI * x / radius).sin() / (PI * PI * x * x)
}

/// A polynomial up to distance 1 and another one up to distance 2; the coefficients ascend.
fn cubic(x: f32, near: [f32; 4], far: [f32; 4]) -> f32 {
    let at = |[a, b, c, d]: [f32; 4]| ((d * x + c) * x + b) * x + a;
    match x {
        2.0.. => 0.0,
        1.0.. => at(far),
        _ => at(near),
    }
}

#[cfg(test)]
mod tests {
    use super::SamplingKernel;

    #[test]
    fn weights_of_pixels_one_apart_have_a_sum_near_one() {
        for (kernel, name) in SamplingKernel::ALL {
            assert_eq!((kernel.name(), SamplingKernel::of(name)), (name, Some(kernel)));
            for offset in [0.0, 0.25, 0.75] {
                let weights = (-6..=6).map(|pixel| kernel.weight((pixel as f32 - offset).abs()));
                let sum: f32 = weights.sum();
                let bound = match name {
                    "lanczos1" => 0.2,
                    // The integral of this kernel is 1.25.
                    "gaussian" => 0.28,
                    "lanczos3" | "lanczos5" => 0.02,
                    _ => 1e-6,
                };
                assert!((sum - 1.0).abs() < bound, "{name} at {offset}: {sum}");
            }
            assert_eq!(kernel.weight(kernel.radius() + 0.01), 0.0);
        }
    }
}
