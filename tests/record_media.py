"""Records TensorFlow nodes on files and their results into data/media.jsonl, in the form of data/imports.jsonl.

Recorded with TensorFlow 2.21.0 and numpy 2.4.6, one thread, no graph rewrites.

Run: pip install numpy==2.4.6 tensorflow-cpu==2.21.0 && python tests/record_media.py

Files are byte strings, and pixels are the bytes of `tensor_content`. The files that TensorFlow does not write are made
by `media_samples.py`. Files that end inside their pixels are left out: TensorFlow may wait forever for the rest.
"""

import gzip
import struct
import zlib
from pathlib import Path

import record_imports
from record_imports import Recorder, i32
from record_strings import s as vector, scalar

import numpy as np
import tensorflow as tf
from media_samples import bmp, chunk, colors, gif, of_base64, picture, png, wav
from tensorflow.core.framework import tensor_pb2

OUTPUT = Path(__file__).resolve().parent / "data" / "media.jsonl"
LISTED = record_imports.tensor
RAW = tf.raw_ops


def tensor(array):
    """Returns the text of a TensorProto; many numbers are bytes."""
    array = np.array(array, object) if isinstance(array, bytes) else np.asarray(array)
    if array.dtype == object or array.size < 16:
        return LISTED(array)
    proto = tensor_pb2.TensorProto(dtype=tf.as_dtype(array.dtype).as_datatype_enum, tensor_content=array.tobytes())
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    return record_imports.text(proto)


record_imports.tensor = tensor


class FileRecorder(Recorder):
    """Records nodes on files: bytes are a scalar string, and a tuple of bytes is a vector of strings."""

    def record(self, op, attrs=None, **given):
        for name, value in given.items():
            if isinstance(value, (bytes, tuple)):
                given[name] = scalar(value) if isinstance(value, bytes) else vector(*value)
        super().record(op, attrs, **given)


def png_files():
    yield png(picture(6, 9, 1), 0)
    yield png(picture(6, 9, 2), 4)
    yield png(picture(6, 9, 3), 2)
    yield png(picture(6, 9, 4), 6)
    for bits in (1, 2, 4):
        samples = picture(9, 11, 1) >> (8 - bits)
        yield png(samples, 0, bits)
        yield png(samples, 0, bits, interlaced=True)
        yield png(samples, 0, bits, chunks=chunk(b"tRNS", struct.pack(">H", 1)))
    for bits in (1, 2, 4, 8):
        samples = picture(7, 10, 1) >> (8 - bits)
        palette = chunk(b"PLTE", colors(1 << bits))
        yield png(samples, 3, bits, chunks=palette)
        yield png(samples, 3, bits, chunks=palette + chunk(b"tRNS", bytes([0, 100])), interlaced=bits == 4)
    for color, channels in ((0, 1), (4, 2), (2, 3), (6, 4)):
        samples = picture(5, 7, channels, top=65535)
        yield png(samples, color, 16)
        yield png(samples, color, 16, interlaced=True)
    keyed = picture(5, 7, 3)
    yield png(keyed, 2, chunks=chunk(b"tRNS", struct.pack(">HHH", *map(int, keyed[1, 2]))))
    yield png(picture(13, 11, 3), 2, interlaced=True)
    for gamma in (45455, 30000, 98000):
        yield png(picture(6, 9, 3), 2, chunks=chunk(b"gAMA", struct.pack(">I", gamma)))
    yield png(picture(6, 9, 3), 2, chunks=chunk(b"sRGB", b"\0"))
    yield png(picture(6, 9, 3, top=65535), 2, 16, chunks=chunk(b"gAMA", struct.pack(">I", 45455)))


def png_cases(out):
    for file in png_files():
        for channels in (0, 1, 3, 4):
            out.record("DecodePng", {"channels": channels}, contents=file)
            if channels in (1, 4):
                out.record("DecodePng", {"channels": channels, "dtype": tf.uint16}, contents=file)
        out.record("DecodeImage", {"channels": 3, "dtype": tf.float32}, contents=file)
    whole = png(picture(6, 9, 3), 2)
    for file in (b"", b"abc", whole[:8], whole[:40], whole[:-60]):
        out.record("DecodePng", contents=file, error=True)
    # A wrong checksum of the pixels does not count.
    out.record("DecodePng", contents=whole[:60] + b"\xff" + whole[61:], attempt=True)
    out.record("DecodePng", {"channels": 2}, contents=whole, error=True)
    out.record("DecodePng", contents=(whole,), error=True)
    out.record("DecodeGif", contents=png(picture(6, 9, 2), 4))
    out.record("DecodeBmp", contents=whole, error=True)
    huge = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 1 << 20, 1 << 20, 8, 2, 0, 0, 0)) + whole[33:]
    out.record("DecodePng", contents=huge, error=True)


