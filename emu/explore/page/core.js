// core.js: the C reference in WebAssembly, and exact decimals of its integers. A number that is shown comes from C or is a BigInt.
const encoder = new TextEncoder(), decoder = new TextDecoder();
const bytesOf = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
const C = new WebAssembly.Instance(new WebAssembly.Module(bytesOf(WASM)), {}).exports;
const ERRORS = ["", "a pointer is missing", "the format cannot be used that way", "the rounding does not fit the destination",
  "the policy does not cover it", "the code has bits above the format's width", "a random integer is wrong", "not a value of the format",
  "the sources leave the result open", "the library that is described raises an error", "the program contradicts itself",
  "the shapes do not fit each other", "not enough memory", "the datapath contradicts itself", "the accumulator overflows", "no such name",
  "the descriptor is wrong", "the layout is wrong"];
const CLASSES = ["zero", "subnormal", "normal", "infinity", "NaN", "open"];

class Refusal extends Error {}
const refuse = text => { throw new Refusal(text); };
const checked = error => { if (error) refuse(ERRORS[error] || `error ${error}`); };
const unsigned = value => BigInt.asUintN(64, value);

function room(bytes) {
  return C.ex_room(Math.max(bytes, 8)) || refuse("not enough memory: give fewer values");
}
function place(bytes) {
  const at = room(bytes.length);
  new Uint8Array(C.memory.buffer).set(bytes, at);
  return at;
}
const word = text => place(encoder.encode(text + "\0"));
function textAt(at) {
  const memory = new Uint8Array(C.memory.buffer);
  return at ? decoder.decode(memory.slice(at, memory.indexOf(0, at))) : null;
}
let words64 = new BigInt64Array(C.memory.buffer); // made anew where the memory has grown
function numbersAt(at, count) {
  if (words64.buffer !== C.memory.buffer) words64 = new BigInt64Array(C.memory.buffer);
  const out = [];
  for (let i = at / 8; i < at / 8 + count; i++) out.push(words64[i]);
  return out;
}
function scratch(work) { // memory that the work takes is free again after it
  const mark = C.ex_mark();
  try { return work(); } finally { C.ex_release(mark); }
}
const OUT = room(256);
const library = (() => {
  const text = encoder.encode(DESCRIPTOR), found = C.ex_load(place(text), text.length);
  return found || refuse(`descriptor line ${C.ex_fault_line()}: ${textAt(C.ex_fault())}`);
})();

const found = {};
function named(kind, id, work) { // descriptors are looked up once; a lookup takes no memory but its name
  const key = `${kind}/${id}`;
  if (!(key in found)) found[key] = scratch(work);
  return found[key] || missingObject(kind, id);
}
const missingObject = (kind, id) => refuse(`${kind} ${id}: no such object in this page`);
const formatOf = id => named("format", id, () => C.ex_format(libraryOf(own.formats.includes(id)), word(id)));
const roundingOf = id => named("rounding", id, () => C.ex_rounding(libraryOf(own.roundings.includes(id)), word(id)));
const layoutOf = id => named("layout", id, () => C.ex_layout(libraryOf(own.layouts.includes(id)), word(id)));
const recipeOf = id => own.recipes.find(recipe => recipe.id === id) || META.recipes.find(recipe => recipe.id === id);
const programOf = id => !recipeOf(id) ? missingObject("recipe", id) : named("recipe", id, () => C.ex_program(libraryOf(isOwnRecipe(id)), word(id), 0));
const policyOf = (id, to) => named("policy", `${id}/${to}`, () => C.ex_policy(libraryOf(own.policies.some(([name, of]) => name === id && of === to)), word(id), word(to)));
function factsOf(format) {
  C.ex_format_facts(format, OUT);
  const [cls, width, sign, exp, frac] = numbersAt(OUT, 5).map(Number);
  return {cls, width, sign, exp, frac};
}
function decode(format, code) {
  checked(C.ex_decode(format, code, OUT));
  const [cls, sign, exp, significand] = numbersAt(OUT, 4);
  return {cls: CLASSES[Number(cls)], sign: Number(sign), exp: Number(exp), significand: unsigned(significand)};
}
function convert(source, to, rounding, policy, code, random) {
  checked(C.ex_convert(source, to, rounding, policy, code, random, OUT));
  const [converted, open] = numbersAt(OUT, 2);
  return {code: unsigned(converted), mark: ["", "open", "refused"][Number(open)]};
}
function round(format, rounding, value, random) {
  checked(C.ex_round(format, rounding, value.sign, value.exp, value.significand, random, OUT));
  const [magnitude, beyond, inexact] = numbersAt(OUT, 3);
  return {magnitude: unsigned(magnitude), beyond: Number(beyond), inexact: Number(inexact)};
}
function encode(format, sign, magnitude) {
  checked(C.ex_encode(format, sign, magnitude, OUT));
  return unsigned(numbersAt(OUT, 1)[0]);
}
function maxMagnitude(format, sign) {
  checked(C.ex_max_magnitude(format, sign, OUT));
  return unsigned(numbersAt(OUT, 1)[0]);
}

