// Translates the router's messages. Its English text comes with codes; for a code without a translation, the English
// text is shown as a quotation.

import { element } from "./dom.js"
import { texts } from "./sentence-texts.js"

const numbers = new Set(["count", "all", "limit", "mebibytes", "device", "kind", "attempt", "seconds"])
const quotations = new Set(["detail", "error"])

/** The tone of an event's status: delivered, in progress or not sent. */
export const tone = step =>
  step === "delivered" ? "good" : ["held", "batched", "in-turn", "queued", "retry", "postponed", "reduced", "misconfigured", "requeued", "moved"].includes(step) ? "open" : "quiet"

/** A translator of messages into one language. `when` draws a point in time. */
export class Sentences {
  #texts
  #when

  constructor(language, when) {
    this.#texts = texts[language]
    this.#when = when
  }

  /** Text from outside, or a message without a translation. */
  quote = (words, className = "") => element("q", { lang: "en", className, textContent: words })

  /** The router's English text, for English readers. */
  #english = words => element("span", { lang: "en", textContent: words })

  /** A message without a translation. */
  #foreign = words => (this.#texts ? this.quote(words, "router") : this.#english(words))

  /** A text of a set; undefined if there is none. */
  #text = (set, key) => (this.#texts && Object.hasOwn(this.#texts[set], key) ? this.#texts[set][key] : undefined)

  /** A word of a small set, such as why a connection ended. */
  word = (set, word) => this.#text(set, word) ?? word

  #value = (name, value) => {
    if (/(?:^|_)(?:at|until|since)$/.test(name)) return value ? this.#when(value) : ""
    if (numbers.has(name) || value instanceof Node || Array.isArray(value)) return value
    if (quotations.has(name)) return value ? this.quote(value) : ""
    const set = { failure: "failure", violations: "violation", signal: "signal", hold: "hold", outcome: "word" }[name]
    if (set) return value.split(", ").map(word => this.word(set, word)).join(", ")
    return element("code", { className: "value", textContent: value })
  }

  /** Fills in a text's values; text in backquotes is for a terminal. */
  #fill = (text, values = {}) =>
    text.split(/(\{\w+\}|`[^`]*`)/).filter(Boolean).flatMap(part => {
      if (part.startsWith("`")) return element("code", { textContent: part.slice(1, -1).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "") })
      if (!part.startsWith("{")) return part
      const name = part.slice(1, -1)
      return name in values ? this.#value(name, values[name]) : []
    })

  #phrase = (text, values) => element("span", {}, this.#fill(text, values))

  /** A message with its own code; `words` is its English text. */
  say = (words, says, set = "says") => {
    const text = says && this.#text(set, says.code)
    return text ? this.#phrase(text, says.values) : this.#foreign(words)
  }

  // MARK: Events and pushes

  /** A step of an event: `{ step, reason, words }`. */
  step = ({ step, reason = "", words }) => {
    if (!this.#texts) return this.#english(words)
    const [, batch] = reason.match(/^batch of (\d+)$/) ?? []
    const [, latest] = reason.match(/^latest of (\d+)$/) ?? []
    const kind =
      step === "queued" ? (reason === "hint" ? "queued_hint" : reason === "held before" ? "queued_held" : batch ? "queued_batch" : step)
        : step === "released" ? (latest ? "released_latest" : batch ? "released_batch" : step)
          : step === "batched" && !reason ? "batched_now" : step
    const text = this.#text("step", kind)
    if (!text) return this.#foreign(words)
    return this.#phrase(text, { reason, hold: reason, signal: reason, count: batch ?? latest, because: this.#because(step, reason) })
  }

  #because = (step, reason) => {
    const [, ended] = reason.match(/^registrations ended: (\d+)$/) ?? []
    const text = this.#text("reason", ended ? "registrations-ended" : reason || (step === "duplicate" ? "known" : ""))
    const words = text ? this.#fill(text, { count: ended }) : reason ? [this.quote(reason)] : []
    return step === "duplicate" || words.length === 0 ? words : [": ", ...words]
  }

  /** The result of a push: `{ outcome, platform, app, status, reason, attempt, next_at, words }`. */
  report = ({ outcome, platform, app, status, reason, attempt, next_at: at, words }) => {
    if (!this.#texts) return this.#english(words)
    const kind = reason === "plugin-crashed" ? "rejected_crashed" : reason === "endpoint-refuses" ? "postponed_endpoint" : reason === "unsupported" ? "reduced_unsupported" : ""
    const text = this.#text("report", kind.startsWith(`${outcome}_`) ? kind : outcome)
    if (!text) return this.#foreign(words)
    return this.#phrase(text, {
      queue: `${platform}/${app}`,
      answer: this.answer(outcome, status, reason, " "),
      attempt: attempt > 1 ? this.#fill(this.#texts.attempt, { attempt }) : [],
      next: at ? this.#fill(this.#texts.next, { at }) : [],
    })
  }

  /** The push service's response, in parentheses. */
  answer = (outcome, status, reason, before = "") => {
    const said = [status, reason === outcome ? "" : reason].filter(Boolean)
    return said.length ? [before, "(", said.flatMap((word, index) => [index ? " " : "", element("code", { className: "value", textContent: word })]), ")"].flat() : []
  }

  /** One line of an explanation: a step or the result of a push. */
  line = line => (line.attempt === undefined ? this.step(line) : this.report({ ...line, outcome: line.step }))

  /** The result of an event for a device: in English, and for programs. */
  ending = (words, ending) => {
    if (!this.#texts || !ending) return this.#foreign(words)
    const { step, next_at: at, pause } = ending
    const sentence =
      step === "held" ? this.#phrase(this.#texts.step.held, { hold: [this.held(words, ending)] })
        : step === "in-turn" && at ? this.#phrase(this.#texts.step["in-turn_at"], { at })
          : this.line({ ...ending, words })
    return element("span", {}, sentence, pause ? ["; ", this.say("", pause)] : null)
  }

  /** Why events wait and until when: in English, and `{ reason, next_at, count }`. */
  held = (words, { reason = "none", next_at: at, count }) => {
    if (!this.#texts) return this.#english(words)
    return element("span", {}, this.#fill("{hold}", { hold: reason }), at ? this.#fill(this.#texts.goes, { at }) : null,
      count > 1 ? this.#fill(this.#texts.several, { count }) : null)
  }

  /** Why a device gets no pushes now. */
  hold = (words, reason) => this.#text("hold", reason) ?? this.#foreign(words)

  // MARK: Refusals

  /** Why the API refused a request: by code, or by status and text. */
  refusal = (status, words, says, seconds) => {
    if (!this.#texts) return [this.#english(words)]
    if (says && this.#text("says", says.code)) return [this.say(words, says)]
    const text = this.#text("status", status)
    if (text && status === 429) return this.#fill(text, { seconds: seconds ?? "60" })
    return [text ?? "", " ", this.#foreign(words)]
  }
}
