//! Sizes and parameters that only a later node makes known: the nodes before it compile and compute the same.

use shapeflow::{
    Backend, CompileOptions, DType, DataFormat, Graph, Padding, Result, Tensor, TensorShape, TensorView,
    Unknown, Value, add_n, shape,
};

use crate::graph_generator::{GraphGenerator, ValueIndex};
use crate::graph_recipe::Recipe;
use crate::ops::{OPS, add_op};
use crate::tensor_compare::difference;

/// The largest number of elements of an input whose sizes stand for a parameter.
const MAX_ELEMENTS: i64 = 1 << 16;

/// Returns the recipe of one call of `op`, in which every parameter is a value if the op allows it.
fn recipe_of(op: &'static str, seed: u64) -> Option<Recipe> {
    let graph = Graph::new();
    let mut g = GraphGenerator::new(&graph, seed);
    g.fed_per_mille = 1000;
    let id = add_op(&mut g, op)?;
    let outputs: Vec<ValueIndex> = (id.0..g.values.len()).map(ValueIndex).collect();
    Some(g.finish(&outputs).recipe)
}

/// Returns the elements of a parameter, if some tensor can have them as its sizes.
fn as_sizes(tensor: &Tensor) -> Option<Vec<usize>> {
    let elements: Vec<i64> = match tensor.dtype() {
        DType::I32 => tensor.to_vec::<i32>().ok()?.into_iter().map(i64::from).collect(),
        DType::I64 => tensor.to_vec::<i64>().ok()?,
        _ => return None,
    };
    let count = elements.iter().try_fold(1i64, |count, element| count.checked_mul(*element))?;
    let fits = tensor.sizes().len() <= 1 && !elements.is_empty() && count <= MAX_ELEMENTS;
    (fits && elements.iter().all(|element| *element >= 0))
        .then(|| elements.into_iter().map(|element| element as usize).collect())
}

/// A graph whose sizes and parameters become known after the nodes that read them.
struct LateGraph {
    results: Vec<Tensor>,
    /// The number of parameters that are sizes of inputs.
    late_params: usize,
}

/// Builds and runs a recipe such that every parameter that can be the sizes of an input is the sizes of an input, and
/// sums after all steps make the sizes of the inputs known.
fn run_late(recipe: &Recipe, backend: Backend) -> Result<LateGraph> {
    let graph = Graph::new();
    let (mut values, mut feeds, mut sums) = (Vec::new(), Vec::new(), Vec::new());
    let is_param = |number: usize| recipe.steps.iter().any(|step| step.params.contains(&number));
    let mut late_params = 0;
    for (number, source) in recipe.sources.iter().enumerate() {
        let tensor = recipe.source_tensor(number, 0);
        let sizes = if is_param(number) { as_sizes(&tensor) } else { None };
        if let Some(sizes) = sizes {
            let input = graph.input(&format!("p{number}"), DType::F32, vec![Unknown; sizes.len()])?;
            let elements = input.shape_tensor_as(source.dtype)?;
            values.push(if tensor.sizes().is_empty() { elements.reshape(shape![])? } else { elements });
            feeds.push(Tensor::zeros(DType::F32, &sizes)?);
            sums.push((input, sizes));
            late_params += 1;
        } else if source.constant || is_param(number) {
            values.push(graph.constant(tensor)?);
        } else {
            let input = recipe.declare(&graph, number)?;
            if matches!(source.dtype, DType::F32 | DType::F64 | DType::I32 | DType::I64) {
                sums.push((input, tensor.sizes().to_vec()));
            }
            values.push(input);
            feeds.push(tensor);
        }
    }
    for step in &recipe.steps {
        let of = |numbers: &[usize]| numbers.iter().map(|number| values[*number]).collect::<Vec<_>>();
        values.extend(step.call.apply(&graph, &of(&step.data), &of(&step.params))?);
    }
    let mut outputs: Vec<Value<'_>> = recipe.outputs.iter().map(|output| values[*output]).collect();
    let wanted = outputs.len();
    for (input, sizes) in sums {
        let known = graph.constant(Tensor::zeros(input.dtype(), &sizes)?)?;
        outputs.push(add_n(&[input, known])?);
    }
    let exe = graph.compile_with(&CompileOptions::new().backend(backend), &outputs)?;
    let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
    let mut results = exe.run_all(&views)?;
    results.truncate(wanted);
    Ok(LateGraph { results, late_params })
}

