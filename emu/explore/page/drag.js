// drag.js: the number along its line, a value of Block as the height of its bar: both follow the pointer to the source's nearest value.
const DRAG_PARTS = 16, DRAG_WHOLE = 1 << DRAG_PARTS; // a place between two ends is a whole number of 2^-16 of the way
let held = null; // what is dragged: `to` takes a pointer event; the ends of its figure stay where they are meanwhile
/** The code of a format's value nearest to a place between two numbers, 0 at `low`, 2^16 at `high`. */
function codeBetween(id, low, high, part) {
  const format = formatOf(id), gap = minus(high, low), number = plus(low, {n: gap.n * BigInt(part), e: gap.e - DRAG_PARTS});
  if (gridOf(id).length) return nearestIn(gridOf(id), number);
  const sign = number.n < 0n ? 1 : 0, {magnitude, beyond} = round(format, roundingOf("rne"), {sign, exp: number.e, significand: sign ? -number.n : number.n}, 0);
  const most = maxMagnitude(format, sign);
  return encode(format, sign, beyond || magnitude > most ? most : magnitude);
}
const codeAt = (state, {some}, part) => hex(codeBetween(state.from, some[0].number, some.at(-1).number, part), factsOf(formatOf(state.from)).width);
const within = part => Math.max(0, Math.min(DRAG_WHOLE, Math.trunc(part * DRAG_WHOLE)));

function heldLine() { // the picture has 700 units, the line 660 of them
  const value = decode(formatOf(now.state.from), BigInt(now.state.code)), line = lineOf(now.state, value);
  return {first: line.from, to(event) {
    const {left, width} = document.querySelector("#line").getBoundingClientRect();
    go({code: codeAt(now.state, line, within(((event.clientX - left) / width * 700 - 20) / 660))});
  }};
}

/** The ends of the bars: the largest magnitude and a quarter more, both ways. */
function endsOf(codes, from) {
  const sizes = codes.map(code => decode(formatOf(from), code)).filter(isFinite_).map(value => dyadic({...value, sign: 0}));
  const {n, e} = sizes.reduce((most, size) => compare(most, size) < 0 ? size : most, {n: 0n, e: 0});
  return {low: {n: -5n * (n || 1n), e: e - 2}, high: {n: 5n * (n || 1n), e: e - 2}};
}
/** The values as bars; none where they are too many to take hold of. */
function barsFigure({codes}, from) {
  if (codes.length > 64) return "";
  const {low, high} = held?.ends || endsOf(codes, from), zero = {n: 0n, e: 0}, y = number => 150 - pixels(number, low, high, 140), wide = Math.max(8, 640 / codes.length);
  const bars = codes.map((code, i) => {
    const value = decode(formatOf(from), code), x = 10 + i * wide, top = isFinite_(value) ? y(dyadic(value)) : y(zero), middle = y(zero);
    return `<g data-bar="${i}"><rect x="${x}" width="${wide}" y="0" height="160" fill="transparent"/><rect class="bar" x="${x + 1}" width="${wide - 2}" y="${Math.min(top, middle) - 1}" height="${Math.max(top - middle, middle - top) + 2}" fill="var(--bin0)"/></g>`;
  });
  return `<svg id="bars" viewBox="0 0 ${20 + wide * codes.length} 160" role="img" aria-label="the values as bars, element 0 first">${bars.join("")}</svg><p class="small">The values, element 0 first: drag a bar up or down.</p>`;
}
function heldBar(element) { // the picture is 160 units high, the bars 140 of them
  const {from} = now.state, codes = valuesOf(now.state.x, from), ends = endsOf(codes, from), {width} = factsOf(formatOf(from));
  return {ends, to(event) {
    const {top, height} = document.querySelector("#bars").getBoundingClientRect();
    const code = codeBetween(from, ends.low, ends.high, within((150 - (event.clientY - top) / height * 160) / 140));
    go({x: codes.map((own_, i) => hex(i === element ? code : own_, width)).join(" "), row: ""});
  }};
}
function beginDrags() {
  addEventListener("pointerdown", event => {
    if (event.button) return;
    const bar = event.target.closest?.("[data-bar]");
    held = bar ? heldBar(Number(bar.dataset.bar)) : event.target.closest?.("#line") ? heldLine() : null;
    if (held) { event.preventDefault(); guarded(() => held.to(event)); }
  });
  addEventListener("pointermove", event => { if (held) guarded(() => held.to(event)); });
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { if (held) { held = null; go({}); } });
}
