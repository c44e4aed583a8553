// The Playground: rules on the left, an event on the right, and the pushes of both the draft and the current rules.
// Saving requires the scope `operate`.

import { ask } from "./api.js"
import { drawDifferences } from "./differences.js"
import { element } from "./dom.js"
import { preview, reason } from "./preview.js"
import { yesterday } from "./yesterday.js"

const patience = 700
const first = ["ios", "android", "web", "ntfy"]
const modes = ["alert", "sealed", "nudge", "wake"]

/** Unsaved drafts, kept while the person visits other screens. */
const drafts = new Map()

const order = platforms => [...first.filter(name => platforms.includes(name)), ...platforms.filter(name => !first.includes(name)).sort()]

/** A readable request, without the parts that differ in every run. */
function transcript(delivery) {
  if (!delivery.url) return delivery.stream ?? reason(delivery) ?? ""
  const headers = Object.entries(delivery.headers ?? {}).map(([name, value]) => `${name}: ${value}`)
  const readable = delivery.decrypted ?? delivery.body ?? ""
  let body = readable
  try {
    body = JSON.stringify(JSON.parse(readable), null, 2)
  } catch {
    // Not JSON: shown unchanged.
  }
  return [`${delivery.method} ${delivery.url}`, ...headers, "", body].join("\n")
}

const steady = text => text.replace(/eyJ[\w-]+\.[\w-]+\.…|\b1[6-9]\d{8}\b|v1,[\w+/=]{20,}/g, "…")

class Playground {
  #context
  #place
  #files = []
  #fixtures = []
  #file = null
  #timer
  #number = 0
  /** The last result of the current rules, by input. */
  #inForce = { key: "", report: null }
  #verdicts = element("div", {})
  #mistakes = element("div", { role: "status" })
  #changes = element("div", {})
  #yesterday
  #isOpen = true

  constructor(place, context) {
    this.#place = place
    this.#context = context
  }

