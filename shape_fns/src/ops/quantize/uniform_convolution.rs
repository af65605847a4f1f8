//! Convolutions of uniformly quantized tensors, whose axes an attribute names.

use super::uniform::with_product_parameters;
use crate::error::bail;
use crate::nn::window::{Padding, Window};
use crate::{Attr, Attrs, Dim, Guard, InferenceContext, Result, ShapeError, TensorShape, counted};

/// `lhs[n, g*c, h, w], rhs[m, c, kh, kw]`, and scales and zero points of `lhs`, `rhs` and the output
/// `-> [n, m, oh, ow]`, for any number of spatial axes. [`ConvolutionAxes`] are the axes of attribute
/// `dimension_numbers`. The other attributes are `padding`, `explicit_padding`, `window_strides`, `lhs_dilation`,
/// `rhs_dilation`, `feature_group_count` (`g`), `batch_group_count`, which divides the batch, and the axes of
/// [`uniform_quantized_dot`](super::uniform_quantized_dot). The output is unranked if both operands are.
///
/// # Errors
/// The ranks differ or are less than 3, an attribute is out of range, the channels provably do not fit the groups, or a
/// window provably does not fit. Else as [`uniform_quantized_dot`](super::uniform_quantized_dot).
pub fn uniform_quantized_convolution(cx: &mut InferenceContext<'_>) -> Result<()> {
    convolve(cx, false)
}

/// The same as [`uniform_quantized_convolution`], but only `rhs` has a scale and a zero point.
///
/// # Errors
/// Same as [`uniform_quantized_convolution`].
pub fn uniform_quantized_convolution_hybrid(cx: &mut InferenceContext<'_>) -> Result<()> {
    convolve(cx, true)
}

fn convolve(cx: &mut InferenceContext<'_>, is_hybrid: bool) -> Result<()> {
    let Some(rank) = cx.input(0).rank().or(cx.input(1).rank()) else { return Ok(()) };
    let Some(spatial) = rank.checked_sub(2).filter(|spatial| *spatial >= 1) else {
        bail!("the operands of a convolution must have rank at least 3, got rank {rank}");
    };
    let (lhs, rhs) = (cx.with_rank(0, rank)?, cx.with_rank(1, rank)?);
    let (lhs, rhs) = (lhs.dims().unwrap_or_default().to_vec(), rhs.dims().unwrap_or_default().to_vec());
    let axes = ConvolutionAxes::of(cx.attrs(), rank)?;
    let windows = ConvolutionWindows::of(cx.attrs(), spatial)?;
    let (inputs, outputs) = (&rhs[axes.filter[0]], &rhs[axes.filter[1]]);
    let channels = &lhs[axes.input[1]];
    let groups = Dim::known(windows.feature_groups);
    let all = cx.mul(inputs, &groups)?;
    cx.merge(channels, &all).map_err(|_| {
        ShapeError::new(format_args!(
            "the number of input channels must be the filter's times feature_group_count, got {channels}, {inputs} and {groups}"
        ))
    })?;
    for (name, count) in
        [("feature_group_count", &groups), ("batch_group_count", &Dim::known(windows.batch_groups))]
    {
        let divides = Guard::Divides { divisor: count.clone(), dividend: outputs.clone() };
        cx.require(divides).map_err(|_| {
            ShapeError::new(format_args!(
                "the number of filters must be a multiple of {name}, got {outputs} and {count}"
            ))
            .operand(1)
        })?;
    }
    let (batch, batch_groups) = (&lhs[axes.input[0]], Dim::known(windows.batch_groups));
    cx.require(Guard::Divides { divisor: batch_groups.clone(), dividend: batch.clone() }).map_err(|_| {
        ShapeError::new(format_args!(
            "the batch must be a multiple of batch_group_count, got {batch} and {batch_groups}"
        ))
        .operand(0)
    })?;
    let images = match batch.exact_div(&batch_groups) {
        Some(images) => images,
        None => cx.floordiv(batch, &batch_groups)?,
    };
    let mut output = vec![Dim::known(0); rank];
    output[axes.output[0]] = images;
    output[axes.output[1]] = outputs.clone();
    for index in 0..spatial {
        let axis = axes.input[2 + index];
        let extent = spread(cx, &lhs[axis], windows.lhs_dilations[index])?;
        let window = Window {
            axis,
            size: &rhs[axes.filter[2 + index]],
            stride: &Dim::known(windows.strides[index]),
            dilation: windows.rhs_dilations[index],
            padding: match (windows.padding, &windows.explicit) {
                ("SAME", _) => Padding::Same,
                (_, Some(pairs)) => Padding::Explicit(pairs[index][0].saturating_add(pairs[index][1])),
                _ => Padding::Valid,
            },
        };
        output[axes.output[2 + index]] = window.position_count(cx, &extent)?;
    }
    let output = TensorShape::from(output);
    let output = with_product_parameters(cx, &output, axes.filter[1], axes.output[1], is_hybrid)?;
    cx.set_output(0, output);
    Ok(())
}

