// sweep_convert.cpp: every input of a converter, a Verilator model of copies of `dut`, against the C reference.
//
//   sweep SOURCE DESTINATION ROUNDING POLICY [first=CODE] [count=N] [random=R|rows|mix] [codes=FILE]
//
// first, count: source codes (all of them). random: the integer of every element (0); rows: all source codes for R = 0, 1, 2, ...; mix: top
// bits of code * 0x9e3779b1. codes: file for the codes of the model, one byte each, NaN sources as 0 or 1 by their sign: the words of
// `emu sweep`. Prints at most 3 lines MISMATCH, then SWEEP; exit code 0 all equal, 1 they differ, 2 misuse, 3 nothing compared.
//
// Build: the macros of the unit as -D for verilator and, for RANDOM_BITS and EMU_PIPE, in -CFLAGS too; link the C reference.
//   verilator --cc --exe --build -O3 --top-module batch <-D...> rtl/convert4.sv wrap/convert.sv harness/batch.sv harness/sweep_convert.cpp
//             libemu_ref.a
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "Vbatch.h"
#include "emu_ref.h"
#include "verilated.h"

double sc_time_stamp() { return 0; }

namespace {

constexpr uint64_t kChunk = 1 << 16;  // a whole 16-bit source
constexpr int kMostLines = 3;
constexpr int kCopies = 8;           // of batch.sv
#ifdef EMU_PIPE
constexpr bool kIsClocked = true;
#else
constexpr bool kIsClocked = false;
#endif
#ifdef RANDOM_BITS
constexpr int kRandomBits = RANDOM_BITS;
#else
constexpr int kRandomBits = 0;
#endif

struct Task {
    const emu_format *source, *destination;
    const emu_rounding *rounding;
    const emu_policy *policy;
    uint64_t first = 0, count = 0, rows = 1;
    uint32_t random = 0;
    bool mixes = false;
    FILE *codes = nullptr;
    int bytes = 4;
};

struct Totals {
    uint64_t compared = 0, mismatch = 0;
};

// The inputs of one chunk, and what both sides make of them.
struct Chunk {
    std::vector<uint32_t> x, r;
    std::vector<uint16_t> narrow;
    std::vector<uint8_t> want, got;
    explicit Chunk(uint64_t n) : x(n), r(n), narrow(n), want(n), got(n) {}
};

uint32_t drawn(const Task &task, uint64_t row, uint64_t code)
{
    if (!kRandomBits) return 0;
    if (task.mixes) return static_cast<uint32_t>(code) * 0x9e3779b1u >> (32 - (kRandomBits ? kRandomBits : 1));
    return task.rows > 1 ? static_cast<uint32_t>(row) : task.random;
}

void give(Vbatch &dut, const Chunk &chunk, size_t at)
{
    memcpy(dut.x.data(), &chunk.x[at], sizeof(uint32_t) * kCopies);
    if (kRandomBits) memcpy(dut.r.data(), &chunk.r[at], sizeof(uint32_t) * kCopies);
}

void take(const Vbatch &dut, Chunk &chunk, size_t at)
{
    for (int lane = 0; lane < kCopies; lane++) chunk.got[at + lane] = static_cast<uint8_t>(dut.y >> 8 * lane);
}

void clock_once(Vbatch &dut)
{
    dut.clk = 0;
    dut.eval();
    dut.clk = 1;
    dut.eval();
}

// A design with registers: new inputs each clock, results in order, the last of them a few clocks later. False: not one answer for each.
bool run_clocked(Vbatch &dut, Chunk &chunk)
{
    const size_t n = chunk.x.size();
    size_t taken = 0;
    dut.rst = 1;
    dut.in_valid = 0;
    clock_once(dut);
    dut.rst = 0;
    for (size_t given = 0; given < n + 64 * kCopies; given += kCopies) {
        dut.in_valid = given < n;
        if (given < n) give(dut, chunk, given);
        clock_once(dut);
        if (dut.any_valid != dut.all_valid || (dut.any_valid && taken == n)) return false;
        if (!dut.any_valid) continue;
        take(dut, chunk, taken);
        taken += kCopies;
    }
    return taken == n;
}

bool run_combinational(Vbatch &dut, Chunk &chunk)
{
    dut.in_valid = 1;
    for (size_t at = 0; at < chunk.x.size(); at += kCopies) {
        give(dut, chunk, at);
        dut.eval();
        if (!dut.all_valid) return false;
        take(dut, chunk, at);
    }
    return true;
}

bool run_model(Vbatch &dut, Chunk &chunk)
{
    return kIsClocked ? run_clocked(dut, chunk) : run_combinational(dut, chunk);
}

bool is_nan(const emu_format &format, uint32_t code)
{
    const uint32_t magnitude = code & ((1u << (format.exp_bits + format.frac_bits)) - 1);
    return magnitude > ((1u << format.exp_bits) - 1) << format.frac_bits;
}

void compare(const Task &task, Chunk &chunk, Totals &totals)
{
    const int sign = task.source->exp_bits + task.source->frac_bits;
    for (size_t i = 0; i < chunk.x.size(); i++) {
        totals.compared++;
        if (chunk.got[i] != chunk.want[i] && totals.mismatch++ < kMostLines)
            printf("MISMATCH x=%0*x r=%x want=%x got=%x\n", task.bytes * 2, chunk.x[i], chunk.r[i], chunk.want[i], chunk.got[i]);
        if (is_nan(*task.source, chunk.x[i])) chunk.got[i] = static_cast<uint8_t>(chunk.x[i] >> sign & 1);
    }
    if (task.codes) fwrite(chunk.got.data(), 1, chunk.got.size(), task.codes);
}

// 0, or 2 with a line on stderr.
int run_chunk(const Task &task, Vbatch &dut, uint64_t row, uint64_t first, Totals &totals, Chunk &chunk)
{
    for (size_t i = 0; i < chunk.x.size(); i++) {
        chunk.x[i] = static_cast<uint32_t>(first + i);
        chunk.narrow[i] = static_cast<uint16_t>(chunk.x[i]);
        chunk.r[i] = drawn(task, row, chunk.x[i]);
    }
    const void *codes = task.bytes == 2 ? static_cast<const void *>(chunk.narrow.data()) : chunk.x.data();
    const int32_t error = emu_convert_array(task.source, task.destination, task.rounding, task.policy, codes,
                                            kRandomBits ? chunk.r.data() : nullptr, chunk.x.size(), chunk.want.data(), nullptr);
    if (error) {
        fprintf(stderr, "the C reference refuses: error %d of emu_ref.h\n", error);
        return 2;
    }
    if (!run_model(dut, chunk)) {
        fprintf(stderr, "the design did not give one result for each input\n");
        return 2;
    }
    compare(task, chunk, totals);
    return 0;
}

int run_all(const Task &task, Vbatch &dut, Totals &totals)
{
    Chunk chunk(kChunk);
    for (uint64_t row = 0; row < task.rows; row++)
        for (uint64_t done = 0; done < task.count; done += kChunk) {
            const uint64_t left = task.count - done;
            Chunk part(left < kChunk ? left : 0);
            const int error = run_chunk(task, dut, row, task.first + done, totals, left < kChunk ? part : chunk);
            if (error) return error;
        }
    return 0;
}

int misuse(const std::string &what)
{
    const char *usage = "sweep SOURCE DESTINATION ROUNDING POLICY [first=CODE] [count=N] [random=R|rows|mix] [codes=FILE]";
    fprintf(stderr, "sweep: %s\nusage: %s\n", what.c_str(), usage);
    return 2;
}

int read_options(Task &task, int argc, char **argv)
{
    for (int i = 5; i < argc; i++) {
        const std::string word = argv[i], key = word.substr(0, word.find('=')), value = word.substr(word.find('=') + 1);
        if (key == "first") task.first = strtoull(value.c_str(), nullptr, 0);
        else if (key == "count") task.count = strtoull(value.c_str(), nullptr, 0);
        else if (key == "random" && value == "rows") task.rows = 1ull << kRandomBits;
        else if (key == "random" && value == "mix") task.mixes = true;
        else if (key == "random") task.random = static_cast<uint32_t>(strtoul(value.c_str(), nullptr, 0));
        else if (key == "codes" && (task.codes = fopen(value.c_str(), "wb"))) continue;
        else return misuse("cannot take " + word);
    }
    return 0;
}

}  // namespace

