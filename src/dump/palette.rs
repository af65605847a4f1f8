//! Colors of kernels. The hues of consecutive kernels differ by the golden angle, so that their colors look
//! different.

/// Returns the hue of a kernel in degrees.
pub(super) fn hue(kernel: usize) -> u32 {
    // 222 is 360 degrees minus the golden angle; 211 is blue.
    ((211 + (kernel as u64 % 3600) * 222) % 360) as u32
}

/// Returns a light color for a kernel, as `#rrggbb`.
pub(super) fn light(kernel: usize) -> String {
    let hue = f64::from(hue(kernel));
    let (saturation, lightness) = (0.62, 0.86);
    // The conversion from HSL to RGB: red, green and blue have the phases 0, 8 and 4 on a circle of 12.
    let amplitude = saturation * f64::min(lightness, 1.0 - lightness);
    let channel = |phase: f64| {
        let k = (phase + hue / 30.0) % 12.0;
        let value = lightness - amplitude * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
        (value * 255.0).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", channel(0.0), channel(8.0), channel(4.0))
}
