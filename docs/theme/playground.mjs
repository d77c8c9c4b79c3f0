// Runs `penstock transform` for docs/playground.md, outside of the thread of the page.
import { loadPyodide } from "./pyodide.mjs";

const started = (async () => {
  const python = await loadPyodide();
  const sources = await fetch(new URL("penstock.zip", import.meta.url));
  python.unpackArchive(await sources.arrayBuffer(), "zip", { extractDir: "/penstock" });
  return python.runPython(`
import contextlib, io, sys
from pathlib import Path

sys.path.insert(0, "/penstock")
from penstock_cli.__main__ import main

def run(manifest, records):
    Path("manifest.yaml").write_text(manifest)
    Path("records.json").write_text(records)
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        try:
            main(["transform", "manifest.yaml", "--records", "records.json"])
        except NotImplementedError as e:
            print(e)
    return shown.getvalue()

run
`);
})();

onmessage = async ({ data }) => {
  try {
    postMessage((await started)(...data));
  } catch (error) {
    postMessage(String(error));
  }
};
