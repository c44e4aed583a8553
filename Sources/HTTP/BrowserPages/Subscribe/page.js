// The sign-up page: shows the state, asks the signer, registers. Values from outside (names, reasons, addresses) become
// text, never markup.

import { acting } from "./acting.js"
import { checked, choice, element, find, show } from "./dom.js"
import { KeyCard } from "./key.js"
import * as notes from "./notes.js"
import { picture } from "./qr.js"
import { information, register, settings } from "./router.js"
import { Problem } from "./signer.js"
import * as storage from "./storage.js"
import { browserLanguage, phraseIn, textIn, texts } from "./texts.js"
import { currentSubscription, deviceName, installedWorker, obstacle, permit, ways } from "./ways.js"

const month = 30 * 86_400_000

let state = {}
let router = null
let options = { app: "default", topic_server: "", client: "" }
/** The method whose QR code is shown. */
let codeOf = null
/** The method whose form was edited: a redraw keeps those edits. */
let edited = null
let language = browserLanguage()

const say = (key, values) => textIn(language, key, values)

/** The router's messages are English. */
const explain = ({ key, values: { reason, ...values } }) =>
  phraseIn(language, key, { ...values, reason: reason && element("q", { lang: "en", textContent: reason }) })

const { report, attempt, writeHead } = acting(say, explain)

// MARK: Building blocks

const chosenWay = () => checked("way")[0] ?? offered()[0]

const when = time => new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(time)

// MARK: Contents

const platforms = () => router?.apps?.[options.app] ?? {}

/** The methods that this router supports. */
const offered = () => Object.keys(ways).filter(way => (router ? router.platforms.includes(ways[way].platform) : way === "web"))

const vapidKey = () => platforms().web?.vapid_public_keys?.[0]

/** Why the browser's registration must be renewed; null if it is current. */
async function staleness() {
  const known = state.ways?.web
  if (!known || !router) return null
  const subscription = await currentSubscription()
  if (known.router !== router.pubkey) return "renewalRouter"
  if (!subscription) return "renewalLost"
  if (vapidKey() && subscription.key !== vapidKey()) return "renewalKey"
  if (state.addressChanged || subscription.endpoint !== known.endpoint) return "renewalAddress"
  if (Date.now() - known.registeredAt * 1000 > month) return "renewalAge"
  return null
}

// MARK: Display

function write() {
  writeHead(language, "title")
  find("router-name").textContent = router?.name ?? ""
  card.write()
  writeWays()
  writeForm()
  writeFooter()
}

function writeWays() {
  const known = Object.entries(state.ways ?? {}).filter(([way]) => way in ways)
  show("on", known.length > 0)
  find("ways").replaceChildren(...known.map(([way, { registeredAt }]) => row(way, registeredAt)))
  const hasBeenShown = Boolean(state.lastShown && state.ways?.web)
  show("last", hasBeenShown)
  find("last").textContent = hasBeenShown ? say("last", { when: when(state.lastShown) }) : ""
  writeCode()
}

function row(way, registeredAt) {
  const name = say(ways[way].name)
  const text = element(
    "span",
    { className: "words" },
    element("strong", { textContent: name }),
    element("small", { textContent: say("since", { when: when(registeredAt * 1000) }) })
  )
  const buttons = element("span", { className: "buttons" })
  const button = (words, label, act) => {
    const node = element("button", { type: "button", textContent: say(words), onclick: act })
    if (label) node.setAttribute("aria-label", say(label, { way: name }))
    buttons.append(node)
  }
  if (way === "web") button("sample", "sampleOf", () => attempt(sample))
  if (way === "ntfy") button("showCode", null, () => { codeOf = codeOf ? null : way; writeCode() })
  button("turnOff", "turnOffOf", () => attempt(() => turnOff(way)))
  return element("li", {}, text, buttons)
}

function writeCode() {
  const link = codeOf && state.ways?.[codeOf]?.push_endpoint
  const drawing = link ? picture(link, say("codePicture", { link })) : null
  show("code", Boolean(drawing))
  if (!drawing) return
  find("code-picture").replaceChildren(drawing)
  find("code-words").textContent = say("codeNtfy")
  const anchor = find("code-link")
  anchor.textContent = link
  anchor.href = notes.address(link) ?? "#"
  anchor.rel = "noreferrer"
}

