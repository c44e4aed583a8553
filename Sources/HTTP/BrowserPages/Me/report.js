// Rows of the report: events with the result of each stage, and relays. `words` has `say`, `router` (its messages) and
// `when`.

import { element } from "./dom.js"
import { tone } from "./sentences.js"

const mark = (step, sentence) => element("p", { className: `outcome ${tone(step)}` }, sentence)

const list = (all, { router, when }) =>
  element("ol", { className: "steps" }, all.map(step => element("li", {}, when(step.at), " ", router.line(step))))

/** The result for one device. */
const end = ({ outcome, result }, { router }) => mark(result?.step, router.ending(outcome, result))

/** The result for all devices without their own steps, from the last step. */
const commonEnd = ({ steps, outcome }, { router }) => {
  const last = steps.findLast(({ words }) => words === outcome)
  return mark(last?.step, last ? router.line(last) : router.say(outcome ?? ""))
}

const title = (device, names, say) => {
  const known = names[device.id]
  return known ? `${known.name || say("device")} (${known.platform})` : say("formerDevice")
}

/** Every decision about one event. */
export function steps(event, names, words) {
  return element("div", { className: "verdicts" },
    event.steps.length > 0 ? list(event.steps, words) : null,
    event.outcome && event.devices.length === 0 ? commonEnd(event, words) : null,
    event.devices.map(device =>
      element("div", {},
        element("h3", { textContent: title(device, names, words.say) }), end(device, words), list(device.steps, words))),
    event.outcome && event.devices.length > 0
      ? element("div", {}, element("h3", { textContent: words.say("otherDevices") }), commonEnd(event, words)) : null
  )
}

/** One recent event: its outcomes, and its steps on demand. */
export function eventRow(event, names, words) {
  const at = event.steps[0]?.at ?? event.devices[0]?.steps[0]?.at
  const outcomes = event.devices.length > 0
    ? event.devices.map(device => element("div", {}, element("small", { textContent: title(device, names, words.say) }), end(device, words)))
    : [commonEnd(event, words)]
  return element("li", {},
    element("p", { className: "event" }, at ? words.when(at) : null, " ", element("code", { textContent: `${event.event.slice(0, 16)}…`, title: event.event })),
    outcomes,
    element("details", {}, element("summary", { textContent: words.say("steps") }), steps(event, names, words)))
}

/** A group that the person is in; `leave` gets the group. */
export function groupRow(group, { say, when }, leave) {
  return element("li", {},
    element("p", { className: "event" }, element("strong", { textContent: group.group }), " ", element("small", {}, say("groupIn", { app: group.app }), " ", when(group.since))),
    element("p", { className: "buttons" }, element("button", { type: "button", textContent: say("leave"), "aria-label": say("leaveOf", { group: group.group }), onclick: () => leave(group) })))
}

export function relayRow(relay, { say, router, when }) {
  return element("li", {},
    element("p", { className: "event" }, element("strong", { textContent: relay.url })),
    element("p", { className: `outcome ${relay.state === "connected" ? "good" : "open"}`, textContent: say(`relay_${relay.state}`) }),
    relay.last_failure ? element("p", { className: "quiet" }, say("relayFailed"), " ", router.word("failure", relay.last_failure)) : null,
    relay.next_try ? element("p", { className: "quiet" }, say("nextTry"), " ", when(relay.next_try)) : null,
    relay.last_messages.map(word => element("p", { className: "quiet" }, when(word.at), " ", say("relaySaid"), " ", router.quote(word.text))),
    element("p", { className: "quiet" }, relay.read_up_to ? [say("readUpTo"), " ", when(relay.read_up_to)] : say("neverRead")))
}
