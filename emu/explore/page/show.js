// show.js: what a room draws. While something is dragged only what has other words than before is changed, so that only that is laid out anew.
const VOID = ["br", "input"]; // what has no end tag
let drawn = null, drawnText = ""; // the tree of what stands in the room, where something is dragged, and its HTML
const plain = text => text.includes("&") ? text.replace(/&#(\d+);/g, (_, letter) => String.fromCharCode(letter)) : text;
/** HTML of a room as a tree: {name: "" of a text, open: the start tag or the text, html, kids, node: where it stands}. It has an end tag for each start tag, and no < or > in attributes. */
function treeOf(html) {
  const root = {name: "", open: "", html, kids: [], node: null, from: 0}, above = [root];
  for (let at = 0, end; at < html.length; at = end) {
    const here = above[above.length - 1];
    if (html[at] !== "<") {
      end = html.indexOf("<", at) < 0 ? html.length : html.indexOf("<", at);
      const text = html.slice(at, end);
      here.kids.push({name: "", open: text, html: text, kids: [], node: null, from: at});
      continue;
    }
    end = html.indexOf(">", at) + 1;
    if (html[at + 1] === "/") { here.html = html.slice(here.from, end); above.pop(); continue; }
    const open = html.slice(at, end), item = {name: /[a-z0-9]+/i.exec(open)[0], open, html: open, kids: [], node: null, from: at};
    here.kids.push(item);
    if (html[end - 2] !== "/" && !VOID.includes(item.name)) above.push(item);
  }
  return root;
}
/** Let a tree know its nodes; whether they are what it says. */
function isBound(item, node) {
  item.node = node;
  let child = node.firstChild;
  for (const kid of item.kids) {
    if (!child || child.nodeName.toLowerCase() !== (kid.name || "#text").toLowerCase() || (kid.name ? !isBound(kid, child) : child.data !== plain(kid.open))) return false;
    kid.node = child;
    child = child.nextSibling;
  }
  return !child;
}
const attributesOf = open => new Map([...open.matchAll(/\s([\w:-]+)(?:="([^"]*)")?/g)].map(([, name, value = ""]) => [name, plain(value)]));
const idOf = ({open}) => / id="[^"]*"/.exec(open)?.[0];
const isAlike = (one, two) => one.name === two.name && (one.open === two.open || !one.name || idOf(one) === idOf(two));
/** A new node of a tree, put before another one of its parent. */
function put(item, parent, next) {
  const range = document.createRange();
  range.selectNodeContents(parent); // its parent says whether it is HTML or SVG
  const made = range.createContextualFragment(item.html).firstChild;
  isBound(item, made);
  parent.insertBefore(made, next);
}
/** Make the node of a tree what another one says: attributes and texts in place, what is new put in, what is gone taken out. */
function amend(old, fresh) {
  const node = fresh.node = old.node, was = old.kids;
  if (old.open !== fresh.open) {
    const before = attributesOf(old.open), after = attributesOf(fresh.open);
    for (const name of before.keys()) if (!after.has(name)) node.removeAttribute(name);
    for (const [name, value] of after) if (before.get(name) !== value) node.setAttribute(name, value);
  }
  let i = 0; // of the old ones, the first that is left
  fresh.kids.forEach((next, k) => {
    let at = i;
    while (at < was.length && !isAlike(was[at], next)) at += 1;
    if (at === was.length) return put(next, node, was[i]?.node || null);
    for (; i < at; i++) was[i].node.remove();
    const here = was[i++];
    if (here.html === next.html) fresh.kids[k] = here;
    else if (!next.name) { next.node = here.node; here.node.data = plain(next.open); }
    else amend(here, next);
  });
  for (; i < was.length; i++) was[i].node.remove();
}
/** Put HTML into the room. */
function show(page, text) {
  page.classList.toggle("held", Boolean(held)); // the style leaves out what is not in the window meanwhile
  if (held && !drawn) { // what the last one drew, where it is still there
    const last = treeOf(drawnText);
    drawn = isBound(last, page) ? last : null;
  }
  const fresh = held && treeOf(text);
  if (held && drawn) {
    amend(drawn, fresh);
    for (const item of page.querySelectorAll("input:not([type=file]), textarea")) if (item.value !== item.defaultValue) item.value = item.defaultValue; // what was typed is no attribute
    drawn = fresh;
  } else {
    page.innerHTML = text;
    drawn = null;
  }
  drawnText = text;
}
