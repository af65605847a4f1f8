//! Random nests of branches, loops, scans and maps of vectors, rows of tables, ragged rows and strings. Their results
//! equal the results of a plain Rust interpreter of the same program, and have the shapes that were inferred when the
//! graph was built. Each third graph is written to a GraphDef and read back first.
//!
//! `SHAPEFLOW_CASES` sets the number of programs, and `SHAPEFLOW_SEED` the first seed.

#[cfg(feature = "graphdef")]
use shapeflow::Executable;
#[cfg(feature = "graphdef")]
use shapeflow::interchange::{ImportOptions, Model, tensor_names, to_graphdef};
use shapeflow::{
    Backend, CompileOptions, DType, ErrorKind, Graph, RaggedValue, Result, Tensor, TensorShape, TensorView,
    Value, concat, shape, string_join,
};

use crate::env_vars;
use crate::rng::Rng;

/// The numbers of a program stay below this modulus.
const MODULUS: i64 = 1009;

/// A statement, which reads vectors by their position in the environment, and appends its results to the environment.
#[derive(Clone, Debug)]
enum Statement {
    /// Every element of the first vector, plus the sum of the second.
    AddSum(usize, usize),
    /// Every element times a factor.
    Scale(usize, i64),
    /// The first vector, then one element: the sum of the second.
    Append(usize, usize),
    /// The sum of the elements, as a vector of one element.
    Sum(usize),
    /// Every element of the first vector times one of two factors. The sum of the second vector chooses the factor. The
    /// regions are cheap if the sizes are known.
    ScaleBy(usize, usize, [i64; 2]),
    /// One of the blocks. The sum of a vector chooses the block.
    Cond(usize, Vec<Block>),
    /// A loop over a block. `state` holds the positions of the initial values. The sum of vector `trips` gives the
    /// number of trips.
    While { trips: usize, state: Vec<usize>, body: Block },
    /// A run of the block for each element of vector `xs`. The last result of each run is summed, and the sums are
    /// stacked; the other results are the next state.
    Scan { xs: usize, state: Vec<usize>, body: Block },
    /// A run of the block for each element of vector `xs`. The result of each run is summed, and the sums are stacked.
    Map { xs: usize, body: Block },
    /// A run of the block for each row of a table. Element `[i, j]` of the table is element `i` of vector `xs` plus
    /// element `j` of vector `ys`, so rows and columns have different sizes. The sum of the result is added to the row.
    /// The statement returns the columns of the new table, one after the other.
    Table { xs: usize, ys: usize, body: Block },
    /// A loop whose state is a ragged tensor. At first, the tensor has the elements of vector `flat` in rows of `width`
    /// elements. Each trip runs the block on every row, and the results are the new rows. The sum of vector `trips`
    /// gives the number of trips. The statement returns the flat values and the row lengths of the last state.
    MapRows { trips: usize, flat: usize, width: usize, body: Block },
    /// A loop whose state is a vector of strings, at first the elements of vector `of` as text. Each trip runs the
    /// block on the lengths of the strings. If the sum of the result is odd, every string grows at its front, else at
    /// its end. The statement returns a number for each string, made of its length and whether it begins with `a`. The
    /// sum of vector `trips` gives the number of trips.
    Words { trips: usize, of: usize, body: Block },
}

/// Statements, and the results: positions in the environment after the statements.
#[derive(Clone, Debug)]
struct Block {
    statements: Vec<Statement>,
    results: Vec<usize>,
}

