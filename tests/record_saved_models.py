"""Writes small SavedModels with TensorFlow's results into data/saved_models.

Recorded with TensorFlow 2.21.0 and numpy 2.4.6, oneDNN off, one thread.

Run: pip install numpy==2.4.6 tensorflow-cpu==2.21.0 && python tests/record_saved_models.py [MODEL...]

A folder holds a model and a file for each case, `SIGNATURE.npz` or `SIGNATURE_2.npz`. The file has the inputs of the
signature as `in_NAME` and the outputs as `out_NAME`. A tensor of strings is two arrays: its bytes one after the other
(`NAME__bytes`), and where each string begins, with the end of the last one (`NAME__offs`); its shape is
`NAME__shape`.
"""

import os
import shutil
import sys
from pathlib import Path

from saved_models.recording import f32, record

import numpy as np
import tensorflow as tf
from saved_models.decoding import beam_search, frozen_loop, nested_branches
from saved_models.names import causal, equal_names, same_name, swapped_names, written_variable
from saved_models.recurrent import gru, lstm
from saved_models.sparse import half, sequences, wide_and_deep
from saved_models.state import state, stateful_layers, training
from saved_models.text import embedding_dense, ragged_text, text_vectorization

FOLDER = Path(__file__).resolve().parent / "data" / "saved_models"
v1 = tf.compat.v1


class Layers(tf.Module):
    """Two signatures share the variables of two layers. A counter is written by no signature."""

    def __init__(self):
        self.first = tf.Variable(f32(3, 4), name="same_name")
        self.second = tf.Variable(f32(4, 2) * 2, name="same_name")
        self.bias = tf.Variable([0.5, -0.25], name="bias")
        self.steps = tf.Variable(np.int64(3), name="steps")

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32, "x")])
    def predict(self, x):
        hidden = tf.nn.relu(tf.matmul(x, self.first))
        return {"scores": tf.matmul(hidden, self.second) + self.bias, "steps": self.steps.read_value()}

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32, "b"), tf.TensorSpec([], tf.float32, "a")])
    def scale(self, b, a):
        return {"y": a * b - tf.reduce_sum(self.bias), "rows": tf.shape(b)[0]}

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64, "by")])
    def count(self, by):
        return {"steps": self.steps.assign_add(by)}


def layers(folder):
    module = Layers()
    signatures = {"serving_default": module.predict, "scale": module.scale, "count": module.count}
    tf.saved_model.save(module, str(folder), signatures=signatures)
    record(
        folder,
        [
            ("serving_default", "serving_default", {"x": f32(5, 3)}),
            ("serving_default", "serving_default_2", {"x": f32(1, 3) + 1}),
            ("scale", "scale", {"a": np.float32(2.5), "b": f32(2, 3)}),
        ],
    )


class Embedding(tf.Module):
    """Rows of an f16 variable, by plain and by nested indices."""

    def __init__(self):
        self.table = tf.Variable(f32(6, 3).astype(np.float16), name="table")

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32, "ids")])
    def embed(self, ids):
        rows = tf.raw_ops.ResourceGather(resource=self.table.handle, indices=ids, dtype=tf.float16)
        cells = tf.raw_ops.ResourceGatherNd(resource=self.table.handle, indices=ids[:, :2] % 3, dtype=tf.float16)
        known = tf.raw_ops.VarIsInitializedOp(resource=self.table.handle)
        return {"rows": rows, "cells": cells, "known": known}


def embedding(folder):
    module = Embedding()
    tf.saved_model.save(module, str(folder), signatures=module.embed)
    ids = np.array([[0, 5, 1], [3, 2, 2]], np.int32)
    record(folder, [("serving_default", "serving_default", {"ids": ids})])


