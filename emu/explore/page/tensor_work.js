// tensor_work.js: the figures of a tensor, panel by panel, in a worker: C quantizes, dequantizes and adds up. The sums are exact.
const PANEL = 1 << 16, SUM_LOW = -320, SUM_LIMBS = 24; // elements at a time; how bridge_tensor.c holds a sum

/** The panels of a tensor as a matrix whose rows lie along its last axis: whole rows, or pieces of one that are whole blocks. */
function* panelsOf(tensor, tile) {
  const columns = tensor.shape.at(-1) ?? 1, rows = tensor.count / columns;
  const down = Math.max(1, Math.trunc(PANEL / columns)), across = Math.min(columns, PANEL - PANEL % tile);
  for (let row = 0; row < rows; row += down) {
    for (let column = 0; column < columns; column += across) {
      yield {row, column, rows: Math.min(down, rows - row), columns: Math.min(across, columns - column), first: row * columns + column};
    }
  }
}
/** The bytes of elements, low byte first. */
async function bytesFrom(file, tensor, first, count) {
  const at = tensor.at + first * tensor.bytes, bytes = new Uint8Array(await file.slice(at, at + count * tensor.bytes).arrayBuffer());
  if (tensor.swap) for (let i = 0; i < bytes.length; i += tensor.bytes) bytes.subarray(i, i + tensor.bytes).reverse();
  return bytes;
}
async function codesFrom(file, tensor, first, count) {
  const bytes = await bytesFrom(file, tensor, first, count), view = new DataView(bytes.buffer);
  return Array.from({length: count}, (_, i) => tensor.bytes === 8 ? view.getBigUint64(8 * i, true) : BigInt(tensor.bytes === 4 ? view.getUint32(4 * i, true) : view.getUint16(2 * i, true)));
}
/** The binary32 code of a value that binary32 has. */
function fp32Of(value) { return encode(FP32(), value.sign, value.cls === "zero" ? 0n : round(FP32(), roundingOf("rne"), value, 0).magnitude); }
function sumAt(all, number) {
  const limbs = new BigInt64Array(C.memory.buffer, C.ex_sum_at(all, number), SUM_LIMBS);
  return {n: limbs.reduce((sum, limb, i) => sum + (limb << BigInt(32 * i)), 0n), e: SUM_LOW};
}
const placeText = (tensor, element) => { // [1, 0, 7]
  const place_ = [];
  for (const length of [...tensor.shape].reverse()) { place_.unshift(element % length); element = Math.trunc(element / length); }
  return `[${place_.join(", ")}]`;
};

/** The largest magnitude of a tensor, a binary32 code. Refuses what is not finite, or not a value of binary32. */
async function largestOf(file, tensor, report) {
  const format = formatOf(tensor.format);
  let most = {n: 0n, e: 0}, code = 0n;
  for (const {rows, columns, first} of panelsOf(tensor, 1)) {
    const count = rows * columns, bytes = await bytesFrom(file, tensor, first, count);
    const error = scratch(() => C.ex_scan(format, place(bytes), tensor.bytes, count, OUT)), [wrong, top] = numbersAt(OUT, 2).map(Number);
    if (error) {
      const value = decode(format, (await codesFrom(file, tensor, first + wrong, 1))[0]), at = placeText(tensor, first + wrong);
      refuse(isFinite_(value) ? `${tensor.name}: element ${at} is ${dyadicText(dyadic(value))}, which binary32 has not: convert the tensor to float32 first`
        : `${tensor.name}: element ${at} is ${valueText(value)}: figures need finite values, take it out first`);
    }
    const value = {...decode(format, (await codesFrom(file, tensor, first + top, 1))[0]), sign: 0};
    if (isFinite_(value) && compare(dyadic(value), most) > 0) { most = dyadic(value); code = fp32Of(value); }
    report(first + count);
  }
  return code;
}