/// Returns the size of an axis of `size` elements after `dilation - 1` elements are put between any two of them.
fn spread(cx: &mut InferenceContext<'_>, size: &Dim, dilation: i64) -> Result<Dim> {
    if dilation == 1 {
        return Ok(size.clone());
    }
    let spread = cx.mul(size, &Dim::known(dilation))?;
    let spread = cx.sub(&spread, &Dim::known(dilation - 1))?;
    cx.max(&spread, &Dim::known(0))
}

/// The greatest number of groups of a convolution.
const MAX_GROUPS: i64 = i32::MAX as i64;

/// The attributes of a convolution other than its axes. A list has an entry for each spatial axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConvolutionWindows<'a> {
    /// The distances between windows.
    pub strides: Vec<i64>,
    /// The distances between the elements of the input.
    pub lhs_dilations: Vec<i64>,
    /// The distances between the elements of a window.
    pub rhs_dilations: Vec<i64>,
    /// `VALID`, `SAME` or `EXPLICIT`.
    pub padding: &'a str,
    /// The padding before and after each axis, if `padding` is `EXPLICIT`.
    pub explicit: Option<Vec<[i64; 2]>>,
    /// The number of groups of channels.
    pub feature_groups: i64,
    /// The number of groups of the batch.
    pub batch_groups: i64,
}

impl<'a> ConvolutionWindows<'a> {
    /// Reads the attributes of a convolution with `spatial` spatial axes.
    ///
    /// # Errors
    /// An attribute is out of range, or a list has another length.
    pub fn of(attrs: &'a Attrs, spatial: usize) -> Result<ConvolutionWindows<'a>> {
        let ints = |name: &str| -> Result<Vec<i64>> {
            let list = attrs.get(name).and_then(Attr::to_elements).and_then(|list| list.as_known());
            Ok(list.unwrap_or_default())
        };
        let list = |name: &str| -> Result<Vec<i64>> {
            let list = ints(name)?;
            if list.is_empty() {
                return Ok(vec![1; spatial]);
            }
            if list.len() != spatial {
                let entries = counted(spatial, "entry");
                bail!("{name} must have {entries}, one for each spatial axis, got {}", list.len());
            }
            match list.iter().find(|entry| **entry < 1) {
                Some(entry) => bail!("{name} must be at least 1, got {entry}"),
                None => Ok(list),
            }
        };
        let count = |name: &str| match attrs.get(name) {
            None => Ok(1),
            Some(Attr::Int(count)) if (1..=MAX_GROUPS).contains(count) => Ok(*count),
            Some(other) => bail!("{name} must be from 1 to {MAX_GROUPS}, got {other}"),
        };
        let padding = match attrs.get("padding") {
            Some(Attr::Str(padding)) => &**padding,
            _ => bail!("padding must be given: VALID, SAME or EXPLICIT"),
        };
        let pairs = ints("explicit_padding")?;
        let explicit = match padding {
            "VALID" | "SAME" if pairs.is_empty() => None,
            "VALID" | "SAME" => bail!("explicit_padding must be empty unless padding is EXPLICIT"),
            "EXPLICIT" if pairs.len() != 2 * spatial => {
                bail!("explicit_padding must have {}, got {}", counted(2 * spatial, "entry"), pairs.len())
            }
            "EXPLICIT" => match pairs.iter().find(|entry| **entry < 0) {
                Some(entry) => bail!("explicit_padding must not be negative, got {entry}"),
                None => Some(pairs.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect()),
            },
            other => bail!("padding must be VALID, SAME or EXPLICIT, got {other:?}"),
        };
        Ok(ConvolutionWindows {
            strides: list("window_strides")?,
            lhs_dilations: list("lhs_dilation")?,
            rhs_dilations: list("rhs_dilation")?,
            padding,
            explicit,
            feature_groups: count("feature_group_count")?,
            batch_groups: count("batch_group_count")?,
        })
    }
}

/// The axes of the operands and of the output of a convolution.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConvolutionAxes {
    /// The axes of the input: batch, channels, spatial axes.
    pub input: Vec<usize>,
    /// The axes of the filter: input channels, output channels, spatial axes.
    pub filter: Vec<usize>,
    /// The axes of the output: batch, channels, spatial axes.
    pub output: Vec<usize>,
}

