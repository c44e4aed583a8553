// Rows of the report: events with the verdict of each stage, and relays. `words` has `say`, `said` (the router's
// English) and `when`.

import { element } from "./dom.js"

/** How something ended: good, open, or not at all. */
const tone = outcome => (/^delivered/.test(outcome) ? "good" : /^(held|waits|to be sent|not delivered yet)/.test(outcome) ? "open" : "silent")

const mark = (outcome, { said }) => element("p", { className: `outcome ${tone(outcome)}` }, said(outcome))

const list = (all, { said, when }) =>
  element("ol", { className: "steps" }, all.map(step => element("li", {}, when(step.at), " ", said(step.words))))

const title = (device, names, say) => {
  const known = names[device.id]
  return known ? `${known.name || say("device")} (${known.platform})` : say("formerDevice")
}

/** Everything that was decided about one event. */
export function steps(event, names, words) {
  return element("div", { className: "verdicts" },
    event.steps.length > 0 ? list(event.steps, words) : null,
    event.outcome && event.devices.length === 0 ? mark(event.outcome, words) : null,
    event.devices.map(device =>
      element("div", {},
        element("h3", { textContent: title(device, names, words.say) }), mark(device.outcome, words), list(device.steps, words))),
    event.outcome && event.devices.length > 0
      ? element("div", {}, element("h3", { textContent: words.say("otherDevices") }), mark(event.outcome, words)) : null
  )
}

/** One of the last events: its outcomes, and the steps for those who want them. */
export function eventRow(event, names, words) {
  const at = event.steps[0]?.at ?? event.devices[0]?.steps[0]?.at
  const outcomes = event.devices.length > 0
    ? event.devices.map(device => element("div", {}, element("small", { textContent: title(device, names, words.say) }), mark(device.outcome, words)))
    : [mark(event.outcome ?? "", words)]
  return element("li", {},
    element("p", { className: "event" }, at ? words.when(at) : null, " ", element("code", { textContent: `${event.event.slice(0, 16)}…`, title: event.event })),
    outcomes,
    element("details", {}, element("summary", { textContent: words.say("steps") }), steps(event, names, words)))
}

/** A group that the person is in. `leave` gets it. */
export function groupRow(group, { say, when }, leave) {
  return element("li", {},
    element("p", { className: "event" }, element("strong", { textContent: group.group }), " ", element("small", {}, say("groupIn", { app: group.app }), " ", when(group.since))),
    element("p", { className: "buttons" }, element("button", { type: "button", textContent: say("leave"), "aria-label": say("leaveOf", { group: group.group }), onclick: () => leave(group) })))
}

export function relayRow(relay, { say, said, when }) {
  return element("li", {},
    element("p", { className: "event" }, element("strong", { textContent: relay.url })),
    element("p", { className: `outcome ${relay.state === "connected" ? "good" : "open"}`, textContent: say(`relay_${relay.state}`) }),
    relay.last_failure ? element("p", { className: "quiet" }, say("relayFailed"), " ", said(relay.last_failure)) : null,
    relay.next_try ? element("p", { className: "quiet" }, say("nextTry"), " ", when(relay.next_try)) : null,
    relay.last_words.map(word => element("p", { className: "quiet" }, when(word.at), " ", say("relaySaid"), " ", said(word.text))),
    element("p", { className: "quiet" }, relay.read_up_to ? [say("readUpTo"), " ", when(relay.read_up_to)] : say("neverRead")))
}
