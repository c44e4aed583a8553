// The console's frame: session, current screen, language. A screen is a module with `open(place, context)`, which may
// return a function that closes it.

import { ask } from "./api.js"
import * as access from "./access.js"
import { browserLanguage, phraseIn, textIn, texts } from "./console-texts.js"
import * as devices from "./devices.js"
import { element, find, show } from "./dom.js"
import * as listeners from "./listeners.js"
import * as follow from "./follow.js"
import { icon } from "./icons.js"
import * as now from "./now.js"
import { Parts } from "./parts.js"
import * as playground from "./playground.js"

const screens = { now, follow, devices, playground, listeners, access }
const shown = ["now", "follow", "devices", "playground", "listeners"]

let language = localStorage.getItem("language")
if (!(language in texts)) language = browserLanguage()
let who = null
let end = null

const say = (key, values) => textIn(language, key, values)
const phrase = (key, values) => phraseIn(language, key, values)

// MARK: Messages

let silence
const tell = (words, tone = "") => {
  clearTimeout(silence)
  const node = find("told")
  node.className = `told notice ${tone}`
  node.replaceChildren(element("span", {}, words), element("button", { type: "button", className: "close", "aria-label": say("close"), textContent: "×", onclick: () => { node.hidden = true } }))
  node.hidden = false
  if (tone !== "bad") silence = setTimeout(() => { node.hidden = true }, 8_000)
}

// MARK: Navigation

/** The screen, the rest of the path and the parameters of the fragment, such as `#devices/12` or
    `#devices?account=npub1…`. */
const target = () => {
  const [path, query] = location.hash.slice(1).split("?")
  const [name, ...rest] = path.split("/")
  return { name: name in screens ? name : "now", path: rest.map(decodeURIComponent), parameter: new URLSearchParams(query ?? "") }
}

const go = (name, query = {}, ...path) => {
  const search = new URLSearchParams(query).toString()
  const hash = `#${[name, ...path.map(encodeURIComponent)].join("/")}${search ? `?${search}` : ""}`
  if (location.hash === hash) write()
  else location.hash = hash
}

function writeFrame(current) {
  document.documentElement.lang = language
  for (const node of document.querySelectorAll("[data-text]")) node.textContent = say(node.dataset.text)
  find("language").value = language
  document.title = `${say(!who ? "signIn" : current === "listeners" ? "listenersScreen" : current)} – Carillon`
  show("screens", Boolean(who))
  show("who", Boolean(who))
  const name = who ? access.nameOf(who, say) : ""
  find("who").replaceChildren(icon("access"), element("span", { textContent: name }))
  find("who").setAttribute("aria-label", say("signedInAsName", { name }))
  if (current === "access") find("who").setAttribute("aria-current", "page")
  else find("who").removeAttribute("aria-current")
  find("screen-links").replaceChildren(...shown.map(name => element("li", {},
    element("a", { href: `#${name}`, ...(name === current ? { "aria-current": "page" } : {}) }, icon(name), element("span", { textContent: say(`${name}Short`) })))))
}

function write() {
  end?.()
  end = null
  const { name, path, parameter } = target()
  writeFrame(name)
  const place = find("screen")
  const parts = new Parts(language, say, phrase, tell)
  if (!who) return access.signIn(place, parts, signedIn)
  end = screens[name].open(place, {
    parts, path, parameter, go, who, signedOut,
    can: scope => who.scopes.includes(scope),
  }) ?? null
}

const signedIn = found => {
  who = found
  write()
  find("screen").focus()
}

const signedOut = () => {
  who = null
  write()
}

// MARK: Starting

find("language").addEventListener("change", () => {
  language = find("language").value
  localStorage.setItem("language", language)
  write()
})
// A link to a part of this page would change the screen.
find("skip").addEventListener("click", event => {
  event.preventDefault()
  find("screen").focus()
})
addEventListener("hashchange", () => {
  find("told").hidden = true
  write()
  find("screen").focus({ preventScroll: true })
  scrollTo(0, 0)
})
addEventListener("signedout", () => {
  if (!who) return
  signedOut()
  tell(say("sessionEnded"), "warn")
})

const begin = async () => {
  writeFrame("signIn")
  try {
    const found = await ask("session")
    who = found.is_signed_in ? found : null
    write()
  } catch (error) {
    find("screen").replaceChildren(new Parts(language, say, phrase, tell).problem(error))
  }
  document.body.dataset.ready = "true"
}
await begin()
