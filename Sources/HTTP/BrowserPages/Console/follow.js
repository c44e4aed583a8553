// The steps of one event with reasons, and a live stream of events.

import { address, ask, segment } from "./api.js"
import { element } from "./dom.js"
import { tone } from "./sentences.js"

const most = 200

// MARK: One event

const list = (steps, { router, when }) =>
  element("ol", { className: "steps" }, steps.map(step => element("li", {}, when(step.at), " ", router.line(step))))

const outcome = (step, words) => element("p", { className: `outcome ${tone(step)}` }, words)

function deviceOf(device, parts) {
  const { say, named, router } = parts
  const title = [device.platform && `${device.platform}/${device.app}`].filter(Boolean).join(" ")
  return element("div", { className: "way" },
    element("h3", {}, device.is_registered ? element("a", { href: `#devices/${device.device}`, textContent: say("deviceNumber", { n: device.device }) }) : say("deviceNumber", { n: device.device }), " ", element("small", {}, title, " ", device.name ? named(device.name) : "")),
    outcome(device.result?.step, router.ending(device.outcome, device.result)), list(device.steps, parts))
}

function explanation(found, parts) {
  const { say, router, notice, facts, when, card } = parts
  // If the event is unknown, the router's advice already mentions it first.
  const advice = found.advice.map((words, index) => ({ words, says: found.advice_says?.[index] })).filter(({ says }) => says?.code !== "advice-unknown")
  return [
    card("eventPath",
      facts([
        ["eventID", element("code", { className: "whole", textContent: found.event })],
        ["note", element("code", { className: "whole", textContent: found.note })],
        found.trace_id ? ["traceID", element("code", { className: "whole", textContent: found.trace_id })] : null,
        found.traced_since ? ["tracedSince", when(found.traced_since)] : null,
      ]),
      found.is_known ? null : notice("warn", say("unknownEvent")),
      found.steps.length ? list(found.steps, parts) : null,
      advice.length ? adviceOf(advice, parts) : null),
    ...found.accounts.map(account => element("section", { className: "card", "aria-label": account.npub },
      element("h2", {}, say("forAccount"), " ", element("a", { href: `#devices?account=${account.npub}` }, parts.key(account.npub))),
      account.steps.length ? list(account.steps, parts) : null,
      account.outcome && account.devices.length === 0 ? outcome(account.steps.at(-1)?.step, account.steps.length ? router.line(account.steps.at(-1)) : router.say(account.outcome)) : null,
      account.devices.map(device => deviceOf(device, parts)))),
  ]
}

/** Why an event may be unknown, and where to look: sentences and nested lists. */
function adviceOf(advice, { router }) {
  const nodes = []
  for (const { words, says } of advice) {
    const sentence = router.say(words.trim().replace(/^- /, ""), says)
    if (!/^\s/.test(words)) nodes.push(element("p", {}, sentence))
    else if (nodes.at(-1)?.localName === "ul") nodes.at(-1).append(element("li", {}, sentence))
    else nodes.push(element("ul", {}, element("li", {}, sentence)))
  }
  return element("div", { className: "advice" }, nodes)
}

// MARK: Live

/** The live stream, newest event first. */
class Tail {
  #parts
  #source = null
  #rows = element("ol", { className: "tail", tabIndex: 0 })
  #state = element("p", { className: "quiet", role: "status" })
  #count = 0
  #isPaused = false
  #waiting = []
  #search = ""

  constructor(parts) {
    this.#parts = parts
    this.#rows.setAttribute("aria-label", parts.say("tailLabel"))
  }

