//! `OpDefinitions`: op definitions that an import makes from the definitions of a registry.

use std::collections::HashMap;

use shapeflow_shape_fns::{Attr, Attrs, DType, Registered};

use crate::op::{OpDef, OpRef, TfOp};

/// An op without semantics. The attributes `dtypes` and `shapes` give the dtypes and shapes of its outputs.
static OPAQUE: OpDef = OpDef::absent("opaque", None)
    .outputs(|attrs, _| declared_dtypes(attrs).len())
    .dtype_rule(|_, attrs| Ok(declared_dtypes(attrs).to_vec()))
    .shape_fn(|cx| {
        if let Some(Attr::Shapes(shapes)) = cx.attr("shapes") {
            for (output, shape) in shapes.iter().enumerate() {
                let shape = cx.table().import(shape);
                cx.set_output(output, shape);
            }
        }
        Ok(())
    });

/// The op definitions that one import makes in addition to the definitions of its registry.
#[derive(Default)]
pub(super) struct OpDefinitions {
    /// Copies of definitions for op types of TensorFlow that have a shape function of their own. The copy has this
    /// shape function. The key is the name of the definition and the op type.
    adapted: HashMap<(&'static str, &'static str), OpRef>,
    /// Definitions without a body, which infer shapes only, by op type and by the reason why they have no body.
    shapes_only: HashMap<(&'static str, Option<String>), OpRef>,
}

impl OpDefinitions {
    /// Returns the definition to use for an op type of TensorFlow that `def` implements. If `spelling` says that the op
    /// type has a shape function of its own, the result is a copy of `def` with the shape function of `row`. Otherwise
    /// the result is `def`. The shape function of `def` may be stricter than TensorFlow's shape function: it also
    /// refuses what only TensorFlow's kernel refuses.
    pub(super) fn adapted(&mut self, def: &OpRef, spelling: &TfOp, row: &'static Registered) -> OpRef {
        if !spelling.has_own_shape_fn {
            return def.clone();
        }
        let adapted = || OpRef::from(std::sync::Arc::new(OpDef::clone(def).shape_fn(row.shape_fn)));
        self.adapted.entry((def.name(), row.op)).or_insert_with(adapted).clone()
    }

    /// Returns a definition that infers shapes but has no body. If a definition with a body exists, but refuses the
    /// dtypes of the call, `refusal` is the message of this error.
    pub(super) fn shapes_only(&mut self, row: &'static Registered, refusal: Option<&str>) -> OpRef {
        let create = || {
            let def = OpDef::absent(row.op, Some(row.operands)).shape_fn(row.shape_fn);
            let def = def
                .outputs(|attrs, _| declared_dtypes(attrs).len())
                .dtype_rule(|_, attrs| Ok(declared_dtypes(attrs).to_vec()));
            let def = match refusal {
                Some(message) => def.refused_because(message),
                None => def,
            };
            OpRef::from(std::sync::Arc::new(def))
        };
        self.shapes_only.entry((row.op, refusal.map(str::to_string))).or_insert_with(create).clone()
    }

    /// Returns the op without semantics.
    pub(super) fn opaque() -> OpRef {
        OpRef::from(&OPAQUE)
    }
}

/// Returns the output dtypes of a node without a body: its attribute `dtypes`.
fn declared_dtypes(attrs: &Attrs) -> &[DType] {
    match attrs.get("dtypes") {
        Some(Attr::DTypes(dtypes)) => dtypes,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use crate::Registry;

    /// Op types whose definition has a shape function that also refuses what only TensorFlow's kernel refuses.
    const STRICTER: [&str; 65] = [
        "AsString",
        "Bucketize",
        "CropAndResize",
        "CropAndResizeGradBoxes",
        "CropAndResizeGradImage",
        "DataFormatVecPermute",
        "DecodeCSV",
        "Dequantize",
        "Dilation2D",
        "DrawBoundingBoxes",
        "DrawBoundingBoxesV2",
        "ExtractImagePatches",
        "FakeQuantWithMinMaxArgs",
        "FakeQuantWithMinMaxArgsGradient",
        "FakeQuantWithMinMaxVars",
        "FakeQuantWithMinMaxVarsGradient",
        "FakeQuantWithMinMaxVarsPerChannel",
        "FakeQuantWithMinMaxVarsPerChannelGradient",
        "FractionalAvgPool",
        "FractionalMaxPool",
        "FusedBatchNormV3",
        "GatherNd",
        "ImageProjectiveTransformV2",
        "ImageProjectiveTransformV3",
        "InplaceAdd",
        "InplaceSub",
        "InplaceUpdate",
        "MirrorPad",
        "QuantizedResizeBilinear",
        "Range",
        "RequantizePerChannel",
        "ResizeArea",
        "ResizeBicubic",
        "ResizeBicubicGrad",
        "ResizeBilinear",
        "ResizeBilinearGrad",
        "ResizeNearestNeighbor",
        "ResizeNearestNeighborGrad",
        "ReverseSequence",
        "ScaleAndTranslate",
        "ScatterNd",
        "ScatterNdNonAliasingAdd",
        "SparseCross",
        "StatelessSampleDistortedBoundingBox",
        "StaticRegexFullMatch",
        "StaticRegexReplace",
        "StringLength",
        "StringLower",
        "StringNGrams",
        "StringToHashBucket",
        "StringToHashBucketFast",
        "StringToHashBucketStrong",
        "StringUpper",
        "Substr",
        "TensorScatterAdd",
        "TensorScatterMax",
        "TensorScatterMin",
        "TensorScatterSub",
        "TensorScatterUpdate",
        "TensorStridedSliceUpdate",
        "TridiagonalSolve",
        "UnicodeDecode",
        "UnicodeDecodeWithOffsets",
        "UnicodeEncode",
        "UnicodeTranscode",
    ];

    #[test]
    fn spellings_say_where_their_shape_functions_differ() {
        for def in Registry::builtin().iter() {
            // A composite op has no shape function: its shapes follow from the ops that it consists of.
            let own = def.stricter_shape_function().or_else(|| def.shape_function());
            let Some(own) = own else { continue };
            for spelling in def.tensorflow_ops() {
                let op_type = spelling.op_type;
                let row = shapeflow_shape_fns::lookup(op_type).unwrap();
                let differs = !std::ptr::fn_addr_eq(own, row.shape_fn);
                let is_said = spelling.has_own_shape_fn || STRICTER.contains(&op_type);
                assert!(is_said || !differs, "{op_type} as {}", def.name());
            }
        }
    }
}