/// Runs a recipe with constant parameters and inputs of known sizes.
fn run_known(recipe: &Recipe) -> Result<Vec<Tensor>> {
    let graph = Graph::new();
    let (mut values, mut feeds) = (Vec::new(), Vec::new());
    for (number, source) in recipe.sources.iter().enumerate() {
        let tensor = recipe.source_tensor(number, 0);
        let is_param = recipe.steps.iter().any(|step| step.params.contains(&number));
        if source.constant || is_param {
            values.push(graph.constant(tensor)?);
        } else {
            let sizes: Vec<i64> = tensor.sizes().iter().map(|&size| size as i64).collect();
            values.push(graph.input(&format!("x{number}"), source.dtype, sizes)?);
            feeds.push(tensor);
        }
    }
    for step in &recipe.steps {
        let of = |numbers: &[usize]| numbers.iter().map(|number| values[*number]).collect::<Vec<_>>();
        values.extend(step.call.apply(&graph, &of(&step.data), &of(&step.params))?);
    }
    let outputs: Vec<Value<'_>> = recipe.outputs.iter().map(|output| values[*output]).collect();
    let exe = graph.compile_with(&CompileOptions::new().backend(Backend::Interpreter), &outputs)?;
    let views: Vec<TensorView<'_>> = feeds.iter().map(Tensor::view).collect();
    exe.run_all(&views)
}

#[test]
fn every_op_compiles_if_a_later_node_makes_its_parameters_known() {
    let (mut failures, mut graphs, mut late_params) = (Vec::new(), 0, 0);
    for (op, _) in OPS {
        for seed in 0..3 {
            let Some(mut recipe) = recipe_of(op, seed ^ 0x1a7e_0000) else { continue };
            recipe.runs.truncate(1);
            let Ok(expected) = run_known(&recipe) else { continue };
            graphs += 1;
            let what = match run_late(&recipe, Backend::Interpreter) {
                Ok(late) => {
                    late_params += late.late_params;
                    let pairs = late.results.iter().zip(&expected);
                    pairs.filter_map(|(got, expected)| difference(got, expected, None)).next()
                }
                Err(error) => Some(error.to_string()),
            };
            failures.extend(what.map(|what| format!("{op}: {what}\n{recipe}")));
        }
    }
    println!("{graphs} graphs, {late_params} parameters");
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
    assert!(late_params > 100, "only {late_params} parameters");
}

