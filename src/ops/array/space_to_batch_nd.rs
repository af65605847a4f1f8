//! `space_to_batch_nd` and `batch_to_space_nd`: move blocks of the spatial axes into the batch axis, and back.

use shapeflow_shape_fns::{Attribute, Dim};

use crate::dtype;
use crate::error::Result;
use crate::expr::{Expr, InRange, Index, LowerCx};
use crate::graph::{IntoParam, Value};
use crate::op::{OpDef, Operand, TfOp};

impl<'g> Value<'g> {
    /// Pads the spatial axes, which follow the batch axis, with zeros and splits each into blocks. The elements at one
    /// position of all blocks form a new batch member.
    ///
    /// `[b, s0, …, r..], block_shape [k0, …] -> [k0*…*b, (paddings[0] + s0 + paddings[1])/k0, …, r..]`, any dtype but
    /// string and variant. `paddings` holds one pair per spatial axis: the number of zeros before and the number after.
    /// As a value, it has shape `[k, 2]` for `k` block sizes. As TensorFlow's `SpaceToBatchND`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let pixels = g.constant([[[[1], [2]], [[3], [4]]]])?;
    /// let channels = g.constant([[[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]])?;
    /// let image = g.range(1, 17, 1)?.reshape([1, 4, 4, 1])?;
    /// let images = g.range(1, 17, 1)?.reshape([2, 2, 4, 1])?;
    /// let blocks = [
    ///     pixels.space_to_batch_nd([2, 2], [0, 0, 0, 0])?,
    ///     channels.space_to_batch_nd([2, 2], [0, 0, 0, 0])?,
    ///     image.space_to_batch_nd([2, 2], [0, 0, 0, 0])?,
    ///     // The columns get two zeros before them.
    ///     images.space_to_batch_nd([2, 2], [0, 0, 2, 0])?,
    /// ];
    /// let [pixels, channels, image, images] = g.compile(blocks)?.run(&[])?;
    /// assert_eq!(pixels, Tensor::from([[[[1]]], [[[2]]], [[[3]]], [[[4]]]]));
    /// assert_eq!(channels, Tensor::from([[[[1, 2, 3]]], [[[4, 5, 6]]], [[[7, 8, 9]]], [[[10, 11, 12]]]]));
    /// assert_eq!(image.sizes(), [4, 2, 2, 1]);
    /// assert_eq!(image.to_vec::<i64>()?, [1, 3, 9, 11, 2, 4, 10, 12, 5, 7, 13, 15, 6, 8, 14, 16]);
    /// assert_eq!(images.sizes(), [8, 1, 3, 1]);
    /// assert_eq!(images.to_vec::<i64>()?[..12], [0, 1, 3, 0, 9, 11, 0, 2, 4, 0, 10, 12]);
    /// assert_eq!(images.to_vec::<i64>()?[12..], [0, 5, 7, 0, 13, 15, 0, 6, 8, 0, 14, 16]);
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A block size is less than 1, `paddings` does not have one pair per block size, or a padded size is not a
    /// multiple of its block size.
    #[doc(alias = "space_to_batch")]
    #[track_caller]
    pub fn space_to_batch_nd(
        self,
        block_shape: impl IntoParam<'g>,
        paddings: impl IntoParam<'g>,
    ) -> Result<Value<'g>> {
        self.graph().op(&DEF).data(self).size("block_shape", block_shape).size("paddings", paddings).finish()
    }

    /// Moves batch members back into blocks of the spatial axes: the inverse of [`Value::space_to_batch_nd`].
    ///
    /// `[b, s0, …, r..], block_shape [k0, …] -> [b/(k0*…), s0*k0 - crops[0] - crops[1], …, r..]`, any dtype but
    /// string and variant. `crops` holds one pair per spatial axis: the number of elements removed at the start and at
    /// the end. As TensorFlow's `BatchToSpaceND`. Fuses into kernels.
    ///
    /// ```
    /// use shapeflow::{Graph, Tensor};
    ///
    /// let g = Graph::new();
    /// let pixels = g.constant([[[[1]]], [[[2]]], [[[3]]], [[[4]]]])?;
    /// let channels = g.constant([[[[1, 2, 3]]], [[[4, 5, 6]]], [[[7, 8, 9]]], [[[10, 11, 12]]]])?;
    /// let image = g.constant([1, 3, 9, 11, 2, 4, 10, 12, 5, 7, 13, 15, 6, 8, 14, 16])?;
    /// let images = [0, 1, 3, 0, 9, 11, 0, 2, 4, 0, 10, 12, 0, 5, 7, 0, 13, 15, 0, 6, 8, 0, 14, 16];
    /// let joined = [
    ///     pixels.batch_to_space_nd([2, 2], [0, 0, 0, 0])?,
    ///     channels.batch_to_space_nd([2, 2], [0, 0, 0, 0])?,
    ///     image.reshape([4, 2, 2, 1])?.batch_to_space_nd([2, 2], [0, 0, 0, 0])?,
    ///     // The first two columns are removed.
    ///     g.constant(images)?.reshape([8, 1, 3, 1])?.batch_to_space_nd([2, 2], [0, 0, 2, 0])?,
    /// ];
    /// let [pixels, channels, image, images] = g.compile(joined)?.run(&[])?;
    /// assert_eq!(pixels, Tensor::from([[[[1], [2]], [[3], [4]]]]));
    /// assert_eq!(channels, Tensor::from([[[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]]));
    /// let numbers: Vec<i32> = (1..17).collect();
    /// assert_eq!((image.sizes(), image.to_vec()?), (&[1, 4, 4, 1][..], numbers.clone()));
    /// assert_eq!((images.sizes(), images.to_vec()?), (&[2, 2, 4, 1][..], numbers));
    /// # Ok::<(), shapeflow::Error>(())
    /// ```
    ///
    /// # Errors
    /// A block size is less than 1, `crops` does not have one pair per block size, the crops exceed a size, or the
    /// batch is not a multiple of the product of the block sizes.
    #[doc(alias = "batch_to_space")]
    #[track_caller]
    pub fn batch_to_space_nd(
        self,
        block_shape: impl IntoParam<'g>,
        crops: impl IntoParam<'g>,
    ) -> Result<Value<'g>> {
        self.graph().op(&BACK).data(self).size("block_shape", block_shape).size("crops", crops).finish()
    }
}

