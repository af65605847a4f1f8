//! Files of other programs: TensorFlow graphs (feature `graphdef`), npy and npz (feature `npz`), safetensors (feature
//! `safetensors`).
//!
//! In: `read_model` and `Model` read a GraphDef or a SavedModel, binary or text, and `Model::import` builds a graph
//! from it; `SavedModel` builds the graph of a signature, with the variables of the checkpoint. `read_npz`, `read_npy`
//! and `map_safetensors` read tensors. Out: `to_graphdef` and `to_pbtxt` write a graph for TensorFlow, TensorBoard and
//! Netron; `write_npz`, `write_npy` and `write_safetensors` write tensors. Users and the command line call this module.
//!
//! Nothing here runs a graph. Nothing here knows an op by its name, except structural ops, which the import handles
//! itself: placeholders, constants, calls, branches, loops, tensor lists, assertions, variables and lookup tables. For
//! all other ops, the op registry has the TensorFlow spellings, and the table `signatures.tsv` has TensorFlow's
//! signatures.
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
mod checkpoint;
#[cfg(feature = "graphdef")]
mod constant;
#[cfg(feature = "graphdef")]
mod export;
#[cfg(feature = "graphdef")]
mod fields;
#[cfg(feature = "graphdef")]
mod fuzz;
#[cfg(feature = "graphdef")]
mod ignored_attrs;
#[cfg(feature = "graphdef")]
mod import;
#[cfg(feature = "graphdef")]
mod imported;
#[cfg(feature = "graphdef")]
mod limits;
#[cfg(feature = "graphdef")]
mod model;
#[cfg(feature = "graphdef")]
mod node_usage;
#[cfg(feature = "npz")]
mod npy;
#[cfg(feature = "npz")]
mod npz;
#[cfg(feature = "graphdef")]
mod options;
#[cfg(feature = "graphdef")]
mod own_ops;
#[cfg(feature = "graphdef")]
mod proto;
mod raw;
#[cfg(feature = "safetensors")]
mod safetensors;
#[cfg(feature = "graphdef")]
mod saved_model;
#[cfg(feature = "graphdef")]
mod saved_objects;
#[cfg(feature = "graphdef")]
mod saved_state;
#[cfg(feature = "graphdef")]
mod session;
#[cfg(feature = "graphdef")]
mod shape;
#[cfg(feature = "graphdef")]
mod signature;
#[cfg(feature = "graphdef")]
mod signature_names;
#[cfg(feature = "graphdef")]
mod state_variable;
#[cfg(feature = "graphdef")]
mod text_number;
#[cfg(feature = "graphdef")]
mod text_parse;
#[cfg(feature = "graphdef")]
mod text_print;
#[cfg(feature = "graphdef")]
mod usage;
#[cfg(feature = "graphdef")]
mod vocabulary;

#[cfg(feature = "graphdef")]
pub use export::{Exported, ops_missing_in_tensorflow, tensor_names, to_graphdef, to_pbtxt};
#[cfg(feature = "graphdef")]
#[doc(hidden)]
pub use fuzz::{fuzz, fuzz_checkpoint};
#[cfg(feature = "graphdef")]
pub use ignored_attrs::IgnoredAttr;
#[cfg(feature = "graphdef")]
pub use import::import_ops;
#[cfg(feature = "graphdef")]
pub use imported::{Imported, ImportedNode};
#[cfg(feature = "graphdef")]
pub use limits::Limits;
#[cfg(feature = "graphdef")]
pub use model::{Model, Signature, read_model};
#[cfg(feature = "graphdef")]
pub use node_usage::ComputedBy;
#[cfg(feature = "npz")]
pub use npy::{read_npy, write_npy};
#[cfg(feature = "npz")]
pub use npz::{as_dtype, read_npz, read_npz_bytes, write_npz, write_npz_bytes};
#[cfg(feature = "graphdef")]
pub use options::ImportOptions;
#[cfg(feature = "safetensors")]
pub use safetensors::{map_safetensors, read_safetensors_bytes, write_safetensors, write_safetensors_bytes};
#[cfg(feature = "graphdef")]
pub use saved_model::SavedModel;
#[cfg(feature = "graphdef")]
pub use session::Session;
#[cfg(feature = "graphdef")]
pub use state_variable::StateVariable;
#[cfg(feature = "graphdef")]
pub use usage::OpUsage;

// The export adds the following attributes to nodes, and the import reads them. TensorFlow ignores them.

/// Prefix of the names of attributes that the op has in this crate and lacks in TensorFlow.
#[cfg(feature = "graphdef")]
const OWN_ATTR: &str = "_shapeflow_attr_";
/// Prefix of the names of parameters that are attributes in this crate and inputs in TensorFlow.
#[cfg(feature = "graphdef")]
const OWN_PARAM: &str = "_shapeflow_param_";
/// Attribute of a node whose op TensorFlow lacks. Integer `i` of its list is the position, in the op's declaration, of
/// the operand that input `i` belongs to.
#[cfg(feature = "graphdef")]
const OWN_OPERANDS: &str = "_shapeflow_operands";
/// Attribute of a call of a function: the name of the op in this crate that the function computes. The reader of a
/// model replaces the call by the op.
#[cfg(feature = "graphdef")]
const OWN_OP: &str = "_shapeflow_op";
/// Attribute that lists type attributes of the node which this crate infers. TensorFlow requires them in the file.
#[cfg(feature = "graphdef")]
const IMPLIED: &str = "_shapeflow_implied";
/// Attribute that marks an auxiliary node: it computes an input that TensorFlow requires, where this crate has an
/// attribute. The import skips the node.
#[cfg(feature = "graphdef")]
const AUXILIARY: &str = "_shapeflow_auxiliary";
/// Attribute of an auxiliary node: whether the import reads input 0 of the node in place of the node.
#[cfg(feature = "graphdef")]
const FORWARDS: &str = "_shapeflow_forwards";
/// Attribute with the shapes of a node's outputs, which TensorFlow, TensorBoard and Netron read.
#[cfg(feature = "graphdef")]
const OUTPUT_SHAPES: &str = "_output_shapes";
/// Attribute that lists operands which the node omits in this crate. TensorFlow requires them as inputs.
#[cfg(feature = "graphdef")]
const ABSENT: &str = "_shapeflow_absent";
/// Attribute of a loop: the maximum number of its iterations.
#[cfg(feature = "graphdef")]
const LIMIT: &str = "_shapeflow_limit";
