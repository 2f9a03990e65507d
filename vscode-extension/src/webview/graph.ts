/** Shows the SVG of a graph: marks, zoom, and a way to the source from each step. */
import type { FromGraph, ToGraph } from "../shared/messages";
import { button, connect, h, render, root } from "./dom";

const ALLOWED = new Set(["svg", "g", "path", "polygon", "polyline", "ellipse", "text", "title"]);
const KEPT = new Set(["d", "points", "cx", "cy", "rx", "ry", "x", "y", "transform", "viewBox", "width", "height", "id", "class", "fill", "stroke", "stroke-width", "stroke-dasharray", "text-anchor", "font-size"]);
const ZOOM_MIN = 0.2;
const ZOOM_MAX = 4;

const api = connect<{ zoom: number }>();
const canvas = h("div", { class: "canvas", tabindex: 0, role: "group", "aria-label": "Control flow" });
const message = h("p", { class: "empty", role: "status" }, "Drawing…");
const zoomLevel = h("output", { "aria-label": "Zoom" });
let zoom = api.getState()?.zoom ?? 1;
let size = { width: 0, height: 0 };
let cursor: string | null = null;

const post = (text: FromGraph): void => api.postMessage(text);

render(
  root(),
  h(
    "div",
    { class: "toolbar", role: "toolbar", "aria-label": "Zoom" },
    button("−", () => setZoom(zoom / 1.2), { title: "Zoom out", "aria-label": "Zoom out", class: "quiet" }),
    zoomLevel,
    button("+", () => setZoom(zoom * 1.2), { title: "Zoom in", "aria-label": "Zoom in", class: "quiet" }),
    button("Fit", fit, { title: "Fit the width", class: "quiet" }),
  ),
  message,
  canvas,
);

/** Only what draws is taken over; Graphviz writes nothing else, and text of a file can add nothing. */
function clean(source: Element): Element | null {
  const name = source.localName;
  if (!ALLOWED.has(name)) {
    return null;
  }
  const copy = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const { name: attribute, value } of source.attributes) {
    if (KEPT.has(attribute)) {
      copy.setAttribute(attribute, value);
    }
  }
  for (const child of source.childNodes) {
    if (child.nodeType === Node.TEXT_NODE) {
      copy.append(child.textContent ?? "");
    } else if (child instanceof Element) {
      const inner = clean(child);
      if (inner !== null && inner.localName !== "title") {
        copy.append(inner);
      }
    }
  }
  return copy;
}

function show(text: string, name: string): void {
  const parsed = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const svg = clean(parsed);
  if (svg === null || svg.localName !== "svg") {
    say("The picture cannot be read.");
    return;
  }
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Control flow of ${name}`);
  size = { width: parseFloat(svg.getAttribute("width") ?? "0") * (4 / 3), height: parseFloat(svg.getAttribute("height") ?? "0") * (4 / 3) };
  for (const element of svg.querySelectorAll<SVGGElement>("g.node, g.cluster")) {
    const path = pathOf(element);
    if (path !== "" && element.classList.contains("node")) {
      element.setAttribute("tabindex", "0");
      element.setAttribute("role", "button");
      element.setAttribute("aria-label", [...element.querySelectorAll("text")].map((each) => each.textContent).join(", "));
    }
    element.dataset["path"] = path;
  }
  message.hidden = true;
  canvas.hidden = false;
  canvas.replaceChildren(svg);
  const first = api.getState() === undefined;
  setZoom(zoom);
  if (first && size.width > canvas.clientWidth) {
    fit();
  }
  svg.querySelectorAll<SVGGElement>("g.node").forEach(squeeze);
}

/** The picture was laid out with the widths of one font; where another is wider, its text is made to fit its box. */
function squeeze(node: SVGGElement): void {
  const box = node.querySelector<SVGGraphicsElement>("path, polygon, ellipse")?.getBBox();
  for (const text of node.querySelectorAll("text")) {
    const room = (box?.width ?? 0) - 8;
    if (room > 0 && text.getComputedTextLength() > room) {
      text.setAttribute("textLength", String(room));
      text.setAttribute("lengthAdjust", "spacingAndGlyphs");
    }
  }
}

/** Ids are `<name>:<step path>`. */
function pathOf(element: Element): string {
  const id = element.id;
  const colon = id.indexOf(":");
  return colon < 0 ? "" : id.slice(colon + 1);
}

function say(text: string): void {
  message.textContent = text;
  message.hidden = false;
  canvas.hidden = true;
}

function setZoom(value: number): void {
  zoom = Math.min(Math.max(value, ZOOM_MIN), ZOOM_MAX);
  zoomLevel.textContent = `${Math.round(zoom * 100)} %`;
  const svg = canvas.querySelector("svg");
  svg?.setAttribute("width", String(size.width * zoom));
  svg?.setAttribute("height", String(size.height * zoom));
  api.setState({ zoom });
}

function fit(): void {
  if (size.width > 0) {
    setZoom((canvas.clientWidth - 24) / size.width);
  }
}

function mark(name: string, paths: readonly string[]): void {
  const wanted = new Set(paths);
  for (const element of canvas.querySelectorAll<SVGGElement>("g.node, g.cluster")) {
    element.classList.toggle(name, wanted.has(element.dataset["path"] ?? ""));
  }
}

function chosen(event: Event): void {
  const element = (event.target as Element).closest<SVGGElement>("g.node, g.cluster");
  const path = element?.dataset["path"];
  if (path) {
    post({ type: "open", path });
  }
}

canvas.addEventListener("click", chosen);
canvas.addEventListener("keydown", (event) => {
  if (event.key === "Enter" || event.key === " ") {
    chosen(event);
    event.preventDefault();
  } else if ((event.key === "+" || event.key === "-") && !event.ctrlKey) {
    setZoom(event.key === "+" ? zoom * 1.2 : zoom / 1.2);
  }
});
canvas.addEventListener(
  "wheel",
  (event) => {
    if (event.ctrlKey) {
      setZoom(zoom * (event.deltaY < 0 ? 1.1 : 1 / 1.1));
      event.preventDefault();
    }
  },
  { passive: false },
);

function reveal(path: string): void {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  canvas
    .querySelector(`g[data-path="${CSS.escape(path)}"]`)
    ?.scrollIntoView({ block: "nearest", inline: "nearest", behavior: calm ? "auto" : "smooth" });
}

window.addEventListener("message", ({ data }: MessageEvent<ToGraph>) => {
  switch (data.type) {
    case "graph":
      show(data.svg, data.name);
      mark("cursor", cursor === null ? [] : [cursor]);
      break;
    case "cursor":
      cursor = data.path;
      mark("cursor", cursor === null ? [] : [cursor]);
      if (cursor !== null) {
        reveal(cursor);
      }
      break;
    case "debug":
      mark("current", data.current);
      mark("done", data.done);
      mark("failed", data.failed);
      if (data.current[0] !== undefined) {
        reveal(data.current[0]);
      }
      break;
    case "message":
      say(data.text);
  }
});

post({ type: "ready" });
