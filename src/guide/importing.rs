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
//! TensorFlow 2 saves the layers of a model as functions. A tensor in a function has the name `CALL/NODE`:
//! [`Imported::function_nodes`](crate::interchange::Imported::function_nodes) lists the names, and
//! [`Imported::value`](crate::interchange::Imported::value) takes them. A run can thus read a hidden layer:
//!
//! ```
//! use shapeflow::interchange::{SavedModel, read_npz};
//!
//! let folder = "tests/data/saved_models/wide_and_deep";
//! let served = SavedModel::load(folder)?.signature("serving_default")?;
//! let hidden = served.function_nodes().find(|node| node.op == "Relu").expect("the model has a hidden layer").name;
//! assert_eq!(hidden, "StatefulPartitionedCall_1/StatefulPartitionedCall/Relu");
//! let exe = served.graph().compile([("hidden", served.value(hidden)?), ("score", served.value("score")?)])?;
//! let recorded = read_npz(format!("{folder}/serving_default.npz"))?;
//! let results = exe.run_named(&[("examples", recorded.tensor("in_examples")?.view())])?;
//! assert_eq!(results.tensor("hidden")?.sizes(), [4, 8]);
//! # Ok::<(), shapeflow::Error>(())
//! ```
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
//! A SavedModel keeps its weights in a checkpoint. The nodes that read them are `ReadVariableOp`; the import knows
//! their values, which [`Value::static_value`](crate::Value::static_value) returns:
//!
//! ```
//! use shapeflow::interchange::SavedModel;
//!
//! let served = SavedModel::load("tests/data/saved_models/layers")?.signature("serving_default")?;
//! let mut shapes = Vec::new();
//! for node in served.function_nodes().filter(|node| node.op == "ReadVariableOp") {
//!     let weight = served.value(node.name)?.static_value().expect("no run changes the variable");
//!     shapes.push(weight.sizes().to_vec());
//! }
//! shapes.sort();
//! // The model has a counter, a bias and two matrices.
//! assert_eq!(shapes, [vec![], vec![2], vec![3, 4], vec![4, 2]]);
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Models with state
//!
//! A graph has no state, so a run changes no variable. A stateful recurrent layer, a training step, or a layer that draws
//! random numbers changes variables. [`ImportOptions::stateful`](crate::interchange::ImportOptions::stateful) makes
//! these variables inputs and results of the graph, and a [`Session`](crate::interchange::Session) gives each run the
//! values that the run before has left. A clone of a session has variables of its own: a service keeps one for each
//! stream, and all share the compiled code.
//!
//! ```
//! use shapeflow::Tensor;
//! use shapeflow::interchange::{ImportOptions, SavedModel};
//!
//! let model = SavedModel::load("tests/data/saved_models/stateful_layers")?;
//! let imported = model.signature_with("listen", &ImportOptions::new().stateful(true))?;
//! let mut alice = imported.session()?;
//! let mut bob = alice.clone();
//! let frames = Tensor::full(&[2, 4, 3], 0.5f32)?;
//! let first = alice.run(&[("frames", frames.view())])?;
//! let second = alice.run(&[("frames", frames.view())])?;
//! assert_ne!(first.tensor("y")?, second.tensor("y")?);
//! assert_eq!(first.tensor("y")?, bob.run(&[("frames", frames.view())])?.tensor("y")?);
//! # Ok::<(), shapeflow::Error>(())
//! ```
//!
//! # Export
//!
//! [`to_graphdef`](crate::interchange::to_graphdef) and [`to_pbtxt`](crate::interchange::to_pbtxt) write a graph for
//! TensorFlow, TensorBoard and Netron. [`Model::import`](crate::interchange::Model::import) reads it back.
//! Branches and loops become the functions that TensorFlow's `If`, `Case` and `While` call. A loop over rows, as of
//! [`Graph::scan`](crate::Graph::scan), becomes a `While` that fills tensor lists. An op that TensorFlow lacks, such as
//! a sort, becomes a call of a function of TensorFlow's ops;
//! [`ops_missing_in_tensorflow`](crate::interchange::ops_missing_in_tensorflow) returns the ops without such a
//! function. [`Exported`](crate::interchange::Exported) has the graph and these ops from one export.
//!
//! A compiled program cannot be saved: its code is made for the processor that runs it. A program stores its graph, or
//! the code that builds it, and compiles when it starts. A small graph compiles in milliseconds; `benches/README.md`
//! has figures.
