//! `Print` and `PrintV2` nodes write to the sink of the import, as TensorFlow writes to standard error.

use std::sync::{Arc, Mutex};

use shapeflow::interchange::{ImportOptions, Model};
use shapeflow::{PrintSink, Result, Tensor};

/// A model whose result `y` depends on a `Print` of `x` by data, and on a `PrintV2` by control.
const MODEL: &str = r#"
    node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
           attr { key: "shape" value { shape { dim { size: -1 } } } } }
    node { name: "printed" op: "Print" input: "x" input: "x" attr { key: "T" value { type: DT_FLOAT } }
           attr { key: "U" value { list { type: DT_FLOAT } } } attr { key: "message" value { s: "x: " } }
           attr { key: "first_n" value { i: 2 } } attr { key: "summarize" value { i: 2 } } }
    node { name: "text" op: "AsString" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
    node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_INT32 } }
           attr { key: "value" value { tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 0 } } } }
    node { name: "joined" op: "ReduceJoin" input: "text" input: "zero" attr { key: "separator" value { s: "+" } } }
    node { name: "print" op: "PrintV2" input: "joined" attr { key: "end" value { s: ";" } } }
    node { name: "y" op: "Neg" input: "printed" input: "^print" attr { key: "T" value { type: DT_FLOAT } } }
"#;

#[test]
fn nodes_write_to_the_sink() -> Result<()> {
    let written = Arc::new(Mutex::new(Vec::new()));
    let kept = written.clone();
    let sink = PrintSink::new(move |text| kept.lock().unwrap().push(text.to_string()));
    let imported = Model::from_text(MODEL)?.import(None, &ImportOptions::new().print_sink(sink))?;
    let exe = imported.graph().compile(imported.value("y")?)?;
    for first in [1.0f32, 2.0, 3.0] {
        let [y] = exe.run(&[Tensor::from([first, 0.5, 4.0]).view()])?;
        assert_eq!(y, Tensor::from([-first, -0.5, -4.0]));
    }
    let mut written = written.lock().unwrap().clone();
    // The nodes of a run may write in any order.
    written.sort();
    let expected = [
        "1.000000+0.500000+4.000000;",
        "2.000000+0.500000+4.000000;",
        "3.000000+0.500000+4.000000;",
        "x: [1 0.5...]\n",
        "x: [2 0.5...]\n",
    ];
    assert_eq!(written, expected);
    Ok(())
}

#[test]
fn a_text_must_be_a_string_scalar() -> Result<()> {
    let model = r#"
        node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }
        node { name: "print" op: "PrintV2" input: "x" }
        node { name: "y" op: "Identity" input: "x" input: "^print" attr { key: "T" value { type: DT_FLOAT } } }"#;
    let error = Model::from_text(model)?
        .import(None, &ImportOptions::new())
        .and_then(|imported| imported.graph().compile(imported.value("y")?).map(|_| ()))
        .unwrap_err();
    assert!(error.to_string().contains("the element type must be string, got f32"), "{error}");
    Ok(())
}
