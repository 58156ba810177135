// dot_search.js: a small row on which two machines differ, looked for through C: few products first, then drawn ones made small.
/** Codes that are worth trying in a format: one, the smallest, the largest, one with all its bits, and the same below zero. */
function tellingCodes(format) {
  const {width} = factsOf(format), found = new Map(), keep = code => { const value = decode(format, code); if (isFinite_(value) && value.significand) found.set(code, value); };
  if (width <= 8) {
    const all = [];
    for (let code = 0n; code < 1n << BigInt(width); code++) { const value = decode(format, code); if (isFinite_(value) && value.significand && !value.sign) all.push({code, number: dyadic(value)}); }
    all.sort((x, y) => compare(x.number, y.number));
    const one = all.findIndex(item => compare(item.number, {n: 1n, e: 0}) >= 0);
    [one, 0, all.length - 1, Math.trunc((one + all.length) / 2), one + 1].forEach(i => { if (all[i]) keep(all[i].code); });
  } else {
    ["1", "1.9921875", "0.0078125", "300"].forEach(text => keep(codeOfDecimal(text, nameOf(format))));
    [1n, maxMagnitude(format, 0)].forEach(one => keep(encode(format, 0, one)));
  }
  if (factsOf(format).sign) [...found.keys()].slice(0, 3).forEach(code => { const value = found.get(code), twin = codeOfValue(format, {n: -value.significand, e: value.exp}); if (twin !== null) keep(twin); });
  return [...found.keys()];
}
/** The code of an exact value, or null. */
function codeOfValue(format, number) {
  const sign = number.n < 0n ? 1 : 0, rounded = round(format, roundingOf("rz"), {sign, exp: number.e, significand: sign ? -number.n : number.n}, 0);
  return rounded.inexact || rounded.beyond || factsOf(format).cls === 3 ? null : encode(format, sign, rounded.magnitude);
}
/** Random integers of 32 bits from a seed: the same row again for the same machines. */
function drawer(seed) {
  let state = seed;
  return below => { state ^= state << 13; state ^= state >>> 17; state ^= state << 5; return (state >>> 0) % below; };
}
/** A function that draws codes of a format: of a float within eight binades of 1, else any that are finite. */
function anyCode(format, draw) {
  const {width, cls, frac, sign} = factsOf(format), one = codeOfValue(format, {n: 1n, e: 0}), most = cls === 3 ? 0n : maxMagnitude(format, 0);
  return () => {
    for (;;) {
      if (cls === 0 && width > 8) {
        const magnitude = one + BigInt(draw(16 << 8) - (8 << 8)) * (1n << BigInt(frac)) / 256n + BigInt(draw(1 << Math.min(frac, 20)));
        if (magnitude > 0n && magnitude <= most) return encode(format, sign ? draw(2) : 0, magnitude);
      } else {
        const code = BigInt(draw(1 << Math.min(width, 16)));
        if (isFinite_(decode(format, code))) return code;
      }
    }
  };
}
const gcd = (a, b) => b ? gcd(b, a % b) : a;

