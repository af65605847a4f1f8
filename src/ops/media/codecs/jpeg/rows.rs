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
    lines: Vec<Vec<u8>>,
}

impl<'p> RowMaker<'p> {
    pub(super) fn new(planes: &'p Planes, size: usize, is_fancy: bool, columns: Columns) -> RowMaker<'p> {
        let unit = planes.across * size;
        let start = columns.first / unit * unit;
        let lines = planes.components.iter().map(|_| vec![0; columns.end - start]).collect();
        RowMaker { planes, size, is_fancy: is_fancy && size > 1, columns, start, lines }
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
        let mut lines = std::mem::take(&mut self.lines);
        let needed = if model == ColorModel::Ycc && channels == 1 { 1 } else { lines.len() };
        for (component, line) in self.planes.components.iter().zip(&mut lines).take(needed) {
            self.line(component, y, line);
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
                pixel[0] = gray([0, 1, 2].map(|index| lines_of(index)[x]));
            }),
            (ColorModel::Rgb, _) => all.for_each(|(x, pixel)| {
                pixel.copy_from_slice(&[0, 1, 2].map(|index| lines_of(index)[x]));
            }),
            (ColorModel::Ycc, _) => {
                let (luma, blue, red) = (lines_of(0), lines_of(1), lines_of(2));
                for (((pixel, y), cb), cr) in pixels.chunks_exact_mut(3).zip(luma).zip(blue).zip(red) {
                    pixel.copy_from_slice(&rgb([*y, *cb, *cr]));
                }
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
        self.lines = lines;
    }

    /// Writes the samples of a component for the pixels of row `y`, from column `start` on.
    fn line(&self, component: &Component, y: usize, line: &mut [u8]) {
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
                let samples = |i: usize| 4 * u32::from(near[i]);
                interpolate(line, near.len(), samples, [4, 8], 4);
            }
            (2, 1) if self.is_fancy => {
                let bias = if y.is_multiple_of(2) { 1 } else { 2 };
                for ((pixel, near), far) in line.iter_mut().zip(near).zip(beside()) {
                    *pixel = ((3 * u32::from(*near) + u32::from(*far) + bias) >> 2) as u8;
                }
            }
            (2, 2) if self.is_fancy && is_wide => {
                let far = beside();
                let samples = |i: usize| 3 * u32::from(near[i]) + u32::from(far[i]);
                interpolate(line, near.len(), samples, [8, 7], 4);
            }
            _ => line.iter_mut().enumerate().for_each(|(x, pixel)| *pixel = near[x / across]),
        }
    }
}

/// Writes two pixels for each of `count` samples: three parts of the sample and one part of its neighbor on that side.
/// `biases` round them, left and right, before they are divided by `2^shift`.
fn interpolate(line: &mut [u8], count: usize, sample: impl Fn(usize) -> u32, biases: [u32; 2], shift: u32) {
    for (i, pair) in line.chunks_mut(2).enumerate() {
        let neighbors = [i.saturating_sub(1), (i + 1).min(count - 1)];
        for ((pixel, neighbor), bias) in pair.iter_mut().zip(neighbors).zip(biases) {
            *pixel = ((3 * sample(i) + sample(neighbor) + bias) >> shift) as u8;
        }
    }
}

/// Returns the color of a luma and two chroma samples, as JFIF defines it, in fixed point with 16 bits.
fn rgb([y, cb, cr]: [u8; 3]) -> [u8; 3] {
    const HALF: i32 = 1 << 15;
    let (y, cb, cr) = (i32::from(y), i32::from(cb) - 128, i32::from(cr) - 128);
    let red = y + ((91881 * cr + HALF) >> 16);
    let green = y + ((-22554 * cb - 46802 * cr + HALF) >> 16);
    let blue = y + ((116130 * cb + HALF) >> 16);
    [red, green, blue].map(|x| x.clamp(0, 255) as u8)
}

/// Returns the luma of a color.
fn gray([red, green, blue]: [u8; 3]) -> u8 {
    let sum = 19595 * u32::from(red) + 38470 * u32::from(green) + 7471 * u32::from(blue);
    ((sum + (1 << 15)) >> 16) as u8
}
