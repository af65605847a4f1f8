//! Files of others: TensorFlow graphs (feature `graphdef`), npy and npz (feature `npz`).
//!
//! ```
//! # #[cfg(feature = "graphdef")] {
//! use shapeflow::interchange::{ImportOptions, Model};
//! use shapeflow::TensorView;
//!
//! let model = Model::from_text(r#"
//!     node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
//!            attr { key: "shape" value { shape { dim { size: -1 } dim { size: 2 } } } } }
//!     node { name: "y" op: "Relu" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
//!     versions { producer: 1882 }
//! "#)?;
//! let imported = model.import(None, &ImportOptions::new())?;
//! let y = imported.value("y")?;
//! assert_eq!(y.shape().to_string(), "[?, 2]");
//! let exe = imported.graph().compile(y)?;
//! let [y] = exe.run(&[TensorView::new(&[1, 2], &[-1.0f32, 2.0])?])?;
//! assert_eq!(y.to_vec::<f32>()?, [0.0, 2.0]);
//! # }
//! # Ok::<(), shapeflow::Error>(())
//! ```

#[cfg(feature = "graphdef")]
mod constant;
#[cfg(feature = "graphdef")]
mod dtype_number;
#[cfg(feature = "graphdef")]
mod export;
#[cfg(feature = "graphdef")]
mod fields;
#[cfg(feature = "graphdef")]
mod fuzz;
#[cfg(feature = "graphdef")]
mod import;
#[cfg(feature = "graphdef")]
mod imported;
#[cfg(feature = "graphdef")]
mod limits;
#[cfg(feature = "graphdef")]
mod model;
#[cfg(feature = "graphdef")]
mod nearest;
#[cfg(feature = "npz")]
mod npy;
#[cfg(feature = "npz")]
mod npz;
#[cfg(feature = "graphdef")]
mod options;
#[cfg(feature = "graphdef")]
mod proto;
mod raw;
#[cfg(feature = "graphdef")]
mod shape;
#[cfg(feature = "graphdef")]
mod signature;
#[cfg(feature = "graphdef")]
mod text_parse;
#[cfg(feature = "graphdef")]
mod text_print;

#[cfg(feature = "graphdef")]
pub use export::{tensor_names, to_graphdef, to_pbtxt};
#[cfg(feature = "graphdef")]
#[doc(hidden)]
pub use fuzz::fuzz;
#[cfg(feature = "graphdef")]
pub use imported::{Imported, ImportedNode};
#[cfg(feature = "graphdef")]
pub use limits::Limits;
#[cfg(feature = "graphdef")]
pub use model::{Model, Signature, read_model};
#[cfg(feature = "npz")]
pub use npy::{read_npy, write_npy};
#[cfg(feature = "npz")]
pub use npz::{as_dtype, read_npz, read_npz_bytes, write_npz, write_npz_bytes};
#[cfg(feature = "graphdef")]
pub use options::ImportOptions;

/// An attribute of ours that TensorFlow's op does not have, below this prefix.
#[cfg(feature = "graphdef")]
const OWN_ATTR: &str = "_shapeflow_attr_";
/// A parameter that is an attribute here and an input there, below this prefix.
#[cfg(feature = "graphdef")]
const OWN_PARAM: &str = "_shapeflow_param_";
/// Which operand each input of an op of ours is.
#[cfg(feature = "graphdef")]
const OWN_OPERANDS: &str = "_shapeflow_operands";
/// Attributes that TensorFlow needs to be told and we do not.
#[cfg(feature = "graphdef")]
const IMPLIED: &str = "_shapeflow_implied";
/// A node that is there for TensorFlow alone.
#[cfg(feature = "graphdef")]
const AUXILIARY: &str = "_shapeflow_auxiliary";
/// Operands that were left out, and that TensorFlow must be told.
#[cfg(feature = "graphdef")]
const ABSENT: &str = "_shapeflow_absent";