  get #parts() {
    return this.#context.parts
  }

  async begin() {
    const { say, notice, heading, problem } = this.#parts
    this.#place.replaceChildren(heading("playground"), notice("", say("loading")))
    try {
      const [rules, fixtures] = await Promise.all([ask("rules"), ask("rules/fixtures")])
      this.#files = rules.files
      this.#fixtures = fixtures.fixtures.filter(fixture => fixture.count === 1)
    } catch (error) {
      this.#place.replaceChildren(heading("playground"), problem(error))
      return
    }
    if (!this.#isOpen) return
    this.#file = this.#files.find(({ name }) => drafts.has(name)) ?? this.#files[0]
    this.#draw()
    this.#changed(0)
  }

  end() {
    this.#isOpen = false
    clearTimeout(this.#timer)
  }

  // MARK: Drawing

  #draw() {
    const parts = this.#parts
    const { say, field, select, router } = parts
    const editor = lines => element("textarea", { rows: lines, spellcheck: false, wrap: "off", autocapitalize: "off", autocomplete: "off" })
    this.rules = editor(22)
    this.rules.value = drafts.get(this.#file.name) ?? this.#file.text
    this.rules.oninput = () => {
      this.#yesterday.forget()
      this.#changed()
    }
    this.event = editor(10)
    this.fixture = select([...this.#fixtures.map(({ name, about }) => [name, `${name} – ${router.word("fixture", name) === name ? about : router.word("fixture", name)}`]), ["", say("ownEvent")]], "reply", () => this.#choose())
    this.event.oninput = () => {
      this.fixture.value = ""
      this.#changed()
    }
    this.mode = select(modes.map(name => [name, name]), "alert", () => this.#changed(0))
    this.locale = element("input", { type: "text", autocomplete: "off", maxLength: 20, placeholder: "de" })
    this.locale.oninput = () => this.#changed()
    this.author = element("input", { type: "text", autocomplete: "off", maxLength: 60, placeholder: "Alice" })
    this.author.oninput = () => this.#changed()
    this.followed = element("input", { type: "checkbox", id: "followed" })
    this.followed.onchange = () => this.#changed(0)
    const choose = select(this.#files.map(({ name, app }) => [name, (name || say("builtIn")) + (app ? ` (${app})` : "")]), this.#file.name, name => {
      this.#file = this.#files.find(each => each.name === name)
      this.#inForce.key = ""
      this.#draw()
      this.#changed(0)
    })
    this.save = parts.button("saveRules", () => this.#save(), { className: "main" })
    const reset = parts.button("resetRules", async () => {
      drafts.delete(this.#file.name)
      this.rules.value = this.#file.text
      this.#changed(0)
    })
    // A file that the configuration names keeps its place among the files.
    this.#yesterday = yesterday(parts, () => ({ rules: this.rules.value, ...(this.#file.name ? { file: this.#file.name } : {}) }))
    const why = this.#obstacle()
    this.#place.replaceChildren(
      parts.heading("playground"),
      element("div", { className: "halves" },
        parts.card("rules",
          this.#files.length > 1 ? field("file", choose, "fileHelp") : element("p", { className: "quiet" }, this.#file.name ? element("code", { className: "whole", textContent: this.#file.name }) : say("builtIn")),
          field("rulesText", this.rules), this.#mistakes,
          element("p", { className: "buttons" }, this.save, reset), why ? element("p", { className: "help", textContent: why }) : null, this.#changes),
        parts.card("event",
          field("fixture", this.fixture), field("eventJSON", this.event),
          element("div", { className: "row" }, field("mode", this.mode), field("deviceLanguage", this.locale), field("author", this.author)),
          element("div", { className: "choices" }, element("label", { className: "choice", htmlFor: "followed" }, this.followed, element("span", { textContent: say("followed") }))))),
      this.#verdicts, this.#yesterday.node)
    this.#choose(false)
  }

  #obstacle() {
    const { say } = this.#parts
    if (!this.#context.can("operate")) return say("needsOperate")
    if (!this.#file.name) return say("builtInHelp")
    return this.#file.is_writable ? null : say("notWritable")
  }

  #choose(isChange = true) {
    const fixture = this.#fixtures.find(({ name }) => name === this.fixture.value)
    if (fixture) this.event.value = JSON.stringify(fixture.event, null, 2)
    if (isChange) this.#changed(0)
  }

  // MARK: Trying

  #changed(wait = patience) {
    const text = this.rules.value
    const isDraft = text !== this.#file.text
    if (isDraft) drafts.set(this.#file.name, text)
    else drafts.delete(this.#file.name)
    this.save.disabled = !isDraft || Boolean(this.#obstacle())
    const { say } = this.#parts
    const difference = isDraft ? drawDifferences(this.#file.text, text, say("changesLabel")) : null
    this.#changes.replaceChildren(...(difference ? [element("h3", { textContent: say("changes") }), difference] : []))
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#try(), wait)
  }

  async #try() {
    const number = ++this.#number
    const parts = this.#parts
    const { say } = parts
    this.#verdicts.setAttribute("aria-busy", "true")
    const isCurrent = () => number === this.#number && this.#isOpen
    try {
      const text = this.rules.value
      const check = await ask("rules/check", { method: "POST", body: { rules: text } })
      if (!isCurrent()) return
      this.#writeMistakes(check)
      if (!check.is_valid) return
      const body = this.#order()
      const key = JSON.stringify([this.#file.digest, body])
      if (this.#inForce.key !== key) this.#inForce = { key, report: await this.#ask({ ...body, rules: this.#file.text }) }
      if (!isCurrent()) return
      const report = text === this.#file.text ? this.#inForce.report : await this.#ask({ ...body, rules: text })
      if (isCurrent()) this.#writeVerdict(report, this.#inForce.report)
    } catch (error) {
      if (isCurrent()) this.#verdicts.replaceChildren(parts.card("verdict", error instanceof SyntaxError ? parts.notice("bad", say("badJSON")) : parts.problem(error)))
    } finally {
      if (isCurrent()) this.#verdicts.removeAttribute("aria-busy")
    }
  }

  /** Trials run one at a time; the next one waits. */
  async #ask(body) {
    for (let left = 8; ; left -= 1) {
      try {
        return await ask("rules/try", { method: "POST", body })
      } catch (error) {
        if (error.status !== 503 || left === 0) throw error
        await new Promise(resolve => setTimeout(resolve, 500))
      }
    }
  }

  #order() {
    const order = { mode: this.mode.value, followed: this.followed.checked }
    if (this.locale.value.trim()) order.language = this.locale.value.trim()
    if (this.author.value.trim()) order.author = this.author.value.trim()
    if (this.fixture.value) order.fixture = this.fixture.value
    else order.event = JSON.parse(this.event.value)
    return order
  }

  // MARK: Results

  #writeMistakes({ is_valid: isValid, rules, mistakes, warnings }) {
    const { say, notice } = this.#parts
    if (!isValid) this.save.disabled = true
    const lists = [this.#list("bad", "mistakes", mistakes), this.#list("warn", "warnings", warnings ?? [])]
    this.#mistakes.replaceChildren(...(isValid ? [notice("", say("rulesValid", { n: rules }))] : []), ...lists.filter(Boolean))
  }

  /** Messages, each with its position. */
  #list(tone, title, messages) {
    const { say, quote } = this.#parts
    if (messages.length === 0) return null
    return element("div", { className: `notice ${tone}` },
      element("p", { textContent: say(title, { n: messages.length }) }),
      element("ul", {}, messages.map(({ line, column, message }) => element("li", {},
        line > 0 ? element("button", { type: "button", className: "inline", textContent: say("place", { line, column }), onclick: () => this.#goTo(line, column) }) : null, " ", quote(message)))))
  }

  #goTo(line, column) {
    const lines = this.rules.value.split("\n")
    const at = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0) + Math.max(0, column - 1)
    this.rules.focus()
    this.rules.setSelectionRange(at, at)
  }

  #verdict(report) {
    const { say, router, state } = this.#parts
    if (!report.wakes) return [state("quiet", say("wakesNobody")), " ", router.say(report.reason ?? "", report.says)]
    return [state("good", say("wakes")), " ", say("byRule"), " ", element("code", { textContent: report.rule.name }), ", ", say("asSignal"), " ", element("code", { textContent: report.signal })]
  }

  #writeVerdict(report, inForce) {
    const parts = this.#parts
    const { say, state, card } = parts
    const [names, former] = [Object.keys(report.platforms ?? {}), inForce.platforms ?? {}]
    const isOther = JSON.stringify([report.wakes, report.rule?.name, report.signal]) !== JSON.stringify([inForce.wakes, inForce.rule?.name, inForce.signal])
    const changed = name => steady(transcript(report.platforms[name])) !== steady(former[name] ? transcript(former[name]) : "")
    const isSame = report === inForce
    this.#verdicts.replaceChildren(
      card("verdict",
        element("p", { role: "status" }, this.#verdict(report)),
        isSame ? null
          : isOther ? element("p", {}, state("open", say("otherwise")), " ", say("inForce"), " ", this.#verdict(inForce))
            : element("p", { className: "quiet", textContent: names.some(changed) ? say("sameVerdictOther") : say("sameVerdict") }),
        element("div", { className: "previews" }, order(names).map(name => element("figure", {},
          preview(name, report.platforms[name], parts),
          element("figcaption", {}, element("strong", { textContent: name }), " ", element("small", { textContent: report.platforms[name].mode ?? "" }), !isSame && changed(name) ? [" ", state("open", say("differs"))] : null))))),
      names.length ? card("requests", order(names).map(name => this.#request(name, report.platforms[name], isSame ? null : former[name]))) : "")
  }

  #request(name, delivery, former) {
    const { say, notice, number, code, router } = this.#parts
    const text = transcript(delivery)
    // Shows the request exactly as sent, or the reason why none is sent.
    const why = reason(delivery)
    const difference = former && steady(text) !== steady(transcript(former)) ? drawDifferences(steady(transcript(former)), steady(text), say("changesOf", { name })) : null
    return element("details", {}, element("summary", {}, name, difference ? ` – ${say("differs")}` : ""),
      difference ? element("div", {}, element("h3", { textContent: say("againstForce") }), difference) : null,
      (delivery.reductions ?? []).map(({ mode, reason }) => notice("warn", say("reducedFrom", { mode }), " ", code(reason))),
      delivery.left_out?.length ? notice("warn", say("leftOut"), " ", code(delivery.left_out.join(", "))) : null,
      delivery.size ? element("p", { className: "quiet", textContent: say("bytesOf", { n: number(delivery.size), limit: number(delivery.limit) }) }) : null,
      why ? element("p", {}, router.say(why, delivery.says)) : element("pre", { className: "transcript", tabIndex: 0, role: "group", "aria-label": say("requestOf", { name }), textContent: text }),
      delivery.decrypted ? element("p", { className: "quiet", textContent: say("decrypted") }) : null)
  }

  // MARK: Saving

  async #save() {
    const { say, confirm, tell } = this.#parts
    if (!(await confirm(say("saveSure", { name: this.#file.name }), "saveRules"))) return
    const { files } = await ask("rules/save", { method: "POST", body: { file: this.#file.name, rules: this.rules.value, digest: this.#file.digest } })
    drafts.delete(this.#file.name)
    this.#files = files
    this.#file = files.find(({ name }) => name === this.#file.name) ?? files[0]
    this.#changed(0)
    tell(say("rulesSaved"))
  }
}

export function open(place, context) {
  const playground = new Playground(place, context)
  playground.begin()
  return () => playground.end()
}
