"""Records a small checkpoint of TensorFlow in tests/data/checkpoint: python tests/record_checkpoint.py

Its tensors have several dtypes, one is stored in parts, and two data files hold them. The elements follow from rules that
src/interchange/checkpoint/tests.rs repeats."""

import pathlib

import numpy as np
import tensorflow as tf

FOLDER = pathlib.Path(__file__).parent / "data" / "checkpoint"


def save(prefix, tensors):
    """Saves tensors, given as (name, slice, values), to one data file."""
    names, slices, values = zip(*tensors)
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=list(names),
        shape_and_slices=list(slices),
        tensors=[tf.constant(value) for value in values],
    )
    return str(prefix)


def main():
    FOLDER.mkdir(exist_ok=True)
    parted = np.arange(70, dtype=np.float32).reshape(70, 1) * 2 + np.arange(2, dtype=np.float32)
    first = save(
        FOLDER / "first",
        [
            ("count", "", np.int64(-7)),
            ("half", "", np.arange(3, dtype=np.float16) / 2),
            ("layer/kernel/.ATTRIBUTES/VARIABLE_VALUE", "", np.arange(6, dtype=np.float32).reshape(2, 3)),
            ("layer/kernel/.OPTIMIZER_SLOT/Adam/m/.ATTRIBUTES/VARIABLE_VALUE", "", np.full((2, 3), 0.5)),
            ("parted", "70 2 0,64:-", parted[:64]),
            ("words", "", np.array([b"a", b"", b"\x00\xff" * 100, "ä".encode()], dtype=object).reshape(2, 2)),
        ],
    )
    second = save(
        FOLDER / "second",
        [
            ("flags", "", np.array([True, False, True])),
            ("nothing", "", np.zeros((0, 4), np.int32)),
            ("parted", "70 2 64,6:0,1", parted[64:, :1]),
            ("parted", "70 2 64,6:1,1", parted[64:, 1:]),
            ("signal", "", np.array([1 + 2j, -3j], np.complex64)),
        ],
    )
    tf.raw_ops.MergeV2Checkpoints(
        checkpoint_prefixes=[first, second],
        destination_prefix=str(FOLDER / "variables"),
        delete_old_dirs=False,
    )


main()
