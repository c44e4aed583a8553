// Makes elements. What is not ours (names, reasons, addresses) becomes text and never markup.

/** An element with these properties, or attributes where it has no such property, and children; null is none. */
export const element = (name, properties = {}, ...children) => filled(document.createElement(name), properties, children)

/** The same in SVG, where everything is an attribute. */
export const drawing = (name, attributes = {}, ...children) => {
  const node = document.createElementNS("http://www.w3.org/2000/svg", name)
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value)
  node.append(...children)
  return node
}

const filled = (node, properties, children) => {
  for (const [key, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue
    if (key in node) node[key] = value
    else node.setAttribute(key, value)
  }
  node.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false))
  return node
}

export const find = id => document.getElementById(id)

export const show = (id, isShown) => { find(id).hidden = !isShown }

/** A radio button or a box, with its words and a line of help. */
export const choice = (type, name, value, words, help, checked) => {
  const input = element("input", { type, name, value, checked, id: `${name}-${value}` })
  const label = element("span", { textContent: words })
  const text = element("span", { className: "words" }, label)
  if (help) {
    const small = element("small", { textContent: help, id: `${name}-${value}-help` })
    input.setAttribute("aria-describedby", small.id)
    text.append(small)
  }
  return element("label", { className: "choice", htmlFor: input.id }, input, text)
}

/** The values of what is chosen under a name. */
export const checked = name => [...document.querySelectorAll(`input[name="${name}"]:checked`)].map(({ value }) => value)
