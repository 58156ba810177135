// A field above each table that asks for one: rows that hold every word stay.
for (const box of document.querySelectorAll("div.filter")) {
  const table = document.getElementById(box.dataset.for), rows = [...table.tBodies[0].rows];
  const label = document.createElement("label"), field = document.createElement("input"), count = document.createElement("output");
  field.type = "search";
  field.placeholder = "for instance: torchao mxfp4 differs";
  label.append("Show rows with ", field);
  box.append(label, " ", count);
  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every(word => text.includes(word));
      left += !row.hidden;
    }
    count.textContent = `${left} of ${rows.length} rows`;
  };
  field.addEventListener("input", show);
  show();
}

// What scrolls sideways can be reached by the keyboard, also what the theme makes later.
const reachable = () => {
  for (const item of document.querySelectorAll("pre code, .md-typeset__scrollwrap, .md-typeset__table, .highlight")) if (item.tabIndex) item.tabIndex = 0;
};
new MutationObserver(reachable).observe(document.body, {childList: true, subtree: true});
reachable();