/** A row where two machines differ, as codes, with how many products it has; null where none was found. First one instruction, then more. */
function smallestDifference(name, other) {
  if (!machinesLike(name).includes(other)) refuse(`${other} takes other operands than ${name}: choose one of its kind`);
  return differenceOver(name, other, 1, 60000) || differenceOver(name, other, 4, 12000);
}
/** The same for rows of `times_` instructions. At most `budget` rows are asked. */
function differenceOver(name, other, times_, budget) {
  return scratch(() => {
    const machines = [machineOf(name), machineOf(other)], [first, second] = machines, k = times_ * machines.reduce((all, one) => all / gcd(all, one.k) * one.k, Math.max(first.block, 1));
    const blocks = first.block ? k / first.block : 0, room_ = count => count ? room(8 * count) : 0;
    const at = [k, k, blocks, blocks, machines[0].c ? 1 : 0].map(room_), draws = room(4096), zero = first.c ? 0n : null;
    const row = {a: Array(k).fill(0n), b: Array(k).fill(0n), sa: Array(blocks).fill(blocks ? oneOf(first.scale) : 0n), sb: Array(blocks).fill(blocks ? oneOf(first.scale) : 0n), c: zero};
    new Uint8Array(C.memory.buffer, draws, 4096).fill(0);
    let asked = 0;
    const put = codes => codes.forEach((list, i) => { if (at[i]) new BigUint64Array(C.memory.buffer, at[i], list.length).set(list); });
    const ask = machine => scratch(() => {
      const error = machine.fused ? C.ex_dot(machine.at, ...at, k, 0, OUT) : C.ex_dot_levels(machine.at, ...at, draws, k, 0, OUT);
      const [code, mark] = numbersAt(OUT, 2);
      return error || machine.fused && mark ? null : unsigned(code);
    });
    const meant = (machine, code) => { const value = decode(machine.d, code); return value.cls === "NaN" ? "NaN" : valueText(value); };
    const differs = () => {
      put([row.a, row.b, row.sa, row.sb, row.c === null ? [] : [row.c]]);
      asked += 1;
      const [x, y] = machines.map(ask);
      if (x === null || y === null) return false;
      return !(first.d === second.d && x === y) && meant(first, x) !== meant(second, y);
    };
    const [va, vb] = [first.a, first.b].map(tellingCodes), cs = first.c ? [0n, ...tellingCodes(first.c)] : [null], pairs = va.flatMap(x => vb.map(y => [x, y]));
    const places = [...new Set([0, 1, machines[0].group, machines[1].group, machines[0].step, machines[1].step, first.block, k / 2, k - 1].filter(item => item >= 0 && item < k).map(Math.trunc))].sort((x, y) => x - y);
    const set = (place_, [x, y]) => { row.a[place_] = x; row.b[place_] = y; }, clear = place_ => set(place_, [0n, 0n]);
    const one = () => { for (const c of cs) { row.c = c; for (const pair of pairs) { set(0, pair); if (differs()) return true; } } clear(0); return false; };
    const two = () => {
      for (const c of cs.slice(0, 2)) for (const place_ of places.slice(1)) for (const x of pairs) for (const y of pairs) {
        row.c = c; set(0, x); set(place_, y);
        if (differs()) return true;
        clear(place_);
        if (asked > budget / 2) { clear(0); row.c = zero; return false; }
      }
      clear(0); row.c = zero;
      return false;
    };
    const draw = drawer(0x2545F491), any = [anyCode(first.a, draw), anyCode(first.b, draw), first.c ? anyCode(first.c, draw) : null];
    const drawn = () => {
      const scales = blocks ? tellingCodes(first.scale).filter(code => !decode(first.scale, code).sign) : [];
      while (asked < budget) {
        const mixed = draw(2), same = pairs[draw(pairs.length)];
        row.a.fill(0n); row.b.fill(0n);
        for (let i = 0, count = 2 + draw(k); i < count; i++) set(draw(k), mixed ? [any[0](), any[1]()] : same);
        for (let i = 0; i < blocks; i++) { row.sa[i] = scales[draw(scales.length)]; row.sb[i] = scales[draw(scales.length)]; }
        if (first.c) row.c = draw(2) ? any[2]() : cs[draw(cs.length)];
        if (differs()) return true;
      }
      return false;
    };
    if (!(times_ === 1 && (one() || two()) || drawn())) return null;
    const trial = (list, i, value) => { const kept = list[i]; if (kept === value) return; list[i] = value; if (!differs()) list[i] = kept; };
    for (let round_ = 0; round_ < 3; round_++) { // what can go, goes
      for (let i = 0; i < k; i++) if (row.a[i] || row.b[i]) { const kept = [row.a[i], row.b[i]]; clear(i); if (!differs()) set(i, kept); }
      if (row.c) { const kept = row.c; row.c = 0n; if (!differs()) row.c = kept; }
      for (let i = 0; i < blocks; i++) { trial(row.sa, i, oneOf(first.scale)); trial(row.sb, i, oneOf(first.scale)); }
    }
    const count = row.a.filter((code, i) => code || row.b[i]).length;
    return {row, count, asked, state: stateOfRow(row, first)};
  });
}
/** A row of codes as the texts of a state. */
function stateOfRow(row, machine) {
  const joined = (codes, format) => format ? codes.map(code => hex(code, factsOf(format).width).slice(2)).join("") : "";
  return {a: joined(row.a, machine.a), b: joined(row.b, machine.b), sa: joined(row.sa, machine.scale), sb: joined(row.sb, machine.scale), c: row.c ? joined([row.c], machine.c) : "", acc: "", words: "", split: "1", turn: "0"};
}
