//! `decode_wav` and `encode_wav`: sounds as WAV files.

use std::panic::Location;

use shapeflow_shape_fns::{Attribute, DType};

use super::attrs::sound_size;
use super::codecs;
use super::dtypes::check;
use crate::error::Result;
use crate::graph::{IntoOperand, Value};
use crate::op::{OpDef, Operand, TfOp};
use crate::shape_fns;

impl<'g> Value<'g> {
    /// Decodes a WAV file with samples of 16 bits. Returns the sound, from -1 to 1, and its sample rate.
    ///
    /// `string[] -> f32[samples, channels], i32[]`. `samples` and `channels` choose the sizes; `None` takes the size
    /// from the file. A sound that is too short ends with zeros, and channels that it lacks repeat its last one. As
    /// TensorFlow's `DecodeWav` (`tf.audio.decode_wav`). Runs on the host, with the feature `media`.
    ///
    /// ```
    /// # #[cfg(feature = "media")] {
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let file = g.constant([[0.5f32], [-0.25]])?.encode_wav(g.constant(8000)?)?;
    /// let [sound, rate] = file.decode_wav(Some(3), None)?;
    /// let [sound, rate] = g.compile([sound, rate])?.run(&[])?;
    /// assert_eq!((sound, rate), (Tensor::from([[0.5f32], [-0.25], [0.0]]), Tensor::from(8000)));
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// `self` is not a scalar string. The run fails if the bytes are damaged, or the samples are not integers of 16
    /// bits.
    #[track_caller]
    pub fn decode_wav(self, samples: Option<usize>, channels: Option<usize>) -> Result<[Value<'g>; 2]> {
        let location = Location::caller();
        let size = |size: Option<usize>| size.map_or(-1, |size| i64::try_from(size).unwrap_or(i64::MAX));
        let call = self.graph().op(&DECODE).data(self).attr("desired_samples", size(samples));
        let outputs = call.attr("desired_channels", size(channels)).finish_all_at(location)?;
        Ok([outputs[0], outputs[1]])
    }

    /// Encodes a sound from -1 to 1 as a WAV file with samples of 16 bits.
    ///
    /// `f32[samples, channels], sample_rate i32[] -> string[]`. Samples outside of the range become the nearest ones
    /// inside. As TensorFlow's `EncodeWav` (`tf.audio.encode_wav`). Runs on the host, with the feature `media`.
    ///
    /// ```
    /// # #[cfg(feature = "media")] {
    /// use shapeflow::Graph;
    ///
    /// let g = Graph::new();
    /// let file = g.constant([[0.5f32], [-0.25]])?.encode_wav(8000)?;
    /// let [file] = g.compile(file)?.run(&[])?;
    /// assert_eq!(file.as_strings()?.at(0).len(), 48);
    /// # }
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A dtype or a rank is wrong. The run fails if there are no channels, or too many samples or channels for the
    /// format, or the sample rate is not positive.
    #[track_caller]
    pub fn encode_wav(self, sample_rate: impl IntoOperand<'g>) -> Result<Value<'g>> {
        let location = Location::caller();
        let call = self.graph().op(&ENCODE).data(self);
        call.data(sample_rate.into_operand_of(self.graph(), DType::I32, location)).finish_at(location)
    }
}

pub(crate) static DECODE: OpDef = OpDef::host("decode_wav", codecs::decode_wav)
    .feature(super::FEATURE)
    .attrs(&[Attribute::int_or("desired_channels", -1), Attribute::int_or("desired_samples", -1)])
    .operands(&[Operand::Data("contents")])
    .outputs(|_, _| 2)
    .shape_fn(shape_fns::media::decode_wav)
    .dtype_rule(|operands, attrs| {
        sound_size(attrs, "desired_channels")?;
        sound_size(attrs, "desired_samples")?;
        check(operands, &[("contents", DType::String)])?;
        Ok(vec![DType::F32, DType::I32])
    })
    .tensorflow(&[TfOp::new("DecodeWav")]);

pub(crate) static ENCODE: OpDef = OpDef::host("encode_wav", codecs::encode_wav)
    .feature(super::FEATURE)
    .operands(&[Operand::Data("audio"), Operand::Data("sample_rate")])
    .shape_fn(shape_fns::media::encode_wav)
    .dtype_rule(|operands, _| {
        check(operands, &[("audio", DType::F32), ("sample_rate", DType::I32)])?;
        Ok(vec![DType::String])
    })
    .tensorflow(&[TfOp::new("EncodeWav")]);
