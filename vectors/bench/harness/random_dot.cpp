// Random rows through a Verilator model of a lane, each against the C reference. For wrap/lane_nv_like.sv, lane_int64.sv, chain_int64.sv.
//
//   Vdut <datapath> rows=<n> [start=<first row>] [chain=<instructions>]
//
// Row i is drawn from i alone (splitmix64), so a run can be split and every row made again. One line at the end says what was compared and
// which results occurred; the first rows that differ are printed in full. Exit code 0 equal, 1 differs, 2 misuse.
//
// Macros: those of the unit. EMU_CHAIN: the design has first, last, acc_in (chain_int64 with EMU_OWN_STATE).
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "Vdut.h"
#include "verilated.h"
extern "C" {
#include "emu_ref.h"
}

enum { LANES = 64, MAX_CHAIN = 16, SHOWN = 3, MAX_CLOCKS = 16 };

double sc_time_stamp() { return 0; }

static uint64_t state;

static uint64_t draw64() {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static unsigned below(unsigned count) { return (unsigned)(draw64() >> 32) % count; }

struct row_type {
    uint8_t a[LANES * MAX_CHAIN], b[LANES * MAX_CHAIN], sa[LANES * MAX_CHAIN / BLOCK], sb[LANES * MAX_CHAIN / BLOCK];
    uint32_t c;
};

// Scale codes: near one, the whole range, the two ends, zeros and NaN. UE4M3 keeps its highest bit clear: what it means is open.
static uint8_t draw_scale(unsigned style) {
    const unsigned top = (1u << SCALE_BITS) - 1u, one = (unsigned)SCALE_BIAS << SCALE_FRAC_BITS;
    switch (style) {
    case 0: return (uint8_t)(one + below(3u << SCALE_FRAC_BITS) - (1u << SCALE_FRAC_BITS));
    case 1: return (uint8_t)below(top);
    case 2: return (uint8_t)(below(2) ? top - 1u - below(12) : below(12));
    default: return (uint8_t)(below(40) ? below(4) * (top / 3u) % top : top);
    }
}

// Elements: uniform, sparse, all alike, few; then perhaps the second half repeats the first with B negated, so that products cancel.
static void draw_part(row_type &row, unsigned part) {
    const unsigned style = below(6), scales = below(16), blocks = LANES / BLOCK;
    uint8_t *a = row.a + part * LANES, *b = row.b + part * LANES;
    const uint8_t same_a = below(16), same_b = below(16);
    for (unsigned i = 0; i < LANES; i++) {
        const bool zero = (style == 1 && below(8)) || (style == 2 && below(2)) || (style == 5 && i % 16 / 4 != style % 4);
        a[i] = style == 3 ? same_a : zero ? 0 : below(16);
        b[i] = style == 3 ? same_b : below(16);
    }
    for (unsigned i = 0; i < blocks; i++) {
        const unsigned kind = scales < 5 ? 0 : scales < 10 ? 1 : scales < 15 ? 2 : 3;
        row.sa[part * blocks + i] = draw_scale(kind);
        row.sb[part * blocks + i] = draw_scale(kind == 3 ? below(4) : kind);
    }
    if (below(4) == 0) {
        const unsigned half = below(2) ? LANES / 2 : 8;
        for (unsigned i = 0; i < LANES; i++)
            if (i / half % 2) {
                a[i] = a[i - half];
                b[i] = B_TWOS_COMPLEMENT ? (16 - b[i - half]) & 15 : b[i - half] ^ 8;
            }
        if (half >= BLOCK)
            for (unsigned i = blocks / 2; i < blocks; i++) {
                row.sa[part * blocks + i] = row.sa[part * blocks + i - blocks / 2];
                row.sb[part * blocks + i] = row.sb[part * blocks + i - blocks / 2];
            }
        if (below(2)) a[below(LANES)] = below(16);
    }
}

static uint32_t draw_c() {
    const uint32_t bits = (uint32_t)draw64();
    switch (below(8)) {
    case 0: return bits & 0x80000000u;
    case 1: return bits;
    case 2: return (bits & 0x807fffffu) | (uint32_t)(below(4) == 0) << 23;
    case 3: return (bits & 0x80000000u) | (below(4) ? 0x7f000000u : 0x7f800000u) | (below(2) ? 0u : bits & 0x7fffffu);
    default: return (bits & 0x807fffffu) | (uint32_t)(127 - 45 + below(75)) << 23;
    }
}

static void draw_row(row_type &row, uint64_t number, unsigned parts) {
    state = number * 0xd1342543de82ef95u + 1u;
    for (unsigned part = 0; part < parts; part++)
        draw_part(row, part);
    row.c = draw_c();
}

static emu_matrix matrix_of(void *codes, int32_t bytes, size_t columns) {
    emu_matrix made = {codes, bytes, 1, columns, nullptr};
    return made;
}

static uint32_t reference(const emu_datapath &path, row_type &row, unsigned parts) {
    uint32_t d = 0;
    emu_matrix a = matrix_of(row.a, 1, parts * LANES), b = matrix_of(row.b, 1, parts * LANES);
    emu_matrix sa = matrix_of(row.sa, 1, parts * LANES / BLOCK), sb = matrix_of(row.sb, 1, parts * LANES / BLOCK);
    emu_matrix c = matrix_of(&row.c, 4, 1), out = matrix_of(&d, 4, 1);
    const int32_t error = emu_dot(&path, &a, &b, &sa, &sb, &c, &out, nullptr);
    if (error) {
        std::fprintf(stderr, "random_dot: the reference refuses a row: error %d\n", error);
        std::exit(2);
    }
    return d;
}

static void clock(Vdut &dut) {
    dut.clk = 1;
    dut.eval();
    dut.clk = 0;
    dut.eval();
}

// One instruction into the design; wait for its answer. Returns false where none comes.
static bool drive(Vdut &dut, const row_type &row, unsigned part, bool first, bool last) {
    uint32_t words[2][8] = {};
    uint32_t scales[2] = {};
    for (unsigned i = 0; i < LANES; i++) {
        words[0][i / 8] |= (uint32_t)row.a[part * LANES + i] << i % 8 * 4;
        words[1][i / 8] |= (uint32_t)row.b[part * LANES + i] << i % 8 * 4;
    }
    for (unsigned i = 0; i < LANES / BLOCK; i++) {
        scales[0] |= (uint32_t)row.sa[part * (LANES / BLOCK) + i] << 8 * i;
        scales[1] |= (uint32_t)row.sb[part * (LANES / BLOCK) + i] << 8 * i;
    }
    for (unsigned i = 0; i < 8; i++) {
        dut.a[i] = words[0][i];
        dut.b[i] = words[1][i];
    }
    dut.sa = scales[0];
    dut.sb = scales[1];
    dut.c = row.c;
#ifdef EMU_CHAIN
    dut.first = first;
    dut.last = last;
    dut.acc_in = 0;
#else
    (void)first;
    (void)last;
#endif
    dut.in_valid = 0;
    clock(dut);  // the answer before leaves
    dut.in_valid = 1;
    dut.eval();
    for (int clocks = 0; clocks < MAX_CLOCKS; clocks++) {
        if (dut.out_valid)
            return true;
        clock(dut);
        dut.in_valid = 0;
    }
    return false;
}

static void show(const row_type &row, unsigned parts, uint64_t number, uint32_t want, uint32_t got) {
    std::printf("DIFFERS row=%llu want=%08x got=%08x c=%08x\n", (unsigned long long)number, want, got, row.c);
    for (unsigned part = 0; part < parts; part++) {
        std::printf("  a=");
        for (unsigned i = LANES; i-- > 0;) std::printf("%x", row.a[part * LANES + i]);
        std::printf(" b=");
        for (unsigned i = LANES; i-- > 0;) std::printf("%x", row.b[part * LANES + i]);
        std::printf(" sa=");
        for (unsigned i = LANES / BLOCK; i-- > 0;) std::printf("%02x", row.sa[part * (LANES / BLOCK) + i]);
        std::printf(" sb=");
        for (unsigned i = LANES / BLOCK; i-- > 0;) std::printf("%02x", row.sb[part * (LANES / BLOCK) + i]);
        std::printf("\n");
    }
}

static const char *const CLASSES[] = {"zero", "subnormal", "normal", "inf", "nan"};

static int class_of(uint32_t code) {
    const uint32_t exp = code >> 23 & 255u, frac = code & 0x7fffffu;
    return exp == 255u ? (frac ? 4 : 3) : exp ? 2 : frac ? 1 : 0;
}

int main(int argc, char **argv) {
    emu_datapath path;
    uint64_t rows = 0, start = 0, counts[5] = {}, wrong = 0, digest = 0xcbf29ce484222325u;
    unsigned parts = 1;
    for (int i = 2; i < argc; i++) {
        if (!std::strncmp(argv[i], "rows=", 5)) rows = std::strtoull(argv[i] + 5, nullptr, 0);
        else if (!std::strncmp(argv[i], "start=", 6)) start = std::strtoull(argv[i] + 6, nullptr, 0);
        else if (!std::strncmp(argv[i], "chain=", 6)) parts = (unsigned)std::strtoul(argv[i] + 6, nullptr, 0);
        else rows = 0, i = argc;
    }
    if (argc < 3 || !rows || !parts || parts > MAX_CHAIN || emu_find_datapath(argv[1], &path) || path.block != BLOCK || path.k != LANES) {
        std::fprintf(stderr, "usage: %s <datapath of 64 products, blocks of %d> rows=<n> [start=<row>] [chain=<1..16>]\n", argv[0], BLOCK);
        return 2;
    }
    VerilatedContext context;
    Vdut dut(&context);
    static row_type row;
    dut.clk = dut.in_valid = 0;
    dut.rst = 1;
    for (int i = 0; i < 4; i++) clock(dut);
    dut.rst = 0;
    for (uint64_t number = start; number < start + rows; number++) {
        draw_row(row, number, parts);
        bool answered = true;
        for (unsigned part = 0; part < parts && answered; part++)
            answered = drive(dut, row, part, part == 0, part + 1 == parts);
        const uint32_t want = reference(path, row, parts), got = dut.d;
        counts[class_of(want)]++;
        digest = (digest ^ want) * 0x100000001b3u;
        if (!answered || got != want) {
            if (wrong++ < SHOWN) show(row, parts, number, want, got);
        }
    }
    std::printf("RANDOM %s compared=%llu mismatch=%llu", argv[1], (unsigned long long)rows, (unsigned long long)wrong);
    for (int i = 0; i < 5; i++) std::printf(" %s=%llu", CLASSES[i], (unsigned long long)counts[i]);
    std::printf(" digest=%016llx\n", (unsigned long long)digest);
    return wrong ? 1 : 0;
}
