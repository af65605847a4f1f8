"""Loops with branches: a beam search, a search with a branch in its body, and a frozen graph of TensorFlow 1."""

import numpy as np
import tensorflow as tf

from .recording import f32, record, variable, weights

v1 = tf.compat.v1
WORDS, BEAMS, STATE = 12, 3, 6
END = 0


class BeamSearch(tf.Module):
    """Finds likely sequences of words. Lists of tensors hold the chosen words and their parents of each step."""

    def __init__(self):
        self.embedding = variable(5, "embedding", WORDS, STATE)
        self.recurrent = variable(6, "recurrent", STATE, STATE)
        self.output = tf.Variable(weights(7, STATE, WORDS) * 4, name="output")

    @tf.function(
        input_signature=[tf.TensorSpec([None, STATE], tf.float32, "context"), tf.TensorSpec([], tf.int32, "steps")]
    )
    def search(self, context, steps):
        batch = tf.shape(context)[0]
        state = tf.repeat(context, BEAMS, axis=0)
        words = tf.ones([batch, BEAMS], tf.int32)
        # At first the beams of a row are equal: only the first one counts.
        scores = tf.tile([[0.0] + [-1e9] * (BEAMS - 1)], [batch, 1])
        is_finished = tf.zeros([batch, BEAMS], tf.bool)
        chosen = tf.TensorArray(tf.int32, 0, dynamic_size=True, element_shape=[None, BEAMS])
        parents = tf.TensorArray(tf.int32, 0, dynamic_size=True, element_shape=[None, BEAMS])

        def goes_on(t, state, words, scores, is_finished, chosen, parents):
            return tf.logical_and(t < steps, tf.logical_not(tf.reduce_all(is_finished)))

        def body(t, state, words, scores, is_finished, chosen, parents):
            inputs = tf.gather(self.embedding, tf.reshape(words, [-1]))
            state = tf.tanh(inputs + tf.matmul(state, self.recurrent))
            likely = tf.nn.log_softmax(tf.reshape(tf.matmul(state, self.output), [batch, BEAMS, WORDS]))
            # A finished beam stays as it is.
            only_end = tf.where(tf.one_hot(END, WORDS) > 0, 0.0, -1e9)
            likely = tf.where(is_finished[:, :, tf.newaxis], only_end, likely)
            total = tf.reshape(scores[:, :, tf.newaxis] + likely, [batch, BEAMS * WORDS])
            scores, flat = tf.math.top_k(total, BEAMS)
            parent, words = flat // WORDS, flat % WORDS
            is_finished = tf.gather(is_finished, parent, batch_dims=1) | (words == END)
            state = tf.gather(tf.reshape(state, [batch, BEAMS, STATE]), parent, batch_dims=1)
            state = tf.reshape(state, [-1, STATE])
            return t + 1, state, words, scores, is_finished, chosen.write(t, words), parents.write(t, parent)

        state = (0, state, words, scores, is_finished, chosen, parents)
        shapes = [[], [None, STATE], [None, BEAMS], [None, BEAMS], [None, BEAMS], None, None]
        invariants = tuple(tf.TensorShape(shape) for shape in shapes)
        count, _, _, scores, _, chosen, parents = tf.while_loop(goes_on, body, state, shape_invariants=invariants)

        def follow(t, beam, sentence):
            words = tf.gather(chosen.read(t), beam, batch_dims=1)
            return t - 1, tf.gather(parents.read(t), beam, batch_dims=1), sentence.write(t, words)

        beam = tf.tile([list(range(BEAMS))], [batch, 1])
        sentence = tf.TensorArray(tf.int32, count, element_shape=[None, BEAMS])
        _, _, sentence = tf.while_loop(lambda t, *_: t >= 0, follow, (count - 1, beam, sentence))
        return {"sentences": tf.transpose(sentence.stack(), [1, 2, 0]), "scores": scores, "steps": count}