pub(crate) static DEF: OpDef = OpDef::compute("space_to_batch_nd", lower)
    .attrs(&[Attribute::int("block_size").optional()])
    .operands(&[Operand::Data("input"), Operand::Size("block_shape"), Operand::Size("paddings")])
    .shape_fn(shapeflow_shape_fns::array::space_to_batch)
    .dtype_rule(dtype::unary::fixed)
    .tensorflow(&[
        TfOp::new("SpaceToBatchND").pairs(&["paddings"]),
        TfOp::new("SpaceToBatch").pairs(&["paddings"]),
    ]);

pub(crate) static BACK: OpDef = OpDef::compute("batch_to_space_nd", lower_back)
    .attrs(&[Attribute::int("block_size").optional()])
    .operands(&[Operand::Data("input"), Operand::Size("block_shape"), Operand::Size("crops")])
    .shape_fn(shapeflow_shape_fns::array::batch_to_space)
    .dtype_rule(dtype::unary::fixed)
    .tensorflow(&[
        TfOp::new("BatchToSpaceND").pairs(&["crops"]),
        TfOp::new("BatchToSpace").pairs(&["crops"]),
    ]);

fn lower(cx: &mut dyn LowerCx, _output: usize, index: &[Index]) -> Expr {
    let (blocks, before) = (cx.derived("block_shape"), cx.derived("before"));
    if blocks.is_empty() {
        return cx.operand(0, index);
    }
    let (dims, mut read) = (cx.dims(0), index.to_vec());
    let (batch, batch_index) = (&dims[0], &index[0]);
    read[0] = batch_index.clone().modulo(batch.clone());
    // The position in a block, in row-major order.
    let mut block_offset = batch_index.clone().floordiv(batch.clone());
    let mut inside = Vec::new();
    for (number, (block, before)) in blocks.iter().zip(&before).enumerate().rev() {
        let axis = number + 1;
        let offset =
            if number == 0 { block_offset.clone() } else { block_offset.clone().modulo(block.clone()) };
        block_offset = block_offset.floordiv(block.clone());
        read[axis] = index[axis].clone() * block.clone() + offset - Index::constant(before.clone());
        inside.push(InRange { index: read[axis].clone(), low: Dim::known(0), high: dims[axis].clone() });
    }
    let element = cx.operand(0, &read);
    let zero = Expr::zero(cx.dtype(0));
    Expr::case(vec![(inside, element)], zero)
}

fn lower_back(cx: &mut dyn LowerCx, output: usize, index: &[Index]) -> Expr {
    let (blocks, before) = (cx.derived("block_shape"), cx.derived("before"));
    if blocks.is_empty() {
        return cx.operand(0, index);
    }
    let (dims, mut read) = (cx.output_dims(output), index.to_vec());
    let (batch, batch_index) = (&dims[0], &index[0]);
    let mut member = Index::from(0);
    for (number, (block, before)) in blocks.iter().zip(&before).enumerate() {
        let axis = number + 1;
        let position = index[axis].clone() + Index::constant(before.clone());
        member = member * block.clone() + position.clone().modulo(block.clone());
        read[axis] = position.floordiv(block.clone());
    }
    read[0] = member * batch.clone() + batch_index.clone();
    cx.operand(0, &read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::shape_table;

    shape_table! { DEF, {"block_shape": [2, 3], "paddings": [1, 1, 0, 0]},
        "[b, 4, 6, c]" => "[6*b, 3, 2, c]",
        "[b, 4, 5, c]" => error "a padded size must be a multiple of the block's size, got 5 and 3",
        "string[b, 4, 6]" => error "the element type must be any but string",
    }
    shape_table! { fed: DEF, {},
        "[b, s, c]; block_shape=i32[1]; paddings=i64[1, 2]" => "[?0*b, floordiv(?+?+s, ?0), c]",
    }
    shape_table! { back: BACK, {"block_shape": [2], "crops": [1, 0]},
        "i8[4*b, s]" => "i8[2*b, 2*s-1]",
        "string[4, 4]" => error "the element type must be any but string and variant, got string",
        "[3, s]" => error "the batch must be a multiple of the product of block sizes, got 3 and 2",
    }
}
