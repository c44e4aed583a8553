"""What a German reader sees that is English: every text of a page outside of quotations, ids and code."""

ENGLISH = """
the of is it its to for with without this that these those by from has have been are be no not nothing nobody and or as at on
you your yours here there somebody who whom which what when where why how if but so than then only again once until since
held sent delivered waits waiting goes gone took taken refused failed says said seconds rule rules device devices service
""".split()
"""Words that hardly any English sentence does without, but for those that are German as well."""

GERMAN = ["so", "hat", "was", "will", "die", "in", "an", "am", "also", "man", "war", "bin"]
"""These are words of both languages."""

LOOK = """
const [english, quotations] = a
const words = new Set(english)
const found = []
const look = (text, place) => {
  // Names of commands, settings and kinds of ids are not translated: `trace: off`, note1…; ids have any letters in them.
  const plain = text.replace(/\\b(?:npub|nprofile|note|nevent)1[0-9a-z]+|\\b[0-9a-f]{16,}\\b/g, " ").replace(/„[^“]*“/g, " ").replace(/\\b[a-z_.]+: [{a-z][\\w: {}]*/g, " ")
  const hits = plain.toLowerCase().match(/[a-zäöüß]+/g)?.filter(word => words.has(word)) ?? []
  if (hits.length) found.push(`${place}: ${text.trim()} (${[...new Set(hits)].join(", ")})`)
}
const isQuoted = node => node.closest(`${quotations}, script, style, noscript, #language`)
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
while (walker.nextNode()) {
  const { parentElement: parent, data } = walker.currentNode
  if (parent.checkVisibility() || parent.closest(".unseen")) {
    if (!isQuoted(parent)) look(data, parent.localName)
  }
}
for (const node of document.querySelectorAll("[aria-label], [placeholder], [alt], [data-name]")) {
  if (isQuoted(node) || !node.checkVisibility()) continue
  for (const name of ["aria-label", "placeholder", "alt", "data-name"]) look(node.getAttribute(name) ?? "", name)
}
look(document.title, "title")
const router = [...document.querySelectorAll("q.router")].filter(node => node.checkVisibility()).map(node => node.textContent)
return [found, router]
"""

QUOTATIONS = "q, code, pre, textarea, time, [translate=no], .banner .title, .banner .text, .shown-buttons"


def speaks_german(browser, router: list[str] = (), quotations: str = QUOTATIONS):
    """Fails for English outside of quotations, and for the router's own English, but for sentences that begin so."""
    words = [word for word in ENGLISH if word not in GERMAN]
    found, quoted = browser.js(LOOK, words, quotations)
    assert found == [], "\n".join(found)
    others = [text for text in quoted if not text.startswith(tuple(router))] if router else quoted
    assert others == [], "the router's own words: " + "\n".join(others)
