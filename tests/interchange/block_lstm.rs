//! Layers of an LSTM with fewer steps than their input has.

use shapeflow::interchange::{ImportOptions, Model};
use shapeflow::{Result, Tensor};

/// Runs `op` on `steps` steps of the same input, of which `seq_len_max` are computed. Returns `cs` and `h`.
fn run(op: &str, steps: usize, seq_len_max: i64) -> Result<[Tensor; 2]> {
    let inputs = ["x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"];
    let mut text =
        "node { name: \"n\" op: \"Placeholder\" attr { key: \"dtype\" value { type: DT_INT64 } } }"
            .to_string();
    let mut node = format!("node {{ name: \"y\" op: \"{op}\" input: \"n\"");
    for name in inputs {
        text += &format!(
            "node {{ name: \"{name}\" op: \"Placeholder\" attr {{ key: \"dtype\" value {{ type: DT_FLOAT }} }} }}"
        );
        node += &format!(" input: \"{name}\"");
    }
    let imported = Model::from_text(&(text + &node + " attr { key: \"T\" value { type: DT_FLOAT } } }"))?
        .import(None, &ImportOptions::new())?;
    let exe = imported.graph().compile([imported.value("y:1")?, imported.value("y:6")?])?;
    let numbers = |sizes: &[usize], first: i32| {
        let count: usize = sizes.iter().product();
        let all = (0..count).map(|i| ((first + i as i32) * 7 % 23 - 11) as f32 / 8.0);
        Tensor::from_vec(sizes, all.collect::<Vec<_>>())
    };
    let count = Tensor::scalar(seq_len_max);
    let feeds = [
        ("x", numbers(&[steps, 2, 3], 6)?),
        ("cs_prev", numbers(&[2, 2], 1)?),
        ("h_prev", numbers(&[2, 2], 4)?),
        ("w", numbers(&[5, 8], 5)?),
        ("wci", numbers(&[2], 3)?),
        ("wcf", numbers(&[2], 9)?),
        ("wco", numbers(&[2], 14)?),
        ("b", numbers(&[8], 2)?),
    ];
    let mut views = vec![("n", count.view())];
    let needed = exe.inputs();
    let is_needed = |name: &str| needed.iter().any(|input| input.name == name && input.needed);
    views.extend(
        feeds.iter().filter(|(name, _)| is_needed(name)).map(|(name, tensor)| (*name, tensor.view())),
    );
    let results = exe.run_named(&views)?;
    Ok([results.tensor_at(0)?, results.tensor_at(1)?])
}

/// The results are those of the shorter input, then zeros.
#[test]
fn steps_from_seq_len_max_on_are_zero() -> Result<()> {
    for op in ["BlockLSTM", "BlockLSTMV2"] {
        for count in 0..=4 {
            for (whole, part) in run(op, 4, count as i64)?.iter().zip(run(op, count, count as i64)?) {
                let (mut expected, whole) = (part.to_vec::<f32>()?, whole.to_vec::<f32>()?);
                expected.resize(16, 0.0);
                assert_eq!(whole, expected, "{op}, {count} of 4 steps");
            }
        }
    }
    Ok(())
}

#[test]
fn more_steps_than_the_input_has_are_refused() {
    let error = run("BlockLSTM", 4, 5).unwrap_err().to_string();
    assert!(error.contains("slice") && error.contains('5'), "{error}");
}