function writeForm() {
  const way = chosenWay()
  find("way-options").replaceChildren(
    ...offered().map(name => choice("radio", "way", name, say(ways[name].name), say(ways[name].help), name === way))
  )
  show("way-choice", offered().length > 1)
  writeWay()
}

/** Draws the parts of the form that depend on the method. */
function writeWay() {
  const way = chosenWay()
  const known = state.ways?.[way]
  const wishes = known?.wishes
  const problem = way === "web" ? (router && !vapidKey() ? "problemNoWeb" : obstacle()) : null
  find("way-problem").textContent = problem ? say(problem) : ""
  show("way-problem", Boolean(problem))
  for (const field of document.querySelectorAll("[data-way]")) field.hidden = field.dataset.way !== way
  if (way === "unifiedpush") {
    const link = location.href.replace(/[?#].*$/, "")
    const drawing = picture(link, say("codePicture", { link }))
    show("page-code", Boolean(drawing))
    if (drawing) find("page-code-picture").replaceChildren(drawing)
  }
  const isEdited = edited === way
  const said = isEdited ? Object.fromEntries(checked("signal").map(name => [name, true])) : wishes?.filters
  const signals = said ?? { dm: true, mention: true, reply: true }
  find("signal-options").replaceChildren(
    ...notes.signals.map(name => choice("checkbox", "signal", name, say(`signal_${name}`), "", Boolean(signals[name])))
  )
  const modes = ways[way]?.modes ?? []
  const wanted = isEdited ? checked("mode")[0] : wishes?.mode
  const mode = modes.includes(wanted) ? wanted : modes[0]
  find("mode-options").replaceChildren(
    ...modes.map(name => {
      const help = name === "alert" && way === "web" ? "mode_alert_help_web" : `mode_${name}_help`
      return choice("radio", "mode", name, say(`mode_${name}`), say(help), name === mode)
    })
  )
  const isOpenedHere = way === "web"
  find("client").closest(".field").hidden = !isOpenedHere
  const client = (isEdited && find("client").value) || (state.client ?? (options.client ? "own" : "message"))
  find("client").replaceChildren(
    new Option(say("clientMessage"), "message"),
    ...notes.clients.map(({ id, name }) => new Option(name, id)),
    new Option(say("clientOwn"), "own")
  )
  find("client").value = client
  if (!find("template").value) find("template").value = state.template ?? options.client
  show("own-client", isOpenedHere && client === "own")
  if (!find("ntfy-server").value) find("ntfy-server").value = known?.push_endpoint?.replace(/\/[^/]*$/, "") ?? options.topic_server
  if (!isEdited) {
    find("quiet").checked = Boolean(wishes?.quiet)
    find("quiet-start").value = wishes?.quiet?.start ?? "22:00"
    find("quiet-end").value = wishes?.quiet?.end ?? "07:00"
  }
  show("quiet-hours", find("quiet").checked)
  find("submit").textContent = say(known ? "update" : "turnOn")
}

function writeFooter() {
  const { contact, terms_of_service: terms } = router ?? {}
  const parts = []
  const name = contact?.replace(/^mailto:/, "")
  const words = name === contact ? name : element("a", { href: contact, textContent: name })
  if (contact) parts.push(say("operator"), " ", words)
  const link = notes.address(terms)
  if (link) parts.push(parts.length ? " · " : "", element("a", { href: link, rel: "noreferrer", textContent: say("terms") }))
  find("operator").replaceChildren(...parts)
  show("operator", parts.length > 0)
}

async function writeRenewal() {
  const reason = await staleness().catch(() => null)
  show("renewal", Boolean(reason))
  if (reason) find("renewal-reason").textContent = say(reason)
  return reason
}

// MARK: Actions

async function keep(members) {
  state = await storage.merge(members)
}

/** Reads the settings from the form. */
function wishesOfForm(way) {
  const filters = Object.fromEntries(notes.signals.map(name => [name, checked("signal").includes(name)]))
  if (!Object.values(filters).some(Boolean)) throw new Problem("problemNothing")
  const wishes = { platform: ways[way].platform, mode: checked("mode")[0], locale: language, filters }
  if (options.app !== "default") wishes.app = options.app
  if (find("quiet").checked) {
    const [start, end] = [find("quiet-start").value, find("quiet-end").value]
    if (!start || !end) throw new Problem("problemQuiet")
    wishes.quiet = { start, end, tz: new Intl.DateTimeFormat().resolvedOptions().timeZone }
  }
  return wishes
}

async function submit() {
  const way = chosenWay()
  const wishes = wishesOfForm(way)
  const client = find("client").value
  const template = find("template").value.trim()
  if (way === "web" && client === "own" && !notes.isTemplate(template)) throw new Problem("problemTemplate")
  const isNew = !state.ways?.[way]
  await enable(way, wishes)
  if (way === "web") await keep({ client, template })
  if (way === "ntfy") codeOf = way
  edited = null
  write()
  await writeRenewal()
  report(say(isNew ? "done" : "saved"))
  if (isNew) find("main").scrollIntoView({ block: "start" })
}

/** Registers one method with these settings, or updates its registration. */
async function enable(way, wishes) {
  if (way === "web") await permit()
  // The operator may have changed keys since the page was opened.
  await load()
  if (!card.person) await card.connect()
  report(say(way === "web" ? "subscribing" : "sending"))
  const known = state.ways?.[way]
  const fields = {
    ntfyServer: find("ntfy-server").value,
    endpoint: find("endpoint").value,
    gotifyServer: find("gotify-server").value,
    gotifyToken: find("gotify-token").value,
  }
  const target = await ways[way].target({ vapidKey: vapidKey(), known, fields })
  report(say("signing"))
  const device = known?.device ?? deviceName(way)
  const registeredAt = await register(router, card.person, device, { ...wishes, ...target }, known?.registeredAt)
  const entry = { device, registeredAt, wishes, router: router.pubkey }
  if (way === "web") entry.endpoint = target.subscription.endpoint
  // Stored only for a topic, which its QR code needs: an endpoint of Gotify holds a token.
  if (way === "ntfy") entry.push_endpoint = target.push_endpoint
  await keep({ person: card.person, language, ways: { ...state.ways, [way]: entry } })
  if (way === "web") await keep({ addressChanged: false })
}

async function renew() {
  await enable("web", { ...state.ways.web.wishes, locale: language })
  write()
  await writeRenewal()
  report(say("renewed"))
}

async function turnOff(way) {
  if (!router) await load()
  if (!card.person) await card.connect()
  const known = state.ways[way]
  report(say("signing"))
  await register(router, card.person, known.device, null, known.registeredAt)
  if (way === "web") await (await currentSubscription())?.subscription.unsubscribe()
  const { [way]: _, ...rest } = state.ways
  if (codeOf === way) codeOf = null
  const isLast = Object.keys(rest).length === 0
  await keep({ ways: rest, person: isLast ? null : state.person })
  if (way === "web") await keep({ addressChanged: false, lastShown: null })
  write()
  await writeRenewal()
  report(say(isLast ? "nowOff" : "off"))
  find("main").focus()
}

async function sample() {
  const registration = await installedWorker()
  await registration.showNotification(say("sampleTitle"), {
    body: say("sampleBody"), icon: "icon.png", lang: language, tag: "sample", data: { open: location.href, buttons: {} },
  })
}

async function load() {
  [options, router] = await Promise.all([settings(), information()])
}

// MARK: Starting

const card = new KeyCard({
  say, report, attempt, keep,
  get state() { return state },
  admit: key => {
    if (state.person && state.person !== key && Object.keys(state.ways ?? {}).length > 0) throw new Problem("problemOtherKey")
  },
  connected: async () => {},
})

find("language").addEventListener("change", async () => {
  language = find("language").value
  report(null)
  await keep({ language })
  write()
  await writeRenewal()
})
find("renew").addEventListener("click", () => attempt(renew))
find("form").addEventListener("submit", event => {
  event.preventDefault()
  attempt(submit)
})
find("form").addEventListener("change", ({ target }) => {
  if (target.name === "way") {
    edited = null
    writeWay()
  }
  edited = chosenWay()
  if (target.id === "client") show("own-client", target.value === "own")
  if (target.id === "quiet") show("quiet-hours", target.checked)
})
navigator.serviceWorker?.addEventListener("message", async ({ data }) => {
  state = await storage.read()
  writeWays()
  if (data?.type === "renewal" || data?.type === "renewed") await writeRenewal()
})

await attempt(async () => {
  state = await storage.read().catch(() => { throw new Problem("problemStorage") })
  language = state.language in texts ? state.language : language
  card.resume()
  write()
  await load()
  write()
})
await card.search()
// Updates an installed service worker.
if (state.ways?.web && !obstacle()) await installedWorker().catch(() => {})
await writeRenewal()
document.body.dataset.ready = "true"