def first_version(folder):
    """A graph of TensorFlow 1: variables that are references, a partitioned variable, and a resource variable."""
    graph = tf.Graph()
    with graph.as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        plain = v1.get_variable("plain", initializer=tf.constant(f32(4, 3)), use_resource=False)
        parts = v1.get_variable(
            "parts",
            shape=[5, 3],
            initializer=lambda shape, dtype=None, partition_info=None: tf.reshape(
                tf.range(partition_info.var_offset[0] * 3.0, limit=1000.0)[: shape[0] * shape[1]], shape
            ),
            partitioner=v1.fixed_size_partitioner(2),
            use_resource=False,
        )
        bias = v1.get_variable("bias", initializer=tf.constant([1.0, 2.0, 3.0]), use_resource=True)
        local = v1.get_variable(
            "local", initializer=tf.constant([10.0, 20.0, 30.0]), collections=[v1.GraphKeys.LOCAL_VARIABLES]
        )
        rows = v1.nn.embedding_lookup(parts, tf.range(5), partition_strategy="div")
        y = tf.add(tf.matmul(x, plain) + bias + local, tf.reduce_sum(rows, 0), name="y")
        session.run([v1.global_variables_initializer(), v1.local_variables_initializer()])
        builder = v1.saved_model.Builder(str(folder))
        signature = v1.saved_model.predict_signature_def({"images": x}, {"result": y})
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            signature_def_map={"serving_default": signature},
            main_op=v1.group(v1.local_variables_initializer()),
        )
        builder.save()
    record(folder, [("serving_default", "serving_default", {"images": f32(2, 4)})])


def first_tables(folder):
    """A model of TensorFlow 1 whose builder lists the vocabulary file in a collection only."""
    os.chdir(FOLDER)
    file = Path("words.txt")
    file.write_text("red\ngreen\nblue\n")
    with tf.Graph().as_default():
        words = v1.placeholder(tf.string, [None], "words")
        lookup = tf.lookup
        lines = lookup.TextFileInitializer(
            str(file), tf.string, lookup.TextFileIndex.WHOLE_LINE, tf.int64, lookup.TextFileIndex.LINE_NUMBER
        )
        ids = lookup.StaticHashTable(lines, -1).lookup(words)
        prices = lookup.KeyValueTensorInitializer(["red", "blue"], [1.5, 2.5])
        prices = lookup.StaticHashTable(prices, 0.0).lookup(words)
        rows = tf.gather(v1.get_variable("rows", initializer=f32(4, 2)), ids + 1)
        outputs = {"ids": ids, "prices": prices, "rows": rows}
        with v1.Session() as session:
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
            signature = v1.saved_model.predict_signature_def({"words": words}, outputs)
            builder = v1.saved_model.Builder(str(folder))
            builder.add_meta_graph_and_variables(
                session,
                ["serve"],
                {"serving_default": signature},
                main_op=v1.tables_initializer(),
                assets_collection=v1.get_collection(v1.GraphKeys.ASSET_FILEPATHS),
            )
            builder.save()
    file.unlink()
    words = np.array(["red", "x", "blue", ""], object)
    record(folder, [("serving_default", "serving_default", {"words": words})])


class Tables(tf.Module):
    """Tables of a vocabulary file, of constants, and of strings for numbers."""

    def __init__(self, file):
        lookup = tf.lookup
        words = lookup.TextFileInitializer(
            file, tf.string, lookup.TextFileIndex.WHOLE_LINE, tf.int64, lookup.TextFileIndex.LINE_NUMBER
        )
        self.words = lookup.StaticHashTable(words, -1)
        columns = lookup.TextFileInitializer(file, tf.int64, 1, tf.string, 0, delimiter=":")
        self.columns = lookup.StaticHashTable(columns, "?")
        prices = lookup.KeyValueTensorInitializer(["a", "", "é", "a\0b"], [1.5, 2.5, -3.0, 4.0])
        self.prices = lookup.StaticHashTable(prices, np.float32(np.nan))

    @tf.function(input_signature=[tf.TensorSpec(None, tf.string, "words"), tf.TensorSpec([None], tf.int64, "numbers")])
    def find(self, words, numbers):
        return {
            "ids": self.words.lookup(words),
            "names": self.columns.lookup(numbers),
            "prices": self.prices.lookup(words),
            "size": self.words.size(),
        }


