/* Formulas: MathML that the server sends is read as data, and only known elements of it are shown. */

const MATHML = "http://www.w3.org/1998/Math/MathML";
const ELEMENTS = new Set(["math", "mrow", "mi", "mn", "mo", "mtext", "mspace", "mfrac", "msqrt", "mroot", "msub", "msup", "msubsup", "mover", "munder", "munderover", "mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom"]);
const ATTRIBUTES = new Set(["displaystyle", "alttext", "lspace", "rspace", "mathvariant", "stretchy", "fence", "separator", "accent", "width", "height", "depth", "form", "columnalign", "columnspacing", "rowspacing", "symmetric", "linethickness", "minsize", "maxsize", "largeop", "movablelimits", "accentunder"]);

function copied(node) {
  if (node.nodeType === Node.TEXT_NODE) return document.createTextNode(node.data);
  if (node.nodeType !== Node.ELEMENT_NODE || !ELEMENTS.has(node.localName)) return document.createTextNode(node.textContent || "");
  const found = document.createElementNS(MATHML, node.localName);
  for (const attribute of node.attributes) if (ATTRIBUTES.has(attribute.name)) found.setAttribute(attribute.name, attribute.value);
  for (const child of node.childNodes) found.append(copied(child));
  return found;
}

/* A formula as an element; its text if it cannot be read. */
function formula(row) {
  const read = new DOMParser().parseFromString(row.mathml, "application/xml");
  if (read.querySelector("parsererror") || read.documentElement.localName !== "math") return make(null, "code", { text: row.text });
  const found = copied(read.documentElement);
  found.setAttribute("aria-label", row.text);
  return found;
}

function showEquations(parent, rows) {
  parent.replaceChildren();
  for (const row of rows) {
    const line = make(parent, "div", { class: "equation" });
    make(line, "span", { class: "label", text: row.label });
    make(line, "div", { class: "formula" }).append(formula(row));
  }
}