/// Generates a block in an environment of `values` vectors.
fn random_block(rng: &mut Rng, values: usize, results: usize, depth: usize) -> Block {
    let mut statements = Vec::new();
    let mut values = values;
    for _ in 0..1 + rng.below(4) {
        let (a, b) = (rng.below(values), rng.below(values));
        let kind = rng.below(if depth == 0 { 5 } else { 13 });
        let states =
            |rng: &mut Rng| -> Vec<usize> { (0..1 + rng.below(2)).map(|_| rng.below(values)).collect() };
        let (statement, added) = match kind {
            0 => (Statement::AddSum(a, b), 1),
            1 => (Statement::Scale(a, rng.range_inclusive(-5, 5)), 1),
            2 => (Statement::Append(a, b), 1),
            3 => (Statement::Sum(a), 1),
            4 => {
                let factors = [(); 2].map(|()| rng.range_inclusive(-5, 5));
                (Statement::ScaleBy(a, b, factors), 1)
            }
            5 | 6 => {
                let count = 1 + rng.below(2);
                let blocks = 2 + rng.below(2);
                let blocks = (0..blocks).map(|_| random_block(rng, values, count, depth - 1)).collect();
                (Statement::Cond(a, blocks), count)
            }
            7 => {
                let state = states(rng);
                let body = random_block(rng, values + state.len(), state.len(), depth - 1);
                let count = state.len();
                (Statement::While { trips: a, state, body }, count)
            }
            8 => (Statement::Map { xs: a, body: random_block(rng, values + 1, 1, depth - 1) }, 1),
            9 => {
                let (width, body) = (1 + rng.below(3), random_block(rng, values + 1, 1, depth - 1));
                (Statement::MapRows { trips: a, flat: b, width, body }, 2)
            }
            10 => {
                let body = random_block(rng, values + 1, 1, depth - 1);
                (Statement::Words { trips: a, of: b, body }, 1)
            }
            11 => {
                let body = random_block(rng, values + 1, 1, depth - 1);
                (Statement::Table { xs: a, ys: b, body }, 1)
            }
            _ => {
                let state = states(rng);
                let body = random_block(rng, values + state.len() + 1, state.len() + 1, depth - 1);
                let count = state.len() + 1;
                (Statement::Scan { xs: a, state, body }, count)
            }
        };
        statements.push(statement);
        values += added;
    }
    Block { statements, results: (0..results).map(|_| rng.below(values)).collect() }
}

type Vector = Vec<i64>;

fn sum(vector: &[i64]) -> i64 {
    vector.iter().sum::<i64>().rem_euclid(MODULUS)
}

/// A loop makes fewer trips than this. After a few trips, a loop whose state keeps its sizes runs in memory that never
/// moves. So some loops must make more than a few trips.
const TRIPS: i64 = 9;

/// A loop over ragged rows makes fewer trips than this: each trip runs a loop over all rows.
const ROW_TRIPS: i64 = 4;

