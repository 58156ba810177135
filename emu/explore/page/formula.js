// formula.js: the value of a code as an equation of its fields, which C cuts out of the code; the right side is the value that C decodes.
/** Two to an exponent that is stored with a bias, with both in it. */
const biased = (exp, bias) => `2^(${exp} ${bias < 0n ? "+" : "-"} ${bias < 0n ? -bias : bias})`;
/** The equation in parts, [what a part is, its text]: sign, exponent, fraction, or "" for what stands between. */
function formulaParts(id, code) {
  const format = formatOf(id), value = decode(format, code), text = shortText(value);
  C.ex_parts(format, code, OUT);
  const [cls, sign, ...rest] = numbersAt(OUT, 9), end = ["", ` = ${text}`], minusOne = sign < 0n ? [] : [["sign", `(-1)^${sign}`], ["", " × "]];
  if (value.cls === "open") return [["", `${id} ${hex(code, factsOf(format).width)}: the sources leave open what it means`]];
  if (cls === 0n) {
    const [exp, bias, fraction, bits, leading, inf, nan] = rest;
    if (!isFinite_(value)) return specialParts(id, code, value, {sign, exp, fraction, byFields: (value.cls === "NaN" ? nan : inf) === 1n});
    return [...minusOne, ["exponent", biased(leading || exp ? exp : 1n, bias)], ["", " × "], ["fraction", bits ? `(${leading} + ${fraction}/${1n << bits})` : `${leading}`], end];
  }
  if (cls === 1n) {
    const [stored, less, unit] = rest;
    return [...minusOne, ["fraction", less ? `(${stored} - ${less})` : `${stored}`], ["", " × "], ["exponent", `2^${unit}`], end];
  }
  if (cls === 2n) return value.cls === "NaN" ? specialParts(id, code, value, {}) : [["exponent", biased(code, rest[0])], end];
  return [["", `entry ${code} of the table: `], ["fraction", `${rest[0]}`], ["", " × "], ["exponent", `2^${rest[1]}`], end];
}
function specialParts(id, code, value, {sign, exp, fraction, byFields}) { // why a code is no number
  const what = valueText(value);
  if (!byFields) return [["", `${id} ${hex(code, factsOf(formatOf(id)).width)} is ${what} by the facts of the format`]];
  return [["sign", `sign ${sign}`], ["", ", "], ["exponent", `exponent ${exp}, all ones`], ["", ", "], ["fraction", `fraction ${fraction}${fraction ? ", not 0" : ""}`], ["", `: ${what}`]];
}
const formulaText = (id, code) => formulaParts(id, code).map(([, text]) => text).join("");
const formulaLine = (id, code) => `<p class="formula"><span class="small">${id} ${hex(code, factsOf(formatOf(id)).width)}</span> ${formulaParts(id, code).map(([kind, text]) =>
  `<span class="${kind}">${escape_(text)}</span>`).join("")}</p>`;