  /** Draws the form and the rows. */
  draw() {
    const parts = this.#parts
    const { say, field, select } = parts
    const kind = select([["", say("everything")], ["step", say("steps")], ["outcome", say("outcomes")]], "", () => this.#open(query()))
    const platform = element("input", { type: "search", autocomplete: "off", spellcheck: false, placeholder: "ios" })
    const account = element("input", { type: "search", autocomplete: "off", spellcheck: false, placeholder: "npub1…" })
    const search = element("input", { type: "search", autocomplete: "off", spellcheck: false })
    const query = () => ({ kind: kind.value, platform: platform.value.trim(), account: account.value.trim() })
    platform.onchange = account.onchange = () => this.#open(query())
    search.oninput = () => {
      this.#search = search.value.toLowerCase()
      for (const row of this.#rows.children) row.hidden = !this.#matches(row.textContent)
    }
    const pause = parts.button("pause", async () => {
      this.#isPaused = !this.#isPaused
      pause.textContent = say(this.#isPaused ? "resume" : "pause")
      if (!this.#isPaused) for (const row of this.#waiting.splice(0)) this.#put(row)
    })
    const clear = parts.button("clear", async () => { this.#rows.replaceChildren() })
    this.#open(query())
    return parts.card("live",
      element("div", { className: "row filters" }, field("kind", kind), field("platformFilter", platform), field("accountFilter", account), field("contains", search)),
      element("p", { className: "buttons" }, pause, clear), this.#state, this.#rows)
  }

  end() {
    this.#source?.close()
  }

  #open(query) {
    this.end()
    const { say } = this.#parts
    this.#state.textContent = say("connecting")
    this.#source = new EventSource(address("stream", query))
    this.#source.onopen = () => { this.#state.textContent = say("listening") }
    this.#source.onerror = () => {
      // Browsers reconnect automatically, except after an error response.
      this.#state.textContent = say(this.#source.readyState === EventSource.CLOSED ? "streamRefused" : "streamLost")
    }
    for (const kind of ["step", "outcome", "lost"]) this.#source.addEventListener(kind, ({ data }) => this.#receive(kind, data))
  }

  #receive(kind, data) {
    let entry
    try {
      entry = JSON.parse(data)
    } catch {
      return
    }
    const row = kind === "lost" ? this.#gap(entry) : this.#row(entry)
    if (!this.#isPaused) return this.#put(row)
    this.#waiting.push(row)
    if (this.#waiting.length > most) this.#waiting.shift()
  }

  #put(row) {
    row.hidden = !this.#matches(row.textContent)
    this.#rows.prepend(row)
    this.#count += 1
    while (this.#rows.children.length > most) this.#rows.lastChild.remove()
    this.#state.textContent = this.#parts.say("received", { n: this.#count })
  }

  #matches(text) {
    return !this.#search || text.toLowerCase().includes(this.#search)
  }

  #gap({ why, count }) {
    return element("li", { className: "gap" }, this.#parts.say(count === undefined ? "gapUnknown" : "gap", { n: count, why: this.#parts.router.word("gap", why) }))
  }

  #row(entry) {
    const { router, when, say, state } = this.#parts
    const word = entry.outcome ?? entry.step
    const colour = entry.outcome === "delivered" ? "good" : ["queued", "registered"].includes(word) ? "open" : entry.outcome && entry.outcome !== "retry" ? "bad" : "quiet"
    return element("li", {},
      when(entry.at), state(colour, router.word("word", word)),
      element("span", { className: "tail-words" }, entry.outcome === undefined ? router.step(entry) : router.report(entry)),
      element("span", { className: "tail-links" },
        entry.platform ? element("span", { textContent: `${entry.platform}/${entry.app}` }) : null,
        entry.device ? element("a", { href: `#devices/${entry.device}`, textContent: say("deviceNumber", { n: entry.device }) }) : null,
        entry.event ? element("a", { href: `#follow/${entry.event}` }, element("code", { title: entry.event, textContent: `${entry.event.slice(0, 12)}…` })) : null))
  }
}

export function open(place, { parts, path, go }) {
  const { say } = parts
  const [id] = path
  const input = element("input", { type: "search", value: id ?? "", autocomplete: "off", spellcheck: false, placeholder: "note1…" })
  const form = element("form", { className: "search", role: "search" }, parts.field("event", input, "eventHelp"), element("button", { type: "submit", className: "main", textContent: say("explain") }))
  form.onsubmit = event => {
    event.preventDefault()
    // Finds an ID in text or in a link. 32 digits name a notification that was sent with the API.
    const name = /(?<![0-9a-z])([0-9a-f]{64}|[0-9a-f]{32}|(npub|note|nevent)1[0-9a-z]+)(?![0-9a-z])/
    const wanted = input.value.match(name)?.[1] ?? input.value.trim()
    if (/^npub1/.test(wanted)) return go("devices", { account: wanted })
    if (/^\d{1,18}$/.test(wanted)) return go("devices", {}, wanted)
    if (wanted) go("follow", {}, wanted)
  }
  const answer = element("div", {})
  const tail = new Tail(parts)
  place.replaceChildren(parts.heading("follow"), form, answer, tail.draw())
  if (id) {
    answer.replaceChildren(parts.notice("", say("loading")))
    ask(`events/${segment(id)}/explain`).then(found => answer.replaceChildren(...explanation(found, parts)), error => answer.replaceChildren(parts.problem(error)))
  }
  return () => tail.end()
}
