//! The ops of `cases.rs`, computed by loops.

use shapeflow_shape_fns::DType;

use super::loops::{axes_of, element, indices_of, ints, tensor_of, with_position};
use crate::tensor::Tensor;

/// Computes the results of an op. The last feed is the parameter.
pub(super) fn naive(op: &str, feeds: &[Tensor]) -> Vec<Tensor> {
    let (x, sizes) = (&feeds[0], feeds[0].sizes());
    let given = feeds.last().unwrap();
    let axes = axes_of(given, sizes.len() + usize::from(op == "expand_dims"));
    let axis = axes.first().copied().unwrap_or_default();
    let resized = |size: usize| with_position(sizes, axis, size);
    vec![match op {
        "expand_dims" => {
            let mut sizes = sizes.to_vec();
            sizes.insert(axis, 1);
            x.reshape(&sizes).unwrap()
        }
        "reshape" => x.reshape(&ints(given).iter().map(|size| *size as usize).collect::<Vec<_>>()).unwrap(),
        "transpose" => {
            let turned: Vec<usize> = axes.iter().map(|axis| sizes[*axis]).collect();
            tensor_of(&turned, &|index| element::<f32>(x, &turned_back(index, &axes)))
        }
        "conjugate_transpose" => {
            let turned: Vec<usize> = axes.iter().map(|axis| sizes[*axis]).collect();
            let bits: Vec<f32> = indices_of(&turned)
                .flat_map(|index| complex(x, &turned_back(&index, &axes)))
                .enumerate()
                .map(|(part, x)| if part % 2 == 1 { -x } else { x })
                .collect();
            Tensor::from_bits(DType::C64, &turned, &bits).unwrap()
        }
        "reverse" => tensor_of(sizes, &|index| {
            let mut read = index.to_vec();
            axes.iter().for_each(|axis| read[*axis] = sizes[*axis] - 1 - read[*axis]);
            element::<f32>(x, &read)
        }),
        "roll" => tensor_of(sizes, &|index| {
            let source = (index[axis] + 3 * sizes[axis] - 3) % sizes[axis];
            element::<f32>(x, &with_position(index, axis, source))
        }),
        "tile" => {
            let multiples = ints(given);
            let tiled: Vec<usize> =
                sizes.iter().zip(multiples).map(|(size, times)| size * times as usize).collect();
            tensor_of(&tiled, &|index| {
                let read: Vec<usize> = index.iter().zip(sizes).map(|(index, size)| index % size).collect();
                element::<f32>(x, &read)
            })
        }
        "concat" => tensor_of(&resized(3 * sizes[axis]), &|index| {
            let (part, position) = (index[axis] / sizes[axis], index[axis] % sizes[axis]);
            element::<f32>(&feeds[part], &with_position(index, axis, position))
        }),
        "gather" => {
            let indices = feeds[1].as_slice::<i32>().unwrap();
            tensor_of(&resized(indices.len()), &|index| {
                element::<f32>(x, &with_position(index, axis, indices[index[axis]] as usize))
            })
        }
        "split" => return parts(x, axis, &[sizes[axis] / 2, sizes[axis] / 2]),
        "split_sizes" => return parts(x, axis, &[1, sizes[axis] - 1]),
        "unique_slices" => return unique_slices(x, axis)[..2].to_vec(),
        "unique_slices_with_counts" => return unique_slices(x, axis),
        "argmax" | "argmin" => arg(op, x, axis),
        "argsort" => {
            let sorted = |index: &[usize]| order(&line(x, axis, index))[index[axis]] as i64;
            tensor_of(sizes, &sorted)
        }
        "complex_prod" => {
            let (remaining, groups) = groups(x, &axes, &|index| complex(x, index));
            let product = |[a, b]: [f32; 2], [c, d]: [f32; 2]| [a * c - b * d, a * d + b * c];
            let bits: Vec<f32> =
                groups.into_iter().flat_map(|group| group.into_iter().fold([1.0, 0.0], product)).collect();
            Tensor::from_bits(DType::C64, &remaining, &bits).unwrap()
        }
        "reduce_any" | "reduce_all" => {
            let (remaining, groups) = groups(x, &axes, &|index| element::<bool>(x, index));
            let all = |group: &Vec<bool>| {
                if op == "reduce_any" { group.contains(&true) } else { !group.contains(&false) }
            };
            Tensor::from_vec(&remaining, groups.iter().map(all).collect()).unwrap()
        }
        _ if op.starts_with("reduce_") || op == "euclidean_norm" => {
            let (remaining, groups) = groups(x, &axes, &|index| element::<f32>(x, index));
            Tensor::from_vec(&remaining, groups.iter().map(|group| reduced(op, group)).collect()).unwrap()
        }
        _ => tensor_of(sizes, &|index| of_line(op, &line(x, axis, index), index[axis])),
    }]
}

/// Returns the index of the operand of a transposition from an index of its result.
fn turned_back(index: &[usize], perm: &[usize]) -> Vec<usize> {
    let mut read = vec![0; perm.len()];
    perm.iter().zip(index).for_each(|(axis, position)| read[*axis] = *position);
    read
}

/// Returns the parts of a complex element.
fn complex(x: &Tensor, index: &[usize]) -> [f32; 2] {
    let offset = super::loops::offset_of(index, x.sizes());
    let bits = x.as_bits::<f32>().unwrap();
    [bits[2 * offset], bits[2 * offset + 1]]
}

