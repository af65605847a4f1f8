//! Rows of pixels: repeats or interpolates the samples of small components, and converts colors.

use super::header::ColorModel;
use super::scan::{Component, Planes};

/// The pixels that a row has: columns `first .. end` of the image.
#[derive(Clone, Copy)]
pub(super) struct Columns {
    pub first: usize,
    pub end: usize,
}

/// Makes rows of pixels.
pub(super) struct RowMaker<'p> {
    planes: &'p Planes,
    /// The samples of a block of the component with the greatest factors are `size × size`.
    size: usize,
    /// Whether samples are interpolated.
    is_fancy: bool,
    columns: Columns,
    /// The first column of the unit that has `columns.first`. Interpolation sees no sample outside of the window.
    start: usize,
    /// The samples of each component for a row of pixels.
    lines: Vec<Vec<u8>>,
    /// What [`interpolate`] reads.
    sums: Vec<u16>,
}

impl<'p> RowMaker<'p> {
    pub(super) fn new(planes: &'p Planes, size: usize, is_fancy: bool, columns: Columns) -> RowMaker<'p> {
        let unit = planes.across * size;
        let start = columns.first / unit * unit;
        let lines = planes.components.iter().map(|_| vec![0; columns.end - start]).collect();
        RowMaker { planes, size, is_fancy: is_fancy && size > 1, columns, start, lines, sums: Vec::new() }
    }

    /// Returns how often a sample of a component stands for a pixel, down and across.
    fn repeats(&self, component: &Component) -> [usize; 2] {
        let down = self.planes.down * self.size / (component.declared.down * component.size);
        let across = self.planes.across * self.size / (component.declared.across * component.size);
        [down, across]
    }

    /// Returns whether every component has whole pixels for a sample.
    pub(super) fn is_supported(&self) -> bool {
        self.planes.components.iter().all(|component| {
            let (down, across) = (self.planes.down * self.size, self.planes.across * self.size);
            down.is_multiple_of(component.declared.down * component.size)
                && across.is_multiple_of(component.declared.across * component.size)
        })
    }

    /// Writes row `y` of the image to `pixels`, which have `channels` elements.
    pub(super) fn write(
        &mut self,
        y: usize,
        model: ColorModel,
        is_adobe: bool,
        channels: usize,
        pixels: &mut [u8],
    ) {
        let (mut lines, mut sums) = (std::mem::take(&mut self.lines), std::mem::take(&mut self.sums));
        for (component, line) in self.planes.components.iter().zip(&mut lines) {
            if !component.samples.is_empty() {
                self.line(component, y, &mut sums, line);
            }
        }
        let skipped = self.columns.first - self.start;
        let lines_of = |index: usize| &lines[index][skipped..];
        let all = pixels.chunks_exact_mut(channels).enumerate();
        match (model, channels) {
            (ColorModel::Gray | ColorModel::Ycc, 1) => {
                pixels.copy_from_slice(lines_of(0));
            }
            (ColorModel::Gray, _) => all.for_each(|(x, pixel)| pixel.fill(lines_of(0)[x])),
            (ColorModel::Rgb, 1) => all.for_each(|(x, pixel)| {
                pixel[0] = gray([lines_of(0)[x], lines_of(1)[x], lines_of(2)[x]]);
            }),
            (ColorModel::Rgb, _) => all.for_each(|(x, pixel)| {
                pixel.copy_from_slice(&[lines_of(0)[x], lines_of(1)[x], lines_of(2)[x]]);
            }),
            (ColorModel::Ycc, _) => {
                colors([0, 1, 2].map(lines_of), pixels);
            }
            (ColorModel::Cmyk | ColorModel::Ycck, _) => all.for_each(|(x, pixel)| {
                let [mut c, mut m, mut y, k] = [0, 1, 2, 3].map(|index| lines_of(index)[x]);
                if model == ColorModel::Ycck {
                    [c, m, y] = rgb([c, m, y]).map(|x| 255 - x);
                }
                // Adobe stores the inverse of each ink.
                let ink = |x: u8| if is_adobe { u32::from(x) } else { 255 - u32::from(x) };
                pixel.copy_from_slice(&[c, m, y].map(|x| (ink(x) * ink(k) / 255) as u8));
            }),
        }
        (self.lines, self.sums) = (lines, sums);
    }

    /// Writes the samples of a component for the pixels of row `y`, from column `start` on.
    fn line(&self, component: &Component, y: usize, sums: &mut Vec<u16>, line: &mut [u8]) {
        let [down, across] = self.repeats(component);
        let (first, len) = (self.start / across, line.len().div_ceil(across));
        let row = |y: usize| {
            let y = y.min(component.height - 1);
            &component.samples[y * component.stride() + first..][..len]
        };
        let near = row(y / down);
        let beside = || match y % 2 {
            0 => row((y / 2).saturating_sub(1)),
            _ => row(y / 2 + 1),
        };
        let is_wide = component.width > 2;
        match (down, across) {
            (1, 1) => line.copy_from_slice(near),
            (1, 2) if self.is_fancy && is_wide => {
                interpolate(near.iter().map(|near| 4 * u16::from(*near)), [4, 8], sums, line);
            }
            (2, 1) if self.is_fancy => {
                let bias = if y.is_multiple_of(2) { 1 } else { 2 };
                for ((pixel, near), far) in line.iter_mut().zip(near).zip(beside()) {
                    *pixel = ((3 * u16::from(*near) + u16::from(*far) + bias) >> 2) as u8;
                }
            }
            (2, 2) if self.is_fancy && is_wide => {
                let both = near.iter().zip(beside());
                let samples = both.map(|(near, far)| 3 * u16::from(*near) + u16::from(*far));
                interpolate(samples, [8, 7], sums, line);
            }
            _ => line.iter_mut().enumerate().for_each(|(x, pixel)| *pixel = near[x / across]),
        }
    }
}

/// Writes two pixels for each sample, which is 4 times too great: three parts of the sample and one part of its
/// neighbor on that side. `biases` round them, left and right. `sums` is room for the samples.
fn interpolate(samples: impl Iterator<Item = u16>, biases: [u16; 2], sums: &mut Vec<u16>, line: &mut [u8]) {
    // The samples at both ends are their own neighbors.
    sums.clear();
    sums.push(0);
    sums.extend(samples);
    sums[0] = sums[1];
    sums.push(sums[sums.len() - 1]);
    let pixel = |sample: u16, neighbor: u16, bias: u16| ((3 * sample + neighbor + bias) >> 4) as u8;
    let (pairs, rest) = line.as_chunks_mut::<2>();
    for (pair, near) in pairs.iter_mut().zip(sums.windows(3)) {
        *pair = [pixel(near[1], near[0], biases[0]), pixel(near[1], near[2], biases[1])];
    }
    if let ([last], Some(near)) = (rest, sums.windows(3).nth(pairs.len())) {
        *last = pixel(near[1], near[0], biases[0]);
    }
}

/// Writes the colors of a row of luma and chroma samples.
fn colors([luma, blue, red]: [&[u8]; 3], pixels: &mut [u8]) {
    const COUNT: usize = 16;
    let (luma, last_luma) = luma.as_chunks::<COUNT>();
    let (blue, last_blue) = blue.as_chunks::<COUNT>();
    let (red, last_red) = red.as_chunks::<COUNT>();
    let (groups, last) = pixels.as_chunks_mut::<{ 3 * COUNT }>();
    for (((group, y), cb), cr) in groups.iter_mut().zip(luma).zip(blue).zip(red) {
        // The compiler makes vector instructions of this loop.
        let mut colors = [0u32; COUNT];
        for (i, color) in colors.iter_mut().enumerate() {
            let [red, green, blue] = rgb([y[i], cb[i], cr[i]]);
            *color = u32::from(red) | u32::from(green) << 8 | u32::from(blue) << 16;
        }
        // Four colors are three words.
        for (to, [a, b, c, d]) in group.as_chunks_mut::<12>().0.iter_mut().zip(colors.as_chunks().0) {
            let words = [a | b << 24, b >> 8 | c << 16, c >> 16 | d << 8];
            for (to, word) in to.as_chunks_mut().0.iter_mut().zip(&words) {
                *to = word.to_le_bytes();
            }
        }
    }
    for (((pixel, y), cb), cr) in
        last.as_chunks_mut().0.iter_mut().zip(last_luma).zip(last_blue).zip(last_red)
    {
        *pixel = rgb([*y, *cb, *cr]);
    }
}

/// Returns the color of a luma and two chroma samples, as JFIF defines it, in fixed point with 16 bits.
#[inline(always)]
fn rgb([y, cb, cr]: [u8; 3]) -> [u8; 3] {
    const HALF: i32 = 1 << 15;
    let (y, cb, cr) = (i32::from(y), i32::from(cb) - 128, i32::from(cr) - 128);
    // The whole parts of the factors stand apart, so that the rest has 16 bits: processors multiply these faster.
    let red = y + cr + ((26345 * cr + HALF) >> 16);
    let green = y - cr + ((-22554 * cb + 18734 * cr + HALF) >> 16);
    let blue = y + 2 * cb + ((-14942 * cb + HALF) >> 16);
    let byte = |x: i32| x.clamp(0, 255) as u8;
    [byte(red), byte(green), byte(blue)]
}

/// Returns the luma of a color.
fn gray([red, green, blue]: [u8; 3]) -> u8 {
    let sum = 19595 * u32::from(red) + 38470 * u32::from(green) + 7471 * u32::from(blue);
    ((sum + (1 << 15)) >> 16) as u8
}
