// Compares two texts line by line.

import { element } from "./dom.js"

/** Above this number of comparisons, all lines between the common start and the common end count as replaced. */
const most = 4_000_000

/** Returns lines with a `kind`: same, gone or new. */
export function differences(before, after) {
  const [a, b] = [before.split("\n"), after.split("\n")]
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1
  const [left, right] = [a.slice(start, a.length - end), b.slice(start, b.length - end)]
  const same = lines => lines.map(line => ({ kind: "same", line }))
  return [...same(a.slice(0, start)), ...middle(left, right), ...same(a.slice(a.length - end))]
}

/** Finds the longest common subsequence. */
function middle(left, right) {
  const gone = left.map(line => ({ kind: "gone", line }))
  const added = right.map(line => ({ kind: "new", line }))
  if (left.length * right.length > most) return [...gone, ...added]
  const width = right.length + 1
  const lengths = new Uint16Array((left.length + 1) * width)
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] = left[i] === right[j] ? lengths[(i + 1) * width + j + 1] + 1 : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1])
    }
  }
  const result = []
  let [i, j] = [0, 0]
  while (i < left.length && j < right.length) {
    if (left[i] === right[j]) {
      result.push({ kind: "same", line: left[i] })
      i += 1
      j += 1
    } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) result.push(gone[i++])
    else result.push(added[j++])
  }
  return [...result, ...gone.slice(i), ...added.slice(j)]
}

/** Draws the changed lines with a few lines around them; null if the texts are equal. `label` names the result for
    screen readers. */
export function drawDifferences(before, after, label, around = 2) {
  const all = differences(before, after)
  const isNear = all.map((_, index) => all.slice(Math.max(0, index - around), index + around + 1).some(({ kind }) => kind !== "same"))
  if (!isNear.includes(true)) return null
  const lines = []
  all.forEach(({ kind, line }, index) => {
    if (!isNear[index]) {
      if (isNear[index - 1]) lines.push(element("span", { className: "same", textContent: "⋯\n" }))
      return
    }
    const sign = { same: "  ", gone: "− ", new: "+ " }[kind]
    lines.push(element(kind === "gone" ? "del" : kind === "new" ? "ins" : "span", { textContent: `${sign}${line}\n` }))
  })
  return element("pre", { className: "difference", tabIndex: 0, role: "group", "aria-label": label }, lines)
}
