//! A random graph that fails, made smaller.

use std::panic::catch_unwind;

use shapeflow::Graph;

use crate::backend_check::{check, message};
use crate::graph_recipe::{Content, Recipe, Size, Source};

/// Smaller recipes that still fail, one step after the other.
pub fn shrink(recipe: &Recipe) -> (Recipe, String) {
    let fails =
        |recipe: &Recipe| catch_unwind(|| check(recipe, None).err()).unwrap_or_else(|p| Some(message(&*p)));
    let mut best = recipe.needed();
    let Some(mut what) = fails(&best) else {
        return (recipe.clone(), "a smaller form of it does not fail".to_string());
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
        // An operand of the last step as the output.
        if let [output] = best.outputs[..]
            && let Some((step, _)) = best.maker(output)
        {
            for operand in &best.steps[step].data {
                if best.maker(*operand).is_some() {
                    candidates.push(Recipe { outputs: vec![*operand], ..best.clone() });
                }
            }
        }
        candidates.extend((0..best.steps.len()).filter_map(|step| cut(&best, step)));
        candidates.extend((0..best.steps.len()).filter_map(|step| skip(&best, step)));
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
        for at in 0..best.runs[0].len() {
            for run in 0..best.runs.len() {
                for less in [best.runs[run][at] / 2, best.runs[run][at] - 1] {
                    if less >= 0 && less < best.runs[run][at] {
                        let mut smaller = best.clone();
                        smaller.runs[run][at] = less;
                        candidates.push(smaller);
                    }
                }
            }
        }
        for candidate in candidates {
            tried += 1;
            if tried > 3000 {
                break 'shrinking;
            }
            let candidate = candidate.needed();
            if let Some(error) = fails(&candidate) {
                best = candidate;
                what = error;
                continue 'shrinking;
            }
        }
        break;
    }
    (best, what)
}

/// The recipe with an input in place of a step of one output, of the sizes that the first run has there.
fn cut(recipe: &Recipe, step: usize) -> Option<Recipe> {
    if recipe.steps[step].outputs != 1 {
        return None;
    }
    let graph = Graph::new();
    let values = recipe.build(&graph).ok()?;
    let first = recipe.sources.len() + recipe.steps[..step].iter().map(|step| step.outputs).sum::<usize>();
    let value = values[first];
    let sizes: Vec<Size> = value.shape().as_known()?.iter().map(|size| Size::Known(*size as i64)).collect();
    let source =
        Source { dtype: value.dtype(), sizes, content: Content::Whole, constant: false, unranked: false };
    let mut result = recipe.clone();
    result.sources.push(source);
    result.steps.remove(step);
    let new = recipe.sources.len();
    let rename = |at: &mut usize| {
        *at = match *at {
            at if at < new => at,
            at if at == first => new,
            at if at < first => at + 1,
            at => at,
        }
    };
    for step in &mut result.steps {
        step.data.iter_mut().chain(&mut step.params).for_each(rename);
    }
    result.outputs.iter_mut().for_each(rename);
    Some(result)
}

/// The recipe with a step's first operand in place of its result.
fn skip(recipe: &Recipe, step: usize) -> Option<Recipe> {
    let operand = *recipe.steps[step].data.first()?;
    if recipe.steps[step].outputs != 1 {
        return None;
    }
    let first = recipe.sources.len() + recipe.steps[..step].iter().map(|step| step.outputs).sum::<usize>();
    let mut result = recipe.clone();
    for step in &mut result.steps[step + 1..] {
        step.data.iter_mut().chain(&mut step.params).filter(|at| **at == first).for_each(|at| *at = operand);
    }
    result.outputs.iter_mut().filter(|at| **at == first).for_each(|at| *at = operand);
    Some(result)
}
