// Builds the page's nodes. Text only ever becomes text: children that are strings are text nodes.

export const $ = (id) => document.getElementById(id);

/** A node: `el("p", { class: "hint", hidden: true }, "text", other)`; null children are left out. */
export function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

/** Text for those who hear the page. */
export const heard = (text) => el("span", { class: "heard" }, text);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.flat(9).filter((child) => child != null));
  return node;
}