def jpeg(samples, **attrs):
    return RAW.EncodeJpeg(image=samples, **attrs).numpy()


def jpeg_cases(out):
    color, gray = picture(19, 35, 3), picture(17, 9, 1)
    files = [
        jpeg(color), jpeg(color, chroma_downsampling=False), jpeg(color, progressive=True), jpeg(gray),
        jpeg(color, quality=20, optimize_size=True), jpeg(picture(33, 17, 3, 90), quality=99), jpeg(picture(1, 1, 3)),
        jpeg(gray, progressive=True), *map(of_base64, JPEG_FILES),
    ]  # fmt: skip
    for file in files:
        for channels in (0, 1, 3):
            out.record("DecodeJpeg", {"channels": channels}, contents=file, attempt=True)
        for attrs in ({"fancy_upscaling": False}, {"dct_method": "INTEGER_ACCURATE"}, {"ratio": 2}, {"ratio": 4}, {"ratio": 8}):
            out.record("DecodeJpeg", attrs, contents=file)
        out.record("DecodeJpeg", {"ratio": 2, "fancy_upscaling": False, "channels": 3}, contents=file)
        out.record("ExtractJpegShape", {"output_type": tf.int64}, contents=file)
        out.record("DecodeImage", {"dtype": tf.uint16}, contents=file)
        out.record("DecodeImage", {"dtype": tf.float32, "channels": 3}, contents=file)
    whole = files[0]
    out.record("ExtractJpegShape", contents=whole)
    for window in ((3, 5, 10, 20), (0, 16, 19, 16), (16, 16, 3, 19), (0, 0, 19, 35), (18, 34, 1, 1), (2, 1, 9, 33)):
        out.record("DecodeAndCropJpeg", {"channels": 3}, contents=whole, crop_window=i32(*window))
        out.record("DecodeAndCropJpeg", contents=files[2], crop_window=i32(*window))
    out.record("DecodeAndCropJpeg", {"ratio": 2}, contents=whole, crop_window=i32(1, 8, 5, 9))
    for window in ((0, 0, 20, 1), (-1, 0, 2, 2), (0, 0, 0, 2), (0, 30, 2, 6)):
        out.record("DecodeAndCropJpeg", contents=whole, crop_window=i32(*window), error=True)
    out.record("DecodeAndCropJpeg", contents=whole, crop_window=i32(0, 0, 1), error=True)
    out.record("DecodeAndCropJpeg", contents=png(color, 2), crop_window=i32(0, 0, 1, 1), error=True)
    for attrs in ({"ratio": 3}, {"channels": 4}, {"channels": 2}, {"dct_method": "FLOAT"}):
        out.record("DecodeJpeg", attrs, contents=whole, error=True)
    for file in (b"", whole[:3], whole[:100], b"\xff\xd8\xff\xd9"):
        out.record("DecodeJpeg", contents=file, error=True)
    out.record("ExtractJpegShape", contents=whole[:100], error=True)
    out.record("DecodeJpeg", contents=png(color, 2))
    out.record("DecodePng", {"dtype": tf.uint16}, contents=whole)
    out.record("DecodeGif", contents=files[3])


def encoder_cases(out):
    for channels in (1, 2, 3, 4):
        out.record("EncodePng", image=picture(5, 7, channels))
        out.record("EncodePng", {"compression": 0}, image=picture(5, 7, channels, top=65535))
    out.record("EncodePng", {"compression": 9}, image=np.stack([picture(5, 7, 3), picture(5, 7, 3, seed=2)]))
    out.record("EncodePng", image=np.zeros((0, 5, 7, 3), np.uint8))
    for shape in ((5, 7), (5, 7, 5), (0, 7, 3)):
        out.record("EncodePng", image=np.zeros(shape, np.uint8), error=True)
    out.record("EncodePng", {"compression": 10}, image=picture(5, 7, 3), error=True)
    smooth = picture(20, 35, 3, noise=0)
    for attrs in (
        {}, {"quality": 60}, {"progressive": True}, {"optimize_size": True}, {"chroma_downsampling": False},
        {"format": "rgb"}, {"density_unit": "cm", "x_density": 5}, {"xmp_metadata": "<x/>"}, {"quality": 100},
    ):  # fmt: skip
        out.record("EncodeJpeg", attrs, image=smooth)
    out.record("EncodeJpeg", {"format": "grayscale"}, image=smooth[..., :1])
    for attrs, image in (({"quality": 101}, smooth), ({"format": "grayscale"}, smooth), ({}, smooth[..., :2]), ({}, smooth[:0])):
        out.record("EncodeJpeg", attrs, image=image, error=True)
    for quality in (30, 90):
        out.record("EncodeJpegVariableQuality", images=smooth, quality=np.int32(quality))
    out.record("EncodeJpegVariableQuality", images=smooth, quality=np.int32(-1), error=True)


