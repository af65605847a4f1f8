//! SavedModels that TensorFlow wrote, against the results that TensorFlow recorded for them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use shapeflow::interchange::{ComputedBy, ImportOptions, SavedModel, read_model, read_npz};
use shapeflow::{DType, Executable, LoopOptions, Results, TensorView};

pub(crate) fn folder(model: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/saved_models").join(model)
}

fn compiled(model: &str, signature: &str) -> Executable {
    let served = SavedModel::load(folder(model)).unwrap().signature(signature).unwrap();
    served.check().unwrap();
    served.graph().compile(&served.outputs().unwrap()[..]).unwrap()
}

/// Runs recorded cases of a signature, with one executable for all of them.
fn check(model: &str, signature: &str, cases: &[&str]) -> Executable {
    let exe = compiled(model, signature);
    for case in cases {
        check_case(model, case, |feeds| exe.run_named(feeds).unwrap());
    }
    exe
}

/// Compares the results of a run with the results that TensorFlow recorded.
pub(crate) fn check_case(model: &str, case: &str, run: impl FnOnce(&[(&str, TensorView<'_>)]) -> Results) {
    let tensors = read_npz(folder(model).join(format!("{case}.npz"))).unwrap();
    let with = |prefix: &'static str| {
        tensors.iter().filter_map(move |(name, tensor)| Some((name.strip_prefix(prefix)?, tensor)))
    };
    let feeds: Vec<(&str, TensorView<'_>)> =
        with("in_").map(|(name, tensor)| (name, tensor.view())).collect();
    let results = run(&feeds);
    assert_eq!(results.iter().count(), with("out_").count(), "{model} {case}");
    for (name, expected) in with("out_") {
        let got = results.tensor(name).unwrap();
        let same = got.dtype() == expected.dtype()
            && got.sizes() == expected.sizes()
            && (got == expected || got.dtype().is_float() && got.allclose(expected, 1e-6, 1e-6).is_ok());
        assert!(same, "{model} {case} {name}: expected {expected}, got {got}");
    }
}

#[test]
fn signatures_share_variables_and_name_inputs_and_outputs() {
    let exe = check("layers", "serving_default", &["serving_default", "serving_default_2"]);
    assert_eq!(exe.stats().compiles.len(), 1);
    check("layers", "scale", &["scale"]);
    let exe = compiled("layers", "scale");
    let names = |ports: &[shapeflow::Port]| ports.iter().map(|port| port.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(exe.inputs()), ["a", "b"]);
    assert_eq!(names(exe.outputs()), ["rows", "y"]);
}

#[test]
fn rows_of_variables_are_gathered() {
    check("embedding", "serving_default", &["serving_default"]);
}

#[test]
fn variables_of_one_name_have_their_own_values() {
    check("equal_names", "serving_default", &["serving_default"]);
}

#[test]
fn reference_variables_partitions_and_local_variables_have_their_values() {
    check("first_version", "serving_default", &["serving_default"]);
}

#[test]
fn tables_of_files_and_constants_are_read() {
    check("tables", "serving_default", &["serving_default", "serving_default_2"]);
}

#[test]
fn vocabulary_files_in_a_collection_are_read() {
    check("first_tables", "serving_default", &["serving_default"]);
}

#[test]
fn a_table_of_a_saved_model_that_is_not_filled_is_refused() {
    let source = folder("first_tables");
    let target = std::env::temp_dir().join(format!("shapeflow-unfilled-{}", std::process::id()));
    std::fs::create_dir_all(target.join("variables")).unwrap();
    for name in ["variables/variables.index", "variables/variables.data-00000-of-00001"] {
        std::fs::copy(source.join(name), target.join(name)).unwrap();
    }
    let bytes = std::fs::read(source.join("saved_model.pb")).unwrap();
    let refused = |from: &str, to: &str| {
        let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
        let mut bytes = bytes.clone();
        bytes[at..at + from.len()].copy_from_slice(to.as_bytes());
        std::fs::write(target.join("saved_model.pb"), bytes).unwrap();
        let served = SavedModel::load(&target).unwrap().signature("serving_default").unwrap();
        served.check().unwrap_err().to_string()
    };
    // No op initializes the model.
    let error = refused("saved_model_main_op", "saved_model_main_oq");
    assert!(error.contains("the op that initializes the model must fill the table"), "{error}");
    // The vocabulary file is missing, then it is no asset.
    let error = refused("saved_model_main_op", "saved_model_main_op");
    assert!(error.contains("words.txt"), "{error}");
    let error = refused("saved_model_assets", "saved_model_assetz");
    assert!(error.contains("must be an asset of the model"), "{error}");
    std::fs::remove_dir_all(&target).unwrap();
}

#[test]
fn sequence_examples_are_parsed_without_the_attributes_that_have_their_defaults() {
    check("sequences", "serving_default", &["serving_default", "serving_default_2"]);
}

#[test]
fn saved_buckets_of_a_table_that_are_empty_are_not_read() {
    check("dense_tables", "serving_default", &["serving_default", "serving_default_2"]);
}

#[test]
fn a_name_may_stand_for_an_input_an_output_and_a_node() {
    for model in ["same_name", "swapped_names"] {
        check(model, "serving_default", &["serving_default"]);
        // Without a chosen signature, the names of the default signature come first too.
        let tensors = read_npz(folder(model).join("serving_default.npz")).unwrap();
        let inputs: Vec<_> =
            tensors.iter().filter_map(|(name, tensor)| Some((name.strip_prefix("in_")?, tensor))).collect();
        let options = inputs.iter().fold(ImportOptions::new(), |options, (name, _)| options.feed(*name));
        let imported = read_model(folder(model)).unwrap().import(None, &options).unwrap();
        let feeds: Vec<(&str, TensorView<'_>)> =
            inputs.iter().map(|(name, tensor)| (imported.input_name(name).unwrap(), tensor.view())).collect();
        let exe = imported.graph().compile(&imported.outputs().unwrap()[..]).unwrap();
        let results = exe.run_named(&feeds).unwrap();
        for (name, tensor) in results.iter() {
            let (_, expected) = tensors.iter().find(|(given, _)| *given == format!("out_{name}")).unwrap();
            assert_eq!(tensor, expected, "{model} {name}");
        }
    }
}

#[test]
fn a_write_that_no_result_can_show_is_left_out() {
    check("written_variable", "serving_default", &["serving_default"]);
    let served = SavedModel::load(folder("written_variable")).unwrap().signature("shifted").unwrap();
    let error = served.outputs().unwrap_err();
    assert!(error.message().contains("the variable calls must only be read, got Assign"), "{error}");
}

#[test]
fn causal_convolutions_take_any_length() {
    let served = SavedModel::load(folder("causal")).unwrap().signature("serving_default").unwrap();
    let (_, x) = served.inputs().next().unwrap();
    assert_eq!(served.value("y").unwrap().shape(), x.shape());
    check("causal", "serving_default", &["serving_default", "serving_default_2", "serving_default_3"]);
}

#[test]
fn embeddings_and_layers_compute_classes() {
    check("embedding_dense", "serving_default", &["serving_default", "serving_default_2"]);
}

#[test]
fn recurrent_nets_run_as_loops_and_unrolled() {
    for model in ["lstm", "gru"] {
        check(model, "serving_default", &["serving_default", "serving_default_2"]);
        check(model, "unrolled", &["unrolled"]);
    }
}

#[test]
fn a_beam_search_keeps_its_steps_in_lists() {
    check("beam_search", "serving_default", &["serving_default", "serving_default_2"]);
}

#[test]
fn branches_nest_in_loops() {
    check("nested_branches", "serving_default", &["serving_default", "serving_default_2"]);
}

#[test]
fn loops_of_a_frozen_graph_run() {
    check("frozen_loop", "serving_default", &["serving_default", "serving_default_2"]);
}

#[test]
fn loops_of_models_have_a_limit_and_a_token() {
    let token = Arc::new(AtomicBool::new(false));
    for model in ["frozen_loop", "lstm"] {
        let error_with = |options: LoopOptions| {
            let options = ImportOptions::new().loops(options);
            let served = SavedModel::load(folder(model)).unwrap().signature_with("serving_default", &options);
            let served = served.unwrap();
            let exe = served.graph().compile(&served.outputs().unwrap()[..]).unwrap();
            let tensors = read_npz(folder(model).join("serving_default.npz")).unwrap();
            let feeds = tensors.iter().filter_map(|(name, tensor)| Some((name.strip_prefix("in_")?, tensor)));
            let feeds: Vec<_> = feeds.map(|(name, tensor)| (name, tensor.view())).collect();
            exe.run_named(&feeds).err().map(|error| error.message().to_string())
        };
        let limited = error_with(LoopOptions::new().limit(1)).unwrap();
        assert!(limited.contains("at most 1 iteration"), "{model}: {limited}");
        assert_eq!(error_with(LoopOptions::new().limit(1000).cancel(token.clone())), None);
        token.store(true, Ordering::Relaxed);
        let cancelled = error_with(LoopOptions::new().cancel(token.clone())).unwrap();
        assert!(cancelled.contains("cancelled"), "{model}: {cancelled}");
        token.store(false, Ordering::Relaxed);
    }
}

#[test]
fn text_becomes_rows_of_numbers() {
    check("text_vectorization", "serving_default", &["serving_default", "serving_default_2"]);
}

#[test]
fn sparse_features_run_wide_and_deep() {
    check("wide_and_deep", "features", &["features"]);
    check("wide_and_deep", "serving_default", &["serving_default", "serving_default_2"]);
}

#[test]
fn ragged_documents_of_words_run() {
    check("ragged_text", "serving_default", &["serving_default", "serving_default_2"]);
}

#[test]
fn variables_of_sixteen_bits_are_read() {
    check("half", "serving_default", &["serving_default"]);
}

#[test]
fn all_reads_of_a_variable_share_one_constant() {
    let served = SavedModel::load(folder("embedding")).unwrap().signature("serving_default").unwrap();
    let text = served.graph().to_string();
    assert_eq!(text.matches("f16[6, 3] = constant").count(), 1, "{text}");
}

#[test]
fn a_node_that_writes_a_variable_is_refused_by_name() {
    let model = SavedModel::load(folder("layers")).unwrap();
    let counted = model.signature("count").unwrap();
    let error = counted.outputs().unwrap_err();
    let text = error.to_string();
    assert!(text.contains("the variable steps must only be read, got AssignAddVariableOp"), "{text}");
    assert!(error.node().unwrap().ends_with("AssignAddVariableOp"), "{text}");
}

#[test]
fn errors_about_ops_that_change_variables_give_advice() {
    let error = |model: &str, signature: &str| {
        let served = SavedModel::load(folder(model)).unwrap().signature(signature).unwrap();
        served.outputs().unwrap_err()
    };
    let counted = error("layers", "count");
    assert!(
        counted.help().unwrap().starts_with("make steps an input and a result (ImportOptions::stateful;")
    );
    let drawn = error("generator", "branch");
    assert!(drawn.message().contains("must only be read, got RngReadAndSkip "), "{drawn}");
    assert!(drawn.help().unwrap().contains("tf.random.stateless_"), "{drawn}");
}

#[test]
fn generators_give_the_numbers_of_the_first_run() {
    let exe = check("generator", "serving_default", &["serving_default"]);
    let x = shapeflow::Tensor::from([0.5f32, 0.25]);
    assert_eq!(exe.run_all(&[x.view()]).unwrap(), exe.run_all(&[x.view()]).unwrap());
}

#[test]
fn unknown_signatures_are_refused_with_the_names_of_all() {
    let model = SavedModel::load(folder("layers")).unwrap();
    let error = model.signature("serve").unwrap_err();
    assert_eq!(error.message(), "the model must have a signature serve, got count, scale, serving_default");
    let names: Vec<&str> = model.signatures().map(|(name, _)| name).collect();
    assert_eq!(names, ["count", "scale", "serving_default"]);
    let graph = SavedModel::load(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/mlp.pb"));
    assert!(graph.unwrap_err().message().contains("must be a SavedModel, got a GraphDef"));
}

#[test]
fn shapes_are_given_by_names_of_the_signature() {
    let model = SavedModel::load(folder("layers")).unwrap();
    let options = ImportOptions::new().shape("x", shapeflow::shape![8, 3]);
    let served = model.signature_with("serving_default", &options).unwrap();
    assert_eq!(served.outputs().unwrap()[0].1.shape().to_string(), "[8, 2]");
}

#[test]
fn a_model_without_its_checkpoint_names_the_variable() {
    let target = std::env::temp_dir().join(format!("shapeflow-saved-model-{}", std::process::id()));
    std::fs::create_dir_all(&target).unwrap();
    std::fs::copy(folder("layers").join("saved_model.pb"), target.join("saved_model.pb")).unwrap();
    let served = SavedModel::load(&target).unwrap().signature("scale").unwrap();
    let error = served.outputs().unwrap_err().to_string();
    // An index without its data file.
    std::fs::create_dir_all(target.join("variables")).unwrap();
    let index = "variables/variables.index";
    std::fs::copy(folder("layers").join(index), target.join(index)).unwrap();
    let missing = SavedModel::load(&target).unwrap_err().to_string();
    std::fs::remove_dir_all(&target).unwrap();
    assert!(error.contains("the variable bias must be in the checkpoint"), "{error}");
    assert!(missing.contains("variables.data-00000-of-00001"), "{missing}");
}

#[test]
fn the_usage_of_ops_counts_the_nodes_of_functions() {
    let served = SavedModel::load(folder("tables")).unwrap().signature("serving_default").unwrap();
    let outputs: Vec<_> = served.outputs().unwrap().into_iter().map(|(_, value)| value).collect();
    let usage = served.op_usage(&outputs).unwrap();
    let of = |op: &str| {
        let usage = usage.iter().find(|usage| usage.op == op).unwrap();
        (usage.nodes.len(), usage.computed_by)
    };
    assert_eq!(of("LookupTableFindV2"), (3, ComputedBy::Host));
    assert_eq!(of("LookupTableSizeV2"), (1, ComputedBy::Import));
    assert_eq!(of("HashTableV2"), (3, ComputedBy::Import));
}

#[test]
fn the_usage_of_ops_counts_the_nodes_of_branches_and_loops_once() {
    let usage = |model: &str| {
        let served = SavedModel::load(folder(model)).unwrap().signature("serving_default").unwrap();
        let outputs: Vec<_> = served.outputs().unwrap().into_iter().map(|(_, value)| value).collect();
        let of = |op: &str| {
            let usage = served.op_usage(&outputs).unwrap().into_iter().find(|usage| usage.op == op).unwrap();
            (usage.nodes.len(), usage.computed_by, usage.dtypes)
        };
        let texts = ["While", "FloorMod", "FloorDiv", "Sigmoid", "MatMul"];
        let known = served.op_usage(&outputs).unwrap();
        texts.map(|op| known.iter().any(|usage| usage.op == op).then(|| of(op)))
    };
    let [loops, modulo, quotient, ..] = usage("nested_branches");
    assert_eq!((loops.map(|(count, by, _)| (count, by))), Some((2, ComputedBy::Host)));
    assert_eq!(modulo, Some((1, ComputedBy::Kernels, vec![DType::I64])));
    assert_eq!(quotient, Some((1, ComputedBy::Kernels, vec![DType::I64])));
    let [loops, _, _, sigmoids, products] = usage("lstm");
    assert_eq!((loops.map(|(count, by, _)| (count, by))), Some((1, ComputedBy::Host)));
    assert_eq!(sigmoids, Some((3, ComputedBy::Kernels, vec![DType::F32])));
    assert_eq!(products, Some((1, ComputedBy::Kernels, vec![DType::F32])));
}
