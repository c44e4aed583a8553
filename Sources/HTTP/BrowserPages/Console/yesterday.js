// Shows which events of the last day would have another result with the edited rules.

import { ask } from "./api.js"
import { element } from "./dom.js"

const changes = ["rule", "signal", "mode", "urgency"]

/** The result of an event on one side, bold if the other side differs. */
function side(parts, { result, rule, ...words }, differing) {
  const { say, state, code } = parts
  const details = changes.filter(name => words[name]).map(name => [", ", element(differing.includes(name) ? "strong" : "span", {}, code(words[name]))])
  const name = rule ? [" ", say("byRule"), " ", element("code", { textContent: rule })] : []
  const tone = result === "push" ? "good" : "quiet"
  return element("div", {}, state(tone, say(`diff_${result}`)), ...name, ...(result === "push" ? details.flat() : []))
}

function row(parts, difference) {
  const { platform, app, devices, language } = difference
  const device = [platform, app === "default" ? null : app, language].filter(Boolean).join(", ")
  const further = difference.changes.filter(name => name !== "result" && !changes.includes(name))
  return { ...difference, device: devices > 1 ? `${device} × ${devices}` : device, further: further.join(", ") }
}

function draw(answer, parts) {
  const { say, when, number, table, notice, state, code } = parts
  const { events, differing, differences, list, since, new_kinds: newKinds } = answer
  if (events === 0) return [notice("warn", say("diffEmpty"))]
  return [
    element("p", { role: "status" }, state(differing ? "open" : "good", say("diffOf", { n: differing, all: number(events) })), " ", say("diffSince"), " ", when(since)),
    list.length ? table("yesterday", [
      ["event", ({ event, at, kind }) => [element("a", { href: `#follow/${event}`, title: event, textContent: `${event.slice(0, 8)}…` }), element("small", {}, ` ${say("eventKind", { kind })}, `, when(at))]],
      ["device", ({ device }) => device],
      ["before", each => side(parts, each.before, each.changes)],
      ["after", each => side(parts, each.after, each.changes)],
      ["diffFurther", ({ further }) => (further ? code(further) : null)],
    ], list.map(each => row(parts, each))) : null,
    differences > list.length ? element("p", { className: "quiet", textContent: say("diffMore", { n: differences - list.length }) }) : null,
    newKinds.length ? notice("warn", say("diffNewKinds", { kinds: newKinds.join(", ") })) : null,
  ].filter(Boolean)
}

/** A card that compares on demand; `order` returns the request's body. */
export function yesterday(parts, order) {
  const { say, card, button, notice } = parts
  const answer = element("div", {})
  const compare = async () => {
    answer.replaceChildren(notice("", say("loading")))
    try {
      answer.replaceChildren(...draw(await ask("rules/diff", { method: "POST", body: order() }), parts))
    } catch (error) {
      // The router keeps no events unless the configuration enables it.
      answer.replaceChildren(error.status === 409 ? notice("warn", say("diffOff")) : parts.problem(error))
    }
  }
  return {
    node: card("yesterday", element("p", { className: "help", textContent: say("yesterdayHelp") }), element("p", { className: "buttons" }, button("compare", compare)), answer),
    /** The last result belongs to other rules. */
    forget: () => answer.replaceChildren(),
  }
}