def beam_search(folder):
    module = BeamSearch()
    tf.saved_model.save(module, str(folder), signatures=module.search)
    context = (np.arange(4 * STATE, dtype=np.float32).reshape(4, STATE) % 5 - 2) / 2
    record(
        folder,
        [
            ("serving_default", "serving_default", {"context": context, "steps": np.int32(5)}),
            ("serving_default", "serving_default_2", {"context": f32(1, STATE), "steps": np.int32(9)}),
        ],
    )


class Collatz(tf.Module):
    """Numbers of steps, with branches inside branches in the body of a loop inside the body of a loop."""

    def __init__(self):
        self.factor = tf.Variable(3, dtype=tf.int64, name="factor")

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64, "numbers"), tf.TensorSpec([], tf.int64, "limit")])
    def count(self, numbers, limit):
        highest = tf.constant(0, tf.int64)
        counts = tf.TensorArray(tf.int64, tf.shape(numbers)[0])
        for index in tf.range(tf.shape(numbers)[0]):
            number, steps = numbers[index], tf.constant(0, tf.int64)
            while number > 1:
                if number % 2 == 0:
                    number //= 2
                else:
                    number = self.factor * number + 1
                    if number > highest:
                        highest = number
                if steps >= limit:
                    steps = tf.constant(-1, tf.int64)
                    break
                steps += 1
            counts = counts.write(index, steps)
        return {"counts": counts.stack(), "highest": highest}


def nested_branches(folder):
    module = Collatz()
    tf.saved_model.save(module, str(folder), signatures=module.count)
    record(
        folder,
        [
            ("serving_default", "serving_default", {"numbers": np.array([6, 27, 1, -4, 97]), "limit": np.int64(115)}),
            ("serving_default", "serving_default_2", {"numbers": np.zeros(0, np.int64), "limit": np.int64(5)}),
        ],
    )


def frozen_loop(folder):
    """A graph of TensorFlow 1 whose variables were frozen to constants, with a loop in a loop and a branch."""
    graph = tf.Graph()
    v1.disable_control_flow_v2()
    with graph.as_default(), v1.Session() as session:
        x = v1.placeholder(tf.float32, [None, 4], name="x")
        times = v1.placeholder(tf.int32, [], name="times")
        matrix = v1.get_variable("matrix", initializer=tf.constant(weights(8, 4, 4)))

        def body(t, y, norms):
            y = tf.matmul(y, matrix)
            _, y = v1.while_loop(lambda k, _: k < t, lambda k, y: (k + 1, y * 0.5 + 0.25), (0, y))
            norm = tf.reduce_sum(y * y)
            y = v1.cond(norm > 1.0, lambda: y / tf.sqrt(norm), lambda: y)
            return t + 1, y, norms.write(t, norm)

        norms = tf.TensorArray(tf.float32, times)
        _, y, norms = v1.while_loop(lambda t, *_: t < times, body, (0, x, norms))
        tf.identity(y, name="y")
        tf.identity(norms.stack(), name="norms")
        session.run(v1.global_variables_initializer())
        frozen = v1.graph_util.convert_variables_to_constants(session, graph.as_graph_def(), ["y", "norms"])
    v1.enable_control_flow_v2()
    with tf.Graph().as_default() as graph, v1.Session() as session:
        tf.import_graph_def(frozen, name="")
        tensor = graph.get_tensor_by_name
        builder = v1.saved_model.Builder(str(folder))
        signature = v1.saved_model.predict_signature_def(
            {"x": tensor("x:0"), "times": tensor("times:0")}, {"y": tensor("y:0"), "norms": tensor("norms:0")}
        )
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map={"serving_default": signature})
        builder.save()
    record(
        folder,
        [
            ("serving_default", "serving_default", {"x": f32(3, 4), "times": np.int32(5)}),
            ("serving_default", "serving_default_2", {"x": f32(1, 4), "times": np.int32(0)}),
        ],
    )
