// tensor_file.js: what lies in a .safetensors, .npy or .gguf file, out of its header alone. It runs in a worker, where files are read by slices.
const HEADER_MOST = 1 << 24; // bytes of a header that are read as one text
const FLOATS = {F16: ["fp16", 2], BF16: ["bf16", 2], F32: ["fp32", 4], F64: ["fp64", 8]}; // words of files -> format, bytes of an element
const GGML = {0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 9: "Q8_1", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K",
  15: "Q8_K", 24: "I8", 25: "I16", 26: "I32", 27: "I64", 28: "F64", 30: "BF16", 39: "MXFP4"};
const GGUF_BYTES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}; // of a value of metadata, by its type

const sliceOf = (file, begin, end) => new FileReaderSync().readAsArrayBuffer(file.slice(begin, end));
function safe(number, what) {
  if (!Number.isSafeInteger(Number(number)) || Number(number) < 0) refuse(`${what} ${number}: no length or place of a file: the header is damaged`);
  return Number(number);
}
/** Reads a header from its beginning, some of the file in memory at a time. */
function headerOf(file) {
  let at = 0, from = 0, held = new DataView(new ArrayBuffer(0));
  const take = count => {
    if (at + count > file.size) refuse(`${file.name}: the file ends inside its header: it is cut off`);
    if (at < from || at + count > from + held.byteLength) { held = new DataView(sliceOf(file, at, Math.min(file.size, at + Math.max(count, 1 << 20)))); from = at; }
    at += count;
    return at - count - from;
  };
  const header = {
    at: () => at, skip: count => { if (at + count > file.size) refuse(`${file.name}: the file ends inside its header: it is cut off`); at += count; },
    u8: () => { const here = take(1); return held.getUint8(here); }, u16: () => { const here = take(2); return held.getUint16(here, true); },
    u32: () => { const here = take(4); return held.getUint32(here, true); }, u64: what => { const here = take(8); return safe(held.getBigUint64(here, true), `${file.name}: ${what}`); },
    text: count => { if (count > HEADER_MOST) refuse(`${file.name}: a text of ${count} bytes in its header: at most ${HEADER_MOST} are read`); const here = take(count); return decoder.decode(new Uint8Array(held.buffer, here, count)); },
  };
  return header;
}
/** One tensor of a file. at: its first byte; format: id, null for what is no float; swap: high byte first. Refuses one that does not lie in the file. */
function tensorIn(file, name, word_, shape, at, swap = false) {
  shape.forEach(length => safe(length, `${file.name}, tensor ${name}: length`));
  const [format, bytes] = FLOATS[word_] || [null, 0], count = safe(shape.reduce((product, length) => product * BigInt(length), 1n), `${file.name}, tensor ${name}: size`);
  if (at + count * bytes > file.size) refuse(`${file.name}: tensor ${name} ends at byte ${at + count * bytes}, the file at byte ${file.size}: it is cut off`);
  return {name, word: word_, format, bytes, shape, count, at, swap};
}

function safetensorsIn(file) {
  const header = headerOf(file), length = header.u64("header length");
  const damaged = why => refuse(`${file.name}: no header of a .safetensors file: ${why}`);
  if (length > HEADER_MOST || length > file.size - 8) damaged(`it says ${length} bytes, of a file of ${file.size}`);
  let said;
  try { said = JSON.parse(header.text(length)); } catch { damaged("it is no JSON"); }
  if (said === null || typeof said !== "object" || Array.isArray(said)) damaged("it is no JSON object");
  const begin = 8 + length, widths = {BOOL: 1, I8: 1, U8: 1, F8_E4M3: 1, F8_E5M2: 1, F8_E8M0: 1, I16: 2, U16: 2, F16: 2, BF16: 2, I32: 4, U32: 4, F32: 4, I64: 8, U64: 8, F64: 8};
  const found = Object.entries(said).filter(([name]) => name !== "__metadata__").map(([name, item]) => {
    const offsets = item?.data_offsets, shape = item?.shape;
    if (!Array.isArray(offsets) || offsets.length !== 2 || !Array.isArray(shape) || typeof item.dtype !== "string" || ![...offsets, ...shape].every(number => Number.isSafeInteger(number) && number >= 0)) damaged(`tensor ${name} has no dtype, shape and data_offsets`);
    const made = tensorIn(file, name, item.dtype, shape, begin + offsets[0]);
    if (widths[item.dtype] && offsets[1] - offsets[0] !== made.count * widths[item.dtype]) damaged(`tensor ${name} of shape ${shape.join(" x ")} and dtype ${item.dtype} has ${offsets[1] - offsets[0]} bytes`);
    return made;
  });
  const end = Math.max(0, ...Object.entries(said).filter(([name]) => name !== "__metadata__").map(([, item]) => item.data_offsets[1]));
  if (begin + end !== file.size) refuse(`${file.name}: its tensors end at byte ${begin + end}, the file at byte ${file.size}: it is cut off or damaged`);
  return found;
}

