//! [`Layout`]: the order of a data format's axes, and list attributes with one entry per axis.

use crate::error::bail;
use crate::{Dim, InferenceContext, Result, TensorShape, counted};

/// The order of the axes of a batch of images or volumes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// The number of spatial axes.
    pub(super) spatial: usize,
    /// Whether the channel axis precedes the spatial axes.
    pub(super) channels_first: bool,
    /// Whether the last axis holds vectors of channels (`NCHW_VECT_C`).
    pub(super) has_vectors: bool,
}

impl Layout {
    /// Returns the layout that attribute `data_format` names for this number of spatial axes. The default is channels
    /// last.
    ///
    /// # Errors
    /// The format is unknown, or has another number of spatial axes.
    pub(super) fn of(cx: &InferenceContext<'_>, spatial: usize) -> Result<Layout> {
        let format = cx.str_or("data_format", "")?;
        let (channels_first, has_vectors) = match (format, spatial) {
            ("" | "CHANNELS_LAST", _) | ("NHWC", 2) | ("NDHWC", 3) => (false, false),
            ("CHANNELS_FIRST", _) | ("NCHW", 2) | ("NCDHW", 3) => (true, false),
            ("NCHW_VECT_C", 2) => (true, true),
            _ => bail!("data_format must name a layout with {spatial} spatial axes, got {format:?}"),
        };
        Ok(Layout { spatial, channels_first, has_vectors })
    }

    /// Returns the channel axis.
    pub(super) fn channel(&self) -> usize {
        if self.channels_first { 1 } else { self.spatial + 1 }
    }

    /// Returns the axis that is spatial axis number `spatial`, counted from 0.
    pub(super) fn axis(&self, spatial: usize) -> usize {
        if self.channels_first { spatial + 2 } else { spatial + 1 }
    }

    /// Returns the number of axes.
    pub(super) fn rank(&self) -> usize {
        self.entries() + usize::from(self.has_vectors)
    }

    /// Returns the length of list attributes, which have one entry per axis except the axis of vectors.
    pub(super) fn entries(&self) -> usize {
        self.spatial + 2
    }

    /// Returns the dimensions of operand `index`, or fresh dimensions if the operand is unranked.
    ///
    /// # Errors
    /// The operand has the wrong rank, or its vectors do not have 4 or 32 channels.
    pub(super) fn dims(&self, cx: &mut InferenceContext<'_>, index: usize) -> Result<Vec<Dim>> {
        let shape = cx.with_rank(index, self.rank())?;
        let dims = shape.dims().unwrap_or_default().to_vec();
        if let (true, Some(inner)) = (self.has_vectors, dims.last().and_then(Dim::as_known))
            && inner != 4
            && inner != 32
        {
            return Err(cx.blame(
                index,
                format_args!("must have vectors of 4 or 32 channels, got {inner} in {shape}"),
            ));
        }
        Ok(dims)
    }

    /// Reads a list attribute with one entry per axis, each at least 1. If `optional`, an absent or empty list means
    /// all ones.
    ///
    /// # Errors
    /// The list has the wrong length, or an entry is less than 1.
    pub(super) fn entries_of(
        &self,
        cx: &InferenceContext<'_>,
        name: &str,
        optional: bool,
    ) -> Result<Vec<i64>> {
        let entries = match cx.attr(name) {
            None if optional => return Ok(vec![1; self.entries()]),
            _ => cx.ints(name)?,
        };
        if entries.is_empty() && optional {
            return Ok(vec![1; self.entries()]);
        }
        if entries.len() != self.entries() {
            bail!("{name} must have {}, got {}", counted(self.entries(), "entry"), entries.len());
        }
        if let Some(entry) = entries.iter().find(|entry| **entry < 1) {
            bail!("{name} must be at least 1, got {entry}");
        }
        Ok(entries.to_vec())
    }

    /// Returns the padding before and after every axis from attribute `explicit_paddings`, or `None` if `padding` is
    /// not `EXPLICIT`.
    ///
    /// # Errors
    /// `explicit_paddings` is given although `padding` is not `EXPLICIT`, it does not hold one pair per axis, a
    /// padding is negative, or the batch or the channels are padded.
    pub(super) fn explicit_paddings(&self, cx: &InferenceContext<'_>) -> Result<Option<Vec<[i64; 2]>>> {
        let entries = cx.ints_or("explicit_paddings", &[])?;
        if cx.str("padding")? != "EXPLICIT" {
            if !entries.is_empty() {
                bail!("explicit_paddings must be empty unless padding is EXPLICIT, got {entries:?}");
            }
            return Ok(None);
        }
        if entries.len() != 2 * self.entries() {
            bail!(
                "explicit_paddings must have {}, got {}",
                counted(2 * self.entries(), "entry"),
                entries.len()
            );
        }
        if let Some(entry) = entries.iter().find(|entry| **entry < 0) {
            bail!("explicit_paddings must not be negative, got {entry}");
        }
        let pairs: Vec<[i64; 2]> = entries.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
        if pairs[0] != [0, 0] || pairs[self.channel()] != [0, 0] {
            bail!("explicit_paddings must be 0 for the batch and the channels, got {entries:?}");
        }
        Ok(Some(pairs))
    }

    /// Returns the shape with these dimensions in the order of the layout.
    pub(super) fn shape(
        &self,
        batch: Dim,
        spatial: Vec<Dim>,
        channels: Dim,
        vector_len: Option<Dim>,
    ) -> TensorShape {
        let mut dims = vec![batch];
        if self.channels_first {
            dims.push(channels);
            dims.extend(spatial);
        } else {
            dims.extend(spatial);
            dims.push(channels);
        }
        dims.extend(vector_len);
        TensorShape::new(dims)
    }
}