int main(int argc, char **argv)
{
    Task task;
    if (argc < 5) return misuse("four names are needed");
    task.source = emu_find_format(argv[1]);
    task.destination = emu_find_format(argv[2]);
    task.rounding = emu_find_rounding(argv[3]);
    task.policy = emu_find_policy(argv[4], argv[2]);
    if (!task.source || !task.destination || !task.rounding || !task.policy) return misuse("a name is not known to the C reference");
    if (task.rounding->random_bits != kRandomBits) return misuse("RANDOM_BITS of the model is not that of the rounding");
    if (emu_code_bytes(task.source, &task.bytes) || task.source->format_class != EMU_FLOAT) return misuse("the source is no float format");
    task.count = 1ull << (1 + task.source->exp_bits + task.source->frac_bits);
    if (const int error = read_options(task, argc, argv)) return error;
    if (task.count % kCopies) return misuse("count must be a multiple of 8");

    VerilatedContext context;
    Vbatch dut{&context};
    Totals totals;
    const int error = run_all(task, dut, totals);
    dut.final();
    if (task.codes && fclose(task.codes)) return misuse("cannot write the codes");
    if (error) return error;
    printf("SWEEP %s/%s/%s/%s compared=%llu mismatch=%llu\n", argv[1], argv[2], argv[3], argv[4],
           static_cast<unsigned long long>(totals.compared), static_cast<unsigned long long>(totals.mismatch));
    return totals.mismatch ? 1 : totals.compared ? 0 : 3;
}
