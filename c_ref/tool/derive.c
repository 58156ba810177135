/* derive.c: inputs of a row -> its results, by the reference. */
#include "tool.h"

static int32_t derive_decode(const operation *op, row *made)
{
    int32_t in = find_column(op, "code");
    int32_t out = find_column(op, "fp32");
    int32_t cls = find_column(op, "cls");
    emu_value value;
    int32_t error = emu_decode_code(op->source, made->lanes[in][0], &value);
    int32_t found;
    if (error)
        return error;
    found = value.value_class;
    made->unknown[out][0] = made->unknown[cls][0] = found == EMU_OPEN;
    made->lanes[cls][0] = (uint64_t)found;
    return found == EMU_OPEN ? EMU_OK : emu_encode_value(op->result, &value, &made->lanes[out][0]);
}

static int32_t derive_convert(const operation *op, row *made)
{
    int32_t in = find_column(op, "x");
    int32_t drawn = find_column(op, "r");
    int32_t out = find_column(op, "y");
    uint32_t random = drawn < 0 ? 0 : (uint32_t)made->lanes[drawn][0];
    return emu_convert_code(op->source, op->result, op->rounding, op->policy, made->lanes[in][0], random, &made->lanes[out][0],
                            &made->unknown[out][0]);
}

int32_t derive_row(const operation *op, row *made)
{
    int32_t error;
    memset(made->unknown, 0, sizeof made->unknown[0] * (size_t)op->count);
    switch (op->op) {
    case OP_DECODE:
        error = derive_decode(op, made);
        break;
    case OP_CONVERT:
        error = derive_convert(op, made);
        break;
    case OP_QUANTIZE:
        error = derive_quantize(op, made);
        break;
    case OP_DEQUANTIZE:
        error = derive_dequantize(op, made);
        break;
    case OP_TRANSFORM:
        error = derive_transform(op, made);
        break;
    case OP_LAYOUT:
        error = derive_layout(op, made);
        break;
    case OP_OPERATE:
        error = derive_operate(op, made);
        break;
    default:
        error = derive_dot(op, made);
        break;
    }
    if (!error)
        finish_row(op, made);
    return error;
}