def bmp_cases(out):
    for channels in (1, 3, 4):
        samples = picture(5, 7, channels)
        for file in (bmp(samples), bmp(samples, True), bmp(samples, header_size=108), bmp(samples) + b"more"):
            for wanted in (0, 3, 4):
                out.record("DecodeBmp", {"channels": wanted}, contents=file, attempt=True)
        for dtype in (tf.uint8, tf.uint16, tf.float32):
            out.record("DecodeImage", {"dtype": dtype}, contents=bmp(samples))
        out.record("DecodeBmp", {"channels": 1}, contents=bmp(samples), error=True)
    whole = bmp(picture(5, 7, 3))
    for file in (whole[:20], whole[:-1], whole[:28] + b"\x10" + whole[29:], whole[:18] + bytes(4) + whole[22:]):
        out.record("DecodeBmp", contents=file, error=True)
    for op in ("DecodePng", "DecodeGif", "DecodeJpeg", "DecodeWebP"):
        out.record(op, contents=whole, error=True)


def gif_cases(out):
    def indices(height, width, seed):
        return np.random.default_rng(seed).integers(0, 8, (height, width)).astype(np.uint8)

    one = gif(7, 5, [(0, 0, indices(5, 7, 1), 0, None, None, False)])
    frames = [
        (0, 0, indices(5, 7, 1), 1, None, None, False),
        (2, 1, indices(3, 4, 2), 2, 3, None, True),
        (1, 0, indices(2, 2, 3), 3, None, colors(8, 9), False),
    ]
    three = gif(7, 5, frames, background=2)
    offset = gif(9, 8, [(2, 1, indices(4, 5, 4), 0, 5, None, False), (0, 0, indices(6, 6, 5), 2, 1, None, True)])
    own = gif(4, 9, [(0, 0, indices(9, 4, 6), 0, None, colors(8, 4), True)], palette=False, version=b"87a")
    long = gif(40, 30, [(0, 0, indices(30, 40, 7), 0, None, None, False)])
    for file in (one, three, offset, own, long, three[:-8], one[:-1], gif(3, 3, [(2, 2, indices(5, 5, 8), 0, None, None, False)])):
        out.record("DecodeGif", contents=file, attempt=True)
        for attrs in ({}, {"expand_animations": False}, {"dtype": tf.uint16}, {"dtype": tf.float32, "expand_animations": False}):
            out.record("DecodeImage", attrs, contents=file, attempt=True)
    out.record("DecodePng", contents=one)
    out.record("DecodeJpeg", {"channels": 3}, contents=one)
    out.record("DecodePng", contents=three, error=True)
    out.record("DecodeImage", {"channels": 1}, contents=three, error=True)
    out.record("DecodeGif", contents=three[:40], error=True)
    out.record("DecodeGif", contents=b"GIF89a", error=True)
    out.record("DecodeBmp", contents=one, error=True)
    out.record("DecodeGif", contents=gif(2, 2, [(0, 0, indices(2, 2, 1), 0, None, None, False)], palette=False), error=True)


def webp_cases(out):
    for file in map(of_base64, WEBP_FILES):
        for channels in (0, 3, 4):
            out.record("DecodeWebP", {"channels": channels}, contents=file, attempt=True)
            for expands in (True, False):
                attrs = {"channels": channels, "expand_animations": expands}
                out.record("DecodeImage", attrs, contents=file, attempt=True)
        out.record("DecodeImage", {"dtype": tf.float32}, contents=file, attempt=True)
        out.record("DecodeWebP", contents=file[:-9], attempt=True)
    out.record("DecodeWebP", contents=png(picture(6, 9, 3), 2))


def wav_cases(out):
    def sound(samples, channels):
        return np.random.default_rng(5).integers(-32768, 32768, (samples, channels)).astype(np.int16)

    for channels in (1, 2, 3):
        file = wav(sound(11, channels), 16000)
        out.record("DecodeWav", contents=file)
        for wanted, samples in ((1, -1), (2, 7), (4, 15), (-1, 20), (-1, 0), (0, -1)):
            out.record("DecodeWav", {"desired_channels": wanted, "desired_samples": samples}, contents=file, attempt=True)
    extras = (b"LIST" + struct.pack("<I", 4) + b"info", b"odd " + struct.pack("<I", 3) + b"abc")
    for extra in extras:
        out.record("DecodeWav", contents=wav(sound(4, 1), extra=extra), attempt=True)
    out.record("DecodeWav", contents=wav(sound(0, 1)), attempt=True)
    whole = wav(sound(6, 2))
    for file in (whole[:30], whole[:-3], b"RIFX" + whole[4:], wav(sound(6, 2), kind=3), wav(sound(6, 2), bits=8), whole[:44], b""):
        out.record("DecodeWav", contents=file, error=True)
    out.record("DecodeWav", {"desired_channels": -2}, contents=whole, error=True)
    audio = np.array([[0.5, -0.25], [1.0, -1.0], [2.0, -2.0], [1e-5, 0.99998], [0.3, -0.7]], np.float32)
    halves = np.array([[x / 65536] for x in (-3, -1, 1, 3, 5)], np.float32)
    for samples in (audio, audio[:, :1], halves):
        out.record("EncodeWav", audio=samples, sample_rate=np.int32(44100))
    out.record("EncodeWav", audio=audio[0], sample_rate=np.int32(44100), error=True)


