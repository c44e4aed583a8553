// A small SVG line chart, with its numbers as text for screen readers.

import { drawing, element } from "./dom.js"

const [width, height] = [120, 32]

/** `values` run from the oldest to the newest; null is a gap. */
export function sparkline(values, label) {
  const known = values.filter(value => value !== null)
  const most = Math.max(1e-9, ...known)
  const place = (value, index) => {
    const x = values.length < 2 ? width : (index / (values.length - 1)) * width
    return `${x.toFixed(1)},${(height - 2 - (value / most) * (height - 4)).toFixed(1)}`
  }
  const points = values.flatMap((value, index) => (value === null ? [] : [place(value, index)]))
  const picture = drawing("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", class: "spark", role: "img", "aria-label": label })
  if (points.length > 1) picture.append(drawing("polyline", { points: points.join(" ") }))
  return picture
}

/** One bar per day, split into delivered and failed. `days` are `{ day, delivered, failed }`. */
export function bars(days, say, number) {
  const most = Math.max(1, ...days.map(({ delivered, failed }) => delivered + failed))
  return element("ul", { className: "bars" }, days.map(({ day, delivered, failed }) => {
    const part = (value, tone) => {
      const bar = element("span", { className: `bar ${tone}` })
      bar.style.blockSize = `${Math.round((value / most) * 100)}%`
      return bar
    }
    const words = say("dayWords", { day, delivered: number(delivered), failed: number(failed) })
    return element("li", { title: words },
      element("span", { className: "stack", "aria-hidden": "true" }, part(failed, "bad"), part(delivered, "good")),
      element("span", { className: "day", "aria-hidden": "true", textContent: day.slice(8) }),
      element("span", { className: "unseen", textContent: words }))
  }))
}
