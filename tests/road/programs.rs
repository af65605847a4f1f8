//! Runs the small examples, which check their own results.

#[path = "../../examples/decoder.rs"]
mod decoder;
#[path = "../../examples/image_crops.rs"]
mod image_crops;
#[path = "../../examples/k_means.rs"]
mod k_means;
#[path = "../../examples/own_op.rs"]
mod own_op;
#[path = "../../examples/tabular.rs"]
mod tabular;
#[path = "../../examples/text_scorer.rs"]
mod text_scorer;

use std::path::Path;

use shapeflow::Result;

#[test]
fn examples_check_their_results() -> Result<()> {
    text_scorer::main()?;
    tabular::main()?;
    image_crops::main()?;
    decoder::main()?;
    own_op::main()?;
    k_means::main()
}

#[test]
fn examples_have_at_most_60_lines() {
    for name in ["text_scorer", "tabular", "image_crops", "decoder", "own_op", "k_means"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("examples/{name}.rs"));
        let lines = std::fs::read_to_string(file).unwrap().lines().count();
        assert!(lines <= 60, "{name}.rs has {lines} lines");
    }
}
