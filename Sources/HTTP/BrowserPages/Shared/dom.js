// Makes elements. Values from outside (names, reasons, addresses) become text, never markup.

/** An element with children and with properties, or attributes for names that are not properties; a null child is
    skipped. */
export const element = (name, properties = {}, ...children) => filled(document.createElement(name), properties, children)

/** The same for SVG, which has only attributes. */
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

/** A radio button or checkbox with a label and a line of help. */
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

/** The checked values of a name. */
export const checked = name => [...document.querySelectorAll(`input[name="${name}"]:checked`)].map(({ value }) => value)