// Dyadic numbers, {n, e} for n * 2^e, n a BigInt with its sign.
const dyadic = value => ({n: value.sign ? -value.significand : value.significand, e: value.exp});
const isFinite_ = value => ["zero", "subnormal", "normal"].includes(value.cls);
function meet(a, b) {
  const e = Math.min(a.e, b.e);
  return [a.n << BigInt(a.e - e), b.n << BigInt(b.e - e), e];
}
function minus(a, b) { const [x, y, e] = meet(a, b); return {n: x - y, e}; }
function plus(a, b) { const [x, y, e] = meet(a, b); return {n: x + y, e}; }
function times(a, b) { return {n: a.n * b.n, e: a.e + b.e}; }
function compare(a, b) { const [x, y] = meet(a, b); return x < y ? -1 : x > y ? 1 : 0; }
/** Of values, ascending, the code of the one nearest to a number; half way the even code. */
function nearestIn(grid, number) {
  const gap = item => { const {n, e} = minus(item.number, number); return {n: n < 0n ? -n : n, e}; };
  return grid.reduce((best, item) => { const side = compare(gap(item), gap(best)); return side < 0 || (side === 0 && item.code % 2n === 0n) ? item : best; }).code;
}
function decimal({n, e}) { // all digits
  const sign = n < 0n ? "-" : "";
  let digits = n < 0n ? -n : n, places = 0;
  if (digits === 0n) return "0";
  while (e < 0 && digits % 2n === 0n) { digits /= 2n; e += 1; }
  if (e >= 0) return sign + (digits << BigInt(e));
  places = -e;
  const text = (digits * 5n ** BigInt(places)).toString().padStart(places + 1, "0");
  return `${sign}${text.slice(0, -places)}.${text.slice(-places)}`;
}
function valueText(value) {
  if (value.cls === "NaN" || value.cls === "open") return value.cls;
  if (value.cls === "infinity") return value.sign ? "-infinity" : "infinity";
  return value.cls === "zero" ? (value.sign ? "-0" : "0") : decimal(dyadic(value));
}
/** A number as emu prints it: all decimals where they are few, else a whole number times a power of two. Never rounded. */
function dyadicText({n, e}) {
  if (n === 0n) return "0";
  const sign = n < 0n ? "-" : "";
  let odd = n < 0n ? -n : n;
  while ((odd & 1n) === 0n) { odd >>= 1n; e += 1; }
  if (e >= -6 && (e >= 0 ? e < 20 && odd << BigInt(e) < 1n << 20n : odd < 1n << BigInt(20 - e))) return decimal({n: sign ? -odd : odd, e});
  return e === 0 ? `${sign}${odd}` : odd === 1n ? `${sign}2^${e}` : `${sign}${odd}*2^${e}`;
}
/** What codeOfDecimal reads as the same value: NaN with its sign too. */
const typedText = value => value.cls === "NaN" && value.sign ? "-nan" : valueText(value).replace("infinity", "inf");
function shortText(value) { return isFinite_(value) && value.cls !== "zero" ? dyadicText(dyadic(value)) : valueText(value); }
const hex = (code, width) => "0x" + code.toString(16).toUpperCase().padStart(Math.ceil(width / 4), "0");
function parseHex(text, width, what) {
  if (!/^0x[0-9a-f]{1,16}$/i.test(text)) refuse(`${what} ${text}: write a code as hex digits behind 0x`);
  const code = BigInt(text);
  if (code >> BigInt(width)) refuse(`${what} ${text}: the format has ${width} bits`);
  return code;
}

