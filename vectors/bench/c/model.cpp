// The function `dut` of check_rows over a Verilated model: a combinational converter with the ports in_valid, x, y of the kit's wrappers.
// A clocked design: toggle model.clk and call eval() until model.out_valid. A column wider than 64 bits is an array of
// the same words: copy w[].
#include "Vdut.h"
#include "emu_rows.h"

extern "C" void dut(const emu_bits *in, emu_bits *out)
{
    static Vdut model;
    model.clk = 0;
    model.rst = 0;
    model.in_valid = 1;
    model.x = in[0].w[0];
    model.eval();
    out[0].w[0] = model.out_valid ? model.y : ~0u; // no answer equals no golden row
}