impl ConvolutionAxes {
    /// Reads attribute `dimension_numbers`, a serialized `UniformQuantizedConvolutionDimensionNumbersAttr`, for
    /// operands of this rank. An empty text stands for `[batch, channels, spatial..]`, and `[output channels, input
    /// channels, spatial..]` for the filter.
    ///
    /// # Errors
    /// The text is not such a message, or the axes of an operand are not all axes of this rank.
    pub fn of(attrs: &Attrs, rank: usize) -> Result<ConvolutionAxes> {
        match attrs.get("dimension_numbers") {
            Some(Attr::Str(text)) => ConvolutionAxes::parse(text.as_bytes(), rank),
            Some(Attr::Bytes(bytes)) => ConvolutionAxes::parse(bytes, rank),
            _ => ConvolutionAxes::parse(&[], rank),
        }
    }

    fn parse(text: &[u8], rank: usize) -> Result<ConvolutionAxes> {
        if text.is_empty() {
            let plain: Vec<usize> = (0..rank).collect();
            let filter = [1, 0].into_iter().chain(2..rank).collect();
            return Ok(ConvolutionAxes { input: plain.clone(), filter, output: plain });
        }
        let Some(fields) = Fields::parse(text) else {
            bail!("dimension_numbers must be a serialized UniformQuantizedConvolutionDimensionNumbersAttr");
        };
        let [input, filter, output] = fields.0;
        Ok(ConvolutionAxes {
            input: input.all("input", rank)?,
            filter: filter.all("filter", rank)?,
            output: output.all("output", rank)?,
        })
    }
}

/// Returns the rank of the operands of a convolution that its attributes tell: that of `dimension_numbers`, or else of
/// a list with entries for the spatial axes, or else 4, the rank of images.
pub fn convolution_rank(attrs: &Attrs) -> usize {
    let text = match attrs.get("dimension_numbers") {
        Some(Attr::Str(text)) => text.as_bytes(),
        Some(Attr::Bytes(bytes)) => bytes,
        _ => &[],
    };
    let spatial = Fields::parse(text).map(|fields| fields.0[0].spatial.len());
    let length =
        |name: &str| attrs.get(name).and_then(Attr::to_elements).map_or(0, |list| list.elements().len());
    let lists = ["window_strides", "lhs_dilation", "rhs_dilation"].into_iter().map(length);
    let given = spatial.into_iter().chain(lists).chain([length("explicit_padding") / 2]);
    2 + given.into_iter().find(|spatial| *spatial > 0).unwrap_or(2)
}

/// The fields of the message for an operand: two axes, and the spatial axes.
#[derive(Default)]
struct OperandAxes {
    first: [i64; 2],
    spatial: Vec<i64>,
}

impl OperandAxes {
    /// Returns all axes.
    ///
    /// # Errors
    /// They are not the numbers below `rank`, each once.
    fn all(self, name: &str, rank: usize) -> Result<Vec<usize>> {
        let given: Vec<i64> = self.first.into_iter().chain(self.spatial).collect();
        let axes: Vec<usize> = given.iter().filter_map(|axis| usize::try_from(*axis).ok()).collect();
        let mut sorted = axes.clone();
        sorted.sort_unstable();
        if sorted.into_iter().eq(0..rank) && given.len() == rank {
            return Ok(axes);
        }
        bail!("dimension_numbers must have every axis of the {name} once, got {given:?} for rank {rank}")
    }
}

/// The fields of the message: three for each of the input, the filter and the output.
#[derive(Default)]
struct Fields([OperandAxes; 3]);

impl Fields {
    /// Reads a serialized message. `None` means that the bytes are not such a message.
    fn parse(mut bytes: &[u8]) -> Option<Fields> {
        const VARINT: u64 = 0;
        const LENGTH_DELIMITED: u64 = 2;
        let mut fields = Fields::default();
        while !bytes.is_empty() {
            let key = varint(&mut bytes)?;
            let field = usize::try_from(key >> 3).ok()?.checked_sub(1)?;
            let operand = fields.0.get_mut(field / 3)?;
            match (field % 3, key & 7) {
                (2, LENGTH_DELIMITED) => {
                    let length = usize::try_from(varint(&mut bytes)?).ok()?;
                    let (mut packed, rest) = bytes.split_at_checked(length)?;
                    bytes = rest;
                    while !packed.is_empty() {
                        operand.spatial.push(varint(&mut packed)? as i64);
                    }
                }
                (2, VARINT) => operand.spatial.push(varint(&mut bytes)? as i64),
                (part, VARINT) => operand.first[part] = varint(&mut bytes)? as i64,
                _ => return None,
            }
        }
        Some(fields)
    }
}

