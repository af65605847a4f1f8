"""A wide and deep model of sparse features, and a net with variables of 16 bits."""

import numpy as np
import tensorflow as tf

from .recording import f32, record, texts, variable, weights


class WideAndDeep(tf.Module):
    """Parses examples. The wide part sums weights of words and of pairs of features; the deep part is a net.

    Rows without a word get the embedding of word 0, as `tf.nn.safe_embedding_lookup_sparse` gives it.
    """

    BUCKETS, CROSSED, UNITS = 20, 32, 8

    def __init__(self):
        self.wide = variable(20, "wide", self.BUCKETS, 1)
        self.crossed = variable(21, "crossed", self.CROSSED, 1)
        self.embedding = variable(22, "embedding", self.BUCKETS, 4)
        self.linear = variable(23, "linear", 10, 2)
        self.hidden = variable(24, "hidden", 4 + 2 + 2, self.UNITS)
        self.output = variable(25, "output", self.UNITS, 1)

    def score(self, words, country, ids, age):
        """`words` and `ids` are sparse; `country` is dense."""
        rows = words.dense_shape[0]
        buckets = tf.SparseTensor(
            words.indices, tf.strings.to_hash_bucket_fast(words.values, self.BUCKETS), words.dense_shape
        )
        wide = tf.nn.safe_embedding_lookup_sparse(self.wide, buckets, combiner="sum")
        crossed = tf.sparse.cross_hashed([words, country], num_buckets=self.CROSSED)
        cells = tf.stack([crossed.indices[:, 0], crossed.values], 1)
        counts = tf.scatter_nd(cells, tf.ones_like(crossed.values, tf.float32), tf.stack([rows, self.CROSSED]))
        deep = tf.nn.safe_embedding_lookup_sparse(self.embedding, buckets, combiner="sqrtn", default_id=0)
        net = tf.concat([deep, tf.sparse.sparse_dense_matmul(ids, self.linear), age], 1)
        net = tf.nn.relu(tf.matmul(net, self.hidden))
        return tf.matmul(net, self.output) + wide + tf.matmul(counts, self.crossed)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "examples")])
    def predict(self, examples):
        features = tf.io.parse_example(
            examples,
            {
                "words": tf.io.VarLenFeature(tf.string),
                "country": tf.io.FixedLenFeature([1], tf.string, default_value="none"),
                "ids": tf.io.SparseFeature("index", "value", tf.float32, size=10),
                "age": tf.io.FixedLenFeature([2], tf.float32),
            },
        )
        ids = features["ids"]
        logits = self.score(features["words"], features["country"], ids, features["age"])
        low = tf.sparse.slice(ids, [0, 0], [ids.dense_shape[0], 5])
        logits += tf.sparse.reduce_sum(low, 1, keepdims=True)
        return {"score": tf.sigmoid(logits)[:, 0], "logits": logits}

    @tf.function(
        input_signature=[
            tf.TensorSpec([None, 2], tf.int64, "word_indices"),
            tf.TensorSpec([None], tf.string, "words"),
            tf.TensorSpec([None], tf.string, "country"),
            tf.TensorSpec([None, 2], tf.int64, "id_indices"),
            tf.TensorSpec([None], tf.float32, "ids"),
            tf.TensorSpec([None, 2], tf.float32, "age"),
        ]
    )
    def of_features(self, word_indices, words, country, id_indices, ids, age):
        rows = tf.shape(country, tf.int64)[0]
        longest = tf.reduce_max(tf.concat([word_indices[:, 1] + 1, [0]], 0))
        words = tf.SparseTensor(word_indices, words, tf.stack([rows, longest]))
        ids = tf.SparseTensor(id_indices, ids, tf.stack([rows, 10]))
        return {"logits": self.score(words, country[:, tf.newaxis], ids, age)}


def example(words, country, ids, age):
    def strings(values):
        return tf.train.Feature(bytes_list=tf.train.BytesList(value=[value.encode() for value in values]))

    def floats(values):
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))

    index = tf.train.Feature(int64_list=tf.train.Int64List(value=list(ids)))
    feature = {"words": strings(words), "index": index, "value": floats(ids.values()), "age": floats(age)}
    if country:
        feature["country"] = strings([country])
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString(deterministic=True)