/// Returns the elements along an axis through an index.
fn line(x: &Tensor, axis: usize, index: &[usize]) -> Vec<f32> {
    (0..x.sizes()[axis]).map(|position| element(x, &with_position(index, axis, position))).collect()
}

/// Returns the parts of these sizes along an axis.
fn parts(x: &Tensor, axis: usize, sizes: &[usize]) -> Vec<Tensor> {
    let mut first = 0;
    let part = |size: &usize| {
        let part = tensor_of(&with_position(x.sizes(), axis, *size), &|index| {
            element::<f32>(x, &with_position(index, axis, first + index[axis]))
        });
        first += size;
        part
    };
    sizes.iter().map(part).collect()
}

/// Returns the positions of the elements in ascending order. Equal elements keep their order.
fn order(line: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..line.len()).collect();
    order.sort_by(|a, b| line[*a].total_cmp(&line[*b]));
    order
}

/// Computes one element of an op along an axis.
fn of_line(op: &str, line: &[f32], position: usize) -> f32 {
    let total = || line.iter().map(|x| x.exp()).sum::<f32>();
    let before = &line[..=position];
    match op {
        "cumsum" => before.iter().sum(),
        "cumprod" => before.iter().product(),
        "cumulative_logsumexp" => before.iter().map(|x| x.exp()).sum::<f32>().ln(),
        "softmax" => line[position].exp() / total(),
        "log_softmax" => line[position] - total().ln(),
        "sort" => line[order(line)[position]],
        _ => panic!("{op} needs a loop"),
    }
}

/// Computes one element of a reduction.
fn reduced(op: &str, group: &[f32]) -> f32 {
    let mean = || group.iter().sum::<f32>() / group.len() as f32;
    let variance = || group.iter().map(|x| (x - mean()).powi(2)).sum::<f32>() / group.len() as f32;
    match op {
        "reduce_sum" => group.iter().sum(),
        "reduce_prod" => group.iter().product(),
        "reduce_max" => group.iter().copied().fold(f32::NEG_INFINITY, f32::max),
        "reduce_min" => group.iter().copied().fold(f32::INFINITY, f32::min),
        "reduce_mean" => mean(),
        "reduce_variance" => variance(),
        "reduce_std" => variance().sqrt(),
        "reduce_logsumexp" => group.iter().map(|x| x.exp()).sum::<f32>().ln(),
        "euclidean_norm" => group.iter().map(|x| x * x).sum::<f32>().sqrt(),
        _ => panic!("{op} needs a loop"),
    }
}

/// Returns the sizes of the result of a reduction over `axes`, and for each element of this result the elements of `x`
/// that the reduction combines. `read` reads an element.
fn groups<T>(x: &Tensor, axes: &[usize], read: &dyn Fn(&[usize]) -> T) -> (Vec<usize>, Vec<Vec<T>>) {
    let sizes = x.sizes();
    let kept: Vec<usize> = (0..sizes.len()).filter(|axis| !axes.contains(axis)).collect();
    let remaining: Vec<usize> = kept.iter().map(|axis| sizes[*axis]).collect();
    let mut groups: Vec<Vec<T>> = (0..remaining.iter().product()).map(|_| Vec::new()).collect();
    for index in indices_of(sizes) {
        let group = kept.iter().fold(0, |group, axis| group * sizes[*axis] + index[*axis]);
        groups[group].push(read(&index));
    }
    (remaining, groups)
}

/// Returns the position of the first largest or smallest element along an axis.
fn arg(op: &str, x: &Tensor, axis: usize) -> Tensor {
    let (remaining, groups) = groups(x, &[axis], &|index| element::<f32>(x, index));
    let position = |group: &Vec<f32>| {
        let is_better = |x: f32, best: f32| if op == "argmax" { x > best } else { x < best };
        (0..group.len()).fold(0, |best, next| if is_better(group[next], group[best]) { next } else { best })
            as i64
    };
    Tensor::from_vec(&remaining, groups.iter().map(position).collect()).unwrap()
}

/// Returns the distinct slices along an axis, the number of the distinct slice at each position, and the number of
/// occurrences of each distinct slice.
fn unique_slices(x: &Tensor, axis: usize) -> Vec<Tensor> {
    let sizes = x.sizes();
    let slice = |position: usize| -> Vec<f32> {
        let of_slice = with_position(sizes, axis, 1);
        let indices = indices_of(&of_slice).collect::<Vec<_>>();
        indices.iter().map(|index| element(x, &with_position(index, axis, position))).collect()
    };
    let (mut found, mut numbers, mut counts) = (Vec::<usize>::new(), Vec::new(), Vec::<i64>::new());
    for position in 0..sizes[axis] {
        let known = found.iter().position(|other| slice(*other) == slice(position));
        let number = known.unwrap_or_else(|| {
            found.push(position);
            counts.push(0);
            found.len() - 1
        });
        numbers.push(number as i64);
        counts[number] += 1;
    }
    let distinct = tensor_of(&with_position(sizes, axis, found.len()), &|index| {
        element::<f32>(x, &with_position(index, axis, found[index[axis]]))
    });
    let vector = |ints: Vec<i64>| Tensor::from_vec(&[ints.len()], ints).unwrap();
    vec![distinct, vector(numbers), vector(counts)]
}
