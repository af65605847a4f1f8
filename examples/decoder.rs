//! A transformer that writes tokens one by one. Each step appends to the keys and values of the steps before it, so
//! that every step has other sizes; one compilation serves all steps.

use shapeflow::{DType, Dim, Graph, Result, Tensor, Value, concat, shape};

const WORDS: usize = 16;
const WIDTH: usize = 8;

/// Returns the token after each of `tokens`, and the keys and values of all steps. Without a past, a
/// token reads only itself and the tokens before it.
fn next<'g>(tokens: Value<'g>, past: Option<[Value<'g>; 2]>) -> Result<[Value<'g>; 3]> {
    let g = tokens.graph();
    // Numbers that stand for trained weights.
    let weights = |rows: usize, seed: usize| {
        let numbers = (0..rows * WIDTH).map(|i| ((i * seed + i * i * 3) % 23) as f32 / 11.0 - 1.0).collect();
        g.constant(&Tensor::from_vec(&[rows, WIDTH], numbers)?)
    };
    let x = weights(WORDS, 5)?.gather(tokens, 0)?;
    let query = x.matmul(weights(WIDTH, 7)?)?;
    let mut keys = x.matmul(weights(WIDTH, 11)?)?;
    let mut values = x.matmul(weights(WIDTH, 13)?)?;
    let mut mask = None;
    if let Some([past_keys, past_values]) = past {
        keys = concat(&[past_keys, keys], 0)?;
        values = concat(&[past_values, values], 0)?;
    } else {
        let steps = g.range(0, Dim::symbol("steps"), 1)?;
        mask = Some(steps.less_equal(steps.expand_dims(1)?)?);
    }
    let y = x + query.attention(keys, values, mask)?;
    let next = y.matmul(weights(WORDS, 17)?.t()?)?.argmax(-1)?;
    Ok([next, keys, values])
}

pub(crate) fn main() -> Result<()> {
    let g = Graph::new();
    let token = g.input("token", DType::I64, shape![1])?;
    let keys = g.input("keys", DType::F32, shape!["steps", WIDTH])?;
    let values = g.input("values", DType::F32, shape!["steps", WIDTH])?;
    let step = g.compile(next(token, Some([keys, values]))?)?;

    let mut past = [Tensor::zeros(DType::F32, &[0, WIDTH])?, Tensor::zeros(DType::F32, &[0, WIDTH])?];
    let mut tokens = vec![1i64];
    for _ in 0..40 {
        let token = Tensor::from([tokens[tokens.len() - 1]]);
        let [next, keys, values] = step.run(&[token.view(), past[0].view(), past[1].view()])?;
        tokens.extend(next.to_vec::<i64>()?);
        past = [keys, values];
    }
    println!("tokens: {tokens:?}");
    assert_eq!((past[0].sizes(), step.stats().compiles.len()), (&[40, WIDTH][..], 1));

    // All steps at once give the same tokens.
    let g = Graph::new();
    let [all, ..] = next(g.input("tokens", DType::I64, shape!["steps"])?, None)?;
    let [all] = g.compile(all)?.run(&[Tensor::from_slice(&[40], &tokens[..40])?.view()])?;
    assert_eq!(all.to_vec::<i64>()?, tokens[1..]);
    Ok(())
}
