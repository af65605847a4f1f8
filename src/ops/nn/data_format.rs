//! `DataFormat`: the axis of the channels.

/// The axis of the channels in a batch of images.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum DataFormat {
    /// `[batch, height, width, channels]`, TensorFlow's `NHWC`.
    #[default]
    ChannelsLast,
    /// `[batch, channels, height, width]`, TensorFlow's `NCHW`.
    ChannelsFirst,
}

impl DataFormat {
    /// Arranges entries for batch, rows, columns and channels in the order of the format.
    pub(super) fn entries<T: Copy>(self, [batch, rows, columns, channels]: [T; 4]) -> [T; 4] {
        match self {
            DataFormat::ChannelsLast => [batch, rows, columns, channels],
            DataFormat::ChannelsFirst => [batch, channels, rows, columns],
        }
    }

    /// Returns TensorFlow's name of the format of images.
    pub(super) fn name(self) -> &'static str {
        match self {
            DataFormat::ChannelsLast => "NHWC",
            DataFormat::ChannelsFirst => "NCHW",
        }
    }
}
