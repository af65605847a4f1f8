//! Files of other programs: TensorFlow graphs (feature `graphdef`), npy and npz (feature `npz`).
//!
//! In: `read_model` and `Model` read a GraphDef or a SavedModel, binary or text, and `Model::import` builds a graph
//! from it. `read_npz` and `read_npy` read tensors. Out: `to_graphdef` and `to_pbtxt` write a graph for TensorFlow,
//! TensorBoard and Netron; `write_npz` and `write_npy` write tensors. Users and the command line call this module.
//!
//! Nothing here runs a graph. Nothing here knows single ops, except those that structure a graph: the op registry has
//! the TensorFlow spellings, and the table `signatures.tsv` has TensorFlow's signatures.
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
mod text_number;
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

/// Prefix of attributes that this crate's op has and TensorFlow's op lacks.
#[cfg(feature = "graphdef")]
const OWN_ATTR: &str = "_shapeflow_attr_";
/// Prefix of parameters that are attributes in this crate and inputs in TensorFlow.
#[cfg(feature = "graphdef")]
const OWN_PARAM: &str = "_shapeflow_param_";
/// Attribute that gives the position of the declared operand for each input of an op that TensorFlow lacks.
#[cfg(feature = "graphdef")]
const OWN_OPERANDS: &str = "_shapeflow_operands";
/// Attribute that lists the type attributes that TensorFlow requires and this crate infers.
#[cfg(feature = "graphdef")]
const IMPLIED: &str = "_shapeflow_implied";
/// Attribute that marks a node that only TensorFlow needs.
#[cfg(feature = "graphdef")]
const AUXILIARY: &str = "_shapeflow_auxiliary";
/// Attribute that lists the operands that this crate's node omits and TensorFlow requires.
#[cfg(feature = "graphdef")]
const ABSENT: &str = "_shapeflow_absent";
