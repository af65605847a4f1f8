"""Records calls of tf.signal and their results into data/signal.jsonl.

Recorded with TensorFlow 2.21.0 and numpy 2.4.6.

Run: pip install numpy==2.4.6 tensorflow-cpu==2.21.0 && python tests/record_signal.py

Each line has a function, its arguments, and the input and the result with their sizes. A complex number takes two
numbers, its parts.
"""

import json
from pathlib import Path

import numpy as np
import tensorflow as tf

OUTPUT = Path(__file__).resolve().parent / "data" / "signal.jsonl"


def signal(*sizes):
    """Returns numbers without a pattern, which f32 holds exactly."""
    count = int(np.prod(sizes))
    numbers = (np.arange(1, count + 1, dtype=np.int64) * 7919 % 257 - 128) / 64
    return numbers.reshape(sizes)


def tensor(array):
    array = np.asarray(array)
    parts = np.stack([array.real, array.imag], -1) if np.iscomplexobj(array) else array
    return {"dtype": array.dtype.name, "sizes": list(array.shape), "elements": parts.reshape(-1).tolist()}


def main():
    lines = []

    def record(function, args, result, x=None):
        line = {"function": function, "args": args, "result": tensor(result)}
        if x is not None:
            line["x"] = tensor(x)
        lines.append(json.dumps(line))

    for dtype in (tf.float32, tf.float64):
        numpy = dtype.as_numpy_dtype
        for length in (1, 2, 3, 8, 13):
            for periodic in (False, True):
                args = {"length": length, "periodic": periodic}
                for name in ("hann_window", "hamming_window"):
                    record(name, args, getattr(tf.signal, name)(length, periodic, dtype))
            args = {"length": length, "beta": 4.0}
            record("kaiser_window", args, tf.signal.kaiser_window(length, 4.0, dtype))
            if length > 1:
                window = tf.signal.kaiser_bessel_derived_window(length, 4.0, dtype)
                record("kaiser_bessel_derived_window", args, window)
            if dtype == tf.float64:
                # The Bessel function of this number exceeds f64.
                args = {"length": length, "beta": 1000.0}
                record("kaiser_window", args, tf.signal.kaiser_window(length, 1000.0, dtype))
                if length > 3:
                    window = tf.signal.kaiser_bessel_derived_window(length, 1000.0, dtype)
                    record("kaiser_bessel_derived_window", args, window)
            record("vorbis_window", {"length": length}, tf.signal.vorbis_window(length, dtype))
        for samples, length, step in ((10, 4, 2), (10, 4, 3), (3, 4, 2), (12, 3, 5), (0, 2, 1)):
            x = signal(2, samples).astype(numpy)
            args = {"frame_length": length, "frame_step": step}
            record("frame", args, tf.signal.frame(x, length, step), x)
            record("frame_padded", args, tf.signal.frame(x, length, step, pad_end=True, pad_value=-1), x)
        for frames, length, step in ((3, 4, 2), (4, 5, 2), (1, 3, 3), (3, 2, 3), (2, 4, 1), (0, 4, 2), (0, 2, 3)):
            x = signal(2, frames, length).astype(numpy)
            record("overlap_and_add", {"frame_step": step}, tf.signal.overlap_and_add(x, step), x)
        for samples, length, step, fft, pad in (
            (20, 8, 4, None, False),
            (20, 6, 4, None, True),
            (17, 5, 3, 9, False),
            (12, 8, 2, 4, False),
        ):
            x = signal(2, samples).astype(numpy)
            y = tf.signal.stft(x, length, step, fft_length=fft, pad_end=pad)
            args = {"frame_length": length, "frame_step": step, "fft_length": fft, "pad_end": pad}
            record("stft", args, y, x)
            back = tf.signal.inverse_stft(y, length, step, fft_length=fft)
            record("inverse_stft", args, back, y)
            window = tf.signal.hann_window(length, dtype=dtype)
            inverse = tf.signal.inverse_stft_window_fn(step)(length, dtype)
            record("inverse_stft_window", {"frame_step": step}, inverse, window)
        for length, step in ((3, 3), (4, 4), (4, 5)):
            window = tf.signal.hann_window(length, dtype=dtype)
            inverse = tf.signal.inverse_stft_window_fn(step)(length, dtype)
            record("inverse_stft_window", {"frame_step": step}, inverse, window)
        for size in (2, 5, 8):
            x = signal(3, size).astype(numpy)
            for kind in (1, 2, 3, 4):
                for norm in (None, "ortho"):
                    if kind == 1 and norm:
                        continue
                    args = {"kind": kind, "orthonormal": norm is not None}
                    record("dct", args, tf.signal.dct(x, kind, norm=norm), x)
                    record("idct", args, tf.signal.idct(x, kind, norm=norm), x)
            record("mfccs", {}, tf.signal.mfccs_from_log_mel_spectrograms(x), x)
        for args in ({}, {"mel_bins": 5, "spectrogram_bins": 17, "sample_rate": 1000.0, "lowest": 0.0, "highest": 500.0}):
            given = {
                "num_mel_bins": args.get("mel_bins", 20),
                "num_spectrogram_bins": args.get("spectrogram_bins", 129),
                "sample_rate": args.get("sample_rate", 8000.0),
                "lower_edge_hertz": args.get("lowest", 125.0),
                "upper_edge_hertz": args.get("highest", 3800.0),
            }
            record("mel", args, tf.signal.linear_to_mel_weight_matrix(**given, dtype=dtype))
    OUTPUT.write_text("\n".join(lines) + "\n")


main()