def wide_and_deep(folder):
    module = WideAndDeep()
    signatures = {"serving_default": module.predict, "features": module.of_features}
    tf.saved_model.save(module, str(folder), signatures=signatures)
    features = {
        "word_indices": np.array([[0, 0], [0, 1], [0, 2], [2, 0]]),
        "words": texts("red", "green", "red", "blue"),
        "country": texts("at", "de", "none"),
        "id_indices": np.array([[0, 2], [0, 7], [2, 0], [2, 4], [2, 9]]),
        "ids": f32(5),
        "age": f32(3, 2),
    }
    examples = [
        example(["red", "green", "red"], "at", {7: 0.5, 2: 1.5}, [0.25, -1.0]),
        example([], "de", {}, [0.5, 0.5]),
        example(["blue"], None, {0: 2.0, 4: -1.0, 9: 0.125}, [0.0, 3.0]),
        example([], None, {5: 1.0}, [1.0, 1.0]),
    ]
    record(
        folder,
        [
            ("serving_default", "serving_default", {"examples": np.array(examples, object)}),
            ("serving_default", "serving_default_2", {"examples": np.array(examples[:1], object)}),
            ("features", "features", features),
        ],
    )


class Half(tf.Module):
    """Weights of f16 and bf16, with results of f16 and f32."""

    def __init__(self):
        self.first = tf.Variable(weights(30, 6, 16).astype(np.float16), name="first")
        self.bias = tf.Variable(f32(16).astype(np.float16), name="bias")
        self.second = tf.Variable(tf.cast(weights(31, 16, 3), tf.bfloat16), name="second")

    @tf.function(input_signature=[tf.TensorSpec([None, 6], tf.float16, "x")])
    def predict(self, x):
        hidden = tf.nn.relu(tf.matmul(x, self.first) + self.bias)
        scores = tf.matmul(tf.cast(hidden, tf.float32), tf.cast(self.second, tf.float32))
        return {"hidden": hidden, "scores": scores, "largest": tf.cast(tf.reduce_max(self.second * 2, 0), tf.float32)}


def half(folder):
    module = Half()
    tf.saved_model.save(module, str(folder), signatures=module.predict)
    record(folder, [("serving_default", "serving_default", {"x": f32(4, 6).astype(np.float16)})])


class Sequences(tf.Module):
    """SequenceExample messages. TensorFlow leaves out the attributes of the parser that have their defaults."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "examples")])
    def parse(self, examples):
        context = {"label": tf.io.FixedLenFeature([], tf.int64, 7)}
        lists = {
            "frames": tf.io.FixedLenSequenceFeature([2], tf.float32, allow_missing=True),
            "tags": tf.io.VarLenFeature(tf.string),
        }
        features, sequences, lengths = tf.io.parse_sequence_example(examples, context, lists)
        return {
            "label": features["label"],
            "frames": sequences["frames"],
            "tags": tf.sparse.to_dense(sequences["tags"], default_value="-"),
            "lengths": lengths["frames"],
        }


def sequences(folder):
    def message(label, frames, tags):
        example = tf.train.SequenceExample()
        if label is not None:
            example.context.feature["label"].int64_list.value.append(label)
        for frame in frames:
            example.feature_lists.feature_list["frames"].feature.add().float_list.value.extend(frame)
        for words in tags:
            example.feature_lists.feature_list["tags"].feature.add().bytes_list.value.extend(words)
        return example.SerializeToString()

    module = Sequences()
    tf.saved_model.save(module, str(folder), signatures=module.parse)
    messages = [message(3, [[1, 2], [3, 4]], [[b"a", b"b"], []]), message(None, [], [[b"c"]])]
    cases = {"serving_default": np.array(messages, object), "serving_default_2": np.zeros(0, object)}
    record(folder, [("serving_default", case, {"examples": examples}) for case, examples in cases.items()])
