"""Products of experts and batches: right kernels pass, each wrong one fails, under a key that built nothing, and what is wrong is said."""

import itertools
import shutil
import subprocess

import numpy as np
import pytest

import emu
from emu.base.errors import OperandError
from emu.check.matmul.groups import default_grouped, groups_of
from emu.check.matmul.numbers import Draws
from emu.testing import check_matmul

SHAPES = [(4, 29, 7, 48), (3, 43, 5, 96)]
TALL = [(3, 150, 3, 48), (4, 29, 3, 48)]  # more rows than a tile of scales has
BATCHES = [(3, 9, 7, 48), (4, 6, 9, 96)]


def parts(q):
    """(codes, scales, multiplier of the tensor) of an operand of blocks of 16."""
    multiplier = q.levels[0].codes.view(np.float32) / np.float32(2688) if len(q.levels) > 1 else np.float32(1)
    return q.codes.copy(), q.scales.copy(), multiplier


def value(codes, scales):
    return emu.decode(codes, "e2m1").astype(np.float64) * np.repeat(emu.decode(scales, "ue4m3"), 16, axis=-1)[..., : codes.shape[-1]]


def same(*found):
    return found[0] if len(found) == 1 else found


def experts(change_a=same, change_b=same, rows=None, weights=None, scale=None, after=None, scale_power=1):
    """A right grouped product, but for what is changed.

    rows, weights, scale: (row numbers, matrix of each, number of matrices) -> rows of a, matrices and tensor scales to use.
    """

    def kernel(a, b, offsets):
        count = len(b)
        owner = np.repeat(np.arange(count), np.diff(offsets))
        at = np.arange(len(owner))
        (x, sx, ta), of_b = parts(a), [parts(q) for q in b]
        x, sx = change_a(x, sx)
        y, sy = (np.stack([part[i] for part in of_b]) for i in (0, 1))
        y, sy = change_b(y, sy)
        chosen = at if rows is None else rows(at, owner, count)
        matrix = owner if weights is None else weights(at, owner, count)
        tensor = matrix if scale is None else scale(at, owner, count)
        left, right = value(x, sx)[chosen], value(y, sy)
        sums = np.einsum("tk,tnk->tn", left, right[matrix])
        factor = np.array([part[2] for part in of_b], np.float32)[tensor][:, None]
        found = (sums.astype(np.float32) * np.float32(ta)) * factor**scale_power
        return found if after is None else after(found.astype(np.float32), owner)

    return kernel


def entries(change_a=same, change_b=same, after=None):
    """A right batch of products, but for what is changed."""

    def kernel(a, b):
        (x, sx, ta), (y, sy, tb) = parts(a), parts(b)
        left, right = value(*change_a(x, sx)), value(*change_b(y, sy))
        found = (np.einsum("bmk,bnk->bmn", left, right).astype(np.float32) * ta) * tb
        return found if after is None else after(found)

    return kernel


def blanked(found, where):
    out = found.copy()
    out[where] = 0
    return out


def stale(found, owner):
    """The rows of the group behind another are what the other's first rows were."""
    out = found.copy()
    groups = [np.flatnonzero(owner == group) for group in range(owner.max() + 1 if len(owner) else 0)]
    for before, mine in itertools.pairwise(groups):
        if 0 < len(mine) <= len(before):
            out[mine] = found[before[: len(mine)]]
            return out
    return out


def halves(codes):
    return codes.reshape(*codes.shape[:-1], -1, 2)[..., ::-1].reshape(codes.shape)


def without(codes, where):
    out = codes.copy()
    out[..., where] = 0
    return out


def late(at, owner, count):
    return np.concatenate([owner[:1], owner[:-1]])


def early(at, owner, count):
    return np.concatenate([owner[1:], owner[-1:]])


def dense(at, owner, count):
    return np.unique(owner, return_inverse=True)[1].reshape(owner.shape)


def mine(at, owner, count):
    return owner


def swap_one(at, owner, count):
    return np.where(owner == count - 1, 0, owner)


def neighbour(at, owner, count):
    """The first row of each group that has a group before it is read one row too early."""
    first = np.flatnonzero(np.diff(owner, prepend=owner[:1]))
    out = at.copy()
    out[first] -= 1
    return out


