"""Kernels of attention and writers of caches, right and wrong, in NumPy."""

from itertools import product as combinations

import numpy as np

import emu
from emu.engines.numpy.layout import places
from emu.spec import get


def values(q, dtype):
    return np.asarray(q.dequantize(np.float64)).astype(dtype)


def mask_of(queries, keys, shift=0, top=False):
    ahead = 0 if top else keys - queries
    return np.arange(keys)[None] <= np.arange(queries)[:, None] + ahead + shift


def fused(x, y):
    """x @ y^T in binary32, each product added by a fused multiply and add in ascending order."""
    total = np.zeros((*x.shape[:-1], y.shape[-2]), np.float32)
    for place in range(x.shape[-1]):  # binary64 holds the product of two binary32 numbers
        both = x[..., :, None, place].astype(np.float64) * y[..., None, :, place].astype(np.float64)
        total = (both + total).astype(np.float32)
    return total


PLACES = {  # where the scale is multiplied in, each step rounded to the type of the kernel
    "scores": lambda x, y, scale, product: product(x, y) * scale,
    "q": lambda x, y, scale, product: product(x * scale, y),
    "k": lambda x, y, scale, product: product(x, y * scale),
    "both": lambda x, y, scale, product: product(x * np.sqrt(scale), y * np.sqrt(scale)),
    "q and base": lambda x, y, scale, product: product(x * (scale * np.log2(np.e, dtype=x.dtype)), y) * np.log(2, dtype=x.dtype),
}


