"""Models of text: words to numbers by a vocabulary, sentences of unequal lengths, and embeddings."""

import os
from pathlib import Path

import numpy as np
import tensorflow as tf

from .recording import f32, record, texts, variable, weights

WORDS = ["the", "a", "cat", "dog", "sat", "on", "mat", "über", "naïve", "don't"]


class EmbeddingDense(tf.Module):
    """The mean of the embeddings of each row's words, where 0 stands for no word, and two layers."""

    def __init__(self):
        self.embedding = variable(10, "embedding", 50, 16)
        self.first = variable(11, "first", 16, 12)
        self.first_bias = tf.Variable(f32(12), name="first_bias")
        self.second = variable(12, "second", 12, 4)
        self.second_bias = tf.Variable(f32(4), name="second_bias")

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.int64, "ids")])
    def classify(self, ids):
        mask = tf.cast(tf.not_equal(ids, 0), tf.float32)
        embedded = tf.nn.embedding_lookup(self.embedding, ids) * mask[:, :, tf.newaxis]
        mean = tf.math.divide_no_nan(tf.reduce_sum(embedded, 1), tf.reduce_sum(mask, 1, keepdims=True))
        hidden = tf.nn.gelu(tf.linalg.matmul(mean, self.first) + self.first_bias)
        logits = tf.matmul(hidden, self.second) + self.second_bias
        return {"probabilities": tf.nn.softmax(logits), "class": tf.argmax(logits, 1)}


def embedding_dense(folder):
    module = EmbeddingDense()
    tf.saved_model.save(module, str(folder), signatures=module.classify)
    ids = np.array([[3, 49, 7, 0], [1, 0, 0, 0], [0, 0, 0, 0]], np.int64)
    record(
        folder,
        [
            ("serving_default", "serving_default", {"ids": ids}),
            ("serving_default", "serving_default_2", {"ids": np.zeros((2, 0), np.int64)}),
        ],
    )


class Vectorization(tf.Module):
    """Text to rows of numbers: lower case, no punctuation, words, a vocabulary file, a fixed length, embeddings."""

    LENGTH = 6

    def __init__(self, file):
        initializer = tf.lookup.TextFileInitializer(
            file, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER
        )
        self.table = tf.lookup.StaticVocabularyTable(initializer, num_oov_buckets=3)
        self.embedding = variable(13, "embedding", len(WORDS) + 3, 4)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def vectorize(self, text):
        text = tf.strings.regex_replace(tf.strings.lower(text, encoding="utf-8"), r"[!\"#$%&()*+,\-./:;<=>?@\[\]^_`{|}~]", "")
        words = tf.strings.split(text)
        ids = self.table.lookup(words)
        dense = ids.to_tensor(default_value=-1, shape=[None, self.LENGTH])
        rows = tf.nn.embedding_lookup(self.embedding, tf.maximum(dense, 0))
        rows = tf.where(dense[:, :, tf.newaxis] >= 0, rows, 0.0)
        return {"ids": dense, "words": words.row_lengths(), "embedded": tf.reduce_sum(rows, 1)}


def text_vectorization(folder):
    # The file's path becomes part of names in the model.
    os.chdir(folder.parent)
    file = Path("vocabulary.txt")
    file.write_text("".join(word + "\n" for word in WORDS), encoding="utf-8")
    module = Vectorization(str(file))
    tf.saved_model.save(module, str(folder), signatures=module.vectorize)
    file.unlink()
    sentences = texts("The cat sat, on the mat!", "", "  A NAÏVE Über-dog?  ", "one two three four five six seven the", "don't")
    record(
        folder,
        [
            ("serving_default", "serving_default", {"text": sentences}),
            ("serving_default", "serving_default_2", {"text": np.zeros(0, object)}),
        ],
    )


class RaggedText(tf.Module):
    """Documents of sentences of words, fed as words with two row partitions. Hashes of words choose embeddings."""

    BUCKETS = 16

    def __init__(self):
        self.embedding = variable(14, "embedding", self.BUCKETS, 4)
        self.output = tf.Variable(weights(15, 4, 2), name="output")

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.string, "words"),
            tf.TensorSpec([None], tf.int64, "sentence_splits"),
            tf.TensorSpec([None], tf.int64, "document_splits"),
        ]
    )
    def classify(self, words, sentence_splits, document_splits):
        ragged = tf.RaggedTensor.from_nested_row_splits(words, [document_splits, sentence_splits])
        ids = tf.strings.to_hash_bucket_fast(ragged, self.BUCKETS)
        sentences = tf.reduce_mean(tf.gather(self.embedding, ids), axis=2)
        documents = tf.reduce_max(sentences, axis=1)
        pairs = tf.strings.ngrams(ragged.merge_dims(0, 1), 2, separator="_")
        lengths = tf.strings.length(ragged)
        return {
            "scores": tf.matmul(documents, self.output),
            "pairs": pairs.flat_values,
            "pair_splits": pairs.row_splits,
            "longest": tf.reduce_max(lengths, 2).flat_values,
            "first_words": ragged[:, :1, :2].to_tensor(),
            "padded": ragged.to_tensor("-"),
        }


def ragged_text(folder):
    module = RaggedText()
    tf.saved_model.save(module, str(folder), signatures=module.classify)
    words = texts("the", "cat", "sat", "a", "dog", "on", "the", "mat", "über")
    splits = {"sentence_splits": np.array([0, 3, 5, 8, 9]), "document_splits": np.array([0, 2, 3, 4])}
    single = {"sentence_splits": np.array([0, 1]), "document_splits": np.array([0, 1])}
    record(
        folder,
        [
            ("serving_default", "serving_default", {"words": words, **splits}),
            ("serving_default", "serving_default_2", {"words": texts("alone"), **single}),
        ],
    )
