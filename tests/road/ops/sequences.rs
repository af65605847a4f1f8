//! Adds ops on sequences to random graphs: spectrograms, recurrent networks, losses of labels.

use shapeflow::DType;

use crate::element_props::ElementProps;
use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::{Content, Size};
use crate::op_call::Call;

/// Adds an op with suitable operands and parameters. Returns the first output of the op, or `None` if there are no
/// suitable operands or parameters.
pub fn add_op(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    match op {
        "audio_spectrogram" => spectrogram(g),
        "mfcc" => mfcc(g),
        "ctc_loss" => ctc_loss(g),
        "gru_block_cell" => gru(g),
        _ => lstm(g, op),
    }
}

fn spectrogram(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let sizes = vec![g.random_size(), g.random_size()];
    let x = g.source(DType::F32, sizes, Content::SmallIntegers, false)?;
    let call = Call::new("audio_spectrogram").attr("window_size", 2 + g.rng.below(5) as i64);
    let call = call.attr("stride", 1 + g.rng.below(3) as i64);
    let call = call.attr("magnitude_squared", g.rng.chance(1, 2));
    g.add_step(call, &[x], &[], ElementProps::default())
}

fn mfcc(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let sizes = vec![g.random_size(), g.random_size(), Size::Known(g.rng.range_inclusive(1, 20))];
    let x = g.source(DType::F32, sizes, Content::Range(0, 9), false)?;
    let rate = g.scalar(DType::I32, Content::Range(4000, 16000))?;
    let call = Call::new("mfcc").attr("filterbank_channel_count", 10i64);
    let call = call.attr("dct_coefficient_count", g.rng.range_inclusive(1, 10));
    g.add_step(call, &[x, rate], &[], ElementProps::default())
}

/// Adds a loss of labels without blanks. Some sequences have more labels than times.
fn ctc_loss(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let dtype = *g.rng.choose(&[DType::F32, DType::F64]);
    let (times, batch, classes) = (1 + g.rng.below(4) as i64, g.rng.range_inclusive(1, 2), 3);
    let sizes = [times, batch, classes].map(Size::Known).to_vec();
    let x = g.source(dtype, sizes, Content::SmallIntegers, false)?;
    let mut indices = Vec::new();
    for sequence in 0..batch {
        for place in 0..g.rng.range_inclusive(1, 2) {
            indices.extend([sequence, place]);
        }
    }
    let count = Size::Known(indices.len() as i64 / 2);
    let indices = g.source(DType::I64, vec![count, Size::Known(2)], Content::Fixed(indices), false)?;
    let labels = g.source(DType::I32, vec![count], Content::Range(0, classes - 2), false)?;
    let lengths = g.source(DType::I32, vec![Size::Known(batch)], Content::Range(times, times), false)?;
    let call = Call::new("ctc_loss").attr("ctc_merge_repeated", g.rng.chance(1, 2));
    let call = call.attr("preprocess_collapse_repeated", g.rng.chance(1, 2));
    let call = call.attr("ignore_longer_outputs_than_inputs", g.rng.chance(3, 4));
    g.add_step(call, &[x, indices, labels, lengths], &[], ElementProps::default())
}

/// Adds sources of f32.
fn numbers(g: &mut GraphGenerator<'_>, sizes: Vec<Vec<Size>>) -> Option<Vec<ValueIndex>> {
    sizes.into_iter().map(|sizes| g.source(DType::F32, sizes, Content::SmallIntegers, false)).collect()
}

fn lstm(g: &mut GraphGenerator<'_>, op: &'static str) -> Option<ValueIndex> {
    let (batch, inputs, cell) = (g.random_size(), g.rng.range_inclusive(0, 3), g.rng.range_inclusive(1, 3));
    let known = Size::Known;
    let (state, peephole) = (vec![batch, known(cell)], vec![known(cell)]);
    let weights = vec![known(inputs + cell), known(4 * cell)];
    let mut sizes = vec![state.clone(), state, weights];
    sizes.extend([peephole.clone(), peephole.clone(), peephole, vec![known(4 * cell)]]);
    let call = Call::new(op).attr("use_peephole", g.rng.chance(1, 2));
    let mut call = call.attr("cell_clip", if g.rng.chance(1, 2) { 0.5 } else { 0.0 });
    if op != "block_lstm" {
        call = call.attr("forget_bias", 0.75);
    }
    let mut data = Vec::new();
    if op == "lstm_block_cell" {
        sizes.insert(0, vec![batch, known(inputs)]);
    } else {
        let times = g.rng.range_inclusive(0, 3);
        sizes.insert(0, vec![known(times), batch, known(inputs)]);
        data.push(g.scalar(DType::I64, Content::Range(0, times))?);
    }
    data.extend(numbers(g, sizes)?);
    let rounding_varies = op == "lstm_block_cell";
    g.add_step(call, &data, &[], ElementProps { rounding_varies, reduced: true, ..ElementProps::default() })
}

fn gru(g: &mut GraphGenerator<'_>) -> Option<ValueIndex> {
    let (batch, inputs, cell) = (g.random_size(), g.rng.range_inclusive(0, 3), g.rng.range_inclusive(1, 3));
    let known = Size::Known;
    let rows = known(inputs + cell);
    let state = [vec![batch, known(inputs)], vec![batch, known(cell)]];
    let weights = [vec![rows, known(2 * cell)], vec![rows, known(cell)]];
    let biases = [vec![known(2 * cell)], vec![known(cell)]];
    let data = numbers(g, [state, weights, biases].concat())?;
    let props = ElementProps { rounding_varies: true, reduced: true, ..ElementProps::default() };
    g.add_step(Call::new("gru_block_cell"), &data, &[], props)
}
