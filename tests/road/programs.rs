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