def kernel(
    tile=0, dtype=np.float64, reverse=False, place="scores", product=lambda x, y: x @ y.swapaxes(-1, -2),
    masked=None, change=None, scaling=lambda scale: scale, heads=None, quantize=None,
    expose=False, exp=np.exp, finish=None, rescale=True,
):  # fmt: skip
    """A kernel: tiles of keys with a running maximum, or two passes. Each keyword but the first five puts a mistake in, or P's recipe."""

    def attend(q, k, v, scale, causal):
        x, y, z = (values(part, dtype) for part in (q, k, v))
        if change:
            x, y, z = change(q, k, v, x, y, z)
        share = x.shape[1] // y.shape[1]
        index = [head // share if heads is None else heads(head, x.shape[1], y.shape[1]) for head in range(x.shape[1])]
        y, z = y[:, index], z[:, index]
        rows, keys = x.shape[2], y.shape[2]
        scale = dtype(scaling(scale))
        scores = PLACES[place](x, y, scale, product)
        sees = mask_of(rows, keys) if causal else np.ones((rows, keys), bool)
        sees = masked(sees, causal) if masked else sees
        scores = np.where(sees, scores, -np.inf).astype(dtype)
        step = tile or keys
        starts = list(range(0, keys, step))[:: -1 if reverse else 1]
        top = np.full(scores.shape[:-1], -np.inf, dtype)
        total, out = np.zeros(top.shape, dtype), np.zeros((*top.shape, z.shape[-1]), dtype)
        shown = [np.zeros(scores.shape, np.uint8), np.zeros((*top.shape, -(-keys // 16)), np.uint8), np.zeros(scores.shape, np.float32)]
        for start in starts:
            at = slice(start, min(start + step, keys))
            new = np.maximum(top, scores[..., at].max(axis=-1))
            safe = np.where(np.isneginf(new), 0, new)
            old = exp(np.where(np.isneginf(top), -np.inf, top - safe)).astype(dtype) if rescale else np.ones_like(top)
            p = exp(scores[..., at] - safe[..., None]).astype(dtype)
            weight = p
            if quantize:
                done = quantize(p.astype(np.float32))
                weight = done.dequantize().astype(dtype)
                if expose:
                    blocks = slice(start // 16, start // 16 + done.scales.shape[-1])
                    shown[0][..., at], shown[1][..., blocks], shown[2][..., at] = done.codes, done.scales, p
            total = total * old + p.sum(axis=-1, dtype=dtype)
            out = out * old[..., None] + weight @ z[:, :, at]
            top = new
        found = (out / total[..., None]).astype(np.float32)
        found = finish(found, out, total) if finish else found
        return {"out": found, "p_codes": shown[0], "p_scales": shown[1], "p": shown[2]} if expose else found

    return attend


def by_recipe(p):
    return emu.quantize(p, "nvfp4_te_ref", tensor_amax=np.float32(2688))


RIGHT = {
    f"{tile or 'whole row'}, {dtype.__name__}{', reversed' * reverse}{', scaled first' * (place == 'q')}": kernel(
        tile, dtype, reverse, place
    )
    for tile, dtype, reverse, place in combinations((0, 16, 48), (np.float32, np.float64), (False, True), ("scores", "q"))
    if tile or not reverse
}


def scales_of(q, v, z):
    """v under other scales: those of q, where the shapes are the same."""
    codes, scales = emu.decode(v.codes, "e2m1").astype(np.float64), emu.decode(q.scales, "ue4m3").astype(np.float64)
    return (codes * np.repeat(scales, 16, axis=-1)).astype(z.dtype)


def without(q, x):
    return emu.decode(q.codes, "e2m1").astype(x.dtype)


def hidden(where):
    def change(sees, causal):
        found = sees.copy()
        found[:, where] = False
        return np.where(found.any(axis=1, keepdims=True), found, sees)

    return change


def exchanged(z):
    """Each square of 16 keys and 16 dimensions transposed, where there are whole squares."""
    out = z.copy()
    for key in range(0, z.shape[2] - 15, 16):
        out[:, :, key : key + 16, :16] = z[:, :, key : key + 16, :16].swapaxes(-1, -2)
    return out


WRONG = {
    "mask one key late": kernel(masked=lambda s, c: mask_of(*s.shape, 1) if c else s),
    "mask one key early": kernel(masked=lambda s, c: mask_of(*s.shape, -1) if c else s),
    "mask missing": kernel(masked=lambda s, c: np.ones_like(s)),
    "mask aligned at the top": kernel(masked=lambda s, c: mask_of(*s.shape, 0, True) if c else s),
    "mask one key late in tiles": kernel(16, masked=lambda s, c: mask_of(*s.shape, 1) if c else s),
    "scale missing": kernel(scaling=lambda s: 1.0),
    "scale twice": kernel(scaling=lambda s: s * s),
    "scale of another dimension": kernel(scaling=lambda s: s / np.sqrt(2)),
    "scale inverted": kernel(scaling=lambda s: 1 / s),
    "head 0 of keys for all": kernel(heads=lambda h, n, m: 0),
    "heads in turn": kernel(heads=lambda h, n, m: h % m),
    "heads reversed": kernel(heads=lambda h, n, m: m - 1 - h * m // n),
    "keys of batch 0": kernel(change=lambda q, k, v, x, y, z: (x, y[:1].repeat(len(y), 0), z)),
    "values of batch 0": kernel(change=lambda q, k, v, x, y, z: (x, y, z[:1].repeat(len(z), 0))),
    "keys of the next batch": kernel(change=lambda q, k, v, x, y, z: (x, np.roll(y, 1, 0), np.roll(z, 1, 0))),
    "last key hidden": kernel(masked=hidden(slice(-1, None))),
    "last tile dropped": kernel(16, masked=lambda s, c: hidden(slice((s.shape[1] - 1) // 16 * 16, None))(s, c)),
    "first tile dropped": kernel(16, masked=hidden(slice(0, 16))),
    "one tile dropped": kernel(16, masked=hidden(slice(16, 32))),
    "values one key late": kernel(change=lambda q, k, v, x, y, z: (x, y, np.roll(z, 1, 2))),
    "keys one key late": kernel(change=lambda q, k, v, x, y, z: (x, np.roll(y, 1, 2), z)),
    "stale value": kernel(change=lambda q, k, v, x, y, z: (x, y, np.concatenate([z[:, :, :-1], z[:, :, :1]], 2))),
    "values transposed in squares": kernel(change=lambda q, k, v, x, y, z: (x, y, exchanged(z))),
    "scales of the keys for the values": kernel(change=lambda q, k, v, x, y, z: (x, y, scales_of(k, v, z))),
    "scales of the values for the keys": kernel(change=lambda q, k, v, x, y, z: (x, scales_of(v, k, y), z)),
    "scales of the keys ignored": kernel(change=lambda q, k, v, x, y, z: (x, without(k, y), z)),
    "scales of the values ignored": kernel(change=lambda q, k, v, x, y, z: (x, y, without(v, z))),
    "scales of the values one block on": kernel(change=lambda q, k, v, x, y, z: (x, y, z * 2 ** (np.arange(z.shape[-1]) // 16 == 1))),
    "element of the keys missing": kernel(change=lambda q, k, v, x, y, z: (x * (np.arange(x.shape[-1]) != 5), y, z)),
    "no running maximum for the output": kernel(16, rescale=False),
    "exponential to the base 2": kernel(exp=np.exp2),
    "not divided": kernel(finish=lambda f, out, total: out.astype(np.float32)),
    "divided twice": kernel(finish=lambda f, out, total: (out / total[..., None] ** 2).astype(np.float32)),
    "rows exchanged": kernel(finish=lambda f, out, total: f[:, :, ::-1]),
    "output one bit off": kernel(finish=lambda f, out, total: (f.view(np.uint32) ^ (np.arange(f.shape[-1]) == 9)).view(np.float32)),
}  # fmt: skip


def writer(recipe="nvfp4_torchao_1level", order="HND", layout="kv_v_scale_4token", **wrong):
    """A writer of a cache. wrong: one mistake by name."""

    def write(k, v, k_cache, k_scales, v_cache, v_scales, slots):
        page_size = k_cache.shape[2 if order == "HND" else 1]
        for name, x, cache, scales in (("k", k, k_cache, k_scales), ("v", v, v_cache, v_scales)):
            q = emu.quantize(v if wrong.get("same") and name == "k" else x, recipe)
            codes, found = q.pack(), np.asarray(q.scales)
            codes = codes << 4 | codes >> 4 if wrong.get("nibbles") else codes
            count = found.shape[-1]
            where = places(page_size, count, get("layout", layout if (name == "v") != bool(wrong.get("swap")) else "row_major"))
            for token, slot in enumerate(slots.tolist()):
                page, at = divmod(slot + wrong.get("late", 0), page_size)
                page = min(page, len(cache) - 1) if not wrong.get("page0") else 0
                for head in range(x.shape[1]):
                    to = x.shape[1] - 1 - head if wrong.get("heads") else head
                    index = (page, to, at) if order == "HND" else (page, at, to)
                    cache[index] = codes[token, head]
                    if wrong.get("no_scales"):
                        continue
                    for number in range(count - bool(wrong.get("short"))):
                        row, column = divmod(int(where[at, number]), count)
                        scales[(page, to, row, column) if order == "HND" else (page, row, to, column)] = found[token, head, number]
            if wrong.get("zeroes"):
                cache[-1] = 0
            if wrong.get("first") and len(slots) > 1:
                cache[0] = cache[0, :1]

    return write


WRONG_WRITERS = {
    name: writer(**{name: value})
    for name, value in {
        "nibbles": 1, "swap": 1, "late": 1, "page0": 1, "heads": 1, "no_scales": 1, "short": 1, "zeroes": 1, "same": 1, "first": 1,
        "recipe": "nvfp4_torchao", "layout": "row_major",
    }.items()
}  # fmt: skip
