"""Trains the classifier that the digits example runs, and writes it to data/digits.npz.

The data is scikit-learn's `load_digits`: 1,797 gray images of 8x8 pixels, values 0 to 16. A
multilayer perceptron is trained in float32 on 60 % of the images; the other 40 % are the test set.
Recorded with numpy 2.4.6 and scikit-learn 1.9.1.

Run: pip install numpy scikit-learn && python examples/train_digits.py

The arrays of data/digits.npz, N test images and the layer sizes 64, 48, 32, 10:

    images         u8  [N, 8, 8]   raw pixels of the test images
    labels         i64 [N]         the digit each image shows
    predictions    i64 [N]         scikit-learn's answer for each image
    probabilities  f32 [N, 10]     scikit-learn's probability of each digit
    mean           f32 [8, 8]      mean of each pixel over the training images
    scale          f32 []          one over the standard deviation of all centered training pixels
    w0 w1 w2       f32 [in, out]   weights of each layer
    b0 b1 b2       f32 [out]       bias of each layer

The model is: x = (images - mean) * scale, flattened to [N, 64]; relu(x @ w0 + b0);
relu(.. @ w1 + b1); softmax(.. @ w2 + b2); the prediction is the argmax.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

OUTPUT = Path(__file__).resolve().parent / "data" / "digits.npz"
SEED = 7
HIDDEN = (48, 32)
TEST_SHARE = 0.4
LEAST_ACCURACY = 0.96


def normalize(images, mean, scale):
    """Converts pixels [N, 8, 8] to the classifier's input, f32 [N, 64]."""
    centered = (images.astype(np.float32) - mean) * scale
    return centered.reshape(len(images), -1)


def evaluate(images, mean, scale, layers):
    """Runs the stored model in float32, as the example builds it. Returns the logits [N, 10]."""
    x = normalize(images, mean, scale)
    for i, (weight, bias) in enumerate(layers):
        x = x @ weight + bias
        if i + 1 < len(layers):
            x = np.maximum(x, np.float32(0))
    return x


def main():
    digits = load_digits()
    images = digits.images.astype(np.uint8)
    assert np.array_equal(images, digits.images), "every pixel must be an integer"
    train_images, test_images, train_labels, test_labels = train_test_split(
        images,
        digits.target.astype(np.int64),
        test_size=TEST_SHARE,
        random_state=SEED,
        stratify=digits.target,
    )

    mean = train_images.mean(axis=0).astype(np.float32)
    scale = np.float32(1.0 / (train_images - mean.astype(np.float64)).std())

    classifier = MLPClassifier(
        hidden_layer_sizes=HIDDEN,
        activation="relu",
        solver="adam",
        alpha=1e-3,
        batch_size=64,
        max_iter=400,
        random_state=SEED,
    )
    classifier.fit(normalize(train_images, mean, scale), train_labels)
    assert np.array_equal(classifier.classes_, np.arange(10)), "class i must be the digit i"

    inputs = normalize(test_images, mean, scale)
    predictions = classifier.predict(inputs).astype(np.int64)
    probabilities = classifier.predict_proba(inputs).astype(np.float32)
    layers = [
        (weight.astype(np.float32), bias.astype(np.float32))
        for weight, bias in zip(classifier.coefs_, classifier.intercepts_, strict=True)
    ]

    logits = evaluate(test_images, mean, scale, layers)
    assert logits.dtype == np.float32
    assert np.array_equal(logits.argmax(axis=1), predictions), "float32 must give the same predictions"
    accuracy = float((predictions == test_labels).mean())
    assert accuracy >= LEAST_ACCURACY, f"accuracy must be at least {LEAST_ACCURACY}, got {accuracy:.4f}"
    ranked = np.sort(logits, axis=1)
    margin = float((ranked[:, -1] - ranked[:, -2]).min())

    arrays = {
        "images": test_images,
        "labels": test_labels,
        "predictions": predictions,
        "probabilities": probabilities,
        "mean": mean,
        "scale": scale,
    }
    for i, (weight, bias) in enumerate(layers):
        arrays[f"w{i}"] = np.ascontiguousarray(weight)
        arrays[f"b{i}"] = bias
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(OUTPUT, **{k: np.asarray(v, order="C") for k, v in arrays.items()})

    print(f"{OUTPUT.name}: {OUTPUT.stat().st_size} bytes")
    with np.load(OUTPUT, allow_pickle=False) as stored:
        for name in stored.files:
            print(f"  {name:14} {stored[name].dtype} {list(stored[name].shape)}")
    print(f"accuracy on {len(test_labels)} held-out images: {accuracy:.4f}")
    print(f"smallest difference between the two highest logits: {margin:.3g}")


if __name__ == "__main__":
    main()
