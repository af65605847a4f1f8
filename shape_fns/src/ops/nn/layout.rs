//! [`Layout`]: where a batch of images has its channels, and what is said of each of its axes.

use crate::error::bail;
use crate::{Dim, InferenceContext, Result, TensorShape};

/// The order of the axes of a batch of images, or volumes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// The number of spatial axes.
    pub(super) spatial: usize,
    /// Whether the channels stand before the spatial axes.
    pub(super) channels_first: bool,
    /// Whether channels stand in vectors along one more axis, the last.
    pub(super) vectors: bool,
}

impl Layout {
    /// The layout the attribute `data_format` names, for so many spatial axes; without one the channels are last.
    ///
    /// # Errors
    /// There is no such layout.
    pub(super) fn of(cx: &InferenceContext<'_>, spatial: usize) -> Result<Layout> {
        let format = cx.str_or("data_format", "")?;
        let (channels_first, vectors) = match (format, spatial) {
            ("" | "CHANNELS_LAST", _) | ("NHWC", 2) | ("NDHWC", 3) => (false, false),
            ("CHANNELS_FIRST", _) | ("NCHW", 2) | ("NCDHW", 3) => (true, false),
            ("NCHW_VECT_C", 2) => (true, true),
            _ => bail!("data_format must be one of {spatial} spatial axes, got {format:?}"),
        };
        Ok(Layout { spatial, channels_first, vectors })
    }

    /// The axis of the channels.
    pub(super) fn channel(&self) -> usize {
        if self.channels_first { 1 } else { self.spatial + 1 }
    }

    /// A spatial axis.
    pub(super) fn axis(&self, spatial: usize) -> usize {
        if self.channels_first { spatial + 2 } else { spatial + 1 }
    }

    /// The number of axes.
    pub(super) fn rank(&self) -> usize {
        self.entries() + usize::from(self.vectors)
    }

    /// The number of entries of a list that says something of every axis but that of vectors.
    pub(super) fn entries(&self) -> usize {
        self.spatial + 2
    }

    /// The dimensions of operand `index`, unknown ones where it is unranked.
    ///
    /// # Errors
    /// It has the wrong rank, or vectors that are not of 4 or 32 channels.
    pub(super) fn dims(&self, cx: &mut InferenceContext<'_>, index: usize) -> Result<Vec<Dim>> {
        let shape = cx.with_rank(index, self.rank())?;
        let dims = shape.dims().unwrap_or_default().to_vec();
        if let (true, Some(inner)) = (self.vectors, dims.last().and_then(Dim::as_known))
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

    /// A list attribute with an entry for every axis, at least 1 each; ones where it is absent or, if `optional`, empty.
    ///
    /// # Errors
    /// It has another length or a smaller entry.
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
            bail!("{name} must have {} entries, got {}", self.entries(), entries.len());
        }
        if let Some(entry) = entries.iter().find(|entry| **entry < 1) {
            bail!("{name} must be at least 1, got {entry}");
        }
        Ok(entries.to_vec())
    }

    /// The elements before and after every axis, by the attributes `padding` and `explicit_paddings`; `None` where
    /// `padding` is not `EXPLICIT`.
    ///
    /// # Errors
    /// `explicit_paddings` is given without need, has another length than two entries per axis, a negative entry, or pads
    /// the batch or the channels.
    pub(super) fn explicit_paddings(&self, cx: &InferenceContext<'_>) -> Result<Option<Vec<[i64; 2]>>> {
        let entries = cx.ints_or("explicit_paddings", &[])?;
        if cx.str("padding")? != "EXPLICIT" {
            if !entries.is_empty() {
                bail!("explicit_paddings must be empty unless padding is EXPLICIT, got {entries:?}");
            }
            return Ok(None);
        }
        if entries.len() != 2 * self.entries() {
            bail!("explicit_paddings must have {} entries, got {}", 2 * self.entries(), entries.len());
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

    /// The shape of a batch, the sizes of the spatial axes, channels, and what is the last axis of vectors.
    pub(super) fn shape(
        &self,
        batch: Dim,
        spatial: Vec<Dim>,
        channels: Dim,
        vectors: Option<Dim>,
    ) -> TensorShape {
        let mut dims = vec![batch];
        if self.channels_first {
            dims.push(channels);
            dims.extend(spatial);
        } else {
            dims.extend(spatial);
            dims.push(channels);
        }
        dims.extend(vectors);
        TensorShape::new(dims)
    }
}