fn interpret(block: &Block, environment: &[Vector]) -> Vec<Vector> {
    let mut values = environment.to_vec();
    for statement in &block.statements {
        let added: Vec<Vector> = match statement {
            Statement::AddSum(a, b) => {
                let sum = sum(&values[*b]);
                vec![values[*a].iter().map(|x| (x + sum).rem_euclid(MODULUS)).collect()]
            }
            Statement::Scale(a, factor) => {
                vec![values[*a].iter().map(|x| (x * factor).rem_euclid(MODULUS)).collect()]
            }
            Statement::Append(a, b) => {
                vec![values[*a].iter().copied().chain([sum(&values[*b])]).collect()]
            }
            Statement::Sum(a) => vec![vec![sum(&values[*a])]],
            Statement::ScaleBy(a, b, factors) => {
                let factor = factors[(sum(&values[*b]) % 2) as usize];
                vec![values[*a].iter().map(|x| (x * factor).rem_euclid(MODULUS)).collect()]
            }
            Statement::Cond(a, blocks) => {
                let chosen = sum(&values[*a]) % blocks.len() as i64;
                interpret(&blocks[chosen as usize], &values)
            }
            Statement::While { trips, state, body } => {
                let trips = sum(&values[*trips]) % TRIPS;
                let mut state: Vec<Vector> = state.iter().map(|index| values[*index].clone()).collect();
                for _ in 0..trips {
                    state = interpret(body, &[values.clone(), state].concat());
                }
                state
            }
            Statement::Scan { xs, state, body } => {
                let mut state: Vec<Vector> = state.iter().map(|index| values[*index].clone()).collect();
                let mut stacked = Vec::new();
                for x in &values[*xs] {
                    let mut results = interpret(body, &[values.clone(), state, vec![vec![*x]]].concat());
                    stacked.push(sum(&results.pop().unwrap()));
                    state = results;
                }
                state.push(stacked);
                state
            }
            Statement::Map { xs, body } => {
                let of = |x: &i64| sum(&interpret(body, &[values.clone(), vec![vec![*x]]].concat())[0]);
                vec![values[*xs].iter().map(of).collect()]
            }
            Statement::Table { xs, ys, body } => {
                let of = |x: &i64| -> Vector {
                    let row: Vector = values[*ys].iter().map(|y| (x + y).rem_euclid(MODULUS)).collect();
                    let sum = sum(&interpret(body, &[values.clone(), vec![row.clone()]].concat())[0]);
                    row.iter().map(|y| (y + sum).rem_euclid(MODULUS)).collect()
                };
                let table: Vec<Vector> = values[*xs].iter().map(of).collect();
                vec![
                    (0..values[*ys].len())
                        .flat_map(|column| table.iter().map(move |row| row[column]))
                        .collect(),
                ]
            }
            Statement::MapRows { trips, flat, width, body } => {
                let trips = sum(&values[*trips]) % ROW_TRIPS;
                let mut rows: Vec<Vector> = values[*flat].chunks(*width).map(<[i64]>::to_vec).collect();
                for _ in 0..trips {
                    let of = |row: &Vector| {
                        interpret(body, &[values.clone(), vec![row.clone()]].concat()).remove(0)
                    };
                    rows = rows.iter().map(of).collect();
                }
                vec![rows.concat(), rows.iter().map(|row| row.len() as i64).collect()]
            }
            Statement::Words { trips, of, body } => {
                let trips = sum(&values[*trips]) % TRIPS;
                let mut words: Vec<String> = values[*of].iter().map(i64::to_string).collect();
                for _ in 0..trips {
                    let lengths: Vector = words.iter().map(|word| word.len() as i64).collect();
                    let is_odd = sum(&interpret(body, &[values.clone(), vec![lengths]].concat())[0]) % 2 == 1;
                    let grow = |word: &String| if is_odd { format!("ab{word}") } else { format!("{word}-") };
                    words = words.iter().map(grow).collect();
                }
                let number = |word: &String| 2 * word.len() as i64 + i64::from(word.starts_with('a'));
                vec![words.iter().map(number).collect()]
            }
        };
        values.extend(added);
    }
    block.results.iter().map(|index| values[*index].clone()).collect()
}

fn sum_of<'g>(vector: Value<'g>) -> Result<Value<'g>> {
    vector.reduce_sum(0)?.floormod(MODULUS)
}