def compressed_cases(out):
    text = b"hello, hello, hello" * 40
    for name, files in (
        ("", (b"ab", b"", text)),
        ("ZLIB", (zlib.compress(text), zlib.compress(b""), zlib.compress(b"x") + b"tail", zlib.compress(text)[:-3], zlib.compress(text)[:15], b"")),
        ("GZIP", (gzip.compress(text, mtime=0), gzip.compress(b"a", mtime=0) + gzip.compress(b"b", mtime=0), b"")),
    ):
        out.record("DecodeCompressed", {"compression_type": name}, bytes=files)
    out.record("DecodeCompressed", {"compression_type": "ZLIB"}, bytes=zlib.compress(text))
    for name, file in (("ZLIB", b"xx"), ("GZIP", zlib.compress(text)), ("ZLIB", zlib.compress(text)[:-4] + b"abcd")):
        out.record("DecodeCompressed", {"compression_type": name}, bytes=(file,), error=True)
    out.record("DecodeCompressed", {"compression_type": "LZMA"}, bytes=(text,), error=True)


# JPEG files that TensorFlow does not write: sampling factors 2x1, 1x2 and 4x1, restart markers, and four inks.
JPEG_FILES = (
    """
    /9j/4AAQSkZJRgABAgAAAQABAAD/wAARCAAVACUDACEAAREBAhEB/9sAQwAFAwQEBAMFBAQEBQUFBgcMCAcHBwcPCwsJDBEPEhIRDxERExYcFx
    MUGhURERghGBodHR8fHxMXIiQiHiQcHh8e/9sAQwEFBQUHBgcOCAgOHhQRFB4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4e
    Hh4eHh4eHh4eHh4e/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhBy
    JxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKT
    lJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAA
    AAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRom
    JygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExc
    bHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMAAAERAhEAPwD2O71tf7JYLjaQedvf+v8A9avCPiNrMMdw/ORnkg/d9/8AP/6v
    GrUo/wBpfM7Mhqr6lbv+RD8PdchF8BvUAkZPJz6c17xaa5GumKxYEkbQxH05x+dfa59Qf1BK3zPkqFb/AIUrpdbHlfjDW4l1TLKrArwMrxznuf
    esX+3YP+eS/mn+NfnNCnUdNNP8Gfq1OvaCSV/69Dtbhbk6WygZ4ycjrnj/AD9a8J+IayLdMNxJJwCe4yOnevRr4n/hUbWmv9eZ4mQYBrB3aGfD
    j7QbxCQcH7oYkZ59PTrXvNkbn+yhk4O3uTj8q+z4ixMXl6TPkYYBRzNvzPMPF5mXVCFBwOMk/T2rF3T+g/X/AAr81o4pci978f8Agn6h/Zr7n0
    xdWELaW6nnCA5PPHJrwX4k2UEN24VBkDjqMVyyqylmvL8zzMgqt4TbyG/DuyhS6Rxvz068dDzXu+n2cTaY/H+rjUrkZFfbcRNvA3b2sfJLENZj
    tqv8zyvxrbQpqSsVJLgtxjjn3zWD5UH/ADzb81/wr80oTl7NbfcfrMFeKP/Z
    """,
    """
    /9j/4AAQSkZJRgABAgAAAQABAAD/wAARCAAVACUDABIAAREBAhEB/9sAQwAFAwQEBAMFBAQEBQUFBgcMCAcHBwcPCwsJDBEPEhIRDxERExYcFx
    MUGhURERghGBodHR8fHxMXIiQiHiQcHh8e/9sAQwEFBQUHBgcOCAgOHhQRFB4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4e
    Hh4eHh4eHh4eHh4e/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhBy
    JxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKT
    lJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAA
    AAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRom
    JygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExc
    bHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oADAMAAAERAhEAPwD2O71tf7JYLjaQedvf+v8A9auBuFuTpbKBnjJyOueP8/WvIz32
    UamrIyKlXdrL/hv6+Zw3xG1mGO4fnIzyQfu+/wDn/wDVwXxDWRbphuJJOAT3GR071nkSpe1u+59hiqVaVPXsdv8AD3XIRfAb1AJGTyc+nNcL8O
    PtBvEJBwfuhiRnn09Otfq1L2Xsr31t/X9fM/Lc2o11N6fofWVprka6YrFgSRtDEfTnH51w1kbn+yhk4O3uTj8q/OuIPZpuzPUyKlXUtr/1/XoY
    njDW4l1TLKrArwMrxznufeuL8XmZdUIUHA4yT9PavmsI4cr94/R4wxKVkv6/pHv11YQtpbqecIDk88cmrU//ACD5f+uY/k1cOe1Jcyd+v+R81k
    FSXtFG+lz57+JNlBDduFQZA46jFWPih/x+P/nuK1yBuUo38v1PssTN+zl5f5FX4d2UKXSON+enXjoeas/D7/Xp/vf0NfqNOUlS3/q5+V5xWnzv
    X+tT27T7OJtMfj/VxqVyMirGmf8AIMuP+uS1+f8AEjtUaR6mS1ppp37foeR+NbaFNSVipJcFuMcc++am8d/8hCH/AHD/ADr5PCSfI/U/T6OujP
    /Z
    """,
    """
    /9j/4AAQSkZJRgABAgAAAQABAAD/wAARCAAVACUDAEEAAREBAhEB/9sAQwAFAwQEBAMFBAQEBQUFBgcMCAcHBwcPCwsJDBEPEhIRDxERExYcFx
    MUGhURERghGBodHR8fHxMXIiQiHiQcHh8e/9sAQwEFBQUHBgcOCAgOHhQRFB4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4e
    Hh4eHh4eHh4eHh4e/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhBy
    JxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKT
    lJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAA
    AAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRom
    JygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExc
    bHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/9oACAEAAAA/APY7vW1/slguNpB529/6/wD1q8I+I2swx3D85GeSD933/wA//qh+HuuQ
    i+A3qASMnk59Oa94tNcjXTFYsCSNoYj6c4/OvK/GGtxLqmWVWBXgZXjnPc+9bdwtydLZQM8ZOR1zx/n614T8Q1kW6YbiSTgE9xkdO9M+HH2g3i
    Eg4P3QxIzz6enWvebI3P8AZQycHb3Jx+VeYeLzMuqEKDgcZJ+ntXv11YQtpbqecIDk88cmvBfiTZQQ3bhUGQOOoxTfh3ZQpdI4356deOh5r3fT
    7OJtMfj/AFcalcjIryvxrbQpqSsVJLgtxjjn3zX/2gAIAQERAD8AvK6N1jWl3PlKdKo4Kz/Bn1mW4m0MdfRa/wBdz42nilyr3l97/wAz0sqnKV
    LHNvv/AJnx1OUlBbfd/wAE/9oACAECEQA/AOHG1ksBhLa6r/M/RIV2opJHxWOwX/Cfhbrqj7tZc2tGfK46q45dhvX9T9DjH3Uf/9k=
    """,
    """
    /9j/4AAQSkZJRgABAgAAAQABAAD/wAARCAAVACUDACIAAREBAhEB/9sAQwAFAwQEBAMFBAQEBQUFBgcMCAcHBwcPCwsJDBEPEhIRDxERExYcFx
    MUGhURERghGBodHR8fHxMXIiQiHiQcHh8e/9sAQwEFBQUHBgcOCAgOHhQRFB4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4e
    Hh4eHh4eHh4eHh4e/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhBy
    JxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKT
    lJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAA
    AAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRom
    JygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExc
    bHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/90ABAAC/9oADAMAAAERAhEAPwD2O71tf7JYLjaQedvf+v8A9avCPiNrMMdw/ORnkg/d
    9/8AP/6u5uFuTpbKBnjJyOueP8/WvCfiGsi3TDcSScAnuMjp3rxq3snmlnsmepkFGssG01pY7f4e65CL4DeoBIyeTn05r3i01yNdMViwJI2hiP
    pzj86+Tfhx9oN4hIOD90MSM8+np1r3myNz/ZQycHb3Jx+VfaZ/7KOATX9fr/Vj5ClSrrMtup//0LXjDW4l1TLKrArwMrxznufesX+3YP8Ankv5
    p/jWL4vMy6oQoOBxkn6e1Yu6f0H6/wCFfK4fk9mve/P/ADPto08VFWsfTF1YQtpbqecIDk88cmvBfiTZQQ3bhUGQOOoxX0JP/wAg+X/rmP5NXg
    fxQ/4/H/z3FebzylmzTZwZBUl9Tt/XU//R5f4d2UKXSON+enXjoea930+zibTH4/1calcjIrxH4ff69P8Ae/oa920z/kGXH/XJay4ib+ofcc/t
    p/2k9TyPxrbQpqSsVJLgtxjjn3zWD5UH/PNvzX/Cuk8d/wDIQh/3D/Oucr81w8n7NH69BJxVz//Z
    """,
    """
    /9j/4AAQSkZJRgABAgAAAQABAAD/wgARCAAVACUDACIAAREBAhEB/9sAQwAFAwQEBAMFBAQEBQUFBgcMCAcHBwcPCwsJDBEPEhIRDxERExYcFx
    MUGhURERghGBodHR8fHxMXIiQiHiQcHh8e/9sAQwEFBQUHBgcOCAgOHhQRFB4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4e
    Hh4eHh4eHh4eHh4e/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIEAwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhBy
    JxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpTVFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKT
    lJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAA
    AAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRom
    JygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExc
    bHyMnK0tPU1dbX2Nna4uPk5ebn6Onq8vP09fb3+Pn6/90ABAAB/9oACAEAAAAAAPY//9DL/9HF/9L17//Ttf/U6X//1fLv/9byv//X6X//0OV/
    /9H1T//S5n//0+X/AP/U9P8A/9WL/9oACAEBEQAAAPG//9D2/wD/0flf/9L4P//Ty//U/MP/2gAIAQIRAAAA9T//0PE//9H7b//S+n//0+f/1P
    1b/9oACAEAAAEUALvW1/slguNpB52//9D4jazDHcPzkZ5IP//R+HuuQi+A3qASMmv/0rTXI10xWLAkjaGI/9PxhrcS6pllVgV4Gf/UuFuTpbKB
    njJyP//V+IayLdMNxJJwCa//1vhx9oN4hIOD90Mf/9eyNz/ZQycHb3P/0PF5mXVCFBwOMk//0bqwhbS3U84QHJr/0viTZQQ3bhUGQOK//9P4d2
    UKXSON+enX/9TT7OJtMfj/AFcalcj/1fGttCmpKxUkuC3Ff//aAAgBAREBFACt7J5pZ7Jn/9DP/ZRwCaP/0cPyezXvH//S55SzZps//9PiJv6h
    9x//1MPJ+zR//9oACAECEQEUAMgo1lg2mtLH/9ClSrrMtup//9GNPFRVrH//0sgqS+p2P//T9tP+0nqf/9SCTirn/9oACAEAABUpAO/9a//Q+7
    71/9EnPpzX/9L6c4r/0145z3Nf/9Trniv/1eoyOnev/9YjPPp6V//XOPyr/9D6e1f/0c8cmv/SIxX/0+Oh5r//1Miv/9Ucc++a/9oACAEBERUp
    AD//0P6Z/9F/5n//0j//0z//1D//2gAIAQIRFSkAP//QP//RP//S9T//0z//1D//2gAIAQAAKj8A/lX/0P8APp//0a//0s1//9M1/9T+df/Vr/
    /WzX//16//0K//0a//0q//06//1K//1a//2gAIAQERKj8AP//Q/wAj/9E//9I//9M//9Q//9oACAECESo/AD//0D//0T//0j//0z//1D//2Q==
    """,
    """
    /9j/4AAQSkZJRgABAgAAAQABAAD/7gAOQWRvYmUAAAAAAAAA/8AAFAgAFQAlBAARAQERAQIRAQMRAP/bAEMABQMEBAQDBQQEBAUFBQYHDAgHBw
    cHDwsLCQwRDxISEQ8RERMWHBcTFBoVEREYIRgaHR0fHx8TFyIkIh4kHB4fHv/bAEMBBQUFBwYHDggIDh4UERQeHh4eHh4eHh4eHh4eHh4eHh4e
    Hh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHv/EAB8AAAEFAQEBAQEBAAAAAAAAAAABAgMEBQYHCAkKC//EALUQAAIBAwMCBAMFBQQEAA
    ABfQECAwAEEQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNicoIJChYXGBkaJSYnKCkqNDU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hp
    anN0dXZ3eHl6g4SFhoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrCw8TFxsfIycrS09TV1tfY2drh4uPk5ebn6Onq8fLz9PX29/j5+v
    /EAB8BAAMBAQEBAQEBAQEAAAAAAAABAgMEBQYHCAkKC//EALURAAIBAgQEAwQHBQQEAAECdwABAgMRBAUhMQYSQVEHYXETIjKBCBRCkaGxwQkj
    M1LwFWJy0QoWJDThJfEXGBkaJicoKSo1Njc4OTpDREVGR0hJSlNUVVZXWFlaY2RlZmdoaWpzdHV2d3h5eoKDhIWGh4iJipKTlJWWl5iZmqKjpK
    Wmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uLj5OXm5+jp6vLz9PX29/j5+v/aAA4EABEBEQIRAwAAPwD8s4iyKtUxV7bf13Pw7Lss
    qRxTsv6/4fT8kfEcC5dPRwd7/wDA7a/d5G58OrAnTlJJARchlUDA4P4YyMc+npX2fA2TVJVFpe/4f8Hy/pf0zwplE1h02tLfc3v/AJn7tWwclh
    db6Ly6fO5kfFq1f7PMywTI5BHqGJB5J6Dr/Kv3DFZE54TlV/T+rHh8aZZUpUpPvqrbfh26n828Y4Caryj/AE77eenrrqfPcFkv9tl8Jjfu3MD9
    0nGef8ex6V/NvGOQ1Y13f+v6+enofgSylrF+8tnv+D/HyNOD8FJ1Y6edn66evZefqfQXwpspUs1LoQGCjfjAPfPPp1+tcWT5NyUbfZ6atevX+r
    n7tw3l1SeEsk9P663P6YwGX81Ja20Wl9v6+R1uvW5guVPlLPvGQVA4GBgV9LxHmVF4h2aTet/w/prXvufFZZhqCxFpaXt/X4H5/wAD5YlKEWtV
    +P4/n6G/8NNOA01BLt2sBgqh4xyD/n1r63gnOKUZRXT52/r+up/TnCeGp+wjPy7f5/p9x+5YnB/7J7qt/Vv6/q+T8VtHdoHiGFyDyFHHp+oP/w
    Bav3rF5lQWDfN2/H+vxPF4zhD2TT3/AD7Lb/gn838X5dCVebUdOvytpqvI+d7bSimsGTYkYMv97PcsBx9B/nr/ADTxfmdL2ne//B+/+uu388Ro
    w+tK8evX81/V/wBduDsApVbW6/j+em35n0V8JdMjOnRv5e5ifvcLntzzxyQfevPyrMsM6bbevnZ/1Y/eOHaGHp4XV726f8Nqf0bhsFFUotxT/r
    0/VnX6/pAa7V0bd8uCQw5PXqRg9e1fmnEVWSxVu7a+7/P+tz+YMuzOs8UvPT8L/r/kfifA1ZqSXR/52HfDMKdLRgCqkngY46DjjjrX2PAUpOqo
    X2S/FH9QcK5hU9lGX9bX/rz18j91xGIlLCt210Xr0v8A8MY3xdkjjtBKYQwZOFJ+706HsPm6dK/cq9abw6Sb6dfK543GuNnOjLpv/X4/1ofzNx
    piGq2m92r+j3Pn5lVdZiUqGLybQSo4JPXp9emOvtX85cZTqRquXN1en3/orH890c0rSxaT3/4KX6/gdnBdSU6yt5fr/XmfRHwtJSyilAGAvAAx
    3AH5Zz+frXnZdXcKbjLX523/ADP3HIc0qQwquu3dH9LZZeth430tpsv8jo/EkJe/Me/lBySoOc896//Z
    """,
    """
    /9j/4AAQSkZJRgABAgAAAQABAAD/7gAOQWRvYmUAAAAAAAAC/8AAFAgAFQAlBAAiAAERAQIRAQMiAP/bAEMABQMEBAQDBQQEBAUFBQYHDAgHBw
    cHDwsLCQwRDxISEQ8RERMWHBcTFBoVEREYIRgaHR0fHx8TFyIkIh4kHB4fHv/bAEMBBQUFBwYHDggIDh4UERQeHh4eHh4eHh4eHh4eHh4eHh4e
    Hh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHv/EAB8AAAEFAQEBAQEBAAAAAAAAAAABAgMEBQYHCAkKC//EALUQAAIBAwMCBAMFBQQEAA
    ABfQECAwAEEQUSITFBBhNRYQcicRQygZGhCCNCscEVUtHwJDNicoIJChYXGBkaJSYnKCkqNDU2Nzg5OkNERUZHSElKU1RVVldYWVpjZGVmZ2hp
    anN0dXZ3eHl6g4SFhoeIiYqSk5SVlpeYmZqio6Slpqeoqaqys7S1tre4ubrCw8TFxsfIycrS09TV1tfY2drh4uPk5ebn6Onq8fLz9PX29/j5+v
    /EAB8BAAMBAQEBAQEBAQEAAAAAAAABAgMEBQYHCAkKC//EALURAAIBAgQEAwQHBQQEAAECdwABAgMRBAUhMQYSQVEHYXETIjKBCBRCkaGxwQkj
    M1LwFWJy0QoWJDThJfEXGBkaJicoKSo1Njc4OTpDREVGR0hJSlNUVVZXWFlaY2RlZmdoaWpzdHV2d3h5eoKDhIWGh4iJipKTlJWWl5iZmqKjpK
    Wmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ2uLj5OXm5+jp6vLz9PX29/j5+v/aAA4EAAABEQIRAwAAPwD2C71u3/ssBnbkHJzkj/Ir
    wn4i65F9qYBwrhiMH+MDp/Ku8vGuzppI3MApGMYGfX9a8J+IomN1KhbnccYOfp0rxq3s3mdk+p6PD1Cu8E0o9P67G58OrAnTlJJARchlUDA4P4
    YyMc+npWR8WrV/s8zLBMjkEeoYkHknoOv8q9K+GmnAaagl27WAwVQ8Y5B/z61k/FbR3aB4hhcg8hRx6fqD/wDWrufh9rcT3qHKnBwSTzjPv0z/
    AIV7rYa7G2lfI4+ZenQeuPbivkz4frP9uQryCccdvU/54r3y0E39mkiTHy8FTxjpg19pxGqSwCV+n9f1+h8jSpVnmVrHyPBZL/bZfCY37tzA/d
    Jxnn/HselfQXwpspUs1LoQGCjfjAPfPPp1+teW22lFNYMmxIwZf72e5YDj6D/PX6K+EumRnTo38vcxP3uFz25545IPvWH4x1iNdVJLKSwySeQf
    yxWJ/bUX96P/AL5P+NYni77a+pYVSQueNxH+R0rG8u+/uH/v4f8ACvzuhGMqad/6+8/UIYepKKctypr1uYLlT5Sz7xkFQOBgYFZ3zf8APi35Cv
    S9f0gNdq6Nu+XBIYcnr1Iwevas3+x29X/76T/Cvpm706D+ynPPyqG478kf0rwb4jWMQncAnByf1x/n/Jr6Fu/+QTL/ANch/M14J8R/9e30b/0O
    vLlJ/wBqL1ObIKs3gHd9DU+GYU6WjAFVJPAxx0HHHHWsb4uyRx2glMIYMnCk/d6dD2HzdOlbPwx/5A8X1P8ANawfjH/yDI/9z+iVS+H1lEl4pI
    VjwTxjP+cV7tbafbLpZwvAXPv0z/n614n4D/4+1/D+te7wf8gpv93+hr7fiWTWWRZ8e6s4ZnaL6ngbKq6zEpUMXk2glRwSevT69Mdfavoj4Wkp
    ZRSgDAXgAY7gD8s5/P1r54m/5Dlr/wBdl/8AQq+hvhj/AMgqP6D/ANCWvJvFOnRPqTFWK9c5AP8A+qsj+y0/56L/AN+xXSeI/wDkIv8AWsyvzF
    YqrBWT/I/U6c3yI6TxJCXvzHv5QckqDnPPesv7If8AnoP+/YrZ8Qf8hWX8P5VQr//Z
    """,
)