def tables(folder):
    # The file's path becomes part of names in the model.
    os.chdir(FOLDER)
    file = Path("words.txt")
    file.write_text("low:7\nhigh:-2\nmid:0\n")
    module = Tables(str(file))
    tf.saved_model.save(module, str(folder), signatures=module.find)
    file.unlink()
    words = np.array([["mid:0", "a", ""], ["low:7", "a\0b", "é"]], object)
    record(
        folder,
        [
            ("serving_default", "serving_default", {"words": words, "numbers": np.array([7, 8, -2])}),
            ("serving_default", "serving_default_2", {"words": np.array("high:-2", object), "numbers": np.zeros(0, np.int64)}),
        ],
    )


class DenseTables(tf.Module):
    """Tables that training fills. TensorFlow saves all buckets, also empty buckets and buckets of erased keys."""

    def __init__(self):
        kind = tf.lookup.experimental.DenseHashTable
        self.numbers = kind(tf.string, tf.float32, -1.0, "$empty", "$deleted", initial_num_buckets=8)
        self.numbers.insert(tf.constant(["a", "", "erased", "é"]), tf.constant([1.0, 2.0, 3.0, -4.0]))
        self.numbers.erase(tf.constant(["erased"]))
        self.rows = kind(tf.int64, tf.int64, [0, 7], -1, -2, initial_num_buckets=4)
        self.rows.insert(tf.constant([5, 6], tf.int64), tf.constant([[1, 2], [3, 4]], tf.int64))
        self.hollow = kind(tf.int64, tf.bool, True, -1, -2, initial_num_buckets=4)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "words"), tf.TensorSpec([None], tf.int64, "keys")])
    def find(self, words, keys):
        return {
            "numbers": self.numbers.lookup(words),
            "rows": self.rows.lookup(keys),
            "hollow": self.hollow.lookup(keys),
            "sizes": tf.stack([self.numbers.size(), self.rows.size(), self.hollow.size()]),
        }


def dense_tables(folder):
    module = DenseTables()
    tf.saved_model.save(module, str(folder), signatures=module.find)
    words = np.array(["a", "erased", "", "b", "é", "a"], object)
    record(
        folder,
        [
            ("serving_default", "serving_default", {"words": words, "keys": np.array([6, 0, 5, 9])}),
            ("serving_default", "serving_default_2", {"words": np.zeros(0, object), "keys": np.zeros(0, np.int64)}),
        ],
    )


class Generator(tf.Module):
    """Random numbers of a generator, whose state is a variable. The lower word of its counter overflows."""

    def __init__(self):
        self.generator = tf.random.Generator.from_state([-600, 3, 7], "philox")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32, "x")])
    def shift(self, x):
        first = self.generator.uniform(tf.shape(x))
        second = self.generator.normal([2, 3], dtype=tf.float64)
        third = self.generator.uniform([4], 0, 100, tf.int32)
        return {"y": x + first, "second": second, "third": third, "state": self.generator.state}

    @tf.function(input_signature=[tf.TensorSpec([], tf.bool, "p")])
    def branch(self, p):
        return {"y": tf.cond(p, lambda: self.generator.uniform([2]), lambda: tf.zeros(2))}


def generator(folder):
    module = Generator()
    tf.saved_model.save(module, str(folder), signatures={"serving_default": module.shift, "branch": module.branch})
    record(folder, [("serving_default", "serving_default", {"x": f32(3)})])


MODELS = [
    layers,
    embedding,
    first_version,
    first_tables,
    tables,
    dense_tables,
    generator,
    embedding_dense,
    lstm,
    gru,
    beam_search,
    nested_branches,
    frozen_loop,
    text_vectorization,
    wide_and_deep,
    ragged_text,
    half,
    sequences,
    equal_names,
    same_name,
    swapped_names,
    written_variable,
    causal,
    state,
    training,
    stateful_layers,
]


def main():
    chosen = sys.argv[1:]
    for build in MODELS:
        if not chosen or build.__name__ in chosen:
            folder = FOLDER / build.__name__
            shutil.rmtree(folder, ignore_errors=True)
            FOLDER.mkdir(parents=True, exist_ok=True)
            build(folder)


main()