fn build<'g>(g: &'g Graph, block: &Block, environment: &[Value<'g>]) -> Result<Vec<Value<'g>>> {
    let mut values = environment.to_vec();
    for statement in &block.statements {
        let added: Vec<Value<'g>> = match statement {
            Statement::AddSum(a, b) => vec![(values[*a] + sum_of(values[*b])?).floormod(MODULUS)?],
            Statement::Scale(a, factor) => vec![(values[*a] * *factor).floormod(MODULUS)?],
            Statement::Append(a, b) => vec![concat(&[values[*a], sum_of(values[*b])?.reshape([1])?], 0)?],
            Statement::Sum(a) => vec![sum_of(values[*a])?.reshape([1])?],
            Statement::ScaleBy(a, b, factors) => {
                let is_odd = sum_of(values[*b])?.floormod(2i64)?.equal(1i64)?;
                let scaled = |number: usize| (values[*a] * factors[number]).floormod(MODULUS);
                g.cond(is_odd, || scaled(1), || scaled(0))?
            }
            Statement::Cond(a, blocks) => {
                let chosen = sum_of(values[*a])?.floormod(blocks.len() as i64)?;
                if let [then, otherwise] = &blocks[..] {
                    let is_first = chosen.equal(0i64)?;
                    g.cond(is_first, || build(g, then, &values), || build(g, otherwise, &values))?
                } else {
                    let branches: Vec<Box<dyn Fn() -> Result<Vec<Value<'g>>> + '_>> = blocks
                        .iter()
                        .map(|block| Box::new(|| build(g, block, &values)) as Box<dyn Fn() -> _>)
                        .collect();
                    let branches: Vec<_> = branches.iter().map(|branch| &**branch).collect();
                    g.case(chosen.cast(DType::I32)?, &branches)?
                }
            }
            Statement::While { trips, state, body } => {
                let trips = sum_of(values[*trips])?.floormod(TRIPS)?;
                let mut initial = vec![g.constant(0i64)?];
                initial.extend(state.iter().map(|index| values[*index]));
                let mut last = g.while_loop(
                    &initial,
                    |state| state[0].less(trips),
                    |state| {
                        let results = build(g, body, &[&values[..], &state[1..]].concat())?;
                        Ok([vec![(state[0] + 1i64).ok()?], results].concat())
                    },
                )?;
                last.split_off(1)
            }
            Statement::Scan { xs, state, body } => {
                let initial: Vec<Value<'g>> = state.iter().map(|index| values[*index]).collect();
                let (mut last, stacked) = g.scan(&initial, &[values[*xs]], |state, x| {
                    let environment = [&values[..], state, &[x[0].reshape([1])?]].concat();
                    let mut results = build(g, body, &environment)?;
                    let output = sum_of(results.pop().unwrap())?;
                    Ok((results, vec![output]))
                })?;
                last.extend(stacked);
                last
            }
            Statement::Map { xs, body } => g.map(&[values[*xs]], |x| {
                let environment = [&values[..], &[x[0].reshape([1])?]].concat();
                sum_of(build(g, body, &environment)?[0])
            })?,
            Statement::Table { xs, ys, body } => {
                let table = (values[*xs].expand_dims(1)? + values[*ys].expand_dims(0)?).floormod(MODULUS)?;
                let table = g.map(&[table], |row| {
                    let result = build(g, body, &[&values[..], row].concat())?[0];
                    (row[0] + sum_of(result)?).floormod(MODULUS)
                })?;
                vec![table[0].t()?.reshape([-1])?]
            }
            Statement::MapRows { trips, flat, width, body } => {
                let trips = sum_of(values[*trips])?.floormod(ROW_TRIPS)?;
                let rows = g.range(0, &values[*flat].dim(0)?, 1)?.floordiv(*width as i64)?;
                let rows = RaggedValue::from_value_rowids(values[*flat], rows, None)?;
                let initial = [g.constant(0i64)?, rows.flat_values(), rows.row_splits()];
                let last = g.while_loop(
                    &initial,
                    |state| state[0].less(trips),
                    |state| {
                        let rows = RaggedValue::from_row_splits(state[1], state[2])?;
                        let rows = rows.map_rows(|row| {
                            Ok(build(g, body, &[&values[..], &[row.dense()?]].concat())?[0])
                        })?;
                        Ok(vec![(state[0] + 1i64).ok()?, rows.flat_values(), rows.row_splits()])
                    },
                )?;
                vec![last[1], RaggedValue::from_row_splits(last[1], last[2])?.row_lengths()?]
            }
            Statement::Words { trips, of, body } => {
                let trips = sum_of(values[*trips])?.floormod(TRIPS)?;
                let initial = [g.constant(0i64)?, values[*of].as_string()?];
                let lengths = |words: Value<'g>| words.string_length("BYTE")?.cast(DType::I64);
                let last = g.while_loop(
                    &initial,
                    |state| state[0].less(trips),
                    |state| {
                        let environment = [&values[..], &[lengths(state[1])?]].concat();
                        let is_odd = sum_of(build(g, body, &environment)?[0])?.floormod(2i64)?.equal(1i64)?;
                        let words = g.cond(
                            is_odd,
                            || string_join(&[g.constant("ab")?, state[1]], ""),
                            || string_join(&[state[1], g.constant("-")?], ""),
                        )?;
                        Ok(vec![(state[0] + 1i64).ok()?, words[0]])
                    },
                )?;
                let has_a = last[1].regex_full_match("a.*")?.cast(DType::I64)?;
                vec![(lengths(last[1])? * 2i64 + has_a).ok()?]
            }
        };
        values.extend(added);
    }
    Ok(block.results.iter().map(|index| values[*index]).collect())
}

