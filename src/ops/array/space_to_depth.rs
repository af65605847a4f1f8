//! `space_to_depth` and `depth_to_space`: move blocks of the spatial axes into the channel axis, and back.

use shapeflow_shape_fns::{Attribute, Dim};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Turns each block of `block` by `block` pixels into one pixel that has the channels of all pixels of the block,
    /// row by row.
    ///
    /// `[n, h, w, c] -> [n, h/block, w/block, block*block*c]`, any dtype. As TensorFlow's `SpaceToDepth` in NHWC
    /// format; imported graphs may use its other formats. Torch's `pixel_unshuffle` orders the new channels by channel,
    /// then by pixel of the block. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{DType, Graph, Tensor, shape};
    ///
    /// let g = Graph::new();
    /// let pixels = g.constant([[[[1], [2]], [[3], [4]]]])?.space_to_depth(2)?;
    /// let channels = g.constant([[[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]])?.space_to_depth(2)?;
    /// let rows = [[[1], [2], [5], [6]], [[3], [4], [7], [8]], [[9], [10], [13], [14]], [[11], [12], [15], [16]]];
    /// let blocks = g.constant([rows])?.space_to_depth(2)?;
    /// let [pixels, channels, blocks] = g.compile([pixels, channels, blocks])?.run(&[])?;
    /// assert_eq!(pixels, Tensor::from([[[[1, 2, 3, 4]]]]));
    /// assert_eq!(channels, Tensor::from([[[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]]]]));
    /// assert_eq!(blocks, Tensor::from([[[[1, 2, 3, 4], [5, 6, 7, 8]], [[9, 10, 11, 12], [13, 14, 15, 16]]]]));
    ///
    /// let x = g.input("x", DType::F32, shape!["n", 4, 6, "c"])?;
    /// assert_eq!(x.space_to_depth(2)?.shape().to_string(), "[n, 2, 3, 4*c]");
    /// assert_eq!(x.space_to_depth(2)?.depth_to_space(2)?.shape(), x.shape());
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is not 4, `block` is less than 2, or a size is not a multiple of `block`.
    #[doc(alias = "pixel_unshuffle")]
    #[track_caller]
    pub fn space_to_depth(self, block: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).int_attr("block_size", block).finish()
    }

    /// Turns the channels of each pixel into a block of `block` by `block` pixels, row by row: the inverse of
    /// [`Value::space_to_depth`].
    ///
    /// `[n, h, w, block*block*c] -> [n, h*block, w*block, c]`, any dtype. As TensorFlow's `DepthToSpace` in NHWC
    /// format; imported graphs may use its other formats. Torch's `pixel_shuffle` reads the channels in another order:
    /// by channel of the result, then by pixel of the block. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let pixel = g.constant([[[[1, 2, 3, 4]]]])?.depth_to_space(2)?;
    /// let channels = g.constant([[[[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]]]])?.depth_to_space(2)?;
    /// let blocks = g.constant([[[[1, 2, 3, 4], [5, 6, 7, 8]], [[9, 10, 11, 12], [13, 14, 15, 16]]]])?;
    /// let [pixel, channels, blocks] = g.compile([pixel, channels, blocks.depth_to_space(2)?])?.run(&[])?;
    /// assert_eq!(pixel, Tensor::from([[[[1], [2]], [[3], [4]]]]));
    /// assert_eq!(channels, Tensor::from([[[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]]));
    /// let rows = [[[1], [2], [5], [6]], [[3], [4], [7], [8]], [[9], [10], [13], [14]], [[11], [12], [15], [16]]];
    /// assert_eq!(blocks, Tensor::from([rows]));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The rank is not 4, `block` is less than 2, or the number of channels is not a multiple of `block * block`.
    #[doc(alias = "pixel_shuffle")]
    #[track_caller]
    pub fn depth_to_space(self, block: impl IntoParam<'g>) -> Result<Value<'g>> {
        self.graph().op(&BACK).data(self).int_attr("block_size", block).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("space_to_depth", lower)
    .attrs(&[Attribute::int("block_size"), Attribute::str_or("data_format", "NHWC")])
    .operands(&[Operand::Data("input")])
    .shape_fn(shapeflow_shape_fns::array::space_to_depth)
    .dtype_rule(dtype::unary::any)
    .tensorflow(&[TfOp::new("SpaceToDepth")]);

pub(crate) static BACK: OpDef = OpDef::compute("depth_to_space", lower_back)
    .attrs(&[Attribute::int("block_size"), Attribute::str_or("data_format", "NHWC")])
    .operands(&[Operand::Data("input")])
    .shape_fn(shapeflow_shape_fns::array::depth_to_space)
    .dtype_rule(dtype::unary::any)
    .tensorflow(&[TfOp::new("DepthToSpace")]);

/// Returns the block size, the number of the first spatial axis, and the number of the channel axis.
fn layout(cx: &dyn LowerCx) -> (Dim, usize, usize) {
    let block = cx.attrs().int("block_size");
    let channels_first = cx.attrs().str("data_format") != "NHWC";
    let (rows, channels) = if channels_first { (2, 1) } else { (1, 3) };
    (Dim::known(block), rows, channels)
}

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let (block, rows, channels) = layout(cx);
    let (dims, mut read) = (cx.dims(0), index.to_vec());
    if let (Some(depth), Some(channel)) = (dims.get(channels), index.get(channels)) {
        let block_position = channel.clone().floordiv(depth.clone());
        read[channels] = channel.clone().modulo(depth.clone());
        let offset = [block_position.clone().floordiv(block.clone()), block_position.modulo(block.clone())];
        for (axis, offset) in (rows..).zip(offset) {
            read[axis] = index[axis].clone() * block.clone() + offset;
        }
    }
    cx.operand(0, &read)
}

fn lower_back(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let (block, rows, channels) = layout(cx);
    let (dims, mut read) = (cx.output_dims(output), index.to_vec());
    if let (Some(depth), Some(channel), [first, second]) =
        (dims.get(channels), index.get(channels), &index[rows..rows + 2])
    {
        let offset =
            first.clone().modulo(block.clone()) * block.clone() + second.clone().modulo(block.clone());
        read[channels] = offset * depth.clone() + channel.clone();
        read[rows] = first.clone().floordiv(block.clone());
        read[rows + 1] = second.clone().floordiv(block);
    }
    cx.operand(0, &read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Attrs;
    use crate::ops::testing::{run_one, shape_table, tensor};

    shape_table! { DEF, {"block_size": 2},
        "[n, 4, 2, c]" => "[n, 2, 1, 4*c]",
        "i8[n, 4, 3, c]" => error "input must have a multiple of 2 elements along axis 2, got 3",
    }
    shape_table! { back: BACK, {"block_size": 2},
        "[n, h, w, 8]" => "[n, 2*h, 2*w, 2]",
        "[n, h, w, 6]" => error "input must have a multiple of 4 elements along axis 3, got 6",
    }

    #[test]
    fn channels_may_come_first() {
        let attrs = Attrs::new().with("block_size", 2).with("data_format", "NCHW");
        let x = tensor(&[1, 1, 2, 4], &[1, 2, 3, 4, 5, 6, 7, 8]);
        let y = run_one(&DEF, &attrs, std::slice::from_ref(&x));
        assert_eq!(
            (y.sizes(), y.to_vec::<i32>().unwrap()),
            (&[1, 4, 1, 2][..], vec![1, 3, 2, 4, 5, 7, 6, 8])
        );
        assert_eq!(run_one(&BACK, &attrs, &[y]), x);
    }
}
