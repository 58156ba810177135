// lanes.js: the terms of a fused step as lanes of bits, each under its weight; what alignment shifts out stands beyond the line.
const LANES = {most: 84, below: 16};
/** Bits of a number from one weight to another, as letters; a blank where the number has no bit. */
function bitsOf({n, e}, top, bottom) {
  const magnitude = n < 0n ? -n : n, length = magnitude.toString(2).length;
  let text = "";
  for (let weight = top; weight >= bottom; weight--) {
    const place = weight - e;
    text += magnitude === 0n || place >= length || place < 0 ? " " : magnitude >> BigInt(place) & 1n ? "1" : "0";
  }
  return text;
}
/** A number without the zeros that stand below a weight. */
function whole_({n, e}, weight) {
  for (; e < weight && n % 2n === 0n; e += 1) n /= 2n;
  return {n, e};
}
/** An SVG figure of a step; empty where nothing is aligned. */
function lanesOf(step, name) {
  const lines = [...step.terms.filter(term => term.number.n !== 0n && term.aligned !== null), ...(step.cLine && step.cLine.number.n !== 0n ? [step.cLine] : [])];
  if (!lines.length) return "";
  const topOf = ({n, e}) => (n < 0n ? -n : n).toString(2).length - 1 + e, total = {n: step.total, e: step.lsb};
  const tops = lines.map(line => topOf(line.number)).concat(step.total ? [topOf(total)] : []), top = Math.max(...tops, step.lsb), lows = lines.map(line => line.number.e);
  let bottom = Math.max(Math.min(...lows, step.lsb), step.lsb - LANES.below);
  bottom = Math.max(bottom, top - LANES.most + 1);
  const cell = 8, left = 90, x = weight => left + (top - weight) * cell, edge = x(step.lsb) + cell, width = Math.max(x(bottom) + cell + 14, 320), rows = [...lines, {label: "sum", number: total, sum: true}];
  const row = (line, i) => {
    const text = bitsOf(line.lost === "0" ? whole_(line.number, step.lsb) : line.number, top, bottom), y = 30 + 16 * i, cut = Math.max(0, Math.min(text.length, top - step.lsb + 1));
    const part = (from, to, kind) => [...text.slice(from, to)].map((bit, k) => bit === " " ? "" : `<tspan x="${left + (from + k) * cell}" class="${kind}">${bit}</tspan>`).join("");
    const hidden = line.number.e < bottom && line.number.n !== 0n && bottom <= step.lsb;
    return `<text x="4" y="${y}">${line.number.n < 0n ? "−" : "+"} ${line.label}</text><text y="${y}">${part(0, cut, line.sum ? "total" : "kept")}${part(cut, text.length, "lost")}${hidden ? `<tspan x="${x(bottom) + cell}" class="lost">…</tspan>` : ""}</text>`;
  };
  const height = 36 + 16 * rows.length, rule = 30 + 16 * (rows.length - 1) - 12;
  return `<svg class="lanes" viewBox="0 0 ${width} ${height}" style="max-width:${width * 1.4}px" role="img" aria-label="${escape_(name)}, step ${step.number}: ${lines.length} terms aligned to units of 2^${step.lsb}; the sum is ${step.totalText}">` +
    `<text x="${left}" y="12">2^${top}</text><text x="${edge - cell}" y="12" text-anchor="end">2^${step.lsb}</text>${rows.map(row).join("")}` +
    `<line x1="${edge - 1}" x2="${edge - 1}" y1="4" y2="${height - 4}" stroke="var(--accent)" stroke-dasharray="3 2"/><line x1="4" x2="${width - 4}" y1="${rule}" y2="${rule}" stroke="var(--line)"/></svg>`;
}
