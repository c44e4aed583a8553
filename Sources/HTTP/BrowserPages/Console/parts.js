// Building blocks of screens: headings, tables, states, times, buttons and confirmations.

import { element } from "./dom.js"
import { ApiProblem, Unreachable } from "./api.js"
import { Sentences } from "./sentences.js"

/** The building blocks in one language. `say` returns a text, `phrase` a text with nodes in it; `tell` shows a temporary
 * message. */
export class Parts {
  constructor(language, say, phrase, tell) {
    this.language = language
    this.say = say
    this.phrase = phrase
    this.tell = tell
    /** The router's messages. */
    this.router = new Sentences(language, this.when)
  }

  /** A name that a person chose. */
  named = text => element("span", { translate: false, textContent: text })

  /** Text from outside the router. */
  quote = text => this.router.quote(text)

  /** A literal value from the configuration or a response. */
  code = text => element("code", { className: "value", textContent: text })

  /** A point in time: the time of day, with the date unless it is today. */
  when = stamp => {
    const time = new Date(stamp)
    const isToday = time.toDateString() === new Date().toDateString()
    const style = isToday ? { timeStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" }
    const words = Number.isNaN(time.getTime()) ? String(stamp) : new Intl.DateTimeFormat(this.language, style).format(time)
    return element("time", { dateTime: stamp, title: stamp, textContent: words })
  }

  number = value => new Intl.NumberFormat(this.language, { maximumFractionDigits: value < 10 ? 1 : 0 }).format(value)

  /** A duration, such as `3 min`. */
  span = seconds => {
    const [value, unit] =
      seconds < 120 ? [seconds, "second"] : seconds < 7200 ? [seconds / 60, "minute"] : seconds < 172800 ? [seconds / 3600, "hour"] : [seconds / 86400, "day"]
    return new Intl.NumberFormat(this.language, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: 0 }).format(Math.floor(value))
  }

  size = bytes => {
    const [value, unit] = bytes >= 2 ** 30 ? [bytes / 2 ** 30, "gigabyte"] : [bytes / 2 ** 20, "megabyte"]
    return new Intl.NumberFormat(this.language, { style: "unit", unit, unitDisplay: "short", maximumFractionDigits: 1 }).format(value)
  }

  /** A shortened public key with the full key as its title. */
  key = npub => element("code", { title: npub, textContent: npub.length > 20 ? `${npub.slice(0, 10)}…${npub.slice(-4)}` : npub })

  heading = (key, ...beside) => element("div", { className: "screen-head" }, element("h1", { textContent: this.say(key) }), ...beside)

  card = (key, ...children) => {
    const id = `heading-${key}`
    return element("section", { className: "card", "aria-labelledby": id }, element("h2", { id, textContent: this.say(key) }), ...children)
  }

  /** A status; `tone` is good, open, bad or quiet. */
  state = (tone, ...words) => element("span", { className: `state ${tone}` }, ...words)

  /** A table that becomes cards on a narrow screen. `columns` are `[key of the name, cell of a row]`. */
  table = (caption, columns, rows) =>
    element("table", { className: "cards" },
      element("caption", { className: "unseen", textContent: this.say(caption) }),
      element("thead", {}, element("tr", {}, columns.map(([key]) => element("th", { scope: "col", textContent: this.say(key) })))),
      element("tbody", {}, rows.map(row =>
        element("tr", {}, columns.map(([key, cell], index) => {
          const content = cell(row)
          const isEmpty = content === null || content === undefined || content.length === 0
          return element(index === 0 ? "th" : "td", { "data-name": this.say(key), ...(index === 0 ? { scope: "row" } : {}), className: isEmpty ? "empty" : "" },
            element("div", {}, isEmpty ? "–" : content))
        })))))

  facts = pairs =>
    element("dl", { className: "facts" }, pairs.filter(Boolean).map(([key, ...value]) =>
      element("div", {}, element("dt", { textContent: this.say(key) }), element("dd", {}, ...value))))

  button = (key, act, more = {}) => {
    const node = element("button", { type: "button", textContent: this.say(key), ...more })
    node.onclick = () => this.run(act, node)
    return node
  }

  /** Runs one action at a time and shows its error. */
  run = async (act, node) => {
    if (node?.getAttribute("aria-disabled") === "true") return
    node?.setAttribute("aria-disabled", "true")
    try {
      await act()
    } catch (error) {
      this.tell(this.words(error), "bad")
    } finally {
      node?.removeAttribute("aria-disabled")
    }
  }

  /** Describes an error as texts and nodes. */
  words = error => {
    if (error instanceof Unreachable) return [this.say("unreachable")]
    if (error instanceof ApiProblem) {
      const reason = this.router.refusal(error.status, error.message, error.says, error.retryAfter)
      const mistakes = error.mistakes.flatMap(mistake => ["\n", this.quote(mistake)])
      return [...this.phrase(error.says?.code === "scope" ? "forbidden" : "refused", { reason }), ...mistakes]
    }
    console.error(error)
    return [this.say("broken")]
  }

  /** An error shown instead of a screen's content. */
  problem = error => element("p", { className: "notice bad", role: "alert" }, this.words(error))

  notice = (tone, ...words) => element("p", { className: `notice ${tone}` }, ...words)

  field = (key, input, help) => {
    const id = `field-${key}`
    input.id = id
    const note = help ? element("p", { className: "help", id: `${id}-help`, textContent: this.say(help) }) : null
    if (note) input.setAttribute("aria-describedby", note.id)
    return element("div", { className: "field" }, element("label", { htmlFor: id, textContent: this.say(key) }), input, note)
  }

  select = (options, value, onchange) => {
    const node = element("select", {}, options.map(([id, name]) => element("option", { value: id, textContent: name, selected: id === value })))
    if (onchange) node.onchange = () => onchange(node.value)
    return node
  }

  /** Asks for confirmation; resolves to the decision. */
  confirm = (question, yes, isLoss = false) =>
    new Promise(resolve => {
      const dialog = element("dialog", { className: "card", "aria-labelledby": "question" },
        element("p", { id: "question", textContent: question }),
        element("form", { method: "dialog", className: "buttons" },
          element("button", { value: "no", autofocus: true, textContent: this.say("cancel") }),
          element("button", { value: "yes", className: isLoss ? "main danger" : "main", textContent: this.say(yes) })))
      dialog.onclose = () => {
        dialog.remove()
        resolve(dialog.returnValue === "yes")
      }
      document.body.append(dialog)
      dialog.showModal()
    })
}