/** The words of what is pasted: numbers, lists, tensor(...), array(...), hex, or a row of a .tv file. */
function wordsOf(text) {
  if (/\d,\d/.test(text) && /[\d.][ \t]+[-+.\d]/.test(text)) refuse("numbers with commas inside and blanks between them: write decimal points, or one comma behind each number");
  return text.replace(/#[^\n]*/g, " ").replace(/(?:tensor|array|np\.float\d*)\(|dtype=[\w.]+|device='[^']*'|[()[\],;]/g, " ").trim().split(/\s+/).filter(Boolean);
}

// What somebody types: a number of any length -> the nearest code of a float format, ties to even, rounded once by C: what C sees has 62
// bits, the last one set where anything was cut off below them.
function codeOfDecimal(text, id) {
  const format = formatOf(id), facts = factsOf(format);
  const special = /^([+-]?)(inf|infinity|nan)$/i.exec(text);
  const match = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]{1,4}))?$/i.exec(text);
  if (special) {
    const cls = special[2].toLowerCase() === "nan" ? "NaN" : "infinity", sign = special[1] === "-" ? 1 : 0;
    const all = facts.width <= 8 ? Array.from({length: 1 << facts.width}, (_, code) => BigInt(code)) : [];
    const ones = ((1n << BigInt(facts.exp)) - 1n) << BigInt(facts.frac), quiet = cls === "NaN" && facts.frac ? 1n << BigInt(facts.frac - 1) : 0n;
    const usual = facts.cls ? [] : [ones | quiet | (sign && facts.sign ? 1n << BigInt(facts.width - 1) : 0n)];
    const every = [...usual, ...all].filter(code => decode(format, code).cls === cls), signed = every.find(code => decode(format, code).sign === sign);
    if (signed !== undefined) return signed;
    if (cls === "infinity" || !every.length) refuse(`${text}: ${id} has no such value`);
    return every[0]; // all its NaN have one sign
  }
  if (!match || !(match[2] || match[3])) refuse(`${text}: write a number such as 0.1 or -3e-5, or a code such as 0x3DCC`);
  const [, minus_, whole, part = "", power = "0"] = match, ten = Number(power) - part.length, sign = minus_ === "-" ? 1 : 0;
  let top = BigInt((whole || "") + part), bottom = 1n, exp = 0;
  if (text.length > 400) refuse("a number of more than 400 characters: write fewer");
  if (facts.cls === 0 && top === 0n) return [encode(format, sign, 0n), 0n].find(code => !(code >> BigInt(facts.width)) && decode(format, code).cls === "zero");
  if (facts.cls === 0 && sign && !facts.sign) refuse(`${text}: ${id} has no negative values`);
  if (ten >= 0) top *= 10n ** BigInt(ten); else bottom = 10n ** BigInt(-ten);
  const more = 62 - (top.toString(2).length - bottom.toString(2).length);
  if (more >= 0) top <<= BigInt(more); else bottom <<= BigInt(-more);
  exp = -more;
  let significand = top / bottom, lost = top % bottom !== 0n;
  while (significand >> 62n) { lost ||= (significand & 1n) === 1n; significand >>= 1n; exp += 1; }
  if (lost) significand |= 1n;
  if (facts.cls && gridOf(id).length) { // C has said all of its values
    const grid = gridOf(id), number = {n: sign ? -significand : significand, e: exp};
    if (compare(number, grid[0].number) < 0 || compare(number, grid.at(-1).number) > 0) refuse(`${text}: beyond the values of ${id}`);
    return nearestIn(grid, number);
  }
  const rounded = round(format, roundingOf("rne"), {sign, exp, significand}, 0);
  const most = maxMagnitude(format, sign);
  if (rounded.beyond || rounded.magnitude > most) {
    if (facts.cls !== 0 || maxMagnitude(format, sign) + 1n >> BigInt(facts.exp + facts.frac) || decode(format, encode(format, sign, most + 1n)).cls !== "infinity") refuse(`${text}: beyond the largest value of ${id}`);
    return encode(format, sign, most + 1n);
  }
  return encode(format, sign, rounded.magnitude);
}
