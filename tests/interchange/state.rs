//! Models whose variables change from run to run, against the results that TensorFlow recorded for runs one after the
//! other.

use shapeflow::interchange::{ImportOptions, SavedModel, Session};
use shapeflow::{ErrorKind, Tensor};

use crate::saved_models::{check_case, folder};

fn session(model: &str, signature: &str) -> Session {
    let model = SavedModel::load(folder(model)).unwrap();
    let imported = model.signature_with(signature, &ImportOptions::new().stateful(true)).unwrap();
    imported.check().unwrap();
    imported.session().unwrap()
}

/// Runs the recorded cases of a signature in one session: `SIGNATURE`, `SIGNATURE_2` and so on.
fn check_runs(model: &str, signature: &str, runs: usize) -> Session {
    let mut session = session(model, signature);
    for run in 1..=runs {
        let case = if run == 1 { signature.to_string() } else { format!("{signature}_{run}") };
        check_case(model, &case, |feeds| session.run(feeds).unwrap());
    }
    let compiles = session.executable().stats().compiles;
    assert!(compiles.len() <= 2, "{model} {signature}: {compiles:?}");
    session
}

#[test]
fn writes_of_the_main_graph_and_of_branches_are_kept() {
    let session = check_runs("state", "average", 4);
    let names: Vec<&str> = session.variables().map(|(name, _)| name).collect();
    assert_eq!(names, ["count", "mean", "total"]);
}

#[test]
fn writes_and_draws_in_loops_are_kept() {
    check_runs("state", "loop", 3);
}

#[test]
fn rows_elements_and_slices_of_a_variable_are_updated() {
    check_runs("state", "update", 3);
}

#[test]
fn a_variable_may_have_another_size_after_each_run() {
    let session = check_runs("state", "remember", 2);
    assert_eq!(session.variable("seen").unwrap().sizes(), [5, 2]);
}

#[test]
fn optimizers_train() {
    let session = check_runs("training", "train", 3);
    assert_eq!(session.variables().count(), 22);
}

#[test]
fn stateful_recurrent_nets_and_random_layers_of_keras_run() {
    check_runs("stateful_layers", "listen", 3);
    check_runs("stateful_layers", "drop", 3);
}

#[test]
fn clones_of_a_session_have_variables_of_their_own() {
    let mut first = session("layers", "count");
    let mut second = first.clone();
    let by = Tensor::scalar(2i64);
    for expected in [5i64, 7] {
        let results = first.run(&[("by", by.view())]).unwrap();
        assert_eq!(results.tensor("steps").unwrap(), &Tensor::scalar(expected));
    }
    second.set_variable("steps", Tensor::scalar(-1i64)).unwrap();
    second.run(&[("by", by.view())]).unwrap();
    assert_eq!(first.variable("steps").unwrap(), &Tensor::scalar(7i64));
    assert_eq!(second.variable("steps").unwrap(), &Tensor::scalar(1i64));
}

/// The import does not follow products of rows.
#[test]
fn a_write_that_is_not_followed_is_refused_where_it_shows() {
    let model = SavedModel::load(folder("state")).unwrap();
    let imported = model.signature_with("scale", &ImportOptions::new().stateful(true)).unwrap();
    for error in [imported.state().unwrap_err(), imported.session().unwrap_err()] {
        assert!(error.message().contains("got ResourceScatterMul"), "{error}");
    }
    let total = imported.value("total").unwrap();
    assert!(imported.graph().compile(total).is_ok());
}

#[test]
fn wrong_variables_of_a_session_are_refused() {
    let mut session = session("state", "average");
    let error = session.set_variable("means", Tensor::scalar(1.0f32)).unwrap_err();
    assert_eq!(error.message(), "no variable named means is an input of the model; is it mean?");
    let error = session.set_variable("mean", Tensor::scalar(1.0f64)).unwrap_err();
    assert_eq!(error.message(), "the variable mean must be f32, got f64[]");
    session.set_variable("mean", Tensor::scalar(1.0f32)).unwrap();
    let x = Tensor::from([1.0f32, 2.0, 3.0]);
    let error = session.run(&[("x", x.view())]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Feed, "{error}");
}

#[test]
fn variables_that_a_model_only_reads_are_inputs_if_they_are_asked_for() -> shapeflow::Result<()> {
    let model = SavedModel::load(folder("layers"))?;
    let options = ImportOptions::new().variable_inputs(true);
    let imported = model.signature_with("serving_default", &options)?;
    let state = imported.state()?;
    let names: Vec<&str> = state.iter().map(|variable| variable.variable).collect();
    assert_eq!(names, ["bias", "same_name", "same_name_1", "steps"]);
    assert!(state.iter().all(|variable| !variable.is_written()));
    let mut session = imported.session()?;
    check_case("layers", "serving_default", |feeds| session.run(feeds).unwrap());
    // Other weights need no other compile.
    let x = Tensor::from([[1.0f32, 2.0, 3.0]]);
    let before = session.run(&[("x", x.view())])?.tensor("scores")?.clone();
    let bias = session.variable("bias")?.to_vec::<f32>()?;
    session.set_variable("bias", Tensor::from([bias[0] + 1.0, bias[1] - 2.0]))?;
    let after = session.run(&[("x", x.view())])?.tensor("scores")?.clone();
    let [before, after] = [before, after].map(|scores| scores.to_vec::<f32>().unwrap());
    assert_eq!(after, [before[0] + 1.0, before[1] - 2.0]);
    // A variable is an output only if the model writes it.
    let outputs: Vec<&str> = session.executable().outputs().iter().map(|port| port.name.as_str()).collect();
    assert_eq!(outputs, ["scores", "steps"]);
    let mut count = model.signature_with("count", &options)?.session()?;
    let by = Tensor::scalar(2i64);
    count.run(&[("by", by.view())])?;
    session.set_variables_of(&count)?;
    assert_eq!(session.run(&[("x", x.view())])?.tensor("steps")?, &Tensor::scalar(5i64));
    let scale = model.signature_with("scale", &options)?.session()?;
    let error = count.set_variables_of(&scale).unwrap_err();
    assert!(error.message().contains("must have a variable in common"), "{error}");
    Ok(())
}