# WebP files: without loss, without and with alpha.
WEBP_FILES = (
    """
    UklGRhABAABXRUJQVlA4TAQBAAAvCEABAM1VICICHgiADQIAAIDFhuI4BAoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAgICSHazTlTVuDQAAwAMBsE
    EAAAA4f5X3/qlBAQLQAQ7AAQAAAAAAAAAAAAAAAAAIAAAAAASoAhF8L736Ag8EIAcBAADg/FNLNsysQno22AAAAAAAAAAAAAAAAAAAAAAAAAAA
    AICEBQrZTJDEjorkEeJ6/NdV7LVu/zZp8W7GWROLHQc65xA9FoPP0x8PX9bQPY17BoZn7MvniFxRAj48DEkGPclL1ZSWSpPH+4lDm7Q0l7RP19
    Fd44zMS3CV3y20ggCky64M29GQKk033Cf4aUp7b/pRAA==
    """,
    """
    UklGRmYBAABXRUJQVlA4TFkBAAAvCEABEM1VICICHgiADQIAAIDCU/wrCgQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB2DcR7zapU3wAAADwQAB
    sEAACA809p+wVEVY/QgQAAAAAAAAAAAAAAAAAAAAAgAAAAAFAE4kjFy0iy8TwQABsEAACA8888KqHIf/4AwHEAAAAAAAAAAAAAAAAAAAAAAAAA
    AA4OiBQV/X+/4ToPBMAGAQAA4PxreVUSv1wAAAAAAAAAAAAAAAAAAAAAAAAACAAAAAgA3CNi1N+/Rb6ksWwOrr3VTTmGj+8u5ye+426hlqf1gj
    1YltNm2EI9b8LtsF/Tq0JOf8UQUj80OkyaQP/LJG8IiqzQazmmq+U2wcqJl/HD0mKufniNzBtew4KKaykl6sBx+jKSkol2nXvuWGjEis1LI536
    H+rzRIaqgSGfihL/wzO5zYyTjaqO1Y4dqn2u/FyP8jkGegkA
    """,
)


def main():
    out = FileRecorder()
    for cases in (png_cases, jpeg_cases, encoder_cases, bmp_cases, gif_cases, webp_cases, wav_cases, compressed_cases):
        cases(out)
    OUTPUT.write_text("\n".join(out.lines) + "\n")


if __name__ == "__main__":
    main()
