"""Saves a model with TensorFlow, and records TensorFlow's results for it."""

import os

os.environ.update(TF_ENABLE_ONEDNN_OPTS="0", CUDA_VISIBLE_DEVICES="", TF_CPP_MIN_LOG_LEVEL="3")

import numpy as np
import tensorflow as tf


def arrays(prefix, tensors):
    """Returns the arrays of a file for tensors by name."""
    result = {}
    for name, value in tensors.items():
        value = np.asarray(value)
        if value.dtype.kind in "OSU":
            texts = [text if isinstance(text, bytes) else text.encode() for text in value.reshape(-1).tolist()]
            lengths = np.cumsum([0] + [len(text) for text in texts])
            result[f"{prefix}{name}__bytes"] = np.frombuffer(b"".join(texts), np.uint8)
            result[f"{prefix}{name}__offs"] = lengths.astype(np.int64)
            result[f"{prefix}{name}__shape"] = np.array(value.shape, np.int64)
        else:
            result[prefix + name] = value
    return result


def record(folder, cases):
    """Runs cases, given as (signature, file, inputs), of a model that has been saved, and records the results."""
    model = tf.saved_model.load(str(folder))
    for signature, file, inputs in cases:
        outputs = model.signatures[signature](**{name: tf.constant(value) for name, value in inputs.items()})
        outputs = {name: tensor.numpy() for name, tensor in outputs.items()}
        np.savez(folder / f"{file}.npz", **arrays("in_", inputs), **arrays("out_", outputs))
    fingerprint = folder / "fingerprint.pb"
    fingerprint.unlink(missing_ok=True)


def f32(*shape):
    """Returns a pattern of a few exact numbers."""
    return (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 7 - 3) / 4


def weights(seed, *shape):
    """Returns random weights, small enough that a sigmoid of sums of them is not flat."""
    return (np.random.default_rng(seed).standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


def variable(seed, name, *shape):
    return tf.Variable(weights(seed, *shape), name=name)


def texts(*values):
    """Returns a vector of strings."""
    return np.array([value.encode() for value in values], object)