/// Returns whether a tensor of these sizes fits a shape.
fn fits(shape: &TensorShape, sizes: &[usize]) -> bool {
    let Some(dims) = shape.dims() else { return true };
    dims.len() == sizes.len()
        && dims.iter().zip(sizes).all(|(dim, size)| dim.as_known().is_none_or(|known| known == *size as i64))
}

/// Compiles the graph that is read back from a GraphDef of `graph`.
#[cfg(feature = "graphdef")]
fn read_back(graph: &Graph, outputs: &[Value<'_>], options: &CompileOptions) -> Result<Executable> {
    let model = Model::from_bytes(to_graphdef(graph, &[])?)?;
    let imported = model.import(None, &ImportOptions::new())?;
    let names = tensor_names(graph, outputs)?;
    let outputs = names.iter().map(|name| imported.value(name)).collect::<Result<Vec<_>>>()?;
    imported.graph().compile_with(options, &outputs)
}

fn check(seed: u64) -> Result<()> {
    let mut rng = Rng::new(seed);
    let depth = 1 + rng.below(3);
    let program = random_block(&mut rng, 3, 3, depth);
    let g = Graph::new();
    let inputs = [
        g.input("x", DType::I64, shape!["n"])?,
        g.input("y", DType::I64, shape![?])?,
        g.input("z", DType::I64, shape![2])?,
    ];
    let outputs = build(&g, &program, &inputs)?;
    let backend = if seed.is_multiple_of(8) { Backend::Interpreter } else { Backend::Jit };
    let options = CompileOptions::new().backend(backend);
    let exe = match seed % 3 {
        #[cfg(feature = "graphdef")]
        0 => read_back(&g, &outputs, &options)?,
        _ => g.compile_with(&options, &outputs)?,
    };
    for _ in 0..4 {
        let sizes = [rng.below(4), rng.below(3), 2];
        let feeds = sizes.map(|size| (0..size).map(|_| rng.range_inclusive(0, 20)).collect::<Vector>());
        let tensors: Vec<Tensor> =
            feeds.iter().map(|feed| Tensor::from_slice(&[feed.len()], feed)).collect::<Result<_>>()?;
        let views: Vec<TensorView<'_>> = tensors.iter().map(Tensor::view).collect();
        let results = match exe.run_all(&views) {
            // A table of a state with itself squares the number of elements in each iteration.
            Err(error) if error.kind() == ErrorKind::Memory => continue,
            results => results?,
        };
        let expected = interpret(&program, &feeds);
        for (number, (result, expected)) in results.iter().zip(&expected).enumerate() {
            assert_eq!(result.to_vec::<i64>()?, *expected, "output {number} of {program:?} on {feeds:?}");
            for shape in [&outputs[number].shape(), &exe.outputs()[number].shape] {
                assert!(fits(shape, result.sizes()), "{shape} for {:?}: {program:?}", result.sizes());
            }
        }
    }
    Ok(())
}

#[test]
fn random_nests_give_what_an_interpreter_gives() {
    let first = env_vars::number("SHAPEFLOW_SEED").unwrap_or(0);
    for seed in first..first + env_vars::number("SHAPEFLOW_CASES").unwrap_or(120) {
        if let Err(error) = check(seed) {
            panic!("seed {seed}: {error}");
        }
    }
}
