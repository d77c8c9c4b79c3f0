// Draws the diagrams of a page (```mermaid in its Markdown), in the colors of the theme. Without mermaid their text stays.
const assets = new URL(".", document.currentScript.src);
const diagrams = [...document.querySelectorAll("pre.diagram")].map((place) => ({ place, text: place.textContent }));

async function draw() {
  const scheme = document.body.dataset.mdColorScheme;
  mermaid.initialize(
    scheme === "slate"
      ? { startOnLoad: false, theme: "dark", themeVariables: { edgeLabelBackground: "#222" } }
      : { startOnLoad: false, theme: "neutral" },
  );
  for (const [number, { place, text }] of diagrams.entries()) {
    const { svg } = await mermaid.render(`diagram-${number}`, text);
    place.innerHTML = svg;
    place.dataset.scheme = scheme;
  }
}

if (diagrams.length) {
  const script = document.createElement("script");
  script.src = new URL("mermaid.min.js", assets);
  script.onload = () => {
    let drawn = draw();
    new MutationObserver(() => (drawn = drawn.then(draw))).observe(document.body, {
      attributeFilter: ["data-md-color-scheme"],
    });
  };
  document.head.append(script);
}
