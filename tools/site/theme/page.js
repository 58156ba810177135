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

// A menu of the versions that lie beside this one, as ../versions.js lists them; none where that file is not there.
const version = new URL("..", document.currentScript.src);
const loaded = address => new Promise((resolve, reject) => {
  const script = document.createElement("script");
  script.addEventListener("load", resolve);
  script.addEventListener("error", reject);
  script.src = address;
  document.head.append(script);
});
loaded(new URL("../versions.js", version)).then(() => {
  const name = version.pathname.split("/").at(-2), menu = document.createElement("select");
  const names = self.emuVersions.map(item => item.version);
  if (!names.includes(name)) return;
  menu.className = "versions";
  menu.setAttribute("aria-label", "Version");
  for (const item of names) menu.add(new Option(item, item));
  menu.value = name;
  menu.addEventListener("change", async () => {  // to the same page where the other version has it
    const other = new URL(`../${menu.value}/`, version), path = new URL(location).pathname.slice(version.pathname.length);
    self.emuPages = [];
    await loaded(new URL("pages.js", other)).catch(() => {});
    location.href = new URL(self.emuPages.includes(path) ? path : "index.html", other);
  });
  addEventListener("pageshow", () => { menu.value = name; });
  document.querySelector(".md-header__title").after(menu);
}).catch(() => {});