def within(at, owner, count):
    first = np.searchsorted(owner, owner)
    return at - first


def narrow(a, b, offsets):
    """Sums are held in binary16."""
    (x, sx, ta), of_b = parts(a), [parts(q) for q in b]
    owner = np.repeat(np.arange(len(b)), np.diff(offsets))
    left, right = value(x, sx), np.stack([value(*part[:2]) for part in of_b])[owner]
    total = np.zeros((len(left), right.shape[1]), np.float16)
    for k in range(left.shape[1]):
        total = (total + (left[:, k, None] * right[:, :, k]).astype(np.float32)).astype(np.float16)
    return (total.astype(np.float32) * ta) * np.array([part[2] for part in of_b], np.float32)[owner][:, None]


EXPERTS = {
    "weights of the next": (experts(weights=lambda at, owner, count: (owner + 1) % count), "weights of the next expert"),
    "weights of the previous": (experts(weights=lambda at, owner, count: (owner - 1) % count), "weights of the previous expert"),
    "weights of the first": (experts(weights=lambda at, owner, count: owner * 0), "weights of the first expert"),
    "weights of the last": (experts(weights=lambda at, owner, count: owner * 0 + count - 1), "weights of the last expert"),
    "backwards": (experts(weights=lambda at, owner, count: count - 1 - owner), "experts are taken from the last to the first"),
    "weights alone": (
        experts(weights=lambda at, owner, count: (owner + 1) % count, scale=mine), "next expert, with their own tensor scale",
    ),
    "first weights alone": (experts(weights=lambda at, owner, count: owner * 0, scale=mine), "first expert, with their own tensor scale"),
    "one tensor scale": (experts(scale=lambda at, owner, count: owner * 0), "the tensor scale of the first expert is used for all"),
    "next tensor scale": (experts(scale=lambda at, owner, count: (owner + 1) % count), "the tensor scale of the next expert"),
    "previous tensor scale": (experts(scale=lambda at, owner, count: (owner - 1) % count), "the tensor scale of the previous expert"),
    "scales of the next": (experts(change_b=lambda c, s: (c, np.roll(s, -1, 0))), "b: scales of the next expert"),
    "scales of the previous": (experts(change_b=lambda c, s: (c, np.roll(s, 1, 0))), "b: scales of the previous expert"),
    "scales of the first": (experts(change_b=lambda c, s: (c, np.repeat(s[:1], len(s), 0))), "b: scales of the first expert"),
    "offsets late": (experts(weights=late), "offsets are shifted by one row, too late"),
    "offsets early": (experts(weights=early), "offsets are shifted by one row, too early"),
    "rows late": (experts(rows=lambda at, owner, count: np.minimum(at + 1, len(at) - 1)), "rows of a are read one row too late"),
    "rows early": (experts(rows=lambda at, owner, count: np.maximum(at - 1, 0)), "rows of a are read one row too early"),
    "last group dropped": (experts(after=lambda d, owner: blanked(d, owner == owner[-1])), "rows of an expert are dropped"),
    "second expert dropped": (experts(after=lambda d, owner: blanked(d, owner == 1)), "rows of an expert are dropped"),
    "stale group": (experts(after=stale), "a group is stale: its rows are those of another"),
    "empty groups not counted": (experts(weights=dense), "empty groups are not counted"),
    "first rows": (experts(rows=within), "every group reads the first rows of a"),
    "one wrong expert": (experts(weights=swap_one), "a group meets the weights of another expert"),
    "one wrong expert, own scale": (experts(weights=swap_one, scale=mine), "weights of another expert, with its own tensor scale"),
    "row of the neighbour": (experts(rows=neighbour), "a row of a is that of the neighbouring group"),
    "halves of a": (experts(change_a=lambda c, s: (halves(c), s)), "the two halves of each byte"),
    "halves of b": (experts(change_b=lambda c, s: (halves(c), s)), "the two halves of each byte"),
    "last element": (experts(change_a=lambda c, s: (without(c, -1), s)), "the last 1 elements along K are missing"),
    "last tile": (experts(change_b=lambda c, s: (without(c, np.s_[-16:]), s)), "the last 16 elements along K are missing"),
    "an element": (experts(change_b=lambda c, s: (without(c, 37), s)), "the element at k is missing"),
    "a block": (experts(change_a=lambda c, s: (without(c, np.s_[16:32]), s)), "a block along K is missing"),
    "scales of a shifted": (experts(change_a=lambda c, s: (c, np.roll(s, 1, 1))), "a: scales shifted by 1 blocks"),
    "mantissas of scales": (experts(change_b=lambda c, s: (c, s & 0x78)), "b: the fraction field of scales is cleared"),
    "scales ignored": (experts(change_a=lambda c, s: (c, np.full_like(s, 0x38))), "a: scales are ignored"),
    "signs": (experts(change_a=lambda c, s: (c & 7, s)), "a: signs of elements are ignored"),
    "tensor scale missing": (experts(scale_power=0), "the tensor scale of b is missing"),
    "tensor scale twice": (experts(scale_power=2), "the tensor scale of b enters twice"),
    "binary16 sums": (narrow, "sums are held in 11 significand bits"),
    "tail rows": (experts(after=lambda d, owner: blanked(d, np.arange(len(d)) >= len(d) // 16 * 16)), "left zero"),
    "negated": (experts(after=lambda d, owner: -d), "the result is negated"),
}  # fmt: skip
ENTRIES = {
    "next b": (entries(change_b=lambda c, s: (np.roll(c, -1, 0), np.roll(s, -1, 0))), "weights of the next batch entry"),
    "first b for all": (
        entries(change_b=lambda c, s: (np.repeat(c[:1], len(c), 0), np.repeat(s[:1], len(s), 0))), "weights of the first batch entry",
    ),
    "next a": (entries(change_a=lambda c, s: (np.roll(c, -1, 0), np.roll(s, -1, 0))), "rows of a are those of the next batch entry"),
    "first a for all": (
        entries(change_a=lambda c, s: (np.repeat(c[:1], len(c), 0), np.repeat(s[:1], len(s), 0))),
        "rows of a are those of the first batch entry",
    ),
    "another entry of the result": (entries(after=lambda d: np.roll(d, -1, 0)), "a batch entry of the result is that of the next"),
    "an entry dropped": (entries(after=lambda d: blanked(d, 1)), "the rows of a batch entry are dropped"),
    "last entry another": (
        entries(change_b=lambda c, s: (c[[*range(len(c) - 1), 0]], s[[*range(len(c) - 1), 0]])),
        "a group meets the weights of another batch",
    ),
    "scales of b": (entries(change_b=lambda c, s: (c, np.roll(s, -1, 0))), "b: scales of the next batch entry"),
    "scales of a": (entries(change_a=lambda c, s: (c, np.roll(s, -1, 0))), "a: scales of the next batch entry"),
    "last element": (entries(change_a=lambda c, s: (without(c, -1), s)), "the last 1 elements along K are missing"),
    "halves": (entries(change_b=lambda c, s: (halves(c), s)), "the two halves of each byte"),
    "entries backwards": (
        entries(change_b=lambda c, s: (c[::-1], s[::-1])), "the batch entries are taken from the last to the first",
    ),
}  # fmt: skip
MANY = {f"experts: {name}": (*item, {"shapes": SHAPES}) for name, item in EXPERTS.items()}
MANY |= {f"batch: {name}": (*item, {"shapes": BATCHES, "batched": True}) for name, item in ENTRIES.items()}


def test_right_experts_pass_in_every_default_shape():
    report = check_matmul(experts(), "nvfp4", "nvfp4")
    assert report.verdict == "pass" and report.accumulator_bits == 24 and report.epilogue == "(S * ta) * tb"
    assert report.batch_invariant is True and report.compared > 50_000


def test_right_batches_pass_in_every_default_shape():
    report = check_matmul(entries(), "nvfp4", "nvfp4", batched=True)
    assert report.verdict == "pass" and report.accumulator_bits == 24 and report.epilogue == "(S * ta) * tb"
    assert report.batch_invariant is True and report.compared > 30_000


@pytest.mark.cases(1, 24)
@pytest.mark.parametrize("name", MANY)
def test_a_wrong_product_of_several_fails_and_is_located(name):
    kernel, words, options = MANY[name]
    report = check_matmul(kernel, "nvfp4_te_ref", "nvfp4_te_ref", key=4711, raises=False, **options)
    assert report.verdict == "differs" and report.exit_code == 1
    assert words in report.located.get("hypothesis", ""), report.text()


def test_the_place_of_what_is_wrong_is_said():
    report = check_matmul(MANY["experts: second expert dropped"][0], "nvfp4", "nvfp4", shapes=SHAPES, raises=False)
    assert report.located["expert"] == 1
    report = check_matmul(MANY["experts: an element"][0], "nvfp4", "nvfp4", shapes=SHAPES, raises=False)
    assert report.located["k"] == 37
    report = check_matmul(MANY["experts: one wrong expert"][0], "nvfp4", "nvfp4", shapes=SHAPES, raises=False)
    assert report.located["taken from"] == 0 and report.located["expert"] in (2, 3)


@pytest.mark.cases(1)
@pytest.mark.parametrize(("step", "which"), [(-1, "next"), (1, "previous")])
def test_a_batch_entry_with_the_scales_of_a_neighbour_is_located(step, which):
    kernel = entries(change_a=lambda codes, scales: (codes, np.roll(scales, step, 0)))
    report = check_matmul(kernel, "nvfp4_te_ref", "nvfp4_te_ref", shapes=BATCHES[:1], key=4711, batched=True, raises=False)
    assert report.verdict == "differs" and report.located["hypothesis"] == f"a: scales of the {which} batch entry", report.text()


def test_a_stale_group_is_located():
    report = check_matmul(experts(after=stale), "nvfp4_te_ref", "nvfp4_te_ref", shapes=SHAPES[:1], key=4711, raises=False)
    assert report.verdict == "differs"
    assert report.located["hypothesis"] == "a group is stale: its rows are those of another" and "expert" in report.located, report.text()


def test_every_expert_has_an_alpha_of_its_own():
    """In the sums powers of two; in the epilogue none, and no two alike, so that a kernel that takes another expert's is seen there too."""
    seen = set()

    def kept(each):
        seen.add(tuple(each.tolist()))
        return each

    report = check_matmul(raw_kernel(alphas=kept), "nvfp4", "nvfp4", scale_layout="128x4", shapes=[(3, 20, 5, 48)])
    assert report.verdict == "pass" and report.epilogue == "S * alpha, + beta * C"
    powers = {each for each in seen if (np.frexp(each)[0] == 0.5).all()}
    others = [each for each in seen - powers if (np.frexp(each)[0] != 0.5).all()]
    assert powers and others and len(powers) + len(others) == len(seen)
    assert all(len(set(each)) == 3 for each in [*others, *(powers - {(1.0, 1.0, 1.0)})])


def raw_kernel(scale_rows=None, alphas=same, c_times=1):
    """Raw operands, scales of each group in whole tiles of 128x4, an alpha for each expert, C.

    scale_rows: (first row, first row of scales, expert, rows so far empty) -> first row of scales to use.
    """

    def kernel(a_packed, a_scales, b_packed, b_scales, c, alpha, beta, offsets, scale_offsets, k, n):
        out = np.zeros((len(a_packed), n), np.float32)
        empty = 0
        for expert, (first, last) in enumerate(itertools.pairwise(offsets)):
            empty += first == last
            begin = scale_offsets[expert] if scale_rows is None else scale_rows(first, scale_offsets, expert, empty)
            left = value(unpacked(a_packed[first:last], k), tile_read(a_scales, begin, last - first, k // 16))
            right = value(unpacked(b_packed[expert], k), tile_read(b_scales[expert], 0, n, k // 16))
            out[first:last] = (left @ right.T).astype(np.float32) * alphas(alpha)[expert]
        return out if beta == 0 else out + beta * c * c_times

    return kernel


def unpacked(packed, k):
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(len(packed), 2 * packed.shape[1])[:, :k]


def tile_read(memory, first, rows, blocks):
    """Scales of some rows and all blocks of memory in tiles of 128x4; behind its end its last byte."""
    row, block = np.arange(first, first + rows)[:, None], np.arange(blocks)[None, :]
    place = (row // 128 * -(-blocks // 4) + block // 4) * 512 + row % 32 * 16 + row % 128 // 32 * 4 + block % 4
    return memory[np.minimum(place, len(memory) - 1)]


def test_raw_operands_in_padded_scale_layouts_pass():
    report = check_matmul(raw_kernel(), "nvfp4", "nvfp4", scale_layout="128x4", shapes=TALL)
    assert report.verdict == "pass" and report.epilogue == "S * alpha, + beta * C" and report.accumulator_bits == 24


RAW = {
    "padding not skipped": (raw_kernel(lambda first, begin, expert, empty: first), "padding rows are not skipped"),
    "one tile a group": (raw_kernel(lambda first, begin, expert, empty: 128 * expert), "one tile of 128 rows"),
    "scales of the first group": (raw_kernel(lambda first, begin, expert, empty: 0), "every group reads the scales of the first"),
    "one tile too late": (raw_kernel(lambda first, begin, expert, empty: begin[expert] + 128), "one tile of 128 rows too late"),
    "tiles of empty groups": (raw_kernel(lambda first, begin, expert, empty: begin[expert] + 128 * empty), "padding is skipped twice"),
    "alpha of the first": (raw_kernel(alphas=lambda each: each[:1].repeat(len(each))), "tensor scale of the first expert is used for all"),
    "C missing": (raw_kernel(c_times=0), "C is missing"),
    "C twice": (raw_kernel(c_times=2), "C enters twice"),
}  # fmt: skip


@pytest.mark.cases(1)
@pytest.mark.parametrize("name", RAW)
def test_a_wrong_kernel_of_raw_operands_is_located(name):
    kernel, words = RAW[name]
    report = check_matmul(kernel, "nvfp4", "nvfp4", scale_layout="128x4", shapes=TALL, key=99, raises=False)
    assert report.verdict == "differs" and words in report.located.get("hypothesis", ""), report.text()


def aligned(packs=False):
    """Rows of each group begin at a multiple; what lies between is no data, and what is given there is not looked at."""

    def kernel(a, b, offsets, sizes):
        left, out = a.dequantize(np.float64), np.full((a.shape[0], b[0].shape[0]), np.nan, np.float32)
        begin = np.cumsum(sizes) - sizes if packs else offsets
        for expert, q in enumerate(b):
            rows = np.arange(sizes[expert])
            out[offsets[expert] + rows] = (left[begin[expert] + rows] @ q.dequantize(np.float64).T).astype(np.float32)
        return out

    return kernel


def test_rows_between_groups_are_not_looked_at_and_not_data():
    assert check_matmul(aligned(), "mxfp4", "nvfp4", align=16, shapes=[(4, 29, 7, 96)]).verdict == "pass"
    report = check_matmul(aligned(packs=True), "mxfp4", "nvfp4", align=16, shapes=[(4, 29, 7, 96)], raises=False)
    assert report.verdict == "differs" and "padding is read as data" in report.located["hypothesis"]


def by_batch(a, b):
    """The order of summation depends on how many rows there are: split in two where they are few."""
    x, y = a.dequantize(), b.dequantize()
    half = x.shape[-1] // 2 if x.shape[-2] < 8 else 1
    turned = np.swapaxes(y, -1, -2)
    return np.asarray(x[..., :half] @ turned[..., :half, :] + x[..., half:] @ turned[..., half:, :], np.float32)


def by_place(a, b):
    """Odd rows are added from the other end."""
    x, y = a.dequantize(), b.dequantize()
    out = np.zeros((*x.shape[:-1], y.shape[-2]), np.float32)
    for row in range(x.shape[-2]):
        for k in range(x.shape[-1])[:: -1 if row % 2 else 1]:
            out[..., row, :] += x[..., row, k, None] * y[..., :, k]
    return out


def by_company(a, b, offsets):
    """The order of summation is another one where only the last group has rows."""
    x, owner = a.dequantize(), np.repeat(np.arange(len(b)), np.diff(offsets))
    y = np.stack([q.dequantize() for q in b])[owner]
    out = np.zeros(y.shape[:2], np.float32)
    for k in range(x.shape[-1])[:: -1 if (owner == len(b) - 1).all() else 1]:
        out += x[:, k, None] * y[..., k]
    return out


@pytest.mark.cases(1)
@pytest.mark.parametrize(("kernel", "options"), [(by_batch, {"count": 2}), (by_place, {"shapes": [(6, 19, 512)]}), (by_company, {}),
                                                 (by_place, {"shapes": [(2, 6, 9, 128)], "batched": True})])  # fmt: skip
def test_a_row_whose_bits_depend_on_the_batch_is_said_and_fails_when_asked_for(kernel, options):
    report = check_matmul(kernel, "nvfp4", "nvfp4", **options)
    assert report.verdict == "pass" and report.batch_invariant is False and "no fault" in report.stages[-1].reached["batches"]
    report = check_matmul(kernel, "nvfp4", "nvfp4", batch_invariant=True, raises=False, **options)
    assert report.verdict == "differs" and "batch invariance" in report.message and "number of rows" in report.located["hypothesis"]
    assert check_matmul(kernel, "nvfp4", "nvfp4", batch_invariant=False, **options).batch_invariant is None


def test_an_invariant_kernel_passes_when_it_is_asked_for():
    def fixed(a, b):
        x, y = a.dequantize(), b.dequantize()
        out = np.zeros((len(x), len(y)), np.float32)
        for k in range(x.shape[1]):
            out += x[:, k, None] * y[None, :, k]
        return out

    assert check_matmul(fixed, "nvfp4", "nvfp4", count=3, batch_invariant=True).batch_invariant is True


C = """
#include <stddef.h>
#include <stdint.h>
static const float E2M1[8] = {0, .5f, 1, 1.5f, 2, 3, 4, 6};
static float element(const uint8_t *packed, size_t at) {
    unsigned code = packed[at / 2] >> (at % 2 ? 4 : 0) & 15;
    return code & 8 ? -E2M1[code & 7] : E2M1[code & 7];
}
static float scale(const uint8_t *memory, size_t row, size_t block, size_t blocks) {
    uint8_t code = memory[(row / 128 * ((blocks + 3) / 4) + block / 4) * 512 + row % 32 * 16 + row % 128 / 32 * 4 + block % 4];
    int exp = code >> 3; float value = exp ? 8 + (code & 7) : code & 7;
    for (int e = exp ? exp : 1; e < 10; e++) value /= 2;
    for (int e = 10; e < exp; e++) value *= 2;
    return value;
}
#ifndef EXPERT
#define EXPERT g
#endif
#ifndef FIRST
#define FIRST offsets[g]
#endif
#ifndef SCALES
#define SCALES scale_offsets[g]
#endif
#ifndef LAST
#define LAST k
#endif
#ifndef GROUPS
#define GROUPS e
#endif
#ifndef ALPHA
#define ALPHA alpha[g]
#endif
int gemm(const uint8_t *a, const uint8_t *sa, const uint8_t *b, const uint8_t *sb, const float *alpha, const int32_t *offsets,
         const int32_t *scale_offsets, size_t e, size_t m, size_t n, size_t k, float *d) {
    size_t blocks = k / 16, matrix = (n + 127) / 128 * ((blocks + 3) / 4) * 512;
    for (size_t i = 0; i < m * n; i++) d[i] = 0;
    for (size_t g = 0; g < GROUPS; g++) for (size_t i = 0; i < (size_t)(offsets[g + 1] - offsets[g]); i++) for (size_t j = 0; j < n; j++) {
        size_t row = FIRST + i, expert = EXPERT; double sum = 0;
        if (row >= m) row = m - 1;
        for (size_t l = 0; l < LAST; l++)
            sum += (double)(element(a, row * k + l) * scale(sa, SCALES + i, l / 16, blocks))
                 * (element(b + expert * n * (k / 2), j * k + l) * scale(sb + expert * matrix, j, l / 16, blocks));
        d[(offsets[g] + i) * n + j] = (float)sum * ALPHA;
    }
    return 0;
}
"""
SIGNATURE = (
    "gemm(a_packed: const uint8_t*, a_scales: const uint8_t*, b_packed: const uint8_t*, b_scales: const uint8_t*, alpha: const float*, "
    "offsets: const int32_t*, scale_offsets: const int32_t*, e: size_t, m: size_t, n: size_t, k: size_t, d: float*) -> int"
)
IN_C = {
    "right": ((), ""),
    "EXPERT=(g+1)%e": ((), "weights of the next expert, with their own tensor scale"),
    "EXPERT=0": ((), "weights of the first expert, with their own tensor scale"),
    "SCALES=offsets[g]": ((), "padding rows are not skipped"),
    "SCALES=0": ((), "every group reads the scales of the first"),
    "LAST=(k-1)": ((), "the last 1 elements along K are missing"),
    "LAST=(k/32*32)": ((), "along K are missing"),
    "GROUPS=(e-1)": ((), "rows of an expert are dropped"),
    "ALPHA=alpha[0]": ((), "the tensor scale of the first expert is used for all"),
}  # fmt: skip


@pytest.mark.cases(2)
@pytest.mark.parametrize("change", IN_C)
def test_kernels_in_c(change, tmp_path):
    from emu.check.matmul.run import check_gemm
    from emu.check.matmul.target import c_gemm

    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "gemm.c").write_text(C, encoding="utf-8")
    words = [] if change == "right" else [f"-D{change}"]
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", *words, "-o", tmp_path / "gemm.so", tmp_path / "gemm.c"], check=True)
    target = c_gemm(str(tmp_path / "gemm.so"), SIGNATURE, "matmul/nvfp4/nvfp4/fp32", scale_layout="128x4")
    report = check_gemm(target, "matmul/nvfp4/nvfp4/fp32", shapes=TALL, key=5)
    assert report.verdict == ("pass" if change == "right" else "differs"), report.text()
    assert IN_C[change][1] in report.located.get("hypothesis", ""), report.text()


@pytest.mark.parametrize("shape", default_grouped(48, False, 1))
def test_groups_are_uneven_empty_all_in_one_and_equal(shape):
    count, m, _, _ = shape
    found = [groups_of(shape, False, 8, turn, Draws(1, "groups")) for turn in range(4)]
    for groups in found:
        assert int(groups.sizes.sum()) == m and (groups.starts % 8 == 0).all() and int(groups.live.sum()) == m
        assert (groups.starts[1:] >= (groups.starts + groups.sizes)[:-1]).all() and (groups.starts + groups.sizes)[-1] <= groups.rows
    if count > 2:
        assert (found[0].sizes == 0).any() and found[1].sizes[0] == found[1].sizes[-1] == 0
        assert int((found[2].sizes > 0).sum()) == 1 and int(np.ptp(found[3].sizes)) <= 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"shapes": [(2, 3, 16)]}, "write E, M, N, K"),
        ({"shapes": [(2, 3, 4, 17)]}, "a multiple of 16"),
        ({"shapes": []}, "at least one"),
        ({"align": 4}, "takes sizes"),
        ({"align": 0}, "at least 1"),
        ({"batched": True}, "no batch"),
    ],
)
def test_misuse_of_several_products_is_refused(options, words):
    with pytest.raises(OperandError, match=words):
        check_matmul(experts(), "nvfp4", "nvfp4", **options)


def test_tiles_of_scales_that_groups_would_cut_are_refused_and_whole_ones_pass():
    with pytest.raises(OperandError, match="which groups would cut"):
        check_matmul(experts(), "nvfp4_tile16", "nvfp4")
    with pytest.raises(OperandError, match="N a multiple of 16"):
        check_matmul(experts(), "nvfp4", "nvfp4_tile16", shapes=[(2, 3, 4, 16)])

    def kernel(a, b, offsets):
        owner = np.repeat(np.arange(len(b)), np.diff(offsets))
        right = np.stack([q.dequantize(np.float64) for q in b])
        return np.einsum("tk,tnk->tn", a.dequantize(np.float64), right[owner]).astype(np.float32)

    assert check_matmul(kernel, "nvfp4_1level", "nvfp4_tile16", shapes=[(3, 20, 32, 48)]).verdict == "pass"