#[test]
fn an_axis_that_a_later_sum_makes_known_compiles() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::F32, shape![?, ?])?;
    let y = g.input("y", DType::F32, shape![?])?;
    let axes = y.shape_tensor()?;
    let sum = x.reduce_sum(axes)?;
    let gathered = x.gather(g.constant([0i32])?, axes.reshape(shape![])?)?;
    let total = add_n(&[y, g.constant([1.0f32])?])?;
    let exe = g.compile([sum, gathered, total])?;
    let x = TensorView::new(&[2, 3], &[1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    let [sum, gathered, total] = exe.run(&[x.clone(), TensorView::new(&[1], &[2.0f32])?])?;
    assert_eq!(sum.to_vec::<f32>()?, [6.0, 15.0]);
    assert_eq!((gathered.sizes(), gathered.to_vec::<f32>()?), (&[2, 1][..], vec![1.0, 4.0]));
    assert_eq!(total.to_vec::<f32>()?, [3.0]);
    // The run still checks the size that the sum requires.
    assert!(exe.run_all(&[x, TensorView::new(&[2], &[2.0f32; 2])?]).is_err());
    Ok(())
}

#[test]
fn a_squeeze_whose_rank_a_later_sum_makes_known_compiles() -> Result<()> {
    let g = Graph::new();
    let x = g.input("x", DType::I32, shape![?])?;
    let squeezed = x.squeeze(..)?;
    let sum = add_n(&[x, g.constant([1i32, 2])?])?;
    let exe = g.compile([squeezed, sum])?;
    let [squeezed, sum] = exe.run(&[TensorView::new(&[2], &[1i32, 2])?])?;
    assert_eq!((squeezed.to_vec::<i32>()?, sum.to_vec::<i32>()?), (vec![1, 2], vec![2, 4]));
    Ok(())
}

/// A name in `ensure_shape` stands for a dimension of a tensor whose rank is known when the run has parsed it.
#[cfg(feature = "strings")]
#[test]
fn names_for_dimensions_of_a_parsed_tensor_get_their_sizes() -> Result<()> {
    let g = Graph::new();
    let parsed = g.input("text", DType::String, shape![])?.parse_tensor(DType::F32)?;
    let rows = parsed.ensure_shape(shape!["n", 2])?;
    let doubled = rows * 2.0;
    let exe = g.compile([doubled, rows.reduce_sum(1)?])?;
    let serialized = {
        let g = Graph::new();
        let x = g.constant([[1.0f32, 2.0], [3.0, 4.0], [5.0, 6.0]])?;
        let [text] = g.compile(x.serialize_tensor()?)?.run(&[])?;
        text
    };
    let [doubled, sums] = exe.run(&[serialized.view()])?;
    assert_eq!(doubled, Tensor::from([[2.0f32, 4.0], [6.0, 8.0], [10.0, 12.0]]));
    assert_eq!(sums, Tensor::from([3.0f32, 7.0, 11.0]));
    Ok(())
}

/// The same for an input whose rank a run finds, and for an input of known rank.
#[test]
fn names_for_dimensions_of_an_input_get_their_sizes() -> Result<()> {
    for declared in [TensorShape::unranked(), shape![?, ?]] {
        let g = Graph::new();
        let rows = g.input("x", DType::F32, declared)?.ensure_shape(shape!["n", 2])?;
        let exe = g.compile([rows * 2.0, rows.reduce_sum(1)?])?;
        let [doubled, sums] = exe.run(&[Tensor::from([[1.0f32, 2.0], [3.0, 4.0]]).view()])?;
        assert_eq!(doubled, Tensor::from([[2.0f32, 4.0], [6.0, 8.0]]));
        assert_eq!(sums, Tensor::from([3.0f32, 7.0]));
    }
    Ok(())
}

/// An op may know the rank of its operand from its own parameters. The ops after it read the sizes of its result.
#[test]
fn sizes_of_a_result_are_known_if_only_the_op_gives_its_operand_a_rank() -> Result<()> {
    type Step = for<'g> fn(Value<'g>) -> Result<Value<'g>>;
    let first: [Step; 6] = [
        |x| x.pad([0, 0, 1, 1, 1, 0, 0, 0]),
        |x| x.pad([0, 0, 1, 1, 1, 0, 0, 0])?.pad([0, 0, 0, 2, 0, 0, 0, 0]),
        |x| x.tile([1, 2, 3, 1]),
        |x| x.slice([0, 1, 1, 0], [-1, -1, -1, -1]),
        |x| x.space_to_depth(2),
        |x| x.depth_to_space(2),
    ];
    let second: [Step; 3] = [
        |x| x.avg_pool([2, 2], [1, 1], Padding::Valid, DataFormat::ChannelsLast),
        |x| x.avg_pool([2, 2], [2, 2], Padding::Same, DataFormat::ChannelsLast),
        |x| x.max_pool([3, 2], [2, 1], Padding::Same, DataFormat::ChannelsLast),
    ];
    let elements: Vec<f32> = (0..2 * 4 * 6 * 4).map(|number| (number * 37 % 101) as f32).collect();
    let data = Tensor::from_slice(&[2, 4, 6, 4], &elements)?;
    let result = |declared: TensorShape, steps: [Step; 2]| -> Result<Tensor> {
        let g = Graph::new();
        let x = g.input("x", DType::F32, declared)?;
        let [y] = g.compile(steps[1](steps[0](x)?)?)?.run(&[data.view()])?;
        Ok(y)
    };
    for (number, first) in first.into_iter().enumerate() {
        for second in second {
            let expected = result(shape![2, 4, 6, 4], [first, second])?;
            assert_eq!(result(TensorShape::unranked(), [first, second])?, expected, "{number}");
        }
    }
    Ok(())
}