function npyIn(file) {
  const header = headerOf(file);
  header.skip(6);
  const major = header.u8(), minor = header.u8();
  if (major < 1 || major > 3 || minor) refuse(`${file.name}: .npy of version ${major}.${minor}: 1.0, 2.0 and 3.0 are read`);
  const text = header.text(major === 1 ? header.u16() : header.u32());
  const type = /'descr':\s*'([<>|=]?)(\w+)'/.exec(text), order = /'fortran_order':\s*(True|False)/.exec(text), shape = /'shape':\s*\(([\d,\s]*)\)/.exec(text);
  if (!type || !order || !shape) refuse(`${file.name}: the header has no plain type, order and shape: save one array of numbers with numpy.save`);
  const lengths = shape[1].split(",").map(word_ => word_.trim()).filter(Boolean).map(Number);
  if (order[1] === "True" && lengths.length > 1) refuse(`${file.name}: columns lie one after another in it (fortran_order): save numpy.ascontiguousarray of it`);
  const words = {f2: "F16", f4: "F32", f8: "F64"};
  return [tensorIn(file, "array", words[type[2]] || type[2], lengths, header.at(), type[1] === ">")];
}

function ggufIn(file) {
  const header = headerOf(file);
  header.skip(4);
  const version = header.u32();
  if (version !== 2 && version !== 3) refuse(`${file.name}: GGUF of version ${version}: 2 and 3 are read, low byte first`);
  const tensors = header.u64("tensors"), pairs = header.u64("metadata"), text = () => header.text(header.u64("length of a text"));
  let align = 32;
  const skip = (type, depth) => {
    if (type in GGUF_BYTES) return header.skip(GGUF_BYTES[type]);
    if (type === 8) return header.skip(header.u64("length of a text"));
    if (type !== 9 || depth > 3) refuse(`${file.name}: metadata of the unknown type ${type}: the header is damaged`);
    const inner = header.u32(), count = header.u64("length of a list");
    if (inner in GGUF_BYTES) return header.skip(count * GGUF_BYTES[inner]);
    for (let i = 0; i < count; i++) skip(inner, depth + 1);
  };
  for (let i = 0; i < pairs; i++) {
    const key = text(), type = header.u32();
    if (key === "general.alignment" && type === 4) align = header.u32(); else skip(type, 0);
  }
  if (!align) refuse(`${file.name}: general.alignment 0: the header is damaged`);
  const said = [];
  for (let i = 0; i < tensors; i++) {
    const name = text(), axes = header.u32();
    if (axes > 8) refuse(`${file.name}: tensor ${name} of ${axes} axes: the header is damaged`);
    const shape = Array.from({length: axes}, () => header.u64("length of an axis")).reverse(); // the file has the fastest axis first
    const type = header.u32();
    said.push({name, word: GGML[type] || `type ${type}`, shape, offset: header.u64("offset")});
  }
  const begin = Math.ceil(header.at() / align) * align;
  return said.map(item => tensorIn(file, item.name, item.word, item.shape, begin + item.offset));
}

/** The tensors of a file, told by its first bytes. */
function tensorsIn(file) {
  if (file.size < 8) refuse(`${file.name}: ${file.size} bytes: give a .safetensors, .npy or .gguf file`);
  const first = new Uint8Array(sliceOf(file, 0, 9)), begins = letters => [...letters].every((letter, i) => first[i] === letter.charCodeAt(0));
  const found = begins("\x93NUMPY") ? npyIn(file) : begins("GGUF") ? ggufIn(file) : first[8] === 0x7B ? safetensorsIn(file)
    : begins("emu desc") ? refuse(`${file.name}: it is a descriptor: choose it below, or drop it on the page`) : refuse(`${file.name}: its first bytes are those of no .safetensors, .npy or .gguf file`);
  if (!found.length) refuse(`${file.name}: no tensor in it`);
  return found;
}