async function figuresOf(file, tensor, recipe, report) {
  if (!tensor.format) refuse(`${tensor.name}: its elements are ${tensor.word}: choose a tensor of F16, BF16, F32 or F64`);
  if (!tensor.count) refuse(`${tensor.name}: no elements: figures need a tensor`);
  const program = programOf(recipe), facts = programFacts(program), item = recipeOf(recipe);
  const back = scratch(() => C.ex_program(libraryOf(isOwnRecipe(recipe)), word(recipe), word(item.back))), columns = tensor.shape.at(-1) ?? 1;
  const codes = formatsOf(program)[facts.codes], amax = await largestOf(file, tensor, done => report(done, 2 * tensor.count));
  const all = C.ex_figures(), limit = facts.amax ? place(new Uint8Array(new Uint32Array([Number(amax)]).buffer)) : 0;
  for (const {row, column, rows, columns: wide, first} of panelsOf(tensor, facts.columns)) {
    const bytes = await bytesFrom(file, tensor, first, rows * wide);
    const error = scratch(() => C.ex_panel(program, back, formatOf(tensor.format), FP32(), place(bytes), tensor.bytes, rows, wide, limit, all, BigInt(row), BigInt(column)));
    if (error === 11 && columns % facts.columns) refuse(`${tensor.name}: rows of ${columns} elements: ${recipe} takes whole blocks of ${facts.columns} only`);
    if (error) refuse(`${tensor.name}, ${recipe}: ${ERRORS[error]}, in the ${rows * wide} elements from ${placeText(tensor, first)}`);
    report(tensor.count + first + rows * wide, 2 * tensor.count);
  }
  C.ex_found(all, OUT);
  const [blocks, ...places] = numbersAt(OUT, 1 + 2 * 8).map(Number), worst = [];
  for (let i = 0; i < blocks; i++) {
    const [row, column] = [places[2 * i], places[2 * i + 1]], count = Math.min(facts.columns, columns - column);
    const x = (await codesFrom(file, tensor, row * columns + column, count)).map(code => hex(fp32Of(decode(formatOf(tensor.format), code)), 32));
    worst.push({at: placeText(tensor, row * columns + column), error: sumAt(all, 3 + i), x: [...x, ...Array(facts.columns - count).fill("0x00000000")]});
  }
  const width = codes ? factsOf(codes).width : 8, counts = numbersAt(C.ex_counts(all), 1 << width);
  const use = counts.map((count, code) => ({code: hex(BigInt(code), width), count, value: codes ? decode(codes, BigInt(code)) : null}));
  return {recipe, tensor: tensor.name, shape: tensor.shape, word: tensor.word, count: tensor.count, amax: facts.amax ? hex(amax, 32) : "", xx: sumAt(all, 0), xy: sumAt(all, 1), error: sumAt(all, 2), use, worst};
}
/** The format of each register of a program, 0 where it holds random integers or codes that no step decodes. */
function formatsOf(program) {
  return scratch(() => {
    const {registers} = programFacts(program), types = room(4 * registers);
    checked(C.ex_types(program, types));
    return [...new Uint32Array(C.memory.buffer, types, registers)];
  });
}

/** In the worker: a file alone is answered by its tensors, with a tensor and a recipe by figures; what is wrong by one line. */
function work() {
  globalThis.onmessage = async ({data: {file, tensor, recipe, own: text = ""}}) => {
    let last = -1;
    const report = (done, all) => { const part = Math.trunc(100 * done / all); if (part > last) { last = part; postMessage({part}); } };
    try {
      useOwn(text);
      const tensors = tensorsIn(file), chosen = tensor === undefined ? null : tensors.find(item => item.name === tensor);
      if (chosen === undefined) refuse(`${file.name}: no tensor ${tensor}`);
      postMessage(chosen ? {figures: await figuresOf(file, chosen, recipe, report)} : {tensors});
    } catch (error) {
      const unread = !(error instanceof Refusal) && error.name === "NotReadableError";
      if (!(error instanceof Refusal || unread)) { setTimeout(() => { throw error; }); return; } // the page hears of it by onerror
      postMessage({refused: unread ? `${file.name}: the browser cannot read it any more: choose it again` : error.message});
    }
  };
}
