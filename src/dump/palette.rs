//! Colours of kernels. Hues of consecutive kernels differ by the golden angle, so that they look different.

/// Returns the hue of a kernel in degrees.
pub(super) fn hue(kernel: usize) -> u32 {
    // 222 is 360 degrees minus the golden angle; 211 is blue.
    ((211 + (kernel as u64 % 3600) * 222) % 360) as u32
}

/// Returns a light colour for a kernel, as `#rrggbb`.
pub(super) fn light(kernel: usize) -> String {
    let hue = f64::from(hue(kernel));
    let (saturation, lightness) = (0.62, 0.86);
    let reach = saturation * f64::min(lightness, 1.0 - lightness);
    let part = |n: f64| {
        let k = (n + hue / 30.0) % 12.0;
        let value = lightness - reach * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        (value * 255.0).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", part(0.0), part(8.0), part(4.0))
}