/// Takes an integer of variable length off the front of `bytes`.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for position in 0..10 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << (7 * position);
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::shape_table;

    const OPERANDS: &[&str] = &[
        "lhs",
        "rhs",
        "lhs_scales",
        "lhs_zero_points",
        "rhs_scales",
        "rhs_zero_points",
        "output_scales",
        "output_zero_points",
    ];

    shape_table! { convolved: uniform_quantized_convolution, OPERANDS;
        {padding: "VALID"} "[n, 3, h, 5]; [8, 3, 2, 3]; []; []; []; []; []; []" => "[n, 8, h-1, 3]";
        {padding: "SAME", window_strides: [2], lhs_dilation: [2]} "[n, 3, 5]; [8, 3, 2]; []; []; []; []; []; []" => "[n, 8, 5]";
        {padding: "EXPLICIT", explicit_padding: [1, 2], rhs_dilation: [2]} "[n, 3, w]; [8, 3, 2]; []; []; []; []; []; []" => "[n, 8, w+1]";
        {padding: "VALID", feature_group_count: 3, batch_group_count: 2} "[4, 3, 5]; [6, 1, 5]; []; []; []; []; []; []" => "[2, 6, 1]";
        {padding: "VALID", rhs_quantization_axis: 0, output_quantization_axis: 1} "[n, 3, 5]; [?, 3, 5]; []; []; [6]; [6]; [6]; [6]" => "[n, 6, 1]";
        {padding: "VALID"} "?; ?; []; []; []; []; []; []" => "?";
        {padding: "VALID"} "[3, 5]; [8, 3]; []; []; []; []; []; []" => "error the operands of a convolution must have rank at least 3, got rank 2";
        {padding: "VALID"} "[n, 4, 5]; [8, 3, 2]; []; []; []; []; []; []" => "error the number of input channels must be the filter's times feature_group_count, got 4, 3 and 1";
        {padding: "VALID", window_strides: [2, 2]} "[n, 3, 5]; [8, 3, 2]; []; []; []; []; []; []" => "error window_strides must have 1 entry, one for each spatial axis, got 2";
        {padding: "SAME", explicit_padding: [1, 2]} "[n, 3, 5]; [8, 3, 2]; []; []; []; []; []; []" => "error explicit_padding must be empty unless padding is EXPLICIT";
        {padding: "VALID", batch_group_count: 2} "[3, 3, 5]; [8, 3, 2]; []; []; []; []; []; []" => "error the batch must be a multiple of batch_group_count, got 3 and 2";
        {padding: "VALID", batch_group_count: 2_147_483_648i64} "[n, 3, 5]; [?, 3, 2]; []; []; []; []; []; []" => "error batch_group_count must be from 1 to 2147483647, got 2147483648";
        {padding: "VALID", feature_group_count: 0} "[n, 3, 5]; [?, 3, 2]; []; []; []; []; []; []" => "error feature_group_count must be from 1 to 2147483647, got 0";
        {padding: "VALID", dimension_numbers: "?"} "[3, 3, 5]; [8, 3, 2]; []; []; []; []; []; []" => "error dimension_numbers must be a serialized";
    }

    #[test]
    fn attributes_tell_the_rank() {
        let list = |name: &'static str, entries: &[i64]| Attrs::new().with(name, Attr::Ints(entries.into()));
        assert_eq!(convolution_rank(&Attrs::new()), 4);
        assert_eq!(convolution_rank(&list("lhs_dilation", &[1])), 3);
        assert_eq!(convolution_rank(&list("explicit_padding", &[1; 6])), 5);
        let numbers = Attrs::new().with("dimension_numbers", "\x10\x01\x18\x02");
        assert_eq!(convolution_rank(&numbers), 3);
    }

    #[test]
    fn axes_are_read_from_both_spellings_of_a_list() {
        // NHWC, HWIO, NHWC. Fields of value 0 are absent. The spatial axes are packed, or each is a field.
        let packed = b"\x10\x03\x1a\x02\x01\x02\x20\x02\x28\x03\x32\x02\x00\x01\x40\x03\x4a\x02\x01\x02";
        let single = b"\x10\x03\x18\x01\x18\x02\x20\x02\x28\x03\x30\x00\x30\x01\x40\x03\x48\x01\x48\x02";
        for text in [&packed[..], &single[..]] {
            let axes = ConvolutionAxes::parse(text, 4).unwrap();
            assert_eq!(axes.input, [0, 3, 1, 2]);
            assert_eq!(axes.filter, [2, 3, 0, 1]);
            assert_eq!(axes.output, [0, 3, 1, 2]);
            let error = ConvolutionAxes::parse(text, 3).unwrap_err();
            assert!(error.to_string().contains("got [0, 3, 1, 2] for rank 3"), "{error}");
        }
        assert!(ConvolutionAxes::parse(b"\x10", 4).is_err());
    }
}
