"""What tests of all pages do: axe, pictures, and text that would be a script if a page took it for markup."""

import importlib.util
from pathlib import Path

from programs import REPOSITORY

SCREENSHOTS = REPOSITORY / ".build/screenshots"

SIZES = {"phone": (390, 844), "desktop": (1280, 900)}

XSS = [
    "<script>globalThis.__hit = 1</script>",
    "<img src=x onerror='globalThis.__hit = 1'>",
    "<svg onload=globalThis.__hit=1>",
    "\"><iframe srcdoc='<script>parent.__hit=1</script>'>",
    "javascript:globalThis.__hit=1",
    "'-globalThis.__hit=1-'",
    "</title></textarea></pre><details open ontoggle=globalThis.__hit=1>",
    "{{constructor.constructor('globalThis.__hit=1')()}}",
    "\u202etxt.exe<math><mi//xlink:href='data:x,<script>__hit=1</script>'>",
]
"""Each sets `__hit` where it runs."""


def axe_script() -> str:
    found = importlib.util.find_spec("axe_playwright_python")
    assert found and found.origin, "axe-playwright-python is missing: run contrib/setup --browser"
    return next(Path(found.origin).parent.rglob("axe.min.js")).read_text()


def check(browser, axe: str):
    """Fails for what axe finds. Its script comes by the browser's own protocol, which the page's policy does not concern."""
    # What is pale while the page works would have too little contrast.
    browser.wait_for("!document.body.ariaBusy")
    say = "v => `${v.id}: ${v.help}: ${v.nodes.map(n => `${n.html} ${n.failureSummary}`).join(' | ')}`"
    run = "const r = await axe.run(document, { resultTypes: ['violations', 'passes'] })"
    result = browser.js(f"{axe}; {run}; return [r.passes.length, r.violations.map({say})]")
    passes, violations = result
    assert violations == [], "\n".join(violations)
    assert passes > 20, f"axe has looked at {passes} rules only"
    # On a phone each cell has its name beside it, which must not stand there alone.
    cells = "[...document.querySelectorAll('table.cards :is(td, th[scope=row]):not(.empty)')]"
    bare = browser.js(f"return {cells}.filter(c => !c.textContent.trim() && !c.querySelector('input, svg')).map(c => c.dataset.name)")
    assert bare == [], f"these cells are blank: {bare}"


def picture(browser, name: str):
    """Screenshots at both sizes in both colour schemes; nothing is wider than the window."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for size, (width, height) in SIZES.items():
        for scheme in ["light", "dark"]:
            browser.screen(width, height, scheme == "dark")
            excess = browser.js("return document.documentElement.scrollWidth - innerWidth")
            assert excess <= 0, f"{name} at {size} is {excess} pixels too wide"
            if browser.name == "chromium":
                browser.screenshot(SCREENSHOTS / f"{name}-{size}-{scheme}.png")
    browser.screen(1280, 900, False)


def check_and_picture(browser, axe: str, name: str):
    """On a phone in both colour schemes, and on a desktop."""
    for width, height, is_dark in [(390, 844, False), (390, 844, True), (1280, 900, False)]:
        browser.screen(width, height, is_dark)
        check(browser, axe)
    picture(browser, name)


def nothing_ran(browser):
    """No text became markup, and the page's policy had nothing to stop."""
    assert browser.js("return [globalThis.__hit ?? null, __blocked]") == [None, []]
    odd = "document.querySelectorAll('main script, main img, main iframe, main math, main [onload], main [onerror]').length"
    assert browser.js(f"return {odd}") == 0
    assert browser.js("return [...document.links].filter(a => !/^https?:|^mailto:/.test(a.href)).map(a => a.href)") == []


HOSTILE = """
const corpus = a[0]
let next = 0
const isDate = text => /^\\d{4}-\\d\\d-\\d\\d(T|$)/.test(text)
const spoil = (value, name) => {
  if (Array.isArray(value)) return value.map(each => spoil(each, name))
  if (value && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, spoil(each, key)]))
  }
  if (typeof value !== "string" || isDate(value)) return value
  try {
    const inner = JSON.parse(value)
    if (inner && typeof inner === "object") return JSON.stringify(spoil(inner, name))
  } catch {}
  // What decides which branch a page takes stays in half of the cases.
  if (["outcome", "state", "scopes", "step"].includes(name) && next % 2) return (next += 1, value)
  return corpus[next++ % corpus.length]
}
const spoilAbout = object => {
  for (const fixture of object.fixtures ?? []) fixture.about = corpus[next++ % corpus.length]
  return object
}
const ask = globalThis.fetch
globalThis.__spoilt = 0
globalThis.fetch = async (...request) => {
  const answer = await ask(...request)
  const text = await answer.text()
  let body = text
  try {
    const object = JSON.parse(text)
    // What is sent back has to stay as it is.
    const isInput = /\\/v1\\/rules(\\/fixtures)?$/.test(String(request[0]))
    if (!("is_signed_in" in object)) {
      body = JSON.stringify(isInput ? spoilAbout(object) : spoil(object))
      globalThis.__spoilt += 1
    }
  } catch {}
  return new Response(body, { status: answer.status, headers: answer.headers })
}
globalThis.EventSource = class extends EventTarget {
  readyState = 1
  constructor() {
    super()
    setTimeout(() => {
      this.onopen?.()
      for (const text of corpus) {
        const names = ["event", "account", "delivery", "platform", "app", "reason", "words"]
        const entry = { at: "2026-11-26T17:00:00.000Z", device: 7, ...Object.fromEntries(names.map(name => [name, text])) }
        this.dispatchEvent(new MessageEvent("step", { data: JSON.stringify({ ...entry, step: text }) }))
        this.dispatchEvent(new MessageEvent("outcome", { data: JSON.stringify({ ...entry, outcome: text }) }))
        this.dispatchEvent(new MessageEvent("lost", { data: JSON.stringify({ why: text, count: 2 }) }))
        this.dispatchEvent(new MessageEvent("step", { data: text }))
      }
    })
  }
  close() {}
}
"""
"""From then on every text that the router says is one of the corpus, as if all of it came from a stranger."""


def spoil_answers(browser):
    browser.js(HOSTILE, XSS)
