"""Instructions that run: emu.instruction(mnemonic) executes one on raw register bits, exactly as its spec file says.

bits: lanes and registers; convert, quantize, mma: what is performed; call: names, choices and operands.
Not here: the facts (spec/instruction).
"""

from emu.ops.instruction.bits import register_of, register_text
from emu.ops.instruction.call import Executable, instruction

__all__ = ["Executable", "instruction", "register_of", "register_text"]
