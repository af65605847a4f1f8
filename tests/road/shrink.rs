//! Shrinks a failing random graph to a small recipe that still fails.

use std::panic::catch_unwind;

use shapeflow::Graph;

use crate::backend_check::{check_backends, panic_message};
use crate::graph_recipe::{Content, Recipe, Size, Source};

/// Largest number of recipes to try.
const MAX_CANDIDATES: usize = 3000;

/// Tries smaller recipes until none of them fails any more. Returns the smallest failing recipe and its error.
pub fn shrink(recipe: &Recipe) -> (Recipe, String) {
    let fails = |recipe: &Recipe| {
        catch_unwind(|| check_backends(recipe, None).err())
            .unwrap_or_else(|panic| Some(panic_message(&*panic)))
    };
    let mut best = recipe.pruned();
    let Some(mut failure) = fails(&best) else {
        return (recipe.clone(), "the failure needs values that no output needs".to_string());
    };
    let mut tried = 0;
    'shrinking: loop {
        let mut candidates: Vec<Recipe> = Vec::new();
        if best.outputs.len() > 1 {
            for output in &best.outputs {
                candidates.push(Recipe { outputs: vec![*output], ..best.clone() });
            }
        }
        if best.runs.len() > 1 {
            for run in &best.runs {
                candidates.push(Recipe { runs: vec![run.clone()], ..best.clone() });
            }
        }
        // An operand of the step that computes the output becomes the output, in place of the step's result.
        if let [output] = best.outputs[..]
            && let Some((step, _)) = best.producer(output)
        {
            for operand in &best.steps[step].data {
                if best.producer(*operand).is_some() {
                    candidates.push(Recipe { outputs: vec![*operand], ..best.clone() });
                }
            }
        }
        candidates.extend((0..best.steps.len()).filter_map(|step| replace_with_input(&best, step)));
        candidates.extend((0..best.steps.len()).filter_map(|step| replace_with_operand(&best, step)));
        for (number, source) in best.sources.iter().enumerate() {
            for (axis, size) in source.sizes.iter().enumerate() {
                if !matches!(size, Size::Known(_)) && best.runs.len() == 1 {
                    let mut smaller = best.clone();
                    smaller.sources[number].sizes[axis] = Size::Known(size.of(&best.runs[0]));
                    candidates.push(smaller);
                }
            }
            if source.unranked {
                let mut smaller = best.clone();
                smaller.sources[number].unranked = false;
                candidates.push(smaller);
            }
        }
        for variable in 0..best.runs[0].len() {
            for run in 0..best.runs.len() {
                let size = best.runs[run][variable];
                for less in [size / 2, size - 1] {
                    if less >= 0 && less < size {
                        let mut smaller = best.clone();
                        smaller.runs[run][variable] = less;
                        candidates.push(smaller);
                    }
                }
            }
        }
        for candidate in candidates {
            tried += 1;
            if tried > MAX_CANDIDATES {
                break 'shrinking;
            }
            let candidate = candidate.pruned();
            if let Some(error) = fails(&candidate) {
                best = candidate;
                failure = error;
                continue 'shrinking;
            }
        }
        break;
    }
    (best, failure)
}

/// Replaces a step of one output and known shape by an input; `None` for other steps.
fn replace_with_input(recipe: &Recipe, step: usize) -> Option<Recipe> {
    if recipe.steps[step].outputs != 1 {
        return None;
    }
    let graph = Graph::new();
    let values = recipe.build(&graph).ok()?;
    let first = recipe.sources.len() + recipe.steps[..step].iter().map(|step| step.outputs).sum::<usize>();
    let value = values[first];
    let sizes: Vec<Size> = value.shape().as_known()?.iter().map(|size| Size::Known(*size as i64)).collect();
    let source = Source {
        dtype: value.dtype(),
        sizes,
        content: Content::SmallIntegers,
        constant: false,
        unranked: false,
    };
    let mut result = recipe.clone();
    result.sources.push(source);
    result.steps.remove(step);
    let new = recipe.sources.len();
    // The new source adds 1 to the numbers of the step outputs before `first`. The removed output subtracts 1 again
    // from the numbers after it.
    let rename = |operand: &mut usize| {
        *operand = match *operand {
            index if index < new => index,
            index if index == first => new,
            index if index < first => index + 1,
            index => index,
        }
    };
    for step in &mut result.steps {
        step.data.iter_mut().chain(&mut step.params).for_each(rename);
    }
    result.outputs.iter_mut().for_each(rename);
    Some(result)
}

/// Replaces the result of a step of one output by its first operand; `None` for other steps.
fn replace_with_operand(recipe: &Recipe, step: usize) -> Option<Recipe> {
    let operand = *recipe.steps[step].data.first()?;
    if recipe.steps[step].outputs != 1 {
        return None;
    }
    let first = recipe.sources.len() + recipe.steps[..step].iter().map(|step| step.outputs).sum::<usize>();
    let mut result = recipe.clone();
    for step in &mut result.steps[step + 1..] {
        let operands = step.data.iter_mut().chain(&mut step.params);
        operands.filter(|index| **index == first).for_each(|index| *index = operand);
    }
    result.outputs.iter_mut().filter(|index| **index == first).for_each(|index| *index = operand);
    Some(result)
}
