// Makes the manifest and the records of docs/playground.md editable, and runs `penstock transform` on them in the browser.
const playground = document.getElementById("playground");

if (playground) {
  const scripts = new URL("playground/", document.currentScript.src);
  const [manifest, records, output] = [...document.querySelectorAll("article pre.highlight > code")];
  const fields = [
    [manifest, "Manifest"],
    [records, "Records, one JSON document in each line"],
  ].map(([code, label]) => {
    const field = document.createElement("textarea");
    field.value = code.textContent.trimEnd();
    field.rows = field.value.split("\n").length + 1;
    field.spellcheck = false;
    field.setAttribute("aria-label", label);
    code.closest("pre").replaceWith(field);
    return field;
  });
  const button = document.createElement("button");
  button.className = "md-button";
  button.textContent = "Run";
  output.closest("pre").before(button);
  output.setAttribute("aria-live", "polite");

  let worker;
  button.addEventListener("click", () => {
    button.disabled = true;
    if (!worker) {
      output.textContent = "Python starts, which takes up to a minute the first time ...";
      worker = new Worker(new URL("worker.mjs", scripts), { type: "module" });
      worker.onerror = () => show("This build of the site has no Python for browsers; use the command penstock transform.");
      worker.onmessage = ({ data }) => show(data);
    }
    worker.postMessage(fields.map((field) => field.value));
  });

  function show(text) {
    output.textContent = text;
    button.disabled = false;
    playground.dataset.shown = Number(playground.dataset.shown ?? 0) + 1;
  }
}
