//! Importing: TensorFlow models, weights and data.
//!
//! [`read_model`](crate::interchange::read_model) reads a GraphDef or a SavedModel.
//! [`Model::import`](crate::interchange::Model::import) builds a graph, with the names of the model.
//!
//! ```
//! use shapeflow::interchange::{ImportOptions, read_model, read_npz};
//!
//! let model = read_model("tests/data/mlp.pb")?;
//! let imported = model.import(Some(&["class"]), &ImportOptions::new())?;
//! let class = imported.value("class")?;
//! assert_eq!(imported.graph().dim_names().shape(&class.shape()), "[x.0]");
//! let exe = imported.graph().compile(class)?;
//! let feeds = read_npz("tests/data/mlp_feeds.npz")?;
//! let [class] = exe.run(&[feeds.tensor("x")?.view()])?;
//! assert_eq!(class.sizes(), [5]);
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! Without fetches, the import builds every node, and a node that inference refuses keeps its error:
//! [`Imported::check`](crate::interchange::Imported::check) returns an error that lists all of these errors. A
//! signature of a SavedModel names the inputs and outputs of the model:
//! [`Imported::outputs`](crate::interchange::Imported::outputs). The command `shapeflow check` tells for each op of a
//! model whether kernels, a loop or host code compute it.
//!
//! # Weights
//!
//! [`map_safetensors`](crate::interchange::map_safetensors) maps a safetensors file into memory;
//! [`read_npz`](crate::interchange::read_npz) reads an npz file. Both give a [`TensorMap`](crate::TensorMap), and a
//! tensor of the map becomes a constant.
//!
//! ```
//! use shapeflow::interchange::{read_safetensors_bytes, write_safetensors_bytes};
//! use shapeflow::{DType, Graph, Tensor, shape};
//!
//! let bytes = write_safetensors_bytes([("layer.weight", &Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]))])?;
//! let weights = read_safetensors_bytes(&bytes)?;
//! let g = Graph::new();
//! let x = g.input("x", DType::F32, shape!["n", 2])?;
//! let w = g.constant(weights.tensor("layer.weight")?)?.named("layer.weight");
//! assert_eq!(x.matmul(w)?.shape().to_string(), "[n, 2]");
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Export
//!
//! [`to_graphdef`](crate::interchange::to_graphdef) and [`to_pbtxt`](crate::interchange::to_pbtxt) write a graph for
//! TensorFlow, TensorBoard and Netron.
