"""Small image and sound files, which `record_media.py` decodes with TensorFlow. Made with zlib and by hand."""

import base64
import struct
import zlib

import numpy as np


def picture(height, width, channels, noise=20, seed=1, top=255):
    """Returns a smooth picture with noise."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    planes = [127 + 100 * np.sin(x / 5 + k) + 40 * np.cos(y / (3 + k)) for k in range(channels)]
    values = np.stack(planes, -1) + rng.normal(0, noise, (height, width, channels))
    values = np.clip(values, 0, 255) * (top / 255)
    return values.astype(np.uint16 if top > 255 else np.uint8)


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def packed_rows(samples, bits):
    """Returns the bytes of rows of samples [height, width, channels], each row filtered in one of five ways."""
    rows, before = b"", None
    step = max(1, samples.shape[2] * bits // 8)
    for number, row in enumerate(samples):
        if bits == 16:
            line = row.astype(">u2").tobytes()
        else:
            flat = row.reshape(-1)
            bit_rows = ((flat[:, None] >> np.arange(bits - 1, -1, -1)) & 1).astype(np.uint8)
            line = np.packbits(bit_rows.reshape(-1)).tobytes()
        above = before or bytes(len(line))
        left = bytes(step) + line[:-step] if len(line) > step else bytes(len(line))
        corner = bytes(step) + above[:-step] if len(line) > step else bytes(len(line))

        def paeth(a, b, c):
            p = a + b - c
            pa, pb, pc = abs(p - a), abs(p - b), abs(p - c)
            return a if pa <= pb and pa <= pc else b if pb <= pc else c

        kind = number % 5
        guesses = {
            0: bytes(len(line)),
            1: left,
            2: above,
            3: bytes((a + b) // 2 for a, b in zip(left, above)),
            4: bytes(paeth(a, b, c) for a, b, c in zip(left, above, corner)),
        }[kind]
        rows += bytes([kind]) + bytes((value - guess) & 255 for value, guess in zip(line, guesses))
        before = line
    return rows


PASSES = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]


def png(samples, color, bits=8, interlaced=False, chunks=b"", **cut):
    """Returns a PNG file of samples [height, width, channels]."""
    height, width, _ = samples.shape
    header = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, int(interlaced))
    if interlaced:
        parts = [samples[y::dy, x::dx] for y, x, dy, dx in PASSES]
        rows = b"".join(packed_rows(part, bits) for part in parts if part.size)
    else:
        rows = packed_rows(samples, bits)
    data = zlib.compress(rows)
    whole = chunk(b"IHDR", header) + chunks + chunk(b"IDAT", data[: len(data) // 2]) + chunk(b"IDAT", data[len(data) // 2 :])
    return b"\x89PNG\r\n\x1a\n" + whole + chunk(b"IEND", b"")


def bmp(samples, top_down=False, header_size=40):
    """Returns a BMP file of samples [height, width, channels], in the order RGB or RGBA."""
    height, width, channels = samples.shape
    order = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[channels]
    row_size = (width * channels + 3) // 4 * 4
    rows = [row[:, order].tobytes().ljust(row_size, b"\0") for row in samples]
    data = b"".join(rows if top_down else rows[::-1])
    palette = b"".join(bytes([i, i, i, 0]) for i in range(256)) if channels == 1 else b""
    offset = 14 + header_size + len(palette)
    info = struct.pack("<IiiHHIIiiII", header_size, width, -height if top_down else height, 1, channels * 8, 0, len(data), 0, 0, 0, 0)
    info = info.ljust(header_size, b"\0")
    return b"BM" + struct.pack("<IHHI", offset + len(data), 0, 0, offset) + info + palette + data


def lzw(indices, bits):
    """Returns indices as GIF's LZW codes."""
    clear, end = 1 << bits, (1 << bits) + 1
    table, size, current, codes = {bytes([i]): i for i in range(clear)}, bits + 1, b"", []
    codes.append((clear, size))
    following = end + 1
    for index in indices:
        longer = current + bytes([index])
        if longer in table:
            current = longer
            continue
        codes.append((table[current], size))
        table[longer] = following
        following += 1
        if following - 1 == 1 << size and size < 12:
            size += 1
        current = bytes([index])
        if following == 4096:
            codes.append((clear, size))
            table, size, following = {bytes([i]): i for i in range(clear)}, bits + 1, end + 1
    codes.append((table[current], size))
    if following == 1 << size and size < 12:
        size += 1
    codes.append((end, size))
    number, count = 0, 0
    for code, size in codes:
        number |= code << count
        count += size
    data = number.to_bytes((count + 7) // 8, "little")
    blocks = b"".join(bytes([len(data[i : i + 255])]) + data[i : i + 255] for i in range(0, len(data), 255))
    return bytes([bits]) + blocks + b"\0"


def colors(count, seed=3):
    return np.random.default_rng(seed).integers(0, 256, (count, 3), np.uint8).tobytes()


def gif(width, height, frames, bits=3, background=0, palette=True, version=b"89a"):
    """Returns a GIF file. A frame is (left, top, indices [h, w], disposal, transparent index or None, own palette or
    None, interlaced)."""
    flags = (0x80 if palette else 0) | bits - 1
    data = b"GIF" + version + struct.pack("<HHBBB", width, height, flags, background, 0)
    data += colors(1 << bits) if palette else b""
    for left, top, indices, disposal, transparent, own, interlaced in frames:
        if disposal or transparent is not None:
            packed = disposal << 2 | (transparent is not None)
            data += b"\x21\xf9\x04" + struct.pack("<BHBB", packed, 10, transparent or 0, 0)
        rows, columns = indices.shape
        local = 0x80 | bits - 1 if own else 0
        data += b"," + struct.pack("<HHHHB", left, top, columns, rows, local | (0x40 if interlaced else 0))
        data += own or b""
        order = range(rows)
        if interlaced:
            order = [*range(0, rows, 8), *range(4, rows, 8), *range(2, rows, 4), *range(1, rows, 2)]
        data += lzw([int(i) for y in order for i in indices[y]], max(2, bits))
    return data + b";"


def wav(samples, rate=8000, bits=16, extra=b"", kind=1, size_change=0):
    """Returns a WAV file of i16 samples [count, channels]."""
    count, channels = samples.shape
    data = samples.astype("<i2").tobytes()
    step = channels * bits // 8
    form = struct.pack("<IHHIIHH", 16, kind, channels, rate, rate * step, step, bits)
    body = b"WAVEfmt " + form + extra + b"data" + struct.pack("<I", len(data) + size_change) + data
    return b"RIFF" + struct.pack("<I", len(body)) + body


def of_base64(text):
    return base64.b64decode("".join(text.split()))
