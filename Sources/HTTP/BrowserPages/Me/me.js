// The page /me: connects a signer, asks the router about the person and shows the response.

import { acting } from "./acting.js"
import { element, find, show } from "./dom.js"
import { KeyCard } from "./key.js"
import { textIn, phraseIn, browserLanguage, texts } from "./me-texts.js"
import { deviceCard } from "./device.js"
import { eventRow, groupRow, relayRow, steps } from "./report.js"
import * as requests from "./requests.js"
import { Sentences } from "./sentences.js"
import { Problem } from "./signer.js"
import * as storage from "./storage.js"

let state = {}
let language = browserLanguage()
/** The router's last response; null before the first. */
let report = null
/** The result for the event that the person looked up: `{ id, answer }`. */
let asked = null

const say = (key, values) => textIn(language, key, values)
const phrase = (key, values) => phraseIn(language, key, values)

const when = stamp => {
  const time = new Date(stamp)
  const text = Number.isNaN(time.getTime()) ? String(stamp) : new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" }).format(time)
  return element("time", { dateTime: stamp, textContent: text })
}

/** Describes a problem; the router's reason is translated if a translation exists. */
const explain = ({ key, values: { refusal, ...values } }) =>
  phrase(key, refusal ? { ...values, reason: words.router.refusal(refusal.status, refusal.words, refusal.says, values.seconds) } : values)

const { report: tell, attempt, writeHead } = acting(say, explain)

// MARK: Display

const words = {
  say, phrase, when,
  /** The router's messages. */
  get router() { return new Sentences(language, when) },
}

function write() {
  writeHead(language, "heading")
  card.write()
  writeReport()
}

function writeReport() {
  show("report", Boolean(report))
  show("refresh", Boolean(card.person))
  if (!report) return
  show("blocked", report.is_blocked)
  show("nothing", report.devices.length === 0 && report.waiting.length === 0)
  show("devices-section", report.devices.length > 0 || report.waiting.length > 0)
  find("devices").replaceChildren(
    ...report.devices.map(device => deviceCard(device, words, actions)),
    ...report.waiting.map(({ name, key }) =>
      element("article", { className: "card warn" },
        element("h3", { textContent: name || say("device") }), element("p", {}, phrase("waits", { key: element("code", { className: "value", textContent: key }) }))))
  )
  const names = Object.fromEntries(report.devices.map(device => [device.id, device]))
  show("events-section", report.devices.length > 0 || report.events.length > 0)
  find("events").replaceChildren(...report.events.map(event => eventRow(event, names, words)))
  find("events-since").replaceChildren(
    ...(report.events.length === 0 ? [say("noEvents"), " "] : []),
    ...(report.traced_since ? [say("tracedSince"), " ", words.when(report.traced_since), "."] : [say("notTraced")])
  )
  show("groups-section", report.groups.length > 0)
  find("groups").replaceChildren(...report.groups.map(group => groupRow(group, words, actions.leave)))
  show("relays-section", report.devices.length > 0 || report.relays.length > 0)
  find("relays").replaceChildren(
    ...(report.relays.length > 0 ? report.relays.map(relay => relayRow(relay, words)) : [element("li", { textContent: say("noRelays") })])
  )
  find("lists").replaceChildren(...report.lists.flatMap(({ kind, created_at: at, entries }) => {
    const count = Object.values(entries).reduce((sum, each) => sum + each, 0)
    return [say(kind === 10000 ? "listMutes" : kind === 3 ? "listFollows" : "listOther", { n: count, kind }), " ", words.when(at), ". "]
  }))
  writeAsked(names)
}

function writeAsked(names) {
  const place = find("one-answer")
  if (!asked) return place.replaceChildren()
  place.replaceChildren(
    ...(asked.answer
      ? [steps(asked.answer, names, words)]
      : [element("p", { className: "notice warn", textContent: say("neverCame") })])
  )
}

// MARK: Actions

async function load() {
  if (!card.person) return
  tell(say("asking"))
  report = await requests.report(card.person)
  tell(null)
  writeReport()
}

const replace = device => {
  report.devices = report.devices.map(each => (each.id === device.id ? device : each))
}

/** Actions of a device's buttons; each gets the device. */
const actions = {
  test: device => attempt(async () => {
    tell(say("testing"))
    const answer = await requests.test(card.person, device.id)
    if (!answer) throw new Problem("problemGone")
    await load()
    const outcome = phrase(`test_${answer.outcome}`, { said: words.router.answer(answer.outcome, answer.status, answer.reason) })
    if (answer.outcome === "delivered") tell(outcome)
    else tell(null, outcome)
  }),
  change: (device, wishes) => attempt(async () => {
    tell(say("confirm"))
    const answer = await requests.change(card.person, device.id, wishes)
    if (!answer?.device) throw new Problem("problemGone")
    replace(answer.device)
    writeReport()
    tell(say("changed"))
  }),
  remove: device => attempt(async () => {
    tell(say("confirm"))
    if (!(await requests.remove(card.person, device.id))) throw new Problem("problemGone")
    report.devices = report.devices.filter(each => each !== device)
    writeReport()
    tell(say("removed"))
    find("main").focus()
  }),
  leave: group => attempt(async () => {
    tell(say("confirm"))
    const answer = await requests.leave(card.person, group)
    report.groups = answer?.groups ?? report.groups.filter(each => each !== group)
    writeReport()
    tell(say("left", { group: group.group }))
    find("main").focus()
  }),
}

async function lookUp() {
  // Finds an event ID in text or in a link of a client or web page.
  const id = find("one").value.match(/(?<![0-9a-z])([0-9a-f]{64}|note1[0-9a-z]+|nevent1[0-9a-z]+)(?![0-9a-z])/)?.[1]
  if (!id) throw new Problem("problemEvent")
  tell(say("asking"))
  asked = { id, answer: await requests.event(card.person, id) }
  tell(null)
  writeReport()
  find("one-answer").focus()
}

// MARK: Starting

const card = new KeyCard({
  say, attempt,
  report: tell,
  get state() { return state },
  keep: async members => { state = await storage.merge(members) },
  admit: () => {},
  connected: async () => {
    report = null
    asked = null
    writeReport()
    await load()
  },
})

find("language").addEventListener("change", () => attempt(async () => {
  language = find("language").value
  tell(null)
  write()
  state = await storage.merge({ language })
}))
find("refresh").addEventListener("click", () => attempt(load))
find("one-form").addEventListener("submit", event => {
  event.preventDefault()
  attempt(lookUp)
})

await attempt(async () => {
  state = await storage.read().catch(() => { throw new Problem("problemStorage") })
  language = state.language in texts ? state.language : language
  // The signer may hold another key than the one that was registered in this browser, so it is asked again.
  state = { ...state, person: null }
  card.resume()
  write()
})
await card.search()
document.body.dataset.ready = "true"
