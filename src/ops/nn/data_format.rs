//! `DataFormat`: the axis of the channels.

use std::slice::from_ref;

use shapeflow_shape_fns::Attr;

/// The axis of the channels in a batch of images or volumes. Volumes have an axis of depth before the height.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum DataFormat {
    /// `[batch, height, width, channels]`, TensorFlow's `NHWC` and `NDHWC`.
    #[default]
    ChannelsLast,
    /// `[batch, channels, height, width]`, TensorFlow's `NCHW` and `NCDHW`.
    ChannelsFirst,
}

impl DataFormat {
    /// Returns one entry for each axis, in the order of the format: `spatial` for the spatial axes, and `other` for the
    /// batch and the channels.
    pub(super) fn entries<T: Clone>(self, other: T, spatial: &[T]) -> Vec<T> {
        match self {
            DataFormat::ChannelsLast => [from_ref(&other), spatial, from_ref(&other)].concat(),
            DataFormat::ChannelsFirst => [from_ref(&other), from_ref(&other), spatial].concat(),
        }
    }

    /// Returns the attribute with these entries for the spatial axes, and 1 for the batch and the channels.
    pub(super) fn attr(self, spatial: &[i64]) -> Attr {
        Attr::Ints(self.entries(1, spatial).into())
    }

    /// Returns the axis of the channels of a tensor of this rank.
    pub(super) fn channel_axis(self, rank: usize) -> usize {
        match self {
            DataFormat::ChannelsLast => rank - 1,
            DataFormat::ChannelsFirst => 1,
        }
    }

    /// Returns the first spatial axis.
    pub(super) fn first_spatial_axis(self) -> usize {
        match self {
            DataFormat::ChannelsLast => 1,
            DataFormat::ChannelsFirst => 2,
        }
    }

    /// Returns TensorFlow's name of the format of images (2 spatial axes) or of volumes (3).
    pub(super) fn name(self, spatial: usize) -> &'static str {
        match (self, spatial) {
            (DataFormat::ChannelsLast, 2) => "NHWC",
            (DataFormat::ChannelsFirst, 2) => "NCHW",
            (DataFormat::ChannelsLast, _) => "NDHWC",
            (DataFormat::ChannelsFirst, _) => "NCDHW",
        }
    }
}
